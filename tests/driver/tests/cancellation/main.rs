//! Cancellation: operations dropped at every await point, and clients dropped or shut down in every
//! state.

mod late_replies;
mod operations;
mod resources;
