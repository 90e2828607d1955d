//! A server certificate that is itself listed in `tlsCAFile`: it needs no issuer, but must be valid
//! at this time.

use super::certificate::Certificate;

/// The validity of a certificate for a TLS server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PinnedCertificate {
    /// Start of the validity period, in seconds since 1970.
    pub(crate) not_before: u64,
    /// End of the validity period, inclusive.
    pub(crate) not_after: u64,
    /// Whether it may be used by a TLS server.
    pub(crate) for_servers: bool,
}

impl PinnedCertificate {
    /// Parses a certificate. `None` if it is malformed.
    pub(crate) fn read(der: &[u8]) -> Option<Self> {
        let certificate = Certificate::parse(der).ok()?;
        Some(Self {
            not_before: certificate.not_before,
            not_after: certificate.not_after,
            for_servers: certificate.for_servers,
        })
    }
}
