//! Why a connection is refused although the server's certificate is in force and trusted.

use std::fmt;

use super::{asn1::readable, response::Invalid};

/// Which option says not to look.
const SWITCH: &str = "tlsDisableCertificateRevocationCheck switches these checks off";

/// The reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The authority took the certificate back.
    Revoked {
        at: u64,
        reason: Option<u8>,
        said_by: Source,
    },
    /// The server stapled a response that proves nothing.
    Stapled(Invalid),
    /// The certificate demands a stapled response.
    NothingStapled,
    /// The certificate demands one that settles its status.
    NothingSettled,
    /// The certificate cannot be read as far as revocation needs it.
    Unreadable,
}

/// Where a response came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The server itself.
    Staple,
    /// The responder at this address.
    Responder(String),
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Revoked { at, reason, said_by } => {
                write!(f, "the server's certificate was revoked at {}", readable(*at))?;
                if let Some(reason) = reason.and_then(reason_name) {
                    write!(f, " ({reason})")?;
                }
                write!(f, ", says {said_by}")
            }
            Self::Stapled(why) => write!(f, "the OCSP response that the server stapled {why} ({SWITCH})"),
            Self::NothingStapled => write!(
                f,
                "the server's certificate demands a stapled OCSP response, and the server stapled none ({SWITCH})"
            ),
            Self::NothingSettled => write!(
                f,
                "the server's certificate demands a stapled OCSP response, and the one that the server stapled does not know \
                 the certificate ({SWITCH})"
            ),
            Self::Unreadable => write!(
                f,
                "the server's certificate cannot be read as far as its revocation is concerned ({SWITCH})"
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

/// `CRLReason` (RFC 5280, 5.3.1).
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
