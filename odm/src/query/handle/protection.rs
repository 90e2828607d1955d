//! The encrypted fields of the models of the process, and whether the client of a collection encrypts them.

use std::any::TypeId;

use crate::{
    ast::{filter::Node, path::is_within, update::Operators},
    base::{
        bson::{Bson, Document, RawDocument},
        error::{Error, Result, SchemaError, ValueError},
        type_map::TypeMap,
    },
    models::model::Model,
    query::handle::{
        Collection,
        ranges::{self, Range},
    },
};

/// The field that the server adds to documents with encrypted fields that can be queried.
pub(crate) const SAFE_CONTENT: &str = "__safeContent__";

/// Why a document of the application is not sent as it is.
pub(in crate::query) const RAW_PART: &str = "a document of the application is sent as it is, and the model has encrypted fields, whose values it \
                                   could contain: use typed conditions and stages, or state that it contains no such value by \
                                   `marula::encryption::Unchecked(..)`";

/// The stored paths of the encrypted fields of a model, or the error of its declarations.
pub(in crate::query) type EncryptedFields = std::result::Result<Vec<String>, SchemaError>;

/// The encrypted fields of the model of a collection, and whether its client encrypts them.
#[derive(Clone, Copy)]
pub(in crate::query) enum Protection {
    NoFields,
    Encrypts(&'static [String]),
    Plain(&'static [String]),
}

impl Protection {
    #[inline]
    pub(in crate::query) fn of<D: Model>(collection: &Collection<D>) -> Result<Self> {
        match encrypted_fields::<D>() {
            None => Ok(Protection::NoFields),
            Some(fields) => Self::of_fields(collection, fields),
        }
    }

    /// A client that encrypts rejects commands that would not encrypt these fields, because it does not know the collection as
    /// encrypted.
    #[cold]
    fn of_fields<D: Model>(collection: &Collection<D>, fields: &'static EncryptedFields) -> Result<Self> {
        let fields = fields.as_ref().map_err(invalid)?;
        if !encrypts(collection) {
            return Ok(Protection::Plain(fields));
        }
        require(collection, collection.name(), fields, D::NAME);
        Ok(Protection::Encrypts(fields))
    }

    /// The paths of the encrypted fields.
    pub(in crate::query) fn fields(self) -> &'static [String] {
        match self {
            Protection::NoFields => &[],
            Protection::Encrypts(fields) | Protection::Plain(fields) => fields,
        }
    }
}

/// Whether the client of a collection encrypts.
#[cfg(feature = "encryption")]
pub(in crate::query) fn encrypts<D>(collection: &Collection<D>) -> bool {
    collection.inner.database().client().encrypts_commands()
}

#[cfg(not(feature = "encryption"))]
pub(in crate::query) fn encrypts<D>(_: &Collection<D>) -> bool {
    false
}

/// Requires that the client encrypts the fields of a collection in the same database.
#[cfg(feature = "encryption")]
pub(in crate::query) fn require<D>(collection: &Collection<D>, name: &str, fields: &[String], model: &str) {
    let database = collection.inner.database();
    let namespace = crate::driver::Namespace::new(database.name(), name);
    let model = format!("model `{model}`");
    database
        .client()
        .require_encrypted_fields(&namespace, fields, &model);
}

#[cfg(not(feature = "encryption"))]
pub(in crate::query) fn require<D>(_: &Collection<D>, _: &str, _: &[String], _: &str) {}

/// The encrypted fields that a model declares, and their ranges.
struct Declared {
    /// `None` if the model has no encrypted fields.
    fields: Option<EncryptedFields>,
    ranges: Vec<Range>,
}

static MODELS: TypeMap<Declared> = TypeMap::new();

/// The encrypted fields of a model; `None` if it has none.
#[inline]
pub(in crate::query) fn encrypted_fields<D: Model>() -> Option<&'static EncryptedFields> {
    if !cfg!(feature = "encryption") {
        return None;
    }
    declared::<D>().fields.as_ref()
}

