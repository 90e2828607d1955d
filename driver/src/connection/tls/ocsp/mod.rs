//! Revocation of server certificates by OCSP ([RFC 6960](https://www.rfc-editor.org/rfc/rfc6960)).
//!
//! Specification:
//! <https://github.com/mongodb/specifications/blob/master/source/ocsp-support/ocsp-support.md>.
//! During the TLS handshake the stapled response is verified, which does not wait. After the
//! handshake, and before any command, follow the cache of the client and the responders of the
//! certificate.

mod asn1;
mod cache;
mod certificate;
mod error;
mod lookup;
mod pinned;
mod response;
mod signer;
mod subject;
#[cfg(test)]
mod tests;
#[cfg(all(feature = "internals", feature = "aws-auth"))]
mod untrusted;

use std::{
    cell::RefCell,
    collections::HashMap,
    future::Future,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use sha2::{Digest, Sha256};
use tokio_rustls::rustls::{
    RootCertStore,
    pki_types::{CertificateDer, UnixTime},
};
use webpki::{EndEntityCert, KeyUsage};

use crate::types::{
    deadline::Deadline,
    lock::{Inner, InnerGuard},
};
use cache::{Cache, outcome};
pub(super) use error::RevocationError;
use error::Source;
use lookup::Lookups;
pub(super) use pinned::PinnedCertificate;
use signer::Algorithms;
use subject::Subject;
#[cfg(all(feature = "internals", feature = "aws-auth"))]
pub use untrusted::RevocationStatus;

/// Maximum number of certificates kept for resumed sessions. All are removed when it is reached,
/// and inserted at the next full handshake.
const MAX_SUBJECTS: usize = 256;

tokio::task_local! {
    /// The state that the check in the handshake, which cannot wait, passes to the check after it.
    static CAPTURED: RefCell<Option<Captured>>;
}

/// The server's certificate, from the handshake.
#[derive(Debug)]
pub(super) struct Captured {
    subject: Arc<Subject>,
    /// Whether a stapled response states that it is good.
    settled: bool,
}

/// The revocation check of a client.
#[derive(Debug)]
pub(super) struct Revocation {
    algorithms: Algorithms,
    /// Whether responders are requested.
    asks: bool,
    cache: Inner<Cache>,
    lookups: Lookups,
    /// By SHA-256 of the certificate. Handshakes that resume a session do not verify the
    /// certificate.
    subjects: Inner<HashMap<[u8; 32], Arc<Subject>>>,
}

/// Runs the handshake and returns the certificate that it verified.
pub(super) async fn capture<F: Future>(handshake: F) -> (F::Output, Option<Captured>) {
    let watched = async {
        let outcome = handshake.await;
        (outcome, CAPTURED.with(RefCell::take))
    };
    CAPTURED.scope(RefCell::new(None), watched).await
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO)
        .as_secs()
}

impl Revocation {
    pub(super) fn new(algorithms: Algorithms, asks: bool) -> Self {
        Self {
            algorithms,
            asks,
            cache: Inner::default(),
            lookups: Lookups::default(),
            subjects: Inner::default(),
        }
    }

    fn cache(&self) -> InnerGuard<'_, Cache> {
        self.cache.lock()
    }

    fn subjects(&self) -> InnerGuard<'_, HashMap<[u8; 32], Arc<Subject>>> {
        self.subjects.lock()
    }

    /// Called in the handshake, after the chain is verified: verifies the stapled response.
    pub(super) fn examine(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        roots: &RootCertStore,
        staple: &[u8],
        time: UnixTime,
    ) -> Result<(), RevocationError> {
        let subject = Arc::new(self.subject(end_entity, intermediates, roots, time)?);
        let settled = self.verify_staple(&subject, staple, time.as_secs())?;
        let mut subjects = self.subjects();
        if subjects.len() >= MAX_SUBJECTS {
            subjects.clear();
        }
        subjects.insert(Sha256::digest(end_entity).into(), Arc::clone(&subject));
        drop(subjects);
        // Fails outside of `capture`, where nothing follows.
        let _ = CAPTURED.try_with(|captured| captured.replace(Some(Captured { subject, settled })));
        Ok(())
    }

    /// The certificate with its issuer. Responses must be signed with the key that signed the
    /// certificate, so the path is built in the same way as for its verification.
    fn subject(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        roots: &RootCertStore,
        time: UnixTime,
    ) -> Result<Subject, RevocationError> {
        let certificate = EndEntityCert::try_from(end_entity).map_err(|_| RevocationError::Unreadable)?;
        let path = certificate
            .verify_for_usage(
                self.algorithms,
                &roots.roots,
                intermediates,
                time,
                KeyUsage::server_auth(),
                None,
                None,
            )
            .map_err(|_| RevocationError::Unreadable)?;
        Subject::of_path(end_entity, &path).map_err(|_| RevocationError::Unreadable)
    }

    /// Whether the stapled response states that the certificate is good.
    fn verify_staple(&self, subject: &Subject, staple: &[u8], now: u64) -> Result<bool, RevocationError> {
        if staple.is_empty() {
            return if subject.must_staple {
                Err(RevocationError::NothingStapled)
            } else {
                Ok(false)
            };
        }
        let answer =
            response::verify(staple, subject, now, self.algorithms).map_err(RevocationError::Stapled)?;
        self.cache().insert(&subject.id, &answer, &Source::Staple, now);
        match outcome(&answer, &Source::Staple) {
            Some(outcome) => outcome.map(|()| true),
            None if subject.must_staple => Err(RevocationError::NothingSettled),
            None => Ok(false),
        }
    }

    /// Called after the handshake: checks the cache, then the responders. Waits for them for at
    /// most five seconds, and at most half of the time until the deadline. Without a conclusive
    /// answer the certificate is accepted (soft fail).
    pub(super) async fn check(
        &self,
        captured: Option<Captured>,
        end_entity: Option<&CertificateDer<'_>>,
        deadline: Deadline,
    ) -> Result<(), RevocationError> {
        let resumed = || {
            let hash: [u8; 32] = Sha256::digest(end_entity?).into();
            let subject = self.subjects().get(&hash).cloned()?;
            Some(Captured {
                subject,
                settled: false,
            })
        };
        let Some(Captured { subject, settled }) = captured.or_else(resumed) else {
            return Ok(());
        };
        if let Some(known) = self.cache().get(&subject.id, now()) {
            return known;
        }
        if settled || !self.asks || subject.responders.is_empty() {
            return Ok(());
        }
        self.lookup(&subject, deadline).await
    }
}
