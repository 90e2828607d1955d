//! `findAndModify`: change one document and return it.

use std::{marker::PhantomData, time::Duration};

use serde::de::DeserializeOwned;

use super::{Operation, ReplyContext, Retry, update::Modification, write_result};
use crate::{
    Error, Namespace, Result,
    bson::{Bson, RawDocument, RawDocumentBuf, find_element},
    proto::{
        command::{CommandBuilder, Reply, document_bytes},
        description::HelloReply,
        server_selection::Criteria,
    },
    types::{collation::Collation, concern::WriteConcern, hint::Hint, return_document::ReturnDocument},
};

/// Options of a find-and-modify.
#[derive(Clone, Debug, Default)]
pub(crate) struct FindAndModifyOptions {
    pub(crate) raw_data: Option<bool>,
    pub(crate) return_document: ReturnDocument,
    pub(crate) upsert: Option<bool>,
    pub(crate) sort: Option<RawDocumentBuf>,
    pub(crate) projection: Option<RawDocumentBuf>,
    pub(crate) array_filters: Option<Vec<RawDocumentBuf>>,
    pub(crate) hint: Option<Box<Hint>>,
    pub(crate) collation: Option<Box<Collation>>,
    pub(crate) let_vars: Option<RawDocumentBuf>,
    pub(crate) max_time: Option<Duration>,
    pub(crate) bypass_document_validation: Option<bool>,
    pub(crate) comment: Option<Box<Bson>>,
}

/// Changes or removes one document and returns it as `T`.
pub(crate) struct FindAndModify<'a, T> {
    pub(crate) namespace: &'a Namespace,
    pub(crate) filter: &'a RawDocument,
    /// `None` removes the document.
    pub(crate) modification: Option<&'a Modification>,
    pub(crate) options: &'a FindAndModifyOptions,
    pub(crate) write_concern: &'a WriteConcern,
    pub(crate) document: PhantomData<fn() -> T>,
}

impl<T> FindAndModify<'_, T> {
    fn write_modification(&self, command: &mut CommandBuilder<'_>) {
        match self.modification {
            None => command.bool("remove", true),
            Some(modification) => {
                modification.write(command, "update");
                command.bool("new", self.options.return_document == ReturnDocument::After);
                command.optional_bool("upsert", self.options.upsert);
            }
        }
    }
}

impl<T: DeserializeOwned + 'static> Operation for FindAndModify<'_, T> {
    type Output = Option<T>;
    const NAME: &'static str = "findAndModify";

    fn database(&self) -> &str {
        &self.namespace.database
    }

    fn target(&self) -> Criteria<'_> {
        Criteria::Writable
    }

    fn retry(&self) -> Retry {
        Retry::Write
    }

    fn write_concern(&self) -> Option<&WriteConcern> {
        Some(self.write_concern)
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        super::check_hint(self.options.hint.as_deref(), self.write_concern, server)?;
        let options = self.options;
        command.str("findAndModify", &self.namespace.collection);
        command.document("query", self.filter);
        self.write_modification(command);
        command.optional_document("sort", options.sort.as_deref());
        command.optional_document("fields", options.projection.as_deref());
        if let Some(filters) = &options.array_filters {
            command.documents("arrayFilters", filters.iter().map(|filter| &**filter));
        }
        command.hint(options.hint.as_deref());
        command.collation(options.collation.as_deref());
        command.optional_document("let", options.let_vars.as_deref());
        command.optional_bool("bypassDocumentValidation", options.bypass_document_validation);
        super::write_raw_data(command, options.raw_data, server);
        command.max_time(options.max_time);
        command.optional_bson("comment", options.comment.as_deref());
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<Option<T>> {
        write_result::check_single(reply)?;
        let value = find_element(reply.body, "value")?
            .ok_or_else(|| Error::invalid_reply("the reply to findAndModify has no value"))?;
        match document_bytes(value.value) {
            Some(bytes) => super::decode_owned(bytes).map(Some),
            None => Ok(None),
        }
    }

    fn unacknowledged(&mut self) -> Result<Option<T>> {
        Ok(None)
    }
}
