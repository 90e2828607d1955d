//! One socket to one server: establishing it, sending a command, reading its reply.
//!
//! A [`Connection`] records whether a reply is outstanding. It can be dropped at any time, as can a
//! future that uses it: its [`Condition`] determines whether the pool uses it again, waits for the
//! outstanding reply first, or closes it ([MongoDB Handshake], [Authentication], [OP_MSG]).
//!
//! [MongoDB Handshake]:
//! https://github.com/mongodb/specifications/blob/master/source/mongodb-handshake/handshake.md
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md
//! [OP_MSG]: https://github.com/mongodb/specifications/blob/master/source/message/OP_MSG.md

#[cfg(feature = "dns")]
mod address_families;
#[cfg(feature = "aws-auth")]
mod aws_auth;
#[cfg(any(feature = "aws-auth", feature = "encryption"))]
mod aws_container;
#[cfg(any(feature = "aws-auth", feature = "encryption"))]
mod aws_environment;
#[cfg(any(feature = "aws-auth", feature = "encryption"))]
mod aws_sources;
mod connect;
mod dialer;
mod dns;
mod drain;
mod establish;
#[cfg(feature = "gssapi")]
mod gssapi;
mod hello_stream;
mod http;
mod interruption;
mod keys;
#[cfg(feature = "encryption")]
mod kms;
mod login;
#[cfg(feature = "internals")]
mod mapped_dialer;
mod metadata;
mod metadata_service;
mod oidc;
mod open;
mod read_buffer;
#[cfg(feature = "dns")]
mod resolver;
#[cfg(not(feature = "dns"))]
#[path = "resolver_off.rs"]
mod resolver;
mod socks5;
mod source_error;
#[cfg(any(feature = "aws-auth", feature = "encryption"))]
mod source_tls;
mod stream;
#[cfg(feature = "rustls")]
mod tls;
#[cfg(not(feature = "rustls"))]
#[path = "tls_off.rs"]
mod tls;
#[cfg(all(feature = "internals", feature = "aws-auth"))]
pub mod untrusted;
#[cfg(any(feature = "aws-auth", feature = "encryption"))]
mod web_identity;

