//! `distinct`: [`Collection::distinct`] ([CRUD specification]).
//!
//! [CRUD specification]: https://github.com/mongodb/specifications/blob/master/source/crud/crud.md

use std::borrow::Cow;

use super::shown::{FieldNames, debug_without_values};
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
    bson::{Bson, IntoDocument, RawDocumentBuf, RawElements, find_element},
    operation::{Operation, OperationOverrides, Properties, ReadScope, ReplyContext},
    proto::{
        command::{CommandBuilder, Reply, array_bytes},
        description::HelloReply,
    },
    types::server_requirement::ServerRequirement,
};

/// The options of `distinct`. See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __distinct_options {
    ($then:path { $($arguments:tt)* }) => {
        $crate::__commented_read_options! { $then { $($arguments)* } [needs (4, 4)]
            /// The collation of string comparisons. Default: the default collation of the
            /// collection.
            collation: boxed $crate::options::Collation = "collation";
            /// The index to use, by name or by key pattern (MongoDB 7.1+; an error for older
            /// servers). Default: the choice of the query planner.
            hint: boxed $crate::options::Hint = "hint" [needs (7, 1)];
        }
    };
}

crate::__distinct_options! { define_options {
    /// Options of [`Collection::distinct`].
    pub struct DistinctOptions;
} }

impl<T> Collection<T> {
    /// The distinct values of the field `field`, e.g. `"address.city"`, in the documents that match
    /// the filter. If the value is an array, its elements are the values. The order is undefined.
    /// All values are in one reply, which is limited to 16 MiB.
    ///
    /// The command is not part of the Stable API, version 1: with `apiStrict` the server rejects it with code 323
    /// (`APIStrictError`). Group by the field in an aggregation instead.
    pub fn distinct(&self, field: impl Into<String>, filter: impl IntoDocument) -> Distinct<'_> {
        let mut deferred = Deferred::default();
        Distinct {
            collection: self.inner(),
            field: field.into(),
            filter: deferred.document("filter", filter),
            deferred,
            options: DistinctOptions::default(),
            session: self.inner().session(),
        }
    }
}

/// Returns the distinct values of a field. Await it for a [`Vec`] of [`Bson`] values; see
/// [`Collection::distinct`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Distinct<'a> {
    collection: &'a CollectionInner,
    field: String,
    filter: RawDocumentBuf,
    deferred: Deferred,
    options: DistinctOptions,
    session: InSession<'a>,
}

debug_without_values! {
    [] Distinct<'_>, "Distinct", |it|
    namespace: it.collection.namespace(), field: it.field, filter: FieldNames(&it.filter), options: it.options
}

impl<'a> Distinct<'a> {
    crate::__distinct_options! { option_setters { DistinctOptions } }

    session_setter!();

    explain_method! {
        pub fn explain(self) -> Explain<'a> {
            let Self { collection, field, filter, deferred, mut options, session } = self;
            let (max_time, timeout) = (options.max_time, options.timeout);
            let requires = options.requires.take();
            let errors = [deferred, std::mem::take(&mut options.deferred)];
            let explained = Explained::Read(options.read_concern.take(), options.read_preference.take());
            Explain::new(Cow::Borrowed(collection), session, errors, explained, move |collection, command, server| {
                let mut operation = DistinctOperation {
                    scope: collection.read_scope(None, None),
                    field: &field,
                    filter: &filter,
                    options: &options,
                };
                operation.build(command, server)
            })
            .requiring(requires)
            .with_limits(max_time, timeout)
        }
    }

    async fn run(&mut self) -> Result<Vec<Bson>> {
        self.deferred.take_result()?;
        let options = &mut self.options;
        options.deferred.take_result()?;
        let timeout = self
            .collection
            .start_timeout("distinct", options.timeout, self.session)?;
        check_read_concern(self.session, options.read_concern.as_deref())?;
        let mut operation = DistinctOperation {
            scope: self.collection.read_scope(
                options.read_concern.as_deref(),
                options.read_preference.as_deref(),
            ),
            field: &self.field,
            filter: &self.filter,
            options,
        };
        let executor = self.collection.executor();
        executor.run_in(self.session, timeout, &mut operation).await
    }
}

awaitable!(in place ['a] Distinct<'a> => Vec<Bson>);

/// The `distinct` command.
struct DistinctOperation<'a> {
    scope: ReadScope<'a>,
    field: &'a str,
    filter: &'a RawDocumentBuf,
    options: &'a DistinctOptions,
}

impl Operation for DistinctOperation<'_> {
    type Output = Vec<Bson>;

    fn properties(&self) -> Properties<'_> {
        self.scope.properties("distinct")
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
        command.str("distinct", &self.scope.namespace.collection);
        command.str("key", self.field);
        command.document("query", self.filter);
        self.options.write(command, server);
        command.read_concern(self.scope.read_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<Vec<Bson>> {
        let values = find_element(reply.body, "values")?.and_then(|element| array_bytes(element.value));
        let Some(values) = values else {
            return Err(Error::invalid_reply(
                "the reply to distinct has no array in its field \"values\"",
            ));
        };
        RawElements::new(values)?
            .map(|element| Ok(element?.value.to_bson()?))
            .collect()
    }
}
