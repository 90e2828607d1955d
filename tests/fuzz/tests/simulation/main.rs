//! Randomised tests of the state machines, each from a seed.

mod change_stream;
mod deployment;
mod discovery;
mod pool;
mod services;
