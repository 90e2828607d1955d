//! `update_one`, `update_many`, `replace_one` and `replace`.

use serde::Serialize;

use crate::bson::{Bson, Document};
use crate::collection::Collection;
use crate::collection::action::{awaitable, options, pass_on};
use crate::collection::write::{Prepared, check_upsert_without_id, checked, prepare, replacement};
use crate::driver::options::{Collation, Hint};
use crate::driver::{self, UpdateModification, UpdateResult, action};
use crate::error::Result;
use crate::filter::Conditions;
use crate::model::{Fields, Model};
use crate::sort::IntoSort;
use crate::stored::Stored;
use crate::update::Update;

/// The update as the driver takes it: already in the driver's form.
pub(super) struct Ready(pub(super) UpdateModification);

impl driver::IntoUpdate for Ready {
    fn into_update(self) -> UpdateModification {
        self.0
    }
}

/// What a write that must match gives: [`Error::NotFound`](crate::Error::NotFound) when it matched no document, unless it
/// inserted one.
fn matched<D: Model>(collection: &Collection<D>, result: UpdateResult) -> Result<UpdateResult> {
    if result.matched_count == 0 && result.upserted_id.is_none() {
        Err(collection.not_found())
    } else {
        Ok(result)
    }
}

macro_rules! required {
    () => {
        /// The result of a write that matched: [`Error::NotFound`](crate::Error::NotFound) when no document matches, unless an
        /// upsert inserts one.
        ///
        /// An update of the fields of an enum variant also fails so when the document holds another variant.
        ///
        /// Needs a write concern other than `w: 0`: the server sends no counts for an unacknowledged write, so the call
        /// always fails with [`Error::NotFound`](crate::Error::NotFound), although the write may have had its effect.
        ///
        /// # Errors
        /// Also an invalid filter or update; what the driver reports.
        pub fn required(self) -> impl Future<Output = Result<UpdateResult>> + Send + use<'a, D> {
            let collection = self.collection;
            let writing = self.into_future();
            async move { matched(collection, writing.await?) }
        }
    };
}

macro_rules! updates {
    ($($(#[$doc:meta])* $name:ident $method:ident;)*) => { $(
        $(#[$doc])*
        #[must_use = "nothing is sent before the action is awaited"]
        pub struct $name<'a, D> {
            collection: &'a Collection<D>,
            filter: Result<Conditions>,
            update: Update<D>,
            upsert: bool,
            array_filters: Vec<Document>,
            hint: Option<Hint>,
            collation: Option<Collation>,
            bypass_document_validation: Option<bool>,
            comment: Option<Bson>,
            let_vars: Option<Document>,
            sort: Option<Document>,
        }

        impl<'a, D: Model> $name<'a, D> {
            pub(super) fn new(collection: &'a Collection<D>, filter: Result<Conditions>, update: Update<D>) -> Self {
                $name {
                    collection,
                    filter,
                    update,
                    upsert: false,
                    array_filters: Vec::new(),
                    hint: None,
                    collation: None,
                    bypass_document_validation: None,
                    comment: None,
                    let_vars: None,
                    sort: None,
                }
            }

            options! {
                /// The index the server must use, by name or by keys.
                hint: [into Hint];
                /// How strings compare.
                collation: [into Collation];
                /// Skip the collection's schema validation.
                bypass_document_validation: [bool];
                /// A note that shows up in the server's logs and profiler.
                comment: [into Bson];
                /// Variables for `$expr` and pipelines, read as `$$name`.
                let_vars: [Document];
            }

            /// Insert a document when none matches, with the equalities of the filter as its fields. Default: no.
            ///
            /// Its id is that of the filter or of the update, else a new one by the model's source of ids.
            /// [`Error::MissingId`](crate::Error::MissingId) when there is none of these;
            /// [`Error::InvalidUpdate`](crate::Error::InvalidUpdate) when a field of an enum variant
            /// is changed, because another variant in its place would make the upsert insert a second document.
            pub fn upsert(mut self, yes: bool) -> Self {
                self.upsert = yes;
                self
            }

            /// The array filters of an update that was given raw, beside those that typed ones carry along (`f0`, `f1` …).
            pub fn raw_array_filters(mut self, filters: impl IntoIterator<Item = Document>) -> Self {
                self.array_filters.extend(filters);
                self
            }

            required!();

            /// The driver's action with all that was set.
            fn action(self) -> Result<action::Update<'a>> {
                let Prepared {
                    filter,
                    update,
                    mut array_filters,
                } = prepare(self.collection, self.filter, self.update, self.upsert)?;
                let mut action = self.collection.inner.$method(filter, Ready(update));
                array_filters.extend(self.array_filters);
                if !array_filters.is_empty() {
                    action = action.array_filters(&array_filters);
                }
                if self.upsert {
                    action = action.upsert(true);
                }
                pass_on!(self => action: hint collation bypass_document_validation comment let_vars sort);
                Ok(action)
            }

            fn run(self) -> impl Future<Output = Result<UpdateResult>> + Send + use<'a, D> {
                let sending = self.action().map(IntoFuture::into_future);
                async move { Ok(sending?.await?) }
            }
        }

        awaitable!(['a, D: Model] $name<'a, D> => UpdateResult);
    )* };
}

