//! `listCollections`, `listIndexes` and `listDatabases`.

use super::{Operation, ReplyContext, Retry, cursor};
use crate::{
    Error, Namespace, Result,
    bson::{Bson, Document, RawDocumentBuf, from_slice},
    operation::cursor::CursorReply,
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        server_selection::Criteria,
        wire::ReplyBuffer,
    },
    types::read_preference::ReadPreference,
};

/// A collection or view, as `listCollections` reports it.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[non_exhaustive]
pub struct CollectionSpecification {
    /// The name.
    pub name: String,
    /// `collection`, `view` or `timeseries`.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// The options it was created with.
    #[serde(default)]
    pub options: Document,
    /// UUID and whether it is read-only.
    #[serde(default)]
    pub info: Document,
    /// The `_id` index.
    #[serde(rename = "idIndex", default, skip_serializing_if = "Option::is_none")]
    pub id_index: Option<Document>,
}

/// A database, as `listDatabases` reports it.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DatabaseSpecification {
    /// The name.
    pub name: String,
    /// Bytes on disk; 0 when only names were asked for.
    #[serde(default)]
    pub size_on_disk: i64,
    /// Whether it holds no data.
    #[serde(default)]
    pub empty: bool,
}

/// Options of the listings.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    pub(crate) raw_data: Option<bool>,
    pub(crate) filter: Option<RawDocumentBuf>,
    pub(crate) name_only: Option<bool>,
    pub(crate) authorized: Option<bool>,
    pub(crate) batch_size: Option<u32>,
    pub(crate) comment: Option<Bson>,
}

fn write_cursor(command: &mut CommandBuilder<'_>, options: &ListOptions, server: &HelloReply) -> Result<()> {
    let cursor = command.begin_document("cursor");
    if let Some(size) = options.batch_size {
        command.i64("batchSize", i64::from(size));
    }
    command.end(cursor);
    command.optional_bson("comment", options.comment.as_ref());
    super::write_raw_data(command, options.raw_data, server);
    Ok(())
}

/// The collections of a database.
pub(crate) struct ListCollections<'a> {
    pub(crate) database: &'a str,
    pub(crate) options: &'a ListOptions,
    pub(crate) read_preference: &'a ReadPreference,
}

impl Operation for ListCollections<'_> {
    type Output = CursorReply;
    const NAME: &'static str = "listCollections";

    fn database(&self) -> &str {
        self.database
    }

    fn target(&self) -> Criteria<'_> {
        Criteria::Read(self.read_preference)
    }

    fn retry(&self) -> Retry {
        Retry::Read
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        command.i32("listCollections", 1);
        command.optional_document("filter", self.options.filter.as_deref());
        command.optional_bool("nameOnly", self.options.name_only);
        command.optional_bool("authorizedCollections", self.options.authorized);
        write_cursor(command, self.options, server)
    }

    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<CursorReply> {
        cursor::parse(reply, context)
    }

    fn attach_reply(output: &mut CursorReply, take: impl FnOnce() -> ReplyBuffer) {
        cursor::attach(output, take);
    }

    fn open_cursor(output: &mut CursorReply) -> Option<&mut CursorReply> {
        output.if_open()
    }
}

/// The indexes of a collection.
pub(crate) struct ListIndexes<'a> {
    pub(crate) namespace: &'a Namespace,
    pub(crate) options: &'a ListOptions,
    pub(crate) read_preference: &'a ReadPreference,
}

impl Operation for ListIndexes<'_> {
    type Output = Option<CursorReply>;
    const NAME: &'static str = "listIndexes";

    fn database(&self) -> &str {
        &self.namespace.database
    }

    fn target(&self) -> Criteria<'_> {
        Criteria::Read(self.read_preference)
    }

    fn retry(&self) -> Retry {
        Retry::Read
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        command.str("listIndexes", &self.namespace.collection);
        write_cursor(command, self.options, server)
    }

    fn parse(&mut self, reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<Option<CursorReply>> {
        cursor::parse(reply, context).map(Some)
    }

    /// A missing collection has no indexes.
    fn recover(&mut self, error: Error) -> Result<Option<CursorReply>> {
        if error.code() == Some(crate::error::code::NAMESPACE_NOT_FOUND) {
            Ok(None)
        } else {
            Err(error)
        }
    }

    fn attach_reply(output: &mut Option<CursorReply>, take: impl FnOnce() -> ReplyBuffer) {
        if let Some(output) = output {
            cursor::attach(output, take);
        }
    }

    fn open_cursor(output: &mut Option<CursorReply>) -> Option<&mut CursorReply> {
        output.as_mut().and_then(CursorReply::if_open)
    }
}

/// The databases of a deployment.
pub(crate) struct ListDatabases<'a> {
    pub(crate) options: &'a ListOptions,
    pub(crate) read_preference: &'a ReadPreference,
}

impl Operation for ListDatabases<'_> {
    type Output = Vec<DatabaseSpecification>;
    const NAME: &'static str = "listDatabases";

    fn database(&self) -> &'static str {
        "admin"
    }

    fn target(&self) -> Criteria<'_> {
        Criteria::Read(self.read_preference)
    }

    fn retry(&self) -> Retry {
        Retry::Read
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, _server: &HelloReply) -> Result<()> {
        command.i32("listDatabases", 1);
        command.optional_document("filter", self.options.filter.as_deref());
        command.optional_bool("nameOnly", self.options.name_only);
        command.optional_bool("authorizedDatabases", self.options.authorized);
        command.optional_bson("comment", self.options.comment.as_ref());
        Ok(())
    }

    fn parse(
        &mut self,
        reply: &Reply<'_>,
        _context: &ReplyContext<'_>,
    ) -> Result<Vec<DatabaseSpecification>> {
        #[derive(serde::Deserialize)]
        struct Databases {
            databases: Vec<DatabaseSpecification>,
        }
        Ok(from_slice::<Databases>(reply.body)?.databases)
    }
}
