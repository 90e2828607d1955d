//! Typed aggregation expressions: [`Expr`], its operators and the accumulators of groups.
//!
//! An expression is a value that the server computes from a document. Paths, [`Expr`]s and values
//! such as numbers and strings are [operands](Operand). The operators are functions, because the
//! methods of the same names on paths build filters; arithmetic on paths and expressions uses
//! `+ - * /`, and conditions are combined by `&`, `|` and `!`.
//!
//! ```
//! use marula::expr::*;
//! use marula::{Document, Filter, prelude::*};
//!
//! # #[derive(Document)]
//! # #[document(collection = "orders")]
//! # struct Order { _id: i64, total: i64, discount: Option<i64>, tags: Vec<String> }
//! let o = Order::fields();
//! let net = o.total() - if_null(o.discount(), 0);
//! assert_eq!(
//!     net.to_string(),
//!     r#"{"$subtract": ["$total", {"$ifNull": ["$discount", 0]}]}"#
//! );
//! let label = cond(gt(size(o.tags()), 3), "many", "few");
//! assert_eq!(
//!     label.to_string(),
//!     r#"{"$cond": [{"$gt": [{"$size": "$tags"}, 3]}, "many", "few"]}"#
//! );
//! ```
//!
//! # Types
//!
//! An expression of type `Expr<R, T>` is computed from documents of type `R` and has the value type
//! `T`. A path has the type of its field; a path that goes through an `Option`, an enum variant or
//! a map has an `Option` of it. A path through an array has many values and is not an expression:
//! use [`map`], [`sum_of`] or another function on the array itself.
//!
//! Where an expression of a type is expected, a narrower one fits ([`Fits`]): `T` for an
//! `Option<T>`, `i32` for `i64`. Arithmetic with integers gives `i64`, with an `f64` gives `f64`,
//! and with a [`Decimal128`](crate::bson::Decimal128) gives that; `/` never gives an integer. With
//! an `Option` on either side the result is an `Option`, since the server computes null. An integer
//! that exceeds `i64` becomes a double on the server, which is then a decode error.
//!
//! # Literals
//!
//! A value that the server would interpret as a part of an expression is wrapped in `$literal`:
//! strings that start with `$`, documents and arrays. [`lit`] converts every value that a field of
//! the type accepts.
//!
//! # Null
//!
//! The server orders null and a missing field before all other values: `lt(o.discount(), 5)` is
//! true for an order without a discount. Filters differ: there a comparison with a number matches
//! numbers only.
//!
//! Null and a missing field are two values: [`eq`] of a missing field and null is false, so test with
//! [`is_null`]; in the inner documents of a group's key they are two groups, and [`push`] leaves missing
//! values out. [`if_null`] makes them equal.
//!
//! # Operators
//!
//! | operators of MongoDB | here |
//! |---|---|
//! | `$add`, `$subtract`, `$multiply`, `$divide`, `$mod` | `+`, `-`, `*`, `/`, [`modulo`] |
//! | `$abs`, `$ceil`, `$floor`, `$round`, `$trunc` | [`abs`], [`ceil`], [`floor`], [`round`], [`trunc`] |
//! | `$exp`, `$ln`, `$log`, `$log10`, `$pow`, `$sqrt`, `$sigmoid`, `$rand` | [`exp`], [`ln`], [`log`], [`log10`], [`pow`], [`sqrt`], [`sigmoid`], [`random`] |
//! | `$sin`, `$cos`, `$tan`, `$sinh`, `$cosh`, `$tanh` | [`sin`], [`cos`], [`tan`], [`sinh`], [`cosh`], [`tanh`] |
//! | `$asin`, `$acos`, `$atan`, `$atan2`, `$asinh`, `$acosh`, `$atanh` | [`asin`], [`acos`], [`atan`], [`atan2`], [`asinh`], [`acosh`], [`atanh`] |
//! | `$degreesToRadians`, `$radiansToDegrees` | [`to_radians`], [`to_degrees`] |
//! | `$bitAnd`, `$bitOr`, `$bitXor`, `$bitNot` | [`bit_and`], [`bit_or`], [`bit_xor`], [`bit_not`] |
//! | `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`, `$cmp` | [`eq`], [`ne`], [`gt`], [`gte`], [`lt`], [`lte`], [`compare`] |
//! | `$and`, `$or`, `$not` | [`and`], [`or`], [`not`]; `&`, `\|`, `!` |
//! | `$cond`, `$switch`, `$ifNull`, `$let`, `$literal` | [`cond`], [`switch`], [`bucket`], [`if_null`], [`let_in`], [`lit`] |
//! | `$concat`, `$split`, `$toLower`, `$toUpper` | [`concat()`], [`split`], [`to_lower`], [`to_upper`] |
//! | `$trim`, `$ltrim`, `$rtrim` | [`trim`], [`trim_chars`], [`trim_start`], [`trim_end`] |
//! | `$replaceOne`, `$replaceAll`, `$strcasecmp` | [`replace_first`], [`replace_all`], [`compare_ignore_case`] |
//! | `$strLenCP`, `$substrCP`, `$indexOfCP` | [`char_count`], [`substring`], [`index_of_text`] |
//! | `$strLenBytes`, `$substrBytes`, `$indexOfBytes` | [`byte_count`], [`substring_bytes`], [`index_of_bytes`] |
//! | `$regexMatch`, `$regexFind`, `$regexFindAll` | [`regex_match`], [`regex_find`], [`regex_find_all`] |
//! | `$size`, `$in`, `$isArray`, `$indexOfArray` | [`size`], [`contains`], [`is_array`], [`index_of`] |
//! | `$map`, `$filter`, `$reduce`, `$anyElementTrue`, `$allElementsTrue` | [`map`], [`filter`](fn@filter), [`reduce`], [`any_of`], [`all_of`] |
//! | `$arrayElemAt`, `$first`, `$last`, `$slice` | [`element_at`], [`first_element`], [`last_element`], [`slice()`], [`slice_from`] |
//! | `$firstN`, `$lastN`, `$maxN`, `$minN` | [`first_elements`], [`last_elements`], [`greatest_elements`], [`least_elements`] |
//! | `$concatArrays`, `$reverseArray`, `$sortArray`, `$range`, `$zip` | [`concat_arrays`], [`reverse`], [`sort_array`], [`sort_array_by`], [`range`], [`zip`], [`zip_longest`] |
//! | `$setUnion`, `$setIntersection`, `$setDifference`, `$setEquals`, `$setIsSubset` | [`set_union`], [`set_intersection`], [`set_difference`], [`set_equals`], [`is_subset`] |
//! | `$sum`, `$avg`, `$min`, `$max` of an array | [`sum_of`], [`avg_of`], [`min_of`], [`max_of`] |
//! | `$stdDevPop`, `$stdDevSamp`, `$percentile`, `$median` of an array | [`std_dev_pop_of`], [`std_dev_samp_of`], [`percentiles_of`], [`median_of`] |
//! | `$mergeObjects`, `$objectToArray`, `$arrayToObject` | [`merge_objects`], [`object_to_array`], [`fields_of`], [`array_to_object`] |
//! | `$getField`, `$setField`, `$unsetField` | [`get_field`], [`set_field`], [`unset_field`] |
//! | `$year`, `$month`, `$week`, `$dayOfYear`, `$dayOfMonth`, `$dayOfWeek` | [`year`], [`month`], [`week`], [`day_of_year`], [`day_of_month`], [`day_of_week`] |
//! | `$isoWeekYear`, `$isoWeek`, `$isoDayOfWeek` | [`iso_week_year`], [`iso_week`], [`iso_day_of_week`] |
//! | `$hour`, `$minute`, `$second`, `$millisecond` | [`hour`], [`minute`], [`second`], [`millisecond`] |
//! | `$dateAdd`, `$dateSubtract`, `$dateDiff`, `$dateTrunc` | [`date_add`], [`date_subtract`], [`date_diff`], [`date_trunc`], [`date_trunc_in`] |
//! | `$dateFromParts`, `$dateToParts` | [`date_of`], [`date_of_iso_week`], [`date_from_parts`], [`date_to_parts`] |
//! | `$dateFromString`, `$dateToString` | [`parse_date`], [`try_parse_date`], [`format_date`] |
//! | `$currentDate`, `$tsSecond`, `$tsIncrement` | [`current_date`], [`now`], [`timestamp_seconds`], [`timestamp_increment`] |
//! | `$convert`, `$toBool`, `$toInt`, `$toLong`, `$toDouble`, `$toDecimal` | [`convert`], [`convert_or`], [`to_bool`], [`to_int`], [`to_long`], [`to_double`], [`to_decimal`] |
//! | `$toString`, `$toDate`, `$toObjectId`, `$toUUID` | [`to_text`], [`to_date`], [`to_object_id`], [`to_uuid`] |
//! | `$type`, `$isNumber`, `$bsonSize`, `$binarySize`, `$toHashedIndexKey` | [`type_name`], [`is_number`], [`bson_size`], [`binary_size`], [`hashed_index_key`] |
//! | `$meta` | [`text_score`], [`search_score`], [`vector_search_score`]; the others are in [`search`](crate::search) |
//!
//! Accumulators and functions of windows:
//!
//! | operators of MongoDB | here |
//! |---|---|
//! | `$sum`, `$avg`, `$min`, `$max`, `$count` | [`sum`], [`avg`], [`min`], [`max`], [`count`] |
//! | `$first`, `$last`, `$firstN`, `$lastN`, `$maxN`, `$minN` | [`first`], [`last`], [`first_n`], [`last_n`], [`max_n`], [`min_n`] |
//! | `$top`, `$topN`, `$bottom`, `$bottomN` | [`top`], [`top_n`], [`bottom`], [`bottom_n`] |
//! | `$push`, `$addToSet`, `$concatArrays`, `$setUnion`, `$mergeObjects` | [`push`], [`add_to_set`], [`concat_all`], [`union_all`], [`merged`] |
//! | `$stdDevPop`, `$stdDevSamp`, `$percentile`, `$median` | [`std_dev_pop`], [`std_dev_samp`], [`percentiles`], [`median`](fn@median) |
//! | `$rank`, `$denseRank`, `$documentNumber`, `$shift` | [`rank`], [`dense_rank`], [`document_number`], [`shift`] |
//! | `$derivative`, `$integral`, `$expMovingAvg` | [`derivative`], [`integral`], [`exp_moving_avg`], [`exp_moving_avg_by`] |
//! | `$covariancePop`, `$covarianceSamp` | [`covariance_pop`], [`covariance_samp`] |
//! | `$linearFill`, `$locf`, `$minMaxScaler` | [`linear_fill`], [`locf`], [`min_max_scaler`] |
//! | an accumulator of a window | [`over`], [`over_range`] |
//!
//! # Other expressions
//!
//! [`Expr::raw`] takes any expression, and [`Expr::retype`] states another type. Neither is
//! checked.

