//! Key patterns of indexes: their type, and what MongoDB refuses of them.

use crate::error::{Error, Result, code};
use crate::refusal::ServerProfile;
use crate::refusal::indexes as rows;
use crate::value::number::Number;
use crate::value::{format, truthy, type_name};
use bson::{Bson, Document};

/// The type of an index, which its key pattern determines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexType {
    Ordered,
    Hashed,
    Text,
    /// A `2d` index.
    Plane,
    /// A `2dsphere` index.
    Sphere,
    Wildcard,
}

impl IndexType {
    /// The type of an index with this key pattern; `Ordered` for one that MongoDB refuses.
    pub(crate) fn of(key: &Document) -> IndexType {
        if key.iter().any(|(path, value)| is_wildcard(path, value)) {
            return IndexType::Wildcard;
        }
        let plugin = key.values().find_map(Bson::as_str);
        match plugin {
            Some("hashed") => IndexType::Hashed,
            Some("text") => IndexType::Text,
            Some("2d") => IndexType::Plane,
            Some("2dsphere") => IndexType::Sphere,
            _ => IndexType::Ordered,
        }
    }

    /// The name of the type in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            IndexType::Ordered => "",
            IndexType::Hashed => "hashed",
            IndexType::Text => "text",
            IndexType::Plane => "2d",
            IndexType::Sphere => "2dsphere",
            IndexType::Wildcard => "wildcard",
        }
    }

    /// Whether the index may have a collation that is not simple.
    pub(super) fn has_collation(self) -> bool {
        !matches!(self, IndexType::Text | IndexType::Plane)
    }
}

/// Whether a field of a key pattern is a wildcard: `$**` or a path that ends with `.$**`.
fn is_wildcard(path: &str, value: &Bson) -> bool {
    (path == "$**" || path.ends_with(".$**")) && Number::from_bson(value).is_some()
}

/// Whether a key pattern is that of the `_id` index, in either direction.
pub(super) fn is_on_id(key: &Document) -> bool {
    let direction = key.get("_id").and_then(Number::from_bson);
    key.len() == 1 && direction.is_some_and(|direction| matches!(direction.to_saturated_i64(), 1 | -1))
}

fn cannot(message: impl Into<String>) -> Error {
    Error::new(code::CANNOT_CREATE_INDEX, message)
}

/// Checks a key pattern without regard to the options of the index.
pub(super) fn check(key: &Document, profile: ServerProfile) -> Result<()> {
    if crate::value::document_size(key) > 2048 {
        return Err(cannot("Index key pattern too large."));
    }
    if key.is_empty() {
        return Err(cannot("Index keys cannot be empty."));
    }
    let plugin = key.values().find_map(Bson::as_str);
    match plugin {
        None | Some("" | "hashed" | "text" | "2d" | "2dsphere" | "wildcard") => {}
        Some("geoHaystack") => {
            rows::HAYSTACK.check(profile, true, &[])?;
            return Err(Error::not_served("the index type geoHaystack"));
        }
        Some(other) => return Err(cannot(format!("Unknown index plugin '{other}'"))),
    }
    let wildcard = IndexType::of(key) == IndexType::Wildcard;
    for (path, value) in key {
        check_value(value, plugin, wildcard, profile)?;
        rows::WILDCARD_COMPOUND.check(profile, wildcard && key.len() > 1, &[])?;
        check_path(path, value, wildcard)?;
    }
    if wildcard {
        check_wildcard(key, profile)?;
    }
    Ok(())
}

