//! What the commands of one call share: the `operationId` of events and the span.

use std::sync::atomic::Ordering;

use super::{Executor, ExplicitSession, SessionHandle};
use crate::{
    operation::Operation,
    proto::session::TransactionCommand,
    telemetry::{OperationScope, OperationSpan},
};

impl Executor {
    /// The scope of an operation that sends one command at a time.
    #[inline]
    pub(super) fn scope_of<O: Operation>(
        &self,
        explicit: Option<&SessionHandle>,
        operation: &O,
    ) -> OperationScope {
        let mut scope = self.untraced_scope();
        if self.settings.tracing.is_enabled() {
            let properties = operation.properties();
            let parent = explicit.filter(|session| {
                properties.transaction != TransactionCommand::Operation || session.is_in_transaction()
            });
            scope.span = self.settings.tracing.operation(
                operation.operation_name(),
                properties.database,
                operation.collection(),
                parent.map(|session| &session.span),
            );
        }
        scope
    }

    /// The scope of an operation that sends several commands, each with
    /// [`run_in_scope`](Self::run_in_scope). The caller ends its span.
    pub(crate) fn begin_operation(
        &self,
        explicit: Option<&SessionHandle>,
        name: &str,
        database: &str,
        collection: Option<&str>,
    ) -> OperationScope {
        let mut scope = self.untraced_scope();
        if self.settings.tracing.is_enabled() {
            let parent = explicit.filter(|session| session.is_in_transaction());
            let parent = parent.map(|session| &session.span);
            scope.span = self
                .settings
                .tracing
                .operation(name, database, collection, parent);
        }
        scope
    }

    /// The scope of a command that no call of the application causes.
    pub(super) fn untraced_scope(&self) -> OperationScope {
        OperationScope {
            id: self.operations.fetch_add(1, Ordering::Relaxed),
            span: OperationSpan::none(),
        }
    }

    /// Starts the span of a transaction that was started.
    pub(super) fn trace_transaction(&self, session: &ExplicitSession) {
        session.span.begin(&self.settings.tracing);
    }
}

impl ExplicitSession {
    /// Ends the span of a transaction whose commit is not repeated.
    pub(crate) fn end_transaction_span(&self) {
        self.span.settle();
    }
}

impl ExplicitSession {
    fn is_in_transaction(&self) -> bool {
        self.lock().open_transaction().is_some()
    }
}
