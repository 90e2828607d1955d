//! Connections: drives the state machine `cmap`, as `pool` does.

use super::*;

impl World {
    /// Executes the actions of a pool.
    pub(super) fn execute_actions(&mut self, handle: usize) {
        while let Some(action) = self.client.handles[handle].pool.poll_action() {
            match action {
                Action::Emit(event) => self.client.handles[handle].ledger.enter(&event),
                Action::Establish(key) => self.establish(handle, key),
                Action::Close { .. } => {}
                Action::Fulfil {
                    waiter,
                    key,
                    connection,
                } => self.send(handle, waiter, key, connection),
                Action::Fail { waiter, why } => {
                    let error = self.refused(handle, why);
                    self.failed(waiter, error, handle);
                }
                Action::Interrupt { generation, .. } => self.interrupt(handle, generation),
                Action::Drain { .. } | Action::Abandon => {
                    unreachable!("the simulation reads each reply or loses the connection")
                }
            }
        }
    }

    pub(super) fn refused(&self, handle: usize, why: Refusal<Error>) -> Error {
        let address = self.client.handles[handle].address.clone();
        error(ErrorKind::Pool(match why {
            Refusal::Cleared(cause) => PoolError::Cleared {
                address,
                cause: cause.map(Box::new),
            },
            Refusal::Closed => PoolError::Closed { address },
            Refusal::Failed(error) => return error,
        }))
    }

    pub(super) fn interrupt(&mut self, handle: usize, generation: u64) {
        let own = &self.client.handles[handle];
        let hit = own
            .in_flight
            .iter()
            .filter(|(_, flight)| flight.key.generation <= generation);
        for (id, operation) in hit
            .map(|(id, flight)| (*id, flight.operation))
            .collect::<Vec<_>>()
        {
            let error = network_error(NetworkPhase::Read, io::ErrorKind::ConnectionAborted.into());
            self.after(0, Task::Replied(handle, id, operation, Err(error)));
        }
    }

    pub(super) fn establish(&mut self, handle: usize, key: ConnectionKey) {
        let index = self.cluster.index(&self.client.handles[handle].address);
        let overload = |error| labeled(error, ["SystemOverloadedError", "RetryableError"]);
        let latency = 1 + self.random.below(60);
        let member = &self.cluster.members[index];
        let (process, overloaded) = (member.process, member.overloaded);
        let (delay, outcome) = match self.lost(index, NetworkPhase::Connect) {
            Some((delay, error)) => (delay, Err(overload(error))),
            None if overloaded && self.random.percent(60) => {
                let reset = network_error(NetworkPhase::Handshake, io::ErrorKind::ConnectionReset.into());
                (latency, Err(overload(reset)))
            }
            // Authentication fails.
            None if self.random.percent(2) => {
                let reset = network_error(NetworkPhase::Read, io::ErrorKind::ConnectionReset.into());
                (latency, Err(reset))
            }
            None => (latency, Ok(Link { process })),
        };
        self.after(delay, Task::Established(handle, key, outcome));
    }

    pub(super) fn established(&mut self, handle: usize, key: ConnectionKey, outcome: Result<Link, Error>) {
        let now = self.instant();
        match outcome {
            Ok(link) => drop(self.client.handles[handle].pool.established(key, link, now)),
            Err(error) => {
                let Some(failing) = self.client.handles[handle].pool.failing_request(key) else {
                    return;
                };
                self.handle_application_error(handle, failing.key(), Phase::BeforeHandshakeCompletes, &error);
                let own = &mut self.client.handles[handle];
                own.pool.establish_failed(failing, &error, now);
            }
        }
        self.execute_actions(handle);
    }
}
