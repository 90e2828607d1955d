//! [`Client::shutdown`].

use std::{pin::Pin, time::Duration};

use tokio::{task::JoinHandle, time::Instant};

use super::{Client, command::EndSessions};
use crate::{
    execution::Executor,
    types::{deadline::Deadline, read_preference::PRIMARY_PREFERRED},
};

/// The maximum number of session IDs in one `endSessions` command (Driver Sessions, "endSessions").
const END_SESSIONS_BATCH: usize = 10_000;
/// The time limit for `endSessions` when a client is shut down or dropped.
const END_SESSIONS_LIMIT: Duration = Duration::from_secs(2);

impl Client {
    /// Shuts down the client and all its clones: waits until what is in flight has ended, if a
    /// [deadline](Shutdown::deadline) is set, sends `endSessions` for unused sessions, closes the
    /// connections, and stops the monitors. Awaiting the action returns what had not ended.
    ///
    /// From the first poll on, new operations fail with
    /// [`ErrorKind::Shutdown`](crate::ErrorKind::Shutdown). Until the deadline these continue:
    ///
    /// - operations, with their retries, and transactions of the
    ///   [convenient API](Client::transaction), with their repetitions;
    /// - open cursors: they can be read to their end. Tailable cursors and change streams have no
    ///   end: the shutdown waits for a running getMore, which takes up to `max_await_time`, and the
    ///   next one fails with `Shutdown`. Commands are not examined: a cursor of
    ///   [`run_cursor_command`](crate::Database::run_cursor_command) is tailable if its option
    ///   `cursor_type` says so, and an `aggregate` with `$changeStream` returns an ordinary cursor;
    /// - transactions in progress: operations in their sessions, commit and abort;
    /// - open streams of GridFS;
    /// - the work of the driver for what was dropped: closing cursors, aborting transactions and
    ///   uploads, awaiting late replies. The abort after an operation that was dropped waits for its late
    ///   reply, for up to 3 s, but not longer than half of the deadline.
    ///
    /// A value that the caller holds itself counts as in flight: drop cursors, transactions and
    /// streams before awaiting the action. When the connections are closed, operations that wait
    /// for a server or a connection fail with `Shutdown`, and operations whose command was sent can
    /// complete.
    ///
    /// `endSessions` is limited to 2 s, in addition to the deadline. Another call, also on a clone,
    /// has a deadline of its own; all end when the first closes the connections. On a client that
    /// was shut down, the action completes at once.
    ///
    /// # Cancel safety
    /// If the future is dropped, the client accepts operations again, unless another shutdown is
    /// running or has completed, and `shutdown` can be called again. Aborts then wait for late replies as the
    /// deadline of the other shutdown permits.
    ///
    /// ```no_run
    /// # async fn run(client: marula_driver::Client) {
    /// use std::time::Duration;
    /// let rest = client.shutdown().deadline(Duration::from_secs(10)).await;
    /// if !rest.is_empty() {
    ///     eprintln!("closed with {} operations and {} cursors in flight", rest.operations, rest.cursors);
    /// }
    /// # }
    /// ```
    pub fn shutdown(&self) -> Shutdown<'_> {
        Shutdown {
            client: self,
            deadline: Duration::ZERO,
        }
    }
}

/// Shuts down a client. Await it for an [`Unfinished`]; see [`Client::shutdown`].
#[must_use = "nothing happens before the action is awaited"]
#[derive(Debug)]
pub struct Shutdown<'a> {
    client: &'a Client,
    deadline: Duration,
}

impl Shutdown<'_> {
    /// How long the action waits for what is in flight. [`Duration::MAX`] means no limit. Default:
    /// zero, it does not wait.
    pub fn deadline(mut self, value: Duration) -> Self {
        self.deadline = value;
        self
    }

    async fn run(self) -> Unfinished {
        let executor = self.client.executor();
        let mut closing = executor.begin_shutdown();
        if !self.deadline.is_zero() {
            let began = Instant::now();
            let after = |time| began.checked_add(time).map_or(Deadline::NEVER, Deadline::at);
            if after(self.deadline / 2).run(closing.wait()).await.is_err() {
                closing.hurry();
                let _ = after(self.deadline).run(closing.wait()).await;
            }
        }
        let rest = executor.in_flight();
        let encryption = executor.encryption();
        // Tasks, so that the sessions end also if this future is dropped. They fail with the runtime
        // of the client, and do not begin while that runtime does not run.
        let endings = [
            Some(executor),
            encryption.and_then(|encryption| encryption.internal()),
        ]
        .map(|executor| executor.and_then(end_sessions_in_background));
        let limit = Deadline::after(Some(END_SESSIONS_LIMIT));
        for ending in endings.into_iter().flatten() {
            let _ = limit.run(ending).await;
        }
        executor.topology().close();
        if let Some(encryption) = encryption {
            encryption.close();
        }
        closing.complete();
        Unfinished {
            operations: rest.operations,
            cursors: rest.cursors,
            transactions: rest.transactions,
            background_tasks: rest.background,
        }
    }
}

impl<'a> IntoFuture for Shutdown<'a> {
    type Output = Unfinished;
    type IntoFuture = Pin<Box<dyn Future<Output = Unfinished> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// What had not ended when [`Client::shutdown`] closed the connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfinished {
    /// Number of running operations and open streams of GridFS.
    pub operations: usize,
    /// Number of cursors that were open on a server, except tailable cursors and change streams.
    pub cursors: usize,
    /// Number of transactions that were neither committed nor aborted.
    pub transactions: usize,
    /// Number of tasks of the driver that close cursors, abort transactions and uploads, or await
    /// late replies.
    pub background_tasks: usize,
}

impl Unfinished {
    /// Whether everything had ended.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Ends the unused sessions in a background task. The task holds the topology, which closes after it
/// if the client was dropped.
pub(super) fn end_sessions_in_background(executor: &Executor) -> Option<JoinHandle<()>> {
    let ids = executor.drain_sessions();
    if ids.is_empty() || !executor.has_server(PRIMARY_PREFERRED) {
        return None;
    }
    let executor = executor.successor();
    let runtime = executor.topology().runtime().clone();
    Some(runtime.spawn(async move { end_sessions(&executor, ids).await }))
}

/// Sends `endSessions` for these sessions with read preference `primaryPreferred` (Driver Sessions,
/// "endSessions"). Sessions expire on the server in any case, so errors are ignored, server
/// selection does not wait, and the time limit is [`END_SESSIONS_LIMIT`].
async fn end_sessions(executor: &Executor, ids: Vec<[u8; 16]>) {
    let deadline = Deadline::after(Some(END_SESSIONS_LIMIT));
    let all = async {
        for batch in ids.chunks(END_SESSIONS_BATCH) {
            if !executor.has_server(PRIMARY_PREFERRED) {
                return;
            }
            let mut operation = EndSessions { ids: batch };
            let _ = executor.run(&mut operation).await;
        }
    };
    let _ = deadline.run(all).await;
}
