//! `drop`, `dropDatabase` and `dropIndexes`.

use std::time::Duration;

use super::{Operation, ReplyContext, write_result};
use crate::{
    Error, Namespace, Result,
    bson::Bson,
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        server_selection::Criteria,
    },
    types::concern::WriteConcern,
};

/// What is dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What<'a> {
    Collection(&'a Namespace),
    Database(&'a str),
    /// One index by name, or all but `_id_` for `*`.
    Index(&'a Namespace, &'a str),
}

/// Options of any drop.
#[derive(Clone, Debug, Default)]
pub(crate) struct DropOptions {
    pub(crate) raw_data: Option<bool>,
    pub(crate) max_time: Option<Duration>,
    pub(crate) comment: Option<Bson>,
}

/// Drops a collection, a database or an index. Dropping what does not exist succeeds, but for an index.
pub(crate) struct Drop<'a> {
    pub(crate) what: What<'a>,
    pub(crate) options: &'a DropOptions,
    pub(crate) write_concern: &'a WriteConcern,
}

impl Operation for Drop<'_> {
    type Output = ();
    const NAME: &'static str = "drop";

    fn database(&self) -> &str {
        match self.what {
            What::Collection(namespace) | What::Index(namespace, _) => &namespace.database,
            What::Database(name) => name,
        }
    }

    fn target(&self) -> Criteria<'_> {
        Criteria::Writable
    }

    fn write_concern(&self) -> Option<&WriteConcern> {
        Some(self.write_concern)
    }

    fn expects_reply(&self) -> bool {
        true
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        match self.what {
            What::Collection(namespace) => command.str("drop", &namespace.collection),
            What::Database(_) => command.i32("dropDatabase", 1),
            What::Index(namespace, name) => {
                command.str("dropIndexes", &namespace.collection);
                command.str("index", name);
            }
        }
        super::write_raw_data(command, self.options.raw_data, server);
        command.max_time(self.options.max_time);
        command.optional_bson("comment", self.options.comment.as_ref());
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<()> {
        write_result::check_single(reply)
    }

    fn recover(&mut self, error: Error) -> Result<()> {
        match (self.what, error.code()) {
            // "ns not found" has no code of its own on old servers.
            (What::Collection(_), Some(crate::error::code::NAMESPACE_NOT_FOUND)) => Ok(()),
            _ => Err(error),
        }
    }
}
