//! Validation of test files: a small schema language, and the validation of a document.
//!
//! Validation continues after a violation, so that all violations of a file are reported with their
//! paths and rules.

mod table;

use std::fmt;

use marula_driver::bson::{Bson, Document};

/// The schema of a value.
#[derive(Clone, Copy)]
pub(super) enum Schema {
    /// Any value.
    Any,
    /// A string.
    Str,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A version of two or three numbers separated by dots.
    Version,
    Bool,
    /// The boolean `true`.
    True,
    /// An integer.
    Int,
    /// A document with a minimum number of keys.
    Document(usize),
    /// A document without this key.
    DocumentWithout(&'static str),
    /// A document whose values all have this schema.
    Map(&'static Schema),
    /// A document with this schema.
    Object(&'static Object),
    /// An array with a minimum number of elements, which all have this schema.
    Array(usize, &'static Schema),
    /// A boolean, or a document with this schema.
    BoolOr(&'static Object),
    /// A string, or `{$$placeholder: …}`.
    Placeholder,
    /// `kmsProviders`: keys that begin with the name of a provider.
    KmsProviders(&'static [(&'static str, &'static [&'static str], bool)]),
    /// `events`, whose elements depend on `eventType`.
    Events,
}

/// The schema of a document.
pub(super) struct Object {
    /// The name of the definition.
    pub(super) name: &'static str,
    /// The allowed keys.
    pub(super) keys: &'static [(&'static str, Schema)],
    /// The required keys.
    pub(super) required: &'static [&'static str],
    /// The minimum number of keys.
    pub(super) min: usize,
    /// The maximum number of keys.
    pub(super) max: usize,
    /// Pairs of mutually exclusive keys.
    pub(super) conflicts: &'static [(&'static str, &'static str)],
}

/// A path component.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Element(usize),
}

/// The path of a value in a file.
#[derive(Clone, Debug, Default)]
struct ValuePath(Vec<Step>);

impl ValuePath {
    fn key(&self, key: &str) -> Self {
        self.step(Step::Key(key.to_owned()))
    }

    fn element(&self, index: usize) -> Self {
        self.step(Step::Element(index))
    }

    fn step(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

impl fmt::Display for ValuePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for step in &self.0 {
            match step {
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Element(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// The violated rule, by its name in JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Type,
    Enum,
    Const,
    Pattern,
    Required,
    AdditionalProperties,
    MinItems,
    MinProperties,
    MaxProperties,
    Conflict,
    Forbidden,
}

impl Rule {
    fn name(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Enum => "enum",
            Self::Const => "const",
            Self::Pattern => "pattern",
            Self::Required => "required",
            Self::AdditionalProperties => "additionalProperties",
            Self::MinItems => "minItems",
            Self::MinProperties => "minProperties",
            Self::MaxProperties => "maxProperties",
            Self::Conflict => "conflict",
            Self::Forbidden => "forbidden",
        }
    }
}

/// A schema violation.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    /// For a missing key: the path of the key. For an unknown key: the path of the document.
    path: ValuePath,
    rule: Rule,
    message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.path, self.message, self.rule.name())
    }
}

/// Returns all schema violations of a file.
pub(crate) fn violations(file: &Document) -> Vec<Violation> {
    let mut check = Check { found: Vec::new() };
    check.object(file, &table::FILE, &ValuePath::default());
    check.found
}

struct Check {
    found: Vec<Violation>,
}

impl Check {
    fn report(&mut self, path: &ValuePath, rule: Rule, message: impl Into<String>) {
        self.found.push(Violation {
            path: path.clone(),
            rule,
            message: message.into(),
        });
    }

    fn wrong_type(&mut self, path: &ValuePath, wanted: &str, value: &Bson) {
        let message = format!("expected {wanted}, found {}", super::matcher::type_name(value));
        self.report(path, Rule::Type, message);
    }

