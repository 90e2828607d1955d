//! Transactions ([Transactions], [Convenient API for Transactions]).
//!
//! [Transactions]:
//! https://github.com/mongodb/specifications/blob/master/source/transactions/transactions.md
//! [Convenient API for Transactions]:
//! https://github.com/mongodb/specifications/blob/master/source/transactions-convenient-api/transactions-convenient-api.md

mod bound;
mod methods;
mod run;
mod scope;
mod settings;

pub(crate) use bound::Membership;
pub use bound::{Bind, BoundTransaction};
pub(super) use methods::abort;
pub use scope::TransactionScope;

/// Actions, re-exported at `marula_driver::action`.
pub(crate) mod action {
    pub use super::{
        methods::{AbortTransaction, CommitTransaction, StartTransaction},
        scope::StartTransactionScope,
        settings::{SessionTransaction, TransactionSettings},
    };
}
