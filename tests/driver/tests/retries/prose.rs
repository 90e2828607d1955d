//! Prose tests of the Retryable Reads and Retryable Writes specifications.

mod reads;
pub(crate) mod stage;
mod writes;
