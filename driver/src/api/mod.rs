//! What applications call: handles and fluent actions.

mod client;
mod collection;
pub(crate) mod command;
mod cursor;
mod database;
#[allow(unreachable_pub, reason = "public to `internals` only")]
mod environment;
#[cfg(feature = "internals")]
#[allow(unreachable_pub, reason = "public to `internals` only")]
pub(crate) mod hooks;
mod resolve;
mod session;
mod settings;

pub use client::Client;
pub use collection::Collection;
pub use cursor::Cursor;
pub use database::Database;
#[allow(unreachable_pub, reason = "public to `internals` only")]
pub use environment::Environment;
pub use session::{ClientSession, StartSession};
