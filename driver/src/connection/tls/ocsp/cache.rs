//! The OCSP cache of a client: conclusive responses, and lookups without an answer.

use std::collections::HashMap;

use super::{
    error::{RevocationError, Source},
    response::{Answer, Status},
    subject::CertId,
};

/// Maximum number of certificates.
const CAPACITY: usize = 1024;
/// Time until responders are requested again after a lookup without an answer, in seconds.
const FAILURE_TTL: u64 = 60;

/// The cache of a client.
#[derive(Debug, Default)]
pub(super) struct Cache {
    pub(super) answers: HashMap<CertId, Known>,
    /// Times of lookups without an answer.
    pub(super) failures: HashMap<CertId, u64>,
}

/// A response that is valid until `next_update`.
#[derive(Debug)]
pub(super) struct Known {
    outcome: Result<(), RevocationError>,
    this_update: u64,
    next_update: u64,
}

/// The result for the connection. `None` if the response is not conclusive.
pub(super) fn outcome(answer: &Answer, source: &Source) -> Option<Result<(), RevocationError>> {
    match answer.status {
        Status::Good => Some(Ok(())),
        Status::Revoked { at, reason } => Some(Err(RevocationError::Revoked {
            at,
            reason,
            source: source.clone(),
        })),
        Status::Unknown => None,
    }
}

impl Cache {
    /// The result of a cached response that is valid now.
    pub(super) fn get(&self, id: &CertId, now: u64) -> Option<Result<(), RevocationError>> {
        let known = self.answers.get(id)?;
        (known.this_update <= now && now < known.next_update).then(|| known.outcome.clone())
    }

    /// Whether the last lookup had no answer, less than [`FAILURE_TTL`] ago.
    pub(super) fn has_recent_failure(&self, id: &CertId, now: u64) -> bool {
        // Not after the clock was set back.
        self.failures
            .get(id)
            .is_some_and(|since| (*since..since.saturating_add(FAILURE_TTL)).contains(&now))
    }

    /// Inserts a conclusive response with a `nextUpdate`. It replaces a response with an earlier
    /// `nextUpdate`; a revocation also replaces an older response with a later one.
    pub(super) fn insert(&mut self, id: &CertId, answer: &Answer, source: &Source, now: u64) {
        let (Some(next_update), Some(outcome)) = (answer.next_update, outcome(answer, source)) else {
            return;
        };
        self.failures.remove(id);
        if let Some(known) = self.answers.get(id) {
            let fresher = next_update > known.next_update
                || (outcome.is_err() && known.outcome.is_ok() && answer.this_update >= known.this_update);
            if !fresher {
                return;
            }
        } else if self.answers.len() >= CAPACITY {
            self.answers.retain(|_, known| now < known.next_update);
            let soonest = self
                .answers
                .iter()
                .min_by_key(|(_, known)| known.next_update)
                .map(|(id, _)| id.clone());
            if let Some(soonest) = soonest
                && self.answers.len() >= CAPACITY
            {
                self.answers.remove(&soonest);
            }
        }
        self.answers.insert(
            id.clone(),
            Known {
                outcome,
                this_update: answer.this_update,
                next_update,
            },
        );
    }

    /// Records a lookup without an answer.
    pub(super) fn insert_failure(&mut self, id: &CertId, now: u64) {
        if self.failures.len() >= CAPACITY {
            self.failures
                .retain(|_, since| (*since..since.saturating_add(FAILURE_TTL)).contains(&now));
        }
        if self.failures.len() < CAPACITY {
            self.failures.insert(id.clone(), now);
        }
    }
}
