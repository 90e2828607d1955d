//! Tests that depend on state of the process: the global allocator, the counter of ObjectIds and
//! environment variables. They run one at a time.

mod allocations;
mod gridfs;
mod object_id_counter;
mod open_telemetry;
// Reads the states of threads from `/proc`.
#[cfg(target_os = "linux")]
mod stopped;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by each test of this binary while it runs.
fn lock_process() -> MutexGuard<'static, ()> {
    static PROCESS: Mutex<()> = Mutex::new(());
    PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}
