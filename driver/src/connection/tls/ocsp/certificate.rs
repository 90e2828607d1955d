//! What a certificate says that matters here: its number, when it is in force, who answers for its status.

use der::TagNumber;

use super::asn1::{Malformed, Result, Tag, explicit, extensions, implicit, only_sequence};

/// 1.3.6.1.5.5.7.1.1
const AUTHORITY_INFORMATION_ACCESS: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 1, 1];
/// 1.3.6.1.5.5.7.1.24
const TLS_FEATURE: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 1, 24];
/// 2.5.29.37
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37];
/// 1.3.6.1.5.5.7.48.1
const ID_AD_OCSP: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 48, 1];
/// 1.3.6.1.5.5.7.3.1 and 2.5.29.37.0
const SERVER_USAGES: [&[u8]; 2] = [&[0x2b, 6, 1, 5, 5, 7, 3, 1], &[0x55, 0x1d, 37, 0]];
/// The number of the extension of TLS that asks for a stapled response: `status_request`.
const STATUS_REQUEST: &[u8] = &[5];
/// Beyond these, responders are not looked at.
const MAX_RESPONDERS: usize = 8;

/// An end-entity certificate.
#[derive(Debug)]
pub(super) struct Certificate<'a> {
    /// The content of the integer, as it was issued.
    pub(super) serial: &'a [u8],
    /// In force from this second …
    pub(super) not_before: u64,
    /// … to this one.
    pub(super) not_after: u64,
    /// Where its status can be asked for.
    pub(super) responders: Vec<&'a str>,
    /// A server that shows it has to staple a response (RFC 7633).
    pub(super) must_staple: bool,
    /// It may be used by a server.
    pub(super) for_servers: bool,
}

impl<'a> Certificate<'a> {
    /// Reads a certificate; of its extensions only those that matter here.
    pub(super) fn parse(der: &'a [u8]) -> Result<Self> {
        let mut tbs = only_sequence(der)?.sequence()?;
        tbs.optional(explicit(TagNumber::N0))?;
        let serial = tbs.value(Tag::Integer)?;
        tbs.sequence()?;
        tbs.sequence()?;
        let mut validity = tbs.sequence()?;
        let mut certificate = Self {
            serial,
            // A time before 1970 cannot be told apart from the beginning of time, and need not be.
            not_before: validity.time().unwrap_or(0),
            not_after: validity.time()?,
            responders: Vec::new(),
            must_staple: false,
            for_servers: true,
        };
        tbs.sequence()?;
        tbs.sequence()?;
        tbs.optional(implicit(TagNumber::N1))?;
        tbs.optional(implicit(TagNumber::N2))?;
        if let Some(list) = tbs.optional(explicit(TagNumber::N3))? {
            for extension in extensions(list)? {
                match extension.oid {
                    // Responders that cannot be made out are responders that do not answer.
                    AUTHORITY_INFORMATION_ACCESS => {
                        certificate.responders = responders(extension.value).unwrap_or_default();
                    }
                    TLS_FEATURE => certificate.must_staple = names_stapling(extension.value)?,
                    EXTENDED_KEY_USAGE => certificate.for_servers = names_servers(extension.value)?,
                    _ => {}
                }
            }
        }
        Ok(certificate)
    }
}

fn responders(value: &[u8]) -> Result<Vec<&str>> {
    let mut list = only_sequence(value)?;
    let mut found = Vec::new();
    while !list.is_empty() {
        let mut description = list.sequence()?;
        let method = description.value(Tag::ObjectIdentifier)?;
        let (tag, place) = description.any()?;
        // A place may also be given as a name or an address of mail: nothing that could be asked.
        if method == ID_AD_OCSP && tag == implicit(TagNumber::N6) && found.len() < MAX_RESPONDERS {
            found.push(std::str::from_utf8(place).map_err(|_| Malformed)?);
        }
    }
    Ok(found)
}

fn names_stapling(value: &[u8]) -> Result<bool> {
    let mut list = only_sequence(value)?;
    let mut named = false;
    while !list.is_empty() {
        named |= list.value(Tag::Integer)? == STATUS_REQUEST;
    }
    Ok(named)
}

fn names_servers(value: &[u8]) -> Result<bool> {
    let mut list = only_sequence(value)?;
    let mut named = false;
    while !list.is_empty() {
        named |= SERVER_USAGES.contains(&list.value(Tag::ObjectIdentifier)?);
    }
    Ok(named)
}
