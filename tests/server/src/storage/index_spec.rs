//! Index specifications, validated and completed with defaults as by `createIndexes`.

use super::index::{Index, Kind};
use crate::error::{Error, Result, code};
use crate::query::{Env, Filter};
use crate::value::collation::Collation;
use crate::value::number::Number;
use crate::value::{format, truthy, type_name};
use bson::{Bson, Document, doc};

/// The fields of an index specification.
const FIELDS: [&str; 27] = [
    "v",
    "key",
    "name",
    "unique",
    "sparse",
    "background",
    "hidden",
    "prepareUnique",
    "expireAfterSeconds",
    "partialFilterExpression",
    "collation",
    "weights",
    "default_language",
    "language_override",
    "textIndexVersion",
    "2dsphereIndexVersion",
    "bits",
    "min",
    "max",
    "wildcardProjection",
    "ns",
    "storageEngine",
    "dropDups",
    "clustered",
    "originalSpec",
    "bucketSize",
    "$**",
];

/// The languages of text index version 3, by name and by code.
const LANGUAGES: [&str; 31] = [
    "none",
    "da",
    "danish",
    "de",
    "german",
    "en",
    "english",
    "es",
    "spanish",
    "fi",
    "finnish",
    "fr",
    "french",
    "hu",
    "hungarian",
    "it",
    "italian",
    "nb",
    "norwegian",
    "nl",
    "dutch",
    "pt",
    "portuguese",
    "ro",
    "romanian",
    "ru",
    "russian",
    "sv",
    "swedish",
    "tr",
    "turkish",
];

/// Whether the name or code is one of a language of text indexes.
pub(crate) fn is_language(name: &str) -> bool {
    LANGUAGES.contains(&name)
}

/// Parses an index specification of a command. The index has no entries yet.
pub(crate) fn parse(spec: &Document, default_collation: Option<&Collation>) -> Result<Index> {
    let invalid = |message: String| Error::new(code::INVALID_INDEX_SPECIFICATION_OPTION, message);
    for field in spec.keys() {
        if !FIELDS.contains(&field.as_str()) {
            return Err(invalid(format!(
                "The field '{field}' is not valid for an index specification. Specification: {}",
                format::document(spec)
            )));
        }
    }
    let key = match spec.get("key") {
        Some(Bson::Document(key)) => key,
        Some(other) => {
            return Err(Error::type_mismatch(format!(
                "The field 'key' must be an object, but got {}",
                type_name(other)
            )));
        }
        None => {
            return Err(Error::failed_to_parse(format!(
                "The 'key' field is a required property of an index specification: {}",
                format::document(spec)
            )));
        }
    };
    let kind = check_key(key)?;
    let name = match spec.get("name") {
        Some(Bson::String(name)) if name == "*" => {
            return Err(Error::bad_value("The index name '*' is not valid."));
        }
        Some(Bson::String(name)) if !name.is_empty() => name.clone(),
        Some(Bson::String(_)) => {
            return Err(Error::new(
                code::CANNOT_CREATE_INDEX,
                "index name cannot be empty",
            ));
        }
        Some(other) => {
            return Err(Error::type_mismatch(format!(
                "The field 'name' must be a string, but got {}",
                type_name(other)
            )));
        }
        None => {
            return Err(Error::failed_to_parse(format!(
                "The 'name' field is a required property of an index specification: {}",
                format::document(spec)
            )));
        }
    };
    if let Some(version) = spec.get("v")
        && !matches!(
            Number::from_bson(version).and_then(Number::to_exact_i64),
            Some(1 | 2)
        )
    {
        return Err(Error::new(
            code::CANNOT_CREATE_INDEX,
            format!("Invalid index version v={}", format::bson(version)),
        ));
    }
    let on_id = crate::command::plan::normalized(key) == doc! { "_id": 1.0 };
    let name = if on_id { "_id_".to_owned() } else { name };
    let mut listed = doc! { "v": 2, "key": key.clone(), "name": &name };
    let mut index = Index::new(&name, listed.clone(), kind.0);
    for (field, value) in spec {
        match field.as_str() {
            "unique" => index.unique = flag(field, value)?,
            "sparse" => index.sparse = flag(field, value)?,
            "hidden" => index.hidden = flag(field, value)?,
            "prepareUnique" => index.prepare_unique = flag(field, value)?,
            "expireAfterSeconds" => index.expire_after_seconds = Some(ttl(key, value)?),
            "partialFilterExpression" => index.partial = Some(partial(value)?),
            "collation" => {
                let Bson::Document(collation) = value else {
                    return Err(Error::type_mismatch("The field 'collation' must be an object"));
                };
                index.collation = Collation::parse(collation)?;
            }
            "weights" | "default_language" | "language_override" | "textIndexVersion" if kind.1 != "text" => {
                return Err(Error::new(
                    code::CANNOT_CREATE_INDEX,
                    format!("the option '{field}' is only for text indexes"),
                ));
            }
            "wildcardProjection" if kind.1 != "wildcard" => {
                return Err(Error::bad_value(
                    "The field 'wildcardProjection' is only allowed in a wildcard index",
                ));
            }
            "storageEngine" | "originalSpec" | "clustered" => {
                return Err(Error::not_served(format!("index option {field}")));
            }
            _ => {}
        }
    }
    if !spec.contains_key("collation") && kind.1 != "text" {
        index.collation = default_collation.cloned();
    }
    check_combination(&index, spec, kind.1, on_id)?;
    if on_id {
        index.unique = true;
    }
    complete_text(spec, kind.1, &mut listed)?;
    for (field, on) in [
        ("unique", index.unique && !on_id),
        ("sparse", index.sparse),
        ("hidden", index.hidden),
        ("prepareUnique", index.prepare_unique),
    ] {
        if on {
            listed.insert(field, true);
        }
    }
    for field in [
        "background",
        "expireAfterSeconds",
        "partialFilterExpression",
        "wildcardProjection",
        "bits",
        "min",
        "max",
    ] {
        if let Some(value) = spec.get(field) {
            listed.insert(field, value.clone());
        }
    }
    if let Some(collation) = &index.collation {
        listed.insert("collation", collation.to_document());
    }
    if kind.1 == "2dsphere" {
        listed.insert("2dsphereIndexVersion", 3);
    }
    index.spec = listed;
    Ok(index)
}