use std::{
    fmt,
    ops::Range,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use zeroize::Zeroize;

use crate::{
    Error, Result, ServerAddress,
    error::NetworkPhase,
    proto::{
        auth::Mechanism,
        command::OpenCursor,
        description::HelloReply,
        wire::{
            Compression, DEFAULT_MAX_MESSAGE_SIZE, HEADER_LENGTH, Header, MessageWriter, ReplyBuffer,
            parse_op_msg,
        },
    },
    types::{deadline::Deadline, late_replies::OutstandingReply, secret::Secret, server_api::ServerApi},
};
#[cfg(all(feature = "aws-auth", feature = "internals"))]
pub use aws_auth::AwsCache;
#[cfg(feature = "encryption")]
pub(crate) use aws_environment::AwsSource;
#[cfg(feature = "encryption")]
pub(crate) use aws_sources::from_variables;
#[cfg(not(feature = "internals"))]
pub(crate) use dialer::SystemDialer as Dialer;
pub use dns::{DnsLookup, Lookup, LookupError};
pub(crate) use drain::KilledCursors;
pub use establish::ConnectionSettings;
pub(crate) use interruption::Interruption;
#[cfg(feature = "encryption")]
pub(crate) use kms::KmsTransport;
pub use login::{LoginEnvironment, LoginSettings};
#[cfg(feature = "internals")]
pub use mapped_dialer::Dialer;
pub(crate) use metadata::SharedMetadata;
pub use metadata_service::MetadataServices;
#[cfg(feature = "encryption")]
pub(crate) use metadata_service::{METADATA_TIME_LIMIT, fetch};
use read_buffer::ReadBuffer;
pub use resolver::Resolver;
#[cfg(feature = "encryption")]
pub(crate) use source_error::SourceError;
#[cfg(feature = "encryption")]
pub(crate) use source_tls::SourceTls;
use stream::Stream;
pub use tls::TlsConfig;

/// The largest reply of the handshake in bytes: to the first hello, and to the commands of the authentication.
const MAX_HANDSHAKE_REPLY: usize = 1 << 20;

/// A write buffer above this capacity is freed after a request that did not need it, so that one
/// large insert does not keep its memory.
const KEPT_WRITE_CAPACITY: usize = 1 << 20;
/// A write buffer with more capacity than this is freed at once. A smaller one is kept for the next
/// large insert: new pages of memory cost more than writing the bytes.
const MOST_WRITE_CAPACITY: usize = 4 << 20;

/// An established connection. `Debug` prints no bytes of messages: they may contain secrets.
pub struct Connection {
    address: ServerAddress,
    stream: Stream,
    hello: HelloReply,
    /// The declared version of the server's interface.
    server_api: Option<ServerApi>,
    handshake_time: Duration,
    /// By which the user has logged in.
    mechanism: Option<Mechanism>,
    /// The access token of OIDC that it has logged in with (the connection cache).
    token: Option<Secret>,
    write: Vec<u8>,
    read: ReadBuffer,
    /// `None` if no compressor was offered.
    compression: Option<Box<Compression>>,
    last_request: i32,
    /// The number of the last request that is part of a transaction.
    transactional_request: Option<i32>,
    /// The number and `lsid` of the last request after which the write buffer was freed.
    large_request: Option<(i32, Option<[u8; 16]>)>,
    /// When the connection is broken unless the outstanding reply has been read.
    drain_end: Option<Deadline>,
    /// Of an explicit session. Kept while the reply to the last request is outstanding and the connection is not
    /// broken.
    outstanding: Option<OutstandingReply>,
    /// The last reply announced another one: that one answers the reply, not our request.
    exhaust: bool,
    /// The user has logged in, so an outstanding reply is one to a command of the application.
    is_established: bool,
    state: State,
    /// In [`State::HoldsCursor`]: the cursor.
    unused_cursor: Option<Box<OpenCursor>>,
    /// Where the body of the last reply to hello lies in the read buffer, until the next reply.
    hello_body: Range<usize>,
    /// What broke it.
    failure: Option<Error>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("address", &self.address)
            .field("mechanism", &self.mechanism)
            .field("state", &self.state)
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing is outstanding.
    Idle,
    /// A request is being written: an unknown part of it may have been sent.
    Writing,
    /// A request was sent, and its reply has not been read in full.
    Reading,
    /// The reply was read. It opened a cursor that must be closed if the connection is not used further.
    HoldsCursor,
    /// The socket failed, or the server's bytes made no sense.
    Broken,
}

/// What can be done with a connection that is not in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It can be used again.
    Reusable,
    /// It can be used again after its outstanding reply was read, or the cursor that its last reply opened was closed,
    /// with `Connection::drain_unused`.
    OwesReply,
    /// It must be closed.
    Broken,
}

impl Connection {
    /// The reply of the server to the handshake.
    pub fn hello(&self) -> &HelloReply {
        &self.hello
    }

    /// How long the server took to answer the handshake.
    pub fn handshake_time(&self) -> Duration {
        self.handshake_time
    }

    /// The bytes of the reply to the last hello. Empty after another command was sent.
    pub fn hello_reply(&self) -> &[u8] {
        self.reply(self.hello_body.clone())
    }

    /// `connectionId` in the reply to the handshake.
    pub fn server_connection_id(&self) -> Option<i64> {
        self.hello.connection_id
    }

    /// What can be done with the connection when it is no longer in use. It must be closed if the
    /// socket failed, the use was interrupted, or a request was sent in part. A reply can be awaited
    /// by others only if it is the last one to the request.
    pub fn condition(&self) -> Condition {
        match self.state {
            // Without the latter, an authentication was interrupted, and the user is unknown.
            _ if self.is_interrupted() || !self.is_established => Condition::Broken,
            State::Idle => Condition::Reusable,
            State::Reading if !self.exhaust => Condition::OwesReply,
            State::HoldsCursor => Condition::OwesReply,
            State::Reading | State::Writing | State::Broken => Condition::Broken,
        }
    }

    fn is_interrupted(&self) -> bool {
        self.read.interruption().is_some_and(Interruption::is_interrupted)
    }

