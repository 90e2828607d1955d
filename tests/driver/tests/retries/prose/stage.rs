//! Deployments whose fail points change between two attempts, and clients whose events are
//! recorded.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use marula_driver::{
    Client, Collection, Error, ServerAddress,
    bson::{Document, doc},
    event::{CommandEvent, EventListener, PoolEvent, SdamEvent, ServerType},
    options::ClientOptions,
};
use tokio::sync::Semaphore;

/// Adds a permit for each server that the client discovers. A retry can use another server only if
/// one has been discovered.
pub(crate) fn observe(known: &Arc<Semaphore>) -> impl FnOnce(&mut ClientOptions) + use<> {
    let known = Arc::clone(known);
    |options| {
        options.sdam_listener = Some(EventListener::new(move |event: &SdamEvent| {
            if let SdamEvent::ServerDescriptionChanged { previous, new, .. } = event
                && previous.server_type() == ServerType::Unknown
                && new.server_type() != ServerType::Unknown
            {
                known.add_permits(1);
            }
        }));
    }
}

/// Waits until the client has discovered this many servers.
pub(crate) async fn wait_until_known(known: &Semaphore, servers: u32) {
    known
        .acquire_many(servers)
        .await
        .expect("an open semaphore")
        .forget();
}

pub(crate) const OVERLOADED: [&str; 2] = ["RetryableError", "SystemOverloadedError"];

/// The data of a fail point: the command fails with this code and these labels.
pub(crate) fn error(command: &str, code: i32, labels: &[&str]) -> Document {
    doc! { "failCommands": [command], "errorCode": code, "errorLabels": labels }
}

pub(crate) fn times(count: i32) -> Document {
    doc! { "times": count }
}

fn point(mode: Document, data: Document) -> Document {
    // No test reaches this number of times.
    doc! { "configureFailPoint": "failCommand", "mode": mode, "data": data }
}

/// Sets `failCommand` on the server of the connection string.
pub(crate) async fn fail(uri: &str, mode: Document, data: Document) {
    let client = Client::connect(uri).await.expect("a connection string");
    client
        .database("admin")
        .run_command(point(mode, data))
        .await
        .expect("the fail point is set");
}

/// As [`fail`], from a listener, which cannot await. Blocks until the fail point is set.
fn fail_now(uri: String, mode: Document, data: Document) {
    let setting = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(fail(&uri, mode, data));
    };
    thread::spawn(setting).join().expect("the fail point is set");
}

/// The events that the tests check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Started(ServerAddress),
    Succeeded(ServerAddress),
    Failed(ServerAddress),
    CheckedOut,
    /// With the reason of the event.
    CheckOutFailed(String),
    PoolCleared,
}

/// The event after which the second fail point is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Failure,
    Success,
}

/// A fail point that replaces the first one.
#[derive(Debug)]
pub(crate) struct Second {
    pub(crate) after: After,
    pub(crate) mode: Document,
    pub(crate) data: Document,
}

