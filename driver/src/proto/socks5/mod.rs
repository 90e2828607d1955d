//! The client's side of SOCKS, version 5 (RFC 1928), without login or with user name and password (RFC 1929).
//!
//! A [`Negotiation`] says which bytes to send and how many to read; it is given these, and says what comes next. It never asks
//! for a byte that does not belong to it: what follows is the server's. It reads at most 266 bytes.

mod failure;
mod negotiation;
#[cfg(test)]
mod tests;

pub use failure::Socks5Error;
pub use negotiation::{Credentials, Negotiation, Step};

/// Longest host name, user name and password: their lengths are sent as one byte each.
pub const MAX_TEXT: usize = 255;
