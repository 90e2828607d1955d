//! When an operation is sent again (Retryable Reads, Retryable Writes and Client Backpressure specifications).

mod attempts;
mod failure;
mod overload;

pub use attempts::{Intent, Next, Retries, RetryOptions};
pub use failure::{ReplyCodes, explain_refused_number, label_unlabelled, label_write_failure};
