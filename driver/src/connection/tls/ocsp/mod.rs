//! Whether the server's certificate was revoked (OCSP Support specification, RFC 6960).
//!
//! During the handshake the stapled response is judged, without waiting for anything. After it, and before the client says
//! a word, comes what the client remembers, and else the responders that the certificate names are asked.

mod asn1;
mod certificate;
mod lookup;
mod memory;
mod pinned;
mod refusal;
mod response;
mod signer;
mod subject;
#[cfg(test)]
mod tests;

use std::{
    cell::RefCell,
    collections::HashMap,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use sha2::{Digest, Sha256};
use tokio_rustls::rustls::{
    RootCertStore,
    pki_types::{CertificateDer, UnixTime},
};
use webpki::{EndEntityCert, KeyUsage};

use crate::types::deadline::Deadline;
use lookup::Lookups;
use memory::{Memory, verdict};
pub(super) use pinned::PinnedCertificate;
pub(super) use refusal::Refusal;
use refusal::Source;
use signer::Algorithms;
use subject::Subject;

/// Certificates beyond these are forgotten, and met anew at the next full handshake.
const MAX_SUBJECTS: usize = 256;

tokio::task_local! {
    /// What the check within the handshake, which cannot wait, leaves to the one after it.
    static SEEN: RefCell<Option<Seen>>;
}

/// The server's certificate, as the handshake met it.
#[derive(Debug)]
pub(super) struct Seen {
    subject: Arc<Subject>,
    /// A stapled response said that it is good.
    settled: bool,
}

/// What a client knows about revocation.
#[derive(Debug)]
pub(super) struct Revocation {
    algorithms: Algorithms,
    /// Responders may be asked.
    asks: bool,
    memory: Mutex<Memory>,
    lookups: Lookups,
    /// By the hash of the certificate: handshakes that resume a session do not verify it again.
    subjects: Mutex<HashMap<[u8; 32], Arc<Subject>>>,
}

/// Runs the handshake and returns what it met.
pub(super) async fn watching<F: Future>(handshake: F) -> (F::Output, Option<Seen>) {
    let watched = async {
        let outcome = handshake.await;
        (outcome, SEEN.with(RefCell::take))
    };
    SEEN.scope(RefCell::new(None), watched).await
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
            memory: Mutex::default(),
            lookups: Lookups::default(),
            subjects: Mutex::default(),
        }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn subjects(&self) -> MutexGuard<'_, HashMap<[u8; 32], Arc<Subject>>> {
        self.subjects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Within the handshake, once the certificate was found good: judges what was stapled.
    pub(super) fn examine(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        roots: &RootCertStore,
        staple: &[u8],
        time: UnixTime,
    ) -> Result<(), Refusal> {
        let subject = Arc::new(self.subject(end_entity, intermediates, roots, time)?);
        let settled = self.judge_staple(&subject, staple, time.as_secs())?;
        let mut subjects = self.subjects();
        if subjects.len() >= MAX_SUBJECTS {
            subjects.clear();
        }
        subjects.insert(Sha256::digest(end_entity).into(), Arc::clone(&subject));
        drop(subjects);
        // Outside of `watching` there is nobody to leave it to.
        let _ = SEEN.try_with(|seen| seen.replace(Some(Seen { subject, settled })));
        Ok(())
    }

    /// The certificate with its issuer. Whoever answers for it must hold the very key that signed it, so the path is built
    /// as the check of the certificate built it.
    fn subject(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        roots: &RootCertStore,
        time: UnixTime,
    ) -> Result<Subject, Refusal> {
        let certificate = EndEntityCert::try_from(end_entity).map_err(|_| Refusal::Unreadable)?;
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
            .map_err(|_| Refusal::Unreadable)?;
        Subject::of_path(end_entity, &path).map_err(|_| Refusal::Unreadable)
    }

    /// Whether the staple settles that the certificate is good.
    fn judge_staple(&self, subject: &Subject, staple: &[u8], now: u64) -> Result<bool, Refusal> {
        if staple.is_empty() {
            return match subject.must_staple {
                true => Err(Refusal::NothingStapled),
                false => Ok(false),
            };
        }
        let answer = response::judge(staple, subject, now, self.algorithms).map_err(Refusal::Stapled)?;
        self.memory().learn(&subject.id, &answer, &Source::Staple, now);
        match verdict(&answer, &Source::Staple) {
            Some(verdict) => verdict.map(|()| true),
            None if subject.must_staple => Err(Refusal::NothingSettled),
            None => Ok(false),
        }
    }

    /// After the handshake: what the client remembers, else what the responders say. Waits for them at most five seconds, and
    /// at most half of what is left until the deadline. Nothing conclusive is as good as good (soft fail).
    pub(super) async fn check(
        &self,
        seen: Option<Seen>,
        end_entity: Option<&CertificateDer<'_>>,
        deadline: Deadline,
    ) -> Result<(), Refusal> {
        let resumed = || {
            let hash: [u8; 32] = Sha256::digest(end_entity?).into();
            let subject = self.subjects().get(&hash).cloned()?;
            Some(Seen {
                subject,
                settled: false,
            })
        };
        let Some(Seen { subject, settled }) = seen.or_else(resumed) else {
            return Ok(());
        };
        if let Some(known) = self.memory().recall(&subject.id, now()) {
            return known;
        }
        if settled || !self.asks || subject.responders.is_empty() {
            return Ok(());
        }
        self.lookup(&subject, deadline).await
    }
}
