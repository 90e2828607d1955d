//! Sums, averages and extremes of the documents of a query: one `aggregate` command each.

use std::pin::Pin;

use crate::{
    base::{
        bson::{Bson, Document, doc},
        error::Result,
        stage_versions::{self, requiring},
    },
    document::decode::value_at,
    driver::{Namespace, options::AggregateOptions},
    models::{
        model::{Fields, Model},
        projection::{Output, Present},
    },
    path::marker::Ordered,
    query::{
        handle::action::{Session, in_session},
        observe::Call,
        read::{find::Find, page::sort_of},
    },
    term::expr::{Acc, Operand, Summed, avg, max, min, sum},
};

/// Values of which the documents of a query have a least and a greatest one, and `Option`s of them: null is
/// ignored.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no least and greatest value",
    label = "expected a type that is compared by order, or an `Option` of one"
)]
pub trait Comparable {
    /// The type of the value that is not null.
    type Value;
}

impl<T: Present> Comparable for T {
    type Value = T;
}

impl<T: Present> Comparable for Option<T> {
    type Value = T;
}

type Computing<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// The type of the average of numbers of type `N`.
type Average<N> = <<N as Summed>::Sum as Summed>::Average;

impl<'a, D: Model, T> Find<'a, D, T> {
    /// The sum of a value of the documents (`$sum`); 0 of no documents. Null counts as 0. A sum of integers is an
    /// `i64`.
    ///
    /// The server computes it in one command, with the filter, sort, skip, limit and options of the query; it does
    /// not return the documents. The filter cannot contain [`near`](crate::FilterOps::near).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let revenue: i64 = orders.find(|o| o.status().eq(Status::Open)).sum(|o| o.total()).await?;
    /// let largest = orders.find_all().sort(|o| o.total().desc()).limit(2).sum(|o| o.total()).await?;
    /// assert_eq!((revenue, largest), (600, 500));
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// The [errors of the action](crate::Collection#errors). [`Error::Decode`](crate::Error::Decode) if the sum of
    /// integers exceeds `i64`.
    #[doc(alias = "$sum")]
    pub fn sum<E>(self, value: impl FnOnce(Fields<D>) -> E) -> Computing<'a, <E::Value as Summed>::Sum>
    where
        E: Operand<D, Value: Summed<Sum: Output>>,
    {
        let computed = self.computed("sum", sum(value(D::fields())));
        let zero = <E::Value as Summed>::zero();
        Box::pin(async move {
            let (namespace, value) = computed.await?;
            value_at(&namespace, None, VALUE, &value.unwrap_or(zero))
        })
    }

    /// The average of a value of the documents (`$avg`), as `f64` or `Decimal128`; `None` if no document has a
    /// value that is not null. Takes the same options as [`sum`](Find::sum).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let average: Option<f64> = orders.find_all().avg(|o| o.total()).await?;
    /// assert_eq!(average, Some(200.0));
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// The [errors of the action](crate::Collection#errors).
    #[doc(alias = "average")]
    #[doc(alias = "$avg")]
    pub fn avg<E>(self, value: impl FnOnce(Fields<D>) -> E) -> Computing<'a, Option<Average<E::Value>>>
    where
        E: Operand<D, Value: Summed<Sum: Summed<Average: Output>>>,
    {
        self.optional("avg", avg(value(D::fields())).retype())
    }

    /// The least value of the documents (`$min`); `None` if no document has a value that is not null. Takes the
    /// same options as [`sum`](Find::sum); strings are compared with the collation of the query.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.find(|o| o.total().gt(150)).min(|o| o.total()).await?, Some(200));
    /// assert_eq!(orders.find(|o| o.total().gt(900)).min(|o| o.total()).await?, None);
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// The [errors of the action](crate::Collection#errors).
    #[doc(alias = "$min")]
    pub fn min<E>(
        self,
        value: impl FnOnce(Fields<D>) -> E,
    ) -> Computing<'a, Option<<E::Value as Comparable>::Value>>
    where
        E: Operand<D, Value: Ordered + Comparable<Value: Output>>,
    {
        self.optional("min", min(value(D::fields())).retype())
    }

    /// The greatest value of the documents (`$max`); see [`min`](Find::min).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.find_all().max(|o| o.total()).await?, Some(300));
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// The [errors of the action](crate::Collection#errors).
    #[doc(alias = "$max")]
    pub fn max<E>(
        self,
        value: impl FnOnce(Fields<D>) -> E,
    ) -> Computing<'a, Option<<E::Value as Comparable>::Value>>
    where
        E: Operand<D, Value: Ordered + Comparable<Value: Output>>,
    {
        self.optional("max", max(value(D::fields())).retype())
    }

    fn optional<V: Output>(self, name: &'static str, value: Acc<D, V>) -> Computing<'a, Option<V>> {
        let computed = self.computed(name, value);
        Box::pin(async move {
            let (namespace, value) = computed.await?;
            match value {
                None | Some(Bson::Null) => Ok(None),
                Some(value) => value_at(&namespace, None, VALUE, &value).map(Some),
            }
        })
    }

    /// Runs a group of all documents. `None` if there are none.
    fn computed<V>(self, name: &'static str, value: Acc<D, V>) -> Computing<'a, (Namespace, Option<Bson>)> {
        let collection = self.collection;
        let namespace = collection.namespace().clone();
        let call = Call::new::<D>(&namespace, name).query(self.filter.as_deref().ok());
        let options = AggregateOptions::from(&self.options);
        let stages = self.stages(value);
        Box::pin(call.observe(async move {
            let (stages, session) = stages?;
            let options = requiring!(
                options,
                stage_versions::of_pipeline(&stages, &namespace.collection)
            );
            let running = collection.inner.aggregate(stages).with_options(options);
            let group = in_session!(session, running).await?.try_next().await?;
            Ok((namespace, group.and_then(|mut group| group.remove(VALUE))))
        }))
    }

    /// The stages that select the documents of the query, and the group.
    fn stages<V>(self, value: Acc<D, V>) -> Result<(Vec<Document>, Session<'a>)> {
        let (skip, limit) = self.options.__range();
        let sort = sort_of(&self)?;
        let filter = self.filter?;
        let value = value.into_raw().map_err(|e| *e)?;
        let mut stages = Vec::with_capacity(5);
        if !filter.is_empty() {
            stages.push(doc! { "$match": filter.to_document() });
        }
        if skip.is_some() || limit.is_some() {
            if !sort.is_empty() {
                stages.push(doc! { "$sort": sort });
            }
            stages.extend(skip.map(|count| doc! { "$skip": count }));
            stages.extend(limit.map(|count| doc! { "$limit": count }));
        }
        stages.push(doc! { "$group": { "_id": Bson::Null, VALUE: value } });
        Ok((stages, self.session))
    }
}

/// The field of the result.
const VALUE: &str = "value";
