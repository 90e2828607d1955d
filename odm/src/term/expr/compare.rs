//! Comparisons, conditions and defaults.

use std::ops::{BitAnd, BitOr, Not};

use crate::{
    base::bson::{Bson, Document, doc},
    path::marker::{Nullable, Ordered},
    term::expr::{Expr, IntoExpr, Operand, Raw, call, list, with_variable},
    values::value::IntoValue,
};

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident $operator:literal [$($bound:tt)*];)*) => { $(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("# use marula::expr::{lit, ", stringify!($name), "};")]
        #[doc = concat!("let condition = ", stringify!($name), "(lit::<(), i32>(1), 2);")]
        #[doc = concat!("assert_eq!(condition.to_string(), r#\"{\"", $operator, "\": [1, 2]}\"#);")]
        /// ```
        #[doc(alias = $operator)]
        pub fn $name<R, A: Operand<R>>(a: A, b: impl IntoExpr<R, A::Value>) -> Expr<R, bool>
        where
            A::Value: $($bound)*,
        {
            call($operator, [a.into_operand().into_raw(), b.into_expr().into_raw()])
        }
    )* };
}
comparisons! {
    /// Whether two values are equal (`$eq`).
    eq "$eq" [Sized];
    /// Whether two values are not equal (`$ne`).
    ne "$ne" [Sized];
    /// Whether `a` is greater than `b` (`$gt`).
    gt "$gt" [Ordered];
    /// Whether `a` is greater than or equal to `b` (`$gte`).
    gte "$gte" [Ordered];
    /// Whether `a` is less than `b` (`$lt`). Null and a missing field are less than all other
    /// values.
    lt "$lt" [Ordered];
    /// Whether `a` is less than or equal to `b` (`$lte`), see [`lt`].
    lte "$lte" [Ordered];
}

/// Whether all conditions are true (`$and`); also written as `a & b`.
///
/// ```
/// # use marula::expr::{and, lit};
/// let all = and([lit::<(), bool>(true), lit(false)]);
/// assert_eq!(all.to_string(), r#"{"$and": [true, false]}"#);
/// ```
#[doc(alias = "$and")]
pub fn and<R>(all: impl IntoIterator<Item = Expr<R, bool>>) -> Expr<R, bool> {
    list("$and", &mut all.into_iter().map(Expr::into_raw))
}

/// Whether at least one condition is true (`$or`); also written as `a | b`.
///
/// ```
/// # use marula::expr::{or, lit};
/// let any = or([lit::<(), bool>(true), lit(false)]);
/// assert_eq!(any.to_string(), r#"{"$or": [true, false]}"#);
/// ```
#[doc(alias = "$or")]
pub fn or<R>(any: impl IntoIterator<Item = Expr<R, bool>>) -> Expr<R, bool> {
    list("$or", &mut any.into_iter().map(Expr::into_raw))
}

/// Whether a condition is false (`$not`); also written as `!a`.
///
/// ```
/// # use marula::expr::{not, lit};
/// assert_eq!(not(lit::<(), bool>(true)).to_string(), r#"{"$not": true}"#);
/// ```
#[doc(alias = "$not")]
pub fn not<R>(condition: impl IntoExpr<R, bool>) -> Expr<R, bool> {
    call("$not", [condition.into_expr().into_raw()])
}

impl<R, B: IntoExpr<R, bool>> BitAnd<B> for Expr<R, bool> {
    type Output = Expr<R, bool>;
    fn bitand(self, other: B) -> Self {
        Expr::from_raw(joined("$and", self.into_raw(), other.into_expr().into_raw()))
    }
}

impl<R, B: IntoExpr<R, bool>> BitOr<B> for Expr<R, bool> {
    type Output = Expr<R, bool>;
    fn bitor(self, other: B) -> Self {
        Expr::from_raw(joined("$or", self.into_raw(), other.into_expr().into_raw()))
    }
}

impl<R> Not for Expr<R, bool> {
    type Output = Expr<R, bool>;
    fn not(self) -> Self {
        not(self)
    }
}

