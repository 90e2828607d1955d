//! The parsers of certificates and of the responses of OCSP responders, for the fuzz targets.

use std::time::Duration;

use tokio_rustls::rustls::{
    RootCertStore,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, UnixTime},
};

use super::{Revocation, Subject, certificate::Certificate};

/// A certificate whose status responses state.
#[derive(Debug)]
pub struct RevocationStatus {
    revocation: Revocation,
    subject: Subject,
    seconds: u64,
}

impl RevocationStatus {
    /// The certificate, the root that issued it, and the present time in seconds since 1970. `None`
    /// if it is not valid.
    pub fn new(certificate: &[u8], root: &[u8], seconds: u64) -> Option<Self> {
        let revocation = Revocation::new(default_provider().signature_verification_algorithms.all, true);
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(root)).ok()?;
        let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let subject = revocation.subject(&CertificateDer::from(certificate), &[], &roots, time);
        Some(Self {
            subject: subject.ok()?,
            revocation,
            seconds,
        })
    }

    /// Whether a stapled response states that the certificate is good. `None` if it says that the
    /// certificate is revoked, or does not count.
    pub fn is_good(&self, response: &[u8]) -> Option<bool> {
        let status = self
            .revocation
            .verify_staple(&self.subject, response, self.seconds);
        status.ok()
    }

    /// Whether the fields of a certificate that the driver reads can be read.
    pub fn reads(certificate: &[u8]) -> bool {
        Certificate::parse(certificate).is_ok()
    }
}
