//! Operators of strings.

use crate::{
    base::bson::{DateTime, Decimal128, ObjectId},
    path::marker::Text,
    term::expr::{Expr, IntoExpr, Operand, call, list, named},
};

/// Strings joined in order (`$concat`).
///
/// ```
/// # use marula::expr::{concat, lit};
/// let text = concat([lit::<(), String>("a"), lit("b")]);
/// assert_eq!(text.to_string(), r#"{"$concat": ["a", "b"]}"#);
/// ```
#[doc(alias = "$concat")]
pub fn concat<R>(parts: impl IntoIterator<Item = Expr<R, String>>) -> Expr<R, String> {
    list("$concat", &mut parts.into_iter().map(Expr::into_raw))
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident $operator:literal $out:ty;)*) => { $(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("# use marula::expr::{lit, ", stringify!($name), "};")]
        #[doc = concat!("let value = ", stringify!($name), "(lit::<(), String>(\"a\"));")]
        #[doc = concat!("assert_eq!(value.to_string(), r#\"{\"", $operator, "\": \"a\"}\"#);")]
        /// ```
        #[doc(alias = $operator)]
        pub fn $name<R, A: Operand<R, Value: Text>>(text: A) -> Expr<R, $out> {
            call($operator, [text.into_operand().into_raw()])
        }
    )* };
}
functions! {
    /// A string in lower case (`$toLower`). ASCII letters only; of null an empty string.
    to_lower "$toLower" String;
    /// A string in upper case (`$toUpper`). ASCII letters only; of null an empty string.
    to_upper "$toUpper" String;
}

/// The number of code points of a string (`$strLenCP`).
///
/// ```
/// # use marula::expr::{char_count, lit};
/// assert_eq!(char_count(lit::<(), String>("a")).to_string(), r#"{"$strLenCP": "a"}"#);
/// ```
#[doc(alias = "$strLenCP")]
pub fn char_count<R>(text: impl IntoExpr<R, String>) -> Expr<R, i32> {
    call("$strLenCP", [text.into_expr().into_raw()])
}

/// A part of a string by code points (`$substrCP`): from an index, with a maximum length.
///
/// ```
/// # use marula::expr::{lit, substring};
/// let start = substring(lit::<(), String>("abc"), 0, 2);
/// assert_eq!(start.to_string(), r#"{"$substrCP": ["abc", 0, 2]}"#);
/// ```
#[doc(alias = "$substrCP")]
pub fn substring<R>(
    text: impl IntoExpr<R, String>,
    from: impl IntoExpr<R, i32>,
    count: impl IntoExpr<R, i32>,
) -> Expr<R, String> {
    call(
        "$substrCP",
        [
            text.into_expr().into_raw(),
            from.into_expr().into_raw(),
            count.into_expr().into_raw(),
        ],
    )
}

/// A string divided at a separator (`$split`).
///
/// ```
/// # use marula::expr::{lit, split};
/// let words = split(lit::<(), String>("a b"), " ");
/// assert_eq!(words.to_string(), r#"{"$split": ["a b", " "]}"#);
/// ```
#[doc(alias = "$split")]
pub fn split<R>(text: impl IntoExpr<R, String>, separator: impl IntoExpr<R, String>) -> Expr<R, Vec<String>> {
    call(
        "$split",
        [text.into_expr().into_raw(), separator.into_expr().into_raw()],
    )
}

/// A string without whitespace at both ends (`$trim`).
///
/// ```
/// # use marula::expr::{lit, trim};
/// assert_eq!(trim(lit::<(), String>(" a ")).to_string(), r#"{"$trim": {"input": " a "}}"#);
/// ```
#[doc(alias = "$trim")]
pub fn trim<R>(text: impl IntoExpr<R, String>) -> Expr<R, String> {
    named("$trim", [("input", Some(text.into_expr().into_raw()))])
}

