//! [`Collection::bulk_write`]: the commands `insert`, `update` and `delete` for a list of models
//! ([CRUD specification], "Bulk Write").
//!
//! [CRUD specification]: https://github.com/mongodb/specifications/blob/master/source/crud/crud.md

mod encoded;
mod model;

use super::{
    InSession, awaitable,
    batcher::Batcher,
    declare::{define_options, option_setters},
    session_setter,
};
use crate::{
    Collection, EncryptionError, Error, ErrorKind, Result, api::collection::CollectionInner,
    operation::write_command::WriteKind, types::write_result::BulkWriteResult,
};
use encoded::{Deletes, EncodedStatement, EncodedStatements, Inserts, Updates};
pub(super) use model::Write;
pub use model::WriteModel;

/// The options of `bulk_write`. See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __bulk_write_options {
    ($then:path { $($arguments:tt)* }) => {
        $then! { { $($arguments)* }
            /// Run the writes in order and stop at the first that fails. If `false`, run all writes
            /// in any order. Default: `true`.
            ordered: plain bool;
            /// Skip schema validation of inserts and updates. Default: `false`.
            bypass_document_validation: plain bool;
            /// Write to the raw storage of the collection (MongoDB 8.2+; ignored by older servers).
            /// For MongoDB's own tools.
            #[doc(hidden)]
            [driver] raw_data: plain bool = "rawData" since is_8_2;
            /// A comment that appears in the server's log, in the profiler and in `currentOp`
            /// (MongoDB 4.4+). Default: none.
            comment: boxed $crate::bson::Bson = "comment" [needs (4, 4)];
            /// Variables for expressions in updates and deletes, e.g. `doc! { "least": 5 }`, used
            /// as `$$least` in `$expr` (MongoDB 5.0+). Default: none.
            let_vars: document [needs (5, 0)];
            /// `timeoutMS`: the time limit for the whole operation, including server selection and
            /// retries. It replaces all other time limits of the operation. Zero means no limit.
            /// Default: that of the collection.
            timeout: plain std::time::Duration;
            /// The write concern of this operation. Default: the collection's.
            write_concern: write_concern;
            /// A feature of the writes that older servers do not have: on such a server the bulk write
            /// fails before it is sent. Of several, the latest version applies. Default: none.
            [driver] requires: requirement;
        }
    };
}

crate::__bulk_write_options! { define_options {
    /// Options of [`Collection::bulk_write`].
    pub struct BulkWriteOptions;
} }

impl BulkWriteOptions {
    /// Whether the writes run in order: [`ordered`](Self::ordered) was not set to `false`.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        self.ordered.unwrap_or(true)
    }
}

impl<T> Collection<T> {
    /// Runs several writes on the collection in as few commands as their types, their order and the
    /// limits of the server allow.
    ///
    /// A command with a write that can change several documents (`update_many`, `delete_many`) is
    /// [not retryable](crate::action#retries).
    ///
    /// # Errors
    /// [`ErrorKind::BulkWrite`] if the server rejects writes or a write concern was not satisfied.
    /// It contains the indexes of the models that failed and the results of the others.
    /// [`ErrorKind::InvalidArgument`] if there is no model, or a model is invalid; nothing has then
    /// been sent. [`ErrorKind::Encryption`] if the encryption of the first command failed.
    ///
    /// # Cancel safety
    /// If the future is dropped, a part of the commands may have been sent, and the server may still run the last
    /// of them. Their results are lost.
    ///
    /// ```no_run
    /// # async fn run(stock: marula_driver::Collection<marula_driver::bson::Document>) -> marula_driver::Result<()> {
    /// use marula_driver::{WriteModel, bson::doc};
    /// let done = stock
    ///     .bulk_write([
    ///         WriteModel::insert_one(&doc! { "sku": "a", "left": 3 }),
    ///         WriteModel::update_one(doc! { "sku": "b" }, doc! { "$inc": { "left": -1 } }).upsert(true),
    ///         WriteModel::delete_many(doc! { "left": 0 }),
    ///     ])
    ///     .ordered(false)
    ///     .await?;
    /// println!("{} deleted", done.deleted_count);
    /// # Ok(()) }
    /// ```
    pub fn bulk_write(&self, models: impl IntoIterator<Item = WriteModel>) -> BulkWrite<'_> {
        BulkWrite {
            collection: self.inner(),
            models: models.into_iter().collect(),
            options: BulkWriteOptions::default(),
            session: self.inner().session(),
        }
    }
}

