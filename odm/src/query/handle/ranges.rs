//! The ranges of encrypted fields. libmongocrypt encrypts no value outside of the range, and its error names no field.

use std::cmp::Ordering;

use crate::{
    ast::{filter::Node, update::Operators},
    base::{
        bson::{Bson, Document, RawDocument},
        error::{Error, Result, ValueError},
    },
    document::decode::lookup,
    term::encryption::fields::compare,
};

/// The declared range of a field.
pub(in crate::query) struct Range {
    /// The stored path.
    path: String,
    min: Option<Bson>,
    max: Option<Bson>,
}

impl Range {
    /// The declared ranges of `encryptedFields`.
    pub(in crate::query) fn all(encrypted_fields: &Document) -> Vec<Self> {
        let fields = encrypted_fields.get_array("fields").into_iter().flatten();
        let ranges = fields.filter_map(Bson::as_document).filter_map(|field| {
            let query = field.get_document("queries").ok()?;
            let (min, max) = (query.get("min").cloned(), query.get("max").cloned());
            let is_range = query.get_str("queryType").is_ok_and(|name| name == "range");
            let is_bounded = min.is_some() || max.is_some();
            (is_range && is_bounded).then(|| Range {
                path: field.get_str("path").unwrap_or_default().to_owned(),
                min,
                max,
            })
        });
        ranges.collect()
    }

    /// Whether a value is outside of the range. NaN and infinite decimals are rejected by libmongocrypt.
    fn excludes(&self, value: &Bson) -> bool {
        let is = |bound: &Option<Bson>, ordering| {
            bound
                .as_ref()
                .is_some_and(|bound| compare(value, bound) == Some(ordering))
        };
        is(&self.min, Ordering::Less) || is(&self.max, Ordering::Greater)
    }

    fn reason(&self, model: &str) -> String {
        let range = match (&self.min, &self.max) {
            (Some(min), Some(max)) => format!("from {min} to {max}"),
            (Some(min), None) => format!("from {min}"),
            (_, max) => max.as_ref().map_or_else(String::new, |max| format!("to {max}")),
        };
        format!(
            "model `{model}` declares the values of this encrypted field {range}, and a value outside of them cannot be encrypted"
        )
    }
}

/// Rejects a document to write with a value outside of the range of its field.
pub(in crate::query) fn check_document(ranges: &[Range], model: &str, document: &RawDocument) -> Result<()> {
    for range in ranges {
        if lookup(document, &range.path).is_some_and(|value| range.excludes(&value)) {
            let reason = range.reason(model);
            return Err(Error::encode(range.path.clone(), ValueError::new(reason)));
        }
    }
    Ok(())
}

/// Rejects a filter that compares a field with a value outside of its range.
pub(in crate::query) fn check_filter(ranges: &[Range], model: &str, filter: &Node) -> Result<()> {
    let excludes = |range: &&Range| filter.compares_with(&range.path, &|value| range.excludes(value));
    match ranges.iter().find(excludes) {
        Some(range) => Err(Error::filter(range.path.clone(), range.reason(model))),
        None => Ok(()),
    }
}

/// Rejects an update that sets a field, or a document around it, to a value outside of its range.
pub(in crate::query) fn check_changes(ranges: &[Range], model: &str, operators: &Operators) -> Result<()> {
    if ranges.is_empty() {
        return Ok(());
    }
    for change in operators.changes() {
        let Some(value) = change.set_value() else {
            continue;
        };
        let excluded = ranges.iter().find(|range| {
            let set = range.path.strip_prefix(&*change.path);
            set.and_then(|rest| inside(value, rest))
                .is_some_and(|value| range.excludes(value))
        });
        if let Some(range) = excluded {
            return Err(Error::update(range.path.clone(), range.reason(model)));
        }
    }
    Ok(())
}

/// The value at the rest of a path, which starts with a dot unless it is empty.
fn inside<'a>(value: &'a Bson, rest: &str) -> Option<&'a Bson> {
    if rest.is_empty() {
        return Some(value);
    }
    let mut names = rest.strip_prefix('.')?.split('.');
    names.try_fold(value, |value, name| value.as_document()?.get(name))
}