/// A string with all occurrences of another string replaced (`$replaceAll`, MongoDB 4.4+).
///
/// ```
/// # use marula::expr::{lit, replace_all};
/// let text = replace_all(lit::<(), String>("a-b"), "-", "_");
/// assert_eq!(
///     text.to_string(),
///     r#"{"$replaceAll": {"input": "a-b", "find": "-", "replacement": "_"}}"#
/// );
/// ```
#[doc(alias = "$replaceAll")]
pub fn replace_all<R>(
    text: impl IntoExpr<R, String>,
    find: impl IntoExpr<R, String>,
    replacement: impl IntoExpr<R, String>,
) -> Expr<R, String> {
    named(
        "$replaceAll",
        [
            ("input", Some(text.into_expr().into_raw())),
            ("find", Some(find.into_expr().into_raw())),
            ("replacement", Some(replacement.into_expr().into_raw())),
        ],
    )
}

/// The index of the first occurrence of a string in another one in code points, or -1
/// (`$indexOfCP`).
///
/// ```
/// # use marula::expr::{index_of_text, lit};
/// let at = index_of_text(lit::<(), String>("abc"), "c");
/// assert_eq!(at.to_string(), r#"{"$indexOfCP": ["abc", "c"]}"#);
/// ```
#[doc(alias = "$indexOfCP")]
pub fn index_of_text<R>(text: impl IntoExpr<R, String>, find: impl IntoExpr<R, String>) -> Expr<R, i32> {
    call(
        "$indexOfCP",
        [text.into_expr().into_raw(), find.into_expr().into_raw()],
    )
}

/// A string without whitespace at its start (`$ltrim`).
///
/// ```
/// # use marula::expr::{lit, trim_start};
/// assert_eq!(trim_start(lit::<(), String>(" a ")).to_string(), r#"{"$ltrim": {"input": " a "}}"#);
/// ```
#[doc(alias = "$ltrim")]
pub fn trim_start<R>(text: impl IntoExpr<R, String>) -> Expr<R, String> {
    named("$ltrim", [("input", Some(text.into_expr().into_raw()))])
}

/// A string without whitespace at its end (`$rtrim`).
///
/// ```
/// # use marula::expr::{lit, trim_end};
/// assert_eq!(trim_end(lit::<(), String>(" a ")).to_string(), r#"{"$rtrim": {"input": " a "}}"#);
/// ```
#[doc(alias = "$rtrim")]
pub fn trim_end<R>(text: impl IntoExpr<R, String>) -> Expr<R, String> {
    named("$rtrim", [("input", Some(text.into_expr().into_raw()))])
}

/// A string without some characters at both ends (`$trim` with `chars`).
///
/// ```
/// # use marula::expr::{lit, trim_chars};
/// let text = trim_chars(lit::<(), String>("-a+"), "+-");
/// assert_eq!(text.to_string(), r#"{"$trim": {"input": "-a+", "chars": "+-"}}"#);
/// ```
#[doc(alias = "$trim")]
pub fn trim_chars<R>(text: impl IntoExpr<R, String>, chars: impl IntoExpr<R, String>) -> Expr<R, String> {
    named(
        "$trim",
        [
            ("input", Some(text.into_expr().into_raw())),
            ("chars", Some(chars.into_expr().into_raw())),
        ],
    )
}

/// A string with the first occurrence of another string replaced (`$replaceOne`, MongoDB 4.4+).
///
/// ```
/// # use marula::expr::{lit, replace_first};
/// let text = replace_first(lit::<(), String>("a-b"), "-", "_");
/// assert_eq!(
///     text.to_string(),
///     r#"{"$replaceOne": {"input": "a-b", "find": "-", "replacement": "_"}}"#
/// );
/// ```
#[doc(alias = "$replaceOne")]
pub fn replace_first<R>(
    text: impl IntoExpr<R, String>,
    find: impl IntoExpr<R, String>,
    replacement: impl IntoExpr<R, String>,
) -> Expr<R, String> {
    named(
        "$replaceOne",
        [
            ("input", Some(text.into_expr().into_raw())),
            ("find", Some(find.into_expr().into_raw())),
            ("replacement", Some(replacement.into_expr().into_raw())),
        ],
    )
}

