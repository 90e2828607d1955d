//! Groups and counts: `$group`, `$sortByCount` and `$count`.

use crate::{
    base::bson::Bson,
    models::model::Fields,
    path::field::Field,
    query::aggregate::{
        Pipeline, nav,
        shape::{Count, Counted, MakeGroup, MakeTotal},
    },
    term::expr::Operand,
};

impl<In, S: Field, C> Pipeline<In, S, C> {
    /// Groups the documents by the field of the shape that is stored as `_id` (`$group`). See the
    /// [module](crate::aggregate#shapes).
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::expr::{count, expr, sum};
    ///
    /// #[derive(Shape)]
    /// struct Totals {
    ///     #[serde(rename = "_id")]
    ///     customer: i64,
    ///     orders: i64,
    ///     revenue: i64,
    /// }
    ///
    /// let totals = Pipeline::<Order>::new().group(|o| TotalsGroup {
    ///     customer: expr(o.customer()),
    ///     orders: count(),
    ///     revenue: sum(o.total()),
    /// });
    /// assert_eq!(
    ///     totals.to_string(),
    ///     concat!(
    ///         r#"[{"$group": {"_id": "$customer", "orders": {"$sum": 1}, "#,
    ///         r#""revenue": {"$sum": "$total"}}}]"#
    ///     )
    /// );
    /// ```
    #[doc(alias = "$group")]
    pub fn group<G: MakeGroup<S>>(self, group: impl FnOnce(Fields<S>) -> G) -> Pipeline<In, G::Shape, C> {
        let fields = group(nav::<S>()).into_fields();
        self.stage("$group", fields.into_group(None)).then()
    }

    /// Combines all documents into one (`$group`). Of no documents the result is empty.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, expr::*, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, total: i64 }
    /// #[derive(Shape)]
    /// struct Revenue {
    ///     revenue: i64,
    /// }
    /// let all = Pipeline::<Order>::new().group_all(|o| RevenueGroup { revenue: sum(o.total()) });
    /// assert_eq!(
    ///     all.to_string(),
    ///     r#"[{"$group": {"_id": null, "revenue": {"$sum": "$total"}}}]"#
    /// );
    /// ```
    #[doc(alias = "$group")]
    pub fn group_all<G: MakeTotal<S>>(self, group: impl FnOnce(Fields<S>) -> G) -> Pipeline<In, G::Shape, C> {
        let fields = group(nav::<S>()).into_fields();
        self.stage("$group", fields.into_group(Some(Ok(Bson::Null))))
            .then()
    }

    /// Counts the documents of each value, the most frequent value first (`$sortByCount`).
    ///
    /// ```
    /// # use marula::{Document, Pipeline, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, customer: i64 }
    /// let frequent = Pipeline::<Order>::new().count_by(|o| o.customer()).match_(|c| c.count().gt(1));
    /// assert_eq!(
    ///     frequent.to_string(),
    ///     r#"[{"$sortByCount": "$customer"}, {"$match": {"count": {"$gt": 1}}}]"#
    /// );
    /// ```
    #[doc(alias = "$sortByCount")]
    pub fn count_by<K: Operand<S, Value: Field>>(
        self,
        key: impl FnOnce(Fields<S>) -> K,
    ) -> Pipeline<In, Counted<K::Value>, C> {
        self.stage("$sortByCount", key(nav::<S>()).into_operand().into_raw())
            .then()
    }

    /// Counts the documents (`$count`). Of no documents the result is empty.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64 }
    /// assert_eq!(Pipeline::<Order>::new().count().to_string(), r#"[{"$count": "count"}]"#);
    /// ```
    #[doc(alias = "$count")]
    pub fn count(self) -> Pipeline<In, Count, C> {
        self.stage("$count", Ok(Bson::from("count"))).then()
    }
}
