//! Dotted paths and their traversal of documents: through embedded documents and through array
//! elements, both implicitly and by index.

use crate::error::{Error, Result};
use bson::{Bson, Document};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    /// The component as an array index, if it is a canonical decimal number.
    pub(crate) index: Option<usize>,
}

impl Part {
    pub(crate) fn new(name: &str) -> Part {
        let canonical = name == "0" || (!name.starts_with('0') && !name.is_empty());
        let index = (canonical && name.bytes().all(|byte| byte.is_ascii_digit())).then(|| name.parse().ok());
        Part {
            name: name.to_owned(),
            index: index.flatten(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) text: String,
    pub(crate) parts: Vec<Part>,
}

impl Path {
    /// Splits `text` at the dots.
    pub(crate) fn new(text: &str) -> Path {
        Path {
            text: text.to_owned(),
            parts: text.split('.').map(Part::new).collect(),
        }
    }

    /// The empty path, which refers to the current value.
    pub(crate) fn current() -> Path {
        Path {
            text: String::new(),
            parts: Vec::new(),
        }
    }
}

/// Validates a field path of the aggregation language: non-empty names that do not begin with `$`.
pub(crate) fn check_field_path(text: &str) -> Result<()> {
    if text.is_empty() {
        return Err(Error::new(
            40352,
            "FieldPath cannot be constructed with empty string",
        ));
    }
    if text.ends_with('.') {
        return Err(Error::new(40353, "FieldPath must not end with a '.'."));
    }
    for part in text.split('.') {
        if part.is_empty() {
            return Err(Error::new(
                15998,
                "FieldPath field names may not be empty strings.",
            ));
        }
        if part.starts_with('$') {
            return Err(Error::new(
                16410,
                "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
            ));
        }
    }
    Ok(())
}

/// Receives a value (`None`: missing) and the index of the outermost array element traversed.
/// Returning `true` stops the traversal.
pub(crate) type Visit<'v> = dyn FnMut(Option<&Bson>, Option<usize>) -> Result<bool> + 'v;

/// Visits every value at the path. An array at the end of the path is visited as a whole; the
/// visitor handles its elements. Returns whether the visitor stopped the traversal.
pub(crate) fn walk(
    document: &Document,
    parts: &[Part],
    passed: Option<usize>,
    visit: &mut Visit<'_>,
) -> Result<bool> {
    let Some((first, rest)) = parts.split_first() else {
        return Ok(false);
    };
    match document.get(&first.name) {
        None => visit(None, passed),
        Some(value) => step(value, rest, passed, visit),
    }
}

fn step(value: &Bson, rest: &[Part], passed: Option<usize>, visit: &mut Visit<'_>) -> Result<bool> {
    if rest.is_empty() {
        return visit(Some(value), passed);
    }
    match value {
        Bson::Document(inner) => walk(inner, rest, passed, visit),
        Bson::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Bson::Document(inner) = item
                    && walk(inner, rest, passed.or(Some(index)), visit)?
                {
                    return Ok(true);
                }
            }
            match rest[0].index.and_then(|index| items.get(index)) {
                // The positional operator does not refer to an element that the path addresses by
                // index.
                Some(item) if rest.len() == 1 => visit(Some(item), passed),
                Some(item @ (Bson::Document(_) | Bson::Array(_))) => step(item, &rest[1..], passed, visit),
                _ => Ok(false),
            }
        }
        _ => visit(None, passed),
    }
}

/// The value at a path through embedded documents, without array traversal.
pub(crate) fn get<'d>(document: &'d Document, path: &str) -> Option<&'d Bson> {
    let (first, rest) = path
        .split_once('.')
        .map_or((path, None), |(first, rest)| (first, Some(rest)));
    match (document.get(first)?, rest) {
        (value, None) => Some(value),
        (Bson::Document(inner), Some(rest)) => get(inner, rest),
        _ => None,
    }
}

/// Sets the value at a dotted path. Missing embedded documents are created; a scalar along the path
/// is replaced.
pub(crate) fn set(document: &mut Document, path: &str, value: Bson) {
    match path.split_once('.') {
        None => {
            document.insert(path, value);
        }
        Some((first, rest)) => {
            if !matches!(document.get(first), Some(Bson::Document(_))) {
                document.insert(first, Document::new());
            }
            if let Some(Bson::Document(inner)) = document.get_mut(first) {
                set(inner, rest, value);
            }
        }
    }
}

/// Every value at a path with array traversal. The elements of an array at the end are listed
/// individually. `None` is a missing value.
pub(crate) fn expanded(document: &Document, path: &Path) -> Vec<Option<Bson>> {
    let mut values = Vec::new();
    let visited = walk(document, &path.parts, None, &mut |value, _| {
        match value {
            Some(Bson::Array(items)) => values.extend(items.iter().cloned().map(Some)),
            other => values.push(other.cloned()),
        }
        Ok(false)
    });
    debug_assert!(visited.is_ok());
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    fn found(document: &Document, path: &str) -> Vec<Option<Bson>> {
        let mut values = Vec::new();
        walk(document, &Path::new(path).parts, None, &mut |value, _| {
            values.push(value.cloned());
            Ok(false)
        })
        .unwrap();
        values
    }

    #[test]
    fn traverses_arrays_of_documents_and_indexes() {
        let document = doc! {"a": [{"b": 1}, {"b": 2}, 3, {}]};
        assert_eq!(
            found(&document, "a.b"),
            [Some(Bson::Int32(1)), Some(Bson::Int32(2)), None]
        );
        assert_eq!(
            found(&document, "a.1.b"),
            [None, None, None, Some(Bson::Int32(2))]
        );
        assert_eq!(found(&document, "x.y"), [None]);
    }

    #[test]
    fn empty_arrays_yield_no_values() {
        assert!(found(&doc! {"a": []}, "a.b").is_empty());
        assert!(found(&doc! {"a": [[]]}, "a.b").is_empty());
        assert_eq!(found(&doc! {"a": [[{"b": 1}]]}, "a.0.b"), [Some(Bson::Int32(1))]);
    }

    #[test]
    fn index_components_are_canonical() {
        assert_eq!(Part::new("10").index, Some(10));
        assert_eq!(Part::new("01").index, None);
        assert_eq!(Part::new("a").index, None);
    }
}