/// Both conditions in one list, also if the first is such a list.
fn joined(operator: &str, first: Raw, second: Raw) -> Raw {
    let (mut first, second) = (first?, second?);
    if let Bson::Document(all) = &mut first
        && all.len() == 1
        && let Some(Bson::Array(conditions)) = all.get_mut(operator)
    {
        conditions.push(second);
        return Ok(first);
    }
    Ok(doc! { operator: [first, second] }.into())
}

/// Whether a value is null or missing.
///
/// ```
/// # use marula::expr::{is_null, lit};
/// assert_eq!(
///     is_null(lit::<(), Option<i32>>(1)).to_string(),
///     r#"{"$eq": [{"$ifNull": [1, null]}, null]}"#
/// );
/// ```
pub fn is_null<R, A: Operand<R, Value: Nullable>>(value: A) -> Expr<R, bool> {
    let value = call::<R, (), 2>("$ifNull", [value.into_operand().into_raw(), Ok(Bson::Null)]);
    call("$eq", [value.into_raw(), Ok(Bson::Null)])
}

/// The value of an `Option`, or a default if it is null or missing (`$ifNull`).
///
/// ```
/// # use marula::expr::{if_null, lit};
/// let value = if_null(lit::<(), Option<i32>>(None::<i32>), 5);
/// assert_eq!(value.to_string(), r#"{"$ifNull": [null, 5]}"#);
/// ```
#[doc(alias = "$ifNull")]
pub fn if_null<R, A: Operand<R, Value: Nullable<Inner = T>>, T>(
    value: A,
    default: impl IntoExpr<R, T>,
) -> Expr<R, T> {
    call(
        "$ifNull",
        [value.into_operand().into_raw(), default.into_expr().into_raw()],
    )
}

/// One of two values, by a condition (`$cond`).
///
/// ```
/// # use marula::expr::{cond, gt, lit};
/// let size = cond(gt(lit::<(), i32>(5), 3), "large", "small");
/// assert_eq!(size.to_string(), r#"{"$cond": [{"$gt": [5, 3]}, "large", "small"]}"#);
/// ```
#[doc(alias = "$cond")]
pub fn cond<R, A: Operand<R>>(
    condition: impl IntoExpr<R, bool>,
    then: A,
    otherwise: impl IntoExpr<R, A::Value>,
) -> Expr<R, A::Value> {
    call(
        "$cond",
        [
            condition.into_expr().into_raw(),
            then.into_operand().into_raw(),
            otherwise.into_expr().into_raw(),
        ],
    )
}

/// The value of the first branch whose condition is true, otherwise the default (`$switch`).
///
/// ```
/// # use marula::expr::{gt, lit, switch};
/// let size = switch([(gt(lit::<(), i32>(5), 3), lit::<_, String>("large"))], "small");
/// assert_eq!(
///     size.to_string(),
///     concat!(
///         r#"{"$switch": {"branches": [{"case": {"$gt": [5, 3]}, "then": "large"}], "#,
///         r#""default": "small"}}"#
///     )
/// );
/// ```
#[doc(alias = "$switch")]
pub fn switch<R, T>(
    branches: impl IntoIterator<Item = (Expr<R, bool>, Expr<R, T>)>,
    default: impl IntoExpr<R, T>,
) -> Expr<R, T> {
    let mut branches = branches
        .into_iter()
        .map(|(case, then)| (case.into_raw(), then.into_raw()));
    Expr::from_raw(branch(&mut branches, default.into_expr().into_raw()))
}

fn branch(branches: &mut dyn Iterator<Item = (Raw, Raw)>, default: Raw) -> Raw {
    let one = |(case, then): (Raw, Raw)| -> Raw { Ok(doc! { "case": case?, "then": then? }.into()) };
    let branches = branches.map(one).collect::<Result<Vec<_>, _>>()?;
    Ok(if branches.is_empty() {
        // The server rejects a `$switch` without branches.
        default?
    } else {
        doc! { "$switch": { "branches": branches, "default": default? } }.into()
    })
}

