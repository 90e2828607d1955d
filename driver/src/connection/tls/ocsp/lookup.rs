//! Requests to the OCSP responders of a certificate: to all in parallel, and once for all
//! connections that wait.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{sync::OnceCell, task::JoinSet};

use super::{
    Revocation,
    cache::outcome,
    error::{RevocationError, Source},
    now,
    response::{Answer, MAX_RESPONSE, Status, verify},
    signer::Algorithms,
    subject::{CertId, Subject},
};
use crate::{
    connection::http::{self, Request, Url},
    types::{deadline::Deadline, lock::Inner},
};

/// Maximum time for all responders of a certificate ([OCSP Support], "Suggested OCSP Behavior").
///
/// [OCSP Support]:
/// https://github.com/mongodb/specifications/blob/master/source/ocsp-support/ocsp-support.md
const LIMIT: Duration = Duration::from_secs(5);

/// The result for all connections that wait for a lookup.
type Outcome = Result<(), RevocationError>;

/// The lookups in progress. A lookup is run by one of the connections that wait for it; if that one
/// is dropped, the next one continues. It ends with the last one.
#[derive(Debug, Default)]
pub(super) struct Lookups(Inner<HashMap<CertId, Weak<OnceCell<Outcome>>>>);

impl Lookups {
    fn join(&self, id: &CertId) -> Arc<OnceCell<Outcome>> {
        let mut lookups = self.0.lock();
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
    /// Requests the status from the responders. Succeeds without an answer after half of the
    /// remaining time (soft fail).
    pub(super) async fn lookup(&self, subject: &Arc<Subject>, deadline: Deadline) -> Outcome {
        let share = deadline.remaining().map_or(LIMIT, |left| LIMIT.min(left / 2));
        if share.is_zero() {
            return Ok(());
        }
        let until = Deadline::after(Some(share));
        let lookup = self.lookups.join(&subject.id);
        match until.run(lookup.get_or_init(|| self.ask(subject, until))).await {
            Ok(outcome) => outcome.clone(),
            Err(_) => Ok(()),
        }
    }

    async fn ask(&self, subject: &Arc<Subject>, until: Deadline) -> Outcome {
        // Another lookup may have ended after the cache was read.
        let (known, failed_recently) = {
            let cache = self.cache();
            let now = now();
            (
                cache.get(&subject.id, now),
                cache.has_recent_failure(&subject.id, now),
            )
        };
        if let Some(known) = known {
            return known;
        }
        if failed_recently {
            return Ok(());
        }
        let Ok(request) = subject.request() else {
            return Ok(());
        };
        let request: Arc<[u8]> = request.into();
        let mut asked = JoinSet::new();
        for number in 0..subject.responders.len() {
            let question = question(Arc::clone(subject), number, Arc::clone(&request), self.algorithms);
            asked.spawn(question);
        }
        while let Ok(Some(answered)) = until.run(asked.join_next()).await {
            let Ok(Some((answer, source))) = answered else {
                continue;
            };
            if let Some(outcome) = outcome(&answer, &source) {
                self.cache().insert(&subject.id, &answer, &source, now());
                return outcome;
            }
        }
        self.cache().insert_failure(&subject.id, now());
        Ok(())
    }
}

/// The valid answer of one responder. `None` if it does not know the certificate.
async fn question(
    subject: Arc<Subject>,
    number: usize,
    request: Arc<[u8]>,
    algorithms: Algorithms,
) -> Option<(Answer, Source)> {
    let url = subject.responders.get(number)?;
    let body = post(url, &request).await.ok()?;
    let answer = verify(&body, &subject, now(), algorithms).ok()?;
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
