//! `distinct`.

use std::time::Duration;

use super::{Operation, ReadScope, ReplyContext, Retry};
use crate::{
    Error, Result,
    bson::{Bson, RawDocumentBuf, find_element, from_slice},
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        server_selection::Criteria,
    },
    types::{collation::Collation, hint::Hint},
};

/// Options of a distinct.
#[derive(Clone, Debug, Default)]
pub(crate) struct DistinctOptions {
    pub(crate) raw_data: Option<bool>,
    pub(crate) filter: RawDocumentBuf,
    pub(crate) max_time: Option<Duration>,
    pub(crate) collation: Option<Box<Collation>>,
    pub(crate) comment: Option<Box<Bson>>,
    pub(crate) hint: Option<Box<Hint>>,
}

/// The distinct values of one field.
pub(crate) struct Distinct<'a> {
    pub(crate) scope: ReadScope<'a>,
    pub(crate) field: &'a str,
    pub(crate) options: &'a DistinctOptions,
}

impl Operation for Distinct<'_> {
    type Output = Vec<Bson>;
    const NAME: &'static str = "distinct";

    fn database(&self) -> &str {
        &self.scope.namespace.database
    }

    fn target(&self) -> Criteria<'_> {
        Criteria::Read(self.scope.read_preference)
    }

    fn retry(&self) -> Retry {
        Retry::Read
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        command.str("distinct", &self.scope.namespace.collection);
        command.str("key", self.field);
        command.document("query", &self.options.filter);
        super::write_raw_data(command, self.options.raw_data, server);
        command.max_time(self.options.max_time);
        command.collation(self.options.collation.as_deref());
        command.optional_bson("comment", self.options.comment.as_deref());
        command.hint(self.options.hint.as_deref());
        command.read_concern(self.scope.read_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<Vec<Bson>> {
        #[derive(serde::Deserialize)]
        struct Values {
            values: Vec<Bson>,
        }
        if find_element(reply.body, "values")?.is_none() {
            return Err(Error::invalid_reply("the reply to distinct has no values"));
        }
        Ok(from_slice::<Values>(reply.body)?.values)
    }
}
