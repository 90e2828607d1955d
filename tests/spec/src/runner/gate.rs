//! Keeps cases with short time limits apart from the other cases.

use std::sync::{Condvar, Mutex, PoisonError};

/// How many cases with short time limits run at once.
///
/// They wait most of the time, so a few of them leave a machine with two cores idle. A debug
/// build needs several times the processor time of a release build for each.
const TIMED: usize = if cfg!(debug_assertions) { 4 } else { 8 };

/// The cases that are running: many others, or a few with short time limits.
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    others: usize,
    timed: usize,
    waiting: usize,
}

/// The permission to run; ends when dropped.
pub(super) struct Admitted<'a> {
    gate: &'a Gate,
    is_timed: bool,
}

impl Gate {
    pub(super) const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                others: 0,
                timed: 0,
                waiting: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// Waits until a case may run. A case with short time limits that waits goes before the others.
    pub(super) fn enter(&self, is_timed: bool) -> Admitted<'_> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if is_timed {
            state.waiting += 1;
        }
        while !state.admits(is_timed) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if is_timed {
            state.waiting -= 1;
            state.timed += 1;
        } else {
            state.others += 1;
        }
        Admitted { gate: self, is_timed }
    }
}

impl State {
    fn admits(&self, is_timed: bool) -> bool {
        if is_timed {
            self.others == 0 && self.timed < TIMED
        } else {
            self.waiting == 0 && self.timed == 0
        }
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_timed {
            state.timed -= 1;
        } else {
            state.others -= 1;
        }
        drop(state);
        self.gate.changed.notify_all();
    }
}
