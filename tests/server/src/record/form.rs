//! The form of a command: its fields, operators and options, without values. Names of the
//! application's fields are `*`; fields of the same form are one.

use bson::{Bson, Document};
use std::collections::BTreeSet;

/// Fields that all drivers add, and that no command of the application determines.
const ADDED: [&str; 4] = ["$db", "lsid", "$clusterTime", "txnNumber"];

const INDEX_KINDS: [&str; 5] = ["text", "hashed", "2d", "2dsphere", "off"];

/// The commands of the handshake and of monitoring describe the machine of the client. Which ones are
/// sent, and when, the application does not determine.
const HANDSHAKE: [&str; 3] = ["hello", "isMaster", "ismaster"];

/// How the fields of a document are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Fields with fixed names, such as the options of a command.
    Options,
    /// A filter.
    Filter,
    /// The conditions of one field of a filter.
    Conditions,
    /// Names of the application's fields with expressions.
    Fields,
    /// An expression.
    Expression,
    /// Update operators.
    Update,
}

/// The forms of a command: one of the command itself, and one of each statement, stage and index.
pub(super) fn of_command(command: &Document) -> Vec<String> {
    let Some(name) = command.keys().next() else {
        return Vec::new();
    };
    if HANDSHAKE.contains(&name.as_str()) {
        return Vec::new();
    }
    let mut forms = Vec::new();
    let mut parts = Vec::new();
    for (field, value) in command {
        if ADDED.contains(&field.as_str()) {
            continue;
        }
        match (field.as_str(), value) {
            (field, _) if field == name => parts.push(field.to_owned()),
            ("documents", Bson::Array(_)) => parts.push("documents: […]".to_owned()),
            ("updates" | "deletes" | "ops" | "indexes" | "pipeline", Bson::Array(items)) => {
                parts.push(format!("{field}: […]"));
                for item in items.iter().filter_map(Bson::as_document) {
                    let form = match field.as_str() {
                        "pipeline" => stage(item),
                        _ => document(item, Reading::Options),
                    };
                    forms.push(format!("{name} · {field}: {form}"));
                }
            }
            (field, value) => parts.push(format!("{field}: {}", option(field, value))),
        }
    }
    forms.push(parts.join(", "));
    forms
}

/// The form of a stage.
fn stage(stage: &Document) -> String {
    document(stage, Reading::Expression)
}

fn document(document: &Document, reading: Reading) -> String {
    let mut fields = BTreeSet::new();
    for (name, value) in document {
        let shown = match reading {
            Reading::Options | Reading::Expression | Reading::Update => name.as_str(),
            _ if name.starts_with('$') || name == "_id" => name.as_str(),
            _ => "*",
        };
        let form = match reading {
            Reading::Options => option(name, value),
            Reading::Filter => condition(name, value),
            Reading::Conditions => operand(name, value),
            // The directions of a sort and of an index, its kind, and what a projection includes.
            Reading::Fields => match value {
                Bson::Int32(number @ -1..=1) => number.to_string(),
                Bson::Int64(number @ -1..=1) => number.to_string(),
                Bson::String(kind) if INDEX_KINDS.contains(&kind.as_str()) => kind.clone(),
                value => expression(value),
            },
            Reading::Expression => argument(name, value),
            Reading::Update => change(name, value),
        };
        fields.insert(format!("{shown}: {form}"));
    }
    let fields: Vec<String> = fields.into_iter().collect();
    format!("{{{}}}", fields.join(", "))
}

/// Elements of one form are one.
fn array(values: &[Bson], form: impl Fn(&Bson) -> String) -> String {
    let forms: BTreeSet<String> = values.iter().map(form).collect();
    let forms: Vec<String> = forms.into_iter().collect();
    format!("[{}]", forms.join(", "))
}

/// Options whose texts are names of MongoDB.
const NAMED: [&str; 16] = [
    "whenMatched",
    "whenNotMatched",
    "level",
    "mode",
    "w",
    "granularity",
    "validationLevel",
    "validationAction",
    "fullDocument",
    "fullDocumentBeforeChange",
    "type",
    "unit",
    "verbosity",
    "locale",
    "queryType",
    "bsonType",
];

