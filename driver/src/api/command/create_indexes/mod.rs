//! `createIndexes`: [`Collection::create_index`] and [`Collection::create_indexes`] ([Index
//! Management]).
//!
//! [Index Management]: https://github.com/mongodb/specifications/blob/master/source/index-management/index-management.md

mod model;

use std::slice;

pub use model::{IndexModel, IndexOptions};

use super::{
    InSession, awaitable,
    common::timed_administration_options,
    declare::{define_options, option_setters},
    session_setter,
    wire::WriteOptions,
};
use crate::{
    Collection, Error, Namespace, Result,
    api::collection::CollectionInner,
    bson::Document,
    execution::Executor,
    operation::{Operation, OperationOverrides, Properties, ReplyContext, write_result},
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
    },
    types::{concern::WriteConcern, timeout::Timeout},
};

/// The options of `create_indexes`. See `api/command/declare.rs`.
macro_rules! create_indexes_options {
    ($then:path { $($arguments:tt)* }) => {
        timed_administration_options! { $then { $($arguments)* }
            /// The data-bearing members that must have built the index before it becomes ready: a
            /// number, `"majority"` or `"votingMembers"` (MongoDB 4.4+; an error for older
            /// servers). Default: `"votingMembers"`.
            commit_quorum: boxed crate::bson::Bson = "commitQuorum";
            /// Read the raw storage of the collection (MongoDB 8.2+; ignored by older servers). For
            /// MongoDB's own tools.
            #[doc(hidden)]
            raw_data: plain bool = "rawData" since is_8_2;
        }
    };
}

create_indexes_options! { define_options {
    /// Options of [`Collection::create_index`] and [`Collection::create_indexes`].
    pub struct CreateIndexesOptions;
} }

impl<T> Collection<T> {
    /// Creates an index. Awaiting the action returns the name of the index, after the server has
    /// built it; a build on a large collection takes long. An index that exists with the same
    /// options is not created again. The collection is created if it does not exist.
    ///
    /// # Errors
    /// [`ErrorKind::Command`](crate::ErrorKind::Command) with code 85 (`IndexOptionsConflict`) or
    /// 86 (`IndexKeySpecsConflict`) if an index with the same key pattern or name and other options
    /// exists, and with code 11000 if the index is unique and documents have the same key.
    ///
    /// ```no_run
    /// # async fn run(users: marula_driver::Collection<marula_driver::bson::Document>) -> marula_driver::Result<()> {
    /// use marula_driver::{IndexModel, bson::doc};
    /// let name = users.create_index(IndexModel::new(doc! { "email": 1 }).unique(true)).await?;
    /// assert_eq!(name, "email_1");
    /// # Ok(()) }
    /// ```
    pub fn create_index(&self, model: IndexModel) -> CreateIndex<'_> {
        CreateIndex {
            collection: self.inner(),
            model,
            options: CreateIndexesOptions::default(),
            session: self.inner().session(),
        }
    }

    /// Creates several indexes in one command, so that the server reads the collection once.
    /// Awaiting the action returns their names in order. Errors are those of
    /// [`create_index`](Self::create_index), and
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) if there is no model.
    pub fn create_indexes(&self, models: impl IntoIterator<Item = IndexModel>) -> CreateIndexes<'_> {
        CreateIndexes {
            collection: self.inner(),
            models: models.into_iter().collect(),
            options: CreateIndexesOptions::default(),
            session: self.inner().session(),
        }
    }
}

/// Creates one index. Await it for its name; see [`Collection::create_index`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct CreateIndex<'a> {
    collection: &'a CollectionInner,
    model: IndexModel,
    options: CreateIndexesOptions,
    session: InSession<'a>,
}

impl<'a> CreateIndex<'a> {
    create_indexes_options! { option_setters { CreateIndexesOptions } }

    session_setter!();

    async fn run(self) -> Result<String> {
        let models = slice::from_ref(&self.model);
        let mut names = create(self.collection, models, self.options, self.session).await?;
        Ok(names.pop().unwrap_or_default())
    }
}

awaitable!(['a] CreateIndex<'a> => String);

/// Creates indexes. Await it for their names; see [`Collection::create_indexes`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct CreateIndexes<'a> {
    collection: &'a CollectionInner,
    models: Vec<IndexModel>,
    options: CreateIndexesOptions,
    session: InSession<'a>,
}

impl<'a> CreateIndexes<'a> {
    create_indexes_options! { option_setters { CreateIndexesOptions } }

    session_setter!();

    async fn run(self) -> Result<Vec<String>> {
        create(self.collection, &self.models, self.options, self.session).await
    }
}

awaitable!(['a] CreateIndexes<'a> => Vec<String>);

async fn create(
    collection: &CollectionInner,
    models: &[IndexModel],
    mut options: CreateIndexesOptions,
    session: InSession<'_>,
) -> Result<Vec<String>> {
    options.deferred.take_result()?;
    let timeout = collection.start_timeout("createIndexes", options.timeout, session)?;
    let mut operation = CreateIndexesOperation {
        namespace: collection.namespace(),
        models,
        options: &options,
        write_concern: options
            .write_concern
            .as_deref()
            .unwrap_or(collection.write_concern()),
    };
    collection
        .executor()
        .run_in(session, timeout, &mut operation)
        .await
}

/// Creates an index of a collection that is created for encryption.
pub(super) async fn create_index(
    executor: &Executor,
    namespace: &Namespace,
    keys: Document,
    write_concern: &WriteConcern,
    session: InSession<'_>,
    timeout: Timeout,
) -> Result<()> {
    let mut operation = CreateIndexesOperation {
        namespace,
        models: &[IndexModel::new(keys)],
        options: &CreateIndexesOptions::default(),
        write_concern,
    };
    executor.run_in(session, timeout, &mut operation).await.map(drop)
}

/// `createIndexes`. Returns the names of the indexes.
struct CreateIndexesOperation<'a> {
    namespace: &'a Namespace,
    models: &'a [IndexModel],
    options: &'a CreateIndexesOptions,
    write_concern: &'a WriteConcern,
}

impl Operation for CreateIndexesOperation<'_> {
    type Output = Vec<String>;

    fn properties(&self) -> Properties<'_> {
        Properties::administration("createIndexes", &self.namespace.database, self.write_concern)
    }

    fn collection(&self) -> Option<&str> {
        Some(&self.namespace.collection)
    }

    fn overrides(&self) -> OperationOverrides {
        self.options.overrides()
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, server: &HelloReply) -> Result<()> {
        if self.options.commit_quorum.is_some() && !server.is_4_4() {
            return Err(Error::unsupported("commit_quorum requires MongoDB 4.4 or later"));
        }
        if self.models.is_empty() {
            return Err(Error::invalid_argument(
                "create_indexes requires at least one index",
            ));
        }
        command.str("createIndexes", &self.namespace.collection);
        let specifications = self.models.iter().map(IndexModel::specification);
        let specifications = specifications.collect::<Result<Vec<_>, _>>()?;
        command.serialize("indexes", &specifications);
        self.options.write(command, server);
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<Vec<String>> {
        write_result::check_single(reply)?;
        Ok(self.models.iter().map(IndexModel::index_name).collect())
    }
}
