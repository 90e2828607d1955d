//! The specifications' machines: no I/O, no clock and no randomness of their own.

pub mod auth;
pub mod bulk_write;
pub mod change_stream;
pub mod cmap;
pub mod command;
pub mod description;
#[cfg(feature = "dns")]
pub mod dns;
#[cfg(feature = "encryption")]
pub(crate) mod encryption;
pub mod event;
pub mod gridfs;
pub mod handshake;
pub mod happy_eyeballs;
pub mod monitoring;
#[cfg(feature = "opentelemetry")]
pub(crate) mod open_telemetry;
pub mod retry;
pub mod sdam;
pub mod server_selection;
pub mod session;
pub mod socks5;
pub mod srv;
pub(crate) mod timeout;
pub mod wire;