    /// What broke the connection by itself, where that is known.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref().filter(|_| !self.is_interrupted())
    }

    /// The means to stop what another task does with this connection.
    pub fn interruption(&mut self) -> Arc<Interruption> {
        self.read.share_interruption()
    }

    /// Whether the server closed the socket, or sent unexpected data, while the connection was
    /// idle. Makes no system call unless the socket is readable.
    pub fn has_perished(&mut self) -> bool {
        if self.state == State::Idle && self.stream.is_readable() {
            // Readiness is reported once, so the result is kept.
            self.state = State::Broken;
        }
        self.state != State::Idle
    }

    /// Begins a request, which must not exceed the limits of the server. Discards the contents of
    /// the write buffer.
    pub fn begin(&mut self) -> (MessageWriter<'_>, &HelloReply) {
        self.write.clear();
        self.last_request = self.last_request.wrapping_add(1);
        let limit = self.max_message_size();
        (
            MessageWriter::begin(&mut self.write, self.last_request, limit),
            &self.hello,
        )
    }

    /// Gives up a request that was begun and cannot be sent. Nothing is outstanding. Its bytes are erased: it may be one that is
    /// sent after its encryption.
    pub fn discard_request(&mut self) {
        self.write.as_mut_slice().zeroize();
        self.write.clear();
        if self.write.capacity() > KEPT_WRITE_CAPACITY {
            self.write = Vec::new();
        }
    }

    /// Marks the request that was begun as part of a transaction: the server closes a cursor that it
    /// opens at the end of the transaction. `reply` is kept until
    /// its reply was read, or the connection is broken.
    pub(crate) fn mark_transactional(&mut self, reply: OutstandingReply) {
        self.transactional_request = Some(self.last_request);
        self.keep_for_session(reply);
    }

    /// Keeps `reply`, for an explicit session, until the reply to the request that was begun was read, or the
    /// connection is broken.
    pub(crate) fn keep_for_session(&mut self, reply: OutstandingReply) {
        self.outstanding = Some(reply);
    }

    /// The request that was written last, until it is sent.
    pub fn request(&self) -> &[u8] {
        &self.write
    }

    /// Its number.
    pub fn request_id(&self) -> i32 {
        self.last_request
    }

    /// Sends the request, in one system call when the socket takes it.
    ///
    /// # Errors
    /// The connection is broken, unless the deadline passed before any byte was written.
    pub async fn send(&mut self, deadline: Deadline) -> Result<()> {
        self.state = State::Writing;
        self.hello_body = 0..0;
        let limit = self.max_message_size();
        // In a block, so that the future does not contain the result.
        let bytes = {
            let packed = match &mut self.compression {
                None => Ok(&*self.write),
                Some(compression) => compression.pack(&self.write, limit),
            };
            match packed {
                Ok(bytes) => bytes,
                Err(error) => return Err(self.fail(error.into())),
            }
        };
        let interruption = self.read.interruption();
        let stream = &mut self.stream;
        let mut written = 0;
        let sent = deadline
            .run_polled(|cx| stream.poll_write_all(cx, bytes, &mut written, interruption))
            .await;
        if let Some(compression) = &mut self.compression {
            compression.release(KEPT_WRITE_CAPACITY);
        }
        let capacity = self.write.capacity();
        // A large buffer is kept for requests that are as large.
        if capacity > KEPT_WRITE_CAPACITY
            && (capacity > MOST_WRITE_CAPACITY || self.write.len() <= KEPT_WRITE_CAPACITY)
        {
            self.free_request();
        }
        match sent {
            Ok(Ok(())) => {
                self.state = State::Reading;
                Ok(())
            }
            Ok(Err(error)) => Err(self.fail(Error::network(NetworkPhase::Write, error))),
            Err(_) if written == 0 && !self.stream.is_encrypted() => {
                self.state = State::Idle;
                self.outstanding = None;
                Err(self.late(NetworkPhase::Write))
            }
            Err(_) => Err(self.fail(timed_out(NetworkPhase::Write))),
        }
    }

    /// After [`send`](Self::send) of a request that has no reply.
    pub fn expect_nothing(&mut self) {
        self.state = State::Idle;
    }

    /// Reads the reply to the last request and returns where its body lies in
    /// [`reply`](Self::reply).
    ///
    /// # Errors
    /// The connection is broken, unless the deadline passed: then the reply is still outstanding,
    /// and [`fail`](Self::fail) must be called if it shall not be awaited.
    pub async fn receive(&mut self, deadline: Deadline) -> Result<Range<usize>> {
        self.read.discard_message();
        match deadline.run_polled(|cx| self.poll_message(cx)).await {
            Ok(Ok((body, more_to_come))) => {
                if !more_to_come {
                    self.end_of_reply();
                }
                Ok(body)
            }
            Ok(Err(error)) => Err(self.fail(error)),
            Err(_) => Err(self.late(NetworkPhase::Read)),
        }
    }

    /// The last reply to the request was read.
    fn end_of_reply(&mut self) {
        self.outstanding = None;
        // Unexpected bytes would be read as the next reply.
        self.state = if self.read.has_surplus() {
            State::Broken
        } else {
            State::Idle
        };
    }

    /// Continues to read a message. Received bytes are kept in the read buffer, so calls share no
    /// other state.
    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Result<(Range<usize>, bool)>> {
        let limit = self.max_reply_size();
        loop {
            let mut wanted = HEADER_LENGTH;
            if let Some(header) = self.read.header() {
                let header = Header::parse(header, limit)?;
                if header.response_to != self.last_request && !self.exhaust {
                    return Poll::Ready(Err(Error::protocol(format!(
                        "a reply answers request {}, but request {} was sent",
                        header.response_to, self.last_request
                    ))));
                }
                if self.read.arrived() >= header.length {
                    return Poll::Ready(self.accept(header, limit));
                }
                wanted = header.length;
            }
            ready!(self.read.poll_more(cx, &mut self.stream, wanted))
                .map_err(|error| Error::network(NetworkPhase::Read, error))?;
        }
    }

    /// Takes the message that the read buffer begins with. Returns where its body lies, and whether
    /// another one follows.
    fn accept(&mut self, header: Header, limit: usize) -> Result<(Range<usize>, bool)> {
        self.read.set_message(header.length);
        if header.compressed {
            let Some(compression) = &mut self.compression else {
                return Err(Error::protocol(
                    "a reply is compressed, but no compressor was offered",
                ));
            };
            self.read.unpack(compression, limit)?;
        }
        let message = parse_op_msg(self.read.message())?;
        self.exhaust = message.more_to_come;
        Ok((message.body, message.more_to_come))
    }

    /// The largest message that the server takes; before its hello is known, the default.
    fn max_message_size(&self) -> usize {
        self.hello.max_message_size().unwrap_or(DEFAULT_MAX_MESSAGE_SIZE)
    }

    /// The maximum size of a reply in bytes, both compressed and decompressed.
    /// `maxMessageSizeBytes` of the server can lower the limit of 48,000,000, but not raise it: it bounds the
    /// memory that a peer can make the driver allocate. Replies of the handshake are smaller.
    fn max_reply_size(&self) -> usize {
        let limit = self.max_message_size();
        if self.is_established {
            limit
        } else {
            limit.min(MAX_HANDSHAKE_REPLY)
        }
    }

    /// The bytes of the last reply, as far as `range`.
    pub fn reply(&self, range: Range<usize>) -> &[u8] {
        self.read.message().get(range).unwrap_or_default()
    }

    /// Takes the last reply out of the connection, for a cursor that outlives it.
    pub fn take_reply(&mut self, range: Range<usize>) -> ReplyBuffer {
        self.read.take(range)
    }

    /// The error of a deadline that passed, which does not break the connection.
    fn late(&self, phase: NetworkPhase) -> Error {
        timed_out(phase).with_address(&self.address)
    }

    /// Marks the connection unusable and adds its address to the error.
    pub fn fail(&mut self, error: Error) -> Error {
        self.state = State::Broken;
        self.outstanding = None;
        let error = error.with_address(&self.address);
        self.failure = Some(error.clone());
        error
    }
}

fn timed_out(phase: NetworkPhase) -> Error {
    Error::network(phase, std::io::ErrorKind::TimedOut.into())
}
