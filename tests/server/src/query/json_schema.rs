//! `$jsonSchema`: the keywords of JSON Schema draft 4 that MongoDB supports. Keywords that this
//! server does not implement are rejected.

use super::filter::TypeTest;
use super::parse::type_tests;
use super::regex::Regex;
use crate::error::{Error, Result};
use crate::value::compare::{compare, equal};
use crate::value::number::Number;
use crate::value::{is_number, type_name};
use bson::spec::BinarySubtype;
use bson::{Bson, Document};

/// A parsed schema. All rules must hold.
#[derive(Debug, Clone)]
pub(crate) struct Schema(Vec<Rule>);

#[derive(Debug, Clone)]
enum Rule {
    Types(Vec<TypeTest>),
    Enum(Vec<Bson>),
    Required(Vec<String>),
    /// Properties by name, by pattern, and the rule for all others.
    Properties(Vec<(String, Schema)>, Vec<(Regex, Schema)>, AdditionalProperties),
    PropertyCount(usize, usize),
    /// The bound, whether it is the maximum, and whether it is exclusive.
    Bound(Bson, bool, bool),
    MultipleOf(f64),
    Length(usize, usize),
    Pattern(Regex),
    Items(Box<Schema>),
    Tuple(Vec<Schema>),
    ItemCount(usize, usize),
    UniqueItems,
    AllOf(Vec<Schema>),
    AnyOf(Vec<Schema>),
    OneOf(Vec<Schema>),
    Not(Box<Schema>),
    /// `encrypt`: the client has encrypted the value.
    Encrypted,
}

#[derive(Debug, Clone)]
enum AdditionalProperties {
    Allowed,
    Refused,
    Schema(Box<Schema>),
}

fn malformed(keyword: &str, wanted: &str) -> Error {
    Error::type_mismatch(format!("$jsonSchema keyword '{keyword}' must be {wanted}"))
}

fn count(keyword: &str, value: &Bson) -> Result<usize> {
    Number::from_bson(value)
        .and_then(Number::to_exact_i64)
        .and_then(|number| usize::try_from(number).ok())
        .ok_or_else(|| {
            Error::failed_to_parse(format!(
                "$jsonSchema keyword '{keyword}' must be a non-negative integer"
            ))
        })
}

impl Schema {
    pub(crate) fn parse(schema: &Document) -> Result<Schema> {
        if schema.contains_key("type") && schema.contains_key("bsonType") {
            return Err(Error::failed_to_parse(
                "Cannot specify both $jsonSchema keywords 'bsonType' and 'type'",
            ));
        }
        let mut rules = Vec::new();
        for (keyword, value) in schema {
            rules.extend(Self::rule(keyword, value, schema)?);
        }
        if ["properties", "patternProperties", "additionalProperties"]
            .iter()
            .any(|name| schema.contains_key(name))
        {
            rules.push(properties(schema)?);
        }
        Ok(Schema(rules))
    }

