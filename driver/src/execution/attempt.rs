//! One attempt of an operation on one connection.

use std::{ops::Range, time::Instant};

use super::{
    Executor, OperationState, SessionHandle,
    encryption::{
        CHECKED_LEVELS, CommandEncryption, decrypt_reply, encrypt_request, has_encrypted_value, limited,
    },
    is_reauthentication_required,
    kind::Kind,
    monitoring::CommandMonitor,
};
use crate::{
    Error, ErrorKind, Result,
    bson::{BinarySubtype, ElementType, RawElements},
    connection::{Condition, Connection},
    operation::{CommandState, ImplicitSession, Operation, Properties, ReplyContext, Retry},
    pool::PooledConnection,
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        retry,
        server_selection::Criteria,
        session::{ReadTimeRule, Transaction, TransactionCommand, TransactionError},
        timeout::MaxTime,
        wire::ReplyBuffer,
    },
    telemetry::OperationScope,
    topology::SelectedServer,
    types::{read_preference::PRIMARY_PREFERRED, timeout::Timeout},
};

/// What is decided before the command is written.
pub(super) struct Attempt<'a> {
    pub(super) executor: &'a Executor,
    pub(super) server: &'a SelectedServer,
    pub(super) scope: &'a OperationScope,
    pub(super) explicit: Option<&'a SessionHandle>,
    lsid: Option<[u8; 16]>,
    transaction_number: Option<i64>,
    kind: Kind,
    pub(super) timeout: Timeout,
    /// What the command is to the transaction that it is part of.
    pub(super) transaction: Option<TransactionCommand>,
}

impl<'a> Attempt<'a> {
    /// Determines the fields of the command and its session. The session is taken from the session
    /// pool after the check-out, so that operations in the wait queue hold none.
    pub(super) fn new<'e: 'a, O: Operation>(
        executor: &'a Executor,
        server: &'a SelectedServer,
        operation: &mut O,
        connection: &Connection,
        state: &mut OperationState<'e>,
        now: Instant,
    ) -> Result<Self> {
        let hello = connection.hello();
        if let Some(requirement) = operation.requirement()
            && let Some(missing) = requirement.missing(hello.max_wire_version, server.address())
        {
            return Err(Error::unsupported(missing));
        }
        operation.prepare(&limited(hello, executor.encryption()));
        let properties = operation.properties();
        let mut attempt = Self {
            executor,
            server,
            scope: state.scope,
            explicit: state.explicit,
            lsid: match properties.implicit_session {
                ImplicitSession::OfCursor(session) => session.map(|session| session.id),
                ImplicitSession::FromPool | ImplicitSession::None => None,
            },
            transaction_number: None,
            kind: Kind::of(server, hello),
            timeout: state.timeout,
            transaction: state.transaction,
        };
        let numbered = executor.settings.retry.writes
            && properties.retry == Retry::Write
            && attempt.kind != Kind::Standalone;
        if state.transaction.is_some() && attempt.kind == Kind::Standalone {
            return Err(TransactionError::Standalone.into());
        }
        if let Some(explicit) = state.explicit {
            attempt.lsid = explicit.enter(executor, server, hello, &properties, state.transaction, now)?;
            if attempt.lsid.is_none() {
                attempt.explicit = None;
            }
            state.has_entered = attempt.lsid.is_some();
            if state.transaction.is_some() {
                attempt.transaction_number = explicit.change_transaction(|open| open.number());
            } else if numbered && let Some(session) = &mut explicit.lock().server {
                attempt.transaction_number = Some(state.number(session));
            }
            return Ok(attempt);
        }
        let timeout = server.session_timeout(hello);
        // Unacknowledged writes have no session (Driver Sessions, "Unacknowledged Writes").
        if timeout.is_none()
            || !matches!(properties.implicit_session, ImplicitSession::FromPool)
            || !properties.expects_reply
        {
            return Ok(attempt);
        }
        let mut session = match state.session.take() {
            Some(mut session) => {
                session.touch(now);
                session
            }
            None => executor.sessions.take(now, timeout),
        };
        attempt.lsid = Some(session.id);
        if numbered {
            attempt.transaction_number = Some(state.number(&mut session));
        }
        state.session = Some(session);
        Ok(attempt)
    }

    /// Whether the command is a retryable write: it has a transaction number, and is not an operation in a transaction.
    pub(super) fn is_numbered(&self) -> bool {
        self.transaction_number.is_some() && self.transaction != Some(TransactionCommand::Operation)
    }

