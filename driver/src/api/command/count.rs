//! `count`: [`Collection::estimated_document_count`] ([CRUD specification], "Count API Details").
//!
//! [CRUD specification]: https://github.com/mongodb/specifications/blob/master/source/crud/crud.md

use std::borrow::Cow;

use super::{
    Deferred, InSession, awaitable, check_read_concern,
    declare::{define_options, option_setters},
    explain::{Explain, Explained, explain_method},
    session_setter,
    wire::WriteOptions,
};
use crate::{
    Collection, Error, Result,
    api::collection::CollectionInner,
    error::code::NAMESPACE_NOT_FOUND,
    operation::{Operation, OperationOverrides, Properties, ReadScope, ReplyContext},
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
    },
    types::server_requirement::ServerRequirement,
};

/// The options of `estimated_document_count`. See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __estimated_document_count_options {
    ($then:path { $($arguments:tt)* }) => {
        $crate::__commented_read_options! { $then { $($arguments)* } [needs (4, 4)] }
    };
}

crate::__estimated_document_count_options! { define_options {
    /// Options of [`Collection::estimated_document_count`].
    pub struct EstimatedDocumentCountOptions;
} }

impl<T> Collection<T> {
    /// Returns the number of documents from the metadata of the collection, 0 if the collection
    /// does not exist. The number may be wrong after an unclean shutdown of the server, and on
    /// sharded clusters, where it includes orphaned documents ([Count: Behavior]).
    /// [`count_documents`](Self::count_documents) returns the exact number, and takes longer.
    ///
    /// The command is `count`. MongoDB 5.0.0 to 5.0.8 and 5.1.0 to 5.3.1 do not include it in API
    /// version 1 and reject it if [`ServerApi`](crate::options::ServerApi) is strict. Upgrade such
    /// a server, or set `strict` to `false`.
    ///
    /// [Count: Behavior]: https://www.mongodb.com/docs/manual/reference/command/count/#behavior
    pub fn estimated_document_count(&self) -> EstimatedDocumentCount<'_> {
        EstimatedDocumentCount {
            collection: self.inner(),
            options: EstimatedDocumentCountOptions::default(),
            session: None,
        }
    }
}

/// Counts all documents from metadata. Await it for the number; see
/// [`Collection::estimated_document_count`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct EstimatedDocumentCount<'a> {
    collection: &'a CollectionInner,
    options: EstimatedDocumentCountOptions,
    session: InSession<'a>,
}

impl<'a> EstimatedDocumentCount<'a> {
    crate::__estimated_document_count_options! { option_setters { EstimatedDocumentCountOptions } }

    session_setter!();

    explain_method! {
        pub fn explain(self) -> Explain<'a> {
            let Self { collection, mut options, session } = self;
            let (max_time, timeout) = (options.max_time, options.timeout);
            let requires = options.requires.take();
            let errors = [std::mem::take(&mut options.deferred), Deferred::default()];
            let explained = Explained::Read(options.read_concern.take(), options.read_preference.take());
            Explain::new(Cow::Borrowed(collection), session, errors, explained, move |collection, command, server| {
                let scope = collection.read_scope(None, None);
                Count { scope, options: &options }.build(command, server)
            })
            .requiring(requires)
            .with_limits(max_time, timeout)
        }
    }

    async fn run(mut self) -> Result<u64> {
        let options = &mut self.options;
        options.deferred.take_result()?;
        let timeout = self
            .collection
            .start_timeout("count", options.timeout, self.session)?;
        check_read_concern(self.session, options.read_concern.as_deref())?;
        let mut operation = Count {
            scope: self.collection.read_scope(
                options.read_concern.as_deref(),
                options.read_preference.as_deref(),
            ),
            options,
        };
        let executor = self.collection.executor();
        executor.run_in(self.session, timeout, &mut operation).await
    }
}

awaitable!(['a] EstimatedDocumentCount<'a> => u64);

/// `count` without a query.
struct Count<'a> {
    scope: ReadScope<'a>,
    options: &'a EstimatedDocumentCountOptions,
}

impl Operation for Count<'_> {
    type Output = u64;

    fn properties(&self) -> Properties<'_> {
        self.scope.properties("count")
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.scope.namespace.collection)
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn requirement(&self) -> Option<&ServerRequirement> {
        self.options.requirement()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        command.str("count", &self.scope.namespace.collection);
        self.options.write(command, server);
        command.read_concern(self.scope.read_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<u64> {
        reply.n()
    }

    /// Some servers return `NamespaceNotFound` for a collection that does not exist; others count
    /// 0 documents.
    fn recover(&mut self, error: Error) -> Result<u64> {
        if error.code() == Some(NAMESPACE_NOT_FOUND) {
            Ok(0)
        } else {
            Err(error)
        }
    }
}
