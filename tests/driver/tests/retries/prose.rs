//! Prose tests of the Retryable Reads and Retryable Writes specifications.

mod reads;
mod stage;
mod writes;
