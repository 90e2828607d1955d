//! Awaiting a reply after the operation that it belongs to has ended, so that the connection can be
//! used again.
//!
//! The operation has ended because its future was dropped, or because its `timeoutMS` has passed.
//! All that is known of the reply is in the read buffer, so draining continues where the operation
//! stopped.

#[cfg(test)]
mod tests;

use std::{ops::Range, task::Poll, time::Duration};

use super::{Condition, Connection, State, timed_out};
use crate::{
    Error, Result,
    bson::RawDocumentBuf,
    error::NetworkPhase,
    proto::{
        command::{
            CommandBuilder, Envelope, OpenCursor, cluster_time_in, late_reply, lsid_in, state_change_in,
        },
        wire::command_body,
    },
    types::deadline::{Deadline, Elapsed},
};

/// The longest time without a byte of the reply.
const WINDOW: Duration = Duration::from_secs(3);

/// The longest time until the reply is complete: a server that sends a byte from time to time does not
/// keep the connection.
const TOTAL_DRAIN: Duration = Duration::from_secs(10);

/// Which cursors in a late reply are closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KilledCursors {
    /// Those that the command opened: the application does not know their ids. A cursor that the
    /// command continued is closed by its owner.
    Opened,
    /// All. Behind a load balancer, only this connection leads to the server of the cursor.
    All,
}

/// The state of the deployment in the late reply on a connection that no operation uses.
#[derive(Debug, Default)]
pub(crate) struct Drained {
    /// The "not writable primary" or "node is recovering" error in the reply.
    pub(crate) state_change: Option<Error>,
    /// `$clusterTime`.
    pub(crate) cluster_time: Option<RawDocumentBuf>,
}

/// What has been read of a reply: the whole, with the place of its body and whether another reply
/// follows, or some bytes.
type Progress = Option<Result<(Range<usize>, bool)>>;

impl Connection {
    /// Reads the outstanding reply and discards it. The connection can then be used again.
    ///
    /// If the future is dropped, the reply is still outstanding.
    ///
    /// # Errors
    /// The connection is broken: it failed, or no byte arrived for 3 s. Or `limit` has passed: then
    /// the reply is still outstanding.
    pub(crate) async fn drain(&mut self, limit: Deadline) -> Result<Range<usize>> {
        self.drain_within(WINDOW, limit).await
    }

    /// Reads the outstanding reply as [`drain`](Self::drain) does, but the connection is broken 10 s
    /// after the first call for this reply.
    pub(crate) async fn drain_in_time(&mut self, limit: Deadline) -> Result<Range<usize>> {
        let end = *self
            .drain_end
            .get_or_insert_with(|| Deadline::after(Some(TOTAL_DRAIN)));
        self.drain_until(end, limit).await
    }

    /// Reads the outstanding reply; the connection is broken at `end`.
    async fn drain_until(&mut self, end: Deadline, limit: Deadline) -> Result<Range<usize>> {
        let drained = self.drain(limit.min(end)).await;
        let has_ended = end.remaining().is_some_and(|left| left.is_zero());
        drained.map_err(|error| match self.condition() {
            Condition::OwesReply if has_ended => self.fail(timed_out(NetworkPhase::Read)),
            _ => error,
        })
    }

    /// Reads the outstanding reply, each byte of which arrives within `window`.
    async fn drain_within(&mut self, window: Duration, limit: Deadline) -> Result<Range<usize>> {
        self.read.discard_message();
        loop {
            let next_byte = Deadline::after(Some(window));
            match self.drain_step(next_byte.min(limit)).await {
                Ok(None) => {}
                Ok(Some(Ok((body, false)))) => {
                    if let Some(outstanding) = self.outstanding.take() {
                        outstanding.arrived(late_reply(self.reply(body.clone())));
                    }
                    self.drain_end = None;
                    self.end_of_reply();
                    return Ok(body);
                }
                Ok(Some(Ok((_, true)))) => {
                    let more = Error::protocol("a late reply announces another reply");
                    return Err(self.fail(more));
                }
                Ok(Some(Err(error))) => return Err(self.fail(error)),
                Err(Elapsed) if next_byte.remaining().is_some_and(|left| left.is_zero()) => {
                    return Err(self.fail(timed_out(NetworkPhase::Read)));
                }
                Err(Elapsed) => return Err(self.late(NetworkPhase::Read)),
            }
        }
    }