mod accumulate;
mod array;
mod compare;
mod convert;
mod date;
mod date_parts;
mod elements;
mod literal;
mod number;
mod object;
mod regex;
mod string;
mod variable;
mod window;

use std::fmt;
use std::marker::PhantomData;

use crate::{
    base::{
        bson::{Bson, Document, doc},
        error::Error,
        relaxed_json::relaxed,
    },
    path::{
        AsPath, InVariant, Maybe, MaybeVariable, Mode, RawPath, Read, Types, Variable, check_path,
        encrypted::encrypted_paths,
        field::{ByFunction, Field, Opaque},
    },
};

pub use accumulate::*;
pub use array::*;
pub use compare::*;
pub use convert::*;
pub use date::*;
pub use date_parts::*;
pub use elements::*;
pub use literal::lit;
pub(crate) use literal::literal;
pub use number::*;
pub use object::*;
pub use regex::*;
pub use string::*;
pub(crate) use variable::{variable, with_variable};
pub use window::*;

/// The untyped form of an expression. An error is carried to the call that sends it.
pub(crate) type Raw = Result<Bson, Box<Error>>;

/// An aggregation expression with a value of type `T`, computed from documents of type `R`. See the
/// [module](self).
///
/// `Display` prints it as Extended JSON, as it will be sent, and an error in angle brackets.
#[must_use = "an expression does nothing until it is given to a stage"]
pub struct Expr<R, T> {
    raw: Raw,
    types: Types<(R, T)>,
}

