//! `findAndModify`: [`Collection::find_one_and_update`], [`Collection::find_one_and_replace`] and
//! [`Collection::find_one_and_delete`] ([CRUD specification], "Find And Modify").
//!
//! [CRUD specification]: https://github.com/mongodb/specifications/blob/master/source/crud/crud.md

use std::{borrow::Cow, marker::PhantomData};

use serde::{Serialize, de::DeserializeOwned};

use super::shown::{FieldNames, debug_without_values};
use super::{
    Deferred, InSession, awaitable,
    declare::{define_options, option_setters},
    explain::{Explain, Explained, explain_method},
    session_setter,
    update::{
        IntoUpdate, Modification, UpdateModification, array_filter_options, replacement_of, upsert_options,
    },
    wire::WriteOptions,
};
use crate::{
    Collection, Error, Namespace, Result,
    bson::{Document, IntoDocument, RawDocument, RawDocumentBuf, find_element},
    operation::{
        Operation, OperationOverrides, Properties, ReplyContext, decode_owned, write_command::check_hint,
        write_result,
    },
    proto::{
        command::{CommandBuilder, Reply, document_bytes},
        description::HelloReply,
    },
    types::{concern::WriteConcern, return_document::ReturnDocument, server_requirement::ServerRequirement},
};

/// The options of `find_one_and_delete`, which `find_one_and_replace` and `find_one_and_update`
/// share.
/// See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __find_one_and_delete_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $then! { { $($arguments)* }
            /// The sort order that determines which of the matching documents is changed or
            /// deleted. Default: none.
            [driver] sort: document = "sort";
            /// The fields to return, e.g. `doc! { "name": 1, "_id": 0 }`. Default: all fields.
            [driver] projection: document = "fields";
            /// The index to use, by name or by key pattern (MongoDB 4.4+). Default: the choice of
            /// the query planner.
            hint: boxed $crate::options::Hint = "hint" [needs (4, 4)];
            /// The collation of string comparisons. Default: the default collation of the
            /// collection.
            collation: boxed $crate::options::Collation = "collation";
            /// Variables for expressions, e.g. `doc! { "least": 5 }`, used as `$$least` in `$expr`
            /// and in pipelines (MongoDB 5.0+). Default: none.
            let_vars: document = "let" [needs (5, 0)];
            /// Change the raw storage of the collection (MongoDB 8.2+; ignored by older servers).
            /// For MongoDB's own tools.
            #[doc(hidden)]
            [driver] raw_data: plain bool = "rawData" since is_8_2;
            /// `maxTimeMS`: the time limit for the operation on the server, sent in whole
            /// milliseconds (1 to 2³¹ - 1). If it expires, the server returns error 50
            /// (`MaxTimeMSExpired`). Zero disables the default limit of the cluster
            /// (`defaultMaxTimeMS`, MongoDB 8.0+). Default: the default limit of the cluster, or no
            /// limit.
            max_time: plain std::time::Duration = "maxTimeMS";
            /// A comment that appears in the server's log, in the profiler and in `currentOp`
            /// (MongoDB 4.4+). Default: none.
            comment: boxed $crate::bson::Bson = "comment" [needs (4, 4)];
            /// `timeoutMS`: the time limit for the whole operation, including server selection and
            /// retries. It replaces all other time limits of the operation. Zero means no limit.
            /// Default: that of the collection.
            timeout: plain std::time::Duration;
            /// The write concern of this operation. Default: the collection's.
            write_concern: write_concern;
            /// A feature of the operation that older servers do not have: on such a server the
            /// operation fails before it is sent. Of several, the latest version applies. Default: none.
            [driver] requires: requirement;
            $($more)*
        }
    };
}

/// The options of `find_one_and_replace`: those of `find_one_and_delete` and three more.
/// See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __find_one_and_replace_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $crate::__find_one_and_delete_options! { $then { $($arguments)* }
            /// Insert a document if none matches. Default: `false`.
            [driver] upsert: plain bool = "upsert";
            /// Which state of the document to return. Default: `ReturnDocument::Before`.
            return_document: plain $crate::options::ReturnDocument = "new";
            /// Skip schema validation. Default: `false`.
            bypass_document_validation: plain bool = "bypassDocumentValidation";
            $($more)*
        }
    };
}

/// The options of `find_one_and_update`: those of `find_one_and_replace` and `array_filters`.
/// See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __find_one_and_update_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $crate::__find_one_and_replace_options! { $then { $($arguments)* }
            /// Filters for the array elements that `$[identifier]` in the update matches, e.g.
            /// `[doc! { "line.sku": "A-1" }]` for `lines.$[line].quantity`. Default: none.
            [driver] array_filters: documents = "arrayFilters";
            $($more)*
        }
    };
}

crate::__find_one_and_delete_options! { define_options {
    /// Options of [`Collection::find_one_and_delete`].
    pub struct FindOneAndDeleteOptions;
} }

crate::__find_one_and_replace_options! { define_options {
    /// Options of [`Collection::find_one_and_replace`].
    pub struct FindOneAndReplaceOptions;
} }

