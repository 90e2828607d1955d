//! Keeps cases of timing-sensitive suites apart from the other cases.

use std::sync::{Condvar, Mutex, PoisonError};

/// How many timing-sensitive cases run at once.
///
/// They wait most of the time, so a few of them leave a machine with two cores idle. A debug
/// build needs several times the processor time of a release build for each.
const SENSITIVE: usize = if cfg!(debug_assertions) { 4 } else { 8 };

/// The cases that are running: many others, or a few that are timing-sensitive.
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    others: usize,
    sensitive: usize,
    waiting: usize,
}

/// The permission to run; ends when dropped.
pub(super) struct Admitted<'a> {
    gate: &'a Gate,
    sensitive: bool,
}

impl Gate {
    pub(super) const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                others: 0,
                sensitive: 0,
                waiting: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// Waits until a case may run. A timing-sensitive case that waits goes before the others.
    pub(super) fn enter(&self, sensitive: bool) -> Admitted<'_> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if sensitive {
            state.waiting += 1;
        }
        while !state.admits(sensitive) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if sensitive {
            state.waiting -= 1;
            state.sensitive += 1;
        } else {
            state.others += 1;
        }
        Admitted {
            gate: self,
            sensitive,
        }
    }
}

impl State {
    fn admits(&self, sensitive: bool) -> bool {
        if sensitive {
            self.others == 0 && self.sensitive < SENSITIVE
        } else {
            self.waiting == 0 && self.sensitive == 0
        }
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.sensitive {
            state.sensitive -= 1;
        } else {
            state.others -= 1;
        }
        drop(state);
        self.gate.changed.notify_all();
    }
}
