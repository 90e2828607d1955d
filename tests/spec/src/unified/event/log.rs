//! Records the events of one client.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use marula_driver::{
    ServerAddress,
    event::{CommandEvent, EventListener, PoolEvent, SdamEvent, TopologyDescription},
    options::ClientOptions,
};
use tokio::sync::Notify;

use super::Event;
use crate::unified::description;

/// Sensitive commands, which are recorded only if the test observes them.
const SENSITIVE: [&str; 9] = [
    "authenticate",
    "saslStart",
    "saslContinue",
    "getnonce",
    "createUser",
    "updateUser",
    "copydbgetnonce",
    "copydbsaslstart",
    "copydb",
];

/// Selects the recorded events.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    pub(crate) observed: HashSet<String>,
    pub(crate) ignored_commands: HashSet<String>,
    pub(crate) sensitive_commands: bool,
}

/// The events of one client in order.
#[derive(Debug)]
pub(crate) struct EventLog {
    filter: Filter,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    events: Vec<Event>,
    closed: bool,
    topology: Option<Arc<TopologyDescription>>,
    /// Established connections per server.
    connections: HashMap<ServerAddress, usize>,
    checked_out: i64,
    /// Request IDs of commands with redacted bodies.
    redacted: HashSet<i32>,
}

impl EventLog {
    pub(crate) fn new(filter: Filter) -> Arc<Self> {
        Arc::new(Self {
            filter,
            state: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// Registers this log as the event listener of a client's options.
    pub(crate) fn listen(self: &Arc<Self>, options: &mut ClientOptions) {
        let log = Arc::clone(self);
        options.pool_listener = Some(EventListener::new(move |event| log.pool(event)));
        let log = Arc::clone(self);
        options.sdam_listener = Some(EventListener::new(move |event| log.sdam(event)));
        if self
            .filter
            .observed
            .iter()
            .any(|name| name.starts_with("command"))
        {
            let log = Arc::clone(self);
            options.command_listener = Some(EventListener::new(move |event| log.command(event)));
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn command(&self, event: &CommandEvent) {
        if self.is_hidden(event) {
            return;
        }
        self.record(&mut self.state(), Event::Command(event.clone()));
        self.changed.notify_waiters();
    }

    fn is_hidden(&self, event: &CommandEvent) -> bool {
        let name = event.command_name();
        let is = |names: &[&str]| names.iter().any(|other| other.eq_ignore_ascii_case(name));
        if is(&["configureFailPoint"]) || self.filter.ignored_commands.contains(name) {
            return true;
        }
        if self.filter.sensitive_commands {
            return false;
        }
        if is(&SENSITIVE) {
            return true;
        }
        if !is(&["hello", "isMaster"]) {
            return false;
        }
        // A hello command with authentication is sensitive; its body is redacted.
        let mut state = self.state();
        match event {
            CommandEvent::Started(started) if started.command.is_empty() => {
                state.redacted.insert(started.request_id)
            }
            CommandEvent::Started(_) => false,
            other => state.redacted.remove(&other.request_id()),
        }
    }

    fn pool(&self, event: &PoolEvent) {
        let mut state = self.state();
        match event {
            PoolEvent::ConnectionReady { address, .. } => {
                *state.connections.entry(address.clone()).or_default() += 1;
            }
            PoolEvent::ConnectionClosed { address, .. } => {
                if let Some(count) = state.connections.get_mut(address) {
                    *count = count.saturating_sub(1);
                }
            }
            PoolEvent::ConnectionCheckedOut { .. } => state.checked_out += 1,
            PoolEvent::ConnectionCheckedIn { .. } => state.checked_out -= 1,
            _ => {}
        }
        self.record(&mut state, Event::Pool(event.clone()));
        drop(state);
        self.changed.notify_waiters();
    }

    fn sdam(&self, event: &SdamEvent) {
        let mut state = self.state();
        if let SdamEvent::TopologyDescriptionChanged { new, .. } = event {
            state.topology = Some(Arc::clone(new));
        }
        self.record(&mut state, Event::Sdam(event.clone()));
        drop(state);
        self.changed.notify_waiters();
    }

    fn record(&self, state: &mut State, event: Event) {
        if !state.closed && self.filter.observed.contains(event.name()) {
            state.events.push(event);
        }
    }

    /// Stops recording.
    pub(crate) fn close(&self) {
        self.state().closed = true;
    }

    /// The recorded events.
    pub(crate) fn events(&self) -> Vec<Event> {
        self.state().events.clone()
    }

    /// The number of connections in use.
    pub(crate) fn checked_out(&self) -> i64 {
        self.state().checked_out
    }

    /// The latest topology description.
    pub(crate) fn topology(&self) -> Option<Arc<TopologyDescription>> {
        self.state().topology.clone()
    }

    /// Waits until `condition` returns a value. The condition is checked after every event. Returns
    /// `None` on timeout.
    pub(crate) async fn wait_for<T>(
        &self,
        limit: Duration,
        mut condition: impl FnMut(&Self) -> Option<T>,
    ) -> Option<T> {
        let deadline = tokio::time::Instant::now() + limit;
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Register before the condition is checked, so that no event is missed.
            changed.as_mut().enable();
            if let Some(result) = condition(self) {
                return Some(result);
            }
            if tokio::time::timeout_at(deadline, changed).await.is_err() {
                return condition(self);
            }
        }
    }

    /// Waits until the pool of every data-bearing server has `min` connections, then removes all
    /// events except command events.
    pub(crate) async fn await_pools(&self, min: usize, limit: Duration) -> Result<(), String> {
        let filled = |log: &Self| {
            let state = log.state();
            let servers = description::data_bearing(state.topology.as_deref()?);
            let filled =
                |address: &ServerAddress| state.connections.get(address).is_some_and(|count| *count >= min);
            (!servers.is_empty() && servers.iter().all(filled)).then_some(())
        };
        if self.wait_for(limit, filled).await.is_none() {
            let state = self.state();
            return Err(format!(
                "fewer than {min} connection(s) per pool after {limit:?}: {:?}",
                state.connections
            ));
        }
        self.state()
            .events
            .retain(|event| matches!(event, Event::Command(_)));
        Ok(())
    }
}
