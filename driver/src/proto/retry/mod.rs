//! When an operation is retried ([Retryable Reads], [Retryable Writes], [Client Backpressure]).
//!
//! [Retryable Reads]:
//! https://github.com/mongodb/specifications/blob/master/source/retryable-reads/retryable-reads.md
//! [Retryable Writes]:
//! https://github.com/mongodb/specifications/blob/master/source/retryable-writes/retryable-writes.md
//! [Client Backpressure]:
//! https://github.com/mongodb/specifications/blob/master/source/client-backpressure/client-backpressure.md

mod failure;
mod overload;
mod policy;

pub use failure::{
    ReplyCodes, explain_refused_number, label_check_out_failure, label_unlabeled, label_write_failure,
};
pub(in crate::proto) use overload::is_retryable_overload;
pub use policy::{Intent, Next, RetryOptions, RetryPolicy};
