//! Scripted replies to clients that authenticate.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use marula_driver::bson::{Binary, Bson, Document, doc, spec::BinarySubtype};
use marula_driver_tests::{read_request, reply_to};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// What the server does with a command.
pub(crate) enum Answer {
    /// Sends a reply.
    Reply(Document),
    /// Sends the first bytes of this reply, and closes the connection.
    Cut(Document, usize),
    /// Sends no reply.
    Silence,
}

/// Chooses the answer to a command. Hellos of monitors are answered before.
type Script = dyn Fn(&Document) -> Answer + Send + Sync;

/// Listens on a loopback port until it is dropped.
pub(crate) struct ScriptedServer {
    address: SocketAddr,
    commands: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl ScriptedServer {
    pub(crate) async fn start(script: impl Fn(&Document) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let commands = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&commands);
        let script: Arc<Script> = Arc::new(script);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&script), Arc::clone(&seen)));
            }
        });
        Self {
            address,
            commands,
            task,
        }
    }

    pub(crate) fn uri(&self, options: &str) -> String {
        format!(
            "mongodb://user:hunter2@{}/?retryReads=false&{options}",
            self.address
        )
    }

    /// The commands other than hello, in order.
    pub(crate) fn commands(&self) -> Vec<String> {
        self.commands
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

pub(crate) fn hello() -> Document {
    doc! {
        "ok": 1, "isWritablePrimary": true, "ismaster": true, "helloOk": true, "minWireVersion": 0, "maxWireVersion": 25,
        "maxBsonObjectSize": 16 << 20, "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000,
    }
}

/// A reply of a SASL conversation.
pub(crate) fn conversation_reply(text: &str, done: bool) -> Document {
    let payload = Binary {
        subtype: BinarySubtype::Generic,
        bytes: text.as_bytes().to_vec(),
    };
    doc! { "ok": 1, "conversationId": 1, "payload": payload, "done": done }
}

/// The payload of a command of a SASL conversation.
pub(crate) fn payload_of(command: &Document) -> String {
    match command.get("payload") {
        Some(Bson::Binary(payload)) => String::from_utf8_lossy(&payload.bytes).into_owned(),
        _ => String::new(),
    }
}

/// Whether a hello belongs to a connection that authenticates.
pub(crate) fn is_hello_of_user(command: &Document) -> bool {
    command.contains_key("speculativeAuthenticate") || command.contains_key("saslSupportedMechs")
}

async fn serve(mut stream: TcpStream, script: Arc<Script>, commands: Arc<Mutex<Vec<String>>>) {
    while let Ok((request, command)) = read_request(&mut stream).await {
        let name = command.keys().next().cloned().unwrap_or_default();
        let is_hello = matches!(name.as_str(), "hello" | "isMaster" | "ismaster");
        let answer = if is_hello && !is_hello_of_user(&command) {
            Answer::Reply(hello())
        } else {
            if !is_hello {
                let mut commands = commands.lock().unwrap_or_else(PoisonError::into_inner);
                commands.push(name);
            }
            script(&command)
        };
        match answer {
            Answer::Reply(reply) => {
                if stream.write_all(&reply_to(request, &reply)).await.is_err() {
                    return;
                }
            }
            Answer::Cut(reply, count) => {
                let reply = reply_to(request, &reply);
                let _ = stream.write_all(reply.get(..count).unwrap_or(&reply)).await;
                return;
            }
            Answer::Silence => {
                let mut sink = [0; 1024];
                while matches!(stream.read(&mut sink).await, Ok(count) if count > 0) {}
                return;
            }
        }
    }
}
