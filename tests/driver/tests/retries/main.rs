//! Retryable reads, retryable writes, overloaded servers, connections that survive a step-down, change
//! streams, and timeouts.

mod change_streams;
mod overload;
mod prose;
mod rules;
mod step_down;
mod timeouts;
