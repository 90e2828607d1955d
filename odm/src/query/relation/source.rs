//! The queries of relations: the documents whose field has one of many keys.

use std::borrow::Cow;

use crate::{
    base::{
        bson::{Bson, Document, RawDocumentBuf, decode_document, doc},
        error::{Error, Result},
        stage_versions::{self, requiring},
    },
    driver::{
        Bind,
        bson::IntoDocument,
        options::{AggregateOptions, FindOptions},
    },
    models::{model::Model, projection::Output},
    query::{
        handle::{Collection, action::in_session},
        observe::{Boxed, Call},
        read::{find::Find, page::sort_of},
        relation::{
            keys::{Keys, Slots},
            load::in_keys,
            relations::{Alone, Loading, Relations, Row},
            rows::{Columns, HIDDEN_FIELDS, Reader, Undecoded},
            with::FindWith,
        },
    },
};

/// The query of a relation: a collection, or a [`find`](Collection::find) of it, which can have a filter, a sort, a
/// [`select`](Find::select) and relations of its own. See [`Find::with`].
///
/// ```
/// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
/// let swiss = customers.find(|c| c.country().eq("CH"));
/// let all = orders.find_all().with(|o| o.customer(), swiss).await?;
/// assert_eq!(all.iter().filter(|(_, customer)| customer.is_some()).count(), 3);
/// # Ok(()) });
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a query that a relation can read",
    label = "expected a `&Collection`, or a query such as `customers.find(|c| ..)`"
)]
pub trait Related {
    /// The model of the documents.
    type Model: Model;
    /// The query.
    type Source: Source;
    /// The query.
    fn into_source(self) -> Self::Source;
}

impl<'a, D: Model> Related for &'a Collection<D> {
    type Model = D;
    type Source = FindWith<'a, D, D, Alone>;

    fn into_source(self) -> Self::Source {
        self.find_all().into_source()
    }
}

impl<'a, D: Model, T: Output> Related for Find<'a, D, T> {
    type Model = D;
    type Source = FindWith<'a, D, T, Alone>;

    fn into_source(self) -> Self::Source {
        FindWith::alone(self)
    }
}

impl<D: Model, T: Output, L: Relations<T>> Related for FindWith<'_, D, T, L>
where
    <L::Row as Row>::Item: Send,
{
    type Model = D;
    type Source = Self;

    fn into_source(self) -> Self {
        self
    }
}

/// A query that is run for many keys.
#[doc(hidden)]
pub trait Source: Send + Sync {
    /// The type in which its documents are read.
    type Item: Send;

    /// Checks the query, and the relations of its documents.
    ///
    /// # Errors
    /// It cannot be the query of a relation, whatever is stored.
    fn check(&self) -> Result<()>;

    /// Reads the documents whose field has one of the keys, in the order of the query, with their slots.
    fn read<'s>(
        &'s self,
        field: &'s str,
        slots: &'s Slots,
        per_key: Option<u32>,
        loading: &'s mut Loading<'_>,
    ) -> Boxed<'s, Vec<(usize, Self::Item)>>;

    /// Counts the documents of each key.
    fn count<'s>(
        &'s self,
        field: &'s str,
        slots: &'s Slots,
        loading: &'s mut Loading<'_>,
    ) -> Boxed<'s, Vec<(usize, u64)>>;
}

