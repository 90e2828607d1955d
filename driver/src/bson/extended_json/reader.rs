//! Converts JSON to BSON: plain values here, type wrappers in `wrapper`.

use super::error::{JsonError, JsonErrorKind};
use super::json::{Json, Member, Node};
use super::wrapper;
use crate::bson::{Bson, Document, capacity};

/// The accepted forms in addition to canonical and relaxed Extended JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forms {
    Standard,
    Legacy,
}

/// The value of a node of any type.
pub(super) fn value(node: Node<'_>, forms: Forms) -> Result<Bson, JsonError> {
    Ok(match node.json {
        Json::Null => Bson::Null,
        Json::Boolean(value) => Bson::Boolean(value),
        Json::Number(digits) => number(digits, node.offset)?,
        Json::String(text) => Bson::String(text.into_owned()),
        Json::Array(nodes) => {
            let values = nodes.into_iter().enumerate();
            let values =
                values.map(|(index, node)| value(node, forms).map_err(|error| error.at_index(index)));
            Bson::Array(values.collect::<Result<_, _>>()?)
        }
        Json::Object(members) => match wrapper::kind(&members, forms) {
            Some(kind) => wrapper::value(kind, members, node.offset, forms)?,
            None => Bson::Document(document(members, forms)?),
        },
    })
}

/// The document of an object that is not a type wrapper.
pub(super) fn document(members: Vec<Member<'_>>, forms: Forms) -> Result<Document, JsonError> {
    let mut document = capacity::document_for(members.len().min(capacity::MAX_ELEMENTS));
    for Member { offset, key, value } in members {
        if key.contains('\0') {
            return Err(JsonError::value(offset, "a key contains a zero byte").in_field(&key));
        }
        if document.contains_key(&*key) {
            let message = "the object has this key already";
            return Err(JsonError::new(JsonErrorKind::DuplicateKey, offset, message).in_field(&key));
        }
        let value = self::value(value, forms).map_err(|error| error.in_field(&key))?;
        document.insert(key, value);
    }
    Ok(document)
}

/// An Int32 or Int64 if the number is an integer in range, otherwise a Double.
fn number(digits: &str, offset: usize) -> Result<Bson, JsonError> {
    if !digits.contains(['.', 'e', 'E'])
        && let Ok(integer) = digits.parse::<i64>()
    {
        return Ok(i32::try_from(integer).map_or(Bson::Int64(integer), Bson::Int32));
    }
    match digits.parse::<f64>() {
        Ok(double) if double.is_finite() => Ok(Bson::Double(double)),
        _ => Err(JsonError::value(
            offset,
            "the number is beyond the range of a Double",
        )),
    }
}
