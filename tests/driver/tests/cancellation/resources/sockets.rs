//! Connections that are not accepted, and requests that are not read.

use std::{net::SocketAddr, time::Duration};

use marula_driver::{
    Client, ErrorKind, NetworkPhase,
    bson::{Document, doc},
    event::{EventListener, SdamEvent},
    internals::wait_for_description,
    options::ClientOptions,
};
use marula_driver_tests::{Proxy, tasks};
use marula_test_server::TestServer;
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::watch,
};

/// The time limit, which is reached only if a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// A listener that accepts no connection and whose backlog is full: the operating system does not
/// answer further connections.
struct Full {
    address: SocketAddr,
    _listener: TcpListener,
    _queue: Vec<TcpStream>,
}

impl Full {
    fn listen() -> TcpListener {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket
            .bind(SocketAddr::from(([127, 0, 0, 1], 0)))
            .expect("a free port");
        socket.listen(1).expect("a listener")
    }

    async fn new() -> Self {
        let listener = Self::listen();
        let address = listener.local_addr().expect("an address");
        let mut queue = Vec::new();
        // If the backlog has space, a connection is established at once. If this pause is too short
        // on a busy machine, space is left, and the client waits in the handshake instead.
        let patience = Duration::from_millis(300);
        while let Ok(stream) = tokio::time::timeout(patience, TcpStream::connect(address)).await {
            queue.push(stream.expect("a connection"));
            assert!(queue.len() < 100, "the backlog is unlimited");
        }
        Self {
            address,
            _listener: listener,
            _queue: queue,
        }
    }

    fn uri(&self, options: &str) -> String {
        format!("mongodb://{}/?directConnection=true&{options}", self.address)
    }
}

#[tokio::test]
async fn a_client_can_end_during_connect() {
    let full = Full::new().await;
    let alive = tasks::alive();
    for shut_down in [false, true] {
        let uri = full.uri("connectTimeoutMS=0&serverSelectionTimeoutMS=3600000");
        let mut options = ClientOptions::parse(&uri).expect("a connection string");
        let (begun, mut checks) = watch::channel(0);
        options.sdam_listener = Some(EventListener::new(move |event: &SdamEvent| {
            if let SdamEvent::ServerHeartbeatStarted { .. } = event {
                begun.send_modify(|count| *count += 1);
            }
        }));
        let client = Client::with_options(options).expect("a client");
        checks
            .wait_for(|count| *count == 1)
            .await
            .expect("the client exists");
        let admin = client.database("admin");
        let ping = tokio::spawn(async move { admin.run_command(doc! { "ping": 1 }).await });
        // Enough turns of the runtime for the connect to begin.
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        if shut_down {
            client.shutdown().await;
            let error = ping.await.expect("no panic").expect_err("no answer");
            assert!(matches!(error.kind(), ErrorKind::Shutdown), "{error:?}");
        } else {
            ping.abort();
        }
        drop(client);
        let ended = tasks::wait_for_at_most(alive);
        tokio::time::timeout(TIME_LIMIT, ended)
            .await
            .unwrap_or_else(|_| panic!("shut down: {shut_down}: a task is left"));
    }
}

#[tokio::test]
async fn connect_fails_after_connect_timeout() {
    let full = Full::new().await;
    let uri = full.uri("connectTimeoutMS=100&serverSelectionTimeoutMS=1000");
    let client = Client::connect(uri).await.expect("a client");
    let known = wait_for_description(&client, |text| text.contains("(Unknown: "));
    let known = tokio::time::timeout(TIME_LIMIT, known).await.expect("no hang");
    assert!(known.contains("connectTimeoutMS"), "{known}");
    let admin = client.database("admin");
    let ping = admin.run_command(doc! { "ping": 1 });
    let error = tokio::time::timeout(TIME_LIMIT, ping.into_future())
        .await
        .expect("no hang")
        .expect_err("the server does not accept");
    assert!(matches!(error.kind(), ErrorKind::ServerSelection(_)), "{error:?}");
}

/// A request larger than the socket buffers of both sides is written until socketTimeoutMS, and not
/// executed.
#[tokio::test]
async fn a_request_that_is_not_read_fails_after_socket_timeout() {
    let server = TestServer::builder()
        .standalone()
        .start()
        .await
        .expect("a server");
    let proxy = Proxy::start(server.addresses()[0]).await;
    let client = Client::connect(proxy.uri("maxPoolSize=1&socketTimeoutMS=2000"))
        .await
        .expect("a client");
    let things = client.database("d").collection::<Document>("c");
    things.insert_one(&doc! { "_id": 0 }).await.expect("stored");
    let large: Vec<Document> = (1..21)
        .map(|id| doc! { "_id": id, "filler": "x".repeat(2 << 20) })
        .collect();
    proxy.pause_requests();
    let insert = things.insert_many(&large);
    let error = tokio::time::timeout(TIME_LIMIT, insert.into_future())
        .await
        .expect("no hang")
        .expect_err("the request is not read");
    let ErrorKind::Network(network) = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!(network.phase(), NetworkPhase::Write, "{error:?}");
    proxy.resume_requests();
    // Without a time limit: the proxy is busy with the rest of the request.
    let direct = Client::connect(server.uri()).await.expect("a client");
    let stored = direct.database("d").collection::<Document>("c");
    assert_eq!(stored.count_documents(doc! {}).await.expect("a count"), 1);
    client.shutdown().await;
    proxy.wait_for_at_most_open(0).await;
}