/// Runs several writes. Await it for a [`BulkWriteResult`]; see [`Collection::bulk_write`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct BulkWrite<'a> {
    collection: &'a CollectionInner,
    models: Vec<WriteModel>,
    options: BulkWriteOptions,
    session: InSession<'a>,
}

impl<'a> BulkWrite<'a> {
    crate::__bulk_write_options! { option_setters { BulkWriteOptions } }

    session_setter!();

    /// Whether the server acknowledges the writes, so that the result contains their counts: the write
    /// concern of the action, or else that of the collection, is not `w: 0`. The collection's does not apply
    /// in a transaction.
    ///
    /// ```no_run
    /// # use marula_driver::{Collection, WriteModel, bson::{Document, doc}, options::WriteConcern};
    /// # fn run(books: &Collection<Document>) {
    /// let writes = [WriteModel::delete_one(doc! { "_id": 1 })];
    /// let fast = books.bulk_write(writes).write_concern(WriteConcern::nodes(0));
    /// assert!(!fast.is_acknowledged());
    /// # }
    /// ```
    #[must_use]
    pub fn is_acknowledged(&self) -> bool {
        let is_in_transaction = || {
            self.session
                .is_some_and(|session| session.lock().open_transaction().is_some())
        };
        match self.options.write_concern.as_deref() {
            Some(own) => own.is_acknowledged(),
            None => self.collection.write_concern().is_acknowledged() || is_in_transaction(),
        }
    }

    async fn run(mut self) -> Result<BulkWriteResult> {
        self.options.deferred.take_result()?;
        if self.models.is_empty() {
            return Err(Error::invalid_argument("bulk_write requires at least one model"));
        }
        let statements: Vec<EncodedStatement> = self
            .models
            .into_iter()
            .enumerate()
            .map(|(index, model)| model.into_statement().map_err(|error| in_model(&error, index)))
            .collect::<Result<_>>()?;
        let ordered = self.options.is_ordered();
        let write_concern = self.options.write_concern.as_deref();
        let timeout = self
            .collection
            .start_timeout("bulkWrite", self.options.timeout, self.session)?;
        let (name, session) = ("bulkWrite", self.session);
        let mut batcher = Batcher::new(name, self.collection, write_concern, session, timeout, ordered);
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
                // No command was sent, so a partial result does not exist.
                Err(error) if !batcher.has_run() && is_refused(&error) => return Err(error),
                Err(error) => return Err(batcher.into_error(error)),
            }
        }
        batcher.into_result()
    }
}

/// The error of a model, with the position of the model: `models[1].n: …`.
pub(super) fn in_model(error: &Error, index: usize) -> Error {
    match error.kind() {
        ErrorKind::Encode(error) => error.clone().at_index(index).in_field("models").into(),
        ErrorKind::InvalidArgument(message) => Error::invalid_argument(format!("models[{index}]: {message}")),
        _ => error.clone(),
    }
}

/// Whether the driver rejected the command before sending it.
fn is_refused(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::InvalidArgument(_) | ErrorKind::Encode(_) | ErrorKind::Unsupported(_) => true,
        // An error of an attempt that was sent would be reported instead.
        ErrorKind::Encryption(error) => !matches!(error, EncryptionError::Reply(_)),
        _ => false,
    }
}

/// Groups the positions of statements that can share commands: adjacent statements of one kind if
/// the call is ordered, otherwise all statements of one kind.
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
