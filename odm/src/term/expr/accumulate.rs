//! Accumulators: values computed from the documents of a group or of a window.

use std::fmt;
use std::marker::PhantomData;

use crate::{
    base::bson::{Bson, Decimal128, Document, doc},
    path::{Types, field::Field, marker::Ordered},
    term::{
        expr::{Expr, Number, Operand, Raw, checked, print},
        sort::IntoSort,
    },
};

/// A value of type `T` that is computed from several documents of type `R`: a field of a `…Group`
/// struct.
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "orders")]
/// # struct Order { _id: i64, total: i64 }
/// let revenue: Acc<Order, i64> = sum(Order::fields().total());
/// assert_eq!(revenue.to_string(), r#"{"$sum": "$total"}"#);
/// ```
#[must_use = "an accumulator does nothing until it is given to a stage"]
pub struct Acc<R, T> {
    raw: Raw,
    types: Types<(R, T)>,
}

impl<R, T> Acc<R, T> {
    pub(crate) fn from_raw(raw: Raw) -> Self {
        Acc {
            raw,
            types: PhantomData,
        }
    }

    pub(crate) fn into_raw(self) -> Raw {
        self.raw
    }

    /// An accumulator in BSON, sent unchecked. The caller guarantees the type.
    ///
    /// ```
    /// # use marula_guide::*; use marula::expr::Acc;
    /// let all = Acc::<Order, i64>::raw(doc! { "$sum": 1 });
    /// assert_eq!(all.to_string(), r#"{"$sum": 1}"#);
    /// ```
    ///
    /// # Errors
    /// The same errors as [`Expr::raw`] has, for documents with encrypted fields.
    pub fn raw(accumulator: impl Into<Bson>) -> Self
    where
        R: Field,
    {
        Self::from_raw(checked::<R>().map(|()| accumulator.into()))
    }

    /// The same as [`raw`](Acc::raw), also for documents with encrypted fields; see [`Expr::unchecked`].
    ///
    /// ```
    /// # use marula_guide::*; use marula::expr::Acc;
    /// let all = Acc::<Order, i64>::unchecked(doc! { "$sum": 1 });
    /// assert_eq!(all.to_string(), r#"{"$sum": 1}"#);
    /// ```
    pub fn unchecked(accumulator: impl Into<Bson>) -> Self {
        Self::from_raw(Ok(accumulator.into()))
    }

    /// The same accumulator with another type. The caller guarantees it.
    ///
    /// ```
    /// # use marula::expr::{Acc, count};
    /// let count: Acc<(), Option<i64>> = count().retype();
    /// ```
    pub fn retype<U>(self) -> Acc<R, U> {
        Acc::from_raw(self.raw)
    }
}

impl<R, T> Clone for Acc<R, T> {
    fn clone(&self) -> Self {
        Self::from_raw(self.raw.clone())
    }
}

impl<R, T> fmt::Display for Acc<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(&self.raw, f)
    }
}

impl<R, T> fmt::Debug for Acc<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Acc({self})")
    }
}

fn one<R, T>(operator: &str, operand: Raw) -> Acc<R, T> {
    Acc::from_raw(operand.map(|operand| doc! { operator: operand }.into()))
}

/// Types of numbers that can be summed: numbers and `Option`s of them.
#[diagnostic::on_unimplemented(
    message = "sums and averages need numbers, found `{Self}`",
    label = "`{Self}` is not a number"
)]
pub trait Summed: Number {
    /// The type of a sum, in which null counts as 0: `i64`, `f64` or `Decimal128`.
    type Sum;
    /// The type of an average: `f64` or `Decimal128`, in an `Option` if the number is in one.
    type Average;
    /// The argument of `$sum` for an expression of this type.
    #[doc(hidden)]
    fn summand(raw: Raw) -> Raw {
        raw
    }
    /// The argument of `$sum` for an expression of this type that can be null: the server's sum of
    /// nulls is an Int32, which does not decode as a Decimal128.
    #[doc(hidden)]
    fn of_nulls(raw: Raw) -> Raw {
        raw
    }
    /// The sum of no values.
    #[doc(hidden)]
    #[must_use]
    fn zero() -> Bson {
        Bson::Int32(0)
    }
    /// A sum that can be of no values: it is an Int32 then, which does not decode as a Decimal128.
    #[doc(hidden)]
    fn total(sum: Raw) -> Raw {
        sum
    }
}