    fn rule(keyword: &str, value: &Bson, schema: &Document) -> Result<Option<Rule>> {
        let flag = |name: &str| match schema.get(name) {
            None => Ok(false),
            Some(Bson::Boolean(on)) => Ok(*on),
            Some(_) => Err(malformed(name, "a boolean")),
        };
        Ok(Some(match keyword {
            "title" | "description" => match value {
                Bson::String(_) => return Ok(None),
                _ => return Err(malformed(keyword, "a string")),
            },
            "properties"
            | "patternProperties"
            | "additionalProperties"
            | "exclusiveMinimum"
            | "exclusiveMaximum" => {
                return Ok(None);
            }
            "bsonType" => Rule::Types(type_tests(value)?),
            "type" => Rule::Types(json_types(value)?),
            "enum" => match value {
                Bson::Array(items) if !items.is_empty() => Rule::Enum(items.clone()),
                _ => return Err(malformed(keyword, "a non-empty array")),
            },
            "required" => Rule::Required(names(keyword, value)?),
            "minimum" | "maximum" => {
                if !is_number(value) {
                    return Err(malformed(keyword, "a number"));
                }
                let upper = keyword == "maximum";
                Rule::Bound(
                    value.clone(),
                    upper,
                    flag(if upper {
                        "exclusiveMaximum"
                    } else {
                        "exclusiveMinimum"
                    })?,
                )
            }
            "multipleOf" => match Number::from_bson(value) {
                Some(Number::Decimal(_)) => {
                    return Err(Error::not_served("multipleOf a decimal in $jsonSchema"));
                }
                Some(number) if number.to_f64() > 0.0 => Rule::MultipleOf(number.to_f64()),
                _ => return Err(malformed(keyword, "a positive number")),
            },
            "minLength" => Rule::Length(count(keyword, value)?, usize::MAX),
            "maxLength" => Rule::Length(0, count(keyword, value)?),
            "minItems" => Rule::ItemCount(count(keyword, value)?, usize::MAX),
            "maxItems" => Rule::ItemCount(0, count(keyword, value)?),
            "minProperties" => Rule::PropertyCount(count(keyword, value)?, usize::MAX),
            "maxProperties" => Rule::PropertyCount(0, count(keyword, value)?),
            "pattern" => match value {
                Bson::String(pattern) => Rule::Pattern(Regex::new(pattern, "")?),
                _ => return Err(malformed(keyword, "a string")),
            },
            "uniqueItems" => {
                if flag(keyword)? {
                    Rule::UniqueItems
                } else {
                    return Ok(None);
                }
            }
            "items" => match value {
                Bson::Document(schema) => Rule::Items(Box::new(Schema::parse(schema)?)),
                Bson::Array(_) => Rule::Tuple(schemas(keyword, value)?),
                _ => return Err(malformed(keyword, "an object or an array")),
            },
            "allOf" => Rule::AllOf(schemas(keyword, value)?),
            "anyOf" => Rule::AnyOf(schemas(keyword, value)?),
            "oneOf" => Rule::OneOf(schemas(keyword, value)?),
            "not" => match value {
                Bson::Document(schema) => Rule::Not(Box::new(Schema::parse(schema)?)),
                _ => return Err(malformed(keyword, "an object")),
            },
            "encrypt" => match value {
                Bson::Document(_) => Rule::Encrypted,
                _ => return Err(malformed(keyword, "an object")),
            },
            "encryptMetadata" => match value {
                Bson::Document(_) => return Ok(None),
                _ => return Err(malformed(keyword, "an object")),
            },
            "additionalItems" | "dependencies" => {
                return Err(Error::not_served(format!("$jsonSchema keyword '{keyword}'")));
            }
            "$ref" | "$schema" | "default" | "definitions" | "format" | "id" => {
                return Err(Error::failed_to_parse(format!(
                    "$jsonSchema keyword '{keyword}' is not currently supported"
                )));
            }
            other => {
                return Err(Error::failed_to_parse(format!(
                    "Unknown $jsonSchema keyword: {other}"
                )));
            }
        }))
    }

    /// Returns whether a document is valid.
    pub(crate) fn matches_document(&self, document: &Document) -> Result<bool> {
        self.matches(&Bson::Document(document.clone()))
    }

