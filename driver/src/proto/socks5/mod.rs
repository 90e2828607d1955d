//! A SOCKS5 client (RFC 1928) with or without user name and password (RFC 1929), for [SOCKS5
//! Support].
//!
//! A [`Negotiation`] returns the bytes to send and the number of bytes to read. It never reads
//! beyond its own reply, since the following bytes come from the server. It reads at most 266
//! bytes.
//!
//! [SOCKS5 Support]:
//! https://github.com/mongodb/specifications/blob/master/source/socks5-support/socks5.md

mod failure;
mod negotiation;
#[cfg(test)]
mod tests;

pub use failure::Socks5Error;
pub use negotiation::{Credentials, Negotiation, Step};

/// The maximum length in bytes of host name, user name and password: their lengths are sent as one
/// byte.
pub const MAX_TEXT: usize = 255;