macro_rules! summed {
    ($($sum:ty, $average:ty: $($t:ty)*;)*) => { $($(
        impl Summed for $t {
            type Sum = $sum;
            type Average = $average;
        }
    )*)* };
}
summed! {
    i64, f64: i8 i16 i32 i64 u8 u16 u32 u64 usize;
    f64, f64: f32 f64;
}

impl Summed for Decimal128 {
    type Sum = Decimal128;
    type Average = Decimal128;
    fn zero() -> Bson {
        zero()
    }
    fn of_nulls(raw: Raw) -> Raw {
        raw.map(|raw| doc! { "$ifNull": [raw, zero()] }.into())
    }
    fn total(sum: Raw) -> Raw {
        sum.map(|sum| doc! { "$add": [sum, zero()] }.into())
    }
}

/// 0 as a Decimal128.
fn zero() -> Bson {
    "0".parse::<Decimal128>().map_or(Bson::Null, Bson::Decimal128)
}

impl<T: Summed> Summed for Option<T> {
    type Sum = T::Sum;
    type Average = Option<T::Average>;
    fn zero() -> Bson {
        T::zero()
    }
    fn summand(raw: Raw) -> Raw {
        T::of_nulls(raw)
    }
    fn of_nulls(raw: Raw) -> Raw {
        T::of_nulls(raw)
    }
    fn total(sum: Raw) -> Raw {
        T::total(sum)
    }
}

/// The sum (`$sum`). Null counts as 0.
///
/// ```
/// # use marula::expr::{lit, sum};
/// assert_eq!(sum(lit::<(), i32>(2)).to_string(), r#"{"$sum": 2}"#);
/// ```
#[doc(alias = "$sum")]
pub fn sum<R, T: Summed<Sum = S>, S>(value: impl Operand<R, Value = T>) -> Acc<R, S> {
    one("$sum", T::summand(value.into_operand().into_raw()))
}

/// The average (`$avg`), as `f64` or `Decimal128`. Null is ignored; the average of an `Option` is
/// an `Option`, since all values may be null.
///
/// ```
/// # use marula::expr::{avg, lit};
/// assert_eq!(avg(lit::<(), i32>(2)).to_string(), r#"{"$avg": 2}"#);
/// ```
#[doc(alias = "$avg")]
pub fn avg<R, T: Summed<Average = A>, A>(value: impl Operand<R, Value = T>) -> Acc<R, A> {
    one("$avg", value.into_operand().into_raw())
}

/// The number of documents.
///
/// ```
/// assert_eq!(marula::expr::count::<()>().to_string(), r#"{"$sum": 1}"#);
/// ```
pub fn count<R>() -> Acc<R, i64> {
    one("$sum", Ok(Bson::Int32(1)))
}

