//! The addresses of a host in both address families, looked up at the same time.
//!
//! The wait for the second answer is short (RFC 8305, section 3), so that a name server that does
//! not answer for IPv6 does not delay connections.

use std::{
    future::poll_fn,
    net::IpAddr,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use super::dns::LookupError;

/// How long the second family is waited for ("Resolution Delay").
const RESOLUTION_DELAY: Duration = Duration::from_millis(50);

type Answer = Result<Vec<IpAddr>, LookupError>;

/// The addresses of both lookups, those of the first before those of the second.
pub(super) async fn ask_for_both(
    host: &str,
    first: impl Future<Output = Answer>,
    second: impl Future<Output = Answer>,
) -> Answer {
    let (first, second) = both(pin!(first), pin!(second)).await;
    let mut found = Vec::new();
    let mut failure = None;
    for answer in [first, second].into_iter().flatten() {
        match answer {
            Ok(addresses) => found.extend(addresses),
            // The error of a name server that did not answer is reported before an empty answer.
            Err(LookupError::NoRecords(_)) => {}
            Err(error) => failure = Some(error),
        }
    }
    if found.is_empty() {
        Err(failure.unwrap_or_else(|| LookupError::NoRecords(format!("DNS knows no address of {host}"))))
    } else {
        Ok(found)
    }
}

/// Waits for both answers, but only a moment longer once one of them holds addresses.
async fn both(
    mut first: Pin<&mut impl Future<Output = Answer>>,
    mut second: Pin<&mut impl Future<Output = Answer>>,
) -> (Option<Answer>, Option<Answer>) {
    let (mut one, mut other) = (None, None);
    let is_useful = |answer: &Option<Answer>| matches!(answer, Some(Ok(found)) if !found.is_empty());
    poll_fn(|cx| {
        take(first.as_mut(), &mut one, cx);
        take(second.as_mut(), &mut other, cx);
        if is_useful(&one) || is_useful(&other) || (one.is_some() && other.is_some()) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    let rest = poll_fn(|cx| {
        take(first.as_mut(), &mut one, cx);
        take(second.as_mut(), &mut other, cx);
        if one.is_some() && other.is_some() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    // What has come so far will do.
    let _ = tokio::time::timeout(RESOLUTION_DELAY, rest).await;
    (one, other)
}

fn take(future: Pin<&mut impl Future<Output = Answer>>, answer: &mut Option<Answer>, cx: &mut Context<'_>) {
    if answer.is_none()
        && let Poll::Ready(ready) = future.poll(cx)
    {
        *answer = Some(ready);
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    fn found() -> Answer {
        Ok(vec![IpAddr::from([127, 0, 0, 1])])
    }

    #[tokio::test]
    async fn a_silent_family_is_not_waited_for() {
        let (silent, answered) = both(pin!(pending()), pin!(ready(found()))).await;
        assert!(silent.is_none());
        assert_eq!(answered.unwrap().unwrap().len(), 1);
        let (empty, answered) = both(pin!(ready(Ok(Vec::new()))), pin!(ready(found()))).await;
        assert!(empty.is_some() && answered.is_some());
    }

    #[tokio::test]
    async fn a_failure_is_reported_before_an_absence() {
        let failed = || LookupError::Failed("broken".into());
        let none = || LookupError::NoRecords("none".into());
        let ask = async |first, second| ask_for_both("db", ready(first), ready(second)).await;
        assert_eq!(ask(Err(failed()), found()).await, found());
        assert_eq!(ask(Err(none()), Err(failed())).await, Err(failed()));
        assert_eq!(ask(Err(failed()), Err(none())).await, Err(failed()));
        let unknown = Err(LookupError::NoRecords("DNS knows no address of db".into()));
        assert_eq!(ask(Err(none()), Err(none())).await, unknown);
        assert_eq!(ask(Ok(Vec::new()), Err(none())).await, unknown);
    }
}
