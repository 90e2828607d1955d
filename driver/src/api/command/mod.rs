//! One file per command: its options, its action, the method that starts it, how it is written, and how its reply is read.
//!
//! A new command is a file here, and its names in [`action`] and [`options`]. Arguments are encoded when they are given; a value
//! that cannot be encoded is reported when the action is awaited. Nothing is sent before.

mod batcher;
pub(crate) mod declare;
mod deferred;
pub(crate) mod wire;

pub(crate) mod bulk_write;
mod count_documents;
mod delete;
mod find;
mod find_and_modify;
mod insert;
pub(crate) mod update;

/// Actions, re-exported at `marula_driver::action`.
pub(crate) mod action {
    pub use super::{
        bulk_write::BulkWrite,
        count_documents::CountDocuments,
        delete::Delete,
        find::{Find, FindOne},
        find_and_modify::{FindOneAndDelete, FindOneAndReplace, FindOneAndUpdate},
        insert::{InsertMany, InsertOne},
        update::{ReplaceOne, UpdateMany, UpdateOne},
    };
}

/// Options of commands, re-exported at `marula_driver::options`.
pub(crate) mod options {
    pub use super::{
        bulk_write::BulkWriteOptions,
        count_documents::CountDocumentsOptions,
        delete::DeleteOptions,
        find::FindOptions,
        find_and_modify::{FindOneAndDeleteOptions, FindOneAndReplaceOptions, FindOneAndUpdateOptions},
        insert::{InsertManyOptions, InsertOneOptions},
        update::{ReplaceOneOptions, UpdateManyOptions, UpdateOneOptions},
    };
}

pub(crate) use deferred::Deferred;

/// `IntoFuture` of an action that has `async fn run(self)`. The future is boxed: that is the one allocation an action
/// costs, and it keeps the futures of applications small.
///
/// Most actions are `in place` and have `async fn run(&mut self)`: taken by value, the action would be in the
/// future twice, as the argument and as what became of it.
macro_rules! awaitable {
    (in place [$($generics:tt)*] $action:ty => $output:ty) => {
        impl<$($generics)*> IntoFuture for $action {
            type Output = crate::Result<$output>;
            type IntoFuture = std::pin::Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

            fn into_future(mut self) -> Self::IntoFuture {
                Box::pin(async move { self.run().await })
            }
        }
    };
    ([$($generics:tt)*] $action:ty => $output:ty) => {
        impl<$($generics)*> IntoFuture for $action {
            type Output = crate::Result<$output>;
            type IntoFuture = std::pin::Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

            fn into_future(self) -> Self::IntoFuture {
                Box::pin(self.run())
            }
        }
    };
}
pub(crate) use awaitable;

/// The session of an action that has a field for it.
macro_rules! session_setter {
    () => {
        /// Runs in this session, and not in one of the operation's own.
        pub fn session(mut self, session: &'a mut crate::ClientSession) -> Self {
            self.session = Some(session.shared());
            self
        }
    };
}
pub(crate) use session_setter;

/// The session of the application that an action runs in, if any.
pub(crate) type InSession<'a> = Option<&'a std::sync::Arc<crate::execution::ExplicitSession>>;
