//! One try of an operation on one connection.

use super::{Executor, Tries, monitoring::CommandMonitor};
use crate::{
    Error, ErrorKind, Result,
    bson::{BinarySubtype, decode_document},
    connection::Connection,
    operation::{Operation, ReplyContext, Retry},
    pool::PooledConnection,
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        retry,
        server_selection::Criteria,
    },
    topology::SelectedServer,
    types::{
        deadline::Deadline,
        read_preference::{ReadPreference, ReadPreferenceMode},
    },
};

/// What is decided before the command is written.
pub(super) struct Attempt<'a> {
    pub(super) executor: &'a Executor,
    pub(super) server: &'a SelectedServer,
    pub(super) operation_id: i64,
    lsid: Option<[u8; 16]>,
    transaction_number: Option<i64>,
}

impl<'a> Attempt<'a> {
    /// Chooses the session. It is taken after the check-out, so that waiting operations hold none.
    pub(super) fn new<O: Operation>(
        executor: &'a Executor,
        server: &'a SelectedServer,
        operation: &O,
        connection: &Connection,
        tries: &mut Tries,
    ) -> Self {
        let hello = connection.hello();
        let timeout = hello.session_timeout();
        let mut attempt = Self {
            executor,
            server,
            operation_id: tries.operation_id,
            lsid: operation.session().map(|session| session.id),
            transaction_number: None,
        };
        // An unacknowledged write has no session: nobody would notice the server forgetting it.
        if attempt.lsid.is_some()
            || timeout.is_none()
            || !operation.uses_session()
            || !operation.expects_reply()
        {
            return attempt;
        }
        let session = tries
            .session
            .get_or_insert_with(|| executor.sessions.take(timeout));
        attempt.lsid = Some(session.id);
        if executor.settings.retry.writes && operation.retry() == Retry::Write && supports_retry(hello) {
            // A retry carries the number of the first try, which is how the server knows it.
            let number = *tries
                .number
                .get_or_insert_with(|| session.next_transaction_number());
            attempt.transaction_number = Some(number);
        }
        attempt
    }

    /// Whether the server will know a second try of the command from the first.
    pub(super) fn is_numbered(&self) -> bool {
        self.transaction_number.is_some()
    }

    pub(super) async fn run<O: Operation>(
        &self,
        operation: &mut O,
        connection: &mut PooledConnection,
    ) -> Result<O::Output> {
        self.write(operation, connection)?;
        let monitor = CommandMonitor::start(self, operation, connection);
        let deadline = Deadline::after(self.executor.settings.socket_timeout);
        let exchange = async {
            connection.send(deadline).await?;
            if operation.expects_reply() {
                return connection.receive(deadline).await.map(Some);
            }
            connection.expect_nothing();
            Ok(None)
        };
        let body = match exchange.await {
            Ok(Some(body)) => body,
            Ok(None) => {
                CommandMonitor::succeeded(monitor, None);
                return operation.unacknowledged();
            }
            Err(error) => {
                let error = match self.transaction_number {
                    Some(_) => retry::label_write_failure(error),
                    None => error,
                };
                CommandMonitor::failed(monitor, &error);
                return Err(error);
            }
        };
        let bytes = connection.reply(body.clone());
        let (accepted, parsed) = self.read(operation, connection.hello(), bytes);
        match &parsed {
            Err(error) if !accepted => CommandMonitor::failed(monitor, error),
            _ => CommandMonitor::succeeded(monitor, Some(bytes)),
        }
        match parsed {
            Ok(mut output) => {
                O::attach_reply(&mut output, || connection.take_reply(body));
                Ok(output)
            }
            Err(error) if breaks_protocol(&error, connection.reply(body)) => Err(connection.fail(error)),
            Err(error) => Err(error.with_address(self.server.address())),
        }
    }

    fn write<O: Operation>(&self, operation: &mut O, connection: &mut Connection) -> Result<()> {
        let (mut message, hello) = connection.begin();
        let mut command = CommandBuilder::new(message.buffer);
        operation.build(&mut command, hello)?;
        if let Some(id) = &self.lsid {
            let start = command.begin_document("lsid");
            command.binary("id", BinarySubtype::Uuid, id);
            command.end(start);
        }
        if let Some(number) = self.transaction_number {
            command.i64("txnNumber", number);
        }
        if let Some(time) = &*self.executor.clock.read()
            && (hello.is_mongos() || hello.is_replica_set_member())
        {
            command.document("$clusterTime", time.document());
        }
        self.write_read_preference(operation.target(), hello, &mut command);
        command.finish(operation.database())?;
        operation.build_sequences(&mut message, hello)?;
        if !operation.expects_reply() {
            message.expect_no_reply();
        }
        message.finish()?;
        Ok(())
    }

    /// `$readPreference`, by the rules of the Server Selection specification: a server selected for its address alone is
    /// asked with `primaryPreferred`, so that a secondary answers; standalone servers are told nothing.
    fn write_read_preference(
        &self,
        criteria: Criteria<'_>,
        hello: &HelloReply,
        command: &mut CommandBuilder<'_>,
    ) {
        let Criteria::Read(preference) = criteria else {
            return;
        };
        if hello.is_mongos() {
            if !preference.is_primary() {
                command.read_preference(preference);
            }
        } else if hello.is_replica_set_member() {
            if self.server.is_direct() && preference.is_primary() {
                command.read_preference(&ReadPreference::new(ReadPreferenceMode::PrimaryPreferred));
            } else if !preference.is_primary() {
                command.read_preference(preference);
            }
        }
    }

    /// Whether the server accepted the command, and what comes of its reply.
    fn read<O: Operation>(
        &self,
        operation: &mut O,
        hello: &HelloReply,
        body: &[u8],
    ) -> (bool, Result<O::Output>) {
        let reply = match Reply::scan(body) {
            Ok(reply) => reply,
            Err(error) => return (false, Err(error)),
        };
        if let Some(time) = reply.cluster_time() {
            self.executor.clock.advance(time);
        }
        let context = ReplyContext {
            address: self.server.address(),
        };
        let refusal = reply.command_error();
        let accepted = refusal.is_none();
        let result = match refusal {
            Some(error) => Err(error),
            None => operation.parse(&reply, &context),
        };
        let result = result.map_err(|error| {
            if !self.is_numbered() || hello.is_4_4() {
                return error;
            }
            let (command, write_concern) = reply.failure_codes();
            let codes = retry::ReplyCodes {
                command,
                write_concern,
            };
            retry::label_unlabelled(error, codes, hello.is_mongos())
        });
        (accepted, result)
    }
}

/// Whether the reply is at fault, and not only the type it was to be read as. Then the connection cannot be trusted.
fn breaks_protocol(error: &Error, reply: &[u8]) -> bool {
    match error.kind() {
        ErrorKind::Protocol(_) => true,
        ErrorKind::Decode(_) => decode_document(reply).is_err(),
        _ => false,
    }
}

/// Standalone servers have no retryable writes.
fn supports_retry(hello: &HelloReply) -> bool {
    hello.is_mongos() || hello.is_replica_set_member()
}
