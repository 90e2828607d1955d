//! Encrypted fields: checks where they are declared.

use crate::{
    diagnostics::Sink,
    model::generics,
    parse::{EncryptedAttribute, Field, Parsed},
};

/// An encrypted field.
pub(crate) struct Encryption {
    pub(crate) attribute: EncryptedAttribute,
    /// Whether serde can leave out a value, such as a `None`.
    pub(crate) omitted: bool,
}

/// The encryption of a field that is stored as `name`. `None` also after an error.
pub(super) fn resolve(field: &Field, name: &str, sink: &Sink) -> Option<Encryption> {
    let attribute = field.attributes.encrypted.clone()?;
    let ident = field.ident.as_ref()?;
    let attributes = &field.attributes;
    let reason = if field.serde.flatten.is_some() || attributes.flatten.is_some() {
        format!("`{ident}` is flattened and has no value of its own; encrypt its fields")
    } else if name == "_id" || attributes.id.is_some() {
        "the id of a document cannot be encrypted".to_owned()
    } else if attributes.opaque.is_some() {
        format!("the stored type of `{ident}` must be known; use `as = Type` in place of `opaque`")
    } else if attributes.index.is_some() || attributes.unique.is_some() {
        format!(
            "`{ident}` is encrypted, and the server has no index on encrypted values; remove `index` and `unique`"
        )
    } else if let Some((managed, _)) = attributes.managed.first() {
        format!(
            "`{}` is changed by operators that encrypted fields do not have",
            managed.name()
        )
    } else {
        return Some(Encryption {
            attribute,
            omitted: field.serde.omitted,
        });
    };
    sink.at(attribute.span, reason);
    None
}

/// Checks the fields of a type that can have none.
pub(super) fn reject(fields: &[Field], place: &str, sink: &Sink) {
    for attribute in fields.iter().filter_map(|f| f.attributes.encrypted.as_ref()) {
        sink.at(
            attribute.span,
            format!("{place} cannot be encrypted; encrypt the field that contains it, or put it into a struct with named fields"),
        );
    }
}

/// Checks the fields of a struct with named fields.
pub(super) fn check(fields: &[Field], parsed: &Parsed, sink: &Sink) {
    let mut encrypted = fields
        .iter()
        .filter_map(|f| Some((f, f.attributes.encrypted.as_ref()?)));
    for (field, attribute) in fields
        .iter()
        .filter_map(|f| Some((f, f.attributes.encrypted.as_ref()?)))
    {
        if field.serde.skipped {
            sink.at(attribute.span, "serde skips the field: it is not stored");
        }
        if generics::are_in(&parsed.generics, &field.ty) {
            sink.at(
                attribute.span,
                "the type of an encrypted field cannot contain a type parameter: a collection has one type for each of them",
            );
        }
    }
    if let (true, Some(span), Some(_)) = (parsed.root, parsed.serde.deny_unknown, encrypted.next()) {
        sink.at(
            span,
            "`deny_unknown_fields` rejects the field `__safeContent__`, which the server adds to encrypted documents",
        );
    }
}
