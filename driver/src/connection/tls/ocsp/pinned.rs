//! A server's certificate that is itself among the trusted ones: it needs no issuer, but has to be in force.

use super::certificate::Certificate;

/// When, and whether, a server may use a certificate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PinnedCertificate {
    /// In force from this second since 1970 …
    pub(crate) not_before: u64,
    /// … to this one.
    pub(crate) not_after: u64,
    /// It may be used by a server.
    pub(crate) for_servers: bool,
}

impl PinnedCertificate {
    /// `None` for a certificate that cannot be read.
    pub(crate) fn read(der: &[u8]) -> Option<Self> {
        let certificate = Certificate::parse(der).ok()?;
        Some(Self {
            not_before: certificate.not_before,
            not_after: certificate.not_after,
            for_servers: certificate.for_servers,
        })
    }
}