/// The greatest of the ascending boundaries that a value is not less than. The last boundary is the
/// exclusive upper limit of all values. As the key of a group it divides documents as `$bucket`
/// does. A value outside of the boundaries gets the default; without a default the server fails.
///
/// ```
/// # use marula::expr::{bucket, lit};
/// let range = bucket(lit::<(), i32>(5), [0, 10], None);
/// assert_eq!(
///     range.to_string(),
///     concat!(
///         r#"{"$switch": {"branches": [{"case": {"$and": [{"$gte": [5, 0]}, {"$lt": [5, 10]}]}, "#,
///         r#""then": 0}]}}"#
///     )
/// );
/// ```
pub fn bucket<R, A: Operand<R, Value: Ordered + IntoValue<A::Value>>>(
    value: A,
    boundaries: impl IntoIterator<Item = A::Value>,
    default: Option<A::Value>,
) -> Expr<R, A::Value> {
    let literal = |v: A::Value| crate::term::expr::literal(v.into_value());
    let boundaries = boundaries.into_iter().map(literal).collect();
    Expr::from_raw(ranges(
        value.into_operand().into_raw(),
        boundaries,
        default.map(literal),
    ))
}

fn ranges(value: Raw, boundaries: Result<Vec<Bson>, Box<crate::Error>>, default: Option<Raw>) -> Raw {
    let value = value?;
    let boundaries = boundaries?;
    if boundaries.len() < 2 {
        return Err(Box::new(crate::Error::pipeline(
            "",
            "`bucket` needs at least two boundaries",
        )));
    }
    let branch = |pair: &[Bson]| {
        let least = doc! { "$gte": [value.clone(), pair[0].clone()] };
        let limit = doc! { "$lt": [value.clone(), pair[1].clone()] };
        Bson::from(doc! { "case": { "$and": [least, limit] }, "then": pair[0].clone() })
    };
    let mut switch: Document = doc! { "branches": boundaries.windows(2).map(branch).collect::<Vec<_>>() };
    if let Some(default) = default {
        switch.insert("default", default?);
    }
    Ok(doc! { "$switch": switch }.into())
}

/// The order of two values (`$cmp`): -1, 0 or 1 if `a` is less than, equal to or greater than `b`.
///
/// ```
/// # use marula::expr::{compare, lit};
/// assert_eq!(compare(lit::<(), i32>(1), 2).to_string(), r#"{"$cmp": [1, 2]}"#);
/// ```
#[doc(alias = "$cmp")]
pub fn compare<R, A: Operand<R, Value: Ordered>>(a: A, b: impl IntoExpr<R, A::Value>) -> Expr<R, i32> {
    call("$cmp", [a.into_operand().into_raw(), b.into_expr().into_raw()])
}

/// A value computed from another one, which is computed once (`$let`): the closure takes an expression of the value.
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "games")]
/// # struct Game { _id: i64, score: i64 }
/// let capped = let_in(Game::fields().score() * 2, |double| cond(gt(&double, 10), 10_i64, &double));
/// # let capped: Expr<Game, i64> = capped;
/// assert_eq!(
///     capped.to_string(),
///     concat!(
///         r#"{"$let": {"vars": {"v0": {"$multiply": ["$score", 2]}}, "#,
///         r#""in": {"$cond": [{"$gt": ["$$v0", 10]}, 10, "$$v0"]}}}"#
///     )
/// );
/// ```
#[doc(alias = "$let")]
pub fn let_in<R, A: Operand<R>, B: Operand<R>>(
    value: A,
    body: impl FnOnce(Expr<R, A::Value>) -> B,
) -> Expr<R, B::Value> {
    let value = value.into_operand().into_raw();
    with_variable("v", |name| {
        let body = body(Expr::unchecked(format!("$${name}")))
            .into_operand()
            .into_raw();
        let all = || Ok(doc! { "$let": { "vars": { name: value? }, "in": body? } }.into());
        Expr::from_raw(all())
    })
}
