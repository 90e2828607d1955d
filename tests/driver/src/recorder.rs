//! A listener that records the commands of a client.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use marula_driver::{
    Client, Collection,
    bson::Document,
    event::{CommandEvent, EventListener},
    options::ClientOptions,
};

use crate::Target;

/// Identifies a command among those of one client.
pub type CommandId = (String, u32, i32);

/// The command of an event. Each connection counts its requests.
#[must_use]
pub fn command_id(event: &CommandEvent) -> CommandId {
    let connection = event.connection();
    (
        connection.address.to_string(),
        connection.connection_id,
        event.request_id(),
    )
}

/// A deployment with a client whose commands are recorded.
#[derive(Debug)]
pub struct RecordedClient {
    /// The deployment, with a client that has no listeners.
    pub deployment: Target,
    /// The client whose commands are recorded.
    pub client: Client,
    /// The recorder of the client.
    pub commands: CommandRecorder,
    database: String,
}

/// Connects a client with a recorder, with options such as `maxPoolSize=1`.
///
/// # Panics
/// If the options are refused.
#[must_use]
pub fn recorded(deployment: impl Into<Target>, options: &str) -> RecordedClient {
    let deployment = deployment.into();
    let commands = CommandRecorder::default();
    let client = commands.client_of(&deployment.uri_with(options));
    RecordedClient {
        database: deployment.database_name(),
        deployment,
        client,
        commands,
    }
}

impl RecordedClient {
    /// A collection of the recorded client, in a database that no other test uses.
    #[must_use]
    pub fn things(&self) -> Collection<Document> {
        self.client.database(&self.database).collection("things")
    }
}

/// Records all command monitoring events of its clients.
#[derive(Clone, Debug, Default)]
pub struct CommandRecorder(Arc<Mutex<Vec<CommandEvent>>>);

impl CommandRecorder {
    /// A client with this recorder as its listener.
    ///
    /// # Panics
    /// If the connection string is refused.
    #[must_use]
    pub fn client_of(&self, uri: &str) -> Client {
        let mut options = ClientOptions::parse(uri).expect("a connection string");
        self.listen(&mut options);
        Client::with_options(options).expect("a client")
    }

    /// Registers this recorder in the options.
    pub fn listen(&self, options: &mut ClientOptions) {
        let recorder = self.clone();
        options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
            recorder.lock().push(event.clone());
        }));
    }

    /// Whether no event is recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Removes and returns the recorded events.
    #[must_use]
    pub fn take(&self) -> Vec<CommandEvent> {
        std::mem::take(&mut self.lock())
    }

    /// Removes all events, and returns the commands started so far.
    ///
    /// # Panics
    /// If the command of an event is not a document.
    #[must_use]
    pub fn commands(&self) -> Vec<Document> {
        let started = |event: CommandEvent| match event {
            CommandEvent::Started(started) => {
                Some(Document::try_from(&*started.command).expect("a document"))
            }
            _ => None,
        };
        self.take().into_iter().filter_map(started).collect()
    }

    /// Removes all events, and returns the names of the commands started so far, grouped by
    /// operation and in the order of operation ids.
    ///
    /// # Panics
    /// If the events of one command have different operation ids.
    #[must_use]
    pub fn operations(&self) -> Vec<Vec<String>> {
        let mut operations = BTreeMap::<i64, Vec<String>>::new();
        let mut started = BTreeMap::new();
        for event in self.take() {
            let id = command_id(&event);
            let operation = match &event {
                CommandEvent::Started(event) => {
                    let names = operations.entry(event.operation_id).or_default();
                    names.push(event.command_name.clone());
                    started.insert(id, event.operation_id);
                    continue;
                }
                CommandEvent::Succeeded(event) => event.operation_id,
                CommandEvent::Failed(event) => event.operation_id,
                _ => continue,
            };
            let begun = started.get(&id).copied().unwrap_or(operation);
            assert_eq!(begun, operation, "{event:?}");
        }
        operations.into_values().collect()
    }

    /// The only command started so far. Removes all events.
    ///
    /// # Panics
    /// If there is not exactly one.
    #[must_use]
    pub fn only_command(&self) -> Document {
        let mut commands = self.commands();
        assert_eq!(commands.len(), 1, "{commands:?}");
        commands.remove(0)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<CommandEvent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
