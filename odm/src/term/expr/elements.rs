//! Parts and combinations of arrays, and statistics of their elements.

use crate::{
    base::bson::{Bson, doc},
    path::marker::Ordered,
    term::expr::{Expr, IntoExpr, ItemNav, List, Number, Operand, Raw, call, map, named},
};

type Item<A> = <A as List>::Item;

/// The pairs of elements of the arrays `A` and `B`.
pub type Pairs<A, B> = Vec<(<A as List>::Item, <B as List>::Item)>;

macro_rules! ends {
    ($($(#[$doc:meta])* $name:ident $operator:literal;)*) => { $(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("# use marula::{Document, expr::", stringify!($name), ", prelude::*};")]
        /// # #[derive(Document)]
        /// # #[document(collection = "games")]
        /// # struct Game { _id: i64, scores: Vec<i32> }
        #[doc = concat!("let score = ", stringify!($name), "(Game::fields().scores());")]
        #[doc = concat!("assert_eq!(score.to_string(), r#\"{\"", $operator, "\": \"$scores\"}\"#);")]
        /// ```
        #[doc(alias = $operator)]
        pub fn $name<R, A: Operand<R, Value: List>>(array: A) -> Expr<R, Option<Item<A::Value>>> {
            call($operator, [array.into_operand().into_raw()])
        }
    )* };
}
ends! {
    /// The first element; `None` of an empty array (`$first`, MongoDB 4.4+).
    first_element "$first";
    /// The last element; `None` of an empty array (`$last`, MongoDB 4.4+).
    last_element "$last";
}

macro_rules! several {
    ($($(#[$doc:meta])* $name:ident $operator:literal [$($bound:tt)*];)*) => { $(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("# use marula::{Document, expr::", stringify!($name), ", prelude::*};")]
        /// # #[derive(Document)]
        /// # #[document(collection = "games")]
        /// # struct Game { _id: i64, scores: Vec<i32> }
        #[doc = concat!("let scores = ", stringify!($name), "(Game::fields().scores(), 3);")]
        #[doc = concat!("assert_eq!(scores.to_string(), r#\"{\"", $operator, "\": {\"n\": 3, \"input\": \"$scores\"}}\"#);")]
        /// ```
        #[doc(alias = $operator)]
        pub fn $name<R, A: Operand<R, Value: List>>(array: A, n: impl IntoExpr<R, i32>) -> Expr<R, Vec<Item<A::Value>>>
        where
            Item<A::Value>: $($bound)*,
        {
            named($operator, [("n", Some(n.into_expr().into_raw())), ("input", Some(array.into_operand().into_raw()))])
        }
    )* };
}
several! {
    /// The first `n` elements (`$firstN`, MongoDB 5.2+).
    first_elements "$firstN" [Sized];
    /// The last `n` elements (`$lastN`, MongoDB 5.2+).
    last_elements "$lastN" [Sized];
    /// The `n` greatest elements, in descending order (`$maxN`, MongoDB 5.2+). Null is ignored.
    greatest_elements "$maxN" [Ordered];
    /// The `n` least elements, in ascending order (`$minN`, MongoDB 5.2+). Null is ignored.
    least_elements "$minN" [Ordered];
}

/// The index of the first element that is equal to a value, from 0, or -1 (`$indexOfArray`).
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, scores: Vec<i32> }
/// let at = index_of(Game::fields().scores(), 100);
/// assert_eq!(at.to_string(), r#"{"$indexOfArray": ["$scores", 100]}"#);
/// ```
#[doc(alias = "$indexOfArray")]
pub fn index_of<R, A: Operand<R, Value: List>>(
    array: A,
    value: impl IntoExpr<R, Item<A::Value>>,
) -> Expr<R, i32> {
    call(
        "$indexOfArray",
        [array.into_operand().into_raw(), value.into_expr().into_raw()],
    )
}

/// A part of an array: from an index, which counts from the end if it is negative, with a maximum length of at least 1
/// (`$slice`).
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, scores: Vec<i32> }
/// let second = slice_from(Game::fields().scores(), 1, 2);
/// assert_eq!(second.to_string(), r#"{"$slice": ["$scores", 1, 2]}"#);
/// ```
#[doc(alias = "$slice")]
pub fn slice_from<R, A: Operand<R, Value: List>>(
    array: A,
    from: impl IntoExpr<R, i32>,
    count: impl IntoExpr<R, i32>,
) -> Expr<R, Vec<Item<A::Value>>> {
    call(
        "$slice",
        [
            array.into_operand().into_raw(),
            from.into_expr().into_raw(),
            count.into_expr().into_raw(),
        ],
    )
}

/// The integers from `start` to before `end`, in steps of `step`, which is not 0 (`$range`).
///
/// ```
/// # use marula::expr::{lit, range};
/// assert_eq!(range(lit::<(), i32>(0), 10, 2).to_string(), r#"{"$range": [0, 10, 2]}"#);
/// ```
#[doc(alias = "$range")]
pub fn range<R>(
    start: impl IntoExpr<R, i32>,
    end: impl IntoExpr<R, i32>,
    step: impl IntoExpr<R, i32>,
) -> Expr<R, Vec<i32>> {
    call(
        "$range",
        [
            start.into_expr().into_raw(),
            end.into_expr().into_raw(),
            step.into_expr().into_raw(),
        ],
    )
}

