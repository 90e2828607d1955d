//! The establishment of connections by the background task of the pool.

use marula_driver::{Client, options::ClientOptions};
use marula_driver_tests::{Deployment, PoolTally};
use marula_test_server::TestServer;

use super::{TIME_LIMIT, block};

/// A server with a user, and a client of it with these options.
async fn with_user() -> Deployment {
    let server = TestServer::builder().auth("user", "secret").start().await;
    Deployment::of(server.expect("a server"), "").await
}

fn tallied(deployment: &Deployment, options: &str) -> (Client, PoolTally) {
    let uri = deployment.server.uri();
    let joint = if uri.contains('?') { '&' } else { '?' };
    let mut options = ClientOptions::parse(&format!("{uri}{joint}{options}")).expect("a connection string");
    let tally = PoolTally::default();
    tally.listen(&mut options);
    (Client::with_options(options).expect("a client"), tally)
}

/// With a longer block than in the specification: on a loaded machine a reply after 15 ms arrives before
/// the client is run again.
#[tokio::test]
async fn client_side_operations_timeout_prose_4a() {
    const NAME: &str = "timeoutBackgroundPoolTest";
    let deployment = with_user().await;
    block(&deployment.client, &["saslContinue"], 1, 5_000, NAME).await;
    let (_client, tally) = tallied(&deployment, &format!("appName={NAME}&minPoolSize=1&timeoutMS=10"));
    let closed = tally.wait_until(|counts| counts.created > 0 && counts.closed > 0);
    tokio::time::timeout(TIME_LIMIT, closed).await.unwrap();
}

mod timed {
    use super::*;

    /// With longer times than in the specification: the rest of a command must take less than 100 ms.
    #[tokio::test]
    async fn client_side_operations_timeout_prose_4b() {
        const NAME: &str = "refreshTimeoutBackgroundPoolTest";
        let deployment = with_user().await;
        let delayed = ["hello", "isMaster", "saslContinue"];
        block(&deployment.client, &delayed, 0, 300, NAME).await;
        let (_client, tally) = tallied(
            &deployment,
            &format!("appName={NAME}&minPoolSize=1&timeoutMS=400"),
        );
        let ready = tally.wait_until(|counts| counts.ready > 0);
        tokio::time::timeout(TIME_LIMIT, ready).await.unwrap();
    }
}