macro_rules! accumulators {
    ($($(#[$doc:meta])* $name:ident $operator:literal [$($bound:tt)*] $out:ty;)*) => { $(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("# use marula::expr::{lit, ", stringify!($name), "};")]
        #[doc = concat!("let value = ", stringify!($name), "(lit::<(), i32>(2));")]
        #[doc = concat!("assert_eq!(value.to_string(), r#\"{\"", $operator, "\": 2}\"#);")]
        /// ```
        #[doc(alias = $operator)]
        pub fn $name<R, E: Operand<R>>(value: E) -> Acc<R, $out>
        where
            E::Value: $($bound)*,
        {
            one($operator, value.into_operand().into_raw())
        }
    )* };
}
accumulators! {
    /// The least value (`$min`).
    min "$min" [Ordered] E::Value;
    /// The greatest value (`$max`).
    max "$max" [Ordered] E::Value;
    /// The value in the first document (`$first`). Sort the documents before.
    first "$first" [Sized] E::Value;
    /// The value in the last document (`$last`). Sort the documents before.
    last "$last" [Sized] E::Value;
    /// All values (`$push`).
    push "$push" [Sized] Vec<E::Value>;
    /// All distinct values, in no particular order (`$addToSet`).
    add_to_set "$addToSet" [Sized] Vec<E::Value>;
    /// The population standard deviation (`$stdDevPop`); `None` if no value is a number.
    std_dev_pop "$stdDevPop" [Number] Option<f64>;
    /// The sample standard deviation (`$stdDevSamp`); `None` for fewer than two values.
    std_dev_samp "$stdDevSamp" [Number] Option<f64>;
}

fn sorted(operator: &str, n: Option<u32>, sort: Document, value: Raw) -> Raw {
    let mut argument = doc! { "sortBy": sort, "output": value? };
    if let Some(n) = n {
        argument.insert("n", i64::from(n));
    }
    Ok(doc! { operator: argument }.into())
}

/// The value in the first document of a sort (`$top`, MongoDB 5.2+).
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "orders")]
/// # struct Order { _id: i64, total: i64 }
/// let o = Order::fields();
/// let largest = top(o.total().desc(), o._id());
/// assert_eq!(
///     largest.to_string(),
///     r#"{"$top": {"sortBy": {"total": -1}, "output": "$_id"}}"#
/// );
/// ```
#[doc(alias = "$top")]
pub fn top<R, E: Operand<R>>(sort: impl IntoSort<R>, value: E) -> Acc<R, E::Value> {
    Acc::from_raw(sorted(
        "$top",
        None,
        sort.into_sort(),
        value.into_operand().into_raw(),
    ))
}

/// The value in the last document of a sort (`$bottom`, MongoDB 5.2+).
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "orders")]
/// # struct Order { _id: i64, total: i64 }
/// let o = Order::fields();
/// let smallest = bottom(o.total().desc(), o._id());
/// assert_eq!(
///     smallest.to_string(),
///     r#"{"$bottom": {"sortBy": {"total": -1}, "output": "$_id"}}"#
/// );
/// ```
#[doc(alias = "$bottom")]
pub fn bottom<R, E: Operand<R>>(sort: impl IntoSort<R>, value: E) -> Acc<R, E::Value> {
    Acc::from_raw(sorted(
        "$bottom",
        None,
        sort.into_sort(),
        value.into_operand().into_raw(),
    ))
}

/// The values in the first `n` documents of a sort (`$topN`, MongoDB 5.2+). See [`top`].
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "orders")]
/// # struct Order { _id: i64, total: i64 }
/// let o = Order::fields();
/// let largest = top_n(3, o.total().desc(), o._id());
/// assert_eq!(
///     largest.to_string(),
///     r#"{"$topN": {"sortBy": {"total": -1}, "output": "$_id", "n": 3}}"#
/// );
/// ```
#[doc(alias = "$topN")]
pub fn top_n<R, E: Operand<R>>(n: u32, sort: impl IntoSort<R>, value: E) -> Acc<R, Vec<E::Value>> {
    Acc::from_raw(sorted(
        "$topN",
        Some(n),
        sort.into_sort(),
        value.into_operand().into_raw(),
    ))
}

/// The values in the last `n` documents of a sort (`$bottomN`, MongoDB 5.2+).
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "orders")]
/// # struct Order { _id: i64, total: i64 }
/// let o = Order::fields();
/// let smallest = bottom_n(3, o.total().desc(), o._id());
/// assert_eq!(
///     smallest.to_string(),
///     r#"{"$bottomN": {"sortBy": {"total": -1}, "output": "$_id", "n": 3}}"#
/// );
/// ```
#[doc(alias = "$bottomN")]
pub fn bottom_n<R, E: Operand<R>>(n: u32, sort: impl IntoSort<R>, value: E) -> Acc<R, Vec<E::Value>> {
    Acc::from_raw(sorted(
        "$bottomN",
        Some(n),
        sort.into_sort(),
        value.into_operand().into_raw(),
    ))
}

