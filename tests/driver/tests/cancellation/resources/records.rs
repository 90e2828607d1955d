//! A client that ends during SRV polling.

use std::{sync::Arc, time::Duration};

use marula_driver::internals::{Dialer, Environment};
use marula_driver_tests::{
    MockMongos,
    dns::{Answer, DnsServer},
    tasks,
};

const HOST: &str = "localhost.test.build.10gen.cc";
const RECORD: &str = "_mongodb._tcp.test1.test.build.10gen.cc";
const URI: &str = "mongodb+srv://test1.test.build.10gen.cc/?tls=false";

#[tokio::test]
async fn a_client_can_end_during_srv_polling() {
    for shut_down in [false, true] {
        let mongos = MockMongos::start().await;
        let address = mongos.address;
        let dns = DnsServer::start().await;
        dns.set_srv(RECORD, &[(HOST, 27017)]);
        let alive = tasks::alive();
        let environment = Environment {
            dns: dns.resolver(),
            dialer: Dialer::Mapped(Arc::new(move |_, _| Some(address))),
            min_rescan_interval: Duration::from_millis(10),
            ..Environment::default()
        };
        let client = environment.connect(URI).await.expect("a client");
        dns.set_srv_answer(RECORD, Answer::Silence);
        let seen = dns.queries(RECORD);
        dns.wait_for_queries(RECORD, seen + 1).await;
        assert!(tasks::alive() > alive);
        if shut_down {
            client.shutdown().await;
        }
        drop((client, environment));
        let end = tasks::wait_for_at_most(alive);
        tokio::time::timeout(Duration::from_secs(60), end)
            .await
            .unwrap_or_else(|_| {
                panic!(
                    "shut down: {shut_down}: {} tasks are left",
                    tasks::alive() - alive
                )
            });
    }
}
