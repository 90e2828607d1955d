//! DNS as a stub resolver sees it (RFC 1035, with the EDNS(0) of RFC 6891): one question, the name servers that may answer it,
//! and which of them is asked next.
//!
//! A [`Query`] makes its own bytes and reads the replies to it; a [`Conversation`] decides how a server is asked, and what its
//! replies mean; [`Lookup`] decides which servers are asked, and when. Replies are read in place: what a hostile one makes us keep is at most what it holds, names written out.

mod conversation;
mod lookup;
mod name;
mod query;
mod records;
#[cfg(test)]
mod tests;

pub use conversation::{Answer, Conversation, Exchange, Transport};
pub use lookup::{Lookup, NameServers, PATIENCE, Step};
pub use name::Name;
pub use query::{Query, Reply};
pub use records::{Kind, Record};

/// The port of name servers.
pub const PORT: u16 = 53;

/// The longest message: over TCP its length is two bytes, and no datagram is longer.
pub const MAX_MESSAGE: usize = 65_535;

/// The longest datagram that a server may send, which passes every network in one piece.
const MAX_DATAGRAM: u16 = 1232;