fn check_value(value: &Bson, plugin: Option<&str>, wildcard: bool, profile: ServerProfile) -> Result<()> {
    match (value, Number::from_bson(value)) {
        (_, Some(number)) if number.to_f64().is_nan() => {
            Err(cannot("Values in the index key pattern cannot be NaN."))
        }
        (_, Some(number)) if number.to_f64() == 0.0 => {
            Err(cannot("Values in the index key pattern cannot be 0."))
        }
        (_, Some(number)) => {
            let descending = wildcard && number.to_f64() < 0.0;
            rows::WILDCARD_DESCENDING.check(profile, descending, &[])
        }
        (Bson::String(text), None) if plugin != Some(text) => Err(rows::TWO_TYPES.error(&[])),
        (Bson::String(text), None) if text == "wildcard" => Err(cannot(
            "The key pattern value for an 'wildcard' index must be a non-zero number, not a string.",
        )),
        (Bson::String(text), None) if text.is_empty() => {
            Err(cannot("Values in the index key pattern cannot be empty strings"))
        }
        (Bson::String(_), None) => Ok(()),
        _ => Err(cannot(format!(
            "Values in v:2 index key pattern cannot be of type {}. Only numbers > 0, numbers < 0, and strings are allowed.",
            type_name(value)
        ))),
    }
}

fn check_path(path: &str, value: &Bson, wildcard: bool) -> Result<()> {
    if path.is_empty() {
        return Err(cannot("Index keys cannot be an empty field."));
    }
    if path == "$**" && (Number::from_bson(value).is_some() || value.as_str() == Some("text")) {
        return Ok(());
    }
    if path == "_fts" && value.as_str() != Some("text") {
        return Err(cannot("Index key contains an illegal field name: '_fts'"));
    }
    let parts: Vec<&str> = path.split('.').collect();
    for (position, part) in parts.iter().enumerate() {
        if part.is_empty() {
            return Err(cannot("Index keys cannot contain an empty field."));
        }
        let in_reference = position > 0 && matches!(*part, "$db" | "$id" | "$ref");
        let is_wildcard = wildcard && position + 1 == parts.len() && *part == "$**";
        if part.starts_with('$') && !in_reference && !is_wildcard {
            return Err(cannot(
                "Index key contains an illegal field name: field name starts with '$'.",
            ));
        }
    }
    Ok(())
}

fn check_wildcard(key: &Document, profile: ServerProfile) -> Result<()> {
    let mut wildcards = key.iter().filter(|(path, value)| is_wildcard(path, value));
    let Some((wildcard, _)) = wildcards.next() else {
        return Ok(());
    };
    rows::WILDCARD_TWICE.check(profile, wildcards.next().is_some(), &[])?;
    let Some(prefix) = wildcard.strip_suffix("$**").filter(|prefix| !prefix.is_empty()) else {
        return Ok(());
    };
    let below = key
        .keys()
        .find(|path| path != &wildcard && format!("{path}.").starts_with(prefix));
    match below {
        Some(path) => rows::WILDCARD_OVERLAP.check(profile, true, &[path]),
        None => Ok(()),
    }
}

/// Checks the fields of a hashed or 2d index. These are errors of the index, not of its
/// specification.
pub(super) fn check_fields(spec: &Document, key: &Document, profile: ServerProfile) -> Result<()> {
    let unique = spec.get("unique").is_some_and(truthy);
    if key.len() > 32 {
        return Err(Error::new(13_103, "too many compound keys"));
    }
    let of_type = |name: &str| key.values().filter(|value| value.as_str() == Some(name)).count();
    let hashed = of_type("hashed");
    if hashed > 0 {
        rows::HASHED_COMPOUND.check(profile, key.len() > 1, &[])?;
        let shown = format::document(key);
        rows::HASHED_TWICE.check(profile, hashed > 1, &[&hashed, &shown])?;
        rows::HASHED_UNIQUE.check(profile, unique, &[])?;
    }
    let planes = of_type("2d");
    rows::TWO_PLANES.check(profile, planes > 1, &[])?;
    let first = key.values().next().and_then(Bson::as_str);
    rows::PLANE_FIRST.check(profile, planes > 0 && first != Some("2d"), &[])?;
    let bits = spec.get("bits").and_then(Number::from_bson);
    let out_of_range = bits.is_some_and(|bits| !(1..=32).contains(&bits.to_saturated_i64()));
    rows::PLANE_BITS.check(profile, planes > 0 && out_of_range, &[])?;
    Ok(())
}
