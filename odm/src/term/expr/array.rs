//! Operators of arrays. Closures take the accessors of an element.

use std::collections::{BTreeSet, HashSet, LinkedList, VecDeque};

use crate::{
    base::bson::{Bson, doc},
    path::{
        Variable,
        field::Field,
        marker::{ListItem, Ordered},
    },
    term::{
        expr::{Expr, IntoExpr, Operand, Raw, Summed, call, list, named, variable, with_variable},
        sort::{Direction, IntoSort},
    },
};

/// Types of arrays that are always present. Of null, the server's operators of arrays compute null
/// or fail.
#[diagnostic::on_unimplemented(
    message = "this needs an array that is always present, found `{Self}`",
    label = "`{Self}` is not an array, or can be null",
    note = "for an `Option` use `if_null(array, lit(Vec::new()))`"
)]
pub trait List {
    /// The type of the elements.
    type Item: Field;
}

macro_rules! lists {
    ($([$($generics:tt)*] $t:ty $(where $bound:ident)?;)*) => { $(
        impl<T: Field $(+ $bound)?, $($generics)*> List for $t {
            type Item = T;
        }
    )* };
}
lists! {
    [] Vec<T> where ListItem;
    [] VecDeque<T>;
    [] LinkedList<T>;
    [] BTreeSet<T>;
    [] Box<[T]> where ListItem;
    [S] HashSet<T, S>;
    [const N: usize] [T; N] where ListItem;
}

/// The accessors of an element of an array, for expressions over documents of type `R`.
pub type ItemNav<A, R> = <<A as List>::Item as Field>::Nav<R, Variable>;

/// The number of elements (`$size`).
///
/// ```
/// # use marula::expr::{lit, size};
/// let count = size(lit::<(), Vec<i32>>([1, 2]));
/// assert_eq!(count.to_string(), r#"{"$size": {"$literal": [1, 2]}}"#);
/// ```
#[doc(alias = "$size")]
pub fn size<R, A: Operand<R, Value: List>>(array: A) -> Expr<R, i32> {
    call("$size", [array.into_operand().into_raw()])
}

fn each<T: Field, R, B: Operand<R>>(
    operator: &str,
    result: &'static str,
    array: Raw,
    body: impl FnOnce(T::Nav<R, Variable>) -> B,
) -> Raw {
    with_variable("v", |name| {
        let body = body(variable::<R, T>(name)).into_operand().into_raw();
        Ok(doc! { operator: { "input": array?, "as": name, result: body? } }.into())
    })
}

/// A value computed from each element (`$map`).
///
/// ```
/// # use marula::{Document, Embedded, expr::*, prelude::*};
/// # #[derive(Embedded)]
/// # struct Line { price: i64, quantity: i32 }
/// # #[derive(Document)]
/// # #[document(collection = "orders")]
/// # struct Order { _id: i64, lines: Vec<Line> }
/// let amounts = map(Order::fields().lines(), |l| l.price() * l.quantity());
/// assert_eq!(
///     amounts.to_string(),
///     concat!(
///         r#"{"$map": {"input": "$lines", "as": "v0", "#,
///         r#""in": {"$multiply": ["$$v0.price", "$$v0.quantity"]}}}"#
///     )
/// );
/// ```
#[doc(alias = "$map")]
pub fn map<R, A: Operand<R, Value: List>, B: Operand<R>>(
    array: A,
    body: impl FnOnce(ItemNav<A::Value, R>) -> B,
) -> Expr<R, Vec<B::Value>> {
    Expr::from_raw(each::<<A::Value as List>::Item, R, B>(
        "$map",
        "in",
        array.into_operand().into_raw(),
        body,
    ))
}

/// The elements for which a condition is true (`$filter`).
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, scores: Vec<i32> }
/// let high = filter(Game::fields().scores(), |score| gt(score, 90));
/// assert_eq!(
///     high.to_string(),
///     r#"{"$filter": {"input": "$scores", "as": "v0", "cond": {"$gt": ["$$v0", 90]}}}"#
/// );
/// ```
#[doc(alias = "$filter")]
pub fn filter<R, A: Operand<R, Value: List>>(
    array: A,
    condition: impl FnOnce(ItemNav<A::Value, R>) -> Expr<R, bool>,
) -> Expr<R, Vec<<A::Value as List>::Item>> {
    Expr::from_raw(each::<<A::Value as List>::Item, R, _>(
        "$filter",
        "cond",
        array.into_operand().into_raw(),
        condition,
    ))
}

