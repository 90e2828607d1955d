//! [`ClientSession`] ([Driver Sessions]).
//!
//! [Driver Sessions]:
//! https://github.com/mongodb/specifications/blob/master/source/sessions/driver-sessions.md

use std::{fmt, time::Duration};

use super::Client;
use crate::{
    Error, Result,
    bson::{Document, IntoDocument, Timestamp, Uuid, decode_document, doc},
    execution::SessionHandle,
    proto::session::SessionOptions,
    types::{
        timeout::{TimeLimit, TimeoutSource},
        transaction_options::TransactionOptions,
    },
};

use super::{command::awaitable, transaction};

/// Starts a session. Await it for a [`ClientSession`]; see [`Client::start_session`].
#[must_use = "nothing happens before the action is awaited"]
#[derive(Debug)]
pub struct StartSession<'a> {
    client: &'a Client,
    options: SessionOptions,
    transaction_defaults: TransactionOptions,
}

impl<'a> StartSession<'a> {
    pub(super) fn new(client: &'a Client) -> Self {
        Self {
            client,
            options: SessionOptions::default(),
            transaction_defaults: TransactionOptions::default(),
        }
    }

    /// Whether each operation observes the effects of the preceding operations in the session,
    /// whichever members they ran on. Default: `true`; `false` for snapshot sessions, for which
    /// `true` is an error.
    ///
    /// The guarantee holds for reads and acknowledged writes with read and write concern
    /// `majority`. With other concerns, a write that was observed may be rolled back.
    pub fn causal_consistency(mut self, value: bool) -> Self {
        self.options.causal_consistency = Some(value);
        self
    }

    /// Whether all `find`, `aggregate` and `distinct` operations read from the same snapshot, taken
    /// by the first of them (MongoDB 5.0+, replica sets and sharded clusters). Default: `false`.
    ///
    /// The level `snapshot` replaces the read concern of the client, database or collection. A read
    /// concern of another level that is set for one operation is an error. With an older server,
    /// operations in the session fail with [`Unsupported`](crate::ErrorKind::Unsupported).
    pub fn snapshot(mut self, value: bool) -> Self {
        self.options.snapshot = value;
        self
    }

    /// `atClusterTime` of the snapshot, e.g. [`ClientSession::snapshot_time`] of another session.
    /// An error without [`snapshot(true)`](Self::snapshot). Default: chosen by the server at the
    /// first read.
    pub fn snapshot_time(mut self, value: Timestamp) -> Self {
        self.options.snapshot_time = Some(value);
        self
    }

    /// The options of the transactions of the session that do not set them. Default: those of the
    /// client.
    pub fn default_transaction_options(mut self, value: TransactionOptions) -> Self {
        self.transaction_defaults = value;
        self
    }

    /// `defaultTimeoutMS`: the time limit of committing and of aborting a transaction, and of a
    /// transaction of the convenient API. Default: the
    /// [timeout](crate::options::ClientOptions::timeout) of the client. Other operations in the
    /// session do not use it.
    pub fn default_timeout(mut self, value: Duration) -> Self {
        self.options.default_timeout = Some(TimeLimit::of(value, TimeoutSource::Session));
        self
    }

    async fn run(mut self) -> Result<ClientSession> {
        let options = &mut self.options;
        options.default_timeout = options.default_timeout.or(self.client.timeout());
        let session = self.client.executor().start_session(self.options)?;
        Ok(ClientSession {
            client: self.client.clone(),
            session,
            transaction_defaults: Box::new(self.transaction_defaults),
        })
    }
}

