//! [`CommandTask`].

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::{
    runtime::Handle,
    sync::oneshot,
    task::{JoinError, JoinHandle},
};

use super::Client;
use crate::{
    Error, ErrorKind, Result,
    telemetry::in_current_context,
    types::in_flight::{Held, InFlight, OfBackground},
};

/// The commands of a cursor that is read as a stream, in a task on the runtime of the client. A
/// stream may not be polled for any time, and a command that did not make progress meanwhile would
/// hold its connection and its turn in a transaction.
///
/// The commands are cancelled if this value is dropped. The end of their cursor then counts as in
/// flight without a gap, so that a shutdown of the client waits for it.
pub(super) struct CommandTask<T> {
    task: JoinHandle<Ended<T>>,
    /// `None` after the commands were cancelled.
    cancel: Option<oneshot::Sender<Ending>>,
    in_flight: Arc<InFlight>,
    /// Set when this value is dropped after the commands have ended. It is dropped after their output in
    /// `task`.
    ending: Option<Ending>,
}

/// Counts the end of cancelled commands as in flight. It must be dropped after their output, which
/// closes the cursor.
pub(super) type Ending = Held<OfBackground>;

/// The output of the commands, and the second value if they were cancelled. They are dropped in this
/// order.
pub(super) type Ended<T> = (T, Option<Ending>);

/// Completes when the commands are cancelled.
pub(super) struct Cancelled(oneshot::Receiver<Ending>);

impl Cancelled {
    /// Runs a command to completion, or until it is cancelled; then the result is `None`.
    ///
    /// The command is passed by reference: as a value it would be stored twice in the future of the
    /// task. It counts as in flight until it is dropped, so the second value is received before.
    pub(super) async fn or<T>(mut self, mut command: Pin<&mut impl Future<Output = T>>) -> Ended<Option<T>> {
        let mut ending = None;
        let result = poll_fn(|cx| {
            if let Poll::Ready(received) = Pin::new(&mut self.0).poll(cx) {
                ending = received.ok();
                return Poll::Ready(None);
            }
            command.as_mut().poll(cx).map(Some)
        })
        .await;
        // The command can complete while it is cancelled. From now on, the other end keeps the value.
        self.0.close();
        (result, ending.or_else(|| self.0.try_recv().ok()))
    }
}

impl<T: Send + 'static> CommandTask<T> {
    /// Runs the future that `commands` returns. It must end when its argument completes, and return
    /// what [`Cancelled::or`] returned.
    pub(super) fn spawn<F>(client: &Client, commands: impl FnOnce(Cancelled) -> F) -> Self
    where
        F: Future<Output = Ended<T>> + Send + 'static,
    {
        let executor = client.executor();
        let runtime = executor.topology().runtime();
        Self::spawn_on(runtime, Arc::clone(executor.counters()), commands)
    }

    fn spawn_on<F>(runtime: &Handle, in_flight: Arc<InFlight>, commands: impl FnOnce(Cancelled) -> F) -> Self
    where
        F: Future<Output = Ended<T>> + Send + 'static,
    {
        let (cancel, cancelled) = oneshot::channel();
        Self {
            task: runtime.spawn(in_current_context(commands(Cancelled(cancelled)))),
            cancel: Some(cancel),
            in_flight,
            ending: None,
        }
    }

    /// The output of the commands.
    ///
    /// # Errors
    /// The runtime was shut down.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<T>> {
        let joined = Pin::new(&mut self.task).poll(cx);
        joined.map(|joined| output(joined).map(|(output, _)| output))
    }

    /// Cancels the commands, and waits until they have ended. That does not depend on the server.
    ///
    /// # Errors
    /// The runtime was shut down.
    pub(super) async fn cancel(mut self) -> Result<Ended<T>> {
        let unsent = self.send();
        let (output, ending) = output((&mut self.task).await)?;
        Ok((output, ending.or(unsent)))
    }
}

impl<T> CommandTask<T> {
    /// Cancels the commands if they are running. Otherwise returns the value.
    fn send(&mut self) -> Option<Ending> {
        self.cancel.take()?.send(self.in_flight.hold()).err()
    }
}

impl<T> Drop for CommandTask<T> {
    fn drop(&mut self) {
        self.ending = self.send();
    }
}

/// A panic continues in the caller.
fn output<T>(joined: Result<T, JoinError>) -> Result<T> {
    joined.map_err(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => Error::new(ErrorKind::Shutdown),
    })
}

#[cfg(test)]
mod tests {
    use std::{future::pending, pin::pin};

    use super::*;

    /// Reports what is in flight when it is dropped.
    struct Cursor(Arc<InFlight>, Option<oneshot::Sender<usize>>);

    impl Drop for Cursor {
        fn drop(&mut self) {
            let report = self.1.take().expect("dropped once");
            report.send(self.0.counts().background).expect("a receiver");
        }
    }

    fn running() -> (Arc<InFlight>, CommandTask<Cursor>, oneshot::Receiver<usize>) {
        let in_flight = Arc::<InFlight>::default();
        let (report, reported) = oneshot::channel();
        let cursor = Cursor(Arc::clone(&in_flight), Some(report));
        let task = CommandTask::spawn_on(
            &Handle::current(),
            Arc::clone(&in_flight),
            |cancelled| async move {
                let (_, ending) = cancelled.or(pin!(pending::<()>())).await;
                (cursor, ending)
            },
        );
        (in_flight, task, reported)
    }

    #[tokio::test]
    async fn a_dropped_command_counts_until_its_cursor_is_dropped() {
        let (in_flight, task, reported) = running();
        assert_eq!(in_flight.counts().background, 0);
        drop(task);
        assert_eq!(in_flight.counts().background, 1);
        assert_eq!(reported.await.expect("the cursor is dropped"), 1);
        in_flight.begin_shutdown().wait().await;
    }

    #[tokio::test]
    async fn a_cancelled_command_counts_until_its_cursor_is_closed() {
        let (in_flight, task, reported) = running();
        let (cursor, ending) = task.cancel().await.expect("the runtime is running");
        drop(cursor);
        assert_eq!(reported.await.expect("the cursor is dropped"), 1);
        drop(ending);
        assert_eq!(in_flight.counts().background, 0);
    }

    #[tokio::test]
    async fn an_output_that_was_not_received_counts_until_it_is_dropped() {
        let in_flight = Arc::<InFlight>::default();
        let (report, reported) = oneshot::channel();
        let cursor = Cursor(Arc::clone(&in_flight), Some(report));
        let counters = Arc::clone(&in_flight);
        let task = CommandTask::spawn_on(&Handle::current(), counters, |cancelled| async move {
            let (_, ending) = cancelled.or(pin!(async {})).await;
            (cursor, ending)
        });
        while !task.task.is_finished() {
            tokio::task::yield_now().await;
        }
        drop(task);
        assert_eq!(reported.await.expect("the cursor is dropped"), 1);
        assert_eq!(in_flight.counts().background, 0);
    }

    #[tokio::test]
    async fn a_completed_command_does_not_count() {
        let in_flight = Arc::<InFlight>::default();
        let counters = Arc::clone(&in_flight);
        let mut task = CommandTask::spawn_on(&Handle::current(), counters, |cancelled| async {
            cancelled.or(pin!(async { 1 })).await
        });
        let completed = std::future::poll_fn(|cx| task.poll(cx)).await;
        assert_eq!(completed.expect("the runtime is running"), Some(1));
        drop(task);
        assert_eq!(in_flight.counts().background, 0);
    }
}