/// The value of a field with a fixed name.
fn option(name: &str, value: &Bson) -> String {
    match (name, value) {
        (name, Bson::String(text)) if NAMED.contains(&name) => text.clone(),
        (
            "filter" | "query" | "q" | "validator" | "partialFilterExpression" | "restrictSearchWithMatch",
            Bson::Document(filter),
        ) => document(filter, Reading::Filter),
        ("u" | "update" | "updateMods", Bson::Document(update)) => match update.keys().next() {
            Some(first) if first.starts_with('$') => document(update, Reading::Update),
            _ => "a document".to_owned(),
        },
        ("u" | "update" | "updateMods" | "pipeline", Bson::Array(stages)) => {
            array(stages, |item| match item {
                Bson::Document(item) => stage(item),
                _ => "?".to_owned(),
            })
        }
        ("arrayFilters", Bson::Array(filters)) => array(filters, |filter| match filter {
            Bson::Document(filter) => document(filter, Reading::Filter),
            _ => "?".to_owned(),
        }),
        (
            "sort" | "projection" | "fields" | "key" | "weights" | "let" | "c" | "min" | "max" | "hint"
            | "wildcardProjection",
            Bson::Document(fields),
        ) => document(fields, Reading::Fields),
        ("$jsonSchema", _) => "a schema".to_owned(),
        (_, Bson::Document(options)) => document(options, Reading::Options),
        (_, Bson::Array(values)) => array(values, |value| option("", value)),
        (_, value) => scalar(value),
    }
}

/// A field of a filter.
fn condition(name: &str, value: &Bson) -> String {
    match (name, value) {
        ("$and" | "$or" | "$nor", Bson::Array(filters)) => array(filters, |filter| match filter {
            Bson::Document(filter) => document(filter, Reading::Filter),
            _ => "?".to_owned(),
        }),
        ("$expr", value) => expression(value),
        ("$jsonSchema", _) => "a schema".to_owned(),
        (name, Bson::Document(options)) if name.starts_with('$') => document(options, Reading::Options),
        (_, Bson::Document(conditions))
            if conditions.keys().next().is_some_and(|key| key.starts_with('$')) =>
        {
            document(conditions, Reading::Conditions)
        }
        (_, value) => kind(value).to_owned(),
    }
}

/// The operand of an operator of a field.
fn operand(name: &str, value: &Bson) -> String {
    match (name, value) {
        ("$not", Bson::Document(conditions)) => document(conditions, Reading::Conditions),
        ("$elemMatch", Bson::Document(conditions)) => match conditions.keys().next() {
            Some(first) if first.starts_with('$') && !matches!(first.as_str(), "$and" | "$or" | "$nor") => {
                document(conditions, Reading::Conditions)
            }
            _ => document(conditions, Reading::Filter),
        },
        ("$all", Bson::Array(values)) => array(values, |value| match value {
            Bson::Document(conditions) if conditions.contains_key("$elemMatch") => {
                document(conditions, Reading::Conditions)
            }
            value => kind(value).to_owned(),
        }),
        ("$in" | "$nin", Bson::Array(_)) => "[?]".to_owned(),
        ("$geoWithin" | "$geoIntersects" | "$near" | "$nearSphere", Bson::Document(options)) => {
            document(options, Reading::Options)
        }
        ("$exists", value) => scalar(value),
        (_, value) => kind(value).to_owned(),
    }
}

/// An expression, or the value of a projection or a sort.
fn expression(value: &Bson) -> String {
    match value {
        Bson::Document(operator) if operator.keys().next().is_some_and(|key| key.starts_with('$')) => {
            document(operator, Reading::Expression)
        }
        Bson::Document(fields) => document(fields, Reading::Fields),
        Bson::Array(values) => array(values, expression),
        value => scalar(value),
    }
}

/// The argument of an operator or a stage.
fn argument(name: &str, value: &Bson) -> String {
    match (name, value) {
        ("$match", Bson::Document(filter)) => document(filter, Reading::Filter),
        ("$literal" | "$const", value) => kind(value).to_owned(),
        (
            "$project" | "$set" | "$addFields" | "$group" | "$sort" | "$replaceWith" | "output" | "vars"
            | "let" | "partitionBy" | "sortBy" | "newRoot" | "buckets",
            Bson::Document(fields),
        ) => match fields.keys().next() {
            Some(first) if first.starts_with('$') => document(fields, Reading::Expression),
            _ => document(fields, Reading::Fields),
        },
        ("$facet", Bson::Document(facets)) => {
            let forms: BTreeSet<String> = facets
                .values()
                .map(|pipeline| option("pipeline", pipeline))
                .collect();
            format!("{{*: {}}}", forms.into_iter().collect::<Vec<_>>().join(" or "))
        }
        ("pipeline" | "whenMatched", value @ Bson::Array(_)) => option("pipeline", value),
        ("query" | "restrictSearchWithMatch", Bson::Document(filter)) => document(filter, Reading::Filter),
        (name, Bson::String(text)) if NAMED.contains(&name) => text.clone(),
        (name, Bson::Document(arguments)) if name.starts_with('$') && !starts_with_operator(arguments) => {
            document(arguments, Reading::Expression)
        }
        (_, value) => expression(value),
    }
}

fn starts_with_operator(document: &Document) -> bool {
    document.keys().next().is_some_and(|key| key.starts_with('$'))
}