/// Returns the kind of the index and the name of its type.
fn check_key(key: &Document) -> Result<(Kind, &'static str)> {
    let cannot = |message: String| Error::new(code::CANNOT_CREATE_INDEX, message);
    if key.is_empty() {
        return Err(cannot("Index keys cannot be an empty object".to_owned()));
    }
    if key.len() > 32 {
        return Err(Error::new(
            13103,
            "cannot have more than 32 fields in a compound index",
        ));
    }
    let mut kind = (Kind::Ordered, "ordered");
    for (path, value) in key {
        if path.is_empty() || path.split('.').any(str::is_empty) {
            return Err(cannot(format!(
                "Index keys cannot contain an empty field: {}",
                format::document(key)
            )));
        }
        if path == "$**" || path.ends_with(".$**") {
            kind = (Kind::Listed, "wildcard");
        } else if path
            .split('.')
            .any(|part| part.starts_with('$') && !matches!(part, "$ref" | "$id" | "$db"))
            && path != "_fts"
        {
            return Err(cannot(format!(
                "Index key contains an illegal field name: field name starts with '$': {path}"
            )));
        }
        match value {
            Bson::String(plugin) => {
                kind = match plugin.as_str() {
                    "text" => (Kind::Listed, "text"),
                    "hashed" => (Kind::Listed, "hashed"),
                    "2dsphere" => (Kind::Listed, "2dsphere"),
                    "2d" => (Kind::Listed, "2d"),
                    other => {
                        return Err(cannot(format!("Unknown index plugin '{other}'")));
                    }
                };
            }
            value => match Number::from_bson(value) {
                Some(number) if number.to_f64() == 0.0 || number.to_f64().is_nan() => {
                    return Err(cannot(format!(
                        "Values in the index key pattern cannot be 0 or NaN: {}",
                        format::document(key)
                    )));
                }
                Some(_) => {}
                None => {
                    return Err(cannot(format!(
                        "Values in v:2 index key pattern cannot be of type {}. Only numbers > 0, numbers < 0, and strings are allowed.",
                        type_name(value)
                    )));
                }
            },
        }
    }
    let two_dimensional = key.values().position(|value| value.as_str() == Some("2d"));
    if two_dimensional.is_some_and(|position| position > 0) {
        return Err(Error::new(16801, "2d has to be first in index"));
    }
    let hashed = key
        .values()
        .filter(|value| value.as_str() == Some("hashed"))
        .count();
    if hashed > 1 {
        return Err(Error::new(
            31303,
            "A maximum of one index field is allowed to be hashed",
        ));
    }
    Ok(kind)
}

fn check_combination(index: &Index, spec: &Document, kind: &str, on_id: bool) -> Result<()> {
    let cannot = |message: &str| Err(Error::new(code::CANNOT_CREATE_INDEX, message));
    if index.sparse && index.partial.is_some() {
        return cannot("cannot mix \"partialFilterExpression\" and \"sparse\" options");
    }
    if on_id {
        for field in spec.keys() {
            if !matches!(
                field.as_str(),
                "v" | "key" | "name" | "ns" | "collation" | "background" | "unique"
            ) {
                return Err(Error::new(
                    code::INVALID_INDEX_SPECIFICATION_OPTION,
                    format!("The field '{field}' is not valid for an _id index specification."),
                ));
            }
        }
    }
    match kind {
        "hashed" if index.unique => Err(Error::new(
            16764,
            "Currently hashed indexes cannot guarantee uniqueness. Use a regular index.",
        )),
        "wildcard" if index.unique || index.expire_after_seconds.is_some() => {
            cannot("Index type 'wildcard' does not support the unique or TTL options")
        }
        "text" if index.collation.is_some() => cannot("Index type 'text' does not support collation"),
        _ => Ok(()),
    }
}

