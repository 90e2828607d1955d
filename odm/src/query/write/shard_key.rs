//! The shard keys of documents in the filters of their writes, which target one shard by them.

use crate::{
    ast::filter::{Node, Op},
    base::{
        bson::{Bson, RawDocument, RawDocumentBuf, doc},
        error::{Error, Result},
    },
    document::decode::lookup,
    driver::{UpdateResult, options::ReadPreference},
    models::model::Model,
    query::handle::{
        Collection,
        action::{Session, in_session},
        gate::Sendable,
    },
};

/// Whether the model declares a shard key.
pub(in crate::query) const fn is_sharded<D: Model>() -> bool {
    D::BEHAVIOR.is_sharded
}

/// The conditions on the fields of the shard key other than `_id`. `None` if there are none.
fn condition<D: Model>(document: &RawDocument) -> Option<Node> {
    let key = D::shard_key()?;
    // A missing field is null in a shard key, and equality with null also finds missing fields.
    let value = |path: &str| lookup(document, path).unwrap_or(Bson::Null);
    let fields = key.paths().filter(|path| *path != "_id");
    fields
        .map(|path| Node::leaf(path.to_owned(), Op::Eq(value(path))))
        .reduce(Node::and)
}

/// The filter of a stored document with its shard key.
pub(in crate::query) fn targeted<D: Model>(filter: Sendable<Node>, document: &RawDocument) -> Sendable<Node> {
    if const { !is_sharded::<D>() } {
        return filter;
    }
    match condition::<D>(document) {
        Some(condition) => filter.with(|filter| filter.and(condition)),
        None => filter,
    }
}

/// The filter, with the shard key of the document if it is the filter of its id.
pub(in crate::query) fn targeted_if<D: Model>(
    is_of_document: bool,
    filter: Sendable<Node>,
    document: &RawDocument,
) -> Sendable<Node> {
    if is_of_document {
        targeted::<D>(filter, document)
    } else {
        filter
    }
}

/// The filter of a stored document with its shard key, before the checks of the gate.
pub(in crate::query) fn targeted_node<D: Model>(filter: Node, document: &RawDocument) -> Node {
    match condition::<D>(document) {
        Some(condition) => filter.and(condition),
        None => filter,
    }
}

impl<D: Model> Collection<D> {
    /// Fails if the stored document with the id of `document` has another shard key.
    async fn check_shard_key(&self, document: &RawDocumentBuf, session: Session<'_>) -> Result<()> {
        let id = document.get("_id").ok().flatten();
        let id = id.and_then(|id| Bson::try_from(id).ok());
        let (Some(id), Some(condition)) = (id, condition::<D>(document)) else {
            return Ok(());
        };
        let others = self
            .with_ids(vec![id.clone()])
            .with(|filter| filter.and(condition.not()));
        let finding = self
            .inner
            .find_one(others)
            .projection(doc! { "_id": 1 })
            .read_preference(ReadPreference::primary());
        match in_session!(session, finding).await? {
            None => Ok(()),
            Some(_) => Err(Error::ShardKeyChanged {
                collection: self.namespace().to_string(),
                id: Box::new(id),
                key: Box::new(D::shard_key().unwrap_or_default().document()),
            }),
        }
    }

    /// The result of a write of one document by its id and shard key that was no upsert. The error names the shard key if
    /// the stored document has another one.
    ///
    /// The ids of a sharded collection are unique in each shard only: an upsert with a changed shard key would insert a
    /// second document. Therefore such a write precedes each upsert of a document that can be stored.
    pub(in crate::query) async fn of_same_shard_key(
        &self,
        document: &RawDocumentBuf,
        result: Result<UpdateResult>,
        session: Session<'_>,
    ) -> Result<UpdateResult> {
        let is_missed = match &result {
            Ok(result) => result.matched_count == 0,
            Err(error) => matches!(error, Error::VersionConflict { .. }),
        };
        if is_missed {
            self.check_shard_key(document, session).await?;
        }
        result
    }
}
