//! `update_one`, `update_many`, `replace_one` and `replace`.

use std::marker::PhantomData;

use crate::bson::{Bson, Document};
use crate::collection::Collection;
use crate::collection::action::{awaitable, forward};
use crate::driver::options::{Collation, Hint};
use crate::driver::{self, IntoUpdate as _, UpdateModification, UpdateResult, action};
use crate::error::Result;
use crate::filter::Conditions;
use crate::model::{Fields, Model};
use crate::sort::IntoSort;
use crate::stored::Stored;
use crate::update::{Compiled, Update};

/// An update in the driver's form, and its array filters.
pub(super) fn compiled<D>(update: Update<D>) -> Result<(UpdateModification, Vec<Document>)> {
    Ok(match update.compile()? {
        Compiled::Operators {
            update,
            array_filters,
        } => (update.into_update(), array_filters),
        Compiled::Pipeline(stages) => (stages.into_update(), Vec::new()),
    })
}

/// The update as the driver takes it: already in the driver's form.
pub(super) struct Ready(pub(super) UpdateModification);

impl driver::IntoUpdate for Ready {
    fn into_update(self) -> UpdateModification {
        self.0
    }
}

macro_rules! updates {
    ($($(#[$doc:meta])* $name:ident $method:ident;)*) => { $(
        $(#[$doc])*
        #[must_use = "nothing is sent before the action is awaited"]
        pub struct $name<'a, D> {
            action: Result<action::Update<'a>>,
            array_filters: Vec<Document>,
            document: PhantomData<fn() -> D>,
        }

        impl<'a, D: Model> $name<'a, D> {
            pub(super) fn new(collection: &'a Collection<D>, filter: Result<Conditions>, update: Update<D>) -> Self {
                let mut array_filters = Vec::new();
                let action = filter.and_then(|filter| {
                    let (update, filters) = compiled(update)?;
                    array_filters = filters;
                    let action = collection.inner.$method(filter, Ready(update));
                    Ok(if array_filters.is_empty() { action } else { action.array_filters(&array_filters) })
                });
                $name { action, array_filters, document: PhantomData }
            }

            forward! {
                /// Insert a document when none matches, with the equalities of the filter as its fields. Default: no.
                upsert: [bool];
                /// The index the server must use, by name or by keys.
                hint: [into Hint];
                /// How strings compare.
                collation: [into Collation];
                /// Skip the collection's schema validation.
                bypass_document_validation: [bool];
                /// A note that shows up in the server's logs and profiler.
                comment: [into Bson];
            }

            /// Variables for `$expr` and pipelines, read as `$$name`.
            pub fn let_vars(mut self, variables: Document) -> Self {
                self.action = self.action.map(|action| action.let_vars(variables));
                self
            }

            /// The array filters of an update that was given raw, beside those that typed ones carry along (`f0`, `f1` …).
            pub fn raw_array_filters(mut self, filters: impl IntoIterator<Item = Document>) -> Self {
                self.array_filters.extend(filters);
                self.action = self.action.map(|action| action.array_filters(&self.array_filters));
                self
            }

            fn run(self) -> impl Future<Output = Result<UpdateResult>> + Send + use<'a, D> {
                let sending = self.action.map(IntoFuture::into_future);
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
        self.action = self
            .action
            .map(|action| action.sort(keys(D::fields()).into_sort()));
        self
    }
}

/// Replaces a document. Await it; see [`Collection::replace_one`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct Replace<'a, D> {
    collection: driver::Collection<Stored<'a, D>>,
    filter: Result<Conditions>,
    document: Stored<'a, D>,
    upsert: bool,
    hint: Option<Hint>,
    collation: Option<Collation>,
    comment: Option<Bson>,
    bypass: bool,
}

impl<'a, D: Model> Replace<'a, D> {
    pub(super) fn new(collection: &'a Collection<D>, filter: Result<Conditions>, document: &'a D) -> Self {
        Replace {
            collection: collection.inner.clone_with_type(),
            filter,
            document: Stored::new(document),
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

    async fn run(self) -> Result<UpdateResult> {
        let mut action = self
            .collection
            .replace_one(self.filter?, &self.document)
            .upsert(self.upsert);
        if let Some(hint) = self.hint {
            action = action.hint(hint);
        }
        if let Some(collation) = self.collation {
            action = action.collation(collation);
        }
        if let Some(comment) = self.comment {
            action = action.comment(comment);
        }
        if self.bypass {
            action = action.bypass_document_validation(true);
        }
        Ok(action.await?)
    }
}

awaitable!(['a, D: Model] Replace<'a, D> => UpdateResult);
