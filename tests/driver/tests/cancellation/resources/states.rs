//! The states in which a client is dropped or shut down.

use marula_driver_tests::{Proxy, Topology, proxy::Action};
use marula_test_server::TestServer;

use super::client_in_state::{ClientInState, State, nothing_is_left};

/// No wait ends by a timeout during the test.
const LONG_TIMEOUTS: &str =
    "connectTimeoutMS=0&serverSelectionTimeoutMS=3600000&heartbeatFrequencyMS=3600000";

#[tokio::test]
async fn a_client_can_end_before_its_first_operation() {
    let state = State::new(LONG_TIMEOUTS, |_| {});
    nothing_is_left(state, async |_: &mut ClientInState| {}).await;
}

#[tokio::test]
async fn a_client_can_end_during_the_first_handshake() {
    let state = State::new(LONG_TIMEOUTS, |proxy| proxy.control().ignore(100));
    nothing_is_left(state, async |client: &mut ClientInState| {
        client.begin_pings(5);
        client.proxy().wait_for_at_least_open(1).await;
    })
    .await;
}

#[tokio::test]
async fn a_client_can_end_during_the_tls_handshake() {
    let options = format!("{LONG_TIMEOUTS}&tls=true");
    let state = State::new(&options, |proxy| proxy.control().ignore(100));
    nothing_is_left(state, async |client: &mut ClientInState| {
        client.begin_pings(5);
        client.proxy().wait_for_at_least_open(1).await;
    })
    .await;
}

#[tokio::test]
async fn a_client_can_end_while_the_server_refuses_connections() {
    let state = State::new(LONG_TIMEOUTS, |proxy| proxy.control().refuse(usize::MAX / 2));
    nothing_is_left(state, async |client: &mut ClientInState| {
        client.begin_pings(5);
        client.proxy().wait_for_refusals(2).await;
    })
    .await;
}

#[tokio::test]
async fn a_client_can_end_while_the_server_streams_hello_replies() {
    let state = State::new(LONG_TIMEOUTS, |_| {}).only_monitored();
    nothing_is_left(state, async |client: &mut ClientInState| {
        // The streaming connection and the RTT connection.
        client.proxy().wait_for_at_least_open(2).await;
    })
    .await;
}

#[tokio::test]
async fn a_client_can_end_while_commands_wait_for_replies() {
    let state = State::new(LONG_TIMEOUTS, |proxy| {
        proxy.set_rule(|exchange| match exchange.command {
            "ping" => Action::Delay,
            _ => Action::Pass,
        });
    });
    nothing_is_left(state, async |client: &mut ClientInState| {
        client.begin_pings(5);
        client.proxy().wait_for_requests("ping", 5).await;
    })
    .await;
}

#[tokio::test]
async fn a_client_can_end_with_operations_in_the_wait_queue() {
    let state = State::new(&format!("{LONG_TIMEOUTS}&maxPoolSize=1"), |proxy| {
        proxy.set_rule(|exchange| match exchange.command {
            "ping" => Action::Delay,
            _ => Action::Pass,
        });
    });
    nothing_is_left(state, async |client: &mut ClientInState| {
        client.begin_pings(5);
        client.proxy().wait_for_requests("ping", 1).await;
        client.tally.wait_until(|counts| counts.check_outs == 5).await;
    })
    .await;
}

fn with_user() -> marula_test_server::TestServerBuilder {
    TestServer::builder()
        .parameter("scramSHA256IterationCount", 4096)
        .auth("user", "secret")
}

#[tokio::test]
async fn a_client_can_end_while_connections_are_established() {
    let state = State {
        server: with_user,
        user: "user:secret@",
        ..State::new(&format!("{LONG_TIMEOUTS}&maxConnecting=2"), |proxy: &Proxy| {
            proxy.set_rule(|exchange| {
                if exchange.is_login() {
                    Action::Delay
                } else {
                    Action::Pass
                }
            });
        })
    };
    nothing_is_left(state, async |client: &mut ClientInState| {
        client.begin_pings(5);
        client
            .tally
            .wait_until(|counts| counts.check_outs == 5 && counts.max_pending == 2)
            .await;
    })
    .await;
}

/// The salted password is computed on a blocking thread that cannot be stopped, and the end of the
/// client does not wait for it. This number of iterations takes most of a second, far longer than
/// the end of a client.
#[tokio::test]
async fn a_client_can_end_during_key_derivation() {
    const ITERATIONS: i32 = 400_000;
    let state = State {
        server: || {
            TestServer::builder()
                .parameter("scramSHA256IterationCount", ITERATIONS)
                .auth("user", "secret")
        },
        user: "user:secret@",
        // The state of the deployment makes no difference, and the key derivation takes long.
        topologies: vec![Topology::Standalone, Topology::LoadBalanced],
        ..State::new(LONG_TIMEOUTS, |_| {})
    };
    nothing_is_left(state, async |client: &mut ClientInState| {
        client.begin_pings(5);
        client.proxy().wait_for_replies("login", 1).await;
        // Enough turns of the runtime for the client to read the reply.
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        client.assert_no_request("saslContinue");
    })
    .await;
}

#[tokio::test]
async fn a_client_can_end_during_authentication() {
    let state = State {
        server: with_user,
        user: "user:secret@",
        ..State::new(LONG_TIMEOUTS, |proxy| {
            proxy.set_rule(|exchange| match exchange.command {
                "saslContinue" => Action::Delay,
                _ => Action::Pass,
            });
        })
    };
    nothing_is_left(state, async |client: &mut ClientInState| {
        client.begin_pings(5);
        client.proxy().wait_for_requests("saslContinue", 1).await;
    })
    .await;
}

/// New connections are closed at once, which the client treats as an overloaded server: operations
/// back off before they are retried.
#[tokio::test]
async fn a_client_can_end_during_the_backoff_of_an_overloaded_server() {
    let state = State {
        server: with_user,
        user: "user:secret@",
        ..State::new(LONG_TIMEOUTS, |proxy| {
            proxy.set_rule(|exchange| {
                if exchange.is_login() {
                    Action::DropRequest
                } else {
                    Action::Pass
                }
            });
        })
    };
    nothing_is_left(state, async |client: &mut ClientInState| {
        client.begin_pings(1);
        client
            .tally
            .wait_until(|counts| counts.check_outs_failed >= 1)
            .await;
    })
    .await;
}

/// The pool was cleared, and stays paused until the next check, which gets no answer.
#[tokio::test]
async fn a_client_can_end_while_the_pool_is_paused() {
    let state = State::new(LONG_TIMEOUTS, |proxy| {
        let control = proxy.control();
        proxy.set_rule(move |exchange| match exchange.command {
            "ping" => {
                control.ignore(100);
                Action::DropRequest
            }
            _ => Action::Pass,
        });
    })
    .only_monitored();
    nothing_is_left(state, async |client: &mut ClientInState| {
        client.begin_pings(1);
        client.tally.wait_until(|counts| counts.cleared == 1).await;
        client.first_ping_fails().await;
        client.begin_pings(5);
    })
    .await;
}
