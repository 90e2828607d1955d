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

use super::load::HANG;

/// Far more than a round trip takes on a busy machine.
const LATE: Duration = Duration::from_millis(1500);

/// Reads with `nearest` do not go to a member beyond the latency window. Its slowness is a stimulus: how
/// long exactly it lasts does not matter.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_member_is_left_alone() {
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
            .expect("the client is here");
        let nearest = ReadPreference::new(ReadPreferenceMode::Nearest);
        let things = client.database("slow").collection::<Document>("things");
        let things = things.with_read_preference(nearest);
        for _ in 0..100 {
            assert_eq!(things.find_one(doc! {}).await.expect("a reply"), None);
        }
    };
    tokio::time::timeout(HANG, read).await.expect("nothing hangs");
    assert_eq!(reads.load(Ordering::SeqCst), 0, "two members are nearer");
}
