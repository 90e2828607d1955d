//! The relations of a query: which documents belong to each of its documents, and in which form.

use std::marker::PhantomData;

use crate::{
    base::{
        bson::Bson,
        error::{Error, Result},
        time_limit::TimeLimit,
    },
    driver::BoundTransaction,
    models::projection::Output,
    path::{AsPath, Types, value_path},
    query::{
        handle::action::Session,
        observe::Boxed,
        relation::{
            keys::Slots,
            rows::{Columns, Values},
            source::{Related, Source},
        },
    },
    term::expr::field_name,
};

/// The session and the time limit of all queries of a call.
pub struct Loading<'s> {
    pub(super) session: Session<'s>,
    pub(super) limit: TimeLimit,
    /// The transaction that the handle of the outer query is bound to.
    pub(super) bound: Option<BoundTransaction>,
}

/// The name of a field, or why documents cannot be related by it.
pub(super) type Name = Result<String>;

/// One relation.
#[doc(hidden)]
pub trait Relation: Send + Sync {
    /// What is read for one document.
    type Output: Send;
    /// The field of the documents of the query.
    ///
    /// # Errors
    /// The relation cannot be read, whatever is stored.
    fn local(&self) -> Result<&str>;
    /// Reads what belongs to each document, by the values of its field.
    fn load<'s>(&'s self, values: Values, loading: &'s mut Loading<'_>) -> Boxed<'s, Vec<Self::Output>>;
}

/// The relations of a query whose documents are read as `T`.
#[doc(hidden)]
pub trait Relations<T>: Send + Sync {
    /// A document, with what the relations read for it.
    type Row: Row + Send;
    /// The fields of the documents of the query, one for each relation.
    ///
    /// # Errors
    /// Documents cannot be related by one of the fields.
    fn paths(&self, paths: &mut Vec<String>) -> Result<()>;
    /// Reads what belongs to each document.
    fn load<'s>(
        &'s self,
        items: Vec<T>,
        columns: Columns,
        loading: &'s mut Loading<'_>,
    ) -> Boxed<'s, Vec<Self::Row>>
    where
        T: 's;
}

/// No relation.
#[derive(Clone, Copy, Debug)]
pub struct Alone(pub(super) ());

impl<T: Output> Relations<T> for Alone {
    type Row = (T,);

    fn paths(&self, _paths: &mut Vec<String>) -> Result<()> {
        Ok(())
    }

    fn load<'s>(
        &'s self,
        items: Vec<T>,
        _columns: Columns,
        _loading: &'s mut Loading<'_>,
    ) -> Boxed<'s, Vec<(T,)>>
    where
        T: 's,
    {
        Box::pin(std::future::ready(Ok(items
            .into_iter()
            .map(|item| (item,))
            .collect())))
    }
}

/// One relation more.
#[derive(Debug)]
pub struct And<L, R> {
    pub(super) others: L,
    pub(super) relation: R,
}

impl<T: Output, L: Relations<T>, R: Relation> Relations<T> for And<L, R>
where
    L::Row: Append<R::Output>,
    <L::Row as Append<R::Output>>::Output: Row + Send,
{
    type Row = <L::Row as Append<R::Output>>::Output;

    fn paths(&self, paths: &mut Vec<String>) -> Result<()> {
        self.others.paths(paths)?;
        paths.push(self.relation.local()?.to_owned());
        Ok(())
    }

    fn load<'s>(
        &'s self,
        items: Vec<T>,
        mut columns: Columns,
        loading: &'s mut Loading<'_>,
    ) -> Boxed<'s, Vec<Self::Row>>
    where
        T: 's,
    {
        Box::pin(async move {
            let values = columns.take_last();
            let rows = self.others.load(items, columns, loading).await?;
            let related = self.relation.load(values, loading).await?;
            let appended = rows.into_iter().zip(related);
            Ok(appended.map(|(row, related)| row.append(related)).collect())
        })
    }
}

/// A document with what belongs to it.
#[doc(hidden)]
pub trait Row {
    /// The document itself if nothing belongs to it, otherwise the tuple.
    type Item;
    /// The item.
    fn item(self) -> Self::Item;
}

/// A tuple to which a value is appended.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a query has at most eight relations",
    label = "this is one too many",
    note = "read further ones by `Collection::load`, or nest them in the query of another relation"
)]
pub trait Append<A> {
    /// The longer tuple.
    type Output;
    /// Appends the value.
    fn append(self, value: A) -> Self::Output;
}