impl<R, T> Expr<R, T> {
    pub(crate) fn from_raw(raw: Raw) -> Self {
        Expr {
            raw,
            types: PhantomData,
        }
    }

    pub(crate) fn into_raw(self) -> Raw {
        self.raw
    }

    /// An expression in BSON, sent unchecked. The caller guarantees the type.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let random = Expr::<Order, f64>::raw(doc! { "$rand": {} });
    /// assert_eq!(random.to_string(), r#"{"$rand": {}}"#);
    /// ```
    ///
    /// # Errors
    /// The call that sends the expression fails with [`Error::InvalidPipeline`] if the documents have
    /// [encrypted fields](crate::encryption): the expression could contain the value of one; see
    /// [`unchecked`](Expr::unchecked).
    pub fn raw(expression: impl Into<Bson>) -> Self
    where
        R: Field,
    {
        Self::from_raw(checked::<R>().map(|()| expression.into()))
    }

    /// The same as [`raw`](Expr::raw), also for documents with encrypted fields. The caller guarantees that the expression
    /// contains no value of one: the values of expressions are sent as they are, also by a client with automatic encryption.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let random = Expr::<Order, f64>::unchecked(doc! { "$rand": {} });
    /// assert_eq!(random.to_string(), r#"{"$rand": {}}"#);
    /// ```
    pub fn unchecked(expression: impl Into<Bson>) -> Self {
        Self::from_raw(Ok(expression.into()))
    }

