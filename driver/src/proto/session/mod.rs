//! Sessions and the cluster time ([Driver Sessions]), and transactions ([Transactions], [Convenient
//! API for Transactions]).
//!
//! [Driver Sessions]:
//! https://github.com/mongodb/specifications/blob/master/source/sessions/driver-sessions.md
//! [Transactions]:
//! https://github.com/mongodb/specifications/blob/master/source/transactions/transactions.md
//! [Convenient API for Transactions]:
//! https://github.com/mongodb/specifications/blob/master/source/transactions-convenient-api/transactions-convenient-api.md

mod client_session;
mod cluster_time;
mod options;
mod server_session;
mod transaction;
mod transaction_run;

pub use client_session::{ReadTime, ReadTimeRule, RunTimeout, SessionState};
pub use cluster_time::ClusterTime;
pub use options::SessionOptions;
pub use server_session::{ServerSession, SessionStack};
pub use transaction::{
    OperationOverrides, Pin, Transaction, TransactionCommand, TransactionError, TransactionState,
};
pub use transaction_run::{AfterCommit, TransactionRun};