macro_rules! rows {
    ($([$($name:ident)*] $($longer:literal)?;)*) => { $(
        rows! { @append [$($name)*] $($longer)? }
    )* };
    (@append [$($name:ident)*] $longer:literal) => {
        #[allow(non_snake_case, reason = "the variables of the values have the names of their types")]
        impl<$($name,)* New> Append<New> for ($($name,)*) {
            type Output = ($($name,)* New,);
            fn append(self, value: New) -> Self::Output {
                let ($($name,)*) = self;
                ($($name,)* value,)
            }
        }
        rows! { @append [$($name)*] }
    };
    (@append [$only:ident]) => {
        impl<$only> Row for ($only,) {
            type Item = $only;
            fn item(self) -> $only {
                self.0
            }
        }
    };
    (@append [$($name:ident)*]) => {
        impl<$($name,)*> Row for ($($name,)*) {
            type Item = Self;
            fn item(self) -> Self {
                self
            }
        }
    };
}
rows! {
    [A] 2;
    [A B] 3;
    [A B C] 4;
    [A B C D] 5;
    [A B C D E] 6;
    [A B C D E F] 7;
    [A B C D E F G] 8;
    [A B C D E F G H] 9;
    [A B C D E F G H I];
}

/// One document for each: that with the id.
#[derive(Debug)]
pub struct ToOne<Q> {
    local: Name,
    query: Q,
}

impl<Q> ToOne<Q> {
    pub(super) fn new(reference: &impl AsPath, query: impl Related<Source = Q>) -> Self {
        ToOne {
            local: name(reference),
            query: query.into_source(),
        }
    }
}

/// One document for each element of an array.
#[derive(Debug)]
pub struct ToEach<Q> {
    local: Name,
    query: Q,
}

impl<Q> ToEach<Q> {
    pub(super) fn new(references: &impl AsPath, query: impl Related<Source = Q>) -> Self {
        ToEach {
            local: name(references),
            query: query.into_source(),
        }
    }
}

/// The documents that refer to each. `K` is the path of their field.
#[derive(Debug)]
pub struct ToMany<Q, K> {
    local: Name,
    foreign: Name,
    query: Q,
    per_parent: Option<u32>,
    key: Types<K>,
}

impl<Q, K: AsPath> ToMany<Q, K> {
    pub(super) fn new(query: impl Related<Source = Q>, reference: &K) -> Self {
        ToMany {
            local: id(),
            foreign: name(reference),
            query: query.into_source(),
            per_parent: None,
            key: PhantomData,
        }
    }

    /// Limits the documents of each.
    pub(super) fn limit(&mut self, number: u32) {
        self.per_parent = Some(number);
        if number == 0 {
            let reason = "`per_parent` must be at least 1; to count documents use `with_count`";
            self.foreign = Err(Error::argument(reason));
        }
    }
}

/// The first of the documents that refer to each.
#[derive(Debug)]
pub struct FromOne<Q> {
    local: Name,
    foreign: Name,
    query: Q,
}

impl<Q> FromOne<Q> {
    pub(super) fn new(query: impl Related<Source = Q>, reference: &impl AsPath) -> Self {
        FromOne {
            local: id(),
            foreign: name(reference),
            query: query.into_source(),
        }
    }
}

/// The number of documents that refer to each.
#[derive(Debug)]
pub struct Counted<Q> {
    local: Name,
    foreign: Name,
    query: Q,
}

impl<Q> Counted<Q> {
    pub(super) fn new(query: impl Related<Source = Q>, reference: &impl AsPath) -> Self {
        Counted {
            local: id(),
            foreign: name(reference),
            query: query.into_source(),
        }
    }
}

/// The name of a field, in a query and in the document.
fn name<A: AsPath>(path: &A) -> Name {
    field_name(&value_path(path)).map(str::to_owned).map_err(|e| match *e {
        Error::InvalidPipeline { path, .. } if !path.is_empty() => Error::argument(format!(
            "documents cannot be related by `{path}`: its name cannot be sent, or it is a field of an enum variant, and other \
             variants could have a field of the same name"
        )),
        other => other,
    })
}

fn checked(name: &Name) -> Result<&str> {
    name.as_ref().map(String::as_str).map_err(Clone::clone)
}

