//! Counts the tasks of a runtime, for tests that no task is leaked.

use tokio::runtime::Handle;

/// The tasks of this runtime that have not ended.
#[must_use]
pub fn alive() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Waits until the runtime has at most `count` tasks. Aborted tasks end at their next poll.
pub async fn wait_for_at_most(count: usize) {
    while alive() > count {
        tokio::task::yield_now().await;
    }
}
