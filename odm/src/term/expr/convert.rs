//! Types and conversions of values.

use crate::{
    base::bson::{Bson, DateTime, Decimal128, ObjectId, Timestamp, Uuid as BsonUuid},
    term::expr::{Expr, IntoExpr, Operand, Raw, call, list, named},
};

/// Types to which the server converts values, for [`convert`].
#[diagnostic::on_unimplemented(
    message = "the server does not convert values to `{Self}`",
    label = "expected `bool`, `i32`, `i64`, `f64`, `Decimal128`, `String`, `DateTime` or `ObjectId`"
)]
pub trait ConversionTarget {
    /// The name of the type on the server.
    #[doc(hidden)]
    const NAME: &'static str;
}

macro_rules! targets {
    ($($t:ty => $name:literal;)*) => { $(
        impl ConversionTarget for $t {
            const NAME: &'static str = $name;
        }
    )* };
}
targets! {
    bool => "bool"; i32 => "int"; i64 => "long"; f64 => "double"; Decimal128 => "decimal"; String => "string";
    DateTime => "date"; ObjectId => "objectId";
}

fn conversion<T: ConversionTarget, R, U>(value: Raw, otherwise: Raw) -> Expr<R, U> {
    named(
        "$convert",
        [
            ("input", Some(value)),
            ("to", Some(Ok(Bson::from(T::NAME)))),
            ("onError", Some(otherwise.clone())),
            ("onNull", Some(otherwise)),
        ],
    )
}

/// A value converted to another type; `None` if it cannot be converted, or is null or missing (`$convert`).
///
/// ```
/// # use marula::expr::{convert, lit};
/// let number = convert::<i32, _>(lit::<(), String>("17"));
/// assert_eq!(
///     number.to_string(),
///     r#"{"$convert": {"input": "17", "to": "int", "onError": null, "onNull": null}}"#
/// );
/// ```
#[doc(alias = "$convert")]
pub fn convert<T: ConversionTarget, R>(value: impl Operand<R>) -> Expr<R, Option<T>> {
    conversion::<T, R, _>(value.into_operand().into_raw(), Ok(Bson::Null))
}

/// A value converted to the type of the default, which is the result if it cannot be converted, or is null or missing
/// (`$convert`).
///
/// ```
/// # use marula::expr::{convert_or, lit};
/// let number = convert_or::<i32, _>(lit::<(), String>("17"), 0);
/// assert_eq!(
///     number.to_string(),
///     r#"{"$convert": {"input": "17", "to": "int", "onError": 0, "onNull": 0}}"#
/// );
/// ```
#[doc(alias = "$convert")]
pub fn convert_or<T: ConversionTarget, R>(
    value: impl Operand<R>,
    default: impl IntoExpr<R, T>,
) -> Expr<R, T> {
    conversion::<T, R, _>(value.into_operand().into_raw(), default.into_expr().into_raw())
}

/// Types that the server converts to a date, for [`to_date`], and `Option`s of them.
#[diagnostic::on_unimplemented(
    message = "the server does not convert a `{Self}` to a date",
    label = "expected a string, an `i64` or another number of milliseconds, an `ObjectId` or a `Timestamp`"
)]
pub trait ToDate {
    /// The type of the date.
    type Date;
}

macro_rules! dates {
    ($($t:ty)*) => { $( impl ToDate for $t { type Date = DateTime; } )* };
}
dates! { i64 f64 Decimal128 String ObjectId Timestamp DateTime }

impl<T: ToDate> ToDate for Option<T> {
    type Date = Option<T::Date>;
}

/// A value as a date (`$toDate`): a number of milliseconds since 1970, a string in ISO 8601, the time of an `ObjectId` or of a
/// `Timestamp`. Fails on the server for another string; see [`try_parse_date`](crate::expr::try_parse_date).
///
/// ```
/// # use marula::expr::{lit, to_date};
/// assert_eq!(to_date(lit::<(), i64>(0)).to_string(), r#"{"$toDate": 0}"#);
/// ```
#[doc(alias = "$toDate")]
pub fn to_date<R, A: Operand<R, Value: ToDate>>(value: A) -> Expr<R, <A::Value as ToDate>::Date> {
    call("$toDate", [value.into_operand().into_raw()])
}

/// A string of 24 hexadecimal digits as an `ObjectId` (`$toObjectId`). Fails on the server for another string; see
/// [`convert`].
///
/// ```
/// # use marula::expr::{lit, to_object_id};
/// let id = to_object_id(lit::<(), String>("65a1"));
/// assert_eq!(id.to_string(), r#"{"$toObjectId": "65a1"}"#);
/// ```
#[doc(alias = "$toObjectId")]
pub fn to_object_id<R>(text: impl IntoExpr<R, String>) -> Expr<R, ObjectId> {
    call("$toObjectId", [text.into_expr().into_raw()])
}

/// A string as a UUID (`$toUUID`, MongoDB 8.0+). Fails on the server for a string of another form.
///
/// ```
/// # use marula::expr::{lit, to_uuid};
/// assert_eq!(to_uuid(lit::<(), String>("65a1")).to_string(), r#"{"$toUUID": "65a1"}"#);
/// ```
#[doc(alias = "$toUUID")]
pub fn to_uuid<R>(text: impl IntoExpr<R, String>) -> Expr<R, BsonUuid> {
    call("$toUUID", [text.into_expr().into_raw()])
}

macro_rules! questions {
    ($($(#[$doc:meta])* $name:ident $operator:literal $as_list:ident $example:literal $out:ty;)*) => { $(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("# use marula::expr::{lit, ", stringify!($name), "};")]
        #[doc = concat!("let value = ", stringify!($name), "(lit::<(), i32>(5));")]
        #[doc = concat!("assert_eq!(value.to_string(), r#\"", $example, "\"#);")]
        /// ```
        #[doc(alias = $operator)]
        pub fn $name<R>(value: impl Operand<R>) -> Expr<R, $out> {
            $as_list($operator, value.into_operand().into_raw())
        }
    )* };
}

fn single<R, T>(operator: &str, value: Raw) -> Expr<R, T> {
    call(operator, [value])
}

fn listed<R, T>(operator: &str, value: Raw) -> Expr<R, T> {
    list(operator, &mut [value].into_iter())
}

questions! {
    /// The name of the BSON type of a value, such as `string`; `missing` for a missing field (`$type`).
    type_name "$type" single r#"{"$type": 5}"# String;
    /// Whether a value is a number (`$isNumber`, MongoDB 4.4+).
    is_number "$isNumber" single r#"{"$isNumber": 5}"# bool;
    /// Whether a value is an array (`$isArray`).
    is_array "$isArray" listed r#"{"$isArray": [5]}"# bool;
    /// The number of bytes of a document in BSON (`$bsonSize`, MongoDB 4.4+). Fails on the server for another value, but
    /// null and a missing field.
    bson_size "$bsonSize" single r#"{"$bsonSize": 5}"# Option<i32>;
    /// The number of bytes of a string or a binary value (`$binarySize`, MongoDB 4.4+). Fails on the server for another
    /// value, but null and a missing field.
    binary_size "$binarySize" single r#"{"$binarySize": 5}"# Option<i32>;
    /// The key of a value in a hashed index (`$toHashedIndexKey`, MongoDB 4.4+).
    hashed_index_key "$toHashedIndexKey" single r#"{"$toHashedIndexKey": 5}"# i64;
}
