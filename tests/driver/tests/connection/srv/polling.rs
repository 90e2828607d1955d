//! Polling of SRV records, with servers that identify themselves as mongos.

use std::{sync::Arc, time::Duration};

use marula_driver::{
    Client,
    internals::{Dialer, Environment, hosts, wait_for_description, wait_for_hosts},
};
use marula_driver_tests::{
    MockMongos,
    dns::{Answer, DnsServer},
};
const H: &str = "localhost.test.build.10gen.cc";
const TEST1: &str = "_mongodb._tcp.test1.test.build.10gen.cc";
const FIRST_PORT: u16 = 27017;
const FAST: &str = "tls=false&heartbeatFrequencyMS=500";
/// The time limit, which is reached only if a test fails.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// A client of the mongos servers in the SRV records.
struct Cluster {
    dns: DnsServer,
    record: &'static str,
    client: Client,
    _mongos: Vec<MockMongos>,
}

impl Cluster {
    async fn start(record: &'static str, ports: &[u16], uri: &str) -> Self {
        let mut mongos = Vec::new();
        for _ in 0..4 {
            mongos.push(MockMongos::start().await);
        }
        let addresses: Vec<_> = mongos.iter().map(|mongos| mongos.address).collect();
        let dial = move |host: &str, port: u16| {
            assert_eq!(host, H, "a host without SRV record");
            addresses.get(usize::from(port - FIRST_PORT)).copied()
        };
        let dns = DnsServer::start().await;
        set(&dns, record, ports);
        let environment = Environment {
            dns: dns.resolver(),
            dialer: Dialer::Mapped(Arc::new(dial)),
            min_rescan_interval: Duration::from_millis(10),
            ..Environment::default()
        };
        let client = environment.connect(uri).await.expect("a client");
        Self {
            dns,
            record,
            client,
            _mongos: mongos,
        }
    }

    async fn test1(options: &str) -> Self {
        let uri = format!("mongodb+srv://test1.test.build.10gen.cc/?{FAST}{options}");
        Self::start(TEST1, &[27017, 27018], &uri).await
    }

    /// Waits for two complete polls, after one that may have used the previous answer. A query is
    /// sent after the result of the previous one has been applied.
    async fn poll_twice(&self) {
        let seen = self.dns.queries(self.record);
        self.dns.wait_for_queries(self.record, seen + 3).await;
    }

    /// Sets the answer, waits until the ports satisfy `suit`, and returns the ports two polls
    /// later.
    async fn after(self, answer: &[u16], suit: impl Fn(&[u16]) -> bool) -> Vec<u16> {
        set(&self.dns, self.record, answer);
        self.wait_until(&suit).await;
        self.poll_twice().await;
        let ports = self.ports();
        assert!(suit(&ports), "{ports:?}");
        ports
    }

    /// Waits until the ports satisfy `suit`.
    async fn wait_until(&self, suit: impl Fn(&[u16]) -> bool) {
        let change = wait_for_hosts(&self.client, |hosts| suit(&ports_of(hosts)));
        let waited = tokio::time::timeout(TIME_LIMIT, change).await;
        waited.unwrap_or_else(|_| panic!("still {:?}", self.ports()));
    }

    /// Checks that the ports become those of the answer and do not change after that.
    async fn becomes(self, answer: &[u16]) {
        self.after(answer, |ports| ports == answer).await;
    }

    fn ports(&self) -> Vec<u16> {
        ports_of(&hosts(&self.client))
    }
}

fn ports_of(hosts: &[String]) -> Vec<u16> {
    let port = |host: &String| host.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    hosts.iter().filter_map(port).collect()
}

fn set(dns: &DnsServer, record: &str, ports: &[u16]) {
    let hosts: Vec<(&str, u16)> = ports.iter().map(|port| (H, *port)).collect();
    dns.set_srv(record, &hosts);
}

#[tokio::test]
async fn polling_srv_records_for_mongos_discovery_prose_1() {
    let cluster = Cluster::test1("").await;
    cluster.becomes(&[27017, 27018, 27019]).await;
}

#[tokio::test]
async fn polling_srv_records_for_mongos_discovery_prose_2() {
    let cluster = Cluster::test1("").await;
    cluster.becomes(&[27017]).await;
}

#[tokio::test]
async fn polling_srv_records_for_mongos_discovery_prose_3() {
    let cluster = Cluster::test1("").await;
    cluster.becomes(&[27017, 27019]).await;
}

#[tokio::test]
async fn polling_srv_records_for_mongos_discovery_prose_4() {
    let cluster = Cluster::test1("").await;
    cluster.becomes(&[27019]).await;
}

#[tokio::test]
async fn polling_srv_records_for_mongos_discovery_prose_5() {
    let cluster = Cluster::test1("").await;
    cluster.becomes(&[27019, 27020]).await;
}