crate::__find_one_and_update_options! { define_options {
    /// Options of [`Collection::find_one_and_update`].
    pub struct FindOneAndUpdateOptions;
} }

/// An update with the options of a delete, for soft deletion in the ODM.
impl From<FindOneAndDeleteOptions> for FindOneAndUpdateOptions {
    fn from(options: FindOneAndDeleteOptions) -> Self {
        Self {
            sort: options.sort,
            projection: options.projection,
            hint: options.hint,
            collation: options.collation,
            let_vars: options.let_vars,
            raw_data: options.raw_data,
            max_time: options.max_time,
            comment: options.comment,
            timeout: options.timeout,
            write_concern: options.write_concern,
            requires: options.requires,
            deferred: options.deferred,
            ..Self::default()
        }
    }
}

upsert_options! { FindOneAndUpdateOptions FindOneAndReplaceOptions }

/// For the ODM: the server returns no other form of a document with encrypted fields.
macro_rules! returned_options {
    ($($Options:ident: $original:expr;)*) => { $(
        impl $Options {
            /// Whether the whole document is returned, as it was before the change.
            #[must_use]
            pub fn returns_original(&self) -> bool {
                let is_original: fn(&Self) -> bool = $original;
                self.projection.is_none() && is_original(self)
            }
        }
    )* };
}

returned_options! {
    FindOneAndUpdateOptions: |options| options.return_document != Some(ReturnDocument::After);
    FindOneAndReplaceOptions: |options| options.return_document != Some(ReturnDocument::After);
    FindOneAndDeleteOptions: |_| true;
}

array_filter_options! { FindOneAndUpdateOptions }

impl<T: DeserializeOwned + 'static> Collection<T> {
    /// Updates one document and returns it in the state before the update, or after it if
    /// [`return_document`](FindOneAndUpdate::return_document) is
    /// [`After`](crate::options::ReturnDocument::After). Awaiting the action returns `None` if no
    /// document matches, unless an upserted document is returned after the update; also `None` if
    /// the write is unacknowledged.
    ///
    /// # Errors
    /// [`ErrorKind::Command`](crate::ErrorKind::Command) if the server rejects the update, and
    /// [`ErrorKind::Write`](crate::ErrorKind::Write) if the write concern was not satisfied.
    /// [`ErrorKind::Decode`](crate::ErrorKind::Decode) if the document cannot be deserialized; the
    /// document has then been updated.
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) if the update is empty or
    /// does not begin with an operator.
    ///
    /// ```no_run
    /// # async fn run(counters: marula_driver::Collection<marula_driver::bson::Document>) -> marula_driver::Result<()> {
    /// use marula_driver::{bson::doc, options::ReturnDocument};
    /// let counter = counters
    ///     .find_one_and_update(doc! { "_id": "invoices" }, doc! { "$inc": { "last": 1 } })
    ///     .upsert(true)
    ///     .return_document(ReturnDocument::After)
    ///     .await?;
    /// # Ok(()) }
    /// ```
    pub fn find_one_and_update(
        &self,
        filter: impl IntoDocument,
        update: impl IntoUpdate,
    ) -> FindOneAndUpdate<'_, T> {
        FindOneAndUpdate::new(self, filter, Change::from(update.into_update()))
    }

    /// Deletes one document and returns it. Awaiting the action returns `None` if no document
    /// matches, or if the write is unacknowledged. Errors are those of
    /// [`find_one_and_update`](Self::find_one_and_update).
    pub fn find_one_and_delete(&self, filter: impl IntoDocument) -> FindOneAndDelete<'_, T> {
        FindOneAndDelete::new(self, filter, Change::default())
    }
}

impl<T: Serialize + DeserializeOwned + 'static> Collection<T> {
    /// Replaces one document and returns it in the state before the replacement, or after it if
    /// [`return_document`](FindOneAndReplace::return_document) is
    /// [`After`](crate::options::ReturnDocument::After). Awaiting the action returns `None` if no
    /// document matches, unless an upserted document is returned after the replacement. Errors are
    /// those of [`find_one_and_update`](Self::find_one_and_update), but the replacement cannot begin
    /// with an operator.
    pub fn find_one_and_replace(
        &self,
        filter: impl IntoDocument,
        replacement: &T,
    ) -> FindOneAndReplace<'_, T> {
        FindOneAndReplace::new(self, filter, Change::from(replacement_of(replacement)))
    }
}

/// The modification of the document (`None` removes it), and the first error of the arguments.
#[derive(Debug, Default)]
struct Change(Option<Modification>, Deferred);

impl From<UpdateModification> for Change {
    fn from(UpdateModification(modification, deferred): UpdateModification) -> Self {
        Self(Some(modification), deferred)
    }
}

