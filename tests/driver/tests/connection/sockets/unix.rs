//! Unix domain sockets: `mongodb://%2Ftmp%2Fmongodb.sock`.

use std::{
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use marula_driver::{
    Client, ErrorKind, NetworkPhase, ServerAddress,
    bson::{Document, doc},
    event::{EventListener, PoolEvent, SdamEvent, ServerType},
    internals::wait_for_topology,
    options::ClientOptions,
};
use marula_driver_tests::{
    CommandRecorder,
    socks5::{Socks5Fault, Socks5Proxy},
    standalone,
};
use marula_test_server::TestServer;
use tokio::{
    io::copy_bidirectional,
    net::{TcpStream, UnixListener},
    task::{JoinHandle, JoinSet},
};

use super::{LONG, attempt, network};

/// The path of a socket. Dropping it deletes the file.
struct SocketFile(PathBuf);

impl SocketFile {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("marula-{}-{number}.sock", std::process::id())))
    }

    fn text(&self) -> &str {
        self.0.to_str().expect("a readable path")
    }

    fn uri(&self, rest: &str) -> String {
        format!("mongodb://{}{rest}", self.text().replace('/', "%2F"))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A proxy from a Unix domain socket to a TCP server. Dropping it closes its connections.
struct UnixProxy {
    file: SocketFile,
    task: JoinHandle<()>,
}

impl UnixProxy {
    fn start(target: SocketAddr) -> Self {
        let file = SocketFile::new();
        let listener = UnixListener::bind(&file.0).expect("a socket");
        Self {
            file,
            task: tokio::spawn(relay(listener, target)),
        }
    }
}

async fn relay(listener: UnixListener, target: SocketAddr) {
    // Dropped with this task.
    let mut connections = JoinSet::new();
    while let Ok((mut client, _)) = listener.accept().await {
        connections.spawn(async move {
            if let Ok(mut server) = TcpStream::connect(target).await {
                let _ = copy_bidirectional(&mut client, &mut server).await;
            }
        });
    }
}

impl Drop for UnixProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn operations_use_a_unix_domain_socket() {
    let server = standalone().await.server;
    let unix = UnixProxy::start(server.addresses()[0]);
    let client = Client::connect(unix.file.uri("/shop?maxPoolSize=3"))
        .await
        .expect("a client");
    let things = client
        .default_database()
        .expect("the string names one")
        .collection::<Document>("things");
    let large = doc! { "_id": 0, "x": "x".repeat(5_000_000) };
    things.insert_one(&large).await.expect("stored");
    let many: Vec<_> = (1..20)
        .map(|id| {
            let things = things.clone();
            tokio::spawn(async move { things.insert_one(&doc! { "_id": id }).await.map(drop) })
        })
        .collect();
    for insert in many {
        insert.await.expect("no panic").expect("stored");
    }
    let found = things.find_one(doc! { "_id": 0 }).await.expect("a reply");
    assert_eq!(found, Some(large));
    things
        .update_one(doc! { "_id": 1 }, doc! { "$set": { "a": 1 } })
        .await
        .expect("changed");
    things.delete_one(doc! { "_id": 2 }).await.expect("deleted");
    assert_eq!(things.count_documents(doc! {}).await.expect("a number"), 19);
    let known = wait_for_topology(&client, |topology| {
        topology
            .servers()
            .all(|server| server.server_type() == ServerType::Standalone)
    })
    .await;
    assert_eq!(known.servers().count(), 1);
}

#[tokio::test]
async fn events_and_descriptions_contain_the_path() {
    let server = standalone().await.server;
    let unix = UnixProxy::start(server.addresses()[0]);
    let path = ServerAddress::Unix {
        path: unix.file.0.clone(),
    };
    let addresses: Arc<Mutex<Vec<ServerAddress>>> = Arc::default();
    let mut options = ClientOptions::parse(&unix.file.uri("")).expect("options");
    let commands = CommandRecorder::default();
    commands.listen(&mut options);
    let sink = Arc::clone(&addresses);
    options.pool_listener = Some(EventListener::new(move |event: &PoolEvent| {
        if let PoolEvent::ConnectionReady { address, .. } = event {
            sink.lock().expect("no panic").push(address.clone());
        }
    }));
    let sink = Arc::clone(&addresses);
    options.sdam_listener = Some(EventListener::new(move |event: &SdamEvent| {
        if let SdamEvent::ServerHeartbeatSucceeded { address, .. } = event {
            sink.lock().expect("no panic").push(address.clone());
        }
    }));
    let client = Client::with_options(options).expect("a client");
    client.list_database_names().await.expect("an answer");
    let received = addresses.lock().expect("no panic").clone();
    assert!(received.len() >= 2, "a check and a connection");
    assert!(received.iter().all(|address| *address == path), "{received:?}");
    assert_eq!(path.to_string(), unix.file.text());
    assert_eq!((path.host().as_ref(), path.port()), (unix.file.text(), None));
    for event in commands.take() {
        if let marula_driver::event::CommandEvent::Started(event) = event {
            assert_eq!(event.connection.address, path);
        }
    }
}

#[tokio::test]
async fn a_server_that_listens_on_a_unix_domain_socket_is_used() {
    let file = SocketFile::new();
    let builder = TestServer::builder().standalone().unix_socket(&file.0);
    let server = builder.start().await.expect("the server starts");
    let client = Client::connect(file.uri("/")).await.expect("a client");
    let things = client.database("d").collection::<Document>("things");
    things.insert_one(&doc! { "_id": 1 }).await.expect("stored");
    assert_eq!(
        things.find_one(doc! {}).await.expect("a reply"),
        Some(doc! { "_id": 1 })
    );
    assert_eq!(server.commands_seen("insert"), 1);
}

#[tokio::test]
async fn errors_name_paths_without_a_listener() {
    let absent = SocketFile::new();
    let error = attempt(absent.text(), None, LONG).await.expect_err("no file");
    assert_eq!(
        network(&error),
        (NetworkPhase::Connect, io::ErrorKind::NotFound),
        "{error}"
    );
    assert!(error.to_string().contains(absent.text()), "{error}");

    // The file remains after the listener is dropped.
    let left = SocketFile::new();
    drop(UnixListener::bind(&left.0).expect("a socket"));
    let error = attempt(left.text(), None, LONG)
        .await
        .expect_err("nothing listens");
    assert_eq!(
        network(&error),
        (NetworkPhase::Connect, io::ErrorKind::ConnectionRefused),
        "{error}"
    );

    let long = format!("/tmp/{}.sock", "x".repeat(120));
    let error = attempt(&long, None, LONG).await.expect_err("too long");
    assert_eq!(
        network(&error),
        (NetworkPhase::Connect, io::ErrorKind::InvalidInput),
        "{error}"
    );
    assert!(error.to_string().contains(&long), "{error}");
}

#[tokio::test]
async fn tls_over_a_unix_domain_socket_is_rejected() {
    let error = Client::connect("mongodb://%2Ftmp%2Fmongodb.sock/?tls=true").await;
    let error = error.expect_err("TLS is not supported");
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");
    assert!(error.to_string().contains("Unix domain socket"), "{error}");
}

#[tokio::test]
async fn a_socks5_proxy_is_not_used_for_unix_domain_sockets() {
    let server = standalone().await.server;
    let unix = UnixProxy::start(server.addresses()[0]);
    let proxy = Socks5Proxy::misbehaving(Socks5Fault::None).await;
    let uri = unix.file.uri(&format!("/?{}", proxy.options()));
    let client = Client::connect(uri).await.expect("a client");
    client.list_database_names().await.expect("an answer");
    assert_eq!(proxy.accepted(), 0);
}

/// The path is deleted and created again, as by a restart of the server.
#[tokio::test]
async fn a_client_reconnects_to_a_restarted_server() {
    let server = standalone().await.server;
    let address = server.addresses()[0];
    let unix = UnixProxy::start(address);
    let client = Client::connect(unix.file.uri("/?heartbeatFrequencyMS=500"))
        .await
        .expect("a client");
    client.list_database_names().await.expect("an answer");
    let path = unix.file.0.clone();
    drop(unix);
    let listener = UnixListener::bind(&path).expect("the path is free again");
    let _back = SocketFile(path);
    let task = tokio::spawn(relay(listener, address));
    client.list_database_names().await.expect("an answer");
    server.wait_for_connections_created(4).await;
    task.abort();
}
