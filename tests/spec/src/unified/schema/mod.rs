//! Validation of a test file: a small schema language, and the check of a document against it.
//!
//! The check goes on after a violation, so that a file's every fault is found; each fault names its place and the rule
//! it breaks.

mod table;

use std::fmt;

use marula_driver::bson::{Bson, Document};

/// What a value must be.
#[derive(Clone, Copy)]
pub(super) enum Schema {
    /// Anything.
    Any,
    /// A string.
    Str,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A version: two or three numbers with dots between them.
    Version,
    /// A boolean.
    Bool,
    /// `true`.
    True,
    /// A whole number.
    Int,
    /// A document of at least so many keys, whatever they are.
    Document(usize),
    /// A document that lacks this key.
    DocumentWithout(&'static str),
    /// A document whose values all fit.
    Map(&'static Schema),
    /// A document as described.
    Object(&'static Object),
    /// An array of at least so many elements that all fit.
    Array(usize, &'static Schema),
    /// A boolean, or a document as described.
    BoolOr(&'static Object),
    /// A string, or `{$$placeholder: …}`.
    Placeholder,
    /// `kmsProviders`: keys that begin with a provider's name.
    KmsProviders(&'static [(&'static str, &'static [&'static str], bool)]),
    /// `events`, whose elements depend on `eventType`.
    Events,
}

/// What a document must be.
pub(super) struct Object {
    /// The name of the definition.
    pub(super) name: &'static str,
    /// The keys that it may have.
    pub(super) keys: &'static [(&'static str, Schema)],
    /// The keys that it must have.
    pub(super) required: &'static [&'static str],
    /// How many keys it must have at least.
    pub(super) least: usize,
    /// How many keys it may have at most.
    pub(super) most: usize,
    /// Pairs of keys that exclude each other.
    pub(super) conflicts: &'static [(&'static str, &'static str)],
}

/// A step from a document to a value in it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Element(usize),
}

/// A place in a file: the steps to it.
#[derive(Clone, Debug, Default)]
struct Place(Vec<Step>);

impl Place {
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

impl fmt::Display for Place {
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

/// The rule that a violation breaks, by the name that JSON schemas give it.
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

/// A fault of a file.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    /// Where. For a missing key: where it should be. For an unknown key: the document that has it.
    place: Place,
    rule: Rule,
    message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.place, self.message, self.rule.name())
    }
}

/// All faults of a file.
pub(crate) fn violations(file: &Document) -> Vec<Violation> {
    let mut check = Check { found: Vec::new() };
    check.object(file, &table::FILE, &Place::default());
    check.found
}

struct Check {
    found: Vec<Violation>,
}

impl Check {
    fn report(&mut self, place: &Place, rule: Rule, message: impl Into<String>) {
        self.found.push(Violation {
            place: place.clone(),
            rule,
            message: message.into(),
        });
    }

    fn wrong_type(&mut self, place: &Place, wanted: &str, value: &Bson) {
        let message = format!("expected {wanted}, found {}", super::matcher::type_name(value));
        self.report(place, Rule::Type, message);
    }

    fn object(&mut self, document: &Document, object: &'static Object, place: &Place) {
        for key in object.required {
            if !document.contains_key(*key) {
                let missing = place.key(key);
                self.report(&missing, Rule::Required, "this key is required");
            }
        }
        if document.len() < object.least {
            let message = format!("at least {} key(s) are required", object.least);
            self.report(place, Rule::MinProperties, message);
        }
        if document.len() > object.most {
            let message = format!("at most {} key(s) are allowed", object.most);
            self.report(place, Rule::MaxProperties, message);
        }
        for (key, value) in document {
            match object.keys.iter().find(|(name, _)| name == key) {
                None => {
                    let message = format!("unknown key \"{key}\" in {}", object.name);
                    self.report(place, Rule::AdditionalProperties, message);
                }
                Some((_, Schema::Events)) => {
                    self.events(value, document, &place.key(key));
                }
                Some((_, schema)) => self.value(value, schema, &place.key(key)),
            }
        }
        for (key, other) in object.conflicts {
            if document.contains_key(*key) && document.contains_key(*other) {
                let message = format!("\"{key}\" and \"{other}\" exclude each other");
                self.report(&place.key(key), Rule::Conflict, message);
            }
        }
    }

