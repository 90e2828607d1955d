//! The context of the sections: the client, its database, and the commands that it sent.

use futures_util::TryStreamExt;
use mongodb::bson::{Bson, Document, Regex, doc};
use mongodb::error::{Error, Result};
use mongodb::event::EventHandler;
use mongodb::event::command::CommandEvent;
use mongodb::options::{ClientOptions, Collation};
use mongodb::{Client, Collection, Cursor, Database};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The database of all sections.
pub(crate) const DATABASE: &str = "interop_check";

/// The context of a section.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) db: Database,
    pub(crate) commands: Commands,
    pub(crate) options: ClientOptions,
    /// Whether the deployment is a replica set.
    pub(crate) replica_set: bool,
}

/// A command that the client sent.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) name: String,
    /// The address of the server.
    pub(crate) to: String,
    pub(crate) command: Document,
}

#[derive(Debug, Default)]
struct Record {
    sent: Vec<Sent>,
    replies: Vec<Document>,
}

/// The commands that a client sent since the last [`clear`](Commands::clear), and the replies of
/// those that succeeded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Commands(Arc<Mutex<Record>>);

impl Commands {
    fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, event: CommandEvent) {
        let mut record = self.lock();
        match event {
            CommandEvent::Started(event) => record.sent.push(Sent {
                name: event.command_name,
                to: event.connection.address.to_string(),
                command: event.command,
            }),
            CommandEvent::Succeeded(event) => record.replies.push(event.reply),
            _ => {}
        }
    }

    /// An event handler that records the commands.
    pub(crate) fn handler(&self) -> EventHandler<CommandEvent> {
        let commands = self.clone();
        EventHandler::callback(move |event| commands.note(event))
    }

    pub(crate) fn clear(&self) {
        *self.lock() = Record::default();
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.lock().sent.iter().map(|sent| sent.name.clone()).collect()
    }

    /// The commands with a name.
    pub(crate) fn sent(&self, name: &str) -> Vec<Sent> {
        let record = self.lock();
        record
            .sent
            .iter()
            .filter(|sent| sent.name == name)
            .cloned()
            .collect()
    }

    /// Number of documents of each batch.
    pub(crate) fn batches(&self) -> Vec<usize> {
        let record = self.lock();
        let cursors = record
            .replies
            .iter()
            .filter_map(|reply| reply.get_document("cursor").ok());
        cursors
            .filter_map(|cursor| {
                let batch = cursor
                    .get_array("firstBatch")
                    .or_else(|_| cursor.get_array("nextBatch"));
                batch.ok().map(Vec::len)
            })
            .collect()
    }
}

impl Context {
    /// Connects, and drops the data of an earlier run.
    pub(crate) async fn connect(uri: &str) -> Result<Context> {
        let commands = Commands::default();
        let mut options = ClientOptions::parse(uri).await?;
        options.app_name = Some("interop-check".to_owned());
        options.server_selection_timeout = Some(Duration::from_secs(20));
        let mut recorded = options.clone();
        recorded.command_event_handler = Some(commands.handler());
        let client = Client::with_options(recorded)?;
        let db = client.database(DATABASE);
        let hello = db.run_command(doc! { "hello": 1 }).await?;
        db.drop().await?;
        Ok(Context {
            db,
            client,
            commands,
            options,
            replica_set: hello.contains_key("setName"),
        })
    }

    pub(crate) fn collection(&self, name: &str) -> Collection<Document> {
        self.db.collection(name)
    }

    /// Runs a command on the database `admin`.
    pub(crate) async fn admin(&self, command: Document) -> Result<Document> {
        self.client.database("admin").run_command(command).await
    }
}

/// All documents of a cursor.
pub(crate) async fn docs(cursor: Result<Cursor<Document>>) -> Result<Vec<Document>> {
    cursor?.try_collect().await
}

/// The `_id`s of a cursor's documents, which are 32-bit integers.
pub(crate) async fn ids(cursor: Result<Cursor<Document>>) -> Result<Vec<i32>> {
    docs(cursor)
        .await?
        .iter()
        .map(|document| int(document, "_id"))
        .collect()
}

/// A field that is a 32-bit integer.
pub(crate) fn int(document: &Document, field: &str) -> Result<i32> {
    document
        .get_i32(field)
        .map_err(|_| complaint(format!("no 32-bit integer {field} in {document}")))
}

/// A field of a document that may be missing.
pub(crate) fn field(document: Result<Option<Document>>, name: &str) -> Result<Option<Bson>> {
    Ok(document?.and_then(|document| document.get(name).cloned()))
}

/// An error of a section.
pub(crate) fn complaint(text: String) -> Error {
    Error::custom(text)
}

/// A regular expression with its options.
pub(crate) fn regex(pattern: &str, options: &str) -> Result<Bson> {
    Ok(Bson::RegularExpression(Regex {
        pattern: pattern.try_into()?,
        options: options.try_into()?,
    }))
}

/// English, case-insensitive.
pub(crate) fn case_insensitive() -> Collation {
    Collation::builder()
        .locale("en")
        .strength(mongodb::options::CollationStrength::Secondary)
        .build()
}
