//! Requests for a connection.

use std::{sync::Arc, time::Instant};

use tokio::sync::oneshot;

use super::{Pool, PooledConnection};
use crate::{
    Error, ErrorKind, PoolError, Result,
    connection::Connection,
    proto::cmap::{CheckOut, ConnectionKey, Refusal, WaiterId},
    types::deadline::Deadline,
};

impl Pool {
    /// An available connection, without waiting.
    pub(crate) fn try_check_out(self: &Arc<Self>) -> Option<PooledConnection> {
        loop {
            let mut state = self.lock();
            let found = state.machine.try_check_out(Instant::now());
            self.perform(state);
            let (key, connection) = found?;
            if let Some(connection) = self.examine(key, connection) {
                return Some(connection);
            }
        }
    }

    /// A connection, waiting in the queue if need be: until `deadline`, and until `waitQueueTimeoutMS` is over unless a
    /// connection is being established for this request by then.
    ///
    /// Dropping the future loses nothing: what was meant for it goes to others.
    pub(crate) async fn check_out(self: &Arc<Self>, deadline: Deadline) -> Result<PooledConnection> {
        loop {
            let (waiter, answer) = oneshot::channel();
            let mut state = self.lock();
            let outcome = state.machine.check_out(waiter, Instant::now());
            let cause = match outcome {
                CheckOut::Refused(_) => state.cause.clone(),
                _ => None,
            };
            self.perform(state);
            match outcome {
                CheckOut::Connection(key, connection) => {
                    if let Some(connection) = self.examine(key, connection) {
                        return Ok(connection);
                    }
                }
                CheckOut::Waiting(id) => {
                    let request = Request {
                        pool: self,
                        id,
                        answer,
                        answered: false,
                    };
                    return request.wait(deadline).await;
                }
                CheckOut::Refused(why) => return Err(self.refusal(why, cause)),
            }
        }
    }

    /// Closes the connection if the server closed it while it was idle.
    fn examine(self: &Arc<Self>, key: ConnectionKey, mut connection: Box<Connection>) -> Option<PooledConnection> {
        if connection.has_perished() {
            self.check_in(key, connection, false);
            return None;
        }
        Some(PooledConnection::new(Arc::clone(self), key, connection))
    }
}

/// A place in the wait queue, left when dropped.
struct Request<'a> {
    pool: &'a Arc<Pool>,
    id: WaiterId,
    answer: oneshot::Receiver<Result<PooledConnection>>,
    answered: bool,
}

impl Request<'_> {
    async fn wait(mut self, deadline: Deadline) -> Result<PooledConnection> {
        let wait_queue_timeout = Deadline::after(self.pool.settings.wait_queue_timeout);
        if let Some(answer) = self.answer_until(wait_queue_timeout.min(deadline)).await {
            return answer;
        }
        if deadline.has_passed() {
            return Err(self.too_late());
        }
        if !self.pool.lock().machine.is_being_served(self.id) {
            return Err(self.wait_queue_timeout());
        }
        match self.answer_until(deadline).await {
            Some(answer) => answer,
            None => Err(self.too_late()),
        }
    }

    async fn answer_until(&mut self, deadline: Deadline) -> Option<Result<PooledConnection>> {
        let answer = deadline.run(&mut self.answer).await.ok()?;
        self.answered = true;
        Some(answer.unwrap_or_else(|_| Err(self.pool.refusal(Refusal::Closed, None))))
    }

    fn wait_queue_timeout(&self) -> Error {
        Error::new(ErrorKind::Pool(PoolError::WaitQueueTimeout {
            address: self.pool.address.clone(),
            timeout: self.pool.settings.wait_queue_timeout.unwrap_or_default(),
            connections: self.pool.lock().machine.counts().total,
            max_pool_size: self.pool.settings.max_pool_size,
        }))
    }

    fn too_late(&self) -> Error {
        Error::timeout("the operation's time ended while it waited for a connection of the pool")
            .with_address(&self.pool.address)
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        // An answer that is there already, or is being sent, goes down with the channel and gives its connection back.
        if !self.answered {
            self.pool.lock().machine.cancel(self.id);
        }
    }
}
