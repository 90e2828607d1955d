//! Check-outs.

use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use tokio::sync::oneshot::{self, error::TryRecvError};

use super::{Pool, PooledConnection};
use crate::{
    Error, ErrorKind, PoolError, Result,
    connection::{Connection, LoginSettings},
    error::ConnectionsInUse,
    proto::cmap::{CheckOut, Counts, Refusal, WaiterId},
    types::deadline::Deadline,
};

impl Pool {
    /// Checks out an available connection without waiting.
    #[inline]
    pub fn try_check_out(self: &Arc<Self>, now: Instant) -> Option<PooledConnection> {
        let mut state = self.lock_for_change();
        let found = state.machine.try_check_out(now, has_perished);
        self.perform(state);
        let (key, connection) = found?;
        Some(PooledConnection::new(Arc::clone(self), key, connection))
    }

    /// Checks out a connection. Waits in the WaitQueue until `deadline`, if `timeoutMS` set one.
    /// Otherwise waits for at most `waitQueueTimeoutMS`, unless a connection is then being
    /// established for this request.
    ///
    /// The future can be dropped at any time: its connection goes to another request, and a timed
    /// out check-out is emitted.
    pub async fn check_out(self: &Arc<Self>, deadline: Option<Deadline>) -> Result<PooledConnection> {
        self.begin_check_out()?.wait(deadline).await
    }

    /// Begins a check-out: the request takes its place in the WaitQueue at once. Needs no runtime.
    pub fn begin_check_out(self: &Arc<Self>) -> Result<CheckingOut> {
        let (waiter, answer) = oneshot::channel();
        let mut state = self.lock_for_change();
        let outcome = state.machine.check_out(waiter, Instant::now(), has_perished);
        self.perform(state);
        match outcome {
            CheckOut::Connection(key, connection) => {
                let connection = PooledConnection::new(Arc::clone(self), key, connection);
                Ok(CheckingOut::Done(connection))
            }
            CheckOut::Waiting(id) => Ok(CheckingOut::Waiting(Request {
                pool: Arc::clone(self),
                id,
                since: tokio::time::Instant::now(),
                answer,
                answered: false,
            })),
            CheckOut::Refused(why) => Err(self.refusal(why)),
        }
    }
}

/// Whether the server closed the connection while it was available.
pub(super) fn has_perished(connection: &mut Box<Connection>) -> bool {
    connection.has_perished()
}

/// A check-out that has begun. If it is dropped, its connection goes to another request.
pub enum CheckingOut {
    /// A connection was available.
    Done(PooledConnection),
    /// The request waits.
    Waiting(Request),
}

impl CheckingOut {
    /// The check-out, unless it is one of another pool or has failed, or its connection is stale or was closed by the
    /// server meanwhile.
    pub(crate) fn usable(self, pool: &Arc<Pool>) -> Option<Self> {
        let mut connection = match self {
            Self::Done(connection) => connection,
            Self::Waiting(mut request) => match request.answer.try_recv() {
                Err(TryRecvError::Empty) => {
                    return Arc::ptr_eq(&request.pool, pool).then_some(Self::Waiting(request));
                }
                answer => {
                    request.answered = true;
                    answer.ok()?.ok()?
                }
            },
        };
        let is_usable = connection.is_of(pool) && !connection.is_stale() && !connection.has_perished();
        is_usable.then_some(Self::Done(connection))
    }

    /// Waits for the connection as [`Pool::check_out`] does.
    pub async fn wait(self, deadline: Option<Deadline>) -> Result<PooledConnection> {
        match self {
            Self::Done(connection) => Ok(connection),
            Self::Waiting(request) => request.wait(deadline).await,
        }
    }
}

/// Without the pool, whose lock another lock may precede.
impl fmt::Debug for CheckingOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done(_) => "Done",
            Self::Waiting(_) => "Waiting",
        })
    }
}

/// A request in the WaitQueue, removed when dropped.
pub struct Request {
    pool: Arc<Pool>,
    id: WaiterId,
    /// When the check-out began.
    since: tokio::time::Instant,
    answer: oneshot::Receiver<Result<PooledConnection>>,
    answered: bool,
}

impl Request {
    async fn wait(mut self, deadline: Option<Deadline>) -> Result<PooledConnection> {
        let wait_queue_timeout = self.pool.settings.wait_queue_timeout;
        let limit = deadline.unwrap_or_else(|| Deadline::since(self.since, wait_queue_timeout));
        if let Some(answer) = self.answer_until(limit).await {
            return answer;
        }
        if deadline.is_none() {
            if !self.pool.lock().machine.is_being_served(self.id) {
                return Err(self.too_late(wait_queue_timeout.unwrap_or_default()));
            }
            if let Some(answer) = self.answer_until(Deadline::NEVER).await {
                return answer;
            }
        }
        Err(self.too_late(self.since.elapsed()))
    }

    async fn answer_until(&mut self, deadline: Deadline) -> Option<Result<PooledConnection>> {
        let answer = deadline.run(&mut self.answer).await.ok()?;
        self.answered = true;
        Some(answer.unwrap_or_else(|_| Err(self.pool.refusal(Refusal::Closed))))
    }

    fn too_late(&self, timeout: Duration) -> Error {
        let counts = self.pool.lock().machine.counts();
        let in_use = self
            .pool
            .connection
            .load_balanced
            .then(|| self.pool.connections_in_use(counts));
        let login = self.pool.connection.login.as_ref();
        Error::new(ErrorKind::Pool(PoolError::WaitQueueTimeout {
            address: self.pool.address.clone(),
            timeout,
            connections: counts.total,
            pending: counts.pending,
            awaited: login
                .filter(|_| counts.pending > 0)
                .and_then(LoginSettings::awaited),
            max_pool_size: self.pool.settings.max_pool_size,
            in_use,
        }))
    }
}

impl Pool {
    pub(super) fn connections_in_use(&self, counts: Counts) -> ConnectionsInUse {
        let cursors = self.pinned.cursors.load(Ordering::Relaxed);
        let transactions = self.pinned.transactions.load(Ordering::Relaxed);
        let in_use = counts.total - counts.available - counts.pending - counts.draining;
        ConnectionsInUse {
            cursors,
            transactions,
            // The counters can change between the reads.
            other: in_use.saturating_sub(cursors + transactions),
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        // An answer that was sent, or is being sent, is dropped with the channel and checks its
        // connection in.
        if !self.answered {
            let mut state = self.pool.lock_for_change();
            state.machine.cancel(self.id, Instant::now());
            self.pool.perform(state);
        }
    }
}