/// The number of bytes of a string in UTF-8 (`$strLenBytes`).
///
/// ```
/// # use marula::expr::{byte_count, lit};
/// assert_eq!(byte_count(lit::<(), String>("a")).to_string(), r#"{"$strLenBytes": "a"}"#);
/// ```
#[doc(alias = "$strLenBytes")]
pub fn byte_count<R>(text: impl IntoExpr<R, String>) -> Expr<R, i32> {
    call("$strLenBytes", [text.into_expr().into_raw()])
}

/// A part of a string by bytes in UTF-8 (`$substrBytes`): from an index, with a maximum length. Fails on the server if
/// an end is inside of a character; see [`substring`].
///
/// ```
/// # use marula::expr::{lit, substring_bytes};
/// let start = substring_bytes(lit::<(), String>("abc"), 0, 2);
/// assert_eq!(start.to_string(), r#"{"$substrBytes": ["abc", 0, 2]}"#);
/// ```
#[doc(alias = "$substr")]
pub fn substring_bytes<R>(
    text: impl IntoExpr<R, String>,
    from: impl IntoExpr<R, i32>,
    count: impl IntoExpr<R, i32>,
) -> Expr<R, String> {
    call(
        "$substrBytes",
        [
            text.into_expr().into_raw(),
            from.into_expr().into_raw(),
            count.into_expr().into_raw(),
        ],
    )
}

/// The index of the first occurrence of a string in another one in bytes, or -1 (`$indexOfBytes`).
///
/// ```
/// # use marula::expr::{index_of_bytes, lit};
/// let at = index_of_bytes(lit::<(), String>("abc"), "c");
/// assert_eq!(at.to_string(), r#"{"$indexOfBytes": ["abc", "c"]}"#);
/// ```
#[doc(alias = "$indexOfBytes")]
pub fn index_of_bytes<R>(text: impl IntoExpr<R, String>, find: impl IntoExpr<R, String>) -> Expr<R, i32> {
    call(
        "$indexOfBytes",
        [text.into_expr().into_raw(), find.into_expr().into_raw()],
    )
}

/// The order of two strings without regard to the case of ASCII letters (`$strcasecmp`): -1, 0 or 1.
///
/// ```
/// # use marula::expr::{compare_ignore_case, lit};
/// let order = compare_ignore_case(lit::<(), String>("a"), "A");
/// assert_eq!(order.to_string(), r#"{"$strcasecmp": ["a", "A"]}"#);
/// ```
#[doc(alias = "$strcasecmp")]
pub fn compare_ignore_case<R>(a: impl IntoExpr<R, String>, b: impl IntoExpr<R, String>) -> Expr<R, i32> {
    call(
        "$strcasecmp",
        [a.into_expr().into_raw(), b.into_expr().into_raw()],
    )
}

/// Types with a text form on the server, for [`to_text`].
#[diagnostic::on_unimplemented(
    message = "the server has no text form of a `{Self}`",
    label = "expected a number, a `bool`, a date, an `ObjectId` or a string",
    note = "for an `Option` use `if_null(expression, default)`"
)]
pub trait ToText {}

macro_rules! texts {
    ($($t:ty)*) => { $( impl ToText for $t {} )* };
}
texts! { i8 i16 i32 i64 u8 u16 u32 u64 usize f32 f64 Decimal128 bool DateTime ObjectId String char }

/// The text form of a value (`$toString`). Dates are in UTC.
///
/// ```
/// # use marula::expr::{lit, to_text};
/// assert_eq!(to_text(lit::<(), i32>(5)).to_string(), r#"{"$toString": 5}"#);
/// ```
#[doc(alias = "$toString")]
pub fn to_text<R, A: Operand<R, Value: ToText>>(value: A) -> Expr<R, String> {
    call("$toString", [value.into_operand().into_raw()])
}
