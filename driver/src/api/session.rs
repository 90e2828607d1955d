//! Sessions of the application.

use std::{fmt, sync::Arc};

use super::Client;
use crate::{
    Error, Result,
    bson::{Document, IntoDocument, Timestamp, Uuid, decode_document, doc},
    execution::ExplicitSession,
    proto::session::SessionOptions,
};

use super::command::awaitable;

/// Starts a session. Await it; see [`Client::start_session`].
#[must_use = "nothing happens before the action is awaited"]
#[derive(Debug)]
pub struct StartSession<'a> {
    client: &'a Client,
    options: SessionOptions,
}

impl<'a> StartSession<'a> {
    pub(super) fn new(client: &'a Client) -> Self {
        Self {
            client,
            options: SessionOptions::default(),
        }
    }

    /// Whether each operation sees what the operations before it wrote and saw, whichever members they ran on. Default:
    /// yes, but for snapshot sessions, which cannot.
    ///
    /// Unacknowledged writes are not covered. Reads and writes should use the concern `majority`, or a rolled back write can
    /// be seen and lost.
    pub fn causal_consistency(mut self, value: bool) -> Self {
        self.options.causal_consistency = Some(value);
        self
    }

    /// Whether all finds, aggregations and distincts see the data of one moment: that of the first of them. Needs server
    /// 5.0. Default: no.
    pub fn snapshot(mut self, value: bool) -> Self {
        self.options.snapshot = value;
        self
    }

    /// The moment that a snapshot session sees, instead of the first read's.
    pub fn snapshot_time(mut self, value: Timestamp) -> Self {
        self.options.snapshot_time = Some(value);
        self
    }

    async fn run(self) -> Result<ClientSession> {
        let session = self.client.executor().start_session(self.options)?;
        Ok(ClientSession {
            client: self.client.clone(),
            session,
        })
    }
}

awaitable!(['a] StartSession<'a> => ClientSession);

/// A sequence of operations that belong together (Sessions specification).
///
/// Give it to an action with `.session(&mut session)`. A session runs one operation at a time, which the borrow ensures;
/// cursors opened in it go on using it. Dropping it ends it, and so does [`end`](Self::end).
///
/// It can be used again after the future of an operation in it was dropped. The server may still run that operation's command,
/// so once the session has ended, its id is not used by any other.
///
/// ```no_run
/// # use marula_driver::bson::{Document, doc};
/// # async fn run(client: marula_driver::Client) -> marula_driver::Result<()> {
/// let books = client.database("shop").collection::<Document>("books");
/// let mut session = client.start_session().await?;
/// books.insert_one(&doc! { "_id": 1 }).session(&mut session).await?;
/// // Sees the insert, even on a secondary.
/// let book = books.find_one(doc! { "_id": 1 }).session(&mut session).await?;
/// # Ok(()) }
/// ```
pub struct ClientSession {
    client: Client,
    session: Arc<ExplicitSession>,
}

impl ClientSession {
    /// The `lsid` of the session's commands; `None` once it has ended.
    #[must_use]
    pub fn id(&self) -> Option<Document> {
        let session = self.session.lock();
        let id = session.server.as_ref()?.id;
        Some(doc! { "id": Uuid::from_bytes(id) })
    }

    /// The client that started it.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The newest `$clusterTime` that an operation of the session met, or that it was [given](Self::advance_cluster_time).
    #[must_use]
    pub fn cluster_time(&self) -> Option<Document> {
        let session = self.session.lock();
        decode_document(session.cluster_time()?.document().as_bytes()).ok()
    }

    /// When the last operation took place, by the deployment's clock. `None` before the first one, and on a standalone
    /// server, which has no such clock.
    #[must_use]
    pub fn operation_time(&self) -> Option<Timestamp> {
        self.session.lock().operation_time()
    }

    /// The moment that a snapshot session sees; `None` before its first read, and in other sessions.
    #[must_use]
    pub fn snapshot_time(&self) -> Option<Timestamp> {
        self.session.lock().snapshot_time()
    }

    /// Takes over the `$clusterTime` of another session, if it is newer.
    ///
    /// # Errors
    /// A document that is none.
    pub fn advance_cluster_time(&mut self, time: impl IntoDocument) -> Result<()> {
        let time = time.into_raw_document()?;
        if self.session.lock().advance_cluster_time(&time) {
            Ok(())
        } else {
            Err(Error::invalid_argument(
                "a cluster time is a document with a timestamp \"clusterTime\"",
            ))
        }
    }

    /// Takes over the operation time of another session, if it is newer: this session's next operation comes after it.
    pub fn advance_operation_time(&mut self, time: Timestamp) {
        self.session.lock().advance_operation_time(time);
    }

    /// Ends the session. Operations in it are refused from now on; ending it again does nothing.
    pub fn end(&mut self) {
        self.client.executor().end_session(&self.session);
    }

    pub(crate) fn shared(&self) -> &Arc<ExplicitSession> {
        &self.session
    }
}

impl Drop for ClientSession {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for ClientSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSession")
            .field("id", &self.id())
            .finish_non_exhaustive()
    }
}
