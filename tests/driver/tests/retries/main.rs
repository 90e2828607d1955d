//! Retryable reads, retryable writes, overloaded servers, connections that survive a step-down, and
//! change streams.

mod change_streams;
mod overload;
mod prose;
mod rules;
mod step_down;
