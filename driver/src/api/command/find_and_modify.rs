//! `findAndModify`: [`Collection::find_one_and_update`], [`Collection::find_one_and_replace`] and
//! [`Collection::find_one_and_delete`] ([CRUD specification], "Find And Modify").
//!
//! [CRUD specification]: https://github.com/mongodb/specifications/blob/master/source/crud/crud.md

use std::marker::PhantomData;

use serde::{Serialize, de::DeserializeOwned};

use super::{
    Deferred, InSession, awaitable,
    declare::{define_options, option_setters},
    session_setter,
    update::{
        IntoUpdate, Modification, UpdateModification, array_filter_options, replacement_of, upsert_options,
    },
    wire::WriteOptions,
};
use crate::{
    Collection, Error, Namespace, Result,
    bson::{IntoDocument, RawDocument, RawDocumentBuf, find_element},
    operation::{Operation, Properties, ReplyContext, decode_owned, write_command::check_hint, write_result},
    proto::{
        command::{CommandBuilder, Reply, document_bytes},
        description::HelloReply,
    },
    types::concern::WriteConcern,
};

/// The options of `find_one_and_delete`, which all three methods have. See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __find_one_and_delete_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $then! { { $($arguments)* }
            /// The order that decides which matching document is taken. Default: no particular order.
            [driver] sort: document = "sort";
            /// The fields to return. Default: all fields.
            [driver] projection: document = "fields";
            /// The index to use, by name or by keys (MongoDB 4.4+). Default: the query planner's choice.
            hint: boxed $crate::options::Hint = "hint";
            /// The rules for comparing strings. Default: the collection's collation.
            collation: boxed $crate::options::Collation = "collation";
            /// Variables for expressions, available as `$$name`. Default: none.
            let_vars: document = "let";
            /// Change the raw storage of the collection (MongoDB 8.2+; ignored by older servers). For MongoDB's own tools.
            #[doc(hidden)]
            [driver] raw_data: plain bool = "rawData" since is_8_2;
            /// Maximum time that the server may work on the operation, in milliseconds on the wire; beyond it, the server returns
            /// error 50 (MaxTimeMSExpired). Zero disables the cluster's default limit (`defaultMaxTimeMS`). Default: the cluster's.
            max_time: plain std::time::Duration = "maxTimeMS";
            /// A comment for the server's logs and profiler, and for `currentOp`. Default: none.
            comment: boxed $crate::bson::Bson = "comment";
            /// The write concern of this operation. Default: the collection's.
            write_concern: write_concern;
            $($more)*
        }
    };
}

/// The options of `find_one_and_replace`: those of `find_one_and_delete`, and more.
#[doc(hidden)]
#[macro_export]
macro_rules! __find_one_and_replace_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $crate::__find_one_and_delete_options! { $then { $($arguments)* }
            /// Insert a document if none matches. Default: false.
            [driver] upsert: plain bool = "upsert";
            /// Return the document as it was before the change, or as it is after it. Default: before.
            return_document: plain $crate::options::ReturnDocument = "new";
            /// Skip the collection's schema validation. Default: false.
            bypass_document_validation: plain bool = "bypassDocumentValidation";
            $($more)*
        }
    };
}

/// The options of `find_one_and_update`: those of `find_one_and_replace`, and `array_filters`.
#[doc(hidden)]
#[macro_export]
macro_rules! __find_one_and_update_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $crate::__find_one_and_replace_options! { $then { $($arguments)* }
            /// Conditions for the array elements that `$[name]` in the update stands for. Default: none.
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

upsert_options! { FindOneAndUpdateOptions FindOneAndReplaceOptions }
array_filter_options! { FindOneAndUpdateOptions }

impl<T: DeserializeOwned + 'static> Collection<T> {
    /// Updates one document and returns it, as it was before the update unless
    /// [`return_document`](FindOneAndUpdate::return_document) is set. Awaited, it returns `None` if no document matches.
    pub fn find_one_and_update(
        &self,
        filter: impl IntoDocument,
        update: impl IntoUpdate,
    ) -> FindOneAndUpdate<'_, T> {
        FindOneAndUpdate::new(self, filter, Change::from(update.into_update()))
    }

    /// Deletes one document and returns it. Awaited, it returns `None` if no document matches.
    pub fn find_one_and_delete(&self, filter: impl IntoDocument) -> FindOneAndDelete<'_, T> {
        FindOneAndDelete::new(self, filter, Change::default())
    }
}

impl<T: Serialize + DeserializeOwned + 'static> Collection<T> {
    /// Replaces one document and returns it, as it was before the replacement unless
    /// [`return_document`](FindOneAndReplace::return_document) is set. Awaited, it returns `None` if no document matches.
    pub fn find_one_and_replace(
        &self,
        filter: impl IntoDocument,
        replacement: &T,
    ) -> FindOneAndReplace<'_, T> {
        FindOneAndReplace::new(self, filter, Change::from(replacement_of(replacement)))
    }
}

/// What is done to the document: a modification, or a removal if there is none.
#[derive(Debug, Default)]
struct Change(Option<Modification>, Deferred);

impl From<UpdateModification> for Change {
    fn from(UpdateModification(modification, deferred): UpdateModification) -> Self {
        Self(Some(modification), deferred)
    }
}

macro_rules! find_and_modify_action {
    ($(#[$doc:meta])* $Action:ident, $Options:ident, $list:ident) => {
        $(#[$doc])*
        #[must_use = "nothing is sent before the action is awaited"]
        #[derive(Debug)]
        pub struct $Action<'a, T> {
            collection: &'a Collection<T>,
            filter: RawDocumentBuf,
            change: Change,
            options: $Options,
            session: InSession<'a>,
        }

        impl<'a, T: DeserializeOwned + 'static> $Action<'a, T> {
            fn new(collection: &'a Collection<T>, filter: impl IntoDocument, mut change: Change) -> Self {
                Self {
                    collection,
                    filter: change.1.document("filter", filter),
                    change,
                    options: $Options::default(),
                    session: None,
                }
            }

            crate::$list! { option_setters { $Options } }

            session_setter!();

            async fn run(&mut self) -> Result<Option<T>> {
                let Change(modification, deferred) = &mut self.change;
                deferred.take_result()?;
                self.options.deferred.take_result()?;
                if let Some(modification) = modification {
                    modification.validate()?;
                }
                let inner = self.collection.inner();
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
                inner.executor().run_in(self.session, &mut operation).await
            }
        }

        awaitable!(in place ['a, T: DeserializeOwned + Send + Sync + 'static] $Action<'a, T> => Option<T>);
    };
}

find_and_modify_action! {
    /// Updates one document and returns it. Await it; see [`Collection::find_one_and_update`].
    FindOneAndUpdate, FindOneAndUpdateOptions, __find_one_and_update_options
}

find_and_modify_action! {
    /// Replaces one document and returns it. Await it; see [`Collection::find_one_and_replace`].
    FindOneAndReplace, FindOneAndReplaceOptions, __find_one_and_replace_options
}

find_and_modify_action! {
    /// Deletes one document and returns it. Await it; see [`Collection::find_one_and_delete`].
    FindOneAndDelete, FindOneAndDeleteOptions, __find_one_and_delete_options
}

/// Changes or removes one document and returns it as `T`.
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
            .ok_or_else(|| Error::invalid_reply("the reply to findAndModify has no value"))?;
        match document_bytes(value.value) {
            Some(bytes) => decode_owned(bytes).map(Some),
            None => Ok(None),
        }
    }

    fn unacknowledged(&mut self) -> Result<Option<T>> {
        Ok(None)
    }
}
