//! The public API: handles and actions.

mod change_stream;
mod client;
mod collection;
pub(crate) mod command;
mod command_task;
mod cursor;
mod database;
#[cfg(feature = "encryption")]
pub(crate) mod encryption;
#[cfg(not(feature = "internals"))]
mod environment;
#[cfg(feature = "internals")]
#[path = "environment_replaced.rs"]
mod environment;
pub(crate) mod gridfs;
mod resolve;
mod session;
mod settings;
mod shutdown;
pub(crate) mod transaction;
mod warm_up;

pub use change_stream::{
    ChangeNamespace, ChangeOperation, ChangeStream, ChangeStreamEvent, SplitEvent, TruncatedArray,
    UpdateDescription,
};
pub use client::Client;
pub use collection::Collection;
pub use cursor::{Cursor, RawBatch};
pub use database::Database;
#[cfg(not(feature = "internals"))]
use environment::Environment;
#[cfg(feature = "internals")]
pub use environment::{Environment, EnvironmentVariables};
pub use session::{ClientSession, StartSession};
pub use shutdown::{Shutdown, Unfinished};
pub use transaction::{Bind, BoundTransaction, TransactionScope};
pub use warm_up::WarmUp;