    fn matches(&self, value: &Bson) -> Result<bool> {
        for rule in &self.0 {
            if !rule.is_satisfied_by(value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn names(keyword: &str, value: &Bson) -> Result<Vec<String>> {
    let Bson::Array(items) = value else {
        return Err(malformed(keyword, "an array of strings"));
    };
    if items.is_empty() {
        return Err(Error::failed_to_parse(format!(
            "$jsonSchema keyword '{keyword}' cannot be an empty array"
        )));
    }
    let name = |item: &Bson| {
        item.as_str()
            .map(str::to_owned)
            .ok_or_else(|| malformed(keyword, "an array of strings"))
    };
    items.iter().map(name).collect()
}

fn schemas(keyword: &str, value: &Bson) -> Result<Vec<Schema>> {
    let Bson::Array(items) = value else {
        return Err(malformed(keyword, "an array of objects"));
    };
    items
        .iter()
        .map(|item| match item {
            Bson::Document(schema) => Schema::parse(schema),
            _ => Err(malformed(keyword, "an array of objects")),
        })
        .collect()
}

/// Parses JSON type names. MongoDB does not support `integer`.
fn json_types(value: &Bson) -> Result<Vec<TypeTest>> {
    let one = |value: &Bson| match value.as_str() {
        Some("number") => Ok(TypeTest::Number),
        Some("boolean") => Ok(TypeTest::Named("bool")),
        Some("string") => Ok(TypeTest::Named("string")),
        Some("object") => Ok(TypeTest::Named("object")),
        Some("array") => Ok(TypeTest::Named("array")),
        Some("null") => Ok(TypeTest::Named("null")),
        Some("integer") => Err(Error::failed_to_parse(
            "$jsonSchema type 'integer' is not currently supported.",
        )),
        Some(other) => Err(Error::bad_value(format!("Unknown type name alias: {other}"))),
        None => Err(malformed("type", "a string or an array of strings")),
    };
    match value {
        Bson::Array(items) => items.iter().map(one).collect(),
        value => one(value).map(|test| vec![test]),
    }
}

fn properties(schema: &Document) -> Result<Rule> {
    let inner = |name: &str| match schema.get(name) {
        None => Ok(Vec::new()),
        Some(Bson::Document(fields)) => fields
            .iter()
            .map(|(field, schema)| match schema {
                Bson::Document(schema) => Ok((field.clone(), Schema::parse(schema)?)),
                _ => Err(malformed(name, "an object of objects")),
            })
            .collect::<Result<Vec<_>>>(),
        Some(_) => Err(malformed(name, "an object")),
    };
    let patterns = inner("patternProperties")?
        .into_iter()
        .map(|(pattern, schema)| Regex::new(&pattern, "").map(|regex| (regex, schema)))
        .collect::<Result<Vec<_>>>()?;
    let others = match schema.get("additionalProperties") {
        None | Some(Bson::Boolean(true)) => AdditionalProperties::Allowed,
        Some(Bson::Boolean(false)) => AdditionalProperties::Refused,
        Some(Bson::Document(schema)) => AdditionalProperties::Schema(Box::new(Schema::parse(schema)?)),
        Some(_) => return Err(malformed("additionalProperties", "an object or a boolean")),
    };
    Ok(Rule::Properties(inner("properties")?, patterns, others))
}

impl Rule {
    /// Returns whether a value satisfies the rule. Values of types that the rule does not apply to
    /// satisfy it.
    fn is_satisfied_by(&self, value: &Bson) -> Result<bool> {
        let all = |schemas: &[Schema]| {
            schemas
                .iter()
                .map(|schema| schema.matches(value))
                .collect::<Result<Vec<_>>>()
        };
        Ok(match (self, value) {
            (Rule::Types(types), value) => types.iter().any(|test| match test {
                TypeTest::Number => is_number(value),
                TypeTest::Named(name) => type_name(value) == *name,
            }),
            (Rule::Enum(items), value) => items.iter().any(|item| equal(item, value, None)),
            (Rule::Required(names), Bson::Document(document)) => {
                names.iter().all(|name| document.contains_key(name))
            }
            (Rule::PropertyCount(least, most), Bson::Document(document)) => {
                (*least..=*most).contains(&document.len())
            }
            (Rule::Properties(named, patterns, others), Bson::Document(document)) => {
                for (name, value) in document {
                    if !is_valid_property(name, value, named, patterns, others)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Rule::Bound(bound, upper, excluded), value) if is_number(value) => {
                let order = compare(value, bound, None);
                let order = if *upper { order } else { order.reverse() };
                order.is_lt() || (order.is_eq() && !excluded)
            }
            (Rule::MultipleOf(_), Bson::Decimal128(_)) => {
                return Err(Error::not_served("multipleOf of a decimal in $jsonSchema"));
            }
            (Rule::MultipleOf(step), value) if is_number(value) => {
                Number::from_bson(value).is_some_and(|number| number.to_f64() % step == 0.0)
            }
            (Rule::Length(least, most), Bson::String(text)) => {
                (*least..=*most).contains(&text.chars().count())
            }
            (Rule::Pattern(regex), Bson::String(text)) => regex.is_match(text)?,
            (Rule::ItemCount(least, most), Bson::Array(items)) => (*least..=*most).contains(&items.len()),
            (Rule::UniqueItems, Bson::Array(items)) => {
                let mut sorted: Vec<Bson> = items.iter().map(with_sorted_fields).collect();
                sorted.sort_by(|a, b| compare(a, b, None));
                sorted.windows(2).all(|pair| !equal(&pair[0], &pair[1], None))
            }
            (Rule::Items(schema), Bson::Array(items)) => {
                for item in items {
                    if !schema.matches(item)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Rule::Tuple(schemas), Bson::Array(items)) => {
                for (schema, item) in schemas.iter().zip(items) {
                    if !schema.matches(item)? {
                        return Ok(false);
                    }
                }
                true
            }
            (Rule::AllOf(schemas), _) => all(schemas)?.into_iter().all(|valid| valid),
            (Rule::AnyOf(schemas), _) => all(schemas)?.into_iter().any(|valid| valid),
            (Rule::OneOf(schemas), _) => all(schemas)?.into_iter().filter(|valid| *valid).count() == 1,
            (Rule::Encrypted, value) => {
                matches!(value, Bson::Binary(binary) if binary.subtype == BinarySubtype::Encrypted)
            }
            (Rule::Not(schema), _) => !schema.matches(value)?,
            _ => true,
        })
    }
}

/// Sorts the fields of all documents by name: `uniqueItems` ignores field order.
fn with_sorted_fields(value: &Bson) -> Bson {
    match value {
        Bson::Document(document) => {
            let mut fields: Vec<(String, Bson)> = document
                .iter()
                .map(|(name, value)| (name.clone(), with_sorted_fields(value)))
                .collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Bson::Document(fields.into_iter().collect())
        }
        Bson::Array(items) => Bson::Array(items.iter().map(with_sorted_fields).collect()),
        other => other.clone(),
    }
}

fn is_valid_property(
    name: &str,
    value: &Bson,
    named: &[(String, Schema)],
    patterns: &[(Regex, Schema)],
    others: &AdditionalProperties,
) -> Result<bool> {
    let mut known = false;
    if let Some((_, schema)) = named.iter().find(|(other, _)| other == name) {
        known = true;
        if !schema.matches(value)? {
            return Ok(false);
        }
    }
    for (regex, schema) in patterns {
        if regex.is_match(name)? {
            known = true;
            if !schema.matches(value)? {
                return Ok(false);
            }
        }
    }
    match others {
        _ if known => Ok(true),
        AdditionalProperties::Allowed => Ok(true),
        AdditionalProperties::Refused => Ok(false),
        AdditionalProperties::Schema(schema) => schema.matches(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    #[expect(
        clippy::needless_pass_by_value,
        reason = "documents are written where they are passed"
    )]
    fn valid(schema: Document, document: Document) -> bool {
        Schema::parse(&schema)
            .unwrap()
            .matches_document(&document)
            .unwrap()
    }

    #[test]
    fn types_and_required_fields() {
        let schema = doc! {"bsonType": "object", "required": ["a"], "properties": {"a": {"bsonType": ["int", "long"]}}};
        assert!(valid(schema.clone(), doc! {"a": 1}));
        assert!(!valid(schema.clone(), doc! {"a": "x"}));
        assert!(!valid(schema, doc! {}));
    }

    #[test]
    fn additional_properties() {
        let schema = doc! {"properties": {"_id": {}, "a": {}}, "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": false};
        assert!(valid(schema.clone(), doc! {"a": 1, "x1": "s"}));
        assert!(!valid(schema.clone(), doc! {"x1": 1}));
        assert!(!valid(schema, doc! {"b": 1}));
    }

    #[test]
    fn numbers_strings_arrays() {
        let schema = doc! {"properties": {
            "n": {"minimum": 1, "maximum": 3, "exclusiveMaximum": true}, "s": {"minLength": 2, "pattern": "^a"},
            "l": {"items": {"bsonType": "int"}, "uniqueItems": true, "maxItems": 2}, "e": {"enum": ["x", null]},
        }};
        assert!(valid(
            schema.clone(),
            doc! {"n": 2.5, "s": "ab", "l": [1, 2], "e": null}
        ));
        for bad in [
            doc! {"n": 3},
            doc! {"n": 0},
            doc! {"s": "a"},
            doc! {"l": [1, 1]},
            doc! {"l": ["x"]},
            doc! {"e": "y"},
        ] {
            assert!(!valid(schema.clone(), bad.clone()), "{bad}");
        }
    }

    #[test]
    fn logic_and_errors() {
        assert!(valid(
            doc! {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            doc! {"a": 1}
        ));
        assert!(!valid(
            doc! {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
            doc! {"a": 1, "b": 1}
        ));
        assert!(!valid(doc! {"not": {"required": ["a"]}}, doc! {"a": 1}));
        assert_eq!(Schema::parse(&doc! {"foo": 1}).unwrap_err().code, 9);
        assert_eq!(Schema::parse(&doc! {"type": "integer"}).unwrap_err().code, 9);
        let both = doc! {"type": "number", "bsonType": "int"};
        assert_eq!(Schema::parse(&both).unwrap_err().code, 9);
    }

    #[test]
    fn unique_items_ignores_field_order() {
        let schema = doc! {"properties": {"l": {"uniqueItems": true}}};
        let same = doc! {"l": [{"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"d": 2, "c": 1}, "a": 1}]};
        assert!(!valid(schema.clone(), same));
        assert!(valid(schema, doc! {"l": [{"a": 1}, {"a": 2}]}));
    }
}