/// The first encrypted field of a model; empty if its declarations are invalid.
pub(crate) fn first_encrypted<D: Model>() -> Option<String> {
    let paths = encrypted_fields::<D>()?.as_ref().ok();
    Some(paths.and_then(|paths| paths.first()).cloned().unwrap_or_default())
}

fn ranges<D: Model>() -> &'static [Range] {
    if !cfg!(feature = "encryption") {
        return &[];
    }
    &declared::<D>().ranges
}

/// Rejects a document to write with a value outside of the range of its field.
pub(in crate::query) fn check_document<D: Model>(document: &RawDocument) -> Result<()> {
    ranges::check_document(ranges::<D>(), D::NAME, document)
}

/// Rejects a filter that compares a field with a value outside of its range.
pub(in crate::query) fn check_ranges<D: Model>(filter: &Node) -> Result<()> {
    ranges::check_filter(ranges::<D>(), D::NAME, filter)
}

/// Rejects an update that sets a field to a value outside of its range.
pub(in crate::query) fn check_values<D: Model>(operators: &Operators) -> Result<()> {
    ranges::check_changes(ranges::<D>(), D::NAME, operators)
}

#[inline]
fn declared<D: Model>() -> &'static Declared {
    MODELS.get_or_init(TypeId::of::<D>(), Declared::of::<D>)
}

impl Declared {
    fn of<D: Model>() -> Self {
        let declared = D::encrypted_fields();
        let ranges = declared.as_ref().map_or_else(|_| Vec::new(), Range::all);
        let fields = match declared {
            Ok(fields) => Some(paths(&fields)).filter(|paths| !paths.is_empty()).map(Ok),
            Err(error) => Some(Err(error)),
        };
        Declared { fields, ranges }
    }
}

fn paths(fields: &Document) -> Vec<String> {
    let fields = fields.get_array("fields").into_iter().flatten();
    let path = |field: &Bson| Some(field.as_document()?.get_str("path").ok()?.to_owned());
    fields.filter_map(path).collect()
}

/// Whether `name` is the path, or that of a document that contains it or is in it.
pub(crate) fn is_about(name: &str, path: &str) -> bool {
    is_within(name, path) || is_within(path, name)
}

/// Whether the document at `name` contains the field at `path`.
pub(in crate::query) fn contains(name: &str, path: &str) -> bool {
    path.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
}

/// The first of the encrypted fields that a filter has a condition on, or compares a document around.
pub(in crate::query) fn on_encrypted(fields: &[String], filter: &Node) -> Option<String> {
    if fields.is_empty() {
        return None;
    }
    let path = filter
        .encrypted(fields)
        .or_else(|| filter.compares_around(fields));
    path.or_else(|| filter.named_in_raw_part(fields))
}

/// Rejects documents of the application in a filter of a model with encrypted fields, unless they state that they contain no value
/// of one.
pub(in crate::query) fn check_raw_part(fields: &[String], filter: &Node) -> Result<()> {
    if !fields.is_empty() && filter.has_raw_part() {
        return Err(Error::filter("", RAW_PART));
    }
    Ok(())
}

/// The error of a comparison of a document that contains an encrypted field.
pub(in crate::query) fn compared(path: String) -> Error {
    Error::filter(
        path,
        "the field is encrypted, so that the document that contains it cannot be compared; compare its other fields",
    )
}

/// The error of an invalid declaration.
pub(in crate::query) fn invalid(error: &SchemaError) -> Error {
    Error::encode(String::new(), ValueError::new(error.to_string()))
}

/// The error of a value that a client without automatic encryption would send as it is.
pub(in crate::query) fn unencrypted(path: String) -> Error {
    Error::encode(
        path,
        ValueError::new(
            "the field is encrypted, and the client of the collection has no automatic encryption; create the client with \
             `Client::with_auto_encryption`",
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_concern_their_documents_and_fields() {
        for (name, expected) in [
            ("address.street", true),
            ("address", true),
            ("address.street.x", true),
            ("address.streets", false),
            ("addresses", false),
            ("street", false),
        ] {
            assert_eq!(is_about(name, "address.street"), expected, "{name}");
        }
    }
}
