//! Documents that the application gives to filters, updates and pipelines.

use crate::{ast::part::RawPart, base::bson::Document};

/// A document that is sent as it is, or an item of a list of such documents: the stages of a pipeline, array filters.
///
/// An [`Unchecked`](crate::encryption::Unchecked) document may be sent to a collection with encrypted fields.
#[diagnostic::on_unimplemented(
    message = "expected a document, or a list of documents, found `{Self}`",
    note = "give a document, `doc! {{..}}`, or where several are expected a list of them, `[doc! {{..}}]`"
)]
pub trait DocumentItem {
    /// The document.
    ///
    /// ```
    /// # use marula_guide::*;
    /// // Lists of stages and array filters take documents.
    /// let update = Update::<Order>::pipeline([doc! { "$unset": "note" }]);
    /// assert_eq!(update.to_string(), r#"[{"$unset": "note"}]"#);
    /// ```
    fn into_document(self) -> Document;

    #[doc(hidden)]
    fn is_unchecked(&self) -> bool {
        false
    }
}

/// The document as a part of a filter, an update or a pipeline.
pub(crate) fn raw_part(item: impl DocumentItem) -> RawPart {
    RawPart {
        is_unchecked: item.is_unchecked(),
        document: item.into_document(),
    }
}

impl DocumentItem for Document {
    fn into_document(self) -> Document {
        self
    }
}
