//! Fluent actions: a value that collects options and is awaited.
//!
//! Arguments are turned into BSON when they are given; a value that cannot be written is reported when the action is
//! awaited. Nothing is sent before.

pub(super) mod aggregate;
mod batcher;
pub(super) mod bulk_write;
pub(super) mod count;
pub(super) mod create;
pub(super) mod delete;
pub(super) mod distinct;
pub(super) mod drop;
pub(super) mod find;
pub(super) mod find_and_modify;
pub(super) mod indexes;
pub(super) mod insert;
pub(super) mod list;
pub(super) mod modify;
pub(super) mod run_command;
pub(super) mod run_cursor_command;
pub(super) mod search_indexes;
pub(super) mod update;

use crate::{
    Error, Result,
    bson::{EncodeError, IntoDocument, RawDocumentBuf},
};

/// The first argument that could not be written, kept until the action is awaited.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deferred(Option<Error>);

impl Deferred {
    /// The document as bytes; an empty one when it cannot be written.
    pub(super) fn document(&mut self, what: &'static str, document: impl IntoDocument) -> RawDocumentBuf {
        self.encoded(what, document.into_raw_document())
    }

    pub(super) fn encoded(
        &mut self,
        what: &'static str,
        document: Result<RawDocumentBuf, EncodeError>,
    ) -> RawDocumentBuf {
        document.unwrap_or_else(|error| {
            let error = Error::from(error.in_field(what));
            self.0.get_or_insert(error);
            RawDocumentBuf::new()
        })
    }

    pub(super) fn documents<D: IntoDocument>(
        &mut self,
        what: &'static str,
        documents: impl IntoIterator<Item = D>,
    ) -> Vec<RawDocumentBuf> {
        documents.into_iter().map(|d| self.document(what, d)).collect()
    }

    /// Keeps an error found while arguments were given.
    pub(super) fn check(&mut self, result: Result<()>) {
        if let Err(error) = result {
            self.0.get_or_insert(error);
        }
    }

    /// What [`into_result`](Self::into_result) gives, for an action that stays in its place.
    pub(super) fn take_result(&mut self) -> Result<()> {
        self.0.take().map_or(Ok(()), Err)
    }

    pub(super) fn into_result(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

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
pub(super) use awaitable;

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
pub(super) use session_setter;

/// The session of the application that an action runs in, if any.
pub(super) type InSession<'a> = Option<&'a std::sync::Arc<crate::execution::ExplicitSession>>;

/// Setters of an action whose options lie in its field `options`: a document, a plain value (so that number literals have
/// its type), or anything that converts into the value, which may be boxed.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $kind:ident $(= $type:ty)?;)*) => {
        $(setters!(@one $(#[$doc])* $name: $kind $(= $type)?);)*
    };
    (@one $(#[$doc:meta])* $name:ident: document) => {
        $(#[$doc])*
        pub fn $name(mut self, value: impl crate::bson::IntoDocument) -> Self {
            self.options.$name = Some(self.deferred.document(stringify!($name), value));
            self
        }
    };
    (@one $(#[$doc:meta])* $name:ident: plain = $type:ty) => {
        $(#[$doc])*
        pub fn $name(mut self, value: $type) -> Self {
            self.options.$name = Some(value);
            self
        }
    };
    (@one $(#[$doc:meta])* $name:ident: boxed = $type:ty) => {
        $(#[$doc])*
        pub fn $name(mut self, value: impl Into<$type>) -> Self {
            self.options.$name = Some(Box::new(value.into()));
            self
        }
    };
    (@one $(#[$doc:meta])* $name:ident: value = $type:ty) => {
        $(#[$doc])*
        pub fn $name(mut self, value: impl Into<$type>) -> Self {
            self.options.$name = Some(value.into());
            self
        }
    };
}
pub(super) use setters;
