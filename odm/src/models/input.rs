//! The fields of a model, and the checks of the structs from which its documents and updates are made.

use crate::models::model::Model;

/// A field of a model that is a struct.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ModelField {
    /// The Rust name.
    pub name: &'static str,
    pub role: FieldRole,
    /// Whether a document without the field cannot be read.
    pub is_required: bool,
    /// The message for an insert without the field.
    pub missing: &'static str,
}

/// Which values a field has.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldRole {
    Ordinary,
    Id,
    /// The ODM writes it.
    Maintained,
}

/// Whether the field with this Rust name is the id or a maintained field.
#[doc(hidden)]
#[must_use]
pub const fn is_kept<D: Model>(name: &str) -> bool {
    matches!(role::<D>(name), Some(FieldRole::Id | FieldRole::Maintained))
}

/// Whether the field with this Rust name is a maintained field.
#[doc(hidden)]
#[must_use]
pub const fn is_maintained<D: Model>(name: &str) -> bool {
    matches!(role::<D>(name), Some(FieldRole::Maintained))
}

const fn role<D: Model>(name: &str) -> Option<FieldRole> {
    let mut at = 0;
    while at < D::INPUT.len() {
        if is_same(D::INPUT[at].name, name) {
            return Some(D::INPUT[at].role);
        }
        at += 1;
    }
    None
}

/// The message for the first required field of the model that is not among `given`, the Rust names of fields.
#[doc(hidden)]
#[must_use]
pub const fn missing<D: Model>(given: &[&str]) -> Option<&'static str> {
    if D::INPUT.is_empty() {
        return Some("an insert is for models that are structs: make a document of the enum");
    }
    let mut at = 0;
    while at < D::INPUT.len() {
        let field = D::INPUT[at];
        let is_needed = match field.role {
            FieldRole::Ordinary => field.is_required,
            FieldRole::Id => field.is_required && D::GENERATE_ID.is_none(),
            FieldRole::Maintained => false,
        };
        if is_needed && !contains(given, field.name) {
            return Some(field.missing);
        }
        at += 1;
    }
    None
}

const fn contains(names: &[&str], name: &str) -> bool {
    let mut at = 0;
    while at < names.len() {
        if is_same(names[at], name) {
            return true;
        }
        at += 1;
    }
    false
}

const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}
