//! Index specifications, validated and completed with defaults as by `createIndexes`.

use super::index::{Index, Kind};
use super::index_key::{self, IndexType};
use super::{partial_filter, text_spec};
use crate::error::{Error, Result, code};
use crate::refusal::indexes as rows;
use crate::refusal::{Refusal, ServerProfile};
use crate::value::collation::Collation;
use crate::value::number::Number;
use crate::value::{format, truthy, type_name};
use bson::{Bson, DateTime, Document, doc};

/// The fields of an index specification in all versions.
const FIELDS: [&str; 27] = [
    "v",
    "key",
    "name",
    "unique",
    "sparse",
    "background",
    "expireAfterSeconds",
    "partialFilterExpression",
    "collation",
    "weights",
    "default_language",
    "language_override",
    "textIndexVersion",
    "2dsphereIndexVersion",
    "coarsestIndexedLevel",
    "finestIndexedLevel",
    "bits",
    "min",
    "max",
    "bucketSize",
    "wildcardProjection",
    "ns",
    "storageEngine",
    "dropDups",
    "safe",
    "force",
    "_id",
];

/// The fields that later versions have added, with the row of the versions before.
const LATER_FIELDS: [(&str, &Refusal); 3] = [
    ("hidden", &rows::HIDDEN_VERSION),
    ("prepareUnique", &rows::PREPARE_UNIQUE_VERSION),
    ("clustered", &rows::CLUSTERED_VERSION),
];

/// Parses an index specification of a command. The index has no entries yet.
pub(crate) fn parse(
    spec: &Document,
    profile: ServerProfile,
    default_collation: Option<&Collation>,
) -> Result<Index> {
    let in_specification = |error: Error| {
        let context = format!("Error in specification {}", format::document(spec));
        error.caused(&context)
    };
    let key = validate(spec, profile).map_err(in_specification)?;
    let on_id = check_name(spec, key)?;
    let expires = check_ttl(spec, key, profile)?;
    let mut index = build(spec, key, profile, default_collation).map_err(in_specification)?;
    index_key::check_fields(spec, key, profile)?;
    if on_id && spec.contains_key("collation") && index.collation.as_ref() != default_collation {
        let shown = |collation: Option<&Collation>| {
            let collation = collation.map_or_else(|| doc! { "locale": "simple" }, Collation::to_document);
            format::document(&collation)
        };
        return Err(rows::ID_COLLATION.error(&[&shown(index.collation.as_ref()), &shown(default_collation)]));
    }
    index.unique |= on_id;
    index.expire_after_seconds = expires;
    Ok(index)
}

