//! Commands that wait for index builds.

use std::time::{Duration, Instant};

use crate::driver;

/// The errors of `collMod` and `dropIndexes` while an index of the collection or of the database is built, such as by a
/// rolling build or by another client: `BackgroundOperationInProgressForDatabase` and
/// `BackgroundOperationInProgressForNamespace`. Nothing was changed.
const BUILD_IN_PROGRESS: [i32; 2] = [12_586, 12_587];
/// The pause after the first attempt. Each pause is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Sends a command again while an index build prevents it, for at most `limit`.
pub(super) async fn wait_for_builds<T, F>(limit: Duration, mut send: impl FnMut() -> F) -> driver::Result<T>
where
    F: Future<Output = driver::Result<T>>,
{
    let began = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let reply = send().await;
        let is_prevented =
            |error: &driver::Error| error.code().is_some_and(|code| BUILD_IN_PROGRESS.contains(&code));
        let left = limit.saturating_sub(began.elapsed());
        if left.is_zero() || !reply.as_ref().is_err_and(is_prevented) {
            return reply;
        }
        tokio::time::sleep(pause.min(left)).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
}
