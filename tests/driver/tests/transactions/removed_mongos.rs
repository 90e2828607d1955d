//! A mongos that leaves the deployment, because it is no longer in the SRV record, while a command of a transaction
//! waits for a connection to it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use marula_driver::{
    Collection, ErrorKind, PoolError, Result, TRANSIENT_TRANSACTION_ERROR,
    bson::{Document, doc},
    event::ServerType,
    internals::{
        Dialer, Environment,
        sessions::{pin, pinned_address},
        wait_for_topology,
    },
    options::ClientOptions,
};
use marula_driver_tests::{PoolTally, Proxied, Proxy, dns::DnsServer, proxy::Action};
use marula_test_server::TestServer;

const HOST: &str = "localhost.test.build.10gen.cc";
const RECORD: &str = "_mongodb._tcp.test1.test.build.10gen.cc";
const FIRST_PORT: u16 = 27017;

#[tokio::test]
async fn a_transaction_runs_again_if_its_mongos_was_removed() {
    let proxied = Proxied::sharded(TestServer::builder(), 2).await;
    let addresses: Vec<_> = proxied.proxies.iter().map(Proxy::address).collect();
    let dial = move |_: &str, port: u16| addresses.get(usize::from(port - FIRST_PORT)).copied();
    let dns = DnsServer::start().await;
    dns.set_srv(RECORD, &[(HOST, FIRST_PORT), (HOST, FIRST_PORT + 1)]);
    let environment = Environment {
        dns: dns.resolver(),
        dialer: Dialer::Mapped(Arc::new(dial)),
        min_rescan_interval: Duration::from_millis(10),
        ..Environment::default()
    };
    let uri = "mongodb+srv://test1.test.build.10gen.cc/?tls=false&heartbeatFrequencyMS=500&maxPoolSize=1\
               &localThresholdMS=60000&serverMonitoringMode=poll";
    let options = ClientOptions::parse(uri).expect("a connection string");
    let mut options = environment.resolve(options).await.expect("an SRV record");
    let tally = PoolTally::default();
    tally.listen(&mut options);
    let client = environment.client(options).expect("a client");
    wait_for_topology(&client, |topology| {
        let mongos = topology
            .servers()
            .filter(|server| server.server_type() == ServerType::Mongos);
        mongos.count() == 2
    })
    .await;
    let accounts: Collection<Document> = client.database("bank").collection("accounts");
    accounts.insert_one(&doc! {}).await.unwrap();
    for proxy in &proxied.proxies {
        proxy.set_rule(|exchange| match exchange.command {
            "aggregate" => Action::Delay,
            _ => Action::Pass,
        });
    }
    let calls = AtomicU32::new(0);
    let run = client.transaction().run(async |tx| -> Result<()> {
        if calls.fetch_add(1, Ordering::Relaxed) > 0 {
            return accounts.insert_one(&doc! {}).session(tx).await.map(drop);
        }
        accounts.find_one(doc! {}).session(tx).await?;
        let pinned = pinned_address(tx).expect("a pin").to_string();
        // With equal operation counts, the two run on different mongos and use the only connection of each.
        let counts = [(); 2].map(|()| {
            let accounts = accounts.clone();
            tokio::spawn(async move { accounts.count_documents(doc! {}).await })
        });
        for proxy in &proxied.proxies {
            proxy.wait_for_requests("aggregate", 1).await;
        }
        let before = tally.counts().check_outs;
        let document = doc! {};
        let insert = accounts.insert_one(&document).session(tx).into_future();
        let (inserted, ()) = tokio::join!(insert, async {
            tally.wait_until(|counts| counts.check_outs > before).await;
            let left = u16::from(pinned.ends_with(&FIRST_PORT.to_string()));
            dns.set_srv(RECORD, &[(HOST, FIRST_PORT + left)]);
        });
        let error = inserted.expect_err("the mongos was removed");
        assert!(
            matches!(error.kind(), ErrorKind::Pool(PoolError::Closed { .. })),
            "{error:?}"
        );
        assert!(error.contains_label(TRANSIENT_TRANSACTION_ERROR), "{error:?}");
        assert_eq!(pin(tx), None);
        for proxy in &proxied.proxies {
            proxy.end_waits();
        }
        for count in counts {
            count.await.expect("a task").expect("a count");
        }
        Err(error)
    });
    run.await.unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    // The next transaction of the session has ended the first.
    assert_eq!(proxied.server.open_transactions(), []);
}