    /// The same expression with another type. The caller guarantees it.
    ///
    /// ```
    /// # use marula::expr::{Expr, lit};
    /// let text = lit::<(), String>("a").retype::<Option<String>>();
    /// # let _: Expr<(), Option<String>> = text;
    /// ```
    pub fn retype<U>(self) -> Expr<R, U> {
        Expr::from_raw(self.raw)
    }

    /// The expression in the form in which it is sent.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let double: Expr<Order, i64> = Order::fields().total() * 2;
    /// assert_eq!(double.into_bson()?, bson::bson!({ "$multiply": ["$total", 2] }));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// A value that cannot be encoded as BSON, or a path that has no form in an expression.
    pub fn into_bson(self) -> Result<Bson, Error> {
        self.raw.map_err(|e| *e)
    }
}

/// Rejects an expression of the application for documents with encrypted fields.
pub(crate) fn checked<R: Field>() -> Result<(), Box<Error>> {
    match encrypted_paths::<R>().first() {
        None => Ok(()),
        Some(path) => Err(Box::new(Error::pipeline(
            path.as_str(),
            "the documents have this encrypted field, and an expression in BSON could contain its value, which would be sent as it is: \
             use typed expressions, or state that it contains no such value by `unchecked(..)`",
        ))),
    }
}

impl<R, T> Clone for Expr<R, T> {
    fn clone(&self) -> Self {
        Self::from_raw(self.raw.clone())
    }
}

impl<R, T> fmt::Display for Expr<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(&self.raw, f)
    }
}

impl<R, T> fmt::Debug for Expr<R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expr({self})")
    }
}

pub(crate) fn print(raw: &Raw, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match raw {
        Ok(value) => fmt::Display::fmt(&relaxed(value), f),
        Err(e) => write!(f, "<{e}>"),
    }
}

/// A value in documents of type `R`: a path, an [`Expr`], a number, a string, the `…Expr` struct of
/// a [`Shape`](derive@crate::Shape).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an expression over `{R}`",
    label = "expected a path, an expression or a value",
    note = "for a value of another type use `lit(value)`"
)]
pub trait Operand<R> {
    /// The type of the value.
    type Value;
    /// The expression.
    ///
    /// ```
    /// # use marula_guide::*;
    /// // Functions that build expressions take any operand: a path, an `Expr`, a number.
    /// fn doubled<R, T: expr::Operand<R, Value = i64>>(value: T) -> Expr<R, i64> {
    ///     value.into_operand() * 2
    /// }
    /// assert_eq!(doubled(Order::fields().total()).to_string(), r#"{"$multiply": ["$total", 2]}"#);
    /// ```
    fn into_operand(self) -> Expr<R, Self::Value>;
}

impl<R, T> Operand<R> for Expr<R, T> {
    type Value = T;
    fn into_operand(self) -> Expr<R, T> {
        self
    }
}

impl<R, T> Operand<R> for &Expr<R, T> {
    type Value = T;
    fn into_operand(self) -> Expr<R, T> {
        self.clone()
    }
}

