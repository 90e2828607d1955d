//! A listener that keeps the commands a client sends.

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

/// A deployment with a client whose commands are kept.
#[derive(Debug)]
pub struct Watched {
    /// The deployment, with a client that has no listeners.
    pub deployment: Target,
    /// The client that is watched.
    pub client: Client,
    /// Its commands.
    pub commands: CommandRecorder,
    database: String,
}

/// A watched client of the deployment, with options such as `maxPoolSize=1`.
///
/// # Panics
/// When the options are refused.
#[must_use]
pub fn watched(deployment: impl Into<Target>, options: &str) -> Watched {
    let deployment = deployment.into();
    let commands = CommandRecorder::default();
    let client = commands.client_of(&deployment.uri_with(options));
    Watched {
        database: deployment.database_name(),
        deployment,
        client,
        commands,
    }
}

impl Watched {
    /// A collection of the watched client, in a database that no other test uses.
    #[must_use]
    pub fn things(&self) -> Collection<Document> {
        self.client.database(&self.database).collection("things")
    }
}

/// Keeps every command event of the clients it listens to.
#[derive(Clone, Debug, Default)]
pub struct CommandRecorder(Arc<Mutex<Vec<CommandEvent>>>);

impl CommandRecorder {
    /// A client with this recorder as its listener.
    ///
    /// # Panics
    /// When the connection string is refused.
    #[must_use]
    pub fn client_of(&self, uri: &str) -> Client {
        let mut options = ClientOptions::parse(uri).expect("a connection string");
        self.listen(&mut options);
        Client::with_options(options).expect("a client")
    }

    /// Makes this recorder the listener of clients with these options.
    pub fn listen(&self, options: &mut ClientOptions) {
        let recorder = self.clone();
        options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
            recorder.lock().push(event.clone());
        }));
    }

    /// Whether there is something to take.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// The events so far, which are forgotten here.
    #[must_use]
    pub fn take(&self) -> Vec<CommandEvent> {
        std::mem::take(&mut self.lock())
    }

    /// The commands started so far. All events are forgotten.
    ///
    /// # Panics
    /// When the driver reports a command that is not a document.
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

    /// The names of the commands started so far, by the operation they belong to, in the order of the operations' numbers.
    /// All events are forgotten.
    ///
    /// # Panics
    /// When the end of a command names another operation than its start.
    #[must_use]
    pub fn operations(&self) -> Vec<Vec<String>> {
        let mut operations = BTreeMap::<i64, Vec<String>>::new();
        let mut started = BTreeMap::new();
        for event in self.take() {
            let (request, operation) = match &event {
                CommandEvent::Started(event) => {
                    let names = operations.entry(event.operation_id).or_default();
                    names.push(event.command_name.clone());
                    started.insert(event.request_id, event.operation_id);
                    continue;
                }
                CommandEvent::Succeeded(event) => (event.request_id, event.operation_id),
                CommandEvent::Failed(event) => (event.request_id, event.operation_id),
                _ => continue,
            };
            let begun = started.get(&request).copied().unwrap_or(operation);
            assert_eq!(begun, operation, "{event:?}");
        }
        operations.into_values().collect()
    }

    /// The only command started so far.
    ///
    /// # Panics
    /// When there is none, or more than one.
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