    /// Sends the command and reads its reply. `in_flight` is set when the sending begins, except while the reply
    /// is decrypted.
    #[expect(
        clippy::manual_async_fn,
        reason = "the future of an `async fn` contains its arguments twice"
    )]
    pub(super) fn run<O: Operation>(
        &self,
        operation: &mut O,
        connection: &mut PooledConnection,
        in_flight: &mut bool,
    ) -> impl Future<Output = Result<O::Output>> {
        async move {
            let expects_reply = match self.write(operation, connection) {
                Ok(expects_reply) => expects_reply,
                Err(error) => {
                    connection.discard_request();
                    return Err(error);
                }
            };
            if let Some(encryption) = self
                .executor
                .encryption()
                .filter(|encryption| encryption.encrypts())
            {
                let database = operation.properties().database.to_owned();
                let max_time = operation.max_time();
                let encrypting = async {
                    let encrypted = encrypt_request(encryption, connection, &database, self.timeout).await?;
                    // Of the time that the encryption left.
                    let limit = self.max_time(max_time)?;
                    encrypted.write(connection, limit, expects_reply)
                };
                // Boxed, because most clients do not encrypt.
                if let Err(error) = Box::pin(encrypting).await {
                    connection.discard_request();
                    return Err(error);
                }
            }
            *in_flight = true;
            operation.command_state(CommandState::Running);
            self.begin_sending(connection);
            let mut monitor = CommandMonitor::start(self, operation, connection);
            let body = match self.exchange(expects_reply, connection).await {
                Ok(Some(body)) => body,
                Ok(None) => {
                    CommandMonitor::succeeded(monitor, None);
                    return operation.unacknowledged();
                }
                Err(error) => {
                    let error = self.end_exchange(connection, error);
                    let error = if self.is_numbered() {
                        retry::label_write_failure(error)
                    } else {
                        error
                    };
                    CommandMonitor::failed(monitor, &error);
                    return Err(error);
                }
            };
            let mut decrypted = None;
            if let Some(encryption) = self.executor.encryption()
                && has_encrypted_value(connection.reply(body.clone()))
            {
                let reply = decrypt_reply(self, encryption, connection, body.clone(), &mut monitor);
                // The session is not in use any longer. It is unknown to the application what the command has
                // done in a transaction.
                *in_flight = self.transaction.is_some();
                if !*in_flight {
                    operation.command_state(CommandState::Answered);
                }
                decrypted = Box::pin(reply).await?;
                *in_flight = true;
            }
            let bytes = decrypted
                .as_deref()
                .unwrap_or_else(|| connection.reply(body.clone()));
            // Not moved out of the result, which would copy it.
            let scanned = Reply::scan(bytes);
            let reply = match &scanned {
                Ok(reply) => reply,
                // The body is not a BSON document, so nothing else from this connection can be trusted.
                Err(error) => {
                    let error = connection.fail(error.clone());
                    CommandMonitor::failed(monitor, &error);
                    return Err(error);
                }
            };
            let (accepted, parsed) = self.read(operation, connection.hello(), reply);
            let is_reported = matches!(&parsed, Err(error) if error.is_state_change());
            if let Some(error) = reply.state_change().filter(|_| !is_reported) {
                // For every result of the operation: the specification requires that the write concern
                // error of any command is checked.
                let error = error.with_address(self.server.address());
                self.executor
                    .topology
                    .handle_error(self.server, connection.key(), &error);
            }
            match &parsed {
                Err(error) if !accepted => CommandMonitor::failed(monitor, error),
                _ => CommandMonitor::succeeded(monitor, Some(bytes)),
            }
            match parsed {
                Ok(mut output) => {
                    if let Some(cursor) = O::cursor(&mut output) {
                        cursor.batch.attach(|| match decrypted {
                            Some(bytes) => ReplyBuffer::whole(bytes),
                            None => connection.take_reply(body),
                        });
                    }
                    Ok(output)
                }
                Err(error) if breaks_structure(&error, connection.reply(body)) => Err(connection.fail(error)),
                Err(error) => Err(error.with_address(self.server.address())),
            }
        }
    }

    /// Sends the request. Returns the range of the body of the reply, if one is expected.
    fn exchange(
        &self,
        expects_reply: bool,
        connection: &mut Connection,
    ) -> impl Future<Output = Result<Option<Range<usize>>>> {
        let deadline = self.timeout.deadline(self.executor.settings.socket_timeout);
        async move {
            connection.send(deadline).await?;
            if expects_reply {
                return connection.receive(deadline).await.map(Some);
            }
            connection.expect_nothing();
            Ok(None)
        }
    }

    /// After `timeoutMS` has passed, the reply is awaited in the background, or the command was not
    /// sent at all, so that the connection is used again. A reply that is later than
    /// `socketTimeoutMS` is not awaited: the connection is closed.
    fn end_exchange(&self, connection: &mut Connection, error: Error) -> Error {
        if self.timeout.is_set() && connection.condition() != Condition::Broken {
            error
        } else {
            connection.fail(error)
        }
    }

    /// Writes the request. Returns whether a reply is expected.
    fn write<O: Operation>(&self, operation: &mut O, connection: &mut Connection) -> Result<bool> {
        let (mut message, hello) = connection.begin();
        let limited = limited(hello, self.executor.encryption());
        let hello = &*limited;
        let mut command = CommandBuilder::new(message.buffer);
        let has_clock = self.kind != Kind::Standalone;
        let has_timeout = self.timeout.is_set();
        if has_timeout {
            command.omit_time_limits();
        }
        match (self.explicit, self.transaction) {
            (Some(explicit), None) => {
                let rule = operation.properties().read_time;
                command.set_read_time(explicit.lock().read_time(rule, has_clock));
            }
            (_, Some(TransactionCommand::Operation)) => command.omit_concerns(),
            _ => {}
        }
        operation.build(&mut command, hello)?;
        command.remaining_read_time();
        if let Some(id) = &self.lsid {
            let start = command.begin_document("lsid");
            command.binary("id", BinarySubtype::Uuid, id);
            command.end(start);
        }
        if let Some(number) = self.transaction_number {
            command.i64("txnNumber", number);
        }
        if let Some(part) = self.transaction {
            self.write_transaction(part, &mut command);
        }
        if has_clock {
            self.write_cluster_time(&mut command);
        }
        let Properties {
            criteria,
            database,
            expects_reply,
            ..
        } = operation.properties();
        // The reads of a transaction have read preference primary.
        if self.transaction.is_none() {
            self.write_read_preference(criteria, hello, &mut command);
        }
        let expects_reply = expects_reply || self.transaction.is_some();
        if let Some(api) = self.executor.settings.server_api {
            command.server_api(api);
        }
        // mongocryptd gets no time limit (CSOT, "Client Side Encryption"), neither in a command of its client
        // nor in one that it marks.
        if has_timeout
            && !hello.iscryptd
            && !self.encrypts()
            && let Some(limit) = self.max_time(operation.max_time())?
        {
            command.i64("maxTimeMS", limit);
        }
        command.finish(database)?;
        operation.build_sequences(&mut message, hello)?;
        if !expects_reply {
            message.expect_no_reply();
        }
        message.finish()?;
        if has_timeout {
            self.timeout.check(self.server)?;
        }
        Ok(expects_reply)
    }

    fn encrypts(&self) -> bool {
        self.executor
            .encryption()
            .is_some_and(CommandEncryption::encrypts)
    }

    /// `maxTimeMS` of the command if `timeoutMS` is set.
    fn max_time(&self, rule: MaxTime) -> Result<Option<i64>> {
        if !self.timeout.is_set() {
            return Ok(None);
        }
        self.timeout.max_time_ms(rule, self.server)
    }

    /// The command is about to be sent: the transaction that it is part of has begun.
    #[inline]
    fn begin_sending(&self, connection: &mut Connection) {
        let Some(explicit) = self.explicit else { return };
        let Some(part) = self.transaction else {
            connection.keep_for_session(explicit.late_replies.expect_unawaited());
            return;
        };
        let number = self.transaction_number.unwrap_or_default();
        connection.mark_transactional(explicit.late_replies.expect(number));
        explicit.change_transaction(|transaction| transaction.sending(part));
    }

    /// `startTransaction` and `readConcern` of the first command of a transaction, and `autocommit`.
    fn write_transaction(&self, part: TransactionCommand, command: &mut CommandBuilder<'_>) {
        if let (Some(explicit), TransactionCommand::Operation) = (self.explicit, part) {
            let session = explicit.lock();
            let has_clock = self.kind != Kind::Standalone;
            let concern = session.transaction().and_then(Transaction::first_read_concern);
            if let Some(concern) = concern {
                let time = session.read_time(ReadTimeRule::Causal, has_clock);
                command.transaction_read_concern(&concern, time);
                command.bool("startTransaction", true);
            }
        }
        command.bool("autocommit", false);
    }

    /// `$clusterTime`: the newest that the client or the session has seen.
    fn write_cluster_time(&self, command: &mut CommandBuilder<'_>) {
        let known = self.executor.clock.time();
        if let Some(explicit) = self.explicit {
            let session = explicit.lock();
            if let Some(time) = session.cluster_time().filter(|time| time.number() > known) {
                command.document("$clusterTime", time.document());
                return;
            }
        }
        if known != 0
            && let Some(time) = &*self.executor.clock.newest()
        {
            command.document("$clusterTime", time.document());
        }
    }

    /// `$readPreference`, by the rules of the Server Selection specification: a command to a server
    /// that was selected by its address alone has `primaryPreferred`, so that a secondary accepts
    /// it. Standalone servers receive no read preference.
    fn write_read_preference(
        &self,
        criteria: Criteria<'_>,
        hello: &HelloReply,
        command: &mut CommandBuilder<'_>,
    ) {
        let preference = match criteria {
            Criteria::Read(preference) => preference,
            // The preference that selected the server (CRUD, "Read preferences and server selection"), which an older
            // server, also behind a load balancer, takes for that of a write. Writes have none.
            Criteria::AggregateWithWrite(preference)
                if hello.is_5_0() && !self.server.is_primary_required() =>
            {
                preference
            }
            _ => return,
        };
        match self.kind {
            Kind::Standalone => {}
            Kind::ReplicaSetMember if self.server.is_direct() && preference.is_primary() => {
                command.read_preference(PRIMARY_PREFERRED);
            }
            Kind::Router | Kind::ReplicaSetMember => {
                if !preference.is_primary() {
                    command.read_preference(preference);
                }
            }
        }
    }

    /// Takes the times of a reply, failed or not, into the client and the session.
    #[inline]
    pub(super) fn note_times(&self, reply: &Reply<'_>) {
        if let Some(time) = reply.cluster_time() {
            self.executor.clock.advance(time);
        }
        if let Some(explicit) = self.explicit {
            explicit.remember(reply);
        }
    }

    /// Whether the server accepted the command, and what comes of its reply.
    fn read<O: Operation>(
        &self,
        operation: &mut O,
        hello: &HelloReply,
        reply: &Reply<'_>,
    ) -> (bool, Result<O::Output>) {
        self.note_times(reply);
        let context = ReplyContext {
            address: self.server.address(),
        };
        let refusal = reply.command_error();
        let accepted = refusal.is_none();
        let result = match refusal {
            Some(error) => {
                // After "reauthentication required" the command is sent again. Without `ok`, the reply
                // does not say whether the command was run.
                if reply.is_refusal() && !is_reauthentication_required(&error) {
                    operation.refused(&error);
                }
                Err(error)
            }
            None => operation.parse(reply, &context),
        };
        let result = result.map_err(|error| {
            let error = if self.is_numbered() {
                retry::explain_refused_number(error)
            } else {
                error
            };
            if !self.is_numbered() || hello.is_4_4() {
                return error;
            }
            let (command, write_concern) = reply.failure_codes();
            let codes = retry::ReplyCodes {
                command,
                write_concern,
            };
            retry::label_unlabeled(error, codes, self.kind == Kind::Router)
        });
        (accepted, result)
    }
}

/// Whether the structure of the reply is broken, so that the connection cannot be reused. Data that
/// cannot be deserialized, such as text that is not UTF-8, does not break the structure.
fn breaks_structure(error: &Error, reply: &[u8]) -> bool {
    fn is_whole(document: &[u8], levels: usize) -> bool {
        let Ok(elements) = RawElements::new(document) else {
            return false;
        };
        elements
            .into_iter()
            .all(|element| match element.map(|e| e.value) {
                Ok(value) if matches!(value.kind(), ElementType::EmbeddedDocument | ElementType::Array) => {
                    levels == 0 || is_whole(value.bytes(), levels - 1)
                }
                read => read.is_ok(),
            })
    }
    matches!(error.kind(), ErrorKind::Decode(_)) && !is_whole(reply, CHECKED_LEVELS)
}
