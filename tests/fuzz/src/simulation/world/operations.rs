//! Operations: server selection, check-out, replies and retries, as in `execution`.

use super::*;

impl World {
    pub(super) fn begin(&mut self, number: u64) {
        let now = self.now;
        if let Some(operation) = self.operations.get_mut(&number) {
            (operation.state, operation.selecting_since) = (State::Selecting, now);
        }
        self.select(number);
    }

    pub(super) fn select_waiting(&mut self) {
        let waiting = self
            .operations
            .values()
            .filter(|operation| operation.state == State::Selecting);
        let begun = waiting.filter(|operation| operation.selecting_since <= self.now);
        for number in begun.map(|operation| operation.number).collect::<Vec<_>>() {
            self.select(number);
        }
    }

    pub(super) fn select(&mut self, number: u64) {
        let topology = Arc::clone(&self.client.topology);
        let random = self.random.number();
        let Some(operation) = self.operations.get_mut(&number) else {
            return;
        };
        // Handling the reply of another operation may have selected a server for this one.
        if operation.state != State::Selecting {
            return;
        }
        let preference = ReadPreference::new(ReadPreferenceMode::SecondaryPreferred);
        let criteria = if operation.write {
            Criteria::Writable
        } else {
            Criteria::Read(&preference)
        };
        let mut suitable = suitable_servers(&topology, criteria, &operation.avoid, HEARTBEAT);
        in_latency_window(&mut suitable, Duration::from_millis(15));
        let Some(chosen) = choose(suitable.len(), random, |_| 0) else {
            if self.now >= operation.selecting_since + SELECTION_TIMEOUT {
                operation.state = State::Failed;
                return;
            }
            for handle in self.client.current.values().copied().collect::<Vec<_>>() {
                if self.client.handles[handle].last_check + MIN_HEARTBEAT <= self.now {
                    self.request_check(handle);
                }
            }
            return;
        };
        operation.state = State::Busy;
        let address = suitable[chosen].address().clone();
        let handle = self.client.current[&address];
        let now = self.instant();
        let outcome = self.client.handles[handle].pool.check_out(number, now, |_| false);
        match outcome {
            CheckOut::Connection(key, link) => self.send(handle, number, key, link),
            CheckOut::Waiting(_) => {}
            CheckOut::Refused(why) => {
                let error = self.refused(handle, why);
                self.failed(number, error, handle);
            }
        }
        self.execute_actions(handle);
    }

    /// Requests an immediate check, unless one is in progress.
    pub(super) fn request_check(&mut self, handle: usize) {
        let checking = self.tasks.values().any(|task| {
            matches!(task, Task::Checked(h, check, _) if *h == handle && *check == self.client.handles[handle].check)
        });
        if !checking {
            self.schedule_check(handle, Duration::ZERO);
        }
    }

    pub(super) fn send(&mut self, handle: usize, number: u64, key: ConnectionKey, link: Link) {
        let own = &mut self.client.handles[handle];
        assert_eq!(
            key.generation,
            own.pool.generation(None),
            "a stale connection was checked out"
        );
        let index = self.cluster.index(&own.address);
        let flight = InFlight {
            operation: number,
            key,
            link,
        };
        assert!(
            own.in_flight.insert(key.id, flight).is_none(),
            "the connection is already in use"
        );
        let write = self.operations[&number].write.then_some(number);
        let latency = 1 + self.random.below(30);
        let (delay, outcome) = match self.lost(index, NetworkPhase::Read) {
            Some(lost) => (lost.0, Err(lost.1)),
            None if self.cluster.members[index].process != link.process => {
                let reset = network_error(NetworkPhase::Write, io::ErrorKind::ConnectionReset.into());
                (1, Err(reset))
            }
            None => (latency, self.cluster.run(index, write, &mut self.random)),
        };
        self.after(delay, Task::Replied(handle, key.id, number, outcome));
    }

    pub(super) fn replied(&mut self, handle: usize, id: u32, number: u64, outcome: Result<(), Error>) {
        let own = &mut self.client.handles[handle];
        // The request was interrupted, or the connection is used by another operation.
        if own
            .in_flight
            .get(&id)
            .is_none_or(|flight| flight.operation != number)
        {
            return;
        }
        let Some(InFlight { key, link, .. }) = own.in_flight.remove(&id) else {
            return;
        };
        if let Err(error) = &outcome {
            self.handle_application_error(handle, key, Phase::AfterHandshakeCompletes, error);
        }
        let condition = match &outcome {
            Err(error) if error.is_network() => Err(Some(error.clone())),
            _ => Ok(()),
        };
        let now = self.instant();
        self.client.handles[handle]
            .pool
            .check_in(key, link, condition, || now);
        match outcome {
            Ok(()) => {
                self.operations
                    .get_mut(&number)
                    .expect("a started operation")
                    .state = State::Succeeded;
            }
            Err(error) => self.failed(number, error, handle),
        }
        self.execute_actions(handle);
    }

    pub(super) fn failed(&mut self, number: u64, error: Error, handle: usize) {
        let jitter = self.random.fraction();
        let avoided = self.client.handles[handle].address.clone();
        let operation = self.operations.get_mut(&number).expect("a started operation");
        assert_eq!(operation.state, State::Busy, "completed twice");
        let code = error.code();
        let error = if !operation.write {
            error
        } else if matches!(code, Some(10107 | 189)) {
            // The server adds the label to NotWritablePrimary and PrimarySteppedDown errors.
            labeled(error, ["RetryableWriteError"])
        } else {
            label_write_failure(error)
        };
        match operation.retry_policy.next(error, jitter) {
            Next::Again { pause } => {
                if pause.is_some() {
                    operation.avoid.push(avoided);
                }
                let at = self.now + pause.unwrap_or_default();
                self.at(at, Task::Begin(number));
            }
            Next::Report(_) => operation.state = State::Failed,
        }
    }
}