/// Modes of paths that have one value in an expression.
#[diagnostic::on_unimplemented(
    message = "this path goes through an array, so that it has no single value",
    label = "an array, or an index into one, is on the way to this field",
    note = "use `map(array, |element| ..)`, `sum_of(array, |element| ..)`, `element_at(array, 0)` or an `unwind` stage"
)]
pub trait Single: Mode {
    /// The type of the value of a path to a field of type `T`.
    type Of<T>;
    /// Whether a document that the path goes through may be missing.
    #[doc(hidden)]
    const MAY_BE_MISSING: bool;
}

impl Single for Read {
    type Of<T> = T;
    const MAY_BE_MISSING: bool = false;
}
impl Single for Variable {
    type Of<T> = T;
    const MAY_BE_MISSING: bool = false;
}
impl Single for Maybe {
    type Of<T> = Option<T>;
    const MAY_BE_MISSING: bool = true;
}
impl Single for InVariant {
    type Of<T> = Option<T>;
    const MAY_BE_MISSING: bool = true;
}
impl Single for MaybeVariable {
    type Of<T> = Option<T>;
    const MAY_BE_MISSING: bool = true;
}

impl<A: AsPath> Operand<A::Root> for A
where
    A::Mode: Single,
{
    type Value = <A::Mode as Single>::Of<A::Value>;
    fn into_operand(self) -> Expr<A::Root, Self::Value> {
        Expr::from_raw(field_path(self.raw()))
    }
}

/// A path as an expression. Inside a variant of an enum with tags it is null for other variants,
/// which can have a field of the same name.
pub(crate) fn field_path(path: &RawPath) -> Raw {
    let invalid = |reason: String| Box::new(Error::pipeline(path.dotted().replace('\0', ""), reason));
    check_path(path).map_err(invalid)?;
    if path.is_untagged() {
        return Err(invalid(
            "the enum is untagged, so a stored value does not show which variant it is; use `Expr::raw(..)`"
                .to_owned(),
        ));
    }
    let value = Bson::String(reference(path.dotted()));
    let tags = path.implied().iter().filter_map(|i| Some((i, i.tag?)));
    let mut conditions: Vec<Bson> = tags
        .map(|(variant, tag)| doc! { "$eq": [reference(&variant.key), literal_text(tag)] }.into())
        .collect();
    Ok(match conditions.len() {
        0 => value,
        1 => doc! { "$cond": [conditions.remove(0), value, Bson::Null] }.into(),
        _ => doc! { "$cond": [{ "$and": conditions }, value, Bson::Null] }.into(),
    })
}

/// The name of a field in a stage that takes names and not expressions.
pub(crate) fn field_name(path: &RawPath) -> Result<&str, Box<Error>> {
    let invalid = |reason: String| Box::new(Error::pipeline(path.dotted().replace('\0', ""), reason));
    check_path(path).map_err(invalid)?;
    if path.is_untagged() || path.implied().iter().any(|i| i.tag.is_some()) {
        return Err(invalid(
            "the stage would also read this field of other variants of the enum; add the field by `add_fields` before".to_owned(),
        ));
    }
    Ok(path.dotted())
}

fn literal_text(text: &str) -> Bson {
    if text.starts_with('$') {
        doc! { "$literal": text }.into()
    } else {
        text.into()
    }
}

/// The reference to a path: `$path`, `$$variable.path`, or `$$ROOT` for the document itself.
pub(crate) fn reference(dotted: &str) -> String {
    if dotted.is_empty() {
        "$$ROOT".to_owned()
    } else {
        format!("${dotted}")
    }
}

/// Types whose values fit where a `T` is expected: the same type, an `Option` of it, a wider
/// number, and a [`Ref`](crate::Ref) for the ids of its model and vice versa. An `Option` of a
/// newtype of an id does not fit: state the type by `retype` of the path.
#[diagnostic::on_unimplemented(
    message = "an expression of type `{Self}` does not fit where a `{T}` is expected",
    label = "expected `{T}`, found `{Self}`",
    note = "for an `Option` use `if_null(expression, default)`"
)]
pub trait Fits<T> {}
impl<T> Fits<T> for T {}
impl<T> Fits<Option<T>> for T {}
impl<T> Fits<Option<T>> for Option<Option<T>> {}
impl<T> Fits<Box<T>> for T {}
impl<T> Fits<T> for Opaque<T> {}
impl<T> Fits<T> for Opaque<ByFunction<T>> {}