/// Whether a condition is true for at least one element (`$anyElementTrue`).
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, scores: Vec<i32> }
/// let won = any_of(Game::fields().scores(), |score| gt(score, 90));
/// assert_eq!(
///     won.to_string(),
///     concat!(
///         r#"{"$anyElementTrue": [{"$map": {"input": "$scores", "as": "v0", "#,
///         r#""in": {"$gt": ["$$v0", 90]}}}]}"#
///     )
/// );
/// ```
#[doc(alias = "$anyElementTrue")]
pub fn any_of<R, A: Operand<R, Value: List>>(
    array: A,
    condition: impl FnOnce(ItemNav<A::Value, R>) -> Expr<R, bool>,
) -> Expr<R, bool> {
    list(
        "$anyElementTrue",
        &mut [map(array, condition).into_raw()].into_iter(),
    )
}

/// Whether a condition is true for all elements (`$allElementsTrue`).
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, scores: Vec<i32> }
/// let perfect = all_of(Game::fields().scores(), |score| gt(score, 90));
/// assert_eq!(
///     perfect.to_string(),
///     concat!(
///         r#"{"$allElementsTrue": [{"$map": {"input": "$scores", "as": "v0", "#,
///         r#""in": {"$gt": ["$$v0", 90]}}}]}"#
///     )
/// );
/// ```
#[doc(alias = "$allElementsTrue")]
pub fn all_of<R, A: Operand<R, Value: List>>(
    array: A,
    condition: impl FnOnce(ItemNav<A::Value, R>) -> Expr<R, bool>,
) -> Expr<R, bool> {
    list(
        "$allElementsTrue",
        &mut [map(array, condition).into_raw()].into_iter(),
    )
}

/// The sum of a value computed from each element (`$sum` of a `$map`); 0 of an empty array.
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, scores: Vec<i32> }
/// let total = sum_of(Game::fields().scores(), |score| score * 2);
/// assert_eq!(
///     total.to_string(),
///     concat!(
///         r#"{"$sum": {"$map": {"input": "$scores", "as": "v0", "#,
///         r#""in": {"$multiply": ["$$v0", 2]}}}}"#
///     )
/// );
/// ```
#[doc(alias = "$sum")]
pub fn sum_of<R, A: Operand<R, Value: List>, B: Operand<R, Value: Summed>>(
    array: A,
    body: impl FnOnce(ItemNav<A::Value, R>) -> B,
) -> Expr<R, <B::Value as Summed>::Sum> {
    let values = each::<<A::Value as List>::Item, R, Expr<R, ()>>(
        "$map",
        "in",
        array.into_operand().into_raw(),
        |item| Expr::from_raw(B::Value::of_nulls(body(item).into_operand().into_raw())),
    );
    Expr::from_raw(B::Value::total(call::<R, (), 1>("$sum", [values]).into_raw()))
}

/// The average of a value computed from each element (`$avg` of a `$map`); `None` of an empty
/// array.
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, scores: Vec<i32> }
/// let average: Expr<Game, Option<f64>> = avg_of(Game::fields().scores(), |score| score);
/// assert_eq!(
///     average.to_string(),
///     r#"{"$avg": {"$map": {"input": "$scores", "as": "v0", "in": "$$v0"}}}"#
/// );
/// ```
#[doc(alias = "$avg")]
pub fn avg_of<R, A: Operand<R, Value: List>, B: Operand<R, Value: Summed>>(
    array: A,
    body: impl FnOnce(ItemNav<A::Value, R>) -> B,
) -> Expr<R, Option<<B::Value as Summed>::Average>> {
    call("$avg", [map(array, body).into_raw()])
}

/// The least of the values computed from each element (`$min` of a `$map`); `None` of an empty
/// array.
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, scores: Vec<i32> }
/// let least = min_of(Game::fields().scores(), |score| score * 2);
/// assert_eq!(
///     least.to_string(),
///     concat!(
///         r#"{"$min": {"$map": {"input": "$scores", "as": "v0", "#,
///         r#""in": {"$multiply": ["$$v0", 2]}}}}"#
///     )
/// );
/// ```
#[doc(alias = "$min")]
pub fn min_of<R, A: Operand<R, Value: List>, B: Operand<R, Value: Ordered>>(
    array: A,
    body: impl FnOnce(ItemNav<A::Value, R>) -> B,
) -> Expr<R, Option<B::Value>> {
    call("$min", [map(array, body).into_raw()])
}