/// The pairs of elements at the same index of two arrays, as many as the shorter array has (`$zip`).
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, names: Vec<String>, scores: Vec<i32> }
/// let g = Game::fields();
/// let pairs: Expr<Game, Vec<(String, i32)>> = zip(g.names(), g.scores());
/// assert_eq!(pairs.to_string(), r#"{"$zip": {"inputs": ["$names", "$scores"]}}"#);
/// ```
#[doc(alias = "$zip")]
pub fn zip<R, A: Operand<R, Value: List>, B: Operand<R, Value: List>>(
    a: A,
    b: B,
) -> Expr<R, Pairs<A::Value, B::Value>> {
    named(
        "$zip",
        [(
            "inputs",
            Some(both(a.into_operand().into_raw(), b.into_operand().into_raw())),
        )],
    )
}

/// The pairs of elements at the same index of two arrays, as many as the longer array has, with defaults for the
/// elements that the shorter one lacks (`$zip`).
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, names: Vec<String>, scores: Vec<i32> }
/// let g = Game::fields();
/// let pairs = zip_longest(g.names(), g.scores(), "", 0);
/// assert_eq!(
///     pairs.to_string(),
///     r#"{"$zip": {"inputs": ["$names", "$scores"], "useLongestLength": true, "defaults": ["", 0]}}"#
/// );
/// ```
#[doc(alias = "$zip")]
pub fn zip_longest<R, A: Operand<R, Value: List>, B: Operand<R, Value: List>>(
    a: A,
    b: B,
    default_a: impl IntoExpr<R, Item<A::Value>>,
    default_b: impl IntoExpr<R, Item<B::Value>>,
) -> Expr<R, Pairs<A::Value, B::Value>> {
    let defaults = both(default_a.into_expr().into_raw(), default_b.into_expr().into_raw());
    named(
        "$zip",
        [
            (
                "inputs",
                Some(both(a.into_operand().into_raw(), b.into_operand().into_raw())),
            ),
            ("useLongestLength", Some(Ok(Bson::Boolean(true)))),
            ("defaults", Some(defaults)),
        ],
    )
}

fn both(a: Raw, b: Raw) -> Raw {
    Ok(Bson::Array(vec![a?, b?]))
}

macro_rules! deviations {
    ($($(#[$doc:meta])* $name:ident $operator:literal;)*) => { $(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("# use marula::{Document, expr::", stringify!($name), ", prelude::*};")]
        /// # #[derive(Document)]
        /// # #[document(collection = "games")]
        /// # struct Game { _id: i64, scores: Vec<i32> }
        #[doc = concat!("let deviation = ", stringify!($name), "(Game::fields().scores(), |score| score);")]
        #[doc = concat!("assert!(deviation.to_string().starts_with(r#\"{\"", $operator, "\": \"#));")]
        /// ```
        #[doc(alias = $operator)]
        pub fn $name<R, A: Operand<R, Value: List>, B: Operand<R, Value: Number>>(
            array: A,
            body: impl FnOnce(ItemNav<A::Value, R>) -> B,
        ) -> Expr<R, Option<f64>> {
            call($operator, [map(array, body).into_raw()])
        }
    )* };
}
deviations! {
    /// The population standard deviation of the values computed from each element (`$stdDevPop` of a `$map`); `None` of an
    /// empty array.
    std_dev_pop_of "$stdDevPop";
    /// The sample standard deviation of the values computed from each element (`$stdDevSamp` of a `$map`); `None` of fewer
    /// than two elements.
    std_dev_samp_of "$stdDevSamp";
}

/// The argument of `$percentile` and `$median`: the server computes approximations.
pub(super) fn quantile(input: Raw, p: Option<&[f64]>) -> Raw {
    let mut argument = doc! { "input": input?, "method": "approximate" };
    if let Some(p) = p {
        argument.insert("p", p);
    }
    Ok(argument.into())
}

/// Approximations of the percentiles, from 0 to 1, of the values computed from each element (`$percentile` of a `$map`,
/// MongoDB 7.0+), in the order of the argument; `None` of an empty array.
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, scores: Vec<i32> }
/// let best = percentiles_of(Game::fields().scores(), &[0.5, 0.9], |score| score);
/// assert!(best.to_string().ends_with(r#""method": "approximate", "p": [0.5, 0.9]}}"#));
/// ```
#[doc(alias = "$percentile")]
pub fn percentiles_of<R, A: Operand<R, Value: List>, B: Operand<R, Value: Number>>(
    array: A,
    p: &[f64],
    body: impl FnOnce(ItemNav<A::Value, R>) -> B,
) -> Expr<R, Vec<Option<f64>>> {
    call("$percentile", [quantile(map(array, body).into_raw(), Some(p))])
}

/// An approximation of the median of the values computed from each element (`$median` of a `$map`, MongoDB 7.0+); `None`
/// of an empty array.
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, scores: Vec<i32> }
/// let middle = median_of(Game::fields().scores(), |score| score);
/// assert!(middle.to_string().starts_with(r#"{"$median": {"input": {"$map": "#));
/// ```
#[doc(alias = "$median")]
pub fn median_of<R, A: Operand<R, Value: List>, B: Operand<R, Value: Number>>(
    array: A,
    body: impl FnOnce(ItemNav<A::Value, R>) -> B,
) -> Expr<R, Option<f64>> {
    call("$median", [quantile(map(array, body).into_raw(), None)])
}
