//! `commitTransaction` and `abortTransaction` ([Transactions]).
//!
//! [Transactions]:
//! https://github.com/mongodb/specifications/blob/master/source/transactions/transactions.md

use crate::{
    Result,
    execution::ExplicitSession,
    operation::{Operation, Properties, ReplyContext, Retry, write_result},
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        retry::Intent,
        session::TransactionCommand,
    },
};

/// Ends the transaction of a session.
pub(in crate::api) struct EndTransaction<'a> {
    pub(in crate::api) session: &'a ExplicitSession,
    /// [`Commit`](TransactionCommand::Commit) or [`Abort`](TransactionCommand::Abort).
    pub(in crate::api) command: TransactionCommand,
}

impl EndTransaction<'_> {
    fn name(&self) -> &'static str {
        match self.command {
            TransactionCommand::Commit => "commitTransaction",
            TransactionCommand::Abort | TransactionCommand::Operation => "abortTransaction",
        }
    }
}

impl Operation for EndTransaction<'_> {
    type Output = ();

    fn properties(&self) -> Properties<'_> {
        Properties {
            retry: Retry::Write,
            intent: Intent::Write,
            transaction: self.command,
            ..Properties::administration(self.name(), "admin", None)
        }
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, _server: &HelloReply) -> Result<()> {
        command.i32(self.name(), 1);
        let session = self.session.lock();
        if let Some(transaction) = session.transaction() {
            command.write_concern(&transaction.write_concern(self.command));
            if self.command == TransactionCommand::Commit {
                command.max_time(transaction.max_commit_time());
            }
            command.optional_document("recoveryToken", transaction.recovery_token());
        }
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<()> {
        write_result::check_single(reply)
    }
}
