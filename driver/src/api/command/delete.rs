//! `delete`: [`Collection::delete_one`] and [`Collection::delete_many`] ([CRUD specification],
//! "Insert, Update, Replace, Delete, and Bulk Writes").
//!
//! [CRUD specification]: https://github.com/mongodb/specifications/blob/master/source/crud/crud.md

use std::borrow::Cow;

use super::shown::{FieldNames, debug_without_values};
use super::{
    Deferred, InSession, awaitable,
    batcher::send_single,
    declare::{define_options, option_setters},
    explain::{Explain, Explained, build_single, explain_method},
    session_setter,
    wire::WriteOptions,
};
use crate::{
    Collection, Result,
    api::collection::CollectionInner,
    bson::{Bson, DocumentWriter, IntoDocument, RawDocumentBuf},
    operation::{
        OperationOverrides,
        write_command::{Statements, WriteKind},
    },
    proto::{command::CommandBuilder, description::HelloReply},
    types::{server_requirement::ServerRequirement, write_result::DeleteResult},
};

/// The options of `delete_one` and `delete_many`. See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __delete_options {
    ($then:path { $($arguments:tt)* }) => {
        $then! { { $($arguments)* }
            /// The index to use, by name or by key pattern (MongoDB 4.4+). Default: the choice of
            /// the query planner.
            [statement] hint: boxed $crate::options::Hint = "hint" [needs (4, 4)];
            /// The collation of string comparisons. Default: the default collation of the
            /// collection.
            [statement] collation: boxed $crate::options::Collation = "collation";
            /// Delete from the raw storage of the collection (MongoDB 8.2+; ignored by older
            /// servers). For MongoDB's own tools.
            #[doc(hidden)]
            [driver] raw_data: plain bool = "rawData" since is_8_2;
            /// A comment that appears in the server's log, in the profiler and in `currentOp`
            /// (MongoDB 4.4+). Default: none.
            comment: boxed $crate::bson::Bson = "comment" [needs (4, 4)];
            /// Variables for expressions, e.g. `doc! { "least": 5 }`, used as `$$least` in `$expr`
            /// (MongoDB 5.0+). Default: none.
            let_vars: document = "let" [needs (5, 0)];
            /// `timeoutMS`: the time limit for the whole operation, including server selection and
            /// retries. It replaces all other time limits of the operation. Zero means no limit.
            /// Default: that of the collection.
            timeout: plain std::time::Duration;
            /// The write concern of this operation. Default: the collection's.
            write_concern: write_concern;
            /// A feature of the operation that older servers do not have: on such a server the
            /// operation fails before it is sent. Of several, the latest version applies. Default: none.
            [driver] requires: requirement;
        }
    };
}

crate::__delete_options! { define_options {
    /// Options of [`Collection::delete_one`] and [`Collection::delete_many`].
    pub struct DeleteOptions;
} }

impl<T> Collection<T> {
    /// Deletes the first document that matches the filter. To choose among several documents, use
    /// [`find_one_and_delete`](Self::find_one_and_delete) with a sort order.
    ///
    /// # Errors
    /// [`ErrorKind::Write`](crate::ErrorKind::Write) if the server rejects the delete or the write
    /// concern was not satisfied. No match is not an error:
    /// [`deleted_count`](DeleteResult::deleted_count) is 0.
    pub fn delete_one(&self, filter: impl IntoDocument) -> Delete<'_> {
        Delete::new(self.inner(), filter, false)
    }

    /// Deletes all documents that match the filter; `doc! {}` matches all. The command is [not
    /// retryable](crate::action#retries). Errors are those of [`delete_one`](Self::delete_one);
    /// documents deleted before an error remain deleted.
    pub fn delete_many(&self, filter: impl IntoDocument) -> Delete<'_> {
        Delete::new(self.inner(), filter, true)
    }
}

/// Deletes documents. Await it for a [`DeleteResult`]; see [`Collection::delete_one`] and
/// [`Collection::delete_many`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Delete<'a> {
    collection: &'a CollectionInner,
    filter: RawDocumentBuf,
    multi: bool,
    deferred: Deferred,
    options: DeleteOptions,
    session: InSession<'a>,
}

