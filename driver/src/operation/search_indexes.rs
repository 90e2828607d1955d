//! Search indexes (Index Management specification): `createSearchIndexes`, `updateSearchIndex`, `dropSearchIndex`.

use serde::{Deserialize, Serialize};

use super::{Operation, ReplyContext};
use crate::{
    Error, Namespace, Result,
    bson::{Document, RawDocumentBuf},
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        server_selection::Criteria,
    },
};

/// A search index: what it indexes, its name and its type.
///
/// ```
/// use marula_driver::{SearchIndexModel, bson::doc};
/// let model = SearchIndexModel::new(doc! { "mappings": { "dynamic": true } }).name("everything");
/// assert_eq!(model.name.as_deref(), Some("everything"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SearchIndexModel {
    /// What is indexed and how.
    pub definition: Document,
    /// The name; the server's default is `default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `search` (the server's default) or `vectorSearch`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

impl SearchIndexModel {
    /// A search index with this definition.
    #[must_use]
    pub fn new(definition: Document) -> Self {
        Self {
            definition,
            ..Self::default()
        }
    }

    /// With this name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Of this type.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = Some(kind.into());
        self
    }
}

/// What to do to search indexes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change<'a> {
    Create(&'a [SearchIndexModel]),
    Update(&'a str, &'a RawDocumentBuf),
    Drop(&'a str),
}

/// Changes search indexes. Gives the names of those that were created.
pub(crate) struct ChangeSearchIndexes<'a> {
    pub(crate) namespace: &'a Namespace,
    pub(crate) change: Change<'a>,
}

impl Operation for ChangeSearchIndexes<'_> {
    type Output = Vec<String>;
    const NAME: &'static str = "createSearchIndexes";

    fn database(&self) -> &str {
        &self.namespace.database
    }

    fn target(&self) -> Criteria<'_> {
        Criteria::Writable
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, _server: &HelloReply) -> Result<()> {
        let collection = &self.namespace.collection;
        match self.change {
            Change::Create(models) => {
                command.str("createSearchIndexes", collection);
                command.serialize("indexes", &models);
            }
            Change::Update(name, definition) => {
                command.str("updateSearchIndex", collection);
                command.str("name", name);
                command.document("definition", definition);
            }
            Change::Drop(name) => {
                command.str("dropSearchIndex", collection);
                command.str("name", name);
            }
        }
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<Vec<String>> {
        #[derive(Deserialize)]
        struct Created {
            name: String,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Sent {
            #[serde(default)]
            indexes_created: Vec<Created>,
        }
        let sent: Sent = super::decode(reply.body)?;
        Ok(sent.indexes_created.into_iter().map(|index| index.name).collect())
    }

    /// To drop an index of a collection that does not exist is no error.
    fn recover(&mut self, error: Error) -> Result<Vec<String>> {
        match (self.change, error.code()) {
            (Change::Drop(_), Some(crate::error::code::NAMESPACE_NOT_FOUND)) => Ok(Vec::new()),
            _ => Err(error),
        }
    }
}
