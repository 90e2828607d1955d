//! [`CommandTask`].

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    sync::oneshot,
    task::{JoinError, JoinHandle},
};

use super::Client;
use crate::{Error, ErrorKind, Result, telemetry::in_current_context};

/// The commands of a cursor that is read as a stream, in a task on the runtime of the client. A
/// stream may not be polled for any time, and a command that did not make progress meanwhile would
/// hold its connection and its turn in a transaction.
///
/// The commands are cancelled if this value is dropped.
pub(super) struct CommandTask<T> {
    task: JoinHandle<T>,
    /// Dropped to cancel the commands.
    cancel: oneshot::Sender<()>,
}

/// Completes when the commands are cancelled.
pub(super) type Cancelled = oneshot::Receiver<()>;

impl<T: Send + 'static> CommandTask<T> {
    /// Runs the future that `commands` returns. It must end when its argument completes.
    pub(super) fn spawn<F>(client: &Client, commands: impl FnOnce(Cancelled) -> F) -> Self
    where
        F: Future<Output = T> + Send + 'static,
    {
        let (cancel, cancelled) = oneshot::channel();
        let runtime = client.executor().topology().runtime();
        Self {
            task: runtime.spawn(in_current_context(commands(cancelled))),
            cancel,
        }
    }

    /// The output of the commands.
    ///
    /// # Errors
    /// The runtime was shut down.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<T>> {
        Pin::new(&mut self.task).poll(cx).map(output)
    }

    /// Cancels the commands, and waits until they have ended. That does not depend on the server.
    ///
    /// # Errors
    /// The runtime was shut down.
    pub(super) async fn cancel(self) -> Result<T> {
        drop(self.cancel);
        output(self.task.await)
    }
}

/// A panic continues in the caller.
fn output<T>(joined: Result<T, JoinError>) -> Result<T> {
    joined.map_err(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => Error::new(ErrorKind::Shutdown),
    })
}
