//! One client connection: reads requests one after the other, runs them, writes replies.

use super::compress::{self, Compressor, OP_COMPRESSED};
use super::message::{self, CHECKSUM_PRESENT, EXHAUST_ALLOWED, MORE_TO_COME};
use super::{HEADER_SIZE, Header, MAX_MESSAGE_SIZE, OP_MSG, OP_QUERY, is_too_large, legacy};
use crate::auth::Session;
use crate::command::{Outcome, dispatch};
use crate::deployment::Deployment;
use crate::error::code;
use crate::member::Member;
use crate::net::{Accepted, Socket, Stream};
use crate::violation::{Violation, ViolationKind};
use bson::Document;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, ReadHalf, WriteHalf};

/// How long the end of a connection may take to arrive that the client has closed already.
const CLOSING: Duration = Duration::from_secs(1);

/// What the server knows of a connection.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: i32,
    pub(crate) peer: String,
    /// `client.application.name` of the handshake.
    pub(crate) app_name: Option<String>,
    /// Whom the certificate that it showed names.
    pub(crate) certificate_subject: Option<String>,
    /// The connection came through a load balancer.
    pub(crate) balanced: bool,
    /// The first hello was answered.
    pub(crate) greeted: bool,
    /// Who is logged in, or about to be.
    pub(crate) session: Mutex<Session>,
    /// The compressors agreed on.
    pub(crate) compressors: Vec<Compressor>,
}

/// Serves a connection until either side closes it.
pub(crate) async fn serve(socket: Socket, balanced: bool, deployment: Arc<Deployment>, member: Arc<Member>) {
    let _counted = deployment.events.connection_opened();
    // A client that cannot agree on the encryption learns that from the handshake.
    let Ok(accepted) = socket.open(deployment.tls.clone()).await else {
        return;
    };
    let Accepted {
        stream,
        peer,
        certificate_subject,
    } = accepted;
    let (read, write) = tokio::io::split(stream);
    let client = Client {
        id: deployment.next_connection_id(),
        peer,
        certificate_subject,
        app_name: None,
        balanced,
        greeted: false,
        session: Mutex::default(),
        compressors: Vec::new(),
    };
    let mut connection = Connection {
        reader: BufReader::with_capacity(64 * 1024, read),
        writer: write,
        client,
        next_id: 1,
        compressor: None,
    };
    let id = connection.client.id;
    let _listed = Connected::new(&member, id, &connection.client.peer);
    // An error here is the client's hanging up; there is nobody to tell.
    let _ = connection.run(&deployment, &member).await;
}

/// A connection is listed by its process as long as this exists.
struct Connected<'m> {
    member: &'m Member,
    id: i32,
}

impl<'m> Connected<'m> {
    fn new(member: &'m Member, id: i32, peer: &str) -> Connected<'m> {
        member.operations.connected(id, peer);
        Connected { member, id }
    }
}

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        self.member.operations.disconnected(self.id);
    }
}

struct Connection {
    reader: BufReader<ReadHalf<Stream>>,
    writer: WriteHalf<Stream>,
    client: Client,
    next_id: i32,
    /// What the request came compressed by: its reply goes the same way.
    compressor: Option<Compressor>,
}

impl Connection {
    async fn run(&mut self, deployment: &Arc<Deployment>, member: &Arc<Member>) -> io::Result<()> {
        loop {
            let mut head = [0; HEADER_SIZE];
            self.reader.read_exact(&mut head).await?;
            let Some(mut header) = Header::parse(head) else {
                if is_too_large(head) {
                    self.note_too_large(deployment, "the message");
                }
                return Ok(());
            };
            // Memory grows with what arrives, not with what the header claims.
            let mut bytes = Vec::with_capacity(header.length.min(64 * 1024));
            bytes.extend(head);
            (&mut self.reader)
                .take((header.length - HEADER_SIZE) as u64)
                .read_to_end(&mut bytes)
                .await?;
            if bytes.len() < header.length {
                return Ok(());
            }
            self.compressor = None;
            if header.op_code == OP_COMPRESSED {
                if compress::is_too_large(&bytes) {
                    self.note_too_large(deployment, "the decompressed message");
                }
                let Some((message, compressor)) = compress::unpack(&bytes, &self.client.compressors) else {
                    return Ok(());
                };
                let Some(inner) = message.first_chunk().and_then(|head| Header::parse(*head)) else {
                    return Ok(());
                };
                (bytes, header, self.compressor) = (message, inner, Some(compressor));
            }
            let go_on = match header.op_code {
                OP_MSG => self.message(&bytes, header, deployment, member).await?,
                OP_QUERY => self.query(&bytes, header, deployment, member).await?,
                _ => false,
            };
            if !go_on {
                return Ok(());
            }
        }
    }

