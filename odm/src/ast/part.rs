//! Documents of the application as parts of filters, updates and pipelines.

use crate::base::bson::Document;

/// A document that is sent as it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RawPart {
    pub(crate) document: Document,
    /// Whether the application states that the document may be sent to a collection with encrypted fields.
    pub(crate) is_unchecked: bool,
}

impl RawPart {
    /// A document without such a statement.
    pub(crate) fn checked(document: Document) -> Self {
        RawPart {
            document,
            is_unchecked: false,
        }
    }
}