impl<D: Model, T: Output, L: Relations<T>> Source for FindWith<'_, D, T, L>
where
    <L::Row as Row>::Item: Send,
{
    type Item = <L::Row as Row>::Item;

    fn check(&self) -> Result<()> {
        let options = &self.find.options;
        self.find.filter.as_ref().map_err(Clone::clone)?;
        let reason = if options.__range() != (None, None) {
            "`limit` and `skip` of the query of a relation would count the documents of all parents together: use `per_parent(..)`"
        } else if self.find.session.is_some() {
            "the queries of relations run in the session of the outer query: set it there"
        } else if options.__changes_fields() {
            HIDDEN_FIELDS
        } else {
            return self.relations.paths(&mut Vec::new());
        };
        Err(Error::argument(reason))
    }

    fn read<'s>(
        &'s self,
        field: &'s str,
        slots: &'s Slots,
        per_key: Option<u32>,
        loading: &'s mut Loading<'_>,
    ) -> Boxed<'s, Vec<(usize, Self::Item)>> {
        Box::pin(async move {
            let mut paths = Vec::new();
            self.relations.paths(&mut paths)?;
            let mut columns = Columns::new(paths.len());
            // The last value is the key.
            paths.push(field.to_owned());
            let (mut items, mut slots_of_items) = (Vec::new(), Vec::new());
            let collection = self.collection(loading);
            for query in slots.queries() {
                let find = self.of_keys(&collection, field, query, loading);
                let (find, reader) = Reader::of(find, paths.clone())?;
                let documents = match per_key {
                    None => find.all().await?,
                    Some(number) => first_of_keys(find, field, number).await?,
                };
                for document in documents {
                    let (document, mut values) = reader.values(document)?;
                    let keys = values.pop().unwrap_or_default();
                    for slot in self.slots(field, slots, query, &keys)? {
                        items.push(reader.decode(&document)?);
                        columns.push(values.clone());
                        slots_of_items.push(slot);
                    }
                }
            }
            let rows = self.relations.load(items, columns, loading).await?;
            Ok(slots_of_items
                .into_iter()
                .zip(rows.into_iter().map(Row::item))
                .collect())
        })
    }

    fn count<'s>(
        &'s self,
        field: &'s str,
        slots: &'s Slots,
        loading: &'s mut Loading<'_>,
    ) -> Boxed<'s, Vec<(usize, u64)>> {
        Box::pin(async move {
            let mut counts = Vec::new();
            let collection = self.collection(loading);
            for query in slots.queries() {
                let find = self.of_keys(&collection, field, query, loading);
                check_aggregation("with_count", &find)?;
                let by_key = doc! { "$group": { "_id": format!("${field}"), "count": { "$sum": 1_i64 } } };
                let stages = vec![matching(&find)?, by_key];
                for group in aggregated(find, stages).await? {
                    let group = decode_document(group.as_bytes()).map_err(malformed)?;
                    let keys = match group.get("_id").cloned() {
                        Some(Bson::Array(keys)) => keys,
                        key => vec![key.unwrap_or(Bson::Null)],
                    };
                    let count = group.get_i64("count").map_err(malformed)?;
                    let count = u64::try_from(count).map_err(malformed)?;
                    let of_key = self.slots(field, slots, query, &keys)?;
                    counts.extend(of_key.into_iter().map(|slot| (slot, count)));
                }
            }
            Ok(counts)
        })
    }
}

impl<D: Model, T: Output, L> FindWith<'_, D, T, L> {
    /// The handle of the query, in the transaction of the outer query if it has none of its own.
    fn collection<'s>(&'s self, loading: &Loading<'_>) -> Cow<'s, Collection<D>> {
        let own = self.find.collection;
        match &loading.bound {
            Some(transaction) if own.transaction().is_none() => Cow::Owned(own.bind_to(transaction)),
            _ => Cow::Borrowed(own),
        }
    }

    /// The query of the documents whose field has one of the keys.
    fn of_keys<'s>(
        &'s self,
        collection: &'s Collection<D>,
        field: &str,
        query: Keys<'_>,
        loading: &'s mut Loading<'_>,
    ) -> Find<'s, D, T> {
        let find = self.find.again();
        let found = Find {
            collection,
            options: loading.limit.of(find.options, FindOptions::timeout),
            session: loading.session.as_deref_mut(),
            ..find
        };
        found.filter(in_keys(field, query.values()))
    }

    /// Where a document belongs.
    fn slots(&self, field: &str, slots: &Slots, query: Keys<'_>, keys: &[Bson]) -> Result<Vec<usize>> {
        let found = slots.of(query, keys);
        if found.is_empty() {
            return Err(Error::argument(format!(
                "a document of `{}` was found by a value of `{field}` that is not equal to the key of a document without the \
                 collation of the collection: set the collation of the relation's query to `simple`",
                self.find.collection.namespace()
            )));
        }
        Ok(found)
    }
}

