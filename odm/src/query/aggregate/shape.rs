//! Shapes: the structs that stages create, and what their derive implements.

use serde::{Deserialize, Serialize};

use crate::{
    base::bson::DecodeError,
    models::projection::Projection,
    path::{
        AsPath, Inner, Mode, Path, RawPath,
        field::{DerivedDocument, Embedded, Field},
    },
    query::aggregate::stages::{ShapeFields, Stages},
    term::expr::Expr,
    values::{
        codec::{Decode, Value, read},
        record::result_types,
    },
};

/// A struct that a stage can create. Implemented by [`#[derive(Shape)]`](derive@crate::Shape).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    label = "only a struct with `#[derive(marula::Shape)]` can be created by a stage"
)]
pub trait Shape: Embedded {}

/// A struct of expressions over `R`: the generated `…Expr<R>` of a shape.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not contain the fields of a shape as expressions over `{R}`",
    label = "expected the `…Expr` struct of a shape"
)]
pub trait MakeShape<R> {
    /// The shape.
    type Shape: Shape;
    /// The fields.
    fn into_fields(self) -> ShapeFields;
}

/// A struct of a key and accumulators over `R`: the generated `…Group<R>` of a shape with a field
/// that is stored as `_id`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a group with a key over `{R}`",
    label = "expected the `…Group` struct of a shape with a key",
    note = "the key is a field with `#[serde(rename = \"_id\")]`; without a key use `group_all`"
)]
pub trait MakeGroup<R> {
    /// The shape.
    type Shape: Shape;
    /// The fields, with the key.
    fn into_fields(self) -> ShapeFields;
}

/// A struct of accumulators over `R`: the generated `…Group<R>` of a shape without a field that is
/// stored as `_id`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a group without a key over `{R}`",
    label = "expected the `…Group` struct of a shape without a key",
    note = "with a key use `group`"
)]
pub trait MakeTotal<R> {
    /// The shape.
    type Shape: Shape;
    /// The fields.
    fn into_fields(self) -> ShapeFields;
}

/// The fields that are added to an `S`: the generated `…Added<S>` of a shape with a flattened field
/// of type `S`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not contain fields that are added to `{S}`",
    label = "expected the `…Added` struct of a shape with `#[document(flatten)]` on a field of type `{S}`"
)]
pub trait MakeAdded<S> {
    /// The shape.
    type Shape: Shape;
    /// The added fields.
    fn into_fields(self) -> ShapeFields;
}

/// A shape with a flattened field of type `S` and one array: the result of a lookup.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a `{S}` with one array of joined documents",
    label = "this shape cannot contain the result of the lookup",
    note = "expected `#[document(flatten)]` on a field of type `{S}`, and one other field of type `Vec<_>`"
)]
pub trait Joined<S>: Shape {
    /// The type of the joined documents.
    type Foreign: Field;
    /// The stored name of the array.
    const AS: &'static str;
}

/// The pipelines of the facets of a shape over `S`: the generated `…Facets<S>` of a shape whose
/// fields are all arrays.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not contain facets over `{S}`",
    label = "expected the `…Facets` struct of a shape whose fields are all of type `Vec<_>`"
)]
pub trait MakeFacets<S> {
    /// The shape.
    type Shape: Shape;
    /// The stored names and the pipelines.
    fn into_facets(self) -> Vec<(&'static str, Stages)>;
}

/// The expression of an inner document. The derive of a shape calls it.
#[doc(hidden)]
pub fn shape_expr<R, S>(fields: ShapeFields) -> Expr<R, S> {
    Expr::from_raw(fields.into_document())
}
result_types! {
    /// A value and the number of documents that have it: the result of
    /// [`count_by`](crate::Pipeline::count_by).
    [Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize] Counted<K> CountedFields {
        /// The value.
        key as "_id": K;
        /// The number of documents.
        count: i64;
    }
    /// A number of documents: the result of [`count`](crate::Pipeline::count).
    [Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize] Count<> CountFields {
        /// The number of documents.
        count: i64;
    }
    /// The limits of a bucket, the key of [`bucket_auto`](crate::Pipeline::bucket_auto).
    [Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize] BucketRange<T> BucketRangeFields {
        /// The inclusive lower limit.
        min: T;
        /// The upper limit: exclusive, but inclusive in the last bucket.
        max: T;
    }
}

impl<K> Projection<Counted<K>> for Counted<K> {}
impl<K: Field> Shape for Counted<K> {}
impl Projection<Count> for Count {}
impl Shape for Count {}
impl<T> Projection<BucketRange<T>> for BucketRange<T> {}
impl<T: Field> Shape for BucketRange<T> {}
