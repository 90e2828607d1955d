//! A member whose replies are slow.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use marula_driver::{
    Client,
    bson::{Document, doc},
    event::{EventListener, SdamEvent},
    options::{ClientOptions, ReadPreference, ReadPreferenceMode},
};
use marula_driver_tests::{Proxied, proxy::Action};
use marula_test_server::TestServer;
use tokio::sync::watch;

use super::load::TIME_LIMIT;

/// Far longer than a round trip on a busy machine.
const LATE: Duration = Duration::from_millis(1500);

/// Reads with `nearest` do not use a member outside the latency window. The exact latency of the
/// slow member is not relevant.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nearest_does_not_select_a_slow_member() {
    let deployment = Proxied::replica_set(TestServer::builder()).await;
    let slow = deployment.secondary();
    let reads = Arc::<AtomicUsize>::default();
    let (counted, control) = (Arc::clone(&reads), deployment.proxies[slow].control());
    deployment.proxies[slow].set_rule(move |exchange| {
        if exchange.command == "find" {
            counted.fetch_add(1, Ordering::SeqCst);
        }
        if !exchange.is_hello() || exchange.mentions("maxAwaitTimeMS") {
            return Action::Pass;
        }
        let control = control.clone();
        tokio::spawn(async move {
            tokio::time::sleep(LATE).await;
            control.end_waits();
        });
        Action::Delay
    });
    let uri = deployment.uri("", "heartbeatFrequencyMS=500&localThresholdMS=500");
    let mut options = ClientOptions::parse(&uri).expect("a connection string");
    let (known, mut all_known) = watch::channel(false);
    options.sdam_listener = Some(EventListener::new(move |event: &SdamEvent| {
        if let SdamEvent::TopologyDescriptionChanged { new, .. } = event {
            known.send_replace(
                new.servers()
                    .filter(|server| !server.server_type().is_unknown())
                    .count()
                    == 3,
            );
        }
    }));
    let client = Client::with_options(options).expect("a client");
    let read = async {
        all_known
            .wait_for(|known| *known)
            .await
            .expect("the client exists");
        let nearest = ReadPreference::new(ReadPreferenceMode::Nearest);
        let things = client.database("slow").collection::<Document>("things");
        let things = things.with_read_preference(nearest);
        for _ in 0..100 {
            assert_eq!(things.find_one(doc! {}).await.expect("a reply"), None);
        }
    };
    tokio::time::timeout(TIME_LIMIT, read).await.expect("no hang");
    assert_eq!(
        reads.load(Ordering::SeqCst),
        0,
        "the other members are in the latency window"
    );
}