/// A client with recorded pool events and events of one command.
pub(crate) struct Stage {
    pub(crate) client: Client,
    events: Arc<Mutex<Vec<Event>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stage {
    /// A client whose events of `command` are recorded. The second fail point is set on the same
    /// server, at most once.
    pub(crate) fn new(
        uri: &str,
        command: &'static str,
        second: Option<Second>,
        change: impl FnOnce(&mut ClientOptions),
    ) -> Self {
        let mut options = ClientOptions::parse(uri).expect("a connection string");
        change(&mut options);
        let events = Arc::<Mutex<Vec<Event>>>::default();
        let (commands, pool) = (Arc::clone(&events), Arc::clone(&events));
        let second = Mutex::new(second);
        let set_second = move |after: After, server: &ServerAddress| {
            let due = lock(&second).take_if(|second| second.after == after);
            if let Some(Second { mode, data, .. }) = due {
                let uri = format!("mongodb://{server}/?directConnection=true");
                fail_now(uri, mode, data);
            }
        };
        options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
            if event.command_name() != command {
                return;
            }
            let server = event.connection().address.clone();
            match event {
                CommandEvent::Started(_) => lock(&commands).push(Event::Started(server)),
                CommandEvent::Succeeded(_) => {
                    lock(&commands).push(Event::Succeeded(server.clone()));
                    set_second(After::Success, &server);
                }
                CommandEvent::Failed(_) => {
                    lock(&commands).push(Event::Failed(server.clone()));
                    set_second(After::Failure, &server);
                }
                _ => {}
            }
        }));
        options.pool_listener = Some(EventListener::new(move |event: &PoolEvent| {
            let event = match event {
                PoolEvent::ConnectionCheckedOut { .. } => Event::CheckedOut,
                PoolEvent::ConnectionCheckOutFailed { reason, .. } => {
                    Event::CheckOutFailed(reason.to_string())
                }
                PoolEvent::PoolCleared { .. } => Event::PoolCleared,
                _ => return,
            };
            lock(&pool).push(event);
        }));
        Self {
            client: Client::with_options(options).expect("a client"),
            events,
        }
    }

    pub(crate) fn things(&self) -> Collection<Document> {
        self.client.database("retries").collection("things")
    }

    pub(crate) async fn insert(&self) -> Result<(), Error> {
        self.things().insert_one(&doc! { "a": 1 }).await.map(drop)
    }

    pub(crate) async fn find(&self) -> Result<(), Error> {
        self.things().find_one(doc! {}).await.map(drop)
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        lock(&self.events).clone()
    }

    /// Removes the recorded events.
    pub(crate) fn reset(&self) {
        lock(&self.events).clear();
    }

    pub(crate) fn started(&self) -> usize {
        let started = |event: &&Event| matches!(event, Event::Started(_));
        self.events().iter().filter(started).count()
    }

    /// The servers on which the command failed, and those on which it succeeded.
    pub(crate) fn outcomes(&self) -> (Vec<ServerAddress>, Vec<ServerAddress>) {
        let (mut failed, mut succeeded) = (Vec::new(), Vec::new());
        for event in self.events() {
            match event {
                Event::Failed(server) => failed.push(server),
                Event::Succeeded(server) => succeeded.push(server),
                _ => {}
            }
        }
        (failed, succeeded)
    }

    /// Checks that the command failed once and then succeeded. Returns both servers.
    pub(crate) fn failed_then_succeeded(&self) -> (ServerAddress, ServerAddress) {
        let (mut failed, mut succeeded) = self.outcomes();
        assert_eq!((failed.len(), succeeded.len()), (1, 1), "{:?}", self.events());
        (failed.remove(0), succeeded.remove(0))
    }

    /// Checks that the command failed twice, on different servers.
    pub(crate) fn assert_failed_on_two(&self) {
        let (failed, succeeded) = self.outcomes();
        assert_eq!((failed.len(), succeeded.len()), (2, 0), "{:?}", self.events());
        let different: BTreeSet<String> = failed.iter().map(ToString::to_string).collect();
        assert_eq!(different.len(), 2, "{failed:?}");
    }

    /// Checks that the first of two operations on one connection failed and cleared the pool, while
    /// the second waited for the connection.
    pub(crate) fn assert_pool_cleared_in_between(&self) {
        let events = self.events();
        let place = |wanted: &Event| events.iter().position(|event| event == wanted);
        let checked_out = place(&Event::CheckedOut).expect("a connection");
        let cleared = place(&Event::PoolCleared).expect("the pool was cleared");
        let failed = place(&Event::CheckOutFailed("connectionError".to_owned())).expect("a failed check-out");
        assert!(checked_out < cleared && cleared < failed, "{events:?}");
        assert_eq!(self.started(), 3, "{events:?}");
    }
}
