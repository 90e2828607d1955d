//! The answer section of a reply. CNAME records are followed.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::{fmt, ops::Range, time::Duration};

use super::Name;
use crate::proto::srv::{SrvRecord, TxtRecord};

/// Class IN.
pub(super) const CLASS_IN: u16 = 1;

const CNAME: u16 = 5;

/// Maximum length of a chain of CNAME records.
const MAX_ALIASES: usize = 16;

/// Type of the queried records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// IPv4 addresses.
    A,
    /// IPv6 addresses.
    Aaaa,
    /// Hosts and ports of a service (RFC 2782).
    Srv,
    /// Texts.
    Txt,
    /// The name that a name is an alias of.
    #[cfg(feature = "gssapi")]
    Cname,
    /// The name of an address.
    #[cfg(feature = "gssapi")]
    Ptr,
}

impl Kind {
    /// The type code.
    pub(super) fn number(self) -> u16 {
        match self {
            Self::A => 1,
            Self::Txt => 16,
            Self::Aaaa => 28,
            Self::Srv => 33,
            #[cfg(feature = "gssapi")]
            Self::Cname => CNAME,
            #[cfg(feature = "gssapi")]
            Self::Ptr => 12,
        }
    }

    fn read(self, message: &[u8], raw: &RawRecord, ttl: u32) -> Option<Record> {
        let data = message.get(raw.data.clone())?;
        Some(match self {
            Self::A => Record::Address(IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(data).ok()?))),
            Self::Aaaa => Record::Address(IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(data).ok()?))),
            Self::Txt => Record::Txt(strings(data)?),
            #[cfg(feature = "gssapi")]
            Self::Cname | Self::Ptr => Record::Name(name_in(message, raw.data.clone())?.to_string()),
            Self::Srv => {
                // After priority and weight.
                let port = number(data, 4)?;
                Record::Srv(SrvRecord {
                    target: name_in(message, raw.data.start + 6..raw.data.end)?.to_string(),
                    port,
                    ttl: Duration::from_secs(u64::from(ttl)),
                })
            }
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::A => "A",
            Self::Aaaa => "AAAA",
            Self::Srv => "SRV",
            Self::Txt => "TXT",
            #[cfg(feature = "gssapi")]
            Self::Cname => "CNAME",
            #[cfg(feature = "gssapi")]
            Self::Ptr => "PTR",
        })
    }
}

/// The data of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// Of [`Kind::A`] and [`Kind::Aaaa`].
    Address(IpAddr),
    /// Of [`Kind::Srv`].
    Srv(SrvRecord),
    /// Of [`Kind::Txt`].
    Txt(TxtRecord),
    /// Of [`Kind::Cname`] and [`Kind::Ptr`].
    #[cfg(feature = "gssapi")]
    Name(String),
}

/// The result of following CNAME records.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Records of the queried type, possibly none.
    Records(Vec<Record>),
    /// A chain of more than [`MAX_ALIASES`] CNAME records.
    EndlessAliases,
}

/// The records of this type in a section of `count` records that starts at `start`. The section is
/// searched once per CNAME record, so that the order of the records does not matter. `None`: the
/// section is malformed.
pub(super) fn find(message: &[u8], start: usize, count: u16, name: &Name, kind: Kind) -> Option<Found> {
    let mut name = name.clone();
    // The TTL is limited by those of the CNAME records.
    let mut longest = u32::MAX;
    for _ in 0..=MAX_ALIASES {
        let (mut records, mut alias) = (Vec::new(), None);
        let mut at = start;
        for _ in 0..count {
            let raw = RawRecord::read(message, at, &name)?;
            at = raw.data.end;
            if raw.is_of_name && raw.kind == kind.number() {
                records.push(kind.read(message, &raw, raw.ttl.min(longest))?);
            } else if raw.is_of_name && raw.kind == CNAME {
                alias = Some((name_in(message, raw.data)?, raw.ttl));
            }
        }
        match alias {
            Some((target, ttl)) if records.is_empty() => {
                name = target;
                longest = longest.min(ttl);
            }
            _ => return Some(Found::Records(records)),
        }
    }
    Some(Found::EndlessAliases)
}

/// A record whose data is not decoded yet.
struct RawRecord {
    /// Whether the owner is the queried name, and the class is IN.
    is_of_name: bool,
    kind: u16,
    ttl: u32,
    data: Range<usize>,
}

impl RawRecord {
    fn read(message: &[u8], at: usize, name: &Name) -> Option<Self> {
        let (is_name, at) = name.is_at(message, at)?;
        let class = number(message, at + 2)?;
        let ttl = u32::from_be_bytes(*message.get(at + 4..)?.first_chunk()?);
        let begin = at + 10;
        let end = begin + usize::from(number(message, at + 8)?);
        (end <= message.len()).then_some(Self {
            is_of_name: is_name && class == CLASS_IN,
            kind: number(message, at)?,
            // A TTL of more than 31 bits counts as zero (RFC 2181, section 8).
            ttl: if i32::try_from(ttl).is_ok() { ttl } else { 0 },
            data: begin..end,
        })
    }
}

/// The name that occupies exactly this range.
fn name_in(message: &[u8], data: Range<usize>) -> Option<Name> {
    let (name, end) = Name::read(message, data.start)?;
    (end == data.end).then_some(name)
}

/// The strings of a TXT record (RFC 1035, section 3.3.14).
fn strings(mut data: &[u8]) -> Option<TxtRecord> {
    let mut strings = Vec::new();
    while let Some((length, rest)) = data.split_first() {
        let (text, rest) = rest.split_at_checked(usize::from(*length))?;
        strings.push(text.to_vec());
        data = rest;
    }
    Some(strings)
}

/// The 16-bit integer at an index.
pub(super) fn number(message: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*message.get(at..)?.first_chunk()?))
}
