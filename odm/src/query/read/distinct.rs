//! `distinct`.

use std::marker::PhantomData;

use crate::{
    ast::filter::{Node, Op},
    base::{
        bson::Bson,
        error::{Error, Result},
    },
    document::decode::value_at,
    driver::{action, options::DistinctOptions},
    models::model::{Fields, Model},
    path::{AsPath, RawPath, check_path, field::Field, marker::Readable, value_path},
    query::{
        handle::{
            Collection,
            action::{awaitable, forward_options},
            filter_of,
            gate::Sendable,
        },
        observe::Call,
    },
    term::filter::Filter,
    values::codec::DecodeOwned,
};

impl<D: Model> Collection<D> {
    /// The distinct values of a field in the documents that match. For an array give the path of
    /// its elements, `o.tags().any()`: `distinct` returns elements, and the array itself is rejected.
    ///
    /// All values are in one reply; if they exceed 16 MiB, the server returns an error.
    ///
    /// For a field of an enum variant only documents with this variant are read. The call fails
    /// with [`Error::InvalidFilter`] for an invalid path, and with [`Error::InvalidArgument`] for an array
    /// and for a variant with a tag inside an array, because `distinct` cannot select elements.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let skus: Vec<String> = orders.distinct(|o| o.lines().sku(), |o| o.total().gt(0)).await?;
    /// assert_eq!(skus, ["cup", "tea"]);
    /// # Ok(()) });
    /// ```
    pub fn distinct<A: AsPath<Root = D, Mode: Readable>>(
        &self,
        field: impl FnOnce(Fields<D>) -> A,
        filter: impl FnOnce(Fields<D>) -> Filter<D>,
    ) -> Distinct<'_, D, A::Value> {
        let field = field(D::fields());
        Distinct::new(
            self,
            field.raw(),
            not_an_array(&field).and_then(|()| filter_of(filter)),
        )
    }
}

/// The filter of a `distinct`, with a condition on the tag of each enum variant in the path of the
/// field.
fn of_variants(field: &RawPath, filter: Sendable<Node>) -> Result<Sendable<Node>> {
    check_path(field).map_err(|reason| Error::filter(field.dotted().replace('\0', ""), reason))?;
    let tagged = field.implied().iter().filter_map(|i| Some((i, i.tag?)));
    tagged.into_iter().try_fold(filter, |filter, (variant, tag)| {
        if variant.arrays > 0 {
            return Err(Error::argument(format!(
                "`distinct` of `{}` would return the values of all variants, because it cannot select the elements of an array \
                 where `{}` is \"{tag}\"; name one element by `.nth(index)`, or use an aggregation",
                field.dotted(),
                variant.key,
            )));
        }
        let tagged = Node::leaf(variant.key.clone(), Op::Eq(tag.into()));
        Ok(filter.with(|filter| filter.and(tagged)))
    })
}

/// Rejects an array as the field of a `distinct`, which returns the elements.
pub(in crate::query) fn not_an_array<A: AsPath>(field: &A) -> Result<()> {
    let path = value_path(field);
    let is_array = A::own_arrays(field) > 0;
    // An array inside an array is an element.
    if !is_array || path.arrays().last() == Some(&path.dotted().len()) {
        return Ok(());
    }
    Err(Error::argument(format!(
        "`distinct` of the array `{}` returns its elements; name them by `.any()`",
        path.dotted(),
    )))
}

/// Finds the distinct values of a field. Output: the values, decoded. See
/// [`Collection::distinct`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Distinct<'a, D, T> {
    collection: &'a Collection<D>,
    field: String,
    action: Result<action::Distinct<'a>>,
    call: Call,
    value: PhantomData<fn() -> T>,
}

impl<'a, D: Model, T> Distinct<'a, D, T> {
    pub(in crate::query) fn new(
        collection: &'a Collection<D>,
        field: &RawPath,
        filter: Result<Node>,
    ) -> Self {
        let filter = collection
            .readable(filter)
            .and_then(|filter| of_variants(field, filter));
        let call = Call::new::<D>(collection.namespace(), "distinct").query(filter.as_deref().ok());
        let action = filter.map(|filter| collection.inner.distinct(field.dotted(), filter));
        Distinct {
            call,
            collection,
            field: field.dotted().to_owned(),
            action,
            value: PhantomData,
        }
    }

    crate::driver::__distinct_options! { forward_options { action: DistinctOptions } }

    /// How the server would run the query, instead of running it: awaiting the returned action returns the
    /// reply to `explain`. Nothing is written. For its options see
    /// [`Explain`](crate::driver::action::Explain).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let reply = orders.distinct(|o| o.status(), |o| o.total().gt(100)).explain()?.await?;
    /// println!("{reply}");
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidFilter`](crate::Error::InvalidFilter) and [`Error::Encode`](crate::Error::Encode) for an
    /// invalid filter.
    pub fn explain(self) -> Result<action::Explain<'a>> {
        Ok(self.action?.explain())
    }

    fn call(&self) -> Call {
        self.call.clone()
    }
}

impl<'a, D: Model, T: Field + DecodeOwned + 'static> Distinct<'a, D, T> {
    fn run(self) -> impl Future<Output = Result<Vec<T>>> + Send + use<'a, D, T> {
        let Distinct {
            collection, field, ..
        } = self;
        let sending = self.action.map(IntoFuture::into_future);
        async move {
            let decode = |value: Bson| value_at(collection.namespace(), None, &field, &value);
            sending?.await?.into_iter().map(decode).collect()
        }
    }
}

awaitable!(['a, D: Model, T: Field + DecodeOwned + 'static] Distinct<'a, D, T> => Vec<T>);
