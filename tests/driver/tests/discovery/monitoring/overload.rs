//! A server that closes connections above its limit: pools are not cleared.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use marula_driver::{
    bson::{Document, doc},
    event::PoolEvent,
};
use marula_driver_tests::tls::{Authority, Files, TlsTerminator};
use marula_test_server::TestServer;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

use super::log::{Entry, Log};

/// A proxy that accepts a limited number of connections, and closes further ones immediately.
struct Limiter {
    address: SocketAddr,
    places: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Limiter {
    async fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let places = Arc::new(AtomicUsize::new(usize::MAX));
        let left = Arc::clone(&places);
        let task = tokio::spawn(async move {
            let mut relays = JoinSet::new();
            while let Ok((mut client, _)) = listener.accept().await {
                let place = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
                if place.is_ok() {
                    relays.spawn(async move {
                        if let Ok(mut server) = TcpStream::connect(target).await {
                            let _ = copy_bidirectional(&mut client, &mut server).await;
                        }
                    });
                }
            }
        });
        Self {
            address,
            places,
            task,
        }
    }
}

impl Drop for Limiter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn server_discovery_and_monitoring_prose_10_connection_pool_backpressure() {
    check(false).await;
}

#[tokio::test]
async fn server_discovery_and_monitoring_prose_10_connection_pool_backpressure_with_tls() {
    check(true).await;
}

async fn check(tls: bool) {
    let server = TestServer::builder()
        .standalone()
        .start()
        .await
        .expect("a server");
    let target = server.addresses()[0];
    let (authority, files) = (Authority::new(), Files::new());
    let terminator = TlsTerminator::start(&authority.issue(&["127.0.0.1"]), target).await;
    let limiter = Limiter::start(if tls { terminator.address } else { target }).await;
    let mut uri = format!("mongodb://{}/?maxConnecting=100&maxPoolSize=100", limiter.address);
    if tls {
        let file = files.write("authority.pem", &authority.pem());
        uri.push_str(&format!("&tls=true&tlsCAFile={file}"));
    }
    let log = Log::default();
    let client = log.client(&uri, |_| {});
    let things = client.database("test").collection::<Document>("test");
    things.insert_one(&doc! {}).await.expect("stored");
    limiter.places.store(20, Ordering::SeqCst);
    let mut readers = JoinSet::new();
    for _ in 0..100 {
        let things = things.clone();
        readers.spawn(async move {
            // The result of the command is not relevant.
            let _ = things.find_one(doc! { "$where": "sleep(500) || true" }).await;
        });
    }
    while let Some(reader) = readers.join_next().await {
        reader.expect("no reader panics");
    }
    let entries = log.entries();
    let count = |fits: fn(&PoolEvent) -> bool| {
        let fits = |entry: &&Entry| matches!(entry, Entry::Pool(event) if fits(event));
        entries.iter().filter(fits).count()
    };
    let failed = count(|event| matches!(event, PoolEvent::ConnectionCheckOutFailed { .. }));
    assert!(failed >= 10, "{failed}");
    assert_eq!(count(|event| matches!(event, PoolEvent::PoolCleared { .. })), 0);
}
