//! Asking the responders that a certificate names: all at once, and once for all connections that want to know.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::{sync::OnceCell, task::JoinSet};

use super::{
    Revocation,
    memory::verdict,
    now,
    refusal::{Refusal, Source},
    response::{Answer, MAX_RESPONSE, Status, judge},
    signer::Algorithms,
    subject::{CertId, Subject},
};
use crate::{
    connection::http::{self, Request, Url},
    types::deadline::Deadline,
};

/// No responder is waited for any longer (OCSP Support specification).
const LIMIT: Duration = Duration::from_secs(5);

/// What all who wait for a lookup are told.
type Outcome = Result<(), Refusal>;

/// The lookups that go on. One ends with the last connection that waits for it; whoever is dropped while it asks leaves
/// the asking to the next.
#[derive(Debug, Default)]
pub(super) struct Lookups(Mutex<HashMap<CertId, Weak<OnceCell<Outcome>>>>);

impl Lookups {
    fn join(&self, id: &CertId) -> Arc<OnceCell<Outcome>> {
        let mut lookups = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(current) = lookups.get(id).and_then(Weak::upgrade) {
            return current;
        }
        lookups.retain(|_, other| other.strong_count() > 0);
        let new = Arc::default();
        lookups.insert(id.clone(), Arc::downgrade(&new));
        new
    }
}

impl Revocation {
    /// What the responders say, and at the latest with half of the time gone: nothing.
    pub(super) async fn lookup(&self, subject: &Arc<Subject>, deadline: Deadline) -> Outcome {
        let share = deadline.remaining().map_or(LIMIT, |left| LIMIT.min(left / 2));
        let until = match share.is_zero() {
            true => return Ok(()),
            false => Deadline::after(Some(share)),
        };
        let lookup = self.lookups.join(&subject.id);
        match until.run(lookup.get_or_init(|| self.ask(subject, until))).await {
            Ok(outcome) => outcome.clone(),
            Err(_) => Ok(()),
        }
    }

    async fn ask(&self, subject: &Arc<Subject>, until: Deadline) -> Outcome {
        // Another lookup may have ended between the look into the memory and the beginning of this one.
        let (known, silent) = {
            let memory = self.memory();
            let now = now();
            (
                memory.recall(&subject.id, now),
                memory.is_silent(&subject.id, now),
            )
        };
        if let Some(known) = known {
            return known;
        }
        if silent {
            return Ok(());
        }
        let request: Arc<[u8]> = subject.request().into();
        let mut asked = JoinSet::new();
        for number in 0..subject.responders.len() {
            let question = question(Arc::clone(subject), number, Arc::clone(&request), self.algorithms);
            asked.spawn(question);
        }
        while let Ok(Some(answered)) = until.run(asked.join_next()).await {
            let Ok(Some((answer, source))) = answered else {
                continue;
            };
            if let Some(verdict) = verdict(&answer, &source) {
                self.memory().learn(&subject.id, &answer, &source, now());
                return verdict;
            }
        }
        self.memory().fall_silent(&subject.id, now());
        Ok(())
    }
}

/// One responder's valid answer, if it knows the certificate.
async fn question(
    subject: Arc<Subject>,
    number: usize,
    request: Arc<[u8]>,
    algorithms: Algorithms,
) -> Option<(Answer, Source)> {
    let url = subject.responders.get(number)?;
    let body = post(url, &request).await.ok()?;
    let answer = judge(&body, &subject, now(), algorithms).ok()?;
    match answer.status {
        Status::Unknown => None,
        _ => Some((answer, Source::Responder(url.to_string()))),
    }
}

async fn post(url: &Url, request: &[u8]) -> io::Result<Vec<u8>> {
    let request = Request {
        method: "POST",
        url,
        headers: &[
            ("Content-Type", "application/ocsp-request"),
            ("Accept", "application/ocsp-response"),
        ],
        body: request,
    };
    let response = Box::pin(http::send(&request, MAX_RESPONSE)).await?;
    match response.status {
        200 => Ok(response.body),
        status => Err(io::Error::other(format!("HTTP status {status}"))),
    }
}
