//! The check of received documents at all levels: the depth, and fields that are repeated.

use crate::error::{Error, Result, code};
use bson::raw::{RawBsonRef, RawDocument};
use std::collections::HashSet;

/// The number of names that are compared one by one.
const FEW: usize = 16;

/// The names of the fields of a document.
#[derive(Default)]
struct Names<'n> {
    few: Vec<&'n str>,
    many: HashSet<&'n str>,
}

impl<'n> Names<'n> {
    /// Adds a name; returns whether it is new.
    fn insert(&mut self, name: &'n str) -> bool {
        if !self.many.is_empty() {
            return self.many.insert(name);
        }
        if self.few.contains(&name) {
            return false;
        }
        self.few.push(name);
        if self.few.len() > FEW {
            self.many.extend(self.few.drain(..));
        }
        true
    }
}

/// Fails if a document is nested more deeply than `left` levels. Returns the path of the first field
/// whose name its document has twice.
pub(super) fn check(document: &RawDocument, left: usize) -> Result<Option<String>> {
    check_level(document, left, true)
}

fn check_level(document: &RawDocument, left: usize, has_names: bool) -> Result<Option<String>> {
    let invalid = |error: bson::error::Error| Error::new(code::INVALID_BSON, error.to_string());
    if left == 0 {
        return Err(Error::new(
            code::OVERFLOW,
            "Exceeded depth limit when converting js object to BSON",
        ));
    }
    let mut names = Names::default();
    let mut repeated = None;
    for element in document {
        let (name, value) = element.map_err(invalid)?;
        let name: &str = name.as_ref();
        let below = match value {
            RawBsonRef::Document(inner) => check_level(inner, left - 1, true)?,
            RawBsonRef::Array(items) => {
                let inner = RawDocument::from_bytes(items.as_bytes()).map_err(invalid)?;
                check_level(inner, left - 1, false)?
            }
            RawBsonRef::JavaScriptCodeWithScope(code) => check_level(code.scope, left - 1, true)?,
            _ => None,
        };
        if repeated.is_none() {
            repeated = below.map(|path| format!("{name}.{path}"));
        }
        if has_names && !names.insert(name) && repeated.is_none() {
            repeated = Some(name.to_owned());
        }
    }
    Ok(repeated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::raw::{RawArrayBuf, RawDocumentBuf, cstr};
    use bson::{doc, rawdoc};

    fn repeated(document: &RawDocumentBuf) -> Option<String> {
        check(document, 10).unwrap()
    }

    #[test]
    fn repeated_fields_are_found_at_all_levels() {
        let mut twice = rawdoc! { "a": 1, "b": 2 };
        assert_eq!(repeated(&twice), None);
        twice.append(cstr!("a"), 3);
        assert_eq!(repeated(&twice).as_deref(), Some("a"));
        assert_eq!(
            repeated(&rawdoc! { "x": twice.clone(), "y": 1 }).as_deref(),
            Some("x.a")
        );
        let mut items = RawArrayBuf::new();
        items.push(1);
        items.push(twice);
        assert_eq!(repeated(&rawdoc! { "x": items }).as_deref(), Some("x.1.a"));
    }

    #[test]
    fn documents_with_many_fields_are_checked() {
        let many: bson::Document = (0..1000).map(|n| (format!("f{n}"), n.into())).collect();
        let mut many = RawDocumentBuf::try_from(&many).unwrap();
        assert_eq!(repeated(&many), None);
        many.append(cstr!("f999"), 1);
        assert_eq!(repeated(&many).as_deref(), Some("f999"));
    }

    #[test]
    fn deep_documents_are_rejected() {
        let deep = RawDocumentBuf::try_from(&doc! { "a": { "a": { "a": 1 } } }).unwrap();
        assert!(check(&deep, 3).is_ok());
        assert_eq!(check(&deep, 2).unwrap_err().code, code::OVERFLOW);
    }
}