/// The fields of an update operator.
fn change(name: &str, value: &Bson) -> String {
    let Bson::Document(fields) = value else {
        return kind(value).to_owned();
    };
    let forms: BTreeSet<String> = fields
        .iter()
        .map(|(field, value)| {
            let path = positional(field);
            let form = match (name, value) {
                ("$pull", Bson::Document(filter)) => document(filter, Reading::Filter),
                ("$push" | "$addToSet", Bson::Document(modifiers)) if starts_with_operator(modifiers) => {
                    let modifiers: BTreeSet<String> = modifiers
                        .iter()
                        .map(|(modifier, value)| match (modifier.as_str(), value) {
                            ("$sort", Bson::Document(keys)) => {
                                format!("$sort: {}", document(keys, Reading::Fields))
                            }
                            (modifier, value) => format!("{modifier}: {}", kind(value)),
                        })
                        .collect();
                    format!("{{{}}}", modifiers.into_iter().collect::<Vec<_>>().join(", "))
                }
                ("$bit" | "$currentDate", Bson::Document(options)) => document(options, Reading::Options),
                (_, value) => kind(value).to_owned(),
            };
            format!("{path}: {form}")
        })
        .collect();
    format!("{{{}}}", forms.into_iter().collect::<Vec<_>>().join(", "))
}

/// A path, of which the positional parts and `_id` are kept.
fn positional(path: &str) -> String {
    if path == "_id" {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = path
        .split('.')
        .map(|part| match part {
            "$" | "$[]" => part,
            part if part.starts_with("$[") => "$[id]",
            _ => "*",
        })
        .collect();
    parts.dedup();
    parts.join(".")
}

/// A value that the application determines.
fn kind(value: &Bson) -> &'static str {
    match value {
        Bson::Null => "null",
        Bson::Array(_) => "[?]",
        Bson::Document(_) => "{?}",
        Bson::RegularExpression(_) => "/?/",
        _ => "?",
    }
}

/// A value of an option or an expression: booleans, paths and system variables are kept.
fn scalar(value: &Bson) -> String {
    match value {
        Bson::Boolean(value) => value.to_string(),
        Bson::String(text) => match text.strip_prefix("$$") {
            Some(variable) => {
                let name = variable.split('.').next().unwrap_or_default();
                let is_of_system = name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
                let name = if is_of_system { name } else { "variable" };
                let path = if variable.contains('.') { ".*" } else { "" };
                format!("\"$${name}{path}\"")
            }
            None if text.starts_with('$') => "\"$*\"".to_owned(),
            None => "text".to_owned(),
        },
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => "number".to_owned(),
        value => kind(value).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    #[test]
    fn values_and_names_of_fields_are_left_out() {
        let command = doc! {
            "find": "people", "filter": { "name": "Ada", "age": { "$gt": 17 }, "city": { "$gt": "A" }, "$or": [{ "a": 1 }, { "b": 2 }] },
            "sort": { "name": 1, "age": -1 }, "limit": 5_i64, "lsid": { "id": 1 }, "$db": "d",
        };
        assert_eq!(
            of_command(&command),
            ["find, filter: {$or: [{*: ?}], *: ?, *: {$gt: ?}}, sort: {*: -1, *: 1}, limit: number"]
        );
    }

    #[test]
    fn handshakes_are_left_out() {
        assert!(of_command(&doc! { "hello": 1, "client": { "os": {} } }).is_empty());
    }

    #[test]
    fn statements_and_stages_have_forms_of_their_own() {
        let update = doc! { "update": "c", "updates": [
            { "q": { "_id": 1 }, "u": { "$set": { "lines.$[line].n": 1, "a": 2 } }, "upsert": true, "arrayFilters": [{ "line.sku": "x" }] },
        ] };
        assert_eq!(
            of_command(&update),
            [
                "update · updates: {arrayFilters: [{*: ?}], q: {_id: ?}, u: {$set: {*.$[id].*: ?, *: ?}}, upsert: true}",
                "update, updates: […]"
            ]
        );
        let aggregate = doc! { "aggregate": "c", "pipeline": [
            { "$match": { "a": { "$literal": 1 } } },
            { "$lookup": { "from": "d", "let": { "x": "$$ROOT" }, "pipeline": [{ "$match": { "$expr": { "$eq": ["$a", "$$x.b"] } } }], "as": "e" } },
        ], "cursor": {} };
        assert_eq!(
            of_command(&aggregate),
            [
                "aggregate · pipeline: {$match: {*: {$literal: ?}}}",
                "aggregate · pipeline: {$lookup: {as: text, from: text, let: {*: \"$$ROOT\"}, pipeline: [{$match: {$expr: \
                 {$eq: [\"$$variable.*\", \"$*\"]}}}]}}",
                "aggregate, pipeline: […], cursor: {}"
            ]
        );
    }
}
