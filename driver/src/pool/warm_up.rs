//! Establishing connections before they are needed.

use std::{sync::Arc, time::Instant};

use tokio::sync::oneshot;

use super::{Pool, State};
use crate::{
    Error, Result,
    proto::cmap::{PoolState, Refusal},
};

/// Waits until a number of connections is established.
#[derive(Debug)]
pub(super) struct WarmUp {
    id: u64,
    count: usize,
    answer: oneshot::Sender<Result<()>>,
}

impl Pool {
    /// Establishes connections in the background until there are `count`, and waits for them. Begins
    /// at once. Connections in use count.
    ///
    /// Fails with the error of the first connection that cannot be established, and if the pool is
    /// cleared or closed. If the future is dropped, pending connections become available.
    pub fn warm_up(self: &Arc<Self>, count: u32) -> impl Future<Output = Result<()>> + use<> {
        let (answer, answered) = oneshot::channel();
        let mut state = self.lock_for_change();
        state.last_warm_up += 1;
        let id = state.last_warm_up;
        state.warm_ups.push(WarmUp {
            id,
            count: count as usize,
            answer,
        });
        self.answer_warm_ups(&mut state);
        self.perform(state);
        let registered = Registered {
            pool: Arc::clone(self),
            id,
        };
        async move {
            let answer = answered.await;
            drop(registered);
            // The pool answers as long as it exists.
            answer.unwrap_or(Ok(()))
        }
    }

    /// Answers the warm-ups that are complete or have failed, and establishes the connections for
    /// the others. To be called after each change of the number of connections or of the state.
    pub(super) fn answer_warm_ups(&self, state: &mut State) {
        if state.warm_ups.is_empty() {
            return;
        }
        let refusal = match state.machine.state() {
            PoolState::Ready => None,
            PoolState::Paused => Some(Refusal::Cleared(state.machine.cause().cloned())),
            PoolState::Closed => Some(Refusal::Closed),
        };
        match refusal {
            Some(why) => fail(std::mem::take(&mut state.warm_ups), &self.refusal(why)),
            None => {
                let established = state.machine.established_count();
                for done in state
                    .warm_ups
                    .extract_if(.., |warm_up| warm_up.count <= established)
                {
                    // The request may be gone.
                    let _ = done.answer.send(Ok(()));
                }
            }
        }
        state.set_floor();
    }
}

impl State {
    /// Establishes as many connections as the largest warm-up needs.
    fn set_floor(&mut self) {
        let floor = self.warm_ups.iter().map(|warm_up| warm_up.count).max();
        self.machine.set_floor(floor.unwrap_or(0), Instant::now());
    }
}

/// Fails warm-ups. The requests may be gone.
pub(super) fn fail(warm_ups: Vec<WarmUp>, error: &Error) {
    for failed in warm_ups {
        let _ = failed.answer.send(Err(error.clone()));
    }
}

/// Removes the warm-up when its future is dropped.
struct Registered {
    pool: Arc<Pool>,
    id: u64,
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut state = self.pool.lock_for_change();
        state.warm_ups.retain(|warm_up| warm_up.id != self.id);
        state.set_floor();
        self.pool.perform(state);
    }
}