/// The greatest of the values computed from each element (`$max` of a `$map`); `None` of an empty
/// array.
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, scores: Vec<i32> }
/// let greatest = max_of(Game::fields().scores(), |score| score * 2);
/// assert_eq!(
///     greatest.to_string(),
///     concat!(
///         r#"{"$max": {"$map": {"input": "$scores", "as": "v0", "#,
///         r#""in": {"$multiply": ["$$v0", 2]}}}}"#
///     )
/// );
/// ```
#[doc(alias = "$max")]
pub fn max_of<R, A: Operand<R, Value: List>, B: Operand<R, Value: Ordered>>(
    array: A,
    body: impl FnOnce(ItemNav<A::Value, R>) -> B,
) -> Expr<R, Option<B::Value>> {
    call("$max", [map(array, body).into_raw()])
}

/// A value computed from all elements in order (`$reduce`): the closure takes the value so far and
/// an element. They are variables of their own (`$let`), since the names `value` and `this` of the
/// server are those of the innermost `$reduce`.
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, names: Vec<String> }
/// let all = reduce(Game::fields().names(), "", |text, name| concat([text, expr(name)]));
/// assert_eq!(
///     all.to_string(),
///     concat!(
///         r#"{"$reduce": {"input": "$names", "initialValue": "", "#,
///         r#""in": {"$let": {"vars": {"value0": "$$value", "this0": "$$this"}, "#,
///         r#""in": {"$concat": ["$$value0", "$$this0"]}}}}}"#
///     )
/// );
/// ```
#[doc(alias = "$reduce")]
pub fn reduce<R, A: Operand<R, Value: List>, S: Operand<R>, B: IntoExpr<R, S::Value>>(
    array: A,
    initial: S,
    body: impl FnOnce(Expr<R, S::Value>, ItemNav<A::Value, R>) -> B,
) -> Expr<R, S::Value> {
    let (names, body) = with_variable("this", |item| {
        let value = item.replace("this", "value");
        let so_far = Expr::unchecked(format!("$${value}"));
        let body = body(so_far, variable::<R, <A::Value as List>::Item>(item)).into_expr();
        (doc! { value: "$$value", item: "$$this" }, body.into_raw())
    });
    named(
        "$reduce",
        [
            ("input", Some(array.into_operand().into_raw())),
            ("initialValue", Some(initial.into_operand().into_raw())),
            (
                "in",
                Some(body.map(|body| doc! { "$let": { "vars": names, "in": body } }.into())),
            ),
        ],
    )
}

/// The element at an index, from the end if it is negative; `None` if there is none
/// (`$arrayElemAt`).
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, scores: Vec<i32> }
/// let last = element_at(Game::fields().scores(), -1);
/// assert_eq!(last.to_string(), r#"{"$arrayElemAt": ["$scores", -1]}"#);
/// ```
#[doc(alias = "$arrayElemAt")]
pub fn element_at<R, A: Operand<R, Value: List>>(
    array: A,
    index: impl IntoExpr<R, i32>,
) -> Expr<R, Option<<A::Value as List>::Item>> {
    call(
        "$arrayElemAt",
        [array.into_operand().into_raw(), index.into_expr().into_raw()],
    )
}

/// Whether an array contains a value (`$in`).
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, scores: Vec<i32> }
/// let perfect = contains(Game::fields().scores(), 100);
/// assert_eq!(perfect.to_string(), r#"{"$in": [100, "$scores"]}"#);
/// ```
#[doc(alias = "$in")]
pub fn contains<R, A: Operand<R, Value: List>>(
    array: A,
    value: impl IntoExpr<R, <A::Value as List>::Item>,
) -> Expr<R, bool> {
    call(
        "$in",
        [value.into_expr().into_raw(), array.into_operand().into_raw()],
    )
}

/// A part of an array (`$slice`): the first elements, or the last ones if the count is negative.
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, scores: Vec<i32> }
/// let first = slice(Game::fields().scores(), 3);
/// assert_eq!(first.to_string(), r#"{"$slice": ["$scores", 3]}"#);
/// ```
#[doc(alias = "$slice")]
pub fn slice<R, A: Operand<R, Value: List>>(
    array: A,
    count: impl IntoExpr<R, i32>,
) -> Expr<R, Vec<<A::Value as List>::Item>> {
    call(
        "$slice",
        [array.into_operand().into_raw(), count.into_expr().into_raw()],
    )
}

