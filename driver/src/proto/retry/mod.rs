//! When an operation is sent again (Retryable Reads, Retryable Writes and Client Backpressure specifications).

mod failure;
mod overload;
mod policy;

pub use failure::{ReplyCodes, explain_refused_number, label_unlabelled, label_write_failure};
pub use policy::{Intent, Next, RetryOptions, RetryPolicy};