    fn value(&mut self, value: &Bson, schema: &'static Schema, place: &Place) {
        match (schema, value) {
            (Schema::Any, _)
            | (Schema::Str | Schema::Placeholder, Bson::String(_))
            | (Schema::Bool | Schema::BoolOr(_) | Schema::True, Bson::Boolean(true))
            | (Schema::Bool | Schema::BoolOr(_), Bson::Boolean(false))
            | (Schema::Int, Bson::Int32(_) | Bson::Int64(_)) => {}
            (Schema::OneOf(names), Bson::String(text)) => {
                if !names.contains(&text.as_str()) {
                    let message = format!("\"{text}\" is none of {}", names.join(", "));
                    self.report(place, Rule::Enum, message);
                }
            }
            (Schema::Version, Bson::String(text)) => {
                if !is_version(text) {
                    self.report(place, Rule::Pattern, format!("\"{text}\" is no version"));
                }
            }
            (Schema::True, Bson::Boolean(false)) => {
                self.report(place, Rule::Const, "only true is allowed");
            }
            (Schema::Document(least), Bson::Document(document)) => {
                if document.len() < *least {
                    let message = format!("at least {least} key(s) are required");
                    self.report(place, Rule::MinProperties, message);
                }
            }
            (Schema::DocumentWithout(key), Bson::Document(document)) => {
                if document.contains_key(*key) {
                    let message = "this key is not allowed here";
                    self.report(&place.key(key), Rule::Forbidden, message);
                }
            }
            (Schema::Map(inner), Bson::Document(document)) => {
                for (key, value) in document {
                    self.value(value, inner, &place.key(key));
                }
            }
            (Schema::Object(object) | Schema::BoolOr(object), Bson::Document(document)) => {
                self.object(document, object, place);
            }
            (Schema::Array(least, inner), Bson::Array(elements)) => {
                self.array(elements, *least, inner, place);
            }
            (Schema::Placeholder, Bson::Document(document)) => {
                if document.len() != 1 || !document.contains_key("$$placeholder") {
                    self.wrong_type(place, "a string or {$$placeholder: 1}", value);
                }
            }
            (Schema::KmsProviders(providers), Bson::Document(document)) => {
                self.kms_providers(document, providers, place);
            }
            _ => self.wrong_type(place, wanted(schema), value),
        }
    }

    fn array(&mut self, elements: &[Bson], least: usize, schema: &'static Schema, place: &Place) {
        if elements.len() < least {
            let message = format!("at least {least} element(s) are required");
            self.report(place, Rule::MinItems, message);
        }
        for (index, element) in elements.iter().enumerate() {
            self.value(element, schema, &place.element(index));
        }
    }

    /// `aws`, or `aws:name`; Azure and GCP take either their own keys or an access token.
    fn kms_providers(
        &mut self,
        document: &Document,
        providers: &'static [(&'static str, &'static [&'static str], bool)],
        place: &Place,
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
                let message = format!("\"{key}\" is no KMS provider");
                self.report(place, Rule::AdditionalProperties, message);
                continue;
            };
            let place = place.key(provider);
            let Bson::Document(fields) = value else {
                self.wrong_type(&place, "a document", value);
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
                    self.value(value, &Schema::Placeholder, &place.key(field));
                } else {
                    let message = format!("unknown key \"{field}\" for KMS provider \"{key}\"");
                    self.report(&place, Rule::AdditionalProperties, message);
                }
            }
        }
    }

    /// The events of a list must all be of its type.
    fn events(&mut self, value: &Bson, list: &Document, place: &Place) {
        let Bson::Array(events) = value else {
            self.wrong_type(place, "an array", value);
            return;
        };
        let schema = match list.get("eventType") {
            Some(Bson::String(name)) if name == "cmap" => &table::CMAP_EVENT,
            Some(Bson::String(name)) if name == "sdam" => &table::SDAM_EVENT,
            _ => &table::COMMAND_EVENT,
        };
        let own = |name: &str, schema: &Object| schema.keys.iter().any(|(key, _)| *key == name);
        for (index, event) in events.iter().enumerate() {
            let place = place.element(index);
            let Bson::Document(document) = event else {
                self.wrong_type(&place, "a document", event);
                continue;
            };
            for key in document.keys() {
                let foreign = [&table::COMMAND_EVENT, &table::CMAP_EVENT, &table::SDAM_EVENT]
                    .into_iter()
                    .any(|other| own(key, other));
                if foreign && !own(key, schema) {
                    let message = format!("\"{key}\" does not belong to the event type of the list");
                    self.report(&place, Rule::Conflict, message);
                }
            }
            self.object(document, schema, &place);
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

    fn faults(file: &Document) -> Vec<String> {
        violations(file).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_plain_file_has_no_fault() {
        let file = doc! { "description": "d", "schemaVersion": "1.0", "tests": [
            { "description": "t", "operations": [{ "name": "find", "object": "c" }] },
        ] };
        assert_eq!(faults(&file), Vec::<String>::new());
    }

    #[test]
    fn every_fault_is_named_with_its_place() {
        let file = doc! { "description": 1, "schemaVersion": "1", "extra": true, "tests": [
            { "operations": [{ "name": "find", "object": "c", "expectError": { "isError": false }, "expectResult": 1 }] },
        ] };
        let faults = faults(&file).join("\n");
        for part in [
            "$.description: expected a string",
            "$.schemaVersion: \"1\" is no version (pattern)",
            "unknown key \"extra\"",
            "$.tests[0].description: this key is required",
            "$.tests[0].operations[0].expectError.isError: only true is allowed (const)",
            "\"expectError\" and \"expectResult\" exclude each other",
        ] {
            assert!(faults.contains(part), "{part} is not in\n{faults}");
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
