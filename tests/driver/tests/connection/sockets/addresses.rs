//! Name resolution, and connecting to one of several addresses.

use std::{io, net::IpAddr, time::Duration};

use marula_driver::{
    ErrorKind, NetworkPhase,
    bson::{Document, doc},
    internals::{Environment, wait_for_description},
};
use marula_driver_tests::{
    ClosedPort,
    dns::{Answer, DnsServer},
    standalone,
};

use super::{Forward, LONG, attempt, network};

const V4: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);

fn environment(dns: &DnsServer) -> Environment {
    Environment {
        dns: dns.resolver(),
        ..Environment::default()
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_client_connects_although_one_address_does_not_answer() {
    let server = standalone().await.server;
    let live = server.addresses()[0];
    let unresponsive = super::Unresponsive::at((V6, live.port()).into()).await;
    let dns = DnsServer::start().await;
    dns.set_addresses("db.test", &[V6, V4]);
    // The address that does not answer uses the whole timeout if it is the only one.
    let alone = attempt(
        &unresponsive.address.to_string(),
        None,
        Duration::from_millis(100),
    )
    .await;
    let alone = alone.expect_err("no answer");
    assert_eq!(
        network(&alone),
        (NetworkPhase::Connect, io::ErrorKind::TimedOut),
        "{alone}"
    );

    let uri = format!("mongodb://db.test:{}", live.port());
    let client = environment(&dns).connect(&uri).await.expect("a client");
    let things = client.database("d").collection::<Document>("things");
    things.insert_one(&doc! { "_id": 1 }).await.expect("stored");
    assert_eq!(things.count_documents(doc! {}).await.expect("a number"), 1);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn connect_timeout_covers_all_addresses_and_the_error_names_them() {
    let unresponsive = super::Unresponsive::at((V6, 0).into()).await;
    let port = unresponsive.address.port();
    let dns = DnsServer::start().await;
    dns.set_addresses("db.test", &[V6, V4]);
    let host = format!("db.test:{port}");
    // Enough time for the second address, which refuses.
    let error = attempt(&host, Some(dns.resolver()), Duration::from_secs(2)).await;
    let error = error.expect_err("no answer");
    assert_eq!(
        network(&error),
        (NetworkPhase::Connect, io::ErrorKind::TimedOut),
        "{error}"
    );
    let text = error.to_string();
    for part in [
        format!("no answer from [::1]:{port}"),
        format!("127.0.0.1:{port}: "),
        host,
    ] {
        assert!(text.contains(&part), "{text} does not contain {part}");
    }
}

#[tokio::test]
async fn hosts_with_addresses_of_one_family_are_reached() {
    let server = standalone().await.server;
    let live = server.addresses()[0];
    let forward = Forward::start("[::1]:0", live).await;
    let dns = DnsServer::start().await;
    let some = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => Answer::Records(vec![ip.octets().to_vec()]),
        IpAddr::V6(ip) => Answer::Records(vec![ip.octets().to_vec()]),
    };
    for nothing in [
        Answer::Records(Vec::new()),
        Answer::Failure,
        Answer::Silence,
        Answer::NoSuchDomain,
    ] {
        dns.set_address_answers("four.test", some(V4), nothing.clone());
        dns.set_address_answers("six.test", nothing.clone(), some(V6));
        for (host, port) in [("four.test", live.port()), ("six.test", forward.address.port())] {
            let host = format!("{host}:{port}");
            attempt(&host, Some(dns.resolver()), LONG)
                .await
                .unwrap_or_else(|error| panic!("{host}, otherwise {nothing:?}: {error}"));
        }
    }
}

#[tokio::test]
async fn ip_literals_and_localhost_are_not_looked_up() {
    let server = standalone().await.server;
    let live = server.addresses()[0];
    let forward = Forward::start("[::1]:0", live).await;
    let dns = DnsServer::start().await;
    let (four, six) = (live.port(), forward.address.port());
    for host in [
        format!("127.0.0.1:{four}"),
        format!("[::1]:{six}"),
        format!("localhost:{four}"),
        format!("LocalHost.:{four}"),
        // Nothing listens on this port on IPv4.
        format!("localhost:{six}"),
    ] {
        attempt(&host, Some(dns.resolver()), LONG)
            .await
            .unwrap_or_else(|error| panic!("{host}: {error}"));
    }
    assert!(dns.asked().is_empty(), "{:?}", dns.asked());
    let uri = format!("mongodb://[::1]:{six}");
    let client = environment(&dns).connect(&uri).await.expect("a client");
    client.list_database_names().await.expect("an answer");
}

#[tokio::test]
async fn the_error_names_all_refused_addresses() {
    let closed = ClosedPort::new();
    let port = closed.address().port();
    let dns = DnsServer::start().await;
    dns.set_addresses("db.test", &[V4, V6]);
    let error = attempt(&format!("db.test:{port}"), Some(dns.resolver()), LONG)
        .await
        .expect_err("nothing listens");
    let (phase, kind) = network(&error);
    assert_eq!(
        (phase, kind),
        (NetworkPhase::Connect, io::ErrorKind::ConnectionRefused),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains(&format!("[::1]:{port}: ")) && text.contains(&format!("127.0.0.1:{port}: ")),
        "{text}"
    );
}

#[tokio::test]
async fn errors_name_hosts_without_addresses() {
    let dns = DnsServer::start().await;
    let none = || Answer::Records(Vec::new());
    dns.set_address_answers("empty.test", none(), none());
    for host in ["unknown.test", "empty.test"] {
        let error = attempt(host, Some(dns.resolver()), LONG).await.expect_err(host);
        assert_eq!(
            network(&error),
            (NetworkPhase::Resolve, io::ErrorKind::NotFound),
            "{error}"
        );
        assert!(
            error
                .to_string()
                .contains(&format!("DNS knows no address of {host}")),
            "{error}"
        );
    }
    dns.set_address_answers("broken.test", Answer::Failure, Answer::Failure);
    let error = attempt("broken.test", Some(dns.resolver()), LONG)
        .await
        .expect_err("no answer");
    assert_eq!(
        network(&error),
        (NetworkPhase::Resolve, io::ErrorKind::Other),
        "{error}"
    );
    assert!(error.to_string().contains("broken.test"), "{error}");
    dns.set_address_answers("silent.test", Answer::Silence, Answer::Silence);
    let error = attempt("silent.test", Some(dns.resolver()), Duration::from_millis(100)).await;
    let error = error.expect_err("no answer");
    assert_eq!(
        network(&error),
        (NetworkPhase::Resolve, io::ErrorKind::TimedOut),
        "{error}"
    );
    let long = format!("{}.test", "x".repeat(64));
    let error = attempt(&long, Some(dns.resolver()), LONG)
        .await
        .expect_err("no name");
    assert_eq!(network(&error).0, NetworkPhase::Resolve, "{error}");

    let client = environment(&dns)
        .connect("mongodb://unknown.test/?serverSelectionTimeoutMS=200")
        .await
        .expect("a client");
    let text = wait_for_description(&client, |text| text.contains("(Unknown: ")).await;
    assert!(text.contains("DNS knows no address of unknown.test"), "{text}");
    let error = client.list_database_names().await.expect_err("no server");
    assert!(matches!(error.kind(), ErrorKind::ServerSelection(_)), "{error}");
}

/// After a failover that changes the addresses of a name, the next connection uses the new address.
#[tokio::test]
async fn addresses_are_not_cached() {
    let server = standalone().await.server;
    let port = server.addresses()[0].port();
    let dns = DnsServer::start().await;
    let host = format!("db.test:{port}");
    dns.set_addresses("db.test", &[V6]);
    attempt(&host, Some(dns.resolver()), LONG)
        .await
        .expect_err("nothing listens");
    dns.set_addresses("db.test", &[V4]);
    attempt(&host, Some(dns.resolver()), LONG)
        .await
        .expect("the new address");
}

#[tokio::test]
async fn an_answer_with_many_addresses_is_used() {
    let server = standalone().await.server;
    let port = server.addresses()[0].port();
    let dns = DnsServer::start().await;
    // As many as fit into a packet. Nothing listens on any but the last address.
    let mut many: Vec<IpAddr> = (2..30).map(|last| [127, 0, 0, last].into()).collect();
    many.push(V4);
    dns.set_addresses("many.test", &many);
    attempt(&format!("many.test:{port}"), Some(dns.resolver()), LONG)
        .await
        .expect("the last one");
}
