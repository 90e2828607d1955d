//! The events of the state machine as public events: with the address of the server and the errors
//! of the driver.

use super::Pool;
use crate::{
    Error,
    proto::{
        cmap::{Event, Refusal},
        event::{CheckOutFailedReason, PoolEvent},
    },
};

impl Pool {
    /// Emits the queued events. To be called without any lock that a listener may need.
    pub fn flush_events(&self) {
        if let Some(events) = &self.events {
            events.flush();
        }
    }

    /// Queues an event. To be called under the lock of the state machine, which orders events.
    pub(super) fn queue_event(&self, event: Event<Error>) {
        if let Some(events) = &self.events {
            events.push(self.public_event(event));
        }
    }

    fn public_event(&self, event: Event<Error>) -> PoolEvent {
        let address = self.address.clone();
        match event {
            Event::PoolReady => PoolEvent::PoolReady { address },
            Event::PoolCleared {
                service_id,
                interrupt_in_use,
            } => PoolEvent::PoolCleared {
                address,
                service_id,
                interrupt_in_use_connections: interrupt_in_use,
            },
            Event::PoolClosed => PoolEvent::PoolClosed { address },
            Event::ConnectionCreated { id } => PoolEvent::ConnectionCreated {
                address,
                connection_id: id,
            },
            Event::ConnectionReady { id, duration } => PoolEvent::ConnectionReady {
                address,
                connection_id: id,
                duration,
            },
            Event::ConnectionClosed { id, reason, error } => PoolEvent::ConnectionClosed {
                address,
                connection_id: id,
                reason,
                error,
            },
            Event::CheckOutStarted => PoolEvent::ConnectionCheckOutStarted { address },
            Event::CheckOutFailed { why, duration } => {
                let reason = match &why {
                    None => CheckOutFailedReason::Timeout,
                    Some(Refusal::Closed) => CheckOutFailedReason::PoolClosed,
                    Some(Refusal::Cleared(_) | Refusal::Failed(_)) => CheckOutFailedReason::ConnectionError,
                };
                PoolEvent::ConnectionCheckOutFailed {
                    address,
                    reason,
                    error: why.map(|why| self.refusal(why)),
                    duration,
                }
            }
            Event::CheckedOut { id, duration } => PoolEvent::ConnectionCheckedOut {
                address,
                connection_id: id,
                duration,
            },
            Event::CheckedIn { id } => PoolEvent::ConnectionCheckedIn {
                address,
                connection_id: id,
            },
        }
    }
}