/// Defines an action with the options in the macro `$list`.
macro_rules! find_and_modify_action {
    ($(#[$doc:meta])* $Action:ident, $Options:ident, $list:ident) => {
        $(#[$doc])*
        #[must_use = "nothing is sent before the action is awaited"]
        pub struct $Action<'a, T> {
            collection: &'a Collection<T>,
            filter: RawDocumentBuf,
            change: Change,
            options: $Options,
            session: InSession<'a>,
        }

        debug_without_values! {
            [T] $Action<'_, T>, "FindAndModify", |it|
            namespace: it.collection.namespace(), filter: FieldNames(&it.filter), change: it.change.0, options: it.options
        }

        impl<'a, T: DeserializeOwned + 'static> $Action<'a, T> {
            fn new(collection: &'a Collection<T>, filter: impl IntoDocument, mut change: Change) -> Self {
                Self {
                    collection,
                    filter: change.1.document("filter", filter),
                    change,
                    options: $Options::default(),
                    session: collection.inner().session(),
                }
            }

            crate::$list! { option_setters { $Options } }

            session_setter!();

            explain_method! {
                pub fn explain(self) -> Explain<'a> {
                    let Self { collection, filter, change, mut options, session } = self;
                    let Change(modification, deferred) = change;
                    let (max_time, timeout) = (options.max_time, options.timeout);
                    let requires = options.requires.take();
                    let errors = [deferred, std::mem::take(&mut options.deferred)];
                    let mut invalid = Deferred::default();
                    if let Some(modification) = &modification {
                        invalid.check(modification.validate());
                    }
                    let collection = Cow::Borrowed(collection.inner());
                    Explain::new(collection, session, errors, Explained::Write, move |collection, command, server| {
                        let mut operation = FindAndModify {
                            namespace: collection.namespace(),
                            filter: &filter,
                            modification: modification.as_ref(),
                            options: &options,
                            has_hint: options.hint.is_some(),
                            write_concern: collection.write_concern(),
                            document: PhantomData::<fn() -> Document>,
                        };
                        operation.build(command, server)
                    })
                    .with_error(invalid)
                    .requiring(requires)
                    .with_limits(max_time, timeout)
                }
            }

            async fn run(&mut self) -> Result<Option<T>> {
                let Change(modification, deferred) = &mut self.change;
                deferred.take_result()?;
                self.options.deferred.take_result()?;
                if let Some(modification) = modification {
                    modification.validate()?;
                }
                let inner = self.collection.inner();
                let timeout = inner.start_timeout("findAndModify", self.options.timeout, self.session)?;
                let write_concern = self.options.write_concern.as_deref();
                let mut operation = FindAndModify {
                    namespace: inner.namespace(),
                    filter: &self.filter,
                    modification: modification.as_ref(),
                    options: &self.options,
                    has_hint: self.options.hint.is_some(),
                    write_concern: write_concern.unwrap_or(inner.write_concern()),
                    document: PhantomData,
                };
                inner.executor().run_in(self.session, timeout, &mut operation).await
            }
        }

        awaitable!(in place ['a, T: DeserializeOwned + Send + Sync + 'static] $Action<'a, T> => Option<T>);
    };
}

find_and_modify_action! {
    /// Updates one document and returns it. Await it for an [`Option`] of the document; see
    /// [`Collection::find_one_and_update`].
    FindOneAndUpdate, FindOneAndUpdateOptions, __find_one_and_update_options
}

find_and_modify_action! {
    /// Replaces one document and returns it. Await it for an [`Option`] of the document; see
    /// [`Collection::find_one_and_replace`].
    FindOneAndReplace, FindOneAndReplaceOptions, __find_one_and_replace_options
}

find_and_modify_action! {
    /// Deletes one document and returns it. Await it for an [`Option`] of the document; see
    /// [`Collection::find_one_and_delete`].
    FindOneAndDelete, FindOneAndDeleteOptions, __find_one_and_delete_options
}

/// `findAndModify`, returning the document as `T`.
struct FindAndModify<'a, T, O> {
    namespace: &'a Namespace,
    filter: &'a RawDocument,
    /// `None` removes the document.
    modification: Option<&'a Modification>,
    options: &'a O,
    has_hint: bool,
    write_concern: &'a WriteConcern,
    document: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + 'static, O: WriteOptions> Operation for FindAndModify<'_, T, O> {
    type Output = Option<T>;

    fn properties(&self) -> Properties<'_> {
        Properties::write("findAndModify", &self.namespace.database, self.write_concern)
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.namespace.collection)
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn requirement(&self) -> Option<&ServerRequirement> {
        self.options.requirement()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        check_hint(|| self.has_hint, self.write_concern, server)?;
        command.str("findAndModify", &self.namespace.collection);
        command.document("query", self.filter);
        match self.modification {
            None => command.bool("remove", true),
            Some(modification) => modification.write(command, "update"),
        }
        self.options.write(command, server);
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<Option<T>> {
        write_result::check_single(reply)?;
        let value = find_element(reply.body, "value")?
            .ok_or_else(|| Error::invalid_reply("the reply to findAndModify has no field \"value\""))?;
        match document_bytes(value.value) {
            Some(bytes) => decode_owned(bytes).map(Some),
            None => Ok(None),
        }
    }

    fn unacknowledged(&mut self) -> Result<Option<T>> {
        Ok(None)
    }
}
