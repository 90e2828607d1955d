//! How messages are emitted, and what those of one client have in common. Its twin `emit_tagged` is for tests.

/// Emits a `tracing` event with the target of the module.
macro_rules! emit {
    ($level:ident, $style:ident, $($rest:tt)+) => {{
        let _ = $style;
        tracing::$level!(target: TARGET, $($rest)+)
    }};
}

/// The form of a client's messages.
#[derive(Debug)]
pub(super) struct Style {
    /// Documents are truncated to this number of bytes.
    pub(super) max_document_length: usize,
}

impl Style {
    pub(super) fn new(max_document_length: usize, _tag: Option<String>) -> Self {
        Self { max_document_length }
    }
}