/// An accumulator over the documents around each document, in
/// [`window`](crate::Pipeline::window): `before` documents, the document itself, and `after`
/// documents; `None` is all of them. The window is never empty, since it contains the document.
///
/// ```
/// # use marula::expr::{lit, over, sum};
/// let so_far = over(sum(lit::<(), i32>(2)), None, Some(0));
/// assert_eq!(
///     so_far.to_string(),
///     r#"{"$sum": 2, "window": {"documents": ["unbounded", 0]}}"#
/// );
/// ```
pub fn over<R, T>(accumulator: Acc<R, T>, before: Option<u16>, after: Option<u16>) -> Expr<R, T> {
    let bound = |n: Option<u16>, sign: i32| match n {
        Some(n) => Bson::Int32(sign * i32::from(n)),
        None => Bson::from("unbounded"),
    };
    Expr::from_raw(accumulator.raw.map(|accumulator| match accumulator {
        Bson::Document(mut all) => {
            all.insert(
                "window",
                doc! { "documents": [bound(before, -1), bound(after, 1)] },
            );
            all.into()
        }
        other => other,
    }))
}

macro_rules! position {
    ($($(#[$doc:meta])* $name:ident $operator:literal;)*) => { $(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("let position = marula::expr::", stringify!($name), "::<()>();")]
        #[doc = concat!("assert_eq!(position.to_string(), r#\"{\"", $operator, "\": {}}\"#);")]
        /// ```
        #[doc(alias = $operator)]
        pub fn $name<R>() -> Expr<R, i64> {
            Expr::unchecked(doc! { $operator: {} })
        }
    )* };
}
position! {
    /// The rank of a document in its partition, from 1, in [`window`](crate::Pipeline::window):
    /// documents of equal sort keys have the same rank, after which ranks are left out (`$rank`).
    rank "$rank";
    /// The rank without gaps (`$denseRank`), see [`rank`].
    dense_rank "$denseRank";
    /// The number of a document in its partition, from 1, in
    /// [`window`](crate::Pipeline::window) (`$documentNumber`).
    document_number "$documentNumber";
}

/// The value of another document of the partition, in [`window`](crate::Pipeline::window): `by`
/// documents later, or earlier if it is negative; `None` if there is none (`$shift`).
///
/// ```
/// # use marula::expr::{lit, shift};
/// let previous = shift(lit::<(), i32>(2), -1);
/// assert_eq!(previous.to_string(), r#"{"$shift": {"output": 2, "by": -1, "default": null}}"#);
/// ```
#[doc(alias = "$shift")]
pub fn shift<R, E: Operand<R>>(value: E, by: i32) -> Expr<R, Option<E::Value>> {
    let value = value.into_operand().into_raw();
    Expr::from_raw(value.map(|v| doc! { "$shift": { "output": v, "by": by, "default": Bson::Null } }.into()))
}

macro_rules! scores {
    ($($(#[$doc:meta])* $name:ident $meta:literal;)*) => { $(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("let score = marula::expr::", stringify!($name), "::<()>();")]
        #[doc = concat!("assert_eq!(score.to_string(), r#\"{\"$meta\": \"", $meta, "\"}\"#);")]
        /// ```
        #[doc(alias = "$meta")]
        pub fn $name<R>() -> Expr<R, f64> {
            Expr::unchecked(doc! { "$meta": $meta })
        }
    )* };
}
scores! {
    /// The score of a [text search](crate::Filter::text).
    text_score "textScore";
    /// The score of [`search`](crate::Pipeline::search).
    search_score "searchScore";
    /// The score of [`vector_search`](crate::Pipeline::vector_search).
    vector_search_score "vectorSearchScore";
}
