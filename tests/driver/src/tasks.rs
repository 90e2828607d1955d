//! How many tasks a runtime runs, so that a test can tell that none is left behind.

use tokio::runtime::Handle;

/// The tasks of this runtime that have not ended.
#[must_use]
pub fn alive() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Waits until the runtime runs no more tasks than this. Tasks that were told to stop need a turn to do so.
pub async fn wait_for_at_most(count: usize) {
    while alive() > count {
        tokio::task::yield_now().await;
    }
}
