//! The statements of `update`.

use super::write_command::{Statements, WriteKind};
use crate::{
    Result,
    bson::{Bson, DocumentWriter, RawDocument, RawDocumentBuf},
    proto::{
        command::{CommandBuilder, write_documents},
        description::HelloReply,
    },
    types::{collation::Collation, hint::Hint},
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

/// An element of `updates`. A call that takes one statement sends it as it is; a bulk write encodes it first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpdateStatement<'a> {
    pub(crate) filter: &'a RawDocument,
    pub(crate) modification: &'a Modification,
    /// Whether it applies to all documents that match.
    pub(crate) multi: bool,
    pub(crate) options: &'a UpdateOptions,
}

impl UpdateStatement<'_> {
    /// Appends the statement to a buffer.
    pub(crate) fn encode(&self, buffer: &mut Vec<u8>) -> Result<()> {
        let mut writer = DocumentWriter::new(buffer);
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
        Ok(())
    }
}

/// A call of one statement.
impl Statements for UpdateStatement<'_> {
    const KIND: WriteKind = WriteKind::Update;

    fn remaining(&self) -> usize {
        1
    }

    fn position(&self, index: usize) -> usize {
        index
    }

    fn is_multi(&self, _index: usize) -> bool {
        self.multi
    }

    fn write_options(&self, command: &mut CommandBuilder<'_>, server: &HelloReply) {
        command.bool("ordered", true);
        command.optional_bool(
            "bypassDocumentValidation",
            self.options.bypass_document_validation,
        );
        super::write_raw_data(command, self.options.raw_data, server);
        command.optional_bson("comment", self.options.comment.as_deref());
        command.optional_document("let", self.options.let_vars.as_deref());
    }

    fn append(&mut self, _index: usize, buffer: &mut Vec<u8>) -> Result<()> {
        self.encode(buffer)
    }

    fn advance(&mut self, _count: usize) -> Vec<(usize, Bson)> {
        Vec::new()
    }
}
