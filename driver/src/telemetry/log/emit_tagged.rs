//! As `emit`, with the additional field `clientTag`, which identifies the client in tests.

/// Emits a `tracing` event with the target of the module.
macro_rules! emit {
    ($level:ident, $style:ident, $($rest:tt)+) => {
        tracing::$level!(target: TARGET, clientTag = $style.tag.as_deref(), $($rest)+)
    };
}

/// The settings for the messages of a client.
#[derive(Debug)]
pub(super) struct Style {
    /// The length in bytes after which documents are truncated.
    pub(super) max_document_length: usize,
    pub(super) tag: Option<String>,
}

impl Style {
    pub(super) fn new(max_document_length: usize, tag: Option<String>) -> Self {
        Self {
            max_document_length,
            tag,
        }
    }
}
