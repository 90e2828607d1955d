//! A DNS stub resolver: one query, the name servers that may answer it, and their order.
//!
//! [RFC 1035] with EDNS(0) of [RFC 6891], for the lookups of [Initial DNS Seedlist Discovery].
//!
//! A [`Query`] encodes itself and decodes replies. A [`Conversation`] decides on transport and EDNS
//! for one server. A [`Lookup`] decides which servers are queried, and when. Replies are read in
//! place; memory use is bounded by their size, with names written out.
//!
//! [RFC 1035]: https://www.rfc-editor.org/rfc/rfc1035
//! [RFC 6891]: https://www.rfc-editor.org/rfc/rfc6891
//! [Initial DNS Seedlist Discovery]:
//! https://github.com/mongodb/specifications/blob/master/source/initial-dns-seedlist-discovery/initial-dns-seedlist-discovery.md

mod conversation;
mod lookup;
mod name;
mod query;
mod records;
#[cfg(test)]
mod tests;

pub use conversation::{Answer, Conversation, Exchange, ServerFailure, Transport};
pub use lookup::{Lookup, LookupFailure, NameServers, PATIENCE, Step};
pub use name::Name;
#[cfg(feature = "gssapi")]
pub use name::reverse_name;
pub use query::{Query, Reply};
pub use records::{Kind, Record};

/// Maximum length of a message, in bytes. Over TCP the length is a 16-bit integer (RFC 1035,
/// section 4.2.2).
pub const MAX_MESSAGE: usize = 65_535;

/// Maximum length of a reply over UDP, announced by EDNS(0): avoids fragmentation in common
/// networks.
const MAX_DATAGRAM: u16 = 1232;
