//! Groups by ranges of a value: `$bucket` and `$bucketAuto`.

use crate::{
    base::bson::{Bson, doc},
    models::model::Fields,
    path::{field::Field, marker::Ordered},
    query::aggregate::{
        Pipeline, nav,
        shape::{BucketRange, MakeGroup},
    },
    term::expr::{Expr, Operand, Raw, literal},
    values::value::IntoValue,
};

/// The key of a bucket in the closure of a stage. The stage removes it.
const KEY: &str = "$$bucket";

impl<In, S: Field, C> Pipeline<In, S, C> {
    /// Groups the documents by ranges of a value (`$bucket`). The boundaries are ascending; the
    /// last one is the exclusive upper limit. The second argument of the closure is the key, the
    /// lower limit of the range: put it into the field stored as `_id`.
    ///
    /// A value outside of the boundaries is in the bucket of `default`, which must be less than the
    /// first boundary or not less than the last; without a default it is an error of the server.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, expr::*, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, total: i64 }
    /// #[derive(Shape)]
    /// struct Size {
    ///     #[serde(rename = "_id")]
    ///     from: i64,
    ///     orders: i64,
    /// }
    /// let sizes = Pipeline::<Order>::new().bucket(
    ///     |o| o.total(),
    ///     [0, 1_000, 10_000],
    ///     Some(-1),
    ///     |_, from| SizeGroup { from, orders: count() },
    /// );
    /// assert_eq!(
    ///     sizes.to_string(),
    ///     concat!(
    ///         r#"[{"$bucket": {"groupBy": "$total", "boundaries": [0, 1000, 10000], "default": -1, "#,
    ///         r#""output": {"orders": {"$sum": 1}}}}]"#
    ///     )
    /// );
    /// ```
    #[doc(alias = "$bucket")]
    pub fn bucket<K, G>(
        self,
        value: impl FnOnce(Fields<S>) -> K,
        boundaries: impl IntoIterator<Item = K::Value>,
        default: Option<K::Value>,
        group: impl FnOnce(Fields<S>, Expr<S, K::Value>) -> G,
    ) -> Pipeline<In, G::Shape, C>
    where
        K: Operand<S, Value: Ordered + IntoValue<K::Value>>,
        G: MakeGroup<S>,
    {
        let boundaries = boundaries
            .into_iter()
            .map(|limit| literal(limit.into_value()))
            .collect();
        let default = default.map(|default| literal(default.into_value()));
        let value = value(nav::<S>()).into_operand().into_raw();
        let group = group(nav::<S>(), Expr::unchecked(KEY)).into_fields();
        let output = group.without_key("bucket", &Bson::from(KEY));
        self.stage("$bucket", ranges(value, boundaries, default, output))
            .then()
    }

    /// Groups the documents into a number of ranges of a value with about equal numbers of
    /// documents (`$bucketAuto`). The second argument of the closure is the key, the limits of the
    /// range: put it into the field stored as `_id`.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, aggregate::BucketRange, expr::*, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, total: i64 }
    /// #[derive(Shape)]
    /// struct Quartile {
    ///     #[serde(rename = "_id")]
    ///     range: BucketRange<i64>,
    ///     orders: i64,
    /// }
    /// let quartiles = Pipeline::<Order>::new()
    ///     .bucket_auto(|o| o.total(), 4, |_, range| QuartileGroup { range, orders: count() });
    /// assert_eq!(
    ///     quartiles.to_string(),
    ///     concat!(
    ///         r#"[{"$bucketAuto": {"groupBy": "$total", "buckets": 4, "#,
    ///         r#""output": {"orders": {"$sum": 1}}}}]"#
    ///     )
    /// );
    /// ```
    #[doc(alias = "$bucketAuto")]
    pub fn bucket_auto<K, G>(
        self,
        value: impl FnOnce(Fields<S>) -> K,
        buckets: u32,
        group: impl FnOnce(Fields<S>, Expr<S, BucketRange<K::Value>>) -> G,
    ) -> Pipeline<In, G::Shape, C>
    where
        K: Operand<S>,
        G: MakeGroup<S>,
    {
        let value = value(nav::<S>()).into_operand().into_raw();
        let group = group(nav::<S>(), Expr::unchecked(KEY)).into_fields();
        let output = group.without_key("bucket_auto", &Bson::from(KEY));
        let build =
            || Ok(doc! { "groupBy": value?, "buckets": i64::from(buckets), "output": output? }.into());
        self.stage("$bucketAuto", build()).then()
    }
}

fn ranges(
    value: Raw,
    boundaries: Result<Vec<Bson>, Box<crate::Error>>,
    default: Option<Raw>,
    output: Raw,
) -> Raw {
    let mut bucket = doc! { "groupBy": value?, "boundaries": boundaries? };
    if let Some(default) = default {
        bucket.insert("default", default?);
    }
    bucket.insert("output", output?);
    Ok(bucket.into())
}
