//! `update`: [`Collection::update_one`], [`Collection::update_many`] and
//! [`Collection::replace_one`] ([CRUD specification], "Insert, Update, Replace, Delete, and Bulk
//! Writes").
//!
//! [CRUD specification]: https://github.com/mongodb/specifications/blob/master/source/crud/crud.md

mod modification;

use std::borrow::Cow;

use serde::Serialize;

use super::shown::{FieldNames, debug_without_values};
use super::{
    Deferred, InSession, awaitable,
    batcher::send_single,
    declare::{define_options, option_setters},
    delete::DeleteOptions,
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
        write_command::{Statements, WriteKind, WriteOutcome},
    },
    proto::{command::CommandBuilder, description::HelloReply},
    types::{server_requirement::ServerRequirement, write_result::UpdateResult},
};
pub use modification::{IntoUpdate, UpdateModification};
pub(super) use modification::{Modification, replacement_of};

/// The options that updates and replacements share. See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __update_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $then! { { $($arguments)* }
            /// Insert a document if none matches. Default: `false`.
            [driver statement] upsert: plain bool = "upsert";
            /// The index to use, by name or by key pattern. Default: the choice of the query
            /// planner.
            [statement] hint: boxed $crate::options::Hint = "hint";
            /// The collation of string comparisons. Default: the default collation of the
            /// collection.
            [statement] collation: boxed $crate::options::Collation = "collation";
            /// Skip schema validation. Default: `false`.
            bypass_document_validation: plain bool = "bypassDocumentValidation";
            /// Update the raw storage of the collection (MongoDB 8.2+; ignored by older servers).
            /// For MongoDB's own tools.
            #[doc(hidden)]
            [driver] raw_data: plain bool = "rawData" since is_8_2;
            /// A comment that appears in the server's log, in the profiler and in `currentOp`
            /// (MongoDB 4.4+). Default: none.
            comment: boxed $crate::bson::Bson = "comment" [needs (4, 4)];
            /// Variables for expressions, e.g. `doc! { "least": 5 }`, used as `$$least` in `$expr`
            /// and in pipelines (MongoDB 5.0+). Default: none.
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
            $($more)*
        }
    };
}

/// The options of `replace_one`. See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __replace_one_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $crate::__update_options! { $then { $($arguments)* }
            /// The sort order that determines which of the matching documents is replaced (MongoDB
            /// 8.0+). Default: none.
            [driver statement] sort: boxed_document = "sort" [needs (8, 0)];
            $($more)*
        }
    };
}

/// The options of `update_many`. See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __update_many_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $crate::__update_options! { $then { $($arguments)* }
            /// Filters for the array elements that `$[identifier]` in the update matches, e.g.
            /// `[doc! { "line.sku": "A-1" }]` for `lines.$[line].quantity`. Default: none.
            [driver statement] array_filters: documents = "arrayFilters";
            $($more)*
        }
    };
}

/// The options of `update_one`: those of `update_many` and `sort`. See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __update_one_options {
    ($then:path { $($arguments:tt)* } $($more:tt)*) => {
        $crate::__update_many_options! { $then { $($arguments)* }
            /// The sort order that determines which of the matching documents is updated (MongoDB
            /// 8.0+). Default: none.
            [driver statement] sort: boxed_document = "sort" [needs (8, 0)];
            $($more)*
        }
    };
}

crate::__update_one_options! { define_options {
    /// Options of [`Collection::update_one`].
    pub struct UpdateOneOptions;
} }

crate::__update_many_options! { define_options {
    /// Options of [`Collection::update_many`].
    pub struct UpdateManyOptions;
} }

crate::__replace_one_options! { define_options {
    /// Options of [`Collection::replace_one`].
    pub struct ReplaceOneOptions;
} }

/// Updates with the options of a delete, for soft deletion in the ODM.
macro_rules! of_delete {
    ($($Options:ident)*) => { $(
        impl From<DeleteOptions> for $Options {
            fn from(options: DeleteOptions) -> Self {
                Self {
                    hint: options.hint,
                    collation: options.collation,
                    raw_data: options.raw_data,
                    comment: options.comment,
                    let_vars: options.let_vars,
                    timeout: options.timeout,
                    write_concern: options.write_concern,
                    requires: options.requires,
                    deferred: options.deferred,
                    ..Self::default()
                }
            }
        }
    )* };
}
of_delete! { UpdateOneOptions UpdateManyOptions }

