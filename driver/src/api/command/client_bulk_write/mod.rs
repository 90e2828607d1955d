//! `bulkWrite`: [`Client::bulk_write`], writes to several collections in one command ([Bulk Write]).
//!
//! [Bulk Write]: https://github.com/mongodb/specifications/blob/master/source/crud/bulk-write.md

mod command;
mod model;
mod writes;

use super::{
    InSession, awaitable,
    bulk_write::in_model,
    declare::{define_options, option_setters},
    session_setter,
};
use crate::{
    BoundTransaction, Client, Cursor, Error, ErrorKind, Result,
    api::cursor::{CursorTimeout, CursorTimeoutOptions},
    proto::bulk_write::ResultMerger,
    telemetry::OperationScope,
    types::{concern::WriteConcern, write_result::ClientBulkWriteResult},
};
use command::{BulkWriteCommand, BulkWriteReply};
pub use model::ClientWriteModel;
use writes::Writes;

/// The name of the command, and the database that it is sent to.
const COMMAND: &str = "bulkWrite";
const DATABASE: &str = "admin";

/// The options of `bulk_write` of a client. See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __client_bulk_write_options {
    ($then:path { $($arguments:tt)* }) => {
        $then! { { $($arguments)* }
            /// Run the writes in order and stop at the first that fails. If `false`, run all writes
            /// in any order. Default: `true`.
            ordered: plain bool;
            /// Skip schema validation of inserts and updates. Default: `false`.
            bypass_document_validation: plain bool = "bypassDocumentValidation";
            /// Write to the raw storage of the collections (MongoDB 8.2+; ignored by older servers).
            /// For MongoDB's own tools.
            #[doc(hidden)]
            [driver] raw_data: plain bool = "rawData" since is_8_2;
            /// A comment that appears in the server's log, in the profiler and in `currentOp`.
            /// Default: none.
            comment: boxed $crate::bson::Bson = "comment";
            /// Variables for expressions in all updates and deletes, e.g. `doc! { "least": 5 }`,
            /// used as `$$least` in `$expr` and in pipelines. Default: none.
            let_vars: document = "let";
            /// Return the result of each write in the `verbose_results` of the result. Default:
            /// `false`, which is faster.
            verbose_results: plain bool;
            /// `timeoutMS`: the time limit for the whole operation, including server selection, all
            /// commands and retries. It replaces all other time limits of the operation. Zero means
            /// no limit. Default: that of the client.
            timeout: plain std::time::Duration;
            /// The write concern of this operation. An unacknowledged one requires
            /// [`ordered(false)`](Self::ordered) and excludes verbose results. Default: the
            /// client's.
            write_concern: write_concern;
        }
    };
}

crate::__client_bulk_write_options! { define_options {
    /// Options of [`Client::bulk_write`].
    pub struct ClientBulkWriteOptions;
} }

impl ClientBulkWriteOptions {
    fn is_ordered(&self) -> bool {
        self.ordered.unwrap_or(true)
    }

    /// Whether [`verbose_results`](Self::verbose_results) was set to `true`.
    #[must_use]
    pub fn is_verbose(&self) -> bool {
        self.verbose_results.unwrap_or(false)
    }
}

