//! Operators of documents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    base::{
        bson::{Bson, DecodeError},
        error::Error,
    },
    path::{
        AsPath, Inner, Mode, Path, RawPath,
        encrypted::encrypted_paths,
        field::{DerivedDocument, Embedded, Field},
        marker::Map,
    },
    term::expr::{Expr, IntoExpr, Operand, Raw, call, list, literal, named},
    values::{
        codec::{Decode, Value, read},
        record::result_types,
    },
};

result_types! {
    /// An entry of a map, with its key: the result of [`object_to_array`].
    [Clone, Debug, PartialEq, Eq, Serialize, Deserialize] MapEntry<T> MapEntryFields {
        /// The key.
        key as "k": String;
        /// The value.
        value as "v": T;
    }
}

/// The fields of several documents in one (`$mergeObjects`). Of fields of one name that of the last document is taken; a
/// document that is null or missing has no fields.
///
/// ```
/// # use marula::{Document, Embedded, expr::*, prelude::*};
/// # #[derive(Embedded)]
/// # struct Settings { color: Option<String>, size: Option<i32> }
/// # #[derive(Document)]
/// # #[document(collection = "people")]
/// # struct Person { _id: i64, defaults: Settings, own: Settings }
/// let p = Person::fields();
/// let settings: Expr<Person, Settings> = merge_objects([expr(p.defaults()), expr(p.own())]);
/// assert_eq!(settings.to_string(), r#"{"$mergeObjects": ["$defaults", "$own"]}"#);
/// ```
#[doc(alias = "$mergeObjects")]
pub fn merge_objects<R, T>(documents: impl IntoIterator<Item = Expr<R, T>>) -> Expr<R, T> {
    list("$mergeObjects", &mut documents.into_iter().map(Expr::into_raw))
}

fn name(field: &str) -> Raw {
    literal(Ok(Bson::from(field)))
}

/// A field of a document by its stored name, which can contain dots and `$`; `None` if it is missing (`$getField`,
/// MongoDB 5.0+). The caller guarantees the type. For fields with an accessor use the path. An
/// [encrypted field](crate::encryption) is refused when the expression is sent.
///
/// ```
/// # use marula::{bson::Document, expr::*};
/// let price = get_field::<i64, (), _>(lit::<_, Document>(Document::new()), "price.usd");
/// assert_eq!(
///     price.to_string(),
///     r#"{"$getField": {"field": "price.usd", "input": {"$literal": {}}}}"#
/// );
/// ```
#[doc(alias = "$getField")]
pub fn get_field<T, R, A: Operand<R, Value: Field>>(document: A, field: &str) -> Expr<R, Option<T>> {
    let mut encrypted = encrypted_paths::<A::Value>().iter();
    if let Some(path) = encrypted.find(|path| is_about(field, path)) {
        return Expr::from_raw(Err(not_encrypted("get_field", path)));
    }
    named(
        "$getField",
        [
            ("field", Some(name(field))),
            ("input", Some(document.into_operand().into_raw())),
        ],
    )
}

/// A document with a field of a stored name, which can contain dots and `$`, set to a value (`$setField`, MongoDB 5.0+).
/// The caller guarantees that the document can be read with it.
///
/// ```
/// # use marula::{bson::Document, expr::*};
/// let priced = set_field(lit::<(), Document>(Document::new()), "price.usd", 5);
/// assert_eq!(
///     priced.to_string(),
///     r#"{"$setField": {"field": "price.usd", "input": {"$literal": {}}, "value": 5}}"#
/// );
/// ```
///
/// # Errors
/// The call that sends the expression fails with [`Error::InvalidPipeline`] if the document has
/// [encrypted fields](crate::encryption): the value would be sent as it is.
#[doc(alias = "$setField")]
pub fn set_field<R, A: Operand<R, Value: Field>>(
    document: A,
    field: &str,
    value: impl Operand<R>,
) -> Expr<R, A::Value> {
    let document = match encrypted_paths::<A::Value>().first() {
        None => document.into_operand().into_raw(),
        Some(path) => Err(Box::new(Error::pipeline(
            path.as_str(),
            "the document has this encrypted field, and the value of `set_field` would be sent as it is",
        ))),
    };
    named(
        "$setField",
        [
            ("field", Some(name(field))),
            ("input", Some(document)),
            ("value", Some(value.into_operand().into_raw())),
        ],
    )
}

