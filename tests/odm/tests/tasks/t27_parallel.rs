//! Task: tests that run in parallel, each with a server of its own.

use marula_test_server::TestServer;

use crate::support::{Order, order};

async fn isolated(number: i64) {
    let server = TestServer::builder()
        .replica_set()
        .start()
        .await
        .expect("a server");
    let client = marula::connect(server.uri()).await.expect("a client");
    let orders = client.database("shop").collection::<Order>();
    orders.insert_one(&order(number)).await.expect("an insert");
    let only = orders.find_all().one().await.expect("one order");
    assert_eq!(only.number, format!("N{number}"));
    client.shutdown().await;
    assert!(server.violations().is_empty(), "{:?}", server.violations());
    server.stop().await;
}

#[tokio::test]
async fn eight_servers_at_once() {
    let tests: Vec<_> = (0..8).map(|number| tokio::spawn(isolated(number))).collect();
    for test in tests {
        test.await.unwrap();
    }
}
