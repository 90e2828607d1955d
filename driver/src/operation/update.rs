//! `update`, of one statement.

use super::{Operation, ReplyContext, Retry, write_result};
use crate::{
    Namespace, Result,
    bson::{Bson, DocumentWriter, RawDocument, RawDocumentBuf},
    operation::write_result::UpdateResult,
    proto::{
        command::{CommandBuilder, Reply, write_documents},
        description::HelloReply,
        server_selection::Criteria,
        wire::MessageWriter,
    },
    types::{collation::Collation, concern::WriteConcern, hint::Hint},
};

/// What an update does to the documents it matches.
#[derive(Clone, Debug)]
pub(crate) enum Modification {
    /// A document of update operators.
    Operators(RawDocumentBuf),
    /// An aggregation pipeline.
    Pipeline(Vec<RawDocumentBuf>),
    /// A whole document.
    Replacement(RawDocumentBuf),
}

impl Modification {
    /// The first key tells an update from a replacement, so each is checked before it is sent.
    pub(crate) fn validate(&self) -> Result<()> {
        let first = |document: &RawDocument| -> Result<Option<String>> {
            match document.iter().next() {
                None => Ok(None),
                Some(Ok((key, _))) => Ok(Some(key.as_str().to_owned())),
                Some(Err(e)) => Err(crate::Error::invalid_argument(format!(
                    "the update is no valid BSON: {e}"
                ))),
            }
        };
        match self {
            Self::Operators(document) => match first(document)? {
                None => Err(crate::Error::invalid_argument(
                    "an update needs at least one operator, such as $set",
                )),
                Some(key) if !key.starts_with('$') => Err(crate::Error::invalid_argument(format!(
                    "an update must begin with an operator such as $set, found the field \"{key}\"; use replace_one to \
                     replace a whole document"
                ))),
                Some(_) => Ok(()),
            },
            Self::Pipeline(stages) if stages.is_empty() => Err(crate::Error::invalid_argument(
                "an update pipeline needs at least one stage",
            )),
            Self::Pipeline(_) => Ok(()),
            Self::Replacement(document) => match first(document)? {
                Some(key) if key.starts_with('$') => Err(crate::Error::invalid_argument(format!(
                    "a replacement cannot begin with the operator \"{key}\"; use update_one"
                ))),
                _ => Ok(()),
            },
        }
    }

    pub(crate) fn write(&self, writer: &mut DocumentWriter<'_>, key: &str) {
        match self {
            Self::Operators(document) | Self::Replacement(document) => writer.document(key, document),
            Self::Pipeline(stages) => write_documents(writer, key, stages.iter().map(|stage| &**stage)),
        }
    }
}

/// Options of an update or a replacement.
#[derive(Clone, Debug, Default)]
pub(crate) struct UpdateOptions {
    pub(crate) raw_data: Option<bool>,
    pub(crate) upsert: Option<bool>,
    pub(crate) array_filters: Option<Vec<RawDocumentBuf>>,
    pub(crate) hint: Option<Box<Hint>>,
    pub(crate) collation: Option<Box<Collation>>,
    pub(crate) sort: Option<RawDocumentBuf>,
    pub(crate) let_vars: Option<RawDocumentBuf>,
    pub(crate) bypass_document_validation: Option<bool>,
    pub(crate) comment: Option<Box<Bson>>,
}

/// Updates one document or many.
pub(crate) struct Update<'a> {
    pub(crate) namespace: &'a Namespace,
    pub(crate) filter: &'a RawDocument,
    pub(crate) modification: &'a Modification,
    pub(crate) multi: bool,
    pub(crate) options: &'a UpdateOptions,
    pub(crate) write_concern: &'a WriteConcern,
}

impl Operation for Update<'_> {
    type Output = UpdateResult;
    const NAME: &'static str = "update";

    fn database(&self) -> &str {
        &self.namespace.database
    }

    fn target(&self) -> Criteria<'_> {
        Criteria::Writable
    }

    fn retry(&self) -> Retry {
        if self.multi { Retry::No } else { Retry::Write }
    }

    fn write_concern(&self) -> Option<&WriteConcern> {
        Some(self.write_concern)
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        command.str("update", &self.namespace.collection);
        command.bool("ordered", true);
        command.optional_bool(
            "bypassDocumentValidation",
            self.options.bypass_document_validation,
        );
        super::write_raw_data(command, self.options.raw_data, server);
        command.optional_bson("comment", self.options.comment.as_deref());
        command.optional_document("let", self.options.let_vars.as_deref());
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn build_sequences(&mut self, message: &mut MessageWriter<'_>, _server: &HelloReply) -> Result<()> {
        let sequence = message.begin_sequence("updates");
        let mut writer = DocumentWriter::new(message.buffer);
        let statement = writer.begin();
        writer.document("q", self.filter);
        self.modification.write(&mut writer, "u");
        if self.multi {
            writer.bool("multi", true);
        }
        if let Some(upsert) = self.options.upsert {
            writer.bool("upsert", upsert);
        }
        if let Some(filters) = &self.options.array_filters {
            write_documents(
                &mut writer,
                "arrayFilters",
                filters.iter().map(|filter| &**filter),
            );
        }
        if let Some(hint) = self.options.hint.as_deref() {
            writer.bson("hint", &hint.to_bson());
        }
        if let Some(collation) = self.options.collation.as_deref() {
            writer.serialize("collation", collation);
        }
        if let Some(sort) = &self.options.sort {
            writer.document("sort", sort);
        }
        writer.end(statement);
        writer.finish()?;
        message.end_sequence(sequence)?;
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<UpdateResult> {
        write_result::check_single(reply)?;
        let upserted_id = write_result::upserted_id(reply)?;
        Ok(UpdateResult {
            // An upsert counts as matched in the reply's `n`, but matched nothing.
            matched_count: if upserted_id.is_some() { 0 } else { reply.n() },
            modified_count: reply.n_modified(),
            upserted_id,
        })
    }

    fn unacknowledged(&mut self) -> Result<UpdateResult> {
        Ok(UpdateResult::default())
    }
}
