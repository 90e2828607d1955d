//! As `emit`, with the field `clientTag`, by which tests distinguish the messages of one client from those of others.

/// Emits a `tracing` event with the target of the module.
macro_rules! emit {
    ($level:ident, $style:ident, $($rest:tt)+) => {
        tracing::$level!(target: TARGET, clientTag = $style.tag.as_deref(), $($rest)+)
    };
}

/// The form of a client's messages.
#[derive(Debug)]
pub(super) struct Style {
    /// Documents are truncated to this number of bytes.
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
