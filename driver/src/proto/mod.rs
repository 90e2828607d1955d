//! The specifications' machines: no I/O, no clock and no randomness of their own.

pub(crate) mod cmap;
pub(crate) mod command;
pub(crate) mod connection_string;
pub(crate) mod description;
pub(crate) mod handshake;
pub(crate) mod retry;
pub(crate) mod sdam;
pub(crate) mod server_selection;
pub(crate) mod session;
pub(crate) mod wire;
