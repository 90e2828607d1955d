//! The fields of a certificate (RFC 5280) needed for revocation: serial number, validity, OCSP
//! responders.

use der::TagNumber;

use super::asn1::{Malformed, Result, Tag, explicit, extensions, implicit, only_sequence};

/// `id-pe-authorityInfoAccess`: 1.3.6.1.5.5.7.1.1
const AUTHORITY_INFORMATION_ACCESS: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 1, 1];
/// `id-pe-tlsfeature`: 1.3.6.1.5.5.7.1.24
const TLS_FEATURE: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 1, 24];
/// `id-ce-extKeyUsage`: 2.5.29.37
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37];
/// `id-ad-ocsp`: 1.3.6.1.5.5.7.48.1
const ID_AD_OCSP: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 48, 1];
/// `id-kp-serverAuth`, 1.3.6.1.5.5.7.3.1, and `anyExtendedKeyUsage`, 2.5.29.37.0
const SERVER_USAGES: [&[u8]; 2] = [&[0x2b, 6, 1, 5, 5, 7, 3, 1], &[0x55, 0x1d, 37, 0]];
/// The TLS extension `status_request`, which requests a stapled response.
const STATUS_REQUEST: &[u8] = &[5];
/// Maximum number of responders considered.
const MAX_RESPONDERS: usize = 8;

/// An end-entity certificate.
#[derive(Debug)]
pub(super) struct Certificate<'a> {
    /// Content octets of the serial number.
    pub(super) serial: &'a [u8],
    /// Start of the validity period, in seconds since 1970.
    pub(super) not_before: u64,
    /// End of the validity period, inclusive.
    pub(super) not_after: u64,
    /// URLs of the OCSP responders.
    pub(super) responders: Vec<&'a str>,
    /// Whether the server must staple a response (RFC 7633).
    pub(super) must_staple: bool,
    /// Whether it may be used by a TLS server.
    pub(super) for_servers: bool,
}

impl<'a> Certificate<'a> {
    /// Parses a certificate. Other extensions are ignored.
    pub(super) fn parse(der: &'a [u8]) -> Result<Self> {
        let mut tbs = only_sequence(der)?.sequence()?;
        tbs.optional(explicit(TagNumber::N0))?;
        let serial = tbs.value(Tag::Integer)?;
        tbs.sequence()?;
        tbs.sequence()?;
        let mut validity = tbs.sequence()?;
        let mut certificate = Self {
            serial,
            // A time before 1970 counts as 1970.
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
                    // A malformed list of responders counts as empty.
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
        // Other forms of location, such as a directory name, are not supported.
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
