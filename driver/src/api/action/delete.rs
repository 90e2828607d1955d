//! `delete_one` and `delete_many`.

use super::{Deferred, InSession, awaitable, session_setter, setters};
use crate::{
    Result,
    api::collection::CollectionInner,
    bson::{Bson, IntoDocument, RawDocumentBuf},
    operation::{
        delete::{DeleteOptions, DeleteStatement},
        write_command::WriteCommand,
        write_result::DeleteResult,
    },
    types::{collation::Collation, hint::Hint},
};

/// Deletes documents. Await it; see [`Collection::delete_one`](crate::Collection::delete_one).
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct Delete<'a> {
    collection: &'a CollectionInner,
    filter: RawDocumentBuf,
    multi: bool,
    options: DeleteOptions,
    deferred: Deferred,
    session: InSession<'a>,
}

impl<'a> Delete<'a> {
    pub(crate) fn new(collection: &'a CollectionInner, filter: impl IntoDocument, multi: bool) -> Self {
        let mut deferred = Deferred::default();
        Self {
            collection,
            filter: deferred.document("filter", filter),
            multi,
            options: DeleteOptions::default(),
            deferred,
            session: None,
        }
    }

    setters! {
        /// For MongoDB's own tools: work on the collection's storage as it is (server 8.2). Older servers are not told.
        #[doc(hidden)]
        raw_data: plain = bool;
        /// The index the server must use, by name or by keys.
        hint: boxed = Hint;
        /// How strings compare.
        collation: boxed = Collation;
        /// Variables for `$expr`, read as `$$name`.
        let_vars: document;
        /// A note that shows up in the server's logs and profiler.
        comment: boxed = Bson;
    }

    session_setter!();

    async fn run(&mut self) -> Result<DeleteResult> {
        self.deferred.take_result()?;
        let mut statement = DeleteStatement {
            filter: &self.filter,
            multi: self.multi,
            options: &self.options,
        };
        let inner = self.collection;
        let mut command = WriteCommand::new(inner.namespace(), &mut statement, inner.write_concern());
        inner.executor().run_in(self.session, &mut command).await?;
        let (_, outcome) = command.into_outcome();
        Ok(DeleteResult {
            deleted_count: outcome.into_single()?.n,
        })
    }
}

awaitable!(in place ['a] Delete<'a> => DeleteResult);
