//! Emits messages, with the settings of one client. `emit_tagged` replaces this module in tests.

/// Emits a `tracing` event with the target of the module.
macro_rules! emit {
    ($level:ident, $style:ident, $($rest:tt)+) => {{
        let _ = $style;
        tracing::$level!(target: TARGET, $($rest)+)
    }};
}

/// The settings for the messages of a client.
#[derive(Debug)]
pub(super) struct Style {
    /// The length in bytes after which documents are truncated.
    pub(super) max_document_length: usize,
}

impl Style {
    pub(super) fn new(max_document_length: usize, _tag: Option<String>) -> Self {
        Self { max_document_length }
    }
}
