//! `update_one`, `update_many`, `replace_one` and `replace`.

use serde::Serialize;

use crate::bson::Document;
use crate::collection::Collection;
use crate::collection::action::{awaitable, forward_options};
use crate::collection::write::{check_upsert_without_id, checked, prepare, replacement};
use crate::driver::options::{ReplaceOneOptions, UpdateManyOptions, UpdateOneOptions};
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

/// The result of a write that must match: [`Error::NotFound`](crate::Error::NotFound) if it matched no document and inserted
/// none.
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
    ($($(#[$doc:meta])* $name:ident, $Options:ident, $list:ident, $method:ident;)*) => { $(
        $(#[$doc])*
        #[must_use = "nothing is sent before the action is awaited"]
        pub struct $name<'a, D> {
            collection: &'a Collection<D>,
            filter: Result<Conditions>,
            update: Update<D>,
            options: $Options,
        }

        impl<'a, D: Model> $name<'a, D> {
            pub(super) fn new(collection: &'a Collection<D>, filter: Result<Conditions>, update: Update<D>) -> Self {
                $name {
                    collection,
                    filter,
                    update,
                    options: $Options::default(),
                }
            }

            crate::driver::$list! { forward_options { options: $Options } }

            /// Insert a document if none matches, with the equalities of the filter as its fields. Default: false.
            ///
            /// Its id is that of the filter or of the update, otherwise a new one by the model's source of ids.
            /// [`Error::MissingId`](crate::Error::MissingId) if there is none of these;
            /// [`Error::InvalidUpdate`](crate::Error::InvalidUpdate) if a field of an enum variant
            /// is changed, because another variant in its place would make the upsert insert a second document.
            pub fn upsert(mut self, value: bool) -> Self {
                self.options = self.options.upsert(value);
                self
            }

            /// The array filters of a raw update, in addition to those of typed updates (`f0`, `f1` …).
            pub fn raw_array_filters(mut self, filters: impl IntoIterator<Item = Document>) -> Self {
                self.options = self.options.add_array_filters(filters);
                self
            }

            required!();

            /// The driver's action with all options.
            fn action(self) -> Result<action::$name<'a>> {
                let mut options = self.options;
                let prepared = prepare(self.collection, self.filter, self.update, options.is_upsert())?;
                if !prepared.array_filters.is_empty() {
                    options = options.add_array_filters(prepared.array_filters);
                }
                let inner = &self.collection.inner;
                Ok(inner.$method(prepared.filter, Ready(prepared.update)).with_options(options))
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
    UpdateOne, UpdateOneOptions, __update_one_options, update_one;
    /// Updates documents. Await it; see [`Collection::update_many`].
    UpdateMany, UpdateManyOptions, __update_many_options, update_many;
}

impl<D: Model> UpdateOne<'_, D> {
    /// The order that decides which matching document is updated (MongoDB 8.0+). Default: no particular order.
    pub fn sort<S: IntoSort<D>>(mut self, keys: impl FnOnce(Fields<D>) -> S) -> Self {
        self.options = self.options.sort(keys(D::fields()).into_sort());
        self
    }
}

/// Replaces a document. Await it; see [`Collection::replace_one`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Replace<'a, D> {
    collection: &'a Collection<D>,
    filter: Result<Conditions>,
    document: &'a D,
    options: ReplaceOneOptions,
}

impl<'a, D: Model> Replace<'a, D> {
    pub(super) fn new(collection: &'a Collection<D>, filter: Result<Conditions>, document: &'a D) -> Self {
        Replace {
            collection,
            filter,
            document,
            options: ReplaceOneOptions::default(),
        }
    }

    crate::driver::__replace_one_options! { forward_options { options: ReplaceOneOptions } }

    /// Insert the document if none matches. Default: false.
    pub fn upsert(mut self, value: bool) -> Self {
        self.options = self.options.upsert(value);
        self
    }

    /// The order that decides which matching document is replaced (MongoDB 8.0+). Default: no particular order.
    pub fn sort<S: IntoSort<D>>(mut self, keys: impl FnOnce(Fields<D>) -> S) -> Self {
        self.options = self.options.sort(keys(D::fields()).into_sort());
        self
    }

    required!();

    async fn run(self) -> Result<UpdateResult> {
        let filter = checked(self.filter?)?;
        if self.document.lacks_id() {
            // Boxed, so that the future of replacements with an id does not have its size.
            return Box::pin(async move {
                if self.options.is_upsert() {
                    check_upsert_without_id(self.collection, &filter)?;
                }
                let document = replacement(self.document)?;
                send_replacement(&self.collection.inner, filter, &document, self.options).await
            })
            .await;
        }
        send_replacement(
            &self.collection.inner.clone_with_type(),
            filter,
            &Stored::new(self.document),
            self.options,
        )
        .await
    }
}

fn send_replacement<T: Serialize>(
    collection: &driver::Collection<T>,
    filter: Conditions,
    document: &T,
    options: ReplaceOneOptions,
) -> impl Future<Output = Result<UpdateResult>> + Send {
    let action = collection.replace_one(filter, document);
    let sending = action.with_options(options).into_future();
    async move { Ok(sending.await?) }
}

awaitable!(['a, D: Model] Replace<'a, D> => UpdateResult);