/// The elements in the opposite order (`$reverseArray`).
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, scores: Vec<i32> }
/// let newest = reverse(Game::fields().scores());
/// assert_eq!(newest.to_string(), r#"{"$reverseArray": "$scores"}"#);
/// ```
#[doc(alias = "$reverseArray")]
pub fn reverse<R, A: Operand<R, Value: List>>(array: A) -> Expr<R, Vec<<A::Value as List>::Item>> {
    call("$reverseArray", [array.into_operand().into_raw()])
}

/// The elements in order of their values (`$sortArray`, MongoDB 5.2+).
///
/// ```
/// # use marula::{Direction, Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, scores: Vec<i32> }
/// let sorted = sort_array(Game::fields().scores(), Direction::Descending);
/// assert_eq!(sorted.to_string(), r#"{"$sortArray": {"input": "$scores", "sortBy": -1}}"#);
/// ```
#[doc(alias = "$sortArray")]
pub fn sort_array<R, A: Operand<R, Value: List>>(
    array: A,
    direction: Direction,
) -> Expr<R, Vec<<A::Value as List>::Item>> {
    named(
        "$sortArray",
        [
            ("input", Some(array.into_operand().into_raw())),
            ("sortBy", Some(Ok(Bson::from(direction)))),
        ],
    )
}

/// The elements in order of some of their fields (`$sortArray`, MongoDB 5.2+).
///
/// ```
/// # use marula::{Document, Embedded, expr::*, prelude::*};
/// # #[derive(Embedded)]
/// # struct Line { price: i64 }
/// # #[derive(Document)]
/// # #[document(collection = "orders")]
/// # struct Order { _id: i64, lines: Vec<Line> }
/// let sorted = sort_array_by(Order::fields().lines(), |l| l.price().asc());
/// assert_eq!(
///     sorted.to_string(),
///     r#"{"$sortArray": {"input": "$lines", "sortBy": {"price": 1}}}"#
/// );
/// ```
#[doc(alias = "$sortArray")]
pub fn sort_array_by<R, A: Operand<R, Value: List>, K: IntoSort<<A::Value as List>::Item>>(
    array: A,
    keys: impl FnOnce(crate::path::field::Fields<<A::Value as List>::Item>) -> K,
) -> Expr<R, Vec<<A::Value as List>::Item>> {
    let keys = keys(<<A::Value as List>::Item as Field>::nav(crate::path::Path::root())).into_sort();
    named(
        "$sortArray",
        [
            ("input", Some(array.into_operand().into_raw())),
            ("sortBy", Some(Ok(Bson::Document(keys)))),
        ],
    )
}

macro_rules! sets {
    ($($(#[$doc:meta])* $name:ident $operator:literal $out:ty;)*) => { $(
        $(#[$doc])*
        ///
        /// ```
        /// # use marula::{Document, expr, prelude::*};
        /// # #[derive(Document)]
        /// # #[document(collection = "games")]
        /// # struct Game { _id: i64, a: Vec<i32>, b: Vec<i32> }
        /// let g = Game::fields();
        #[doc = concat!("let value = expr::", stringify!($name), "(g.a(), g.b());")]
        #[doc = concat!("assert_eq!(value.to_string(), r#\"{\"", $operator, "\": [\"$a\", \"$b\"]}\"#);")]
        /// ```
        #[doc(alias = $operator)]
        pub fn $name<R, A: Operand<R, Value: List>, B>(a: A, b: B) -> Expr<R, $out>
        where
            B: Operand<R, Value: List<Item = <A::Value as List>::Item>>,
        {
            call($operator, [a.into_operand().into_raw(), b.into_operand().into_raw()])
        }
    )* };
}
sets! {
    /// The elements of both arrays in order (`$concatArrays`).
    concat_arrays "$concatArrays" Vec<<A::Value as List>::Item>;
    /// The distinct elements of both arrays, in no particular order (`$setUnion`).
    set_union "$setUnion" Vec<<A::Value as List>::Item>;
    /// The distinct elements that both arrays contain, in no particular order (`$setIntersection`).
    set_intersection "$setIntersection" Vec<<A::Value as List>::Item>;
    /// The distinct elements of `a` that `b` does not contain, in no particular order
    /// (`$setDifference`).
    set_difference "$setDifference" Vec<<A::Value as List>::Item>;
    /// Whether both arrays have the same distinct elements (`$setEquals`).
    set_equals "$setEquals" bool;
    /// Whether `b` contains all elements of `a` (`$setIsSubset`).
    is_subset "$setIsSubset" bool;
}
