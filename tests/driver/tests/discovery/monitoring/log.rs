//! The SDAM and pool events of a client, in order.

use std::sync::Arc;

use marula_driver::{
    Client, ServerAddress,
    bson::{Document, doc},
    event::{EventListener, PoolEvent, SdamEvent, ServerType, TopologyType},
    options::ClientOptions,
};
use tokio::sync::watch;

/// One event.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    Sdam(SdamEvent),
    Pool(PoolEvent),
    /// An event recorded by the test server.
    Server(&'static str),
}

impl Entry {
    /// Whether this is the start of a check of this server.
    pub(crate) fn is_check_of(&self, server: &ServerAddress) -> bool {
        matches!(self, Self::Sdam(SdamEvent::ServerHeartbeatStarted { address, .. }) if address == server)
    }

    /// Whether this is the start of an awaitable check of this server.
    pub(crate) fn is_stream_of(&self, server: &ServerAddress) -> bool {
        matches!(self, Self::Sdam(SdamEvent::ServerHeartbeatStarted { address, awaited: true, .. }) if address == server)
    }

    /// Whether this is a failed check of this server.
    pub(crate) fn is_failed_check_of(&self, server: &ServerAddress) -> bool {
        matches!(self, Self::Sdam(SdamEvent::ServerHeartbeatFailed { address, .. }) if address == server)
    }

    /// Whether this server became Unknown.
    pub(crate) fn is_loss_of(&self, server: &ServerAddress) -> bool {
        matches!(self, Self::Sdam(SdamEvent::ServerDescriptionChanged { address, new, .. })
            if address == server && new.server_type() == ServerType::Unknown)
    }

    pub(crate) fn is_succeeded_check(&self) -> bool {
        matches!(self, Self::Sdam(SdamEvent::ServerHeartbeatSucceeded { .. }))
    }

    pub(crate) fn is_failed_check(&self) -> bool {
        matches!(self, Self::Sdam(SdamEvent::ServerHeartbeatFailed { .. }))
    }
}

/// All events of a client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<watch::Sender<Vec<Entry>>>);

impl Log {
    pub(crate) fn push(&self, entry: Entry) {
        self.0.send_modify(|entries| entries.push(entry));
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.0.borrow().clone()
    }

    /// Waits until `find` returns a value, and returns it.
    pub(crate) async fn wait_until<T>(&self, find: impl Fn(&[Entry]) -> Option<T>) -> T {
        let mut entries = self.0.subscribe();
        loop {
            if let Some(found) = find(&entries.borrow_and_update()) {
                return found;
            }
            entries.changed().await.expect("the sender is in the log");
        }
    }

    /// Waits for a matching event after the first `from` events, and returns the number of events
    /// up to it.
    pub(crate) async fn after(&self, from: usize, fits: impl Fn(&Entry) -> bool) -> usize {
        self.wait_until(|entries| {
            let more = entries.get(from..)?.iter().position(&fits)?;
            Some(from + more + 1)
        })
        .await
    }

    /// The current topology type.
    pub(crate) fn topology_type(&self) -> Option<TopologyType> {
        self.entries().iter().rev().find_map(|entry| match entry {
            Entry::Sdam(SdamEvent::TopologyDescriptionChanged { new, .. }) => Some(new.topology_type()),
            _ => None,
        })
    }

    /// Creates a client that records its events in this log.
    pub(crate) fn client(&self, uri: &str, settings: impl FnOnce(&mut ClientOptions)) -> Client {
        let mut options = ClientOptions::parse(uri).expect("a connection string");
        settings(&mut options);
        let (sdam, pool) = (self.clone(), self.clone());
        options.sdam_listener = Some(EventListener::new(move |event: &SdamEvent| {
            sdam.push(Entry::Sdam(event.clone()));
        }));
        options.pool_listener = Some(EventListener::new(move |event: &PoolEvent| {
            pool.push(Entry::Pool(event.clone()));
        }));
        Client::with_options(options).expect("a client")
    }
}

/// Appends options to a connection string.
pub(crate) fn with(uri: &str, options: &str) -> String {
    let joint = if uri.contains('?') { '&' } else { '?' };
    format!("{uri}{joint}{options}")
}

/// Sets the fail point `failCommand` on the server that the client selects.
pub(crate) async fn fail(client: &Client, mode: Document, data: Document) {
    let command = doc! { "configureFailPoint": "failCommand", "mode": mode, "data": data };
    client
        .database("admin")
        .run_command(command)
        .await
        .expect("the fail point is set");
}

/// Disables the fail point set by [`fail`].
pub(crate) async fn stop_failing(client: &Client) {
    let command = doc! { "configureFailPoint": "failCommand", "mode": "off" };
    client
        .database("admin")
        .run_command(command)
        .await
        .expect("the fail point is switched off");
}