/// An update by a pipeline with the options of a replacement, for saves in the ODM.
impl From<ReplaceOneOptions> for UpdateOneOptions {
    fn from(options: ReplaceOneOptions) -> Self {
        Self {
            upsert: options.upsert,
            hint: options.hint,
            collation: options.collation,
            bypass_document_validation: options.bypass_document_validation,
            raw_data: options.raw_data,
            comment: options.comment,
            let_vars: options.let_vars,
            timeout: options.timeout,
            write_concern: options.write_concern,
            requires: options.requires,
            sort: options.sort,
            array_filters: None,
            deferred: options.deferred,
        }
    }
}

/// Defines a method that returns whether `upsert` is set, for the ODM: an upsert needs an `_id`.
macro_rules! upsert_options {
    ($($Options:ident)*) => { $(
        impl $Options {
            /// Whether [`upsert`](Self::upsert) was set to `true`.
            #[must_use]
            pub fn is_upsert(&self) -> bool {
                self.upsert == Some(true)
            }
        }
    )* };
}
pub(super) use upsert_options;

/// Defines a method that adds array filters; the ODM adds those of its typed updates.
macro_rules! array_filter_options {
    ($($Options:ident)*) => { $(
        impl $Options {
            /// Adds filters to those set with [`array_filters`](Self::array_filters).
            pub fn add_array_filters(mut self, filters: impl IntoIterator<Item: IntoDocument>) -> Self {
                let filters = self.deferred.documents("array_filters", filters);
                self.array_filters.get_or_insert_default().extend(filters);
                self
            }
        }
    )* };
}
pub(super) use array_filter_options;

upsert_options! { UpdateOneOptions UpdateManyOptions ReplaceOneOptions }
array_filter_options! { UpdateOneOptions UpdateManyOptions }

impl<T> Collection<T> {
    /// Updates the first document that matches the filter, with a document of update operators or
    /// with the stages of an aggregation pipeline (see [`IntoUpdate`]). See [`UpdateOne::sort`] if
    /// several documents match.
    ///
    /// # Errors
    /// [`ErrorKind::Write`](crate::ErrorKind::Write) if the server rejects the update or the write
    /// concern was not satisfied. [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument)
    /// if the update is empty or does not begin with an operator. No match is not an error:
    /// [`matched_count`](UpdateResult::matched_count) is 0.
    ///
    /// ```no_run
    /// # async fn run(stock: marula_driver::Collection<marula_driver::bson::Document>) -> marula_driver::Result<()> {
    /// use marula_driver::bson::doc;
    /// let done = stock
    ///     .update_one(doc! { "sku": "a", "left": { "$gt": 0 } }, doc! { "$inc": { "left": -1 } })
    ///     .await?;
    /// println!("sold: {}", done.modified_count == 1);
    /// # Ok(()) }
    /// ```
    pub fn update_one(&self, filter: impl IntoDocument, update: impl IntoUpdate) -> UpdateOne<'_> {
        UpdateOne::new(self.inner(), filter, update.into_update())
    }

    /// Updates all documents that match the filter, with update operators or an aggregation
    /// pipeline. The command is [not retryable](crate::action#retries). Errors are those of
    /// [`update_one`](Self::update_one); documents updated before an error remain updated.
    pub fn update_many(&self, filter: impl IntoDocument, update: impl IntoUpdate) -> UpdateMany<'_> {
        UpdateMany::new(self.inner(), filter, update.into_update())
    }
}

impl<T: Serialize> Collection<T> {
    /// Replaces the first document that matches the filter. The `_id` of the document does not
    /// change; a replacement with another `_id` is rejected by the server. See [`ReplaceOne::sort`]
    /// if several documents match. Errors are those of [`update_one`](Self::update_one), but the
    /// replacement cannot begin with an operator.
    pub fn replace_one(&self, filter: impl IntoDocument, replacement: &T) -> ReplaceOne<'_> {
        ReplaceOne::new(self.inner(), filter, replacement_of(replacement))
    }
}

impl<T> Collection<T> {
    /// Replaces a document by one that a codec of the ODM has written.
    #[doc(hidden)]
    pub fn replace_one_encoded(
        &self,
        filter: impl IntoDocument,
        replacement: RawDocumentBuf,
    ) -> ReplaceOne<'_> {
        let modification = Modification::Replacement(replacement);
        ReplaceOne::new(
            self.inner(),
            filter,
            UpdateModification(modification, Deferred::default()),
        )
    }
}

