//! The initial SRV and TXT lookup.

use std::sync::Arc;

use marula_driver::{
    Client, Error, ErrorKind, NetworkPhase,
    internals::{Environment, hosts},
    options::ClientOptions,
};
use marula_driver_tests::dns::{Answer, CannedDns, DnsServer};

fn canned(dns: CannedDns) -> Environment {
    Environment {
        dns: Arc::new(dns),
        ..Environment::default()
    }
}

async fn resolve(environment: &Environment, uri: &str) -> Result<ClientOptions, Error> {
    environment.resolve(ClientOptions::parse(uri)?).await
}

async fn rejection(hostname: &str, target: &str) -> String {
    let environment = canned(CannedDns::default().with_srv(hostname, target, 27017));
    let error = resolve(&environment, &format!("mongodb+srv://{hostname}"))
        .await
        .expect_err(target);
    assert!(matches!(error.kind(), ErrorKind::Dns(_)), "{error}");
    assert!(
        error.to_string().contains(target),
        "{error} does not name {target}"
    );
    error.to_string()
}

#[tokio::test]
async fn initial_dns_seedlist_discovery_prose_1() {
    for hostname in ["localhost", "mongo.local"] {
        let target = format!("test_1.{hostname}");
        let environment = canned(CannedDns::default().with_srv(hostname, &target, 27017));
        let options = resolve(&environment, &format!("mongodb+srv://{hostname}"))
            .await
            .expect("a host name with few labels");
        assert_eq!(options.hosts[0].to_string(), format!("{target}:27017"));
    }
}

#[tokio::test]
async fn initial_dns_seedlist_discovery_prose_2() {
    rejection("localhost", "localhost.mongodb").await;
    rejection("mongo.local", "test_1.evil.local").await;
    rejection("blogs.mongodb.com", "blogs.evil.com").await;
}

#[tokio::test]
async fn initial_dns_seedlist_discovery_prose_3() {
    rejection("localhost", "localhost").await;
    rejection("mongo.local", "mongo.local").await;
}

#[tokio::test]
async fn initial_dns_seedlist_discovery_prose_4() {
    rejection("localhost", "test_1.cluster_1localhost").await;
    rejection("mongo.local", "test_1.my_hostmongo.local").await;
    rejection("blogs.mongodb.com", "cluster.testmongodb.com").await;
}

const NAME: &str = "_mongodb._tcp.cluster.example.com";
const URI: &str = "mongodb+srv://cluster.example.com/?connectTimeoutMS=2000";

async fn server() -> (DnsServer, Environment) {
    let dns = DnsServer::start().await;
    let environment = Environment {
        dns: dns.resolver(),
        ..Environment::default()
    };
    (dns, environment)
}

#[tokio::test]
async fn srv_and_txt_records_become_hosts_and_options() {
    let (dns, environment) = server().await;
    dns.set_srv(NAME, &[("b.example.com", 1), ("A.Example.com", 2)]);
    dns.set_txt(
        "cluster.example.com",
        &[&["replicaSet=r", "s0&auth", "Source=admins"]],
    );
    let options = resolve(&environment, URI).await.expect("options");
    let mut found: Vec<String> = options.hosts.iter().map(ToString::to_string).collect();
    found.sort();
    assert_eq!(found, ["a.example.com:2", "b.example.com:1"]);
    assert_eq!(options.replica_set.as_deref(), Some("rs0"));
    assert_eq!(options.auth_source(), Some("admins"));
    assert_eq!(options.tls.enabled, Some(true), "TLS is the default");
    let again = environment
        .resolve(options.clone())
        .await
        .expect("the options are resolved");
    assert_eq!(again, options);
}

#[tokio::test]
async fn options_of_the_connection_string_override_the_txt_record() {
    let (dns, environment) = server().await;
    dns.set_srv(NAME, &[("b.example.com", 1)]);
    dns.set_txt("cluster.example.com", &[&["replicaSet=rs0&authSource=admins"]]);
    let mut options = ClientOptions::parse("mongodb+srv://u:p@cluster.example.com/shop").expect("options");
    options.replica_set = Some("mine".into());
    options.tls.enabled = Some(false);
    let resolved = environment.resolve(options.clone()).await.expect("hosts");
    assert_eq!(resolved.replica_set.as_deref(), Some("mine"));
    assert_eq!(resolved.tls.enabled, Some(false));
    let source = |options: ClientOptions| options.credential.and_then(|credential| credential.source);
    assert_eq!(
        source(resolved).as_deref(),
        Some("admins"),
        "authSource is not the database"
    );
    if let Some(credential) = &mut options.credential {
        credential.source = Some("mine".into());
    }
    let resolved = environment.resolve(options.clone()).await.expect("hosts");
    assert_eq!(source(resolved).as_deref(), Some("mine"));
}

#[tokio::test]
async fn dns_errors_name_the_record() {
    let (dns, environment) = server().await;
    let error = async || resolve(&environment, URI).await.expect_err("no hosts");

    for answer in [Answer::NoSuchDomain, Answer::Records(Vec::new())] {
        dns.set_srv_answer(NAME, answer);
        let none = error().await;
        assert!(matches!(none.kind(), ErrorKind::Dns(_)), "{none}");
        assert!(none.to_string().contains(NAME), "{none}");
    }
    for answer in [Answer::Failure, Answer::Silence] {
        dns.set_srv_answer(NAME, answer);
        let failed = error().await;
        let ErrorKind::Network(network) = failed.kind() else {
            panic!("{failed}");
        };
        assert_eq!(network.phase(), NetworkPhase::Resolve);
        assert!(failed.to_string().contains(NAME), "{failed}");
        assert!(failed.is_unavailable());
    }
    dns.set_srv(NAME, &[("b.example.com", 1), ("b.example.org", 1)]);
    assert!(error().await.to_string().contains("b.example.org"));
    dns.set_srv(NAME, &[("b.example.com", 0)]);
    assert!(error().await.to_string().contains("port 0"));
    dns.set_srv(NAME, &[("", 1)]);
    assert!(error().await.to_string().contains("not offered"));
    dns.set_srv(NAME, &[("b.example.com", 1)]);
    dns.set_txt("cluster.example.com", &[&["a=b"]]);
    let txt = error().await.to_string();
    assert!(
        txt.contains("cluster.example.com") && txt.contains("allowed"),
        "{txt}"
    );
}

#[tokio::test]
async fn a_client_requires_resolved_options() {
    let options = ClientOptions::parse("mongodb+srv://cluster.example.com").expect("options");
    let error = Client::with_options(options).expect_err("no hosts yet");
    assert!(error.to_string().contains("resolve()"), "{error}");
}

#[tokio::test]
async fn a_client_uses_the_hosts_of_the_srv_records() {
    let (dns, environment) = server().await;
    dns.set_srv(
        NAME,
        &[("b.example.com", 1), ("c.example.com", 2), ("d.example.com", 3)],
    );
    let client = environment
        .connect("mongodb+srv://cluster.example.com/?tls=false&srvMaxHosts=2")
        .await
        .expect("a client");
    let found = hosts(&client);
    assert_eq!(found.len(), 2);
    assert!(
        found.iter().all(|host| host.contains(".example.com:")),
        "{found:?}"
    );
}
