//! What the commands of one call of the application share.

use std::borrow::Borrow;

use super::OperationSpan;
use crate::Error;

/// Shared by the commands of one operation, one bulk write or one cursor.
#[derive(Debug, Default)]
pub(crate) struct OperationScope {
    /// The `operationId` of command events.
    pub(crate) id: i64,
    /// The span of the operation, the parent of those of its commands.
    pub(crate) span: OperationSpan,
}

impl OperationScope {
    /// The scope of the commands that a cursor sends after the operation that opened it has ended.
    pub(crate) fn of_cursor(&self) -> Self {
        Self {
            id: self.id,
            span: self.span.share(),
        }
    }

    /// The scope of the command that closes a cursor. Its errors are ignored.
    pub(crate) fn of_close(&self) -> Self {
        Self {
            id: self.id,
            span: self.span.share_context(),
        }
    }

    /// A scope with the same ID and without a span, for commands that are not caused by a call of
    /// the application.
    pub(crate) fn untraced(&self) -> Self {
        Self {
            id: self.id,
            span: OperationSpan::none(),
        }
    }
}

/// The scope that a command runs in: its own, or that of a call that sends several commands.
pub(crate) trait CommandScope: Borrow<OperationScope> {
    /// Ends the span of the operation if the scope is the command's own. `failure`: an error that a
    /// successful result does not contain.
    fn end<T>(&self, result: &Result<T, Error>, failure: impl FnOnce() -> Option<Error>);
}

impl CommandScope for OperationScope {
    #[inline]
    fn end<T>(&self, result: &Result<T, Error>, failure: impl FnOnce() -> Option<Error>) {
        if self.span.is_recording() {
            match result {
                Ok(_) => self.span.end(failure().as_ref()),
                Err(error) => self.span.end(Some(error)),
            }
        }
    }
}

impl CommandScope for &OperationScope {
    #[inline]
    fn end<T>(&self, _: &Result<T, Error>, _: impl FnOnce() -> Option<Error>) {}
}