    fn object(&mut self, document: &Document, object: &'static Object, path: &ValuePath) {
        for key in object.required {
            if !document.contains_key(*key) {
                let missing = path.key(key);
                self.report(&missing, Rule::Required, "this key is required");
            }
        }
        if document.len() < object.min {
            let message = format!("at min {} key(s) are required", object.min);
            self.report(path, Rule::MinProperties, message);
        }
        if document.len() > object.max {
            let message = format!("at max {} key(s) are allowed", object.max);
            self.report(path, Rule::MaxProperties, message);
        }
        for (key, value) in document {
            match object.keys.iter().find(|(name, _)| name == key) {
                None => {
                    let message = format!("unknown key \"{key}\" in {}", object.name);
                    self.report(path, Rule::AdditionalProperties, message);
                }
                Some((_, Schema::Events)) => {
                    self.events(value, document, &path.key(key));
                }
                Some((_, schema)) => self.value(value, schema, &path.key(key)),
            }
        }
        for (key, other) in object.conflicts {
            if document.contains_key(*key) && document.contains_key(*other) {
                let message = format!("\"{key}\" and \"{other}\" are mutually exclusive");
                self.report(&path.key(key), Rule::Conflict, message);
            }
        }
    }

    fn value(&mut self, value: &Bson, schema: &'static Schema, path: &ValuePath) {
        match (schema, value) {
            (Schema::Any, _)
            | (Schema::Str | Schema::Placeholder, Bson::String(_))
            | (Schema::Bool | Schema::BoolOr(_) | Schema::True, Bson::Boolean(true))
            | (Schema::Bool | Schema::BoolOr(_), Bson::Boolean(false))
            | (Schema::Int, Bson::Int32(_) | Bson::Int64(_)) => {}
            (Schema::OneOf(names), Bson::String(text)) => {
                if !names.contains(&text.as_str()) {
                    let message = format!("\"{text}\" is not one of {}", names.join(", "));
                    self.report(path, Rule::Enum, message);
                }
            }
            (Schema::Version, Bson::String(text)) => {
                if !is_version(text) {
                    self.report(path, Rule::Pattern, format!("\"{text}\" is not a version"));
                }
            }
            (Schema::True, Bson::Boolean(false)) => {
                self.report(path, Rule::Const, "only true is allowed");
            }
            (Schema::Document(min), Bson::Document(document)) => {
                if document.len() < *min {
                    let message = format!("at min {min} key(s) are required");
                    self.report(path, Rule::MinProperties, message);
                }
            }
            (Schema::DocumentWithout(key), Bson::Document(document)) => {
                if document.contains_key(*key) {
                    let message = "this key is not allowed here";
                    self.report(&path.key(key), Rule::Forbidden, message);
                }
            }
            (Schema::Map(inner), Bson::Document(document)) => {
                for (key, value) in document {
                    self.value(value, inner, &path.key(key));
                }
            }
            (Schema::Object(object) | Schema::BoolOr(object), Bson::Document(document)) => {
                self.object(document, object, path);
            }
            (Schema::Array(min, inner), Bson::Array(elements)) => {
                self.array(elements, *min, inner, path);
            }
            (Schema::Placeholder, Bson::Document(document)) => {
                if document.len() != 1 || !document.contains_key("$$placeholder") {
                    self.wrong_type(path, "a string or {$$placeholder: 1}", value);
                }
            }
            (Schema::KmsProviders(providers), Bson::Document(document)) => {
                self.kms_providers(document, providers, path);
            }
            _ => self.wrong_type(path, wanted(schema), value),
        }
    }

    fn array(&mut self, elements: &[Bson], min: usize, schema: &'static Schema, path: &ValuePath) {
        if elements.len() < min {
            let message = format!("at min {min} element(s) are required");
            self.report(path, Rule::MinItems, message);
        }
        for (index, element) in elements.iter().enumerate() {
            self.value(element, schema, &path.element(index));
        }
    }

