//! The connections of a process and the commands that are blocked on them, for `currentOp` and
//! `killOp`. Commands that complete without waiting are never listed.

use crate::auth::UserName;
use crate::deployment::lock;
use bson::Document;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;
use tokio::sync::Notify;

/// The properties of a connection that `currentOp` shows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connected {
    pub(crate) peer: String,
    pub(crate) app_name: Option<String>,
    pub(crate) user: Option<UserName>,
}

/// A command without a reply so far.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) connection: i32,
    pub(crate) body: Document,
    pub(crate) started: SystemTime,
    killed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    connections: BTreeMap<i32, Connected>,
    running: BTreeMap<i32, Operation>,
}

/// The connections and operations of one process.
#[derive(Debug, Default)]
pub(crate) struct Operations {
    state: Mutex<State>,
    last_id: AtomicI32,
}

/// Keeps an operation listed; dropping it removes the operation.
pub(crate) struct Listed<'o> {
    operations: &'o Operations,
    id: i32,
    killed: Arc<Notify>,
}

impl Operations {
    /// Returns an operation id, unique within the process.
    pub(crate) fn next_id(&self) -> i32 {
        self.last_id.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    pub(crate) fn connected(&self, connection: i32, peer: &str) {
        let connected = Connected {
            peer: peer.to_owned(),
            ..Connected::default()
        };
        lock(&self.state).connections.insert(connection, connected);
    }

    pub(crate) fn disconnected(&self, connection: i32) {
        lock(&self.state).connections.remove(&connection);
    }

    /// Updates the application name and the user of a connection.
    pub(crate) fn identified(&self, connection: i32, app_name: Option<&String>, user: Option<UserName>) {
        if let Some(connected) = lock(&self.state).connections.get_mut(&connection) {
            connected.app_name = app_name.cloned();
            connected.user = user;
        }
    }

    /// Lists a blocked operation.
    pub(crate) fn list(&self, connection: i32, body: &Document, started: SystemTime) -> Listed<'_> {
        let id = self.next_id();
        let killed = Arc::new(Notify::new());
        let operation = Operation {
            connection,
            body: body.clone(),
            started,
            killed: Arc::clone(&killed),
        };
        lock(&self.state).running.insert(id, operation);
        Listed {
            operations: self,
            id,
            killed,
        }
    }

    /// Interrupts an operation if it is still listed.
    pub(crate) fn kill(&self, id: i32) {
        if let Some(operation) = lock(&self.state).running.get(&id) {
            operation.killed.notify_one();
        }
    }

    /// The listed operations by `opid`.
    pub(crate) fn running(&self) -> Vec<(i32, Operation)> {
        let state = lock(&self.state);
        let running = state.running.iter();
        running.map(|(id, operation)| (*id, operation.clone())).collect()
    }

    /// The connections by `connectionId`.
    pub(crate) fn connections(&self) -> BTreeMap<i32, Connected> {
        lock(&self.state).connections.clone()
    }
}

impl Listed<'_> {
    /// Waits until the operation is killed.
    pub(crate) async fn killed(&self) {
        self.killed.notified().await;
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        lock(&self.operations.state).running.remove(&self.id);
    }
}
