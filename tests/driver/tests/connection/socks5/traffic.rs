//! Which connections use the proxy, and which names it resolves.

use std::collections::BTreeMap;

use marula_driver::{
    Client,
    bson::{Document, doc},
    internals::{Environment, wait_for_description},
    options::ClientOptions,
};
use marula_driver_tests::{
    ClosedPort,
    dns::DnsServer,
    socks5::{Destination, Socks5Fault, Socks5Proxy, Socks5Settings},
    standalone,
};

use super::attempt;

const LONG: std::time::Duration = std::time::Duration::from_secs(60);

#[tokio::test]
async fn operations_and_monitors_use_the_proxy() {
    let server = standalone().await.server;
    let proxy = Socks5Proxy::misbehaving(Socks5Fault::None).await;
    let address = server.addresses()[0];
    let client = Client::connect(format!("mongodb://{address}/?{}", proxy.options()))
        .await
        .expect("a client");
    let things = client.database("d").collection::<Document>("things");
    let documents: Vec<Document> = (0..50)
        .map(|n| doc! { "n": n, "t": "x".repeat(10_000) })
        .collect();
    things.insert_many(&documents).await.expect("stored");
    assert_eq!(things.count_documents(doc! {}).await.expect("a number"), 50);
    let destinations = proxy.destinations();
    assert!(
        destinations.len() >= 2,
        "a connection of the monitor and one of the pool"
    );
    assert!(
        destinations
            .iter()
            .all(|wanted| *wanted == Destination::Address(address)),
        "{destinations:?}"
    );
    assert_eq!(
        server.connections_created(),
        destinations.len(),
        "no connection bypasses the proxy"
    );
    assert!(proxy.offers().iter().all(|offered| *offered == [0]));
}

#[tokio::test]
async fn the_driver_resolves_the_proxy_and_the_proxy_resolves_the_server() {
    let server = standalone().await.server;
    let dns = DnsServer::start().await;
    dns.set_addresses("bastion.test", &[[127, 0, 0, 1].into()]);
    let mapped = BTreeMap::from([(("db1.test".to_owned(), 27017), server.addresses()[0])]);
    let proxy = Socks5Proxy::start(Socks5Settings {
        mapped,
        ..Socks5Settings::default()
    })
    .await;
    let environment = Environment {
        dns: dns.resolver(),
        ..Environment::default()
    };
    let port = proxy.address.port();
    let uri = format!("mongodb://db1.test/?proxyHost=bastion.test&proxyPort={port}");
    let client = environment.connect(&uri).await.expect("a client");
    client.list_database_names().await.expect("an answer");
    let asked: Vec<String> = dns.asked().into_iter().collect();
    assert_eq!(
        asked,
        ["bastion.test"],
        "the driver does not resolve the server name"
    );
    let wanted = Destination::Name("db1.test".to_owned(), 27017);
    assert!(
        proxy
            .destinations()
            .iter()
            .all(|destination| *destination == wanted)
    );
}

#[tokio::test]
async fn ipv4_and_ipv6_addresses_are_sent_as_addresses() {
    let proxy = Socks5Proxy::misbehaving(Socks5Fault::Refuse(8)).await;
    for address in ["192.0.2.1:5", "[2001:db8::1]:6"] {
        attempt(address, &proxy.options(), LONG)
            .await
            .expect_err("refused");
    }
    let addresses =
        ["192.0.2.1:5", "[2001:db8::1]:6"].map(|text| Destination::Address(text.parse().expect("valid")));
    assert_eq!(proxy.destinations(), addresses);
}

#[tokio::test]
async fn bound_addresses_of_every_type_are_accepted() {
    let server = standalone().await.server;
    let name = [&[255][..], &[b'x'; 255]].concat();
    for (kind, bytes) in [(1, vec![0; 4]), (4, vec![7; 16]), (3, vec![0]), (3, name)] {
        let proxy = Socks5Proxy::misbehaving(Socks5Fault::BoundAddress(kind, bytes)).await;
        attempt(&server.addresses()[0].to_string(), &proxy.options(), LONG)
            .await
            .unwrap_or_else(|error| panic!("type {kind}: {error}"));
    }
}

#[tokio::test]
async fn all_addresses_of_a_proxy_are_tried() {
    let server = standalone().await.server;
    let proxy = Socks5Proxy::misbehaving(Socks5Fault::None).await;
    let dns = DnsServer::start().await;
    // Nothing listens on the IPv6 address, which is tried first.
    dns.set_addresses(
        "bastion.test",
        &[[127, 0, 0, 1].into(), "::1".parse().expect("valid")],
    );
    let environment = Environment {
        dns: dns.resolver(),
        ..Environment::default()
    };
    let (address, port) = (server.addresses()[0], proxy.address.port());
    let uri = format!("mongodb://{address}/?proxyHost=bastion.test&proxyPort={port}");
    let client = environment.connect(&uri).await.expect("a client");
    client.list_database_names().await.expect("an answer");
}

#[tokio::test]
async fn the_error_of_an_unreachable_proxy_appears_for_every_server() {
    let closed = ClosedPort::new();
    let port = closed.address().port();
    let uri = format!("mongodb://db1.test,db2.test/?proxyHost=127.0.0.1&proxyPort={port}");
    let client = Client::with_options(ClientOptions::parse(&uri).expect("options")).expect("a client");
    let text = wait_for_description(&client, |text| text.matches("(Unknown: ").count() == 2).await;
    assert_eq!(text.matches("through the proxy").count(), 2, "{text}");
    assert!(text.contains("db1.test") && text.contains("refused"), "{text}");
}
