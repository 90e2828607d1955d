//! Accumulators of several values, and functions of windows.

use crate::{
    base::bson::{Bson, Document, doc},
    path::{
        field::Embedded,
        marker::{Nullable, Ordered},
    },
    term::expr::{
        Acc, Expr, List, Number, Operand, PlainNumber, Raw, Summed, Unit, elements::quantile, parts,
    },
};

/// The type of calculations with fractions of numbers of type `N`: `f64` or `Decimal128`.
type Fraction<N> = <<N as Summed>::Sum as Summed>::Average;

fn accumulator<R, T>(operator: &str, argument: Raw) -> Acc<R, T> {
    Acc::from_raw(argument.map(|argument| doc! { operator: argument }.into()))
}

macro_rules! several {
    ($($(#[$doc:meta])* $name:ident $operator:literal [$($bound:tt)*];)*) => { $(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("# use marula::expr::{lit, ", stringify!($name), "};")]
        #[doc = concat!("let values = ", stringify!($name), "(3, lit::<(), i32>(2));")]
        #[doc = concat!("assert_eq!(values.to_string(), r#\"{\"", $operator, "\": {\"input\": 2, \"n\": 3}}\"#);")]
        /// ```
        #[doc(alias = $operator)]
        pub fn $name<R, E: Operand<R>>(n: u32, value: E) -> Acc<R, Vec<E::Value>>
        where
            E::Value: $($bound)*,
        {
            let value = value.into_operand().into_raw();
            accumulator($operator, value.map(|value| doc! { "input": value, "n": i64::from(n) }.into()))
        }
    )* };
}
several! {
    /// The values in the first `n` documents (`$firstN`, MongoDB 5.2+). Sort the documents before. `n` is at least 1.
    first_n "$firstN" [Sized];
    /// The values in the last `n` documents (`$lastN`, MongoDB 5.2+). Sort the documents before. `n` is at least 1.
    last_n "$lastN" [Sized];
    /// The `n` greatest values, in descending order (`$maxN`, MongoDB 5.2+). Null is ignored. `n` is at least 1.
    max_n "$maxN" [Ordered];
    /// The `n` least values, in ascending order (`$minN`, MongoDB 5.2+). Null is ignored. `n` is at least 1.
    min_n "$minN" [Ordered];
}

/// The fields of the documents in one (`$mergeObjects`). Of fields of one name that of the last document is taken: sort
/// the documents before.
///
/// ```
/// # use marula_guide::*;
/// # #[derive(Embedded)] struct Settings { color: Option<String> }
/// # #[derive(Document)] #[document(collection = "people")] struct Person { _id: i64, own: Settings }
/// let settings = marula::expr::merged(Person::fields().own());
/// assert_eq!(settings.to_string(), r#"{"$mergeObjects": "$own"}"#);
/// ```
#[doc(alias = "$mergeObjects")]
pub fn merged<R, E: Operand<R, Value: Embedded>>(document: E) -> Acc<R, E::Value> {
    accumulator("$mergeObjects", document.into_operand().into_raw())
}

macro_rules! arrays {
    ($($(#[$doc:meta])* $name:ident $operator:literal;)*) => { $(
        $(#[$doc])*
        ///
        /// ```
        /// # use marula::{Document, expr, prelude::*};
        /// # #[derive(Document)]
        /// # #[document(collection = "games")]
        /// # struct Game { _id: i64, scores: Vec<i32> }
        #[doc = concat!("let all = expr::", stringify!($name), "(Game::fields().scores());")]
        #[doc = concat!("assert_eq!(all.to_string(), r#\"{\"", $operator, "\": \"$scores\"}\"#);")]
        /// ```
        #[doc(alias = $operator)]
        pub fn $name<R, E: Operand<R, Value: List>>(array: E) -> Acc<R, Vec<<E::Value as List>::Item>> {
            accumulator($operator, array.into_operand().into_raw())
        }
    )* };
}
arrays! {
    /// The elements of the arrays in all documents (`$concatArrays`, MongoDB 8.1+).
    concat_all "$concatArrays";
    /// The distinct elements of the arrays in all documents, in no particular order (`$setUnion`, MongoDB 8.1+).
    union_all "$setUnion";
}

/// Approximations of the percentiles, from 0 to 1, of the values (`$percentile`, MongoDB 7.0+), in the order of the
/// argument; `None` if no value is a number.
///
/// ```
/// # use marula::expr::{lit, percentiles};
/// let best = percentiles(lit::<(), i32>(2), &[0.5, 0.9]);
/// assert_eq!(
///     best.to_string(),
///     r#"{"$percentile": {"input": 2, "method": "approximate", "p": [0.5, 0.9]}}"#
/// );
/// ```
#[doc(alias = "$percentile")]
pub fn percentiles<R, E: Operand<R, Value: Number>>(value: E, p: &[f64]) -> Acc<R, Vec<Option<f64>>> {
    accumulator("$percentile", quantile(value.into_operand().into_raw(), Some(p)))
}

/// An approximation of the median of the values (`$median`, MongoDB 7.0+); `None` if no value is a number.
///
/// ```
/// # use marula::expr::{lit, median};
/// let middle = median(lit::<(), i32>(2));
/// assert_eq!(middle.to_string(), r#"{"$median": {"input": 2, "method": "approximate"}}"#);
/// ```
#[doc(alias = "$median")]
pub fn median<R, E: Operand<R, Value: Number>>(value: E) -> Acc<R, Option<f64>> {
    accumulator("$median", quantile(value.into_operand().into_raw(), None))
}

/// A window of documents: see [`over`](crate::expr::over).
fn documents(before: Option<u16>, after: Option<u16>) -> Document {
    let bound = |n: Option<u16>, sign: i32| match n {
        Some(n) => Bson::Int32(sign * i32::from(n)),
        None => Bson::from("unbounded"),
    };
    doc! { "documents": [bound(before, -1), bound(after, 1)] }
}

/// An accumulator over the documents around each document, in [`window`](crate::Pipeline::window), by the value of the
/// only sort key, which is a number or, with a unit, a date: from `before` less to `after` greater; `None` is all of
/// them.
///
/// ```
/// # use marula::expr::{Unit, lit, over_range, sum};
/// let week = over_range(sum(lit::<(), i32>(2)), Some(6), Some(0), Some(Unit::Day));
/// assert_eq!(
///     week.to_string(),
///     r#"{"$sum": 2, "window": {"range": [-6, 0], "unit": "day"}}"#
/// );
/// ```
pub fn over_range<R, T>(
    accumulator: Acc<R, T>,
    before: Option<u32>,
    after: Option<u32>,
    unit: Option<Unit>,
) -> Expr<R, T> {
    let bound = |n: Option<u32>, sign: i64| match n {
        Some(n) => Bson::Int64(sign * i64::from(n)),
        None => Bson::from("unbounded"),
    };
    let mut window = doc! { "range": [bound(before, -1), bound(after, 1)] };
    if let Some(unit) = unit {
        window.insert("unit", unit.name());
    }
    Expr::from_raw(accumulator.into_raw().map(|accumulator| match accumulator {
        Bson::Document(mut all) => {
            all.insert("window", window);
            all.into()
        }
        other => other,
    }))
}

fn function<R, T, const N: usize>(
    operator: &str,
    arguments: [(&'static str, Option<Raw>); N],
    window: Option<Document>,
) -> Expr<R, T> {
    let argument = parts(&mut arguments.into_iter());
    Expr::from_raw(argument.map(|argument| {
        let mut function = doc! { operator: argument };
        if let Some(window) = window {
            function.insert("window", window);
        }
        function.into()
    }))
}

macro_rules! calculus {
    ($($(#[$doc:meta])* $name:ident $operator:literal;)*) => { $(
        $(#[$doc])*
        /// The window is `before` documents, the document itself, and `after` documents; `None` is all of them. The only sort
        /// key is a number or, with a unit from weeks to milliseconds, a date.
        ///
        /// ```
        #[doc = concat!("# use marula::expr::{Unit, lit, ", stringify!($name), "};")]
        #[doc = concat!("let value = ", stringify!($name), "(lit::<(), i32>(2), Some(Unit::Hour), Some(1), Some(0));")]
        /// assert_eq!(
        ///     value.to_string(),
        #[doc = concat!("    r#\"{\"", $operator, "\": {\"input\": 2, \"unit\": \"hour\"}, \"window\": {\"documents\": [-1, 0]}}\"#")]
        /// );
        /// ```
        #[doc(alias = $operator)]
        pub fn $name<R, E>(value: E, unit: Option<Unit>, before: Option<u16>, after: Option<u16>) -> Expr<R, Option<Fraction<E::Value>>>
        where
            E: Operand<R, Value: PlainNumber + Summed<Sum: Summed>>,
        {
            let unit = unit.map(|unit| Ok(Bson::from(unit.name())));
            let input = Some(value.into_operand().into_raw());
            function($operator, [("input", input), ("unit", unit)], Some(documents(before, after)))
        }
    )* };
}
calculus! {
    /// The average rate of change of a value in a window of the sorted documents, in [`window`](crate::Pipeline::window)
    /// (`$derivative`); `None` if the window has only one document.
    derivative "$derivative";
    /// The area under the curve of a value in a window of the sorted documents, in [`window`](crate::Pipeline::window)
    /// (`$integral`).
    integral "$integral";
}

macro_rules! covariances {
    ($($(#[$doc:meta])* $name:ident $operator:literal;)*) => { $(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("# use marula::expr::{lit, ", stringify!($name), "};")]
        #[doc = concat!("let value = ", stringify!($name), "(lit::<(), i32>(2), 3, None, None);")]
        /// assert_eq!(
        ///     value.to_string(),
        #[doc = concat!("    r#\"{\"", $operator, "\": [2, 3], \"window\": {\"documents\": [\"unbounded\", \"unbounded\"]}}\"#")]
        /// );
        /// ```
        #[doc(alias = $operator)]
        pub fn $name<R, A: Operand<R, Value: PlainNumber>, B: Operand<R, Value: PlainNumber>>(
            a: A,
            b: B,
            before: Option<u16>,
            after: Option<u16>,
        ) -> Expr<R, Option<f64>> {
            let all = || {
                let values = vec![a.into_operand().into_raw()?, b.into_operand().into_raw()?];
                Ok(doc! { $operator: values, "window": documents(before, after) }.into())
            };
            Expr::from_raw(all())
        }
    )* };
}
covariances! {
    /// The population covariance of two values in a window of documents, as that of [`over`](crate::expr::over)
    /// (`$covariancePop`).
    covariance_pop "$covariancePop";
    /// The sample covariance of two values in a window of documents, as that of [`over`](crate::expr::over)
    /// (`$covarianceSamp`); `None` of fewer than two documents.
    covariance_samp "$covarianceSamp";
}

/// The exponential moving average of a value over the sorted documents of the partition, in
/// [`window`](crate::Pipeline::window), in which `n` documents have most of the weight: that of the newest is
/// 2 / (n + 1) (`$expMovingAvg`).
///
/// ```
/// # use marula::expr::{exp_moving_avg, lit};
/// let smooth = exp_moving_avg(lit::<(), i32>(2), 10);
/// assert_eq!(smooth.to_string(), r#"{"$expMovingAvg": {"input": 2, "N": 10}}"#);
/// ```
#[doc(alias = "$expMovingAvg")]
pub fn exp_moving_avg<R, E>(value: E, n: u32) -> Expr<R, Option<Fraction<E::Value>>>
where
    E: Operand<R, Value: Summed<Sum: Summed>>,
{
    let n = Some(Ok(Bson::Int64(n.into())));
    function(
        "$expMovingAvg",
        [("input", Some(value.into_operand().into_raw())), ("N", n)],
        None,
    )
}

/// The same as [`exp_moving_avg`], with the weight of the newest document, between 0 and 1.
///
/// ```
/// # use marula::expr::{exp_moving_avg_by, lit};
/// let smooth = exp_moving_avg_by(lit::<(), i32>(2), 0.25);
/// assert_eq!(smooth.to_string(), r#"{"$expMovingAvg": {"input": 2, "alpha": 0.25}}"#);
/// ```
#[doc(alias = "$expMovingAvg")]
pub fn exp_moving_avg_by<R, E>(value: E, weight: f64) -> Expr<R, Option<Fraction<E::Value>>>
where
    E: Operand<R, Value: Summed<Sum: Summed>>,
{
    let alpha = Some(Ok(Bson::Double(weight)));
    function(
        "$expMovingAvg",
        [("input", Some(value.into_operand().into_raw())), ("alpha", alpha)],
        None,
    )
}

/// A value, and where it is null or missing the one on the line between the values before and after it, by the only
/// sort key, in [`window`](crate::Pipeline::window) (`$linearFill`, MongoDB 5.3+); `None` before the first value and
/// after the last one.
///
/// ```
/// # use marula::expr::{linear_fill, lit};
/// let filled = linear_fill(lit::<(), Option<i32>>(2));
/// assert_eq!(filled.to_string(), r#"{"$linearFill": 2}"#);
/// ```
#[doc(alias = "$linearFill")]
pub fn linear_fill<R, E>(value: E) -> Expr<R, Option<Fraction<E::Value>>>
where
    E: Operand<R, Value: Nullable + Summed<Sum: Summed>>,
{
    Expr::from_raw(
        value
            .into_operand()
            .into_raw()
            .map(|value| doc! { "$linearFill": value }.into()),
    )
}

/// A value, and where it is null or missing the last one before it in the partition, in
/// [`window`](crate::Pipeline::window) (`$locf`, MongoDB 5.2+); `None` before the first value.
///
/// ```
/// # use marula::expr::{lit, locf};
/// assert_eq!(locf(lit::<(), Option<i32>>(2)).to_string(), r#"{"$locf": 2}"#);
/// ```
#[doc(alias = "$locf")]
pub fn locf<R, E: Operand<R, Value: Nullable>>(value: E) -> Expr<R, E::Value> {
    Expr::from_raw(
        value
            .into_operand()
            .into_raw()
            .map(|value| doc! { "$locf": value }.into()),
    )
}

/// A value on a scale from `min` to `max`, which are the least and the greatest value of the partition, in
/// [`window`](crate::Pipeline::window) (`$minMaxScaler`, MongoDB 8.2+).
///
/// ```
/// # use marula::expr::{lit, min_max_scaler};
/// let scaled = min_max_scaler(lit::<(), i32>(2), 0.0, 1.0);
/// assert_eq!(
///     scaled.to_string(),
///     r#"{"$minMaxScaler": {"input": 2, "min": 0.0, "max": 1.0}, "window": {"documents": ["unbounded", "unbounded"]}}"#
/// );
/// ```
#[doc(alias = "$minMaxScaler")]
pub fn min_max_scaler<R, E: Operand<R, Value: PlainNumber>>(value: E, min: f64, max: f64) -> Expr<R, f64> {
    let limits = [min, max].map(|limit| Some(Ok(Bson::Double(limit))));
    let [min, max] = limits;
    let input = Some(value.into_operand().into_raw());
    let all = [("input", input), ("min", min), ("max", max)];
    function("$minMaxScaler", all, Some(documents(None, None)))
}
