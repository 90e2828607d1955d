//! Errors of the revocation check, after the certificate chain has been verified.

use std::fmt;

use super::{asn1::readable, response::Invalid};

/// The option that disables the check, for messages.
const SWITCH: &str = "tlsDisableCertificateRevocationCheck=true disables this check";

/// Why the connection is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RevocationError {
    /// The certificate is revoked.
    Revoked {
        at: u64,
        reason: Option<u8>,
        source: Source,
    },
    /// The stapled response is not accepted.
    Stapled(Invalid),
    /// The certificate requires a stapled response, and there is none.
    NothingStapled,
    /// The certificate requires a stapled response, and that does not know the certificate.
    NothingSettled,
    /// The fields needed for the revocation check cannot be parsed.
    Unreadable,
}

/// The origin of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Stapled by the server.
    Staple,
    /// The responder at this URL.
    Responder(String),
}

impl std::error::Error for RevocationError {}

impl fmt::Display for RevocationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Revoked { at, reason, source } => {
                write!(f, "the server's certificate was revoked at {}", readable(*at))?;
                if let Some(reason) = reason.and_then(reason_name) {
                    write!(f, " ({reason})")?;
                }
                write!(f, ", according to {source}")
            }
            Self::Stapled(why) => write!(f, "the OCSP response that the server stapled {why} ({SWITCH})"),
            Self::NothingStapled => write!(
                f,
                "the server's certificate requires a stapled OCSP response, and the server stapled none ({SWITCH})"
            ),
            Self::NothingSettled => write!(
                f,
                "the server's certificate requires a stapled OCSP response, and the one that the server stapled does not know \
                 the certificate ({SWITCH})"
            ),
            Self::Unreadable => write!(
                f,
                "the server's certificate cannot be parsed for the revocation check ({SWITCH})"
            ),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Staple => f.write_str("the OCSP response that the server stapled"),
            Self::Responder(address) => write!(f, "the OCSP responder {address}"),
        }
    }
}

/// `CRLReason` (RFC 5280, section 5.3.1).
fn reason_name(number: u8) -> Option<&'static str> {
    Some(match number {
        1 => "key compromise",
        2 => "CA compromise",
        3 => "affiliation changed",
        4 => "superseded",
        5 => "cessation of operation",
        6 => "certificate hold",
        8 => "removed from CRL",
        9 => "privilege withdrawn",
        10 => "AA compromise",
        _ => return None,
    })
}
