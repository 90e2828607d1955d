//! Type wrappers: objects that represent the BSON types JSON does not have, such as `{"$oid":
//! "…"}`.

use std::borrow::Cow;

use base64::engine::{Engine as _, general_purpose::STANDARD};

use super::date::read_date;
use super::error::{JsonError, JsonErrorKind};
use super::json::{Json, Member, Node};
use super::reader::{self, Forms};
use crate::bson::{
    Binary, Bson, DateTime, Decimal128, JavaScriptCodeWithScope, ObjectId, RawElements, Regex, Timestamp,
    error::kind_name,
    spec::{BinarySubtype, ElementType},
    text::from_hex,
};

/// The type wrapper of an object, determined by one of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    ObjectId,
    Symbol,
    Int32,
    Int64,
    Double,
    Decimal128,
    Binary,
    Uuid,
    Code,
    Timestamp,
    Regex,
    DbPointer,
    DateTime,
    MinKey,
    MaxKey,
    Undefined,
    LegacyBinary,
    LegacyRegex,
}

/// The type wrapper of an object, whether valid or not. `None` for a document, including a DBRef.
pub(super) fn kind(members: &[Member<'_>], forms: Forms) -> Option<Kind> {
    let mut dollars = members.iter().filter(|member| member.key.starts_with('$'));
    let kind = dollars.find_map(|member| {
        Some(match &*member.key {
            "$oid" => Kind::ObjectId,
            "$symbol" => Kind::Symbol,
            "$numberInt" => Kind::Int32,
            "$numberLong" => Kind::Int64,
            "$numberDouble" => Kind::Double,
            "$numberDecimal" => Kind::Decimal128,
            "$binary" if forms == Forms::Legacy && is_string(&member.value) => Kind::LegacyBinary,
            "$binary" => Kind::Binary,
            "$uuid" => Kind::Uuid,
            "$code" | "$scope" => Kind::Code,
            "$timestamp" => Kind::Timestamp,
            "$regularExpression" => Kind::Regex,
            // A query operator, unless it has exactly the legacy form.
            "$regex" if forms == Forms::Legacy && is_legacy_regex(members) => Kind::LegacyRegex,
            "$dbPointer" => Kind::DbPointer,
            "$date" => Kind::DateTime,
            "$minKey" => Kind::MinKey,
            "$maxKey" => Kind::MaxKey,
            "$undefined" => Kind::Undefined,
            _ => return None,
        })
    });
    drop(dollars);
    kind
}

fn is_string(node: &Node<'_>) -> bool {
    matches!(node.json, Json::String(_))
}

fn is_legacy_regex(members: &[Member<'_>]) -> bool {
    members.len() == 2
        && members.iter().any(|member| member.key == "$options")
        && members.iter().all(|member| is_string(&member.value))
}

/// The value of a wrapper, whose object starts at `offset`.
pub(super) fn value(
    kind: Kind,
    members: Vec<Member<'_>>,
    offset: usize,
    forms: Forms,
) -> Result<Bson, JsonError> {
    match kind {
        Kind::Code => return code(members, offset, forms),
        Kind::LegacyBinary => {
            let [data, subtype] = take(members, ["$binary", "$type"], offset)?;
            return binary(data, subtype, ["$binary", "$type"]);
        }
        Kind::LegacyRegex => {
            let [pattern, options] = take(members, ["$regex", "$options"], offset)?;
            return regex(pattern, options, ["$regex", "$options"]);
        }
        _ => {}
    }
    let key = key_of(kind);
    let [node] = take(members, [key], offset)?;
    single(kind, node, forms).map_err(|error| error.in_field(key))
}

fn key_of(kind: Kind) -> &'static str {
    match kind {
        Kind::ObjectId => "$oid",
        Kind::Symbol => "$symbol",
        Kind::Int32 => "$numberInt",
        Kind::Int64 => "$numberLong",
        Kind::Double => "$numberDouble",
        Kind::Decimal128 => "$numberDecimal",
        Kind::Binary | Kind::LegacyBinary => "$binary",
        Kind::Uuid => "$uuid",
        Kind::Code => "$code",
        Kind::Timestamp => "$timestamp",
        Kind::Regex => "$regularExpression",
        Kind::LegacyRegex => "$regex",
        Kind::DbPointer => "$dbPointer",
        Kind::DateTime => "$date",
        Kind::MinKey => "$minKey",
        Kind::MaxKey => "$maxKey",
        Kind::Undefined => "$undefined",
    }
}

/// The value of a wrapper with one key.
fn single(kind: Kind, node: Node<'_>, forms: Forms) -> Result<Bson, JsonError> {
    let offset = node.offset;
    let wrong = |what: &'static str| JsonError::value(offset, what);
    match kind {
        Kind::ObjectId => {
            let id = from_hex(&string(node)?).map(ObjectId::from_bytes);
            id.map(Bson::ObjectId)
                .ok_or_else(|| wrong("expected 24 hexadecimal digits"))
        }
        Kind::Symbol => Ok(Bson::Symbol(string(node)?.into_owned())),
        Kind::Int32 => integer(node, "expected a 32-bit integer as a string").map(Bson::Int32),
        Kind::Int64 => integer(node, "expected a 64-bit integer as a string").map(Bson::Int64),
        Kind::Double => {
            let double = read_double(&string(node)?).map(Bson::Double);
            double.ok_or_else(|| wrong("expected a Double as a string"))
        }
        Kind::Decimal128 => {
            let decimal = read_decimal(&string(node)?).map(Bson::Decimal128);
            decimal.ok_or_else(|| wrong("expected a decimal number of at most 34 digits as a string"))
        }
        Kind::Uuid => {
            let uuid = read_uuid(&string(node)?).ok_or_else(|| wrong("expected a UUID"))?;
            Ok(Bson::Binary(Binary {
                subtype: BinarySubtype::Uuid,
                bytes: uuid.to_vec(),
            }))
        }
        Kind::DateTime => date_time(node, forms),
        Kind::MinKey | Kind::MaxKey => match (node.json, kind) {
            (Json::Number("1"), Kind::MinKey) => Ok(Bson::MinKey),
            (Json::Number("1"), _) => Ok(Bson::MaxKey),
            _ => Err(wrong("expected 1")),
        },
        Kind::Undefined => match node.json {
            Json::Boolean(true) => Ok(Bson::Undefined),
            _ => Err(wrong("expected true")),
        },
        Kind::Binary => {
            let keys = ["base64", "subType"];
            let [data, subtype] = take(object(node)?, keys, offset)?;
            binary(data, subtype, keys)
        }
        Kind::Regex => {
            let keys = ["pattern", "options"];
            let [pattern, options] = take(object(node)?, keys, offset)?;
            regex(pattern, options, keys)
        }
        Kind::Timestamp => {
            let [time, increment] = take(object(node)?, ["t", "i"], offset)?;
            Ok(Bson::Timestamp(Timestamp {
                time: unsigned(&time).map_err(|error| error.in_field("t"))?,
                increment: unsigned(&increment).map_err(|error| error.in_field("i"))?,
            }))
        }
        Kind::DbPointer => db_pointer(node, offset, forms),
        Kind::Code | Kind::LegacyBinary | Kind::LegacyRegex => Err(wrong("expected a wrapper of one key")),
    }
}

/// The values of these keys, in this order. Other keys are an error.
fn take<'t, const N: usize>(
    members: Vec<Member<'t>>,
    keys: [&'static str; N],
    offset: usize,
) -> Result<[Node<'t>; N], JsonError> {
    let mut found = keys.map(|_| None);
    for Member { offset, key, value } in members {
        let slot = keys.iter().position(|wanted| key == *wanted);
        match slot.and_then(|slot| found.get_mut(slot)) {
            Some(slot @ None) => *slot = Some(value),
            Some(Some(_)) => {
                let message = "the object has this key already";
                return Err(JsonError::new(JsonErrorKind::DuplicateKey, offset, message).in_field(&key));
            }
            None => {
                let message = format!("unexpected key besides {}", keys.join(" and "));
                return Err(JsonError::value(offset, message).in_field(&key));
            }
        }
    }
    let missing = found.iter().zip(keys).find(|(slot, _)| slot.is_none());
    if let Some((_, key)) = missing {
        return Err(JsonError::value(offset, format!("the key {key} is missing")));
    }
    let nothing = || Node {
        offset,
        json: Json::Null,
    };
    Ok(found.map(|slot| slot.unwrap_or_else(nothing)))
}

fn string(node: Node<'_>) -> Result<Cow<'_, str>, JsonError> {
    match node.json {
        Json::String(text) => Ok(text),
        _ => Err(JsonError::value(node.offset, "expected a string")),
    }
}

fn object(node: Node<'_>) -> Result<Vec<Member<'_>>, JsonError> {
    match node.json {
        Json::Object(members) => Ok(members),
        _ => Err(JsonError::value(node.offset, "expected an object")),
    }
}

fn unsigned(node: &Node<'_>) -> Result<u32, JsonError> {
    let number = match node.json {
        Json::Number(digits) => digits.parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| JsonError::value(node.offset, "expected a 32-bit integer without sign"))
}

fn integer<T: std::str::FromStr>(node: Node<'_>, expected: &'static str) -> Result<T, JsonError> {
    let offset = node.offset;
    let text = string(node)?;
    let number = (!text.starts_with('+')).then(|| text.parse().ok()).flatten();
    number.ok_or_else(|| JsonError::value(offset, expected))
}

/// Parses a Double. The other names of infinity that the standard library accepts are not valid
/// Extended JSON.
fn read_double(text: &str) -> Option<f64> {
    match text {
        "Infinity" => return Some(f64::INFINITY),
        "-Infinity" => return Some(f64::NEG_INFINITY),
        "NaN" => return Some(f64::NAN),
        _ => {}
    }
    let plain = text
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    let number: f64 = plain.then(|| text.parse().ok()).flatten()?;
    number.is_finite().then_some(number)
}

/// Parses a Decimal128. The form is validated here: crate bson accepts `.` and `-+1`.
fn read_decimal(text: &str) -> Option<Decimal128> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let named = ["nan", "inf", "infinity"]
        .iter()
        .any(|name| unsigned.eq_ignore_ascii_case(name));
    (named || is_decimal(unsigned))
        .then(|| text.parse().ok())
        .flatten()
}

fn is_decimal(unsigned: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (number, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        None => (unsigned, "0"),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let some = whole.len() + fraction.len() > 0 && !exponent.is_empty();
    some && digits(whole) && digits(fraction) && digits(exponent)
}

/// Parses a UUID with or without hyphens, and with or without the URN prefix.
fn read_uuid(text: &str) -> Option<[u8; 16]> {
    let text = text.strip_prefix("urn:uuid:").unwrap_or(text);
    if text.len() != 36 {
        return from_hex(text);
    }
    let placed = text
        .bytes()
        .enumerate()
        .all(|(place, byte)| (byte == b'-') == matches!(place, 8 | 13 | 18 | 23));
    placed.then(|| from_hex(&text.replace('-', ""))).flatten()
}

fn binary(data: Node<'_>, subtype: Node<'_>, keys: [&'static str; 2]) -> Result<Bson, JsonError> {
    let [data_key, subtype_key] = keys;
    let (data_offset, subtype_offset) = (data.offset, subtype.offset);
    let data = string(data).map_err(|error| error.in_field(data_key))?;
    let subtype = string(subtype).map_err(|error| error.in_field(subtype_key))?;
    let subtype = match subtype.as_bytes() {
        [digit] => from_hex(&format!("0{}", char::from(*digit))).map(u8::from_be_bytes),
        _ => from_hex(&subtype).map(u8::from_be_bytes),
    };
    let subtype = subtype.ok_or_else(|| {
        JsonError::value(subtype_offset, "expected one or two hexadecimal digits").in_field(subtype_key)
    })?;
    let bytes = STANDARD
        .decode(&*data)
        .map_err(|_| JsonError::value(data_offset, "expected padded base64").in_field(data_key))?;
    Ok(Bson::Binary(Binary {
        subtype: BinarySubtype::from(subtype),
        bytes,
    }))
}

fn regex(pattern: Node<'_>, options: Node<'_>, keys: [&'static str; 2]) -> Result<Bson, JsonError> {
    let [pattern_key, options_key] = keys;
    let (pattern_offset, options_offset) = (pattern.offset, options.offset);
    let pattern = string(pattern).map_err(|error| error.in_field(pattern_key))?;
    let options = string(options).map_err(|error| error.in_field(options_key))?;
    // The format requires the options in alphabetical order.
    let mut letters: Vec<char> = options.chars().collect();
    letters.sort_unstable();
    let zero =
        |offset, key| JsonError::value(offset, "a regular expression contains a zero byte").in_field(key);
    Ok(Bson::RegularExpression(Regex {
        pattern: pattern
            .into_owned()
            .try_into()
            .map_err(|_| zero(pattern_offset, pattern_key))?,
        options: letters
            .into_iter()
            .collect::<String>()
            .try_into()
            .map_err(|_| zero(options_offset, options_key))?,
    }))
}

fn code(members: Vec<Member<'_>>, offset: usize, forms: Forms) -> Result<Bson, JsonError> {
    let named = |node| string(node).map_err(|error| error.in_field("$code"));
    if !members.iter().any(|member| member.key == "$scope") {
        let [code] = take(members, ["$code"], offset)?;
        return Ok(Bson::JavaScriptCode(named(code)?.into_owned()));
    }
    let [code, scope] = take(members, ["$code", "$scope"], offset)?;
    let (code, scope_offset) = (named(code)?.into_owned(), scope.offset);
    match reader::value(scope, forms).map_err(|error| error.in_field("$scope"))? {
        Bson::Document(scope) => Ok(Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope {
            code,
            scope,
        })),
        _ => Err(JsonError::value(scope_offset, "expected a document").in_field("$scope")),
    }
}

fn date_time(node: Node<'_>, forms: Forms) -> Result<Bson, JsonError> {
    const EXPECTED: &str = "expected a date in the format of RFC 3339, or {\"$numberLong\": …}";
    let offset = node.offset;
    let millis = match node.json {
        Json::String(text) => read_date(&text),
        Json::Number(digits) if forms == Forms::Legacy => digits.parse().ok(),
        Json::Object(members) => {
            let [millis] = take(members, ["$numberLong"], offset)?;
            Some(
                integer(millis, "expected a 64-bit integer as a string")
                    .map_err(|error| error.in_field("$numberLong"))?,
            )
        }
        _ => None,
    };
    let millis = millis.ok_or_else(|| JsonError::value(offset, EXPECTED))?;
    Ok(Bson::DateTime(DateTime::from_millis(millis)))
}

fn db_pointer(node: Node<'_>, offset: usize, forms: Forms) -> Result<Bson, JsonError> {
    let [namespace, id] = take(object(node)?, ["$ref", "$id"], offset)?;
    let namespace = string(namespace).map_err(|error| error.in_field("$ref"))?;
    let id_offset = id.offset;
    let Bson::ObjectId(id) = reader::value(id, forms).map_err(|error| error.in_field("$id"))? else {
        return Err(JsonError::value(id_offset, "expected an ObjectId").in_field("$id"));
    };
    make_db_pointer(&namespace, id).ok_or_else(|| {
        let name = kind_name(ElementType::DbPointer);
        JsonError::value(offset, format!("the {name} is too large"))
    })
}

/// Crate bson has no constructor: it is decoded from bytes.
fn make_db_pointer(namespace: &str, id: ObjectId) -> Option<Bson> {
    let mut bytes = vec![ElementType::DbPointer as u8, 0];
    let len = i32::try_from(namespace.len()).ok()?.checked_add(1)?;
    bytes.extend_from_slice(&len.to_le_bytes());
    bytes.extend_from_slice(namespace.as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(&id.bytes());
    let element = RawElements::unframed(&bytes).next_element().ok()??;
    element.value.to_bson().ok()
}