fn flag(field: &str, value: &Bson) -> Result<bool> {
    match value {
        Bson::Boolean(value) => Ok(*value),
        value if crate::value::is_number(value) => Ok(truthy(value)),
        other => Err(Error::type_mismatch(format!(
            "The field '{field}' has value {}, which is not convertible to bool",
            format::bson(other)
        ))),
    }
}

fn ttl(key: &Document, value: &Bson) -> Result<i64> {
    let cannot = |message: String| Error::new(code::CANNOT_CREATE_INDEX, message);
    let seconds = Number::from_bson(value)
        .ok_or_else(|| Error::type_mismatch("The field 'expireAfterSeconds' must be a number"))?
        .to_saturated_i64();
    if !(0..=i64::from(i32::MAX)).contains(&seconds) {
        return Err(cannot(format!(
            "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a different number than {seconds}"
        )));
    }
    if key.len() != 1 {
        return Err(cannot(format!(
            "TTL indexes are single-field indexes, compound indexes do not support TTL. Index spec: {}",
            format::document(key)
        )));
    }
    if key.contains_key("_id") {
        return Err(cannot(
            "The field 'expireAfterSeconds' is not valid for an _id index specification.".to_owned(),
        ));
    }
    Ok(seconds)
}

fn partial(value: &Bson) -> Result<Filter> {
    let Bson::Document(filter) = value else {
        return Err(Error::type_mismatch(
            "The field 'partialFilterExpression' must be an object",
        ));
    };
    check_partial(filter)?;
    Filter::parse(filter, &Env::default())
}

/// Partial filter expressions support fewer operators than filters.
fn check_partial(filter: &Document) -> Result<()> {
    let refused = |what: &str| {
        Err(Error::new(
            code::CANNOT_CREATE_INDEX,
            format!("Expression not supported in partial index: {what}"),
        ))
    };
    for (name, value) in filter {
        match (name.as_str(), value) {
            ("$and" | "$or", Bson::Array(clauses)) => {
                for clause in clauses {
                    if let Bson::Document(clause) = clause {
                        check_partial(clause)?;
                    }
                }
            }
            (name, _) if name.starts_with('$') => return refused(name),
            (_, Bson::Document(operators)) if crate::query::parse::is_operators(operators) => {
                for (operator, operand) in operators {
                    match operator.as_str() {
                        "$eq" | "$lt" | "$lte" | "$gt" | "$gte" | "$type" | "$in" => {}
                        "$exists" if truthy(operand) => {}
                        other => return refused(other),
                    }
                }
            }
            (_, Bson::RegularExpression(_)) => return refused("$regex"),
            _ => {}
        }
    }
    Ok(())
}

/// Completes a text index with the default weights and languages that `listIndexes` shows.
fn complete_text(spec: &Document, kind: &str, listed: &mut Document) -> Result<()> {
    if kind != "text" {
        return Ok(());
    }
    let key = spec.get_document("key").cloned().unwrap_or_default();
    let mut stored = Document::new();
    let mut weights = match spec.get("weights") {
        None => Document::new(),
        Some(Bson::Document(weights)) => weights.clone(),
        Some(_) => {
            return Err(Error::new(
                code::CANNOT_CREATE_INDEX,
                "text index option 'weights' must be an object",
            ));
        }
    };
    for (path, value) in &key {
        if value.as_str() == Some("text") {
            if !stored.contains_key("_fts") {
                stored.extend(doc! { "_fts": "text", "_ftsx": 1 });
            }
            if path != "_fts" && !weights.contains_key(path) {
                weights.insert(path, 1);
            }
        } else if path != "_ftsx" {
            stored.insert(path, value.clone());
        }
    }
    let mut sorted: Vec<(String, Bson)> = weights.into_iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, weight) in &sorted {
        if !matches!(
            Number::from_bson(weight).and_then(Number::to_exact_i64),
            Some(1..=99_999)
        ) {
            return Err(Error::new(
                code::CANNOT_CREATE_INDEX,
                format!("text index weight must be in the exclusive interval (0,100000) but found: {path}"),
            ));
        }
    }
    let text = |field: &str, default: &str| match spec.get(field) {
        Some(Bson::String(text)) => Ok(text.clone()),
        None => Ok(default.to_owned()),
        Some(_) => Err(Error::new(
            code::CANNOT_CREATE_INDEX,
            format!("text index option '{field}' must be a string"),
        )),
    };
    listed.insert("key", stored);
    listed.insert("weights", sorted.into_iter().collect::<Document>());
    let language = text("default_language", "english")?;
    if !LANGUAGES.contains(&language.to_lowercase().as_str()) {
        return Err(Error::new(
            code::CANNOT_CREATE_INDEX,
            format!(
                "default_language is not valid: unsupported language: \"{language}\" for text index version 3"
            ),
        ));
    }
    listed.insert("default_language", language);
    listed.insert("language_override", text("language_override", "language")?);
    listed.insert("textIndexVersion", 3);
    Ok(())
}