/// Checks that the answer neither changes the hosts nor ends the polling.
async fn is_ignored(answer: Answer) {
    // Enough time for a lookup on loopback; only a missing answer exceeds it.
    let cluster = Cluster::test1("&connectTimeoutMS=1000").await;
    cluster.dns.set_srv_answer(TEST1, answer);
    cluster.poll_twice().await;
    assert_eq!(cluster.ports(), [27017, 27018]);
    cluster
        .client
        .list_database_names()
        .await
        .expect_err("the mock server has no databases, but it answers");
    set(&cluster.dns, TEST1, &[27019]);
    cluster.wait_until(|ports| ports == [27019]).await;
}

#[tokio::test]
async fn polling_srv_records_for_mongos_discovery_prose_6() {
    is_ignored(Answer::Silence).await;
}

#[tokio::test]
async fn polling_srv_records_for_mongos_discovery_prose_7() {
    is_ignored(Answer::NoSuchDomain).await;
}

#[tokio::test]
async fn polling_srv_records_for_mongos_discovery_prose_8() {
    is_ignored(Answer::Records(Vec::new())).await;
}

#[tokio::test]
async fn polling_srv_records_for_mongos_discovery_prose_9() {
    let uri = format!("mongodb+srv://test3.test.build.10gen.cc/?loadBalanced=true&{FAST}");
    let record = "_mongodb._tcp.test3.test.build.10gen.cc";
    let cluster = Cluster::start(record, &[27017], &uri).await;
    set(&cluster.dns, record, &[27017, 27018]);
    // If SRV polling were active, there would be many queries in this time.
    let more = cluster.dns.wait_for_queries(record, 2);
    tokio::time::timeout(Duration::from_millis(300), more)
        .await
        .expect_err("no SRV polling with a load balancer");
    assert_eq!(cluster.ports(), [27017]);
}

#[tokio::test]
async fn polling_srv_records_for_mongos_discovery_prose_10() {
    let cluster = Cluster::test1("&srvMaxHosts=0").await;
    cluster.becomes(&[27017, 27019, 27020]).await;
}

#[tokio::test]
async fn polling_srv_records_for_mongos_discovery_prose_11() {
    let cluster = Cluster::test1("&srvMaxHosts=2").await;
    cluster.becomes(&[27019, 27020]).await;
}

#[tokio::test]
async fn polling_srv_records_for_mongos_discovery_prose_12() {
    let cluster = Cluster::test1("&srvMaxHosts=2").await;
    let ports = cluster
        .after(&[27017, 27019, 27020], |ports| {
            matches!(ports, [27017, 27019 | 27020])
        })
        .await;
    assert_eq!(ports.len(), 2);
}

#[tokio::test]
async fn polling_srv_records_for_mongos_discovery_prose_13() {
    let uri = format!("mongodb+srv://test22.test.build.10gen.cc/?srvServiceName=customname&{FAST}");
    let record = "_customname._tcp.test22.test.build.10gen.cc";
    let cluster = Cluster::start(record, &[27017, 27018], &uri).await;
    cluster.becomes(&[27019, 27020]).await;
}

#[tokio::test]
async fn a_host_outside_the_domain_is_never_contacted() {
    // The connector rejects other hosts.
    let cluster = Cluster::test1("").await;
    cluster
        .dns
        .set_srv(TEST1, &[(H, 27018), ("evil.example.com", 27017)]);
    cluster.wait_until(|ports| ports == [27018]).await;
    cluster.poll_twice().await;
    assert_eq!(cluster.ports(), [27018]);
}

#[tokio::test]
async fn srv_records_are_not_polled_for_a_replica_set() {
    let set = marula_driver_tests::replica_set().await;
    let seed = set.server.addresses()[0];
    let dns = DnsServer::start().await;
    dns.set_srv(TEST1, &[(H, FIRST_PORT)]);
    let environment = Environment {
        dns: dns.resolver(),
        dialer: Dialer::Mapped(Arc::new(move |host, port| match host {
            H => Some(seed),
            _ => Some(([127, 0, 0, 1], port).into()),
        })),
        min_rescan_interval: Duration::from_millis(10),
        ..Environment::default()
    };
    let uri = format!("mongodb+srv://test1.test.build.10gen.cc/?{FAST}&replicaSet=rs0");
    let client = environment.connect(&uri).await.expect("a client");
    wait_for_description(&client, |text| text.starts_with("ReplicaSetWithPrimary")).await;
    assert_eq!(hosts(&client).len(), 3);
    assert_eq!(dns.queries(TEST1), 1, "no SRV polling for a replica set");
}

#[tokio::test]
async fn srv_polling_ends_with_the_client() {
    let cluster = Cluster::test1("").await;
    cluster.poll_twice().await;
    cluster.client.shutdown().await;
    // One query may be in flight. With an interval of 10 ms, further queries would follow many
    // times in this time.
    let seen = cluster.dns.queries(TEST1);
    let more = cluster.dns.wait_for_queries(TEST1, seen + 2);
    tokio::time::timeout(Duration::from_millis(300), more)
        .await
        .expect_err("SRV polling continues");
}