    async fn message(
        &mut self,
        bytes: &[u8],
        header: Header,
        deployment: &Arc<Deployment>,
        member: &Arc<Member>,
    ) -> io::Result<bool> {
        let parsed = match message::parse(bytes) {
            Ok(parsed) => parsed,
            Err(error) => {
                // The stream cannot be trusted after a malformed message: answer, then close. A document that is too large
                // is none.
                let is_too_large = error.code == code::BSON_OBJECT_TOO_LARGE;
                if is_too_large && message::flags(bytes) & MORE_TO_COME != 0 {
                    return Ok(true);
                }
                let reply = message::reply(self.next_id(), header.request_id, 0, &error.to_reply());
                self.send(&compress::pack(reply, self.compressor)).await?;
                return Ok(is_too_large);
            }
        };
        let echoed = parsed.flags & CHECKSUM_PRESENT;
        let exhaust = parsed.flags & EXHAUST_ALLOWED != 0;
        let mut body = parsed.body;
        let mut response_to = header.request_id;
        loop {
            let Some(outcome) = self.run_command(&body, deployment, member).await? else {
                return Ok(false);
            };
            let reply = match outcome {
                Outcome::Close => return Ok(false),
                Outcome::Reply(reply) => reply,
            };
            if parsed.flags & MORE_TO_COME != 0 {
                // Nobody waits for this reply; a write on a server that is no longer primary closes the connection.
                let lost_primary = reply
                    .get_i32("code")
                    .is_ok_and(|code| matches!(code, 10107 | 189 | 11602 | 91));
                return Ok(!lost_primary);
            }
            let next_body = if exhaust {
                next_streamed(&body, &reply, deployment)
            } else {
                None
            };
            let flags = echoed | if next_body.is_some() { MORE_TO_COME } else { 0 };
            let id = self.next_id();
            let bytes = message::reply(id, response_to, flags, &reply);
            self.send(&compress::pack(bytes, self.compressor)).await?;
            match next_body {
                Some(next) => (body, response_to) = (next, id),
                None => return Ok(true),
            }
        }
    }

    async fn query(
        &mut self,
        bytes: &[u8],
        header: Header,
        deployment: &Arc<Deployment>,
        member: &Arc<Member>,
    ) -> io::Result<bool> {
        let (reply, go_on) = match legacy::parse(bytes) {
            Ok(body) => match self.run_command(&body, deployment, member).await? {
                Some(Outcome::Reply(reply)) => (reply, true),
                Some(Outcome::Close) | None => return Ok(false),
            },
            Err(error) => (error.to_reply(), false),
        };
        let id = self.next_id();
        self.send(&legacy::reply(id, header.request_id, &reply)).await?;
        Ok(go_on)
    }

    fn note_too_large(&self, deployment: &Deployment, what: &str) {
        deployment.violations.record(Violation {
            kind: ViolationKind::MessageTooLarge,
            command: String::new(),
            session: None,
            connection: self.client.id,
            detail: format!("{what} is longer than maxMessageSizeBytes ({MAX_MESSAGE_SIZE})"),
        });
    }

    /// Runs a command, which may wait; `None` when the client hung up meanwhile.
    async fn run_command(
        &mut self,
        body: &Document,
        deployment: &Arc<Deployment>,
        member: &Arc<Member>,
    ) -> io::Result<Option<Outcome>> {
        let id = self.client.id;
        let violations = &deployment.violations;
        let outcome = {
            let command = dispatch(deployment, member, &mut self.client, body);
            tokio::pin!(command);
            tokio::select! {
                biased;
                outcome = &mut command => outcome,
                buffered = self.reader.fill_buf() => {
                    if buffered.as_ref().map_or(true, |bytes| bytes.is_empty()) {
                        violations.abandon(id);
                    }
                    if buffered?.is_empty() {
                        return Ok(None);
                    }
                    // The next request is here already; it is read when this one is answered.
                    command.await
                }
            }
        };
        if violations.is_repeated(id) {
            let buffered = tokio::time::timeout(CLOSING, self.reader.fill_buf()).await;
            let closed = buffered.is_ok_and(|read| read.map_or(true, <[u8]>::is_empty));
            violations.settle(id, body, closed);
        }
        Ok(Some(outcome))
    }

    /// Encrypted bytes may wait for the socket until they are flushed.
    async fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.writer.write_all(message).await?;
        self.writer.flush().await
    }

    fn next_id(&mut self) -> i32 {
        let id = self.next_id;
        self.next_id = id.checked_add(1).unwrap_or(1);
        id
    }
}

/// The request that the server makes for itself to go on streaming: the same hello from the version just sent, or the same getMore
/// while the cursor is open. A mongos streams no cursors.
fn next_streamed(body: &Document, reply: &Document, deployment: &Deployment) -> Option<Document> {
    reply.get("ok").filter(|ok| crate::value::truthy(ok))?;
    if body.keys().next().is_some_and(|name| name == "getMore") {
        let open = reply
            .get_document("cursor")
            .is_ok_and(|cursor| cursor.get_i64("id").is_ok_and(|id| id != 0));
        return (open && !deployment.is_mongos()).then(|| body.clone());
    }
    if !body.contains_key("maxAwaitTimeMS") || !body.contains_key("topologyVersion") {
        return None;
    }
    let version = reply.get("topologyVersion")?.clone();
    let mut next = body.clone();
    next.insert("topologyVersion", version);
    Some(next)
}