    /// Validates `aws` or `aws:name`. Azure and GCP have either their own keys or an access token.
    fn kms_providers(
        &mut self,
        document: &Document,
        providers: &'static [(&'static str, &'static [&'static str], bool)],
        path: &ValuePath,
    ) {
        for (key, value) in document {
            let (provider, name) = key
                .split_once(':')
                .map_or((key.as_str(), None), |(p, n)| (p, Some(n)));
            let named = name.is_none_or(|name| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            });
            let Some((provider, keys, token)) = providers.iter().find(|(p, ..)| *p == provider && named)
            else {
                let message = format!("\"{key}\" is not a KMS provider");
                self.report(path, Rule::AdditionalProperties, message);
                continue;
            };
            let path = path.key(provider);
            let Bson::Document(fields) = value else {
                self.wrong_type(&path, "a document", value);
                continue;
            };
            let by_token = *token && fields.contains_key("accessToken");
            for (field, value) in fields {
                let known = if by_token {
                    field == "accessToken"
                } else {
                    keys.contains(&field.as_str())
                };
                if known {
                    self.value(value, &Schema::Placeholder, &path.key(field));
                } else {
                    let message = format!("unknown key \"{field}\" for KMS provider \"{key}\"");
                    self.report(&path, Rule::AdditionalProperties, message);
                }
            }
        }
    }

    /// Validates that all events have the `eventType` of the list.
    fn events(&mut self, value: &Bson, list: &Document, path: &ValuePath) {
        let Bson::Array(events) = value else {
            self.wrong_type(path, "an array", value);
            return;
        };
        let schema = match list.get("eventType") {
            Some(Bson::String(name)) if name == "cmap" => &table::CMAP_EVENT,
            Some(Bson::String(name)) if name == "sdam" => &table::SDAM_EVENT,
            _ => &table::COMMAND_EVENT,
        };
        let own = |name: &str, schema: &Object| schema.keys.iter().any(|(key, _)| *key == name);
        for (index, event) in events.iter().enumerate() {
            let path = path.element(index);
            let Bson::Document(document) = event else {
                self.wrong_type(&path, "a document", event);
                continue;
            };
            for key in document.keys() {
                let is_other_type = [&table::COMMAND_EVENT, &table::CMAP_EVENT, &table::SDAM_EVENT]
                    .into_iter()
                    .any(|other| own(key, other));
                if is_other_type && !own(key, schema) {
                    let message = format!("\"{key}\" does not belong to the event type of the list");
                    self.report(&path, Rule::Conflict, message);
                }
            }
            self.object(document, schema, &path);
        }
    }
}

fn wanted(schema: &Schema) -> &'static str {
    match schema {
        Schema::Str | Schema::OneOf(_) | Schema::Version => "a string",
        Schema::Bool | Schema::True => "a boolean",
        Schema::Int => "an integer",
        Schema::Array(..) | Schema::Events => "an array",
        Schema::BoolOr(_) => "a boolean or a document",
        Schema::Placeholder => "a string or {$$placeholder: 1}",
        Schema::Any => "anything",
        Schema::Document(_)
        | Schema::DocumentWithout(_)
        | Schema::Map(_)
        | Schema::Object(_)
        | Schema::KmsProviders(_) => "a document",
    }
}

fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    (2..=3).contains(&parts.len())
        && parts
            .iter()
            .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use marula_driver::bson::doc;

    use super::*;

    fn messages(file: &Document) -> Vec<String> {
        violations(file).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_minimal_file_is_valid() {
        let file = doc! { "description": "d", "schemaVersion": "1.0", "tests": [
            { "description": "t", "operations": [{ "name": "find", "object": "c" }] },
        ] };
        assert_eq!(messages(&file), Vec::<String>::new());
    }

    #[test]
    fn all_violations_are_reported_with_their_paths() {
        let file = doc! { "description": 1, "schemaVersion": "1", "extra": true, "tests": [
            { "operations": [{ "name": "find", "object": "c", "expectError": { "isError": false }, "expectResult": 1 }] },
        ] };
        let messages = messages(&file).join("\n");
        for part in [
            "$.description: expected a string",
            "$.schemaVersion: \"1\" is not a version (pattern)",
            "unknown key \"extra\"",
            "$.tests[0].description: this key is required",
            "$.tests[0].operations[0].expectError.isError: only true is allowed (const)",
            "\"expectError\" and \"expectResult\" are mutually exclusive",
        ] {
            assert!(messages.contains(part), "{part} is not in\n{messages}");
        }
    }

    #[test]
    fn versions_have_two_or_three_numbers() {
        assert!(is_version("1.28") && is_version("4.2.10"));
        for text in ["1", "1.", "1.2.3.4", "1.x", ""] {
            assert!(!is_version(text), "{text}");
        }
    }
}
