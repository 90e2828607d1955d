//! Futures and clients that end early: operations dropped at every await, clients dropped or shut down in every state.

mod operations;
mod resources;