awaitable!(['a] StartSession<'a> => ClientSession);

/// A session: a sequence of operations with causal consistency, on one snapshot, or with
/// transactions ([Driver Sessions]).
///
/// Pass it to an action with `.session(&mut session)`. The borrow ensures that a session runs one
/// operation at a time. Cursors opened in the session continue to use it. Dropping the session ends
/// it, as [`end`](Self::end) does; a transaction in progress is aborted in the background. The abort requests its
/// connection at once, so that dropping the session can call the listeners of pool events.
///
/// The session can be used after the future of an operation in it was dropped. The server may still
/// run the command of that operation, so the ID of the session is not reused after it has ended.
///
/// A session that is not used for 30 minutes (`logicalSessionTimeoutMinutes`) expires on the
/// server.
///
/// [Driver Sessions]:
/// https://github.com/mongodb/specifications/blob/master/source/sessions/driver-sessions.md
///
/// ```no_run
/// # use marula_driver::bson::{Document, doc};
/// # async fn run(client: marula_driver::Client) -> marula_driver::Result<()> {
/// let books = client.database("shop").collection::<Document>("books");
/// let mut session = client.start_session().await?;
/// books.insert_one(&doc! { "_id": 1 }).session(&mut session).await?;
/// // Observes the insert, also if it runs on a secondary.
/// let book = books.find_one(doc! { "_id": 1 }).session(&mut session).await?;
/// # Ok(()) }
/// ```
pub struct ClientSession {
    client: Client,
    session: SessionHandle,
    transaction_defaults: Box<TransactionOptions>,
}

impl ClientSession {
    /// The `lsid` of the session, `{ id: <UUID> }`. `None` after the session has ended.
    #[must_use]
    pub fn id(&self) -> Option<Document> {
        let session = self.session.lock();
        let id = session.server.as_ref()?.id;
        Some(doc! { "id": Uuid::from_bytes(id) })
    }

    /// The client that the session was started from.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The highest `$clusterTime` in the replies to operations of the session, or passed to
    /// [`advance_cluster_time`](Self::advance_cluster_time). Also in the late reply to an operation that was dropped
    /// or timed out, once it has arrived. `None` before the first reply, and on standalone servers, which do not return
    /// it.
    #[must_use]
    pub fn cluster_time(&self) -> Option<Document> {
        self.session.note_late_replies(self.client.executor());
        let session = self.session.lock();
        decode_document(session.cluster_time()?.document().as_bytes()).ok()
    }

    /// The highest `operationTime` in the replies to operations of the session, or passed to
    /// [`advance_operation_time`](Self::advance_operation_time). Also in the late reply to an operation that was
    /// dropped or timed out, once it has arrived. `None` before the first reply, and on standalone servers, which do not
    /// return it.
    #[must_use]
    pub fn operation_time(&self) -> Option<Timestamp> {
        self.session.note_late_replies(self.client.executor());
        self.session.lock().operation_time()
    }

    /// `atClusterTime` of the snapshot. `None` before the first read of a snapshot session, unless
    /// [it was set](StartSession::snapshot_time), and in other sessions.
    #[must_use]
    pub fn snapshot_time(&self) -> Option<Timestamp> {
        self.session.lock().snapshot_time()
    }

    /// Advances the cluster time to that of another session, as
    /// [`cluster_time`](Self::cluster_time) returns it. A time that is not later has no effect.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the document has no timestamp
    /// `clusterTime`.
    pub fn advance_cluster_time(&mut self, time: impl IntoDocument) -> Result<()> {
        let time = time.into_raw_document()?;
        if self.session.lock().advance_cluster_time(&time) {
            Ok(())
        } else {
            Err(Error::invalid_argument(
                "a cluster time must be a document with a timestamp \"clusterTime\"",
            ))
        }
    }

    /// Advances the operation time to that of another session, as
    /// [`operation_time`](Self::operation_time) returns it. A time that is not later has no effect.
    /// Reads of this session then observe the writes of the other, if
    /// [`advance_cluster_time`](Self::advance_cluster_time) was called with its cluster time.
    pub fn advance_operation_time(&mut self, time: Timestamp) {
        self.session.lock().advance_operation_time(time);
    }

    /// Ends the session, after it has aborted a transaction in progress. Otherwise nothing is sent:
    /// the client reuses the session on the server for other operations. Later operations in the
    /// session fail with [`InvalidArgument`](crate::ErrorKind::InvalidArgument). Ending it again has
    /// no effect.
    ///
    /// The abort waits for the late reply to an operation that was dropped or timed out, for up to 3 s; see
    /// [`abort_transaction`](Self::abort_transaction). If the time limit expires while another command of the
    /// transaction is running, of a cursor in another task, the session has ended, and the transaction is aborted
    /// in the background when the reply to that command has arrived.
    ///
    /// # Cancel safety
    /// If the future is dropped, the session has not ended.
    ///
    /// ```no_run
    /// # async fn run(mut session: marula_driver::ClientSession) {
    /// session.end().await;
    /// assert_eq!(session.id(), None);
    /// # }
    /// ```
    pub async fn end(&mut self) {
        self.end_with(None).await;
    }

    /// As [`end`](Self::end), with this time limit (`timeoutMS`) for the abort instead of the default
    /// of the session. Zero means no limit. In the body of a transaction of the convenient API with
    /// `timeoutMS`, the abort has that limit, from its beginning.
    ///
    /// # Cancel safety
    /// As [`end`](Self::end).
    ///
    /// ```no_run
    /// # async fn run(mut session: marula_driver::ClientSession) {
    /// session.end_within(std::time::Duration::from_secs(1)).await;
    /// # }
    /// ```
    pub async fn end_within(&mut self, timeout: Duration) {
        self.end_with(Some(timeout)).await;
    }

    async fn end_with(&mut self, timeout: Option<Duration>) {
        if self.in_transaction() {
            // Within a transaction of the convenient API with a time limit, an abort has no other.
            let has_limit = self.session.lock().timeout().is_set();
            let timeout = timeout.filter(|_| !has_limit);
            // Errors of the command are ignored, and the state permits the abort.
            let _ = transaction::abort(&self.client, &self.session, timeout).await;
            if self.in_transaction() {
                // The time limit expired before the abort could be sent: a getMore is running.
                let ended = self.client.executor().ended_session(&self.session);
                let session = std::mem::replace(&mut self.session, ended);
                end_in_background(&self.client, session);
                return;
            }
        }
        self.client.executor().end_session(&self.session);
    }

    pub(crate) fn shared(&self) -> &SessionHandle {
        &self.session
    }

    pub(super) fn transaction_defaults(&self) -> &TransactionOptions {
        &self.transaction_defaults
    }
}

impl Drop for ClientSession {
    /// Ends the session. With a transaction in progress, a task on the runtime of the client does
    /// so after the abort: the server session is not reused before.
    fn drop(&mut self) {
        if !self.in_transaction() {
            self.client.executor().end_session(&self.session);
            return;
        }
        end_in_background(&self.client, self.session.clone());
    }
}

/// Aborts the transaction of a session and ends the session, in a task on the runtime of the client. The check-out
/// for the abort begins before this function returns. Waits for a command of the transaction that is running, such as a getMore in another task, without a time limit.
fn end_in_background(client: &Client, session: SessionHandle) {
    // Later calls of bound handles would be lost with the transaction.
    session.lock().end_handles();
    let owned = client.clone();
    client.executor().reserve_for_abort(&session);
    client.executor().spawn(async move {
        // Again if another command has begun meanwhile, and ran for as long as the time limit of the abort.
        while session.lock().open_transaction().is_some() {
            session.idle().await;
            let _ = transaction::abort(&owned, &session, None).await;
        }
        session.release_reserved();
        owned.executor().end_session(&session);
    });
}

impl fmt::Debug for ClientSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSession")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}