debug_without_values! {
    [] Delete<'_>, "Delete", |it|
    namespace: it.collection.namespace(), filter: FieldNames(&it.filter), multi: it.multi, options: it.options
}

impl<'a> Delete<'a> {
    fn new(collection: &'a CollectionInner, filter: impl IntoDocument, multi: bool) -> Self {
        let mut deferred = Deferred::default();
        Self {
            collection,
            filter: deferred.document("filter", filter),
            multi,
            deferred,
            options: DeleteOptions::default(),
            session: collection.session(),
        }
    }

    crate::__delete_options! { option_setters { DeleteOptions } }

    session_setter!();

    explain_method! {
        pub fn explain(self) -> Explain<'a> {
            let Self { collection, filter, multi, deferred, mut options, session } = self;
            let timeout = options.timeout;
            let requires = options.requires.take();
            let errors = [deferred, std::mem::take(&mut options.deferred)];
            let collection = Cow::Borrowed(collection);
            Explain::new(collection, session, errors, Explained::Write, move |collection, command, server| {
                let mut statement = DeleteStatement { filter: &filter, multi, options: &options };
                build_single(&mut statement, collection, command, server)
            })
            .requiring(requires)
            .with_limits(None, timeout)
        }
    }

    async fn run(&mut self) -> Result<DeleteResult> {
        self.deferred.take_result()?;
        self.options.deferred.take_result()?;
        let mut statement = DeleteStatement {
            filter: &self.filter,
            multi: self.multi,
            options: &self.options,
        };
        let write_concern = self.options.write_concern.as_deref();
        let timeout = self
            .collection
            .start_timeout("delete", self.options.timeout, self.session)?;
        let (_, outcome) = send_single(
            self.collection,
            write_concern,
            self.session,
            timeout,
            &mut statement,
        )
        .await?;
        Ok(DeleteResult {
            deleted_count: outcome.n,
        })
    }
}

awaitable!(in place ['a] Delete<'a> => DeleteResult);

/// An element of `deletes`. A call with one statement serializes it while it is sent; a bulk write
/// encodes it before.
#[derive(Clone, Copy)]
pub(super) struct DeleteStatement<'a> {
    pub(super) filter: &'a RawDocumentBuf,
    /// Whether to delete all documents that match, or only the first.
    pub(super) multi: bool,
    pub(super) options: &'a DeleteOptions,
}

debug_without_values! { [] DeleteStatement<'_>, "DeleteStatement", |it| filter: FieldNames(it.filter), multi: it.multi }

impl DeleteStatement<'_> {
    /// Appends the statement to a buffer.
    pub(super) fn encode(&self, buffer: &mut Vec<u8>) -> Result<()> {
        let mut writer = DocumentWriter::new(buffer);
        let statement = writer.begin();
        writer.document("q", self.filter);
        writer.i32("limit", i32::from(!self.multi));
        self.options.write_statement(&mut writer);
        writer.end(statement);
        writer.finish()?;
        Ok(())
    }
}

/// The only statement of a call.
impl Statements for DeleteStatement<'_> {
    const KIND: WriteKind = WriteKind::Delete;

    fn remaining(&self) -> usize {
        1
    }

    fn position(&self, index: usize) -> usize {
        index
    }

    fn is_multi(&self, _index: usize) -> bool {
        self.multi
    }

    fn needs_4_4(&self, _index: usize) -> bool {
        self.options.hint.is_some()
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn requirement(&self) -> Option<&ServerRequirement> {
        self.options.requirement()
    }

    fn write_options(&self, command: &mut CommandBuilder<'_>, server: &HelloReply) {
        command.bool("ordered", true);
        self.options.write(command, server);
    }

    fn append(&mut self, _index: usize, buffer: &mut Vec<u8>) -> Result<()> {
        self.encode(buffer)
    }

    fn advance(&mut self, _count: usize) -> Vec<(usize, Bson)> {
        Vec::new()
    }
}