/// Defines the action of a call with one statement.
macro_rules! update_action {
    ($(#[$doc:meta])* $Action:ident, $Options:ident, $list:ident, multi: $multi:literal) => {
        $(#[$doc])*
        #[must_use = "nothing is sent before the action is awaited"]
        pub struct $Action<'a> {
            collection: &'a CollectionInner,
            filter: RawDocumentBuf,
            modification: Modification,
            deferred: Deferred,
            options: $Options,
            session: InSession<'a>,
        }

        debug_without_values! {
            [] $Action<'_>, "Update", |it|
            namespace: it.collection.namespace(), filter: FieldNames(&it.filter), update: it.modification, options: it.options
        }

        impl<'a> $Action<'a> {
            fn new(
                collection: &'a CollectionInner,
                filter: impl IntoDocument,
                UpdateModification(modification, mut deferred): UpdateModification,
            ) -> Self {
                Self {
                    collection,
                    filter: deferred.document("filter", filter),
                    modification,
                    deferred,
                    options: $Options::default(),
                    session: collection.session(),
                }
            }

            crate::$list! { option_setters { $Options } }

            session_setter!();

            explain_method! {
                pub fn explain(self) -> Explain<'a> {
                    let Self { collection, filter, modification, deferred, mut options, session } = self;
                    let timeout = options.timeout;
                    let requires = options.requires.take();
                    let errors = [deferred, std::mem::take(&mut options.deferred)];
                    let mut invalid = Deferred::default();
                    invalid.check(modification.validate());
                    let collection = Cow::Borrowed(collection);
                    Explain::new(collection, session, errors, Explained::Write, move |collection, command, server| {
                        let mut statement = UpdateStatement {
                            filter: &filter,
                            modification: &modification,
                            multi: $multi,
                            options: &options,
                        };
                        build_single(&mut statement, collection, command, server)
                    })
                    .with_error(invalid)
                    .requiring(requires)
                    .with_limits(None, timeout)
                }
            }

            async fn run(&mut self) -> Result<UpdateResult> {
                self.deferred.take_result()?;
                self.options.deferred.take_result()?;
                self.modification.validate()?;
                let mut statement = UpdateStatement {
                    filter: &self.filter,
                    modification: &self.modification,
                    multi: $multi,
                    options: &self.options,
                };
                let write_concern = self.options.write_concern.as_deref();
                let timeout = self.collection.start_timeout("update", self.options.timeout, self.session)?;
                let (_, outcome) =
                    send_single(self.collection, write_concern, self.session, timeout, &mut statement).await?;
                Ok(UpdateResult::from(outcome))
            }
        }

        awaitable!(in place ['a] $Action<'a> => UpdateResult);
    };
}

update_action! {
    /// Updates one document. Await it for an [`UpdateResult`]; see [`Collection::update_one`].
    UpdateOne, UpdateOneOptions, __update_one_options, multi: false
}

update_action! {
    /// Updates documents. Await it for an [`UpdateResult`]; see [`Collection::update_many`].
    UpdateMany, UpdateManyOptions, __update_many_options, multi: true
}

update_action! {
    /// Replaces one document. Await it for an [`UpdateResult`]; see [`Collection::replace_one`].
    ReplaceOne, ReplaceOneOptions, __replace_one_options, multi: false
}

impl From<WriteOutcome> for UpdateResult {
    fn from(outcome: WriteOutcome) -> Self {
        let upserted_id = outcome.upserted.into_iter().next().map(|(_, id)| id);
        Self {
            // In the reply, `n` includes the upsert, which matched no document.
            matched_count: if upserted_id.is_some() { 0 } else { outcome.n },
            modified_count: outcome.n_modified,
            upserted_id,
        }
    }
}

/// An element of `updates`. A call with one statement encodes it when the command is written; a
/// bulk write encodes its statements in advance.
#[derive(Clone, Copy)]
pub(super) struct UpdateStatement<'a, O> {
    pub(super) filter: &'a RawDocumentBuf,
    pub(super) modification: &'a Modification,
    /// `multi`: whether to update all documents that match, or only the first.
    pub(super) multi: bool,
    pub(super) options: &'a O,
}

debug_without_values! {
    [O] UpdateStatement<'_, O>, "UpdateStatement", |it| filter: FieldNames(it.filter), update: it.modification
}

impl<O: WriteOptions> UpdateStatement<'_, O> {
    /// Appends the statement to a buffer.
    pub(super) fn encode(&self, buffer: &mut Vec<u8>) -> Result<()> {
        let mut writer = DocumentWriter::new(buffer);
        let statement = writer.begin();
        writer.document("q", self.filter);
        self.modification.write(&mut writer, "u");
        if self.multi {
            writer.bool("multi", true);
        }
        self.options.write_statement(&mut writer);
        writer.end(statement);
        writer.finish()?;
        Ok(())
    }
}

/// The only statement of a call.
impl<O: WriteOptions> Statements for UpdateStatement<'_, O> {
    const KIND: WriteKind = WriteKind::Update;

    fn remaining(&self) -> usize {
        1
    }

    fn position(&self, index: usize) -> usize {
        index
    }

    fn is_multi(&self, _index: usize) -> bool {
        self.multi
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