/// The specification without the fields that no version has: `ignoreUnknownIndexOptions`.
pub(crate) fn without_unknown_fields(spec: &Document) -> Document {
    let known = |name: &str| FIELDS.contains(&name) || LATER_FIELDS.iter().any(|(later, _)| *later == name);
    spec.iter()
        .filter(|(name, _)| known(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Checks the names and types of the fields, and the key pattern, which is returned.
fn validate(spec: &Document, profile: ServerProfile) -> Result<&Document> {
    let shown = format::document(spec);
    check_names(spec, &shown, profile)?;
    for (name, value) in spec {
        check_type(spec, name, value, profile)?;
    }
    let required = |name: &str| {
        Error::failed_to_parse(format!(
            "The '{name}' field is a required property of an index specification"
        ))
    };
    let key = spec.get_document("key").map_err(|_| required("key"))?;
    if !spec.contains_key("name") {
        return Err(required("name"));
    }
    let on = |name: &str| spec.get(name).is_some_and(truthy);
    if spec.contains_key("clustered") {
        if !on("clustered") {
            return Err(rows::CLUSTERED_FALSE.error(&[]));
        }
        if !on("unique") {
            return Err(rows::CLUSTERED_UNIQUE.error(&[]));
        }
    }
    let text = IndexType::of(key) == IndexType::Text;
    if spec.contains_key("weights") && !text {
        return Err(rows::WEIGHTS_TYPE.error(&[&shown]));
    }
    rows::UNIQUE_AND_PREPARED.check(profile, on("unique") && on("prepareUnique"), &[&shown])?;
    Ok(key)
}

fn check_names(spec: &Document, shown: &str, profile: ServerProfile) -> Result<()> {
    for (name, row) in LATER_FIELDS {
        row.check(profile, spec.contains_key(name), &[&name, &shown])?;
    }
    if spec.contains_key("clustered") {
        let allowed = ["v", "key", "name", "unique", "clustered"];
        if let Some(other) = spec.keys().find(|name| !allowed.contains(&name.as_str())) {
            return Err(rows::CLUSTERED_OPTION.error(&[other, &shown]));
        }
    }
    for name in spec.keys() {
        if name == "originalSpec" {
            return Err(Error::not_served("index option originalSpec"));
        }
        if !FIELDS.contains(&name.as_str()) && !LATER_FIELDS.iter().any(|(later, _)| later == name) {
            return Err(rows::OPTION_UNKNOWN.error(&[name, &shown]));
        }
    }
    Ok(())
}

fn check_type(spec: &Document, name: &str, value: &Bson, profile: ServerProfile) -> Result<()> {
    let wrong = |expected: &str| {
        Err(Error::type_mismatch(format!(
            "The field '{name}' must be {expected}, but got {}",
            type_name(value)
        )))
    };
    let is_number = crate::value::is_number(value);
    match (name, value) {
        ("key", Bson::Document(key)) => {
            index_key::check(key, profile)?;
            let unprojected = key.len() > 1 && key.contains_key("$**");
            let unprojected = unprojected
                && IndexType::of(key) == IndexType::Wildcard
                && !spec.contains_key("wildcardProjection");
            rows::WILDCARD_NO_PROJECTION.check(profile, unprojected, &[])
        }
        ("key" | "collation" | "partialFilterExpression", value) if value.as_document().is_none() => {
            wrong("an object")
        }
        ("collation", Bson::Document(collation)) if collation.is_empty() => Err(Error::bad_value(
            "The field 'collation' cannot be an empty object.",
        )),
        ("partialFilterExpression", value) => partial_filter::check_syntax(value, profile),
        ("name" | "default_language" | "language_override", value) if value.as_str().is_none() => {
            wrong("a string")
        }
        ("hidden", value) if value.as_bool().is_none() => Err(rows::HIDDEN_TYPE.error(&[&type_name(value)])),
        ("v", value) => check_version(spec, value),
        ("wildcardProjection", value) => check_projection(spec, value),
        ("weights", Bson::Document(_) | Bson::Array(_) | Bson::String(_)) => Ok(()),
        ("weights", _) => wrong("an object"),
        ("unique" | "sparse" | "background" | "dropDups" | "prepareUnique" | "clustered", value)
            if value.as_bool().is_none() && !is_number =>
        {
            Err(Error::type_mismatch(format!(
                "The field '{name} has value {name}: {}, which is not convertible to bool",
                format::bson(value)
            )))
        }
        (
            "2dsphereIndexVersion"
            | "textIndexVersion"
            | "bits"
            | "min"
            | "max"
            | "bucketSize"
            | "coarsestIndexedLevel"
            | "finestIndexedLevel",
            _,
        ) if !is_number => wrong("a number"),
        ("storageEngine", _) => Err(Error::not_served(format!("index option {name}"))),
        _ => Ok(()),
    }
}

fn check_version(spec: &Document, value: &Bson) -> Result<()> {
    match Number::from_bson(value) {
        None => Err(Error::type_mismatch(format!(
            "The field 'v' must be a number, but got {}",
            type_name(value)
        ))),
        Some(version) if matches!(version.to_exact_i64(), Some(1 | 2)) => Ok(()),
        Some(_) => Err(Error::new(
            code::CANNOT_CREATE_INDEX,
            format!(
                "Invalid index specification {}; cannot create an index with v={}",
                format::document(spec),
                format::bson(value)
            ),
        )),
    }
}

fn check_projection(spec: &Document, value: &Bson) -> Result<()> {
    let empty = Document::new();
    let key = spec.get_document("key").unwrap_or(&empty);
    if IndexType::of(key) != IndexType::Wildcard {
        return Err(rows::WILDCARD_PROJECTION_TYPE.error(&[]));
    }
    let Bson::Document(projection) = value else {
        return Err(Error::type_mismatch(format!(
            "The field 'wildcardProjection' must be a non-empty object, but got {}",
            type_name(value)
        )));
    };
    if !key.contains_key("$**") {
        return Err(rows::WILDCARD_PROJECTION_PATH.error(&[]));
    }
    if projection.is_empty() {
        return Err(Error::failed_to_parse(
            "The 'wildcardProjection' field can't be an empty object",
        ));
    }
    Ok(())
}

/// Checks the name of the index and the options of the `_id` index; returns whether it is that.
fn check_name(spec: &Document, key: &Document) -> Result<bool> {
    let name = spec.get_str("name").unwrap_or_default();
    if !index_key::is_on_id(key) {
        if name == "_id_" {
            let found = format!("key: {}", format::document(key));
            return Err(rows::ID_NAME.error(&[&found]));
        }
        if name == "*" {
            return Err(rows::NAME_STAR.error(&[]));
        }
        return Ok(false);
    }
    if !spec.contains_key("clustered") {
        let allowed = ["v", "key", "name", "ns", "collation", "_id"];
        if let Some(other) = spec.keys().find(|name| !allowed.contains(&name.as_str())) {
            return Err(rows::ID_OPTION.error(&[other, &format::document(spec)]));
        }
    }
    if key
        .get("_id")
        .and_then(Number::from_bson)
        .is_some_and(|direction| direction.to_f64() != 1.0)
    {
        return Err(rows::ID_KEY.error(&[&format::document(key)]));
    }
    Ok(true)
}

/// Checks `expireAfterSeconds`, and returns it.
fn check_ttl(spec: &Document, key: &Document, profile: ServerProfile) -> Result<Option<i64>> {
    let Some(value) = spec.get("expireAfterSeconds") else {
        return Ok(None);
    };
    let with_spec = |error: Error| Error {
        message: format!("{}. Index spec: {}", error.message, format::document(spec)),
        ..error
    };
    let Some(number) = Number::from_bson(value) else {
        return Err(with_spec(rows::TTL_TYPE.error(&[&type_name(value)])));
    };
    let seconds = number.to_saturated_i64();
    if seconds < 0 {
        return Err(with_spec(rows::TTL_NEGATIVE.error(&[])));
    }
    let since_epoch = DateTime::now().timestamp_millis() / 1000;
    rows::TTL_RANGE_BEFORE_6
        .check(profile, seconds > since_epoch, &[])
        .map_err(with_spec)?;
    rows::TTL_RANGE
        .check(profile, seconds > i64::from(i32::MAX), &[])
        .map_err(with_spec)?;
    if key.len() != 1 && IndexType::of(key) != IndexType::Wildcard {
        return Err(rows::TTL_COMPOUND.error(&[&format::document(spec)]));
    }
    Ok(Some(seconds))
}

/// The index without its entries, with the specification that `listIndexes` returns.
fn build(
    spec: &Document,
    key: &Document,
    profile: ServerProfile,
    default_collation: Option<&Collation>,
) -> Result<Index> {
    let kind = IndexType::of(key);
    let on_id = index_key::is_on_id(key);
    let name = match spec.get_str("name").unwrap_or_default() {
        "" => {
            return Err(Error::new(
                code::CANNOT_CREATE_INDEX,
                "index name cannot be empty",
            ));
        }
        _ if on_id => "_id_",
        name => name,
    };
    let listed_key = if on_id {
        doc! { "_id": 1 }
    } else {
        key.clone()
    };
    let mut listed = doc! { "v": 2, "key": listed_key, "name": name };
    let entries = match kind {
        IndexType::Ordered => Kind::Ordered,
        _ => Kind::Listed,
    };
    let on = |name: &str| spec.get(name).is_some_and(truthy);
    let collation = match spec.get("collation") {
        Some(Bson::Document(collation)) => Collation::parse(collation)?,
        _ => default_collation.cloned(),
    };
    if let Some(collation) = &collation
        && !kind.has_collation()
    {
        let shown = format::document(&collation.to_document());
        return Err(rows::COLLATION.error(&[&kind.name(), &shown]));
    }
    if kind == IndexType::Wildcard {
        rows::WILDCARD_SPARSE.check(profile, on("sparse"), &[])?;
        rows::WILDCARD_UNIQUE.check(profile, on("unique"), &[])?;
        rows::WILDCARD_TTL.check(profile, spec.contains_key("expireAfterSeconds"), &[])?;
    }
    let partial = spec.get("partialFilterExpression");
    rows::PARTIAL_SPARSE.check(profile, partial.is_some() && on("sparse"), &[])?;
    let partial = partial
        .map(|filter| partial_filter::parse(filter, profile))
        .transpose()?;
    if kind == IndexType::Text {
        text_spec::complete(spec, &mut listed)?;
    }
    list_options(spec, profile, &mut listed);
    if let Some(collation) = &collation {
        listed.insert("collation", collation.to_document());
    }
    if kind == IndexType::Sphere {
        listed.insert("2dsphereIndexVersion", 3);
    }
    let mut index = Index::new(name, listed, entries);
    index.unique = on("unique");
    index.sparse = on("sparse");
    index.hidden = on("hidden");
    index.prepare_unique = on("prepareUnique");
    index.partial = partial;
    index.collation = collation;
    Ok(index)
}

/// Adds the options in the form in which they are stored: `unique`, `hidden` and `prepareUnique`
/// only if they are true, the others as they were sent. Servers since 5.0 return booleans and integers in the types
/// of the reply.
fn list_options(spec: &Document, profile: ServerProfile, listed: &mut Document) {
    let converts = profile.version.at_least(5, 0);
    for name in ["unique", "sparse", "hidden", "prepareUnique", "background"] {
        match spec.get(name) {
            None => {}
            Some(value) if matches!(name, "unique" | "hidden" | "prepareUnique") || converts => {
                let on = truthy(value);
                if on || !matches!(name, "unique" | "hidden" | "prepareUnique") {
                    listed.insert(name, on);
                }
            }
            Some(value) => {
                listed.insert(name, value.clone());
            }
        }
    }
    if let Some(seconds) = spec.get("expireAfterSeconds") {
        let integer = Number::from_bson(seconds)
            .and_then(|seconds| i32::try_from(seconds.to_saturated_i64()).ok())
            .filter(|_| converts);
        listed.insert(
            "expireAfterSeconds",
            integer.map_or_else(|| seconds.clone(), Bson::Int32),
        );
    }
    for name in [
        "partialFilterExpression",
        "wildcardProjection",
        "bits",
        "min",
        "max",
    ] {
        if let Some(value) = spec.get(name) {
            listed.insert(name, value.clone());
        }
    }
    for name in ["default_language", "language_override"] {
        if let Some(value) = spec.get(name)
            && !listed.contains_key(name)
        {
            listed.insert(name, value.clone());
        }
    }
}