macro_rules! fits {
    ($($from:ty => $($to:ty)*;)*) => { $( $(
        impl Fits<$to> for $from {}
        impl Fits<Option<$to>> for $from {}
        impl Fits<Option<$to>> for Option<$from> {}
    )* )* };
}
fits! {
    i8 => i32 i64 f64;
    i16 => i32 i64 f64;
    i32 => i64 f64;
    u8 => i32 u32 i64 u64 f64;
    u16 => i32 u32 i64 u64 f64;
    u32 => i64 u64 f64;
    f32 => f64;
    char => String;
    uuid::Uuid => crate::base::bson::Uuid;
    crate::base::bson::Uuid => uuid::Uuid;
}

/// An operand where a value of type `T` is expected. Implemented for every [`Operand`] whose value
/// [fits](Fits).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an expression of type `{T}` over `{R}`",
    label = "expected a `{T}`",
    note = "for an `Option` where none is expected use `if_null(expression, default)`"
)]
pub trait IntoExpr<R, T> {
    /// The expression.
    ///
    /// ```
    /// # use marula_guide::*;
    /// fn at_least<R>(value: impl expr::IntoExpr<R, i64>) -> Expr<R, i64> {
    ///     value.into_expr()
    /// }
    /// assert_eq!(at_least::<Order>(Order::fields().total()).to_string(), r#""$total""#);
    /// ```
    fn into_expr(self) -> Expr<R, T>;
}

#[diagnostic::do_not_recommend]
impl<R, T, E: Operand<R>> IntoExpr<R, T> for E
where
    E::Value: Fits<T>,
{
    fn into_expr(self) -> Expr<R, T> {
        self.into_operand().retype()
    }
}

/// An operand as the expression that is expected in its place: a path or a value as a field of a
/// `…Expr` struct, or as an element of an array.
///
/// ```
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "people")]
/// # struct Person { _id: i64, first: String, last: String }
/// let p = Person::fields();
/// let name = concat([expr(p.first()), expr(" "), expr(p.last())]);
/// assert_eq!(name.to_string(), r#"{"$concat": ["$first", " ", "$last"]}"#);
/// ```
pub fn expr<R, T>(operand: impl IntoExpr<R, T>) -> Expr<R, T> {
    operand.into_expr()
}

/// An operator with its arguments: the argument itself if there is one, otherwise an array.
pub(crate) fn call<R, T, const N: usize>(operator: &str, operands: [Raw; N]) -> Expr<R, T> {
    Expr::from_raw(call_raw(operator, &mut operands.into_iter(), false))
}

/// An operator with a list of arguments.
pub(crate) fn list<R, T>(operator: &str, operands: &mut dyn Iterator<Item = Raw>) -> Expr<R, T> {
    Expr::from_raw(call_raw(operator, operands, true))
}

fn call_raw(operator: &str, operands: &mut dyn Iterator<Item = Raw>, as_list: bool) -> Raw {
    let mut operands = operands.collect::<Result<Vec<_>, _>>()?;
    let argument = match &operands[..] {
        // A single array would be interpreted as the list of arguments.
        [one] if !as_list && !matches!(one, Bson::Array(_)) => operands.remove(0),
        _ => Bson::Array(operands),
    };
    Ok(doc! { operator: argument }.into())
}

/// An operator with named arguments. An argument that is `None` is left out.
pub(crate) fn named<R, T, const N: usize>(
    operator: &str,
    arguments: [(&'static str, Option<Raw>); N],
) -> Expr<R, T> {
    Expr::from_raw(parts(&mut arguments.into_iter()).map(|all| doc! { operator: all }.into()))
}

/// A document whose values are expressions.
pub(crate) fn parts(
    arguments: &mut dyn Iterator<Item = (&'static str, Option<Raw>)>,
) -> Result<Document, Box<Error>> {
    let given = arguments.filter_map(|(name, value)| Some((name, value?)));
    given.map(|(name, value)| Ok((name.to_owned(), value?))).collect()
}
