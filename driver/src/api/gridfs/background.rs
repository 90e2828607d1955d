//! Futures that are completed although they were dropped.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use crate::{
    Client, Result,
    execution::Executor,
    telemetry::untraced,
    types::in_flight::{Held, OfOperation},
};

/// The commands of a call or a stream, which run one after the other.
pub(super) type Commands<T = ()> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// Runs commands on the runtime of the client. They have no spans of operations: no call of the
/// application waits for them.
pub(super) fn complete<T: Send + 'static>(executor: &Executor, commands: Commands<T>) {
    executor.spawn(untraced(commands));
}

/// Commands that continue on the runtime of the client if the future is dropped after its first
/// poll, so that no part of the files or chunks remains.
pub(super) struct CompleteInBackground<T: Send + 'static> {
    commands: Option<Commands<T>>,
    client: Client,
    has_started: bool,
    /// Counts the call as in flight, also between its commands.
    _held: Held<OfOperation>,
}

impl<T: Send + 'static> CompleteInBackground<T> {
    pub(super) fn new(client: &Client, commands: impl Future<Output = Result<T>> + Send + 'static) -> Self {
        Self {
            commands: Some(Box::pin(commands)),
            client: client.clone(),
            has_started: false,
            _held: client.executor().hold(),
        }
    }
}

impl<T: Send + 'static> Future for CompleteInBackground<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        self.has_started = true;
        let Some(commands) = &mut self.commands else {
            return Poll::Pending;
        };
        let result = std::task::ready!(commands.as_mut().poll(cx));
        self.commands = None;
        Poll::Ready(result)
    }
}

impl<T: Send + 'static> Drop for CompleteInBackground<T> {
    fn drop(&mut self) {
        if let Some(commands) = self.commands.take().filter(|_| self.has_started) {
            complete(self.client.executor(), commands);
        }
    }
}
