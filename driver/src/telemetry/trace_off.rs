//! Replaces `trace` without the feature `opentelemetry`. No spans are created.

use crate::{Error, ServerAddress, options::TracingOptions, types::variables::Variables};

/// Returns the future unchanged.
pub(super) fn attached_to_current<F: Future>(future: F) -> F {
    future
}

/// Creates no spans.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracing;

impl Tracing {
    pub(crate) fn new(_: &TracingOptions, _: Variables<'_>) -> Self {
        Self
    }

    #[inline]
    pub(crate) fn is_enabled(&self) -> bool {
        false
    }

    #[inline]
    pub(crate) fn operation(
        &self,
        _: &str,
        _: &str,
        _: Option<&str>,
        _: Option<&TransactionSpan>,
    ) -> OperationSpan {
        OperationSpan
    }
}

/// Not a span.
#[derive(Debug, Default)]
pub(crate) struct OperationSpan;

impl OperationSpan {
    #[inline]
    pub(crate) fn none() -> Self {
        Self
    }

    #[inline]
    pub(crate) fn is_recording(&self) -> bool {
        false
    }

    #[inline]
    pub(crate) fn begin_attempt(&self) {}

    #[inline]
    pub(crate) fn command(&self, _: &TracedCommand<'_>) -> CommandSpan {
        CommandSpan
    }

    #[inline]
    pub(crate) fn end(&self, _: Option<&Error>) {}

    pub(crate) fn share(&self) -> Self {
        Self
    }

    pub(crate) fn share_context(&self) -> Self {
        Self
    }
}

/// Returns the future.
pub(crate) fn untraced<F: Future + Unpin>(future: F) -> F {
    future
}

/// A command that was written and is about to be sent.
#[expect(dead_code, reason = "the fields are those of the module with the feature")]
pub(crate) struct TracedCommand<'a> {
    pub(crate) name: &'a str,
    pub(crate) database: &'a str,
    pub(crate) collection: Option<&'a str>,
    pub(crate) is_sensitive: bool,
    pub(crate) address: &'a ServerAddress,
    pub(crate) connection_id: u32,
    pub(crate) server_connection_id: Option<i64>,
    pub(crate) message: &'a [u8],
}

/// Not a span.
#[derive(Debug)]
pub(crate) struct CommandSpan;

impl CommandSpan {
    #[inline]
    pub(crate) fn none() -> Self {
        Self
    }

    #[inline]
    pub(crate) fn succeeded(&mut self, _: Option<&[u8]>) {}

    #[inline]
    pub(crate) fn failed(&mut self, _: &Error) {}
}

/// Not a span.
#[derive(Debug)]
pub(crate) struct TransactionSpan;

impl TransactionSpan {
    /// No span.
    pub(crate) fn none() -> Self {
        Self
    }

    pub(crate) fn begin(&self, _: &Tracing) {}

    pub(crate) fn end(&self, _: Option<&Error>) {}

    pub(crate) fn commit_failed(&self, _: &Error) {}

    pub(crate) fn interrupted(&self) {}

    pub(crate) fn settle(&self) {}
}
