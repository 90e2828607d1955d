//! Typed access to command fields, with MongoDB's errors for missing fields and wrong types.

use crate::error::{Error, Result, code};
use crate::value::number::Number;
use crate::value::type_name;
use bson::{Bson, Document};

/// The fields of a command or of one of its statements.
#[derive(Clone, Copy)]
pub(crate) struct Args<'a> {
    name: &'a str,
    fields: &'a Document,
}

impl<'a> Args<'a> {
    pub(crate) fn new(name: &'a str, fields: &'a Document) -> Self {
        Args { name, fields }
    }

    /// A value of any type; null counts as absent, as for optional fields of MongoDB's commands.
    pub(crate) fn get(&self, field: &str) -> Option<&'a Bson> {
        self.fields
            .get(field)
            .filter(|value| !matches!(value, Bson::Null | Bson::Undefined))
    }

    fn wrong_type(&self, field: &str, value: &Bson, expected: &str) -> Error {
        Error::type_mismatch(format!(
            "BSON field '{}.{field}' is the wrong type '{}', expected type{expected}",
            self.name,
            type_name(value)
        ))
    }

    fn missing(&self, field: &str) -> Error {
        Error::new(
            code::MISSING_FIELD,
            format!(
                "BSON field '{}.{field}' is missing but a required field",
                self.name
            ),
        )
    }

    pub(crate) fn document(&self, field: &str) -> Result<Option<&'a Document>> {
        match self.get(field) {
            None => Ok(None),
            Some(Bson::Document(document)) => Ok(Some(document)),
            Some(other) => Err(self.wrong_type(field, other, " 'object'")),
        }
    }

    pub(crate) fn required_document(&self, field: &str) -> Result<&'a Document> {
        self.document(field)?.ok_or_else(|| self.missing(field))
    }

    pub(crate) fn array(&self, field: &str) -> Result<Option<&'a Vec<Bson>>> {
        match self.get(field) {
            None => Ok(None),
            Some(Bson::Array(items)) => Ok(Some(items)),
            Some(other) => Err(self.wrong_type(field, other, " 'array'")),
        }
    }

    pub(crate) fn required_array(&self, field: &str) -> Result<&'a Vec<Bson>> {
        self.array(field)?.ok_or_else(|| self.missing(field))
    }

    /// An array whose elements are documents.
    pub(crate) fn documents(&self, field: &str) -> Result<Option<Vec<&'a Document>>> {
        let Some(items) = self.array(field)? else {
            return Ok(None);
        };
        let document = |(index, item): (usize, &'a Bson)| match item {
            Bson::Document(document) => Ok(document),
            other => Err(self.wrong_type(&format!("{field}.{index}"), other, " 'object'")),
        };
        items
            .iter()
            .enumerate()
            .map(document)
            .collect::<Result<_>>()
            .map(Some)
    }

    pub(crate) fn string(&self, field: &str) -> Result<Option<&'a str>> {
        match self.get(field) {
            None => Ok(None),
            Some(Bson::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong_type(field, other, " 'string'")),
        }
    }

    pub(crate) fn required_string(&self, field: &str) -> Result<&'a str> {
        self.string(field)?.ok_or_else(|| self.missing(field))
    }

    /// A boolean; numbers are converted, as MongoDB does.
    pub(crate) fn flag(&self, field: &str, default: bool) -> Result<bool> {
        match self.get(field) {
            None => Ok(default),
            Some(Bson::Boolean(value)) => Ok(*value),
            Some(value) if crate::value::is_number(value) => Ok(crate::value::truthy(value)),
            Some(other) => Err(self.wrong_type(field, other, "s '[bool, long, int, decimal, double]'")),
        }
    }

    /// An integer; doubles and decimals are truncated.
    pub(crate) fn integer(&self, field: &str) -> Result<Option<i64>> {
        match self.get(field) {
            None => Ok(None),
            Some(value) => match Number::from_bson(value) {
                Some(number) => Ok(Some(number.to_saturated_i64())),
                None => Err(self.wrong_type(field, value, "s '[long, int, decimal, double]'")),
            },
        }
    }

    pub(crate) fn required_integer(&self, field: &str) -> Result<i64> {
        self.integer(field)?.ok_or_else(|| self.missing(field))
    }

    /// A non-negative integer.
    pub(crate) fn count(&self, field: &str) -> Result<Option<usize>> {
        match self.integer(field)? {
            None => Ok(None),
            Some(value) => usize::try_from(value).map(Some).map_err(|_| {
                Error::new(
                    51024,
                    format!("BSON field '{field}' value must be >= 0, actual value '{value}'"),
                )
            }),
        }
    }

    /// Fails with 40415 on a field that is not in the list.
    pub(crate) fn only(&self, known: &[&str]) -> Result<()> {
        match self.fields.keys().find(|field| !known.contains(&field.as_str())) {
            None => Ok(()),
            Some(field) => Err(Error::new(
                code::UNKNOWN_FIELD,
                format!("BSON field '{}.{field}' is an unknown field.", self.name),
            )),
        }
    }
}
