//! Prose tests of the Retryable Reads and Retryable Writes specifications.

#[path = "prose_retries/reads.rs"]
mod reads;
#[path = "prose_retries/stage.rs"]
mod stage;
#[path = "prose_retries/writes.rs"]
mod writes;
