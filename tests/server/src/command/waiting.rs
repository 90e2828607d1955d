//! Commands that wait: `getMore` with `awaitData`, writes that conflict with an open transaction,
//! and filters with `sleep`. No lock is held while waiting.

use crate::deployment::Deployment;
use crate::error::{Error, Result, code};
use crate::member::Member;
use crate::value::number::Number;
use bson::{Bson, Document};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// The time that a `getMore` with `awaitData` waits for data by default.
const DEFAULT_AWAIT: Duration = Duration::from_secs(1);
/// The time that a filter with `sleep` takes in addition: MongoDB starts a JavaScript scope for it,
/// so it never replies after exactly the time of the sleep. Clients that check for cancellation at
/// fixed intervals (PyMongo: 500 ms) rely on that.
const SCOPE_START: Duration = Duration::from_millis(50);
/// The maximum `sleep` of a filter.
const MAX_SLEEP: Duration = Duration::from_secs(60);

/// The result of trying to run a command.
pub(super) enum Ran {
    Done(Result<Document>),
    /// The command conflicts with an open transaction and was not executed.
    Blocked,
}

/// Runs a command; repeatedly while it awaits data and there is none, or conflicts with an open
/// transaction.
pub(super) async fn run(
    body: &Document,
    run: impl Fn(&Document) -> Ran,
    deployment: &Deployment,
    member: &Member,
) -> Result<Document> {
    if let Some(time) = sleep_in_filter(body) {
        tokio::time::sleep(time.min(MAX_SLEEP) + SCOPE_START).await;
    }
    let awaits = match body.iter().next() {
        Some((name, Bson::Int64(id))) if name == "getMore" => member.cursors.awaits_data(*id) == Some(true),
        _ => false,
    };
    let limit = time_limit(body);
    if !awaits {
        return run_unblocked(body, run, deployment, limit).await;
    }
    let deadline = Instant::now() + limit.unwrap_or(DEFAULT_AWAIT);
    // Subscribed before the check, so that no change is missed.
    let mut changes = deployment.data_changes();
    loop {
        let reply = run_unblocked(body, &run, deployment, None).await?;
        if !is_empty_batch(&reply) {
            return Ok(reply);
        }
        tokio::select! {
            () = sleep_until(deadline) => return Ok(reply),
            changed = changes.changed() => if changed.is_err() { return Ok(reply) },
        }
    }
}

/// Runs a command once it does not conflict with an open transaction.
async fn run_unblocked(
    body: &Document,
    run: impl Fn(&Document) -> Ran,
    deployment: &Deployment,
    limit: Option<Duration>,
) -> Result<Document> {
    let deadline = limit
        .filter(|limit| !limit.is_zero())
        .map(|limit| Instant::now() + limit);
    loop {
        // Subscribed before the check, so that no end of a transaction is missed.
        let mut ends = deployment.sessions.transaction_ends();
        if let Ran::Done(result) = run(body) {
            return result;
        }
        let lifetime = deployment.transaction_lifetime();
        let expiry = Instant::now() + lifetime;
        let until = deadline.map_or(expiry, |deadline| deadline.min(expiry));
        tokio::select! {
            _ = ends.changed() => {}
            () = sleep_until(until) => {
                if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                    return Err(Error::new(code::MAX_TIME_MS_EXPIRED, "operation exceeded time limit"));
                }
                deployment.sessions.abort_expired(lifetime);
            }
        }
    }
}

/// Waits for a result, at most `maxTimeMS` of the command.
pub(super) async fn in_time(body: &Document, result: impl Future<Output = Result<()>>) -> Result<()> {
    match time_limit(body).filter(|limit| !limit.is_zero()) {
        None => result.await,
        Some(limit) => tokio::time::timeout(limit, result).await.unwrap_or_else(|_| {
            let message = "operation exceeded time limit";
            Err(Error::new(code::MAX_TIME_MS_EXPIRED, message))
        }),
    }
}

/// Parses `maxTimeMS`.
fn time_limit(body: &Document) -> Option<Duration> {
    let limit = Number::from_bson(body.get("maxTimeMS")?)?;
    Some(Duration::from_millis(
        limit.to_saturated_i64().clamp(0, i64::from(i32::MAX)) as u64,
    ))
}

fn is_empty_batch(reply: &Document) -> bool {
    let Ok(cursor) = reply.get_document("cursor") else {
        return false;
    };
    cursor.get_array("nextBatch").is_ok_and(Vec::is_empty) && cursor.get_i64("id").is_ok_and(|id| id != 0)
}

/// The time that `$where: "sleep(N) || true"` in the filter of the command or of its first
/// statement sleeps. It is the only JavaScript that is recognized.
fn sleep_in_filter(body: &Document) -> Option<Duration> {
    let of_write = |list: &str| {
        let first = body.get_array(list).ok()?.first()?;
        first.as_document()?.get_document("q").ok()
    };
    let filter = ["filter", "query"]
        .iter()
        .find_map(|name| body.get_document(name).ok())
        .or_else(|| of_write("updates"))
        .or_else(|| of_write("deletes"))?;
    sleep_time(filter.get("$where")?)
}

/// The time of the program `sleep(N) || true`, where `N` is in milliseconds; `None` for other
/// programs.
pub(crate) fn sleep_time(program: &Bson) -> Option<Duration> {
    let (Bson::String(text) | Bson::JavaScriptCode(text)) = program else {
        return None;
    };
    let millis = text.strip_prefix("sleep(")?.strip_suffix(") || true")?;
    millis.parse().ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_sleep() {
        let filter = bson::doc! { "$where": "sleep(7) || true" };
        for body in [
            bson::doc! { "find": "c", "filter": filter.clone() },
            bson::doc! { "update": "c", "updates": [{ "q": filter.clone(), "u": {} }] },
            bson::doc! { "delete": "c", "deletes": [{ "q": filter, "limit": 1 }] },
        ] {
            assert_eq!(sleep_in_filter(&body), Some(Duration::from_millis(7)), "{body}");
        }
    }

    #[test]
    fn only_one_program_is_recognized() {
        assert_eq!(
            sleep_time(&Bson::from("sleep(2000) || true")),
            Some(Duration::from_secs(2))
        );
        assert_eq!(sleep_time(&Bson::from("this.a > 1")), None);
        assert_eq!(sleep_time(&Bson::from("sleep(x) || true")), None);
    }
}
