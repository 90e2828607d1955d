//! One client connection: reads requests in order, runs them and writes the replies.

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

/// The time to wait for the end of a stream that the client has already closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The state of a client connection.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: i32,
    pub(crate) peer: String,
    /// `client.application.name` of the handshake.
    pub(crate) app_name: Option<String>,
    /// The subject of the verified client certificate.
    pub(crate) certificate_subject: Option<String>,
    /// The connection came through a load balancer.
    pub(crate) load_balanced: bool,
    /// The first hello has been answered.
    pub(crate) handshake_complete: bool,
    /// The authentication state.
    pub(crate) session: Mutex<Session>,
    /// The negotiated compressors, in the client's order.
    pub(crate) compressors: Vec<Compressor>,
}

/// Serves a connection until either side closes it.
pub(crate) async fn serve(
    socket: Socket,
    load_balanced: bool,
    deployment: Arc<Deployment>,
    member: Arc<Member>,
) {
    let _counted = deployment.events.connection_opened();
    // The TLS handshake has reported the error to the client.
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
        load_balanced,
        handshake_complete: false,
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
    let _listed = ConnectionGuard::new(&member, id, &connection.client.peer);
    // An error means that the client has disconnected, so it cannot be reported.
    let _ = connection.run(&deployment, &member).await;
    deployment.violations.settle(id, true);
}

/// Registers a connection with its process until it is dropped.
struct ConnectionGuard<'m> {
    member: &'m Member,
    id: i32,
}

impl<'m> ConnectionGuard<'m> {
    fn new(member: &'m Member, id: i32, peer: &str) -> ConnectionGuard<'m> {
        member.operations.connected(id, peer);
        ConnectionGuard { member, id }
    }
}

impl Drop for ConnectionGuard<'_> {
    fn drop(&mut self) {
        self.member.operations.disconnected(self.id);
    }
}

struct Connection {
    reader: BufReader<ReadHalf<Stream>>,
    writer: WriteHalf<Stream>,
    client: Client,
    next_id: i32,
    /// The compressor of the request, which is also used for its reply.
    compressor: Option<Compressor>,
}

impl Connection {
    async fn run(&mut self, deployment: &Arc<Deployment>, member: &Arc<Member>) -> io::Result<()> {
        loop {
            let mut head = [0; HEADER_SIZE];
            self.reader.read_exact(&mut head).await?;
            let Some(mut header) = Header::parse(head) else {
                if is_too_large(head) {
                    self.record_too_large(deployment, "the message");
                }
                return Ok(());
            };
            // The buffer grows with the bytes received, not with the length in the header.
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
                    self.record_too_large(deployment, "the decompressed message");
                }
                let Some((message, compressor)) = compress::unpack(&bytes, &self.client.compressors) else {
                    return Ok(());
                };
                let Some(inner) = message.first_chunk().and_then(|head| Header::parse(*head)) else {
                    return Ok(());
                };
                (bytes, header, self.compressor) = (message, inner, Some(compressor));
            }
            let served = match header.op_code {
                OP_MSG => self.message(&bytes, header, deployment, member).await,
                OP_QUERY => self.query(&bytes, header, deployment, member).await,
                _ => Ok(false),
            };
            let keep_open = served.as_ref().is_ok_and(|keep_open| *keep_open);
            if deployment.violations.is_repeated(self.client.id) {
                let closed = !keep_open || self.is_closed_by_client().await;
                deployment.violations.settle(self.client.id, closed);
            }
            if !served? {
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
                // The stream is unreliable after a malformed message: reply, then close. A document
                // that is too large does not affect the framing.
                let is_too_large = error.code == code::BSON_OBJECT_TOO_LARGE;
                if let Some(kind) = error.violation {
                    self.record(deployment, kind, error.message.clone());
                }
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
        if let Some(path) = parsed.repeated {
            let detail = format!("a document has the field `{path}` twice");
            let violations = &deployment.violations;
            violations.record_command(ViolationKind::DuplicateField, &body, self.client.id, detail);
        }
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
                // The client does not read this reply. A write to a server that is not the primary
                // closes the connection.
                let is_not_primary = reply
                    .get_i32("code")
                    .is_ok_and(|code| matches!(code, 10107 | 189 | 11602 | 91));
                return Ok(!is_not_primary);
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
        let (reply, keep_open) = match legacy::parse(bytes) {
            Ok(body) => match self.run_command(&body, deployment, member).await? {
                Some(Outcome::Reply(reply)) => (reply, true),
                Some(Outcome::Close) | None => return Ok(false),
            },
            Err(error) => (error.to_reply(), false),
        };
        let id = self.next_id();
        self.send(&legacy::reply(id, header.request_id, &reply)).await?;
        Ok(keep_open)
    }

    fn record_too_large(&self, deployment: &Deployment, what: &str) {
        let detail = format!("{what} is longer than maxMessageSizeBytes ({MAX_MESSAGE_SIZE})");
        self.record(deployment, ViolationKind::MessageTooLarge, detail);
    }

    /// Records a violation by a message that is not parsed.
    fn record(&self, deployment: &Deployment, kind: ViolationKind, detail: String) {
        deployment.violations.record(Violation {
            kind,
            command: String::new(),
            session: None,
            connection: self.client.id,
            detail,
        });
    }

    /// Runs a command. Returns `None` if the client disconnects meanwhile.
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
                    // The next request has arrived already; it is read after the reply to this one.
                    command.await
                }
            }
        };
        Ok(Some(outcome))
    }

    /// Whether the end of the stream comes next. Called after the reply: a proxy between client and server may
    /// wait for the reply before it closes this connection.
    async fn is_closed_by_client(&mut self) -> bool {
        let buffered = tokio::time::timeout(CLOSE_TIMEOUT, self.reader.fill_buf()).await;
        buffered.is_ok_and(|read| read.map_or(true, <[u8]>::is_empty))
    }

    /// TLS may buffer bytes until they are flushed.
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

/// Returns the next request of an exhaust stream: the same hello with the last `topologyVersion`,
/// or the same getMore while the cursor is open. A mongos does not stream getMore.
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
