//! What a client remembers of certificates: conclusive responses, and responders that did not answer.

use std::collections::HashMap;

use super::{
    refusal::{Refusal, Source},
    response::{Answer, Status},
    subject::CertId,
};

/// A client meets few certificates; this many are remembered.
const CAPACITY: usize = 1024;
/// For so many seconds nobody is asked again after nobody answered.
const SILENCE: u64 = 60;

/// One memory per client.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) answers: HashMap<CertId, Known>,
    /// Since when it is no use asking.
    pub(super) silent: HashMap<CertId, u64>,
}

/// A response that counts until it expires.
#[derive(Debug)]
pub(super) struct Known {
    verdict: Result<(), Refusal>,
    this_update: u64,
    next_update: u64,
}

/// What a response means for the connection; `None`: nothing.
pub(super) fn verdict(answer: &Answer, source: &Source) -> Option<Result<(), Refusal>> {
    match answer.status {
        Status::Good => Some(Ok(())),
        Status::Revoked { at, reason } => Some(Err(Refusal::Revoked {
            at,
            reason,
            said_by: source.clone(),
        })),
        Status::Unknown => None,
    }
}

impl Memory {
    /// What a response said that is in force now.
    pub(super) fn recall(&self, id: &CertId, now: u64) -> Option<Result<(), Refusal>> {
        let known = self.answers.get(id)?;
        (known.this_update <= now && now < known.next_update).then(|| known.verdict.clone())
    }

    /// Whether nobody answered a while ago.
    pub(super) fn is_silent(&self, id: &CertId, now: u64) -> bool {
        // A clock that was set back ends the silence as well.
        self.silent
            .get(id)
            .is_some_and(|since| (*since..since.saturating_add(SILENCE)).contains(&now))
    }

    /// Keeps a conclusive response that says how long it holds. Of two, the one that holds longer stays; a revocation also
    /// takes the place of an older response that would hold longer.
    pub(super) fn learn(&mut self, id: &CertId, answer: &Answer, source: &Source, now: u64) {
        let (Some(next_update), Some(verdict)) = (answer.next_update, verdict(answer, source)) else {
            return;
        };
        self.silent.remove(id);
        if let Some(known) = self.answers.get(id) {
            let fresher = next_update > known.next_update
                || (verdict.is_err() && known.verdict.is_ok() && answer.this_update >= known.this_update);
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
                verdict,
                this_update: answer.this_update,
                next_update,
            },
        );
    }

    /// Nobody answered.
    pub(super) fn fall_silent(&mut self, id: &CertId, now: u64) {
        if self.silent.len() >= CAPACITY {
            self.silent
                .retain(|_, since| (*since..since.saturating_add(SILENCE)).contains(&now));
        }
        if self.silent.len() < CAPACITY {
            self.silent.insert(id.clone(), now);
        }
    }
}