updates! {
    /// Updates a document. Await it; see [`Collection::update_one`].
    UpdateOne update_one;
    /// Updates documents. Await it; see [`Collection::update_many`].
    UpdateMany update_many;
}

impl<D: Model> UpdateOne<'_, D> {
    /// Which of several matching documents is updated (server 8.0).
    pub fn sort<S: IntoSort<D>>(mut self, keys: impl FnOnce(Fields<D>) -> S) -> Self {
        self.sort = Some(keys(D::fields()).into_sort());
        self
    }
}

/// Replaces a document. Await it; see [`Collection::replace_one`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Replace<'a, D> {
    collection: &'a Collection<D>,
    filter: Result<Conditions>,
    document: &'a D,
    upsert: bool,
    hint: Option<Hint>,
    collation: Option<Collation>,
    comment: Option<Bson>,
    bypass: bool,
}

impl<'a, D: Model> Replace<'a, D> {
    pub(super) fn new(collection: &'a Collection<D>, filter: Result<Conditions>, document: &'a D) -> Self {
        Replace {
            collection,
            filter,
            document,
            upsert: false,
            hint: None,
            collation: None,
            comment: None,
            bypass: false,
        }
    }

    /// Insert the document when none matches. Default: no.
    pub fn upsert(mut self, yes: bool) -> Self {
        self.upsert = yes;
        self
    }

    /// The index the server must use, by name or by keys.
    pub fn hint(mut self, hint: impl Into<Hint>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// How strings compare.
    pub fn collation(mut self, collation: impl Into<Collation>) -> Self {
        self.collation = Some(collation.into());
        self
    }

    /// Skip the collection's schema validation.
    pub fn bypass_document_validation(mut self, yes: bool) -> Self {
        self.bypass = yes;
        self
    }

    /// A note that shows up in the server's logs and profiler.
    pub fn comment(mut self, comment: impl Into<Bson>) -> Self {
        self.comment = Some(comment.into());
        self
    }

    required!();

    async fn run(mut self) -> Result<UpdateResult> {
        let filter = checked(std::mem::replace(&mut self.filter, Ok(Conditions::none()))?)?;
        if self.document.lacks_id() {
            // A case apart, which the future of all replacements need not have the size of.
            return Box::pin(async move {
                if self.upsert {
                    check_upsert_without_id(self.collection, &filter)?;
                }
                let document = replacement(self.document)?;
                self.send(&self.collection.inner, filter, &document).await
            })
            .await;
        }
        self.send(
            &self.collection.inner.clone_with_type(),
            filter,
            &Stored::new(self.document),
        )
        .await
    }

    fn send<'s, T: Serialize + Send + Sync + 's>(
        &'s self,
        collection: &'s driver::Collection<T>,
        filter: Conditions,
        document: &'s T,
    ) -> impl Future<Output = Result<UpdateResult>> + Send {
        let mut action = collection.replace_one(filter, document).upsert(self.upsert);
        if let Some(hint) = &self.hint {
            action = action.hint(hint.clone());
        }
        if let Some(collation) = &self.collation {
            action = action.collation(collation.clone());
        }
        if let Some(comment) = &self.comment {
            action = action.comment(comment.clone());
        }
        if self.bypass {
            action = action.bypass_document_validation(true);
        }
        let sending = action.into_future();
        async move { Ok(sending.await?) }
    }
}

awaitable!(['a, D: Model] Replace<'a, D> => UpdateResult);
