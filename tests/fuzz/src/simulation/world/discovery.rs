//! Monitors and topology descriptions: drives the state machine `sdam`, as `topology` does.

use super::*;

impl World {
    pub(super) fn check_server(&mut self, handle: usize, check: u64) {
        if self.client.handles[handle].check != check || !self.is_current(handle) {
            return;
        }
        self.client.handles[handle].last_check = self.now;
        let index = self.cluster.index(&self.client.handles[handle].address);
        let latency = 1 + self.random.below(40);
        let (delay, outcome) = match self.lost(index, NetworkPhase::Read) {
            Some((delay, error)) => (delay, Err(error)),
            None => (
                latency,
                Ok((self.cluster.hello(index), Duration::from_millis(latency))),
            ),
        };
        self.after(delay, Task::Checked(handle, check, Box::new(outcome)));
    }

    pub(super) fn checked(
        &mut self,
        handle: usize,
        check: u64,
        outcome: Result<(HelloReply, Duration), Error>,
    ) {
        if self.client.handles[handle].check != check || !self.is_current(handle) {
            return;
        }
        let (address, now) = (self.client.handles[handle].address.clone(), self.instant());
        let times = &mut self.client.handles[handle].round_trip_time;
        match outcome {
            Ok((hello, sample)) => {
                let average = times.add(sample);
                let minimum = times.minimum();
                let description = ServerDescription::from_hello(address, hello, average, now);
                self.take(description.with_minimum_round_trip_time(minimum));
            }
            Err(error) => {
                times.reset();
                self.execute(handle, sdam::handle_check_error(&error), &error);
            }
        }
        self.schedule_check(handle, HEARTBEAT);
    }

    /// Schedules the next check, and cancels a pending one.
    pub(super) fn schedule_check(&mut self, handle: usize, after: Duration) {
        let own = &mut self.client.handles[handle];
        own.check += 1;
        let at = (own.last_check + MIN_HEARTBEAT).max(self.now + after);
        let check = own.check;
        self.at(at, Task::Check(handle, check));
    }

    pub(super) fn is_current(&self, handle: usize) -> bool {
        let address = &self.client.handles[handle].address;
        self.client.current.get(address) == Some(&handle)
    }

    /// As the shell's `take`: apply, open the pool, publish.
    pub(super) fn take(&mut self, outcome: ServerDescription) {
        let mut next = (*self.client.topology).clone();
        let address = outcome.address().clone();
        let check_now = sdam::apply(&mut next, outcome);
        let usable = next
            .server(&address)
            .is_some_and(|server| server.server_type().is_data_bearing());
        if usable && let Some(handle) = self.client.current.get(&address).copied() {
            self.client.handles[handle].pool.ready();
            self.execute_actions(handle);
        }
        let before = self
            .client
            .topology
            .servers()
            .map(|server| server.address().clone());
        for gone in before
            .filter(|address| next.server(address).is_none())
            .collect::<Vec<_>>()
        {
            if let Some(handle) = self.client.current.remove(&gone) {
                let now = self.instant();
                self.client.handles[handle].pool.close(now);
                self.execute_actions(handle);
            }
        }
        for address in next
            .servers()
            .map(|server| server.address().clone())
            .collect::<Vec<_>>()
        {
            if !self.client.current.contains_key(&address) {
                self.open(&address);
            }
        }
        self.changes += usize::from(next != *self.client.topology);
        self.client.topology = Arc::new(next);
        for address in check_now {
            let handle = self.client.current[&address];
            self.schedule_check(handle, Duration::ZERO);
        }
        self.select_waiting();
    }

    pub(super) fn execute(&mut self, handle: usize, action: ErrorAction, error: &Error) {
        let address = self.client.handles[handle].address.clone();
        let now = self.instant();
        if action.mark_unknown {
            let version = action.topology_version;
            self.take(ServerDescription::failed(address, error, version, now));
        }
        if action.clear_pool {
            let clear = Clear {
                cause: error.clone(),
                service_id: None,
                interrupt_in_use: action.interrupt_in_use,
            };
            self.client.handles[handle].pool.clear(clear, now);
            self.execute_actions(handle);
        }
        if action.check_now && self.is_current(handle) {
            self.schedule_check(handle, Duration::ZERO);
        }
    }

    pub(super) fn handle_application_error(
        &mut self,
        handle: usize,
        key: ConnectionKey,
        phase: Phase,
        error: &Error,
    ) {
        if !self.is_current(handle) {
            return;
        }
        let own = &self.client.handles[handle];
        let failure = ApplicationError {
            error,
            phase,
            generation: key.generation,
            pool_generation: own.pool.generation(key.service_id),
            service_id: key.service_id,
        };
        let action = sdam::handle_application_error(&self.client.topology, &own.address, &failure);
        self.execute(handle, action, error);
    }
}
