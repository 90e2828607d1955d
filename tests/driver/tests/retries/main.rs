//! Retryable reads, retryable writes, overloaded servers, and connections that survive a step-down.

mod change_streams;
mod overload;
mod prose;
mod rules;
mod step_down;