impl Client {
    /// Runs several writes on any collections of the deployment, in as few commands as the limits
    /// of the server allow (MongoDB 8.0+). [`Collection::bulk_write`](crate::Collection::bulk_write)
    /// works with all servers, but only with one collection.
    ///
    /// A command with a write that can change several documents (`update_many_model`,
    /// `delete_many_model`) is [not retryable](crate::action#retries). A write concern error that
    /// permits a retry is reported instead if the results of its command do not fit into one reply: the
    /// writes were performed, and a retry would lose their results. If the future is dropped, the writes
    /// of the commands that have been sent may take effect.
    ///
    /// # Errors
    /// [`ErrorKind::ClientBulkWrite`](crate::ErrorKind::ClientBulkWrite) if the server rejects
    /// writes, a write concern was not satisfied, or another error ended the call after a part of
    /// the writes was performed. It contains the indexes of the models that failed and the results
    /// of the others. An error before any write was performed is returned as it is.
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) or
    /// [`ErrorKind::Encode`](crate::ErrorKind::Encode) if there is no model, or a model is invalid;
    /// nothing has then been sent. [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the
    /// server is older than 8.0.
    ///
    /// ```no_run
    /// # #[derive(serde::Serialize)] struct Order { sku: &'static str, quantity: i32 }
    /// # async fn run(client: marula_driver::Client) -> marula_driver::Result<()> {
    /// use marula_driver::bson::{Document, doc};
    /// let shop = client.database("shop");
    /// let orders = shop.collection::<Order>("orders");
    /// let stock = shop.collection::<Document>("stock");
    /// let done = client
    ///     .bulk_write([
    ///         orders.insert_one_model(&Order { sku: "a", quantity: 2 }),
    ///         orders.insert_one_model(&Order { sku: "b", quantity: 1 }),
    ///         stock.update_many_model(doc! { "sku": { "$in": ["a", "b"] } }, doc! { "$inc": { "left": -1 } }),
    ///     ])
    ///     .verbose_results(true)
    ///     .await?;
    /// println!("{} inserted, {} updated", done.inserted_count, done.modified_count);
    /// if let Some(results) = done.verbose_results {
    ///     println!("the first order is {}", results.insert_results[&0].inserted_id);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn bulk_write(&self, models: impl IntoIterator<Item = ClientWriteModel>) -> ClientBulkWrite<'_> {
        ClientBulkWrite {
            client: self,
            models: models.into_iter().collect(),
            options: ClientBulkWriteOptions::default(),
            session: None,
        }
    }
}

/// Runs writes on several collections. Await it for a [`ClientBulkWriteResult`]; see
/// [`Client::bulk_write`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct ClientBulkWrite<'a> {
    client: &'a Client,
    models: Vec<ClientWriteModel>,
    options: ClientBulkWriteOptions,
    session: InSession<'a>,
}

impl<'a> ClientBulkWrite<'a> {
    crate::__client_bulk_write_options! { option_setters { ClientBulkWriteOptions } }

    session_setter!();

    /// Runs the writes in the transaction that handles are [bound](crate::ClientSession::bind) to. Default: none.
    ///
    /// ```no_run
    /// # use marula_driver::{Client, Collection, Result, bson::{Document, doc}};
    /// # async fn run(client: Client, books: Collection<Document>) -> Result<()> {
    /// client
    ///     .transaction()
    ///     .run(async |tx| {
    ///         let books = tx.bind(&books);
    ///         let writes = client.bulk_write([books.delete_one_model(doc! { "_id": 1 })]);
    ///         match books.transaction() {
    ///             Some(transaction) => writes.in_transaction(transaction).await,
    ///             None => writes.await,
    ///         }
    ///     })
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn in_transaction(mut self, transaction: &'a BoundTransaction) -> Self {
        self.session = Some(transaction.session());
        self
    }

