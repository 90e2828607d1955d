//! Fluent actions: a value that collects options and is awaited.
//!
//! Arguments are turned into BSON when they are given; a value that cannot be written is reported when the action is
//! awaited. Nothing is sent before.

pub(super) mod aggregate;
pub(super) mod count;
pub(super) mod create;
pub(super) mod distinct;
pub(super) mod drop;
pub(super) mod indexes;
pub(super) mod list;
pub(super) mod modify;
pub(super) mod run_command;
pub(super) mod run_cursor_command;
pub(super) mod search_indexes;

pub(crate) use super::command::{Deferred, InSession, awaitable, session_setter};

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
