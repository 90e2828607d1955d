//! Runs a case isolated from the others: a panic or a timeout is a failure of that case only.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc,
    thread,
    time::Duration,
};

use crate::case::Outcome;

/// The time limit of a case: far longer than any case takes, even on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(180);

/// Runs a case in its own thread. After a timeout the thread is left running until the process
/// ends.
pub fn run(case: impl FnOnce() -> Outcome + Send + 'static, limit: Duration) -> Outcome {
    let (sender, receiver) = mpsc::channel();
    let work = move || {
        let outcome = catch_unwind(AssertUnwindSafe(case))
            .unwrap_or_else(|payload| Outcome::Failed(format!("panicked: {}", message(&*payload))));
        // The receiver is gone after a timeout.
        drop(sender.send(outcome));
    };
    if let Err(error) = thread::Builder::new().name("case".into()).spawn(work) {
        return Outcome::Failed(format!("cannot spawn a thread: {error}"));
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
        .unwrap_or("with a payload that is not a string")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_returned() {
        assert_eq!(run(|| Outcome::Passed, LIMIT), Outcome::Passed);
        let pending = Outcome::Pending("watch".into());
        let own = pending.clone();
        assert_eq!(run(move || own, LIMIT), pending);
    }

    #[test]
    fn a_panic_is_a_failure_with_its_message() {
        let number = 7;
        let Outcome::Failed(why) = run(move || panic!("number {number}"), LIMIT) else {
            panic!("it passed");
        };
        assert!(why.contains("number 7"), "{why}");
    }

    #[test]
    fn a_timeout_is_a_failure() {
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