    /// Whether the server acknowledges the writes: the write concern of the action, or else that of the
    /// client, is not `w: 0`. The client's does not apply in a transaction.
    ///
    /// ```no_run
    /// # use marula_driver::{Client, Collection, bson::{Document, doc}, options::WriteConcern};
    /// # fn run(client: &Client, books: &Collection<Document>) {
    /// let writes = [books.delete_one_model(doc! { "_id": 1 })];
    /// let fast = client.bulk_write(writes).ordered(false).write_concern(WriteConcern::nodes(0));
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
            None => self.client.concerns().write_concern.is_acknowledged() || is_in_transaction(),
        }
    }

    async fn run(&mut self) -> Result<ClientBulkWriteResult> {
        self.options.deferred.take_result()?;
        let options = &self.options;
        let none = WriteConcern::default();
        let is_in_transaction = self
            .session
            .is_some_and(|session| session.lock().open_transaction().is_some());
        // The commands of a transaction have no write concern.
        let inherited = if is_in_transaction {
            &none
        } else {
            &self.client.concerns().write_concern
        };
        let write_concern = options.write_concern.as_deref().unwrap_or(inherited);
        check_unacknowledged(options, write_concern)?;
        self.client.check_outside(COMMAND, self.session)?;
        let timeout = CursorTimeoutOptions {
            own: options.timeout,
            inherited: self.client.timeout(),
            is_closing: self.client.executor().is_closing(),
            ..CursorTimeoutOptions::default()
        }
        .start(self.session)?;
        let mut writes = encode(std::mem::take(&mut self.models))?;
        let executor = self.client.executor();
        let _running = executor.enter();
        let scope = executor.begin_operation(self.session, COMMAND, DATABASE, None);
        let result = self.send(&scope, timeout, &mut writes, write_concern).await;
        scope.span.end(result.as_ref().err());
        result
    }

    /// Sends all writes.
    async fn send(
        &self,
        scope: &OperationScope,
        timeout: CursorTimeout,
        writes: &mut Writes,
        write_concern: &WriteConcern,
    ) -> Result<ClientBulkWriteResult> {
        let (executor, options) = (self.client.executor(), &self.options);
        let mut merger = ResultMerger::new(options.is_ordered(), options.is_verbose());
        // The error of a command that could not be sent again in time.
        let mut timed_out: Option<Error> = None;
        let report = |error: Error, timed_out: Option<Error>| {
            let error = error.with_operation(COMMAND, DATABASE, None);
            match timed_out.as_ref().map(Error::kind) {
                Some(ErrorKind::Timeout(limit)) => error.into_timeout_of(Some(limit)),
                _ => timeout.of_operation().report(error),
            }
        };
        while !writes.is_empty() {
            let offset = writes.sent();
            let mut command = BulkWriteCommand::new(writes, options, write_concern);
            let reply = executor
                .run_in_scope(scope, self.session, timeout.of_operation(), &mut command)
                .await;
            let count = command.count();
            let reply = match reply {
                Ok(reply) => reply,
                Err(error) => return Err(report(merger.interrupt(error), timed_out)),
            };
            writes.advance(count);
            if let Some(mut reply) = reply {
                merger.begin_command(offset, count, &reply.summary);
                if let Some(error) = reply.write_concern_error.take() {
                    merger.write_concern_error(error.before_timeout().clone());
                    timed_out = timed_out.or_else(|| Some(error).filter(Error::is_of_time_limit));
                }
                match self.read_results(reply, timeout, writes, &mut merger).await {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => return Err(report(merger.interrupt(error), timed_out)),
                }
            }
        }
        merger.finish().map_err(|error| report(error, timed_out))
    }

    /// Reads the results cursor of a command to its end. Returns whether the call continues.
    async fn read_results(
        &self,
        reply: BulkWriteReply,
        timeout: CursorTimeout,
        writes: &Writes,
        merger: &mut ResultMerger,
    ) -> Result<bool> {
        let mut results = Cursor::<()>::new(self.client, reply.cursor, None, None)
            .in_session(self.session)
            .with_time_limit(timeout);
        results.kill_after_error();
        let read = async {
            while results.advance().await? {
                if !merger.add_result(results.current_bytes()?, |position| writes.written(position))? {
                    break;
                }
            }
            merger.end_command()
        };
        let read = read.await;
        if matches!(&read, Err(error) if error.is_network() && !error.is_timeout()) {
            // The server may be gone: the cursor is closed in the background.
            drop(results);
            return read;
        }
        // Nothing is sent if the cursor is exhausted. The outcome of the call is known: an error of
        // killCursors is ignored (Bulk Write, "Top-Level Errors").
        results.close().await;
        read
    }
}

awaitable!(in place ['a] ClientBulkWrite<'a> => ClientBulkWriteResult);

/// Encodes the writes of all models.
fn encode(models: Vec<ClientWriteModel>) -> Result<Writes> {
    if models.is_empty() {
        return Err(Error::invalid_argument("bulk_write requires at least one model"));
    }
    let mut writes = Writes::with_capacity(models.len());
    for (index, model) in models.into_iter().enumerate() {
        writes.push(model).map_err(|error| in_model(&error, index))?;
    }
    Ok(writes)
}

/// Rejects options that need a reply if the writes are unacknowledged.
fn check_unacknowledged(options: &ClientBulkWriteOptions, write_concern: &WriteConcern) -> Result<()> {
    if write_concern.is_acknowledged() {
        return Ok(());
    }
    if options.is_ordered() {
        return Err(Error::invalid_argument(
            "Cannot request unacknowledged write concern and ordered writes; set ordered(false)",
        ));
    }
    if options.is_verbose() {
        return Err(Error::invalid_argument(
            "Cannot request unacknowledged write concern and verbose results",
        ));
    }
    Ok(())
}