fn id() -> Name {
    Ok("_id".to_owned())
}

/// The keys of all documents. The documents of a key belong to the documents that have it.
fn by_document(field: &str, values: Values) -> Result<(usize, Slots)> {
    let (number, mut slots) = (values.len(), Slots::default());
    for (slot, values) in values.into_iter().enumerate() {
        for value in values {
            slots.add(field, value, slot)?;
        }
    }
    Ok((number, slots))
}

fn empty<T>(number: usize) -> Vec<Option<T>> {
    std::iter::repeat_with(|| None).take(number).collect()
}

impl<Q: Source> Relation for ToOne<Q> {
    type Output = Option<Q::Item>;

    fn local(&self) -> Result<&str> {
        self.query.check()?;
        checked(&self.local)
    }

    fn load<'s>(&'s self, values: Values, loading: &'s mut Loading<'_>) -> Boxed<'s, Vec<Self::Output>> {
        Box::pin(async move {
            let (number, slots) = by_document(checked(&self.local)?, values)?;
            let mut related = empty(number);
            for (slot, item) in self.query.read("_id", &slots, None, loading).await? {
                related[slot] = Some(item);
            }
            Ok(related)
        })
    }
}

impl<Q: Source> Relation for ToEach<Q> {
    type Output = Vec<Option<Q::Item>>;

    fn local(&self) -> Result<&str> {
        self.query.check()?;
        checked(&self.local)
    }

    fn load<'s>(&'s self, values: Values, loading: &'s mut Loading<'_>) -> Boxed<'s, Vec<Self::Output>> {
        Box::pin(async move {
            let lengths: Vec<usize> = values.iter().map(Vec::len).collect();
            let each: Vec<Vec<Bson>> = values.into_iter().flatten().map(|value| vec![value]).collect();
            let (number, slots) = by_document(checked(&self.local)?, each)?;
            let mut related = empty(number);
            for (slot, item) in self.query.read("_id", &slots, None, loading).await? {
                related[slot] = Some(item);
            }
            let mut related = related.into_iter();
            Ok(lengths
                .into_iter()
                .map(|length| related.by_ref().take(length).collect())
                .collect())
        })
    }
}

impl<Q: Source, K> Relation for ToMany<Q, K> {
    type Output = Vec<Q::Item>;

    fn local(&self) -> Result<&str> {
        self.query.check()?;
        checked(&self.foreign)?;
        checked(&self.local)
    }

    fn load<'s>(&'s self, values: Values, loading: &'s mut Loading<'_>) -> Boxed<'s, Vec<Self::Output>> {
        Box::pin(async move {
            let foreign = checked(&self.foreign)?;
            let (number, slots) = by_document(checked(&self.local)?, values)?;
            let mut related: Vec<_> = std::iter::repeat_with(Vec::new).take(number).collect();
            for (slot, item) in self.query.read(foreign, &slots, self.per_parent, loading).await? {
                related[slot].push(item);
            }
            Ok(related)
        })
    }
}

impl<Q: Source> Relation for FromOne<Q> {
    type Output = Option<Q::Item>;

    fn local(&self) -> Result<&str> {
        self.query.check()?;
        checked(&self.foreign)?;
        checked(&self.local)
    }

    fn load<'s>(&'s self, values: Values, loading: &'s mut Loading<'_>) -> Boxed<'s, Vec<Self::Output>> {
        Box::pin(async move {
            let foreign = checked(&self.foreign)?;
            let (number, slots) = by_document(checked(&self.local)?, values)?;
            let mut related = empty(number);
            for (slot, item) in self.query.read(foreign, &slots, None, loading).await? {
                related[slot].get_or_insert(item);
            }
            Ok(related)
        })
    }
}

impl<Q: Source> Relation for Counted<Q> {
    type Output = u64;

    fn local(&self) -> Result<&str> {
        self.query.check()?;
        checked(&self.foreign)?;
        checked(&self.local)
    }

    fn load<'s>(&'s self, values: Values, loading: &'s mut Loading<'_>) -> Boxed<'s, Vec<u64>> {
        Box::pin(async move {
            let foreign = checked(&self.foreign)?;
            let (number, slots) = by_document(checked(&self.local)?, values)?;
            let mut counts = vec![0; number];
            for (slot, count) in self.query.count(foreign, &slots, loading).await? {
                counts[slot] += count;
            }
            Ok(counts)
        })
    }
}