/// Checks that an aggregation of the documents of each key is what the query finds.
fn check_aggregation<D: Model, T>(call: &str, find: &Find<'_, D, T>) -> Result<()> {
    if let Some(option) = find.options.__only_of_find() {
        return Err(Error::argument(format!(
            "`{call}` runs an aggregation, which has no option `{option}`"
        )));
    }
    let is_collated = match find.options.__collation() {
        Some(collation) => collation.locale != "simple",
        None => D::collection().options().contains_key("collation"),
    };
    if is_collated {
        return Err(Error::argument(format!(
            "`{call}` would take keys that the collation of the query finds equal for one: set the collation of the relation's \
             query to `simple`"
        )));
    }
    Ok(())
}

/// The stage of the documents that a query finds.
fn matching<D, T>(find: &Find<'_, D, T>) -> Result<Document> {
    let filter = find.filter.clone()?.into_raw_document();
    let filter = filter.map_err(|e| Error::encode("", e.into()))?;
    Ok(doc! { "$match": decode_document(filter.as_bytes()).map_err(malformed)? })
}

/// The first documents of each key, in the order of the query.
async fn first_of_keys<D: Model>(
    find: Find<'_, D, Undecoded>,
    field: &str,
    number: u32,
) -> Result<Vec<Undecoded>> {
    const NUMBER: &str = "marulaNumber";
    check_aggregation("per_parent", &find)?;
    if find.collection.gate()?.is_encrypted() {
        return Err(Error::argument(
            "`per_parent` needs the stage `$setWindowFields`, which encrypted collections do not have",
        ));
    }
    let mut sort = sort_of(&find)?;
    if sort.contains_key("$natural") || sort.values().any(|direction| direction.as_document().is_some()) {
        return Err(Error::argument(
            "`per_parent` needs a sort by fields, found one by `$natural` or by the score of a search",
        ));
    }
    if sort.is_empty() {
        sort.insert("_id", 1);
    }
    let numbered = doc! {
        "partitionBy": format!("${field}"),
        "sortBy": sort,
        "output": { NUMBER: { "$documentNumber": {} } },
    };
    let mut stages = vec![
        matching(&find)?,
        doc! { "$setWindowFields": numbered },
        doc! { "$match": { NUMBER: { "$lte": i64::from(number) } } },
        // The stage before does not promise an order.
        doc! { "$sort": { NUMBER: 1 } },
        doc! { "$unset": NUMBER },
    ];
    if let Some(projection) = find
        .projection
        .clone()
        .filter(|projection| !projection.is_empty())
    {
        stages.push(doc! { "$project": projection });
    }
    let documents = aggregated(find, stages).await?;
    Ok(documents.into_iter().map(Undecoded::new).collect())
}

/// Runs stages with the options of a query.
async fn aggregated<D: Model, T>(find: Find<'_, D, T>, stages: Vec<Document>) -> Result<Vec<RawDocumentBuf>> {
    let collection = find.collection;
    let call = Call::new::<D>(collection.namespace(), "aggregate").query(find.filter.as_deref().ok());
    let options = requiring!(
        AggregateOptions::from(&find.options),
        stage_versions::of_pipeline(&stages, &collection.namespace().collection)
    );
    let session = find.session;
    call.observe(Box::pin(async move {
        let driver = collection.driver();
        let running = driver.aggregate(stages).with_options(options);
        let running = in_session!(session, running.with_type::<RawDocumentBuf>());
        let mut cursor = running.await?;
        let mut documents = Vec::new();
        while cursor.advance().await? {
            documents.push(cursor.current()?.to_owned());
        }
        Ok(documents)
    }))
    .await
}

fn malformed(e: impl std::fmt::Display) -> Error {
    Error::argument(format!("a document of a relation is malformed: {e}"))
}
