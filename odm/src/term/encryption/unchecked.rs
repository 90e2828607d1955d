//! The statement that a document of the application contains no value of an encrypted field.

use crate::{ast::document_item::DocumentItem, base::bson::Document};

/// A document of the application that may be sent to a collection with encrypted fields.
///
/// A raw filter, stage or update pipeline is sent as it is. If the model has encrypted fields, or a pipeline joins a collection that
/// has some, such a document is an error unless it is wrapped in this type, because it could contain the value of one. The application
/// states that every value in it may be sent:
///
/// - the conditions of raw filters, and of the `$match` stages at the start of a pipeline, on encrypted fields are encrypted by a
///   client with automatic encryption; without one, a raw filter that names an encrypted field is an error nevertheless;
/// - other values, such as those of `$expr`, `$jsonSchema` and of stages, are sent as they are by every client that does not encrypt,
///   and are analyzed by `mongocryptd` or `crypt_shared` otherwise.
///
/// ```
/// # use marula_guide::*;
/// use marula::encryption::Unchecked;
/// let recent = Filter::<Order>::raw(Unchecked(doc! { "$where": "this.total > 1" }));
/// # drop(recent);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Unchecked(pub Document);

impl DocumentItem for Unchecked {
    fn into_document(self) -> Document {
        self.0
    }

    fn is_unchecked(&self) -> bool {
        true
    }
}