    /// Reads until the reply is complete, or else until some bytes of it have arrived: then returns
    /// `None`.
    fn drain_step(
        &mut self,
        deadline: Deadline,
    ) -> impl Future<Output = std::result::Result<Progress, Elapsed>> {
        let arrived = self.read.arrived();
        deadline.run_polled(move |cx| match self.poll_message(cx) {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
            Poll::Pending if self.read.arrived() > arrived => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        })
    }

    /// Marks the cursor that the last reply opened as one that must be closed, until
    /// [`release_cursor`](Self::release_cursor): if the operation fails or its future is dropped, the pool closes the
    /// cursor. Not to be called for a command of a transaction, at whose end the server closes the cursor.
    pub(crate) fn hold_cursor(&mut self, cursor: OpenCursor) {
        if self.state == State::Idle {
            self.state = State::HoldsCursor;
            self.unused_cursor = Some(Box::new(cursor));
        }
    }

    /// The operation uses the cursor.
    pub(crate) fn release_cursor(&mut self) -> Option<Box<OpenCursor>> {
        if self.state == State::HoldsCursor {
            self.state = State::Idle;
        }
        self.unused_cursor.take()
    }

    /// Reads the outstanding reply on a connection that no operation uses. Then closes the cursor in
    /// the reply, unless the server closes it with its transaction: `killCursors` would be a command
    /// beside those of the transaction. If that fails, the connection is broken, but the reply counts.
    ///
    /// # Errors
    /// The connection is broken, or the reply is not complete after 10 s.
    pub(crate) async fn drain_unused(&mut self, killed: KilledCursors) -> Result<Drained> {
        if let Some(cursor) = self.release_cursor() {
            // The operation has given its session back, and another may use it.
            let ended = self.kill(&cursor, None).await;
            self.read.discard_message();
            return ended.map(|()| Drained::default());
        }
        let body = self.drain_in_time(Deadline::NEVER).await?;
        let reply = self.reply(body);
        let drained = Drained {
            state_change: state_change_in(reply).map(|error| error.with_address(&self.address)),
            cluster_time: cluster_time_in(reply),
        };
        let cursor = OpenCursor::opened_by(reply).or_else(|| match killed {
            KilledCursors::Opened => None,
            KilledCursors::All => OpenCursor::continued_by(reply),
        });
        let is_in_transaction = self.transactional_request == Some(self.last_request);
        if let Some(cursor) = cursor
            && self.condition() == Condition::Reusable
            && !is_in_transaction
        {
            let lsid = self.lsid();
            // After an error the connection is broken.
            let _ = self.kill(&cursor, lsid).await;
        }
        // The connection may be available for long: its buffer must not keep the reply.
        self.read.discard_message();
        Ok(drained)
    }

    /// Closes a cursor on the server. The server may refuse to: it also closes cursors that are not
    /// used for 10 minutes.
    ///
    /// The session is that of the last request, also an explicit one, which the application may use at
    /// the same time.
    async fn kill(&mut self, cursor: &OpenCursor, lsid: Option<[u8; 16]>) -> Result<()> {
        let envelope = Envelope {
            lsid,
            cluster_time: cursor.cluster_time(),
            server_api: self.server_api,
        };
        let (message, _) = self.begin();
        let mut command = CommandBuilder::new(message.buffer);
        cursor.kill().write(&mut command);
        envelope.write(&mut command);
        command.finish(cursor.database())?;
        message.finish()?;
        let limit = Deadline::after(Some(WINDOW));
        self.send(limit).await?;
        let received = self.receive(limit).await;
        received.map(drop).map_err(|error| self.fail(error))
    }

    /// `lsid` of the last request, which the write buffer contains unless it was large.
    fn lsid(&self) -> Option<[u8; 16]> {
        match self.large_request {
            Some((number, lsid)) if number == self.last_request => lsid,
            _ => lsid_in(command_body(&self.write)?),
        }
    }

    /// Frees the write buffer after a large request has been sent.
    #[cold]
    pub(super) fn free_request(&mut self) {
        self.large_request = Some((self.last_request, command_body(&self.write).and_then(lsid_in)));
        self.write = Vec::new();
    }

    /// The error of an outstanding reply that is not awaited any longer.
    pub(crate) fn overdue(&self) -> Error {
        self.late(NetworkPhase::Read)
    }

    /// Whether the outstanding reply is that to a command of a transaction.
    pub(crate) fn owes_reply_of_transaction(&self) -> bool {
        self.owes_reply() && self.transactional_request == Some(self.last_request)
    }

    /// Whether a reply is outstanding that can be awaited.
    pub(crate) fn owes_reply(&self) -> bool {
        self.state == State::Reading && self.condition() == Condition::OwesReply
    }
}
