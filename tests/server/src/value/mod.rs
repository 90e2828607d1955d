//! BSON values with the server's semantics: order, numbers, decimals, collation, sizes and
//! formatting.

pub(crate) mod collation;
pub(crate) mod compare;
pub(crate) mod date;
pub(crate) mod decimal;
pub(crate) mod digits;
pub(crate) mod format;
pub(crate) mod metadata;
pub(crate) mod number;
pub(crate) mod sum;
pub(crate) mod zone;

use bson::{Bson, Document};

/// The alias of a BSON type, as in `$type` and `bsonType`. In expressions, `Undefined` represents a missing value.
///
/// ```
/// assert_eq!(marula_test_server::type_name(&7.into()), "int");
/// ```
#[must_use]
pub fn type_name(value: &Bson) -> &'static str {
    match value {
        Bson::Double(_) => "double",
        Bson::String(_) => "string",
        Bson::Document(_) => "object",
        Bson::Array(_) => "array",
        Bson::Binary(_) => "binData",
        Bson::Undefined => "undefined",
        Bson::ObjectId(_) => "objectId",
        Bson::Boolean(_) => "bool",
        Bson::DateTime(_) => "date",
        Bson::Null => "null",
        Bson::RegularExpression(_) => "regex",
        Bson::DbPointer(_) => "dbPointer",
        Bson::JavaScriptCode(_) => "javascript",
        Bson::Symbol(_) => "symbol",
        Bson::JavaScriptCodeWithScope(_) => "javascriptWithScope",
        Bson::Int32(_) => "int",
        Bson::Timestamp(_) => "timestamp",
        Bson::Int64(_) => "long",
        Bson::Decimal128(_) => "decimal",
        Bson::MinKey => "minKey",
        Bson::MaxKey => "maxKey",
    }
}

/// Returns whether the value has one of the four numeric types.
pub(crate) fn is_number(value: &Bson) -> bool {
    matches!(
        value,
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_)
    )
}

/// Returns whether the value is null or missing.
pub(crate) fn is_nullish(value: &Bson) -> bool {
    matches!(value, Bson::Null | Bson::Undefined)
}

/// Converts a value to a boolean, as boolean expressions do.
pub(crate) fn truthy(value: &Bson) -> bool {
    match value {
        Bson::Null | Bson::Undefined => false,
        Bson::Boolean(value) => *value,
        Bson::Int32(value) => *value != 0,
        Bson::Int64(value) => *value != 0,
        Bson::Double(value) => *value != 0.0,
        Bson::Decimal128(value) => !decimal::Decimal::from_bson(value).is_zero(),
        _ => true,
    }
}

/// The BSON size of a document in bytes, computed without encoding it.
pub(crate) fn document_size(document: &Document) -> usize {
    5 + document
        .iter()
        .map(|(key, value)| 2 + key.len() + value_size(value))
        .sum::<usize>()
}

fn value_size(value: &Bson) -> usize {
    match value {
        Bson::Double(_) | Bson::Int64(_) | Bson::DateTime(_) | Bson::Timestamp(_) => 8,
        Bson::Int32(_) => 4,
        Bson::Boolean(_) => 1,
        Bson::ObjectId(_) => 12,
        Bson::Decimal128(_) => 16,
        Bson::Null | Bson::Undefined | Bson::MinKey | Bson::MaxKey => 0,
        Bson::String(text) | Bson::Symbol(text) | Bson::JavaScriptCode(text) => 5 + text.len(),
        Bson::Binary(binary) => 5 + binary.bytes.len(),
        Bson::RegularExpression(regex) => 2 + regex.pattern.as_str().len() + regex.options.as_str().len(),
        Bson::JavaScriptCodeWithScope(code) => 9 + code.code.len() + document_size(&code.scope),
        Bson::Document(document) => document_size(document),
        Bson::Array(items) => {
            let digits = |index: usize| index.checked_ilog10().unwrap_or(0) as usize + 1;
            5 + items
                .iter()
                .enumerate()
                .map(|(i, item)| 2 + digits(i) + value_size(item))
                .sum::<usize>()
        }
        Bson::DbPointer(_) => 32,
    }
}

/// Returns whether two values are equal in type, content and field order. `==` ignores the order of
/// fields.
pub(crate) fn identical(left: &Bson, right: &Bson) -> bool {
    match (left, right) {
        (Bson::Document(left), Bson::Document(right)) => identical_documents(left, right),
        (Bson::Array(left), Bson::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(a, b)| identical(a, b))
        }
        (Bson::Double(left), Bson::Double(right)) => left.to_bits() == right.to_bits(),
        _ => left == right,
    }
}

/// [`identical`] for documents.
pub(crate) fn identical_documents(left: &Document, right: &Document) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .zip(right)
            .all(|((name_a, a), (name_b, b))| name_a == name_b && identical(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    #[test]
    fn sizes_equal_the_encoded_length() {
        let items: Vec<Bson> = (0..120).map(Bson::Int32).collect();
        let document = doc! { "a": 1, "b": "text", "c": { "d": [1.5, 2_i64, null, true] }, "e": items };
        assert_eq!(document_size(&document), document.to_vec().unwrap().len());
    }

    #[test]
    fn identity_includes_types_and_order() {
        assert!(identical_documents(
            &doc! {"a": 1, "b": 2},
            &doc! {"a": 1, "b": 2}
        ));
        assert!(!identical_documents(
            &doc! {"a": 1, "b": 2},
            &doc! {"b": 2, "a": 1}
        ));
        assert!(!identical_documents(&doc! {"a": 1}, &doc! {"a": 1_i64}));
    }
}
