//! Counters of connections and commands, with notification of changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

#[derive(Debug, Default, Clone)]
struct Counts {
    created: usize,
    open: usize,
    commands: BTreeMap<String, usize>,
}

/// The counters of one server instance.
#[derive(Debug)]
pub(crate) struct Events {
    counts: Mutex<Counts>,
    changed: watch::Sender<()>,
}

/// Counts a connection as open until dropped.
pub(crate) struct OpenConnection(Arc<Events>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.update(|counts| counts.open -= 1);
    }
}

impl Events {
    pub(crate) fn new() -> Arc<Events> {
        Arc::new(Events {
            counts: Mutex::default(),
            changed: watch::Sender::new(()),
        })
    }

    fn update(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.send_replace(());
    }

    fn read<T>(&self, read: impl FnOnce(&Counts) -> T) -> T {
        read(&self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn connection_opened(self: &Arc<Self>) -> OpenConnection {
        self.update(|counts| {
            counts.created += 1;
            counts.open += 1;
        });
        OpenConnection(Arc::clone(self))
    }

    pub(crate) fn command_seen(&self, name: &str) {
        self.update(|counts| *counts.commands.entry(name.to_owned()).or_default() += 1);
    }

    pub(crate) fn connections_created(&self) -> usize {
        self.read(|counts| counts.created)
    }

    pub(crate) fn open_connections(&self) -> usize {
        self.read(|counts| counts.open)
    }

    pub(crate) fn commands_seen(&self, name: &str) -> usize {
        self.read(|counts| counts.commands.get(name).copied().unwrap_or(0))
    }

    /// Waits until the condition holds. It is checked first and after every change of a counter.
    pub(crate) async fn wait_until(&self, condition: impl Fn(&Events) -> bool) {
        let mut changed = self.changed.subscribe();
        while !condition(self) {
            if changed.changed().await.is_err() {
                return;
            }
        }
    }
}
