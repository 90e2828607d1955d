//! `bulk_write` on a collection.

use super::{Deferred, InSession, awaitable, batcher::Batcher, session_setter, setters};
use crate::{
    Error, ErrorKind, Result,
    api::{collection::CollectionInner, write_model::WriteModel},
    bson::Bson,
    operation::{
        bulk_write::{BulkWriteOptions, Deletes, EncodedStatement, EncodedStatements, Inserts, Updates},
        write_command::WriteKind,
        write_result::BulkWriteResult,
    },
};

/// Runs many writes. Await it; see [`Collection::bulk_write`](crate::Collection::bulk_write).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct BulkWrite<'a> {
    collection: &'a CollectionInner,
    models: Vec<WriteModel>,
    options: BulkWriteOptions,
    session: InSession<'a>,
    deferred: Deferred,
}

impl<'a> BulkWrite<'a> {
    pub(crate) fn new(collection: &'a CollectionInner, models: Vec<WriteModel>) -> Self {
        Self {
            collection,
            models,
            options: BulkWriteOptions::default(),
            session: None,
            deferred: Deferred::default(),
        }
    }

    setters! {
        /// For MongoDB's own tools: work on the collection's storage as it is (server 8.2). Older servers are not told.
        #[doc(hidden)]
        raw_data: plain = bool;
        /// Run the writes in order and stop at the first that fails (the default), or run all in any order.
        ordered: plain = bool;
        /// Skip the collection's schema validation.
        bypass_document_validation: plain = bool;
        /// A note that shows up in the server's logs and profiler.
        comment: value = Bson;
        /// Variables for `$expr` and pipelines, read as `$$name`.
        let_vars: document;
    }

    session_setter!();

    async fn run(self) -> Result<BulkWriteResult> {
        self.deferred.into_result()?;
        if self.models.is_empty() {
            return Err(Error::invalid_argument("bulk_write needs at least one model"));
        }
        let statements: Vec<EncodedStatement> = self
            .models
            .into_iter()
            .map(WriteModel::into_statement)
            .collect::<Result<_>>()?;
        let ordered = self.options.ordered.unwrap_or(true);
        let write_concern = self.collection.write_concern();
        let mut batcher = Batcher::new(self.collection, write_concern, self.session, ordered);
        for (kind, positions) in groups(&statements, ordered) {
            let (all, options) = (&statements, &self.options);
            let sent = match kind {
                WriteKind::Insert => {
                    let mut statements = EncodedStatements::<Inserts>::new(all, &positions, options);
                    batcher.send(&mut statements).await
                }
                WriteKind::Update => {
                    let mut statements = EncodedStatements::<Updates>::new(all, &positions, options);
                    batcher.send(&mut statements).await
                }
                WriteKind::Delete => {
                    let mut statements = EncodedStatements::<Deletes>::new(all, &positions, options);
                    batcher.send(&mut statements).await
                }
            };
            match sent {
                Ok(true) => {}
                Ok(false) => break,
                // The first command was not sent, so that there is nothing to report beside the error.
                Err(error) if !batcher.has_run() && is_refused(&error) => return Err(error),
                Err(error) => return Err(batcher.into_error(error)),
            }
        }
        batcher.into_result()
    }
}

/// Whether the driver refused to send a command.
fn is_refused(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::InvalidArgument(_) | ErrorKind::Encode(_) | ErrorKind::Unsupported(_)
    )
}

/// The positions of the statements that can share commands: in an ordered call neighbours of one kind, otherwise all of one kind.
fn groups(statements: &[EncodedStatement], ordered: bool) -> Vec<(WriteKind, Vec<usize>)> {
    let mut groups: Vec<(WriteKind, Vec<usize>)> = Vec::new();
    for (position, statement) in statements.iter().enumerate() {
        let group = if ordered {
            groups.last_mut().filter(|(kind, _)| *kind == statement.kind)
        } else {
            groups.iter_mut().find(|(kind, _)| *kind == statement.kind)
        };
        match group {
            Some((_, positions)) => positions.push(position),
            None => groups.push((statement.kind, vec![position])),
        }
    }
    groups
}

awaitable!(['a] BulkWrite<'a> => BulkWriteResult);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::doc;

    fn positions(ordered: bool) -> Vec<Vec<usize>> {
        let statements: Vec<EncodedStatement> = [
            WriteModel::insert_one(&doc! {}),
            WriteModel::insert_one(&doc! {}),
            WriteModel::delete_one(doc! {}),
            WriteModel::insert_one(&doc! {}),
        ]
        .into_iter()
        .map(|model| model.into_statement().unwrap())
        .collect();
        groups(&statements, ordered)
            .into_iter()
            .map(|(_, positions)| positions)
            .collect()
    }

    #[test]
    fn statements_of_one_kind_share_commands() {
        assert_eq!(positions(true), [vec![0, 1], vec![2], vec![3]]);
        assert_eq!(positions(false), [vec![0, 1, 3], vec![2]]);
    }
}