/// A document without a field of a stored name, which can contain dots and `$` (`$unsetField`, MongoDB 5.0+). The caller
/// guarantees that the document can be read without it.
///
/// ```
/// # use marula::{bson::Document, expr::*};
/// let unpriced = unset_field(lit::<(), Document>(Document::new()), "price.usd");
/// assert_eq!(
///     unpriced.to_string(),
///     r#"{"$unsetField": {"field": "price.usd", "input": {"$literal": {}}}}"#
/// );
/// ```
#[doc(alias = "$unsetField")]
pub fn unset_field<R, A: Operand<R>>(document: A, field: &str) -> Expr<R, A::Value> {
    named(
        "$unsetField",
        [
            ("field", Some(name(field))),
            ("input", Some(document.into_operand().into_raw())),
        ],
    )
}

/// The entries of a map, in its stored order (`$objectToArray`).
///
/// ```
/// # use std::collections::HashMap;
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "polls")]
/// # struct Poll { _id: i64, votes: HashMap<String, i64> }
/// let total = sum_of(object_to_array(Poll::fields().votes()), |entry| entry.value());
/// assert_eq!(
///     total.to_string(),
///     r#"{"$sum": {"$map": {"input": {"$objectToArray": "$votes"}, "as": "v0", "in": "$$v0.v"}}}"#
/// );
/// ```
#[doc(alias = "$objectToArray")]
pub fn object_to_array<R, A: Operand<R, Value: Map>>(
    map: A,
) -> Expr<R, Vec<MapEntry<<A::Value as Map>::Value>>> {
    call("$objectToArray", [map.into_operand().into_raw()])
}

/// The fields of an embedded document as entries with values of any type, in their stored order (`$objectToArray`). A
/// document with [encrypted fields](crate::encryption) is refused when the expression is sent.
///
/// ```
/// # use marula_guide::*;
/// use marula::expr::{fields_of, size};
/// let count = size(fields_of(Order::fields()));
/// assert_eq!(count.to_string(), r#"{"$size": {"$objectToArray": "$$ROOT"}}"#);
/// ```
#[doc(alias = "$objectToArray")]
pub fn fields_of<R, A: Operand<R, Value: Embedded>>(document: A) -> Expr<R, Vec<MapEntry<Bson>>> {
    if let Some(path) = encrypted_paths::<A::Value>().first() {
        return Expr::from_raw(Err(not_encrypted("fields_of", path)));
    }
    call("$objectToArray", [document.into_operand().into_raw()])
}

/// A map of entries (`$arrayToObject`); of entries with one key it has the last. For a map of another type use
/// [`retype`](Expr::retype).
///
/// ```
/// # use std::collections::HashMap;
/// # use marula::{Document, expr::*, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "polls")]
/// # struct Poll { _id: i64, votes: HashMap<String, i64> }
/// let popular = array_to_object(filter(object_to_array(Poll::fields().votes()), |e| gt(e.value(), 9)));
/// assert!(popular.to_string().starts_with(r#"{"$arrayToObject": {"$filter": "#));
/// ```
#[doc(alias = "$arrayToObject")]
pub fn array_to_object<R, T>(entries: impl IntoExpr<R, Vec<MapEntry<T>>>) -> Expr<R, BTreeMap<String, T>> {
    call("$arrayToObject", [entries.into_expr().into_raw()])
}

/// Whether a field of a document is a field with this path, or contains it.
fn is_about(field: &str, path: &str) -> bool {
    path.strip_prefix(field)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The error of an expression that could be compared with a value that is not encrypted.
fn not_encrypted(function: &str, path: &str) -> Box<Error> {
    Box::new(Error::pipeline(
        path,
        format!(
            "the document has this encrypted field, and a value that `{function}` is compared with would be sent as it is"
        ),
    ))
}
