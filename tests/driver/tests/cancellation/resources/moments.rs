//! The states in which a client ends.

use marula_driver_tests::{Proxy, Topology, proxy::Action};
use marula_test_server::TestServer;

use super::place::{Place, Way, nothing_is_left};

/// Only the end of the client ends a wait.
const PATIENT: &str = "connectTimeoutMS=0&serverSelectionTimeoutMS=3600000&heartbeatFrequencyMS=3600000";

#[tokio::test]
async fn before_anything() {
    let way = Way::new(PATIENT, |_| {});
    nothing_is_left(way, async |_: &mut Place| {}).await;
}

#[tokio::test]
async fn in_the_first_handshake() {
    let way = Way::new(PATIENT, |proxy| proxy.control().ignore(100));
    nothing_is_left(way, async |place: &mut Place| {
        place.begin_pings(5);
        place.proxy().wait_for_at_least_open(1).await;
    })
    .await;
}

#[tokio::test]
async fn in_the_handshake_of_tls() {
    let options = format!("{PATIENT}&tls=true");
    let way = Way::new(&options, |proxy| proxy.control().ignore(100));
    nothing_is_left(way, async |place: &mut Place| {
        place.begin_pings(5);
        place.proxy().wait_for_at_least_open(1).await;
    })
    .await;
}

#[tokio::test]
async fn while_the_server_refuses() {
    let way = Way::new(PATIENT, |proxy| proxy.control().refuse(usize::MAX / 2));
    nothing_is_left(way, async |place: &mut Place| {
        place.begin_pings(5);
        place.proxy().wait_for_refusals(2).await;
    })
    .await;
}

#[tokio::test]
async fn while_the_server_streams() {
    let way = Way::new(PATIENT, |_| {}).of_monitored();
    nothing_is_left(way, async |place: &mut Place| {
        // A stream, and a connection for round trips.
        place.proxy().wait_for_at_least_open(2).await;
    })
    .await;
}

#[tokio::test]
async fn while_nobody_answers() {
    let way = Way::new(PATIENT, |proxy| {
        proxy.set_rule(|exchange| match exchange.command {
            "ping" => Action::Delay,
            _ => Action::Pass,
        });
    });
    nothing_is_left(way, async |place: &mut Place| {
        place.begin_pings(5);
        place.proxy().wait_for_requests("ping", 5).await;
    })
    .await;
}

#[tokio::test]
async fn in_the_wait_queue() {
    let way = Way::new(&format!("{PATIENT}&maxPoolSize=1"), |proxy| {
        proxy.set_rule(|exchange| match exchange.command {
            "ping" => Action::Delay,
            _ => Action::Pass,
        });
    });
    nothing_is_left(way, async |place: &mut Place| {
        place.begin_pings(5);
        place.proxy().wait_for_requests("ping", 1).await;
        place.tally.wait_until(|counts| counts.check_outs == 5).await;
    })
    .await;
}

fn with_user() -> marula_test_server::TestServerBuilder {
    TestServer::builder()
        .parameter("scramSHA256IterationCount", 4096)
        .auth("user", "secret")
}

#[tokio::test]
async fn while_connections_are_made() {
    let way = Way {
        server: with_user,
        user: "user:secret@",
        ..Way::new(&format!("{PATIENT}&maxConnecting=2"), |proxy: &Proxy| {
            proxy.set_rule(|exchange| match exchange.is_login() {
                true => Action::Delay,
                false => Action::Pass,
            });
        })
    };
    nothing_is_left(way, async |place: &mut Place| {
        place.begin_pings(5);
        place
            .tally
            .wait_until(|counts| counts.check_outs == 5 && counts.max_pending == 2)
            .await;
    })
    .await;
}

/// Keys are computed on a blocking thread that cannot be stopped, and the client does not wait for it. This many iterations take most of a
/// second, and far more than the end of a client.
#[tokio::test]
async fn while_keys_are_made() {
    const HARD: i32 = 400_000;
    let way = Way {
        server: || {
            TestServer::builder()
                .parameter("scramSHA256IterationCount", HARD)
                .auth("user", "secret")
        },
        user: "user:secret@",
        // What is known of the deployment makes no difference, and the keys take long.
        topologies: vec![Topology::Standalone, Topology::LoadBalanced],
        ..Way::new(PATIENT, |_| {})
    };
    nothing_is_left(way, async |place: &mut Place| {
        place.begin_pings(5);
        place.proxy().wait_for_replies("login", 1).await;
        // Turns enough for the client to read the reply.
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        place.assert_no_request("saslContinue");
    })
    .await;
}

#[tokio::test]
async fn during_the_login() {
    let way = Way {
        server: with_user,
        user: "user:secret@",
        ..Way::new(PATIENT, |proxy| {
            proxy.set_rule(|exchange| match exchange.command {
                "saslContinue" => Action::Delay,
                _ => Action::Pass,
            });
        })
    };
    nothing_is_left(way, async |place: &mut Place| {
        place.begin_pings(5);
        place.proxy().wait_for_requests("saslContinue", 1).await;
    })
    .await;
}

/// New connections end at once, which may mean that the server is overloaded: operations pause before they try again.
#[tokio::test]
async fn in_the_pause_of_an_overloaded_server() {
    let way = Way {
        server: with_user,
        user: "user:secret@",
        ..Way::new(PATIENT, |proxy| {
            proxy.set_rule(|exchange| match exchange.is_login() {
                true => Action::DropRequest,
                false => Action::Pass,
            });
        })
    };
    nothing_is_left(way, async |place: &mut Place| {
        place.begin_pings(1);
        place
            .tally
            .wait_until(|counts| counts.check_outs_failed >= 1)
            .await;
    })
    .await;
}

/// The pool was cleared, and is not ready before the next check, which gets no answer.
#[tokio::test]
async fn while_the_pool_is_paused() {
    let way = Way::new(PATIENT, |proxy| {
        let control = proxy.control();
        proxy.set_rule(move |exchange| match exchange.command {
            "ping" => {
                control.ignore(100);
                Action::DropRequest
            }
            _ => Action::Pass,
        });
    })
    .of_monitored();
    nothing_is_left(way, async |place: &mut Place| {
        place.begin_pings(1);
        place.tally.wait_until(|counts| counts.cleared == 1).await;
        place.first_ping_fails().await;
        place.begin_pings(5);
    })
    .await;
}
