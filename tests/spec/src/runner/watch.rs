//! Runs one case so that neither its panic nor its hanging reaches another.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    thread,
    time::Duration,
};

use crate::case::Outcome;

/// Far longer than any case takes, also on a busy machine: it only catches those that would never end.
pub const LIMIT: Duration = Duration::from_secs(180);

/// Runs it in a thread of its own. A thread that hangs is left behind; it ends with the process.
pub fn run(case: impl FnOnce() -> Outcome + Send + 'static, limit: Duration) -> Outcome {
    let (sender, receiver) = mpsc::channel();
    let work = move || {
        let outcome = catch_unwind(AssertUnwindSafe(case))
            .unwrap_or_else(|payload| Outcome::Failed(format!("panicked: {}", message(&*payload))));
        // Nobody listens any more if the limit is over.
        drop(sender.send(outcome));
    };
    if let Err(error) = thread::Builder::new().name("case".into()).spawn(work) {
        return Outcome::Failed(format!("no thread for the case: {error}"));
    }
    receiver
        .recv_timeout(limit)
        .unwrap_or_else(|_| Outcome::Failed(format!("still running after {} s", limit.as_secs_f32())))
}

fn message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("with something that is no text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_come_through() {
        assert_eq!(run(|| Outcome::Passed, LIMIT), Outcome::Passed);
        let pending = Outcome::Pending("watch".into());
        let own = pending.clone();
        assert_eq!(run(move || own, LIMIT), pending);
    }

    #[test]
    fn a_panic_is_a_failure_with_its_text() {
        let number = 7;
        let Outcome::Failed(why) = run(move || panic!("number {number}"), LIMIT) else {
            panic!("it passed");
        };
        assert!(why.contains("number 7"), "{why}");
    }

    #[test]
    fn a_case_that_hangs_is_a_failure() {
        let (keep, wait) = mpsc::channel::<()>();
        let hang = move || {
            let _ = wait.recv();
            Outcome::Passed
        };
        let Outcome::Failed(why) = run(hang, Duration::from_millis(1)) else {
            panic!("it passed");
        };
        assert!(why.contains("still running"), "{why}");
        drop(keep);
    }
}
