//! Log messages of SRV polling.

use std::{sync::Arc, time::Duration};

use marula_driver::{
    bson::Document,
    internals::{Dialer, Environment, wait_for_hosts},
};
use marula_driver_tests::{
    Messages, MockMongos,
    dns::{Answer, DnsServer},
};
use tracing::Level;

const HOST: &str = "localhost.test.build.10gen.cc";
const RECORD: &str = "_mongodb._tcp.test1.test.build.10gen.cc";
const URI: &str = "mongodb+srv://test1.test.build.10gen.cc/?tls=false&heartbeatFrequencyMS=500";

/// Removes all messages, and returns the problems logged so far, each with its SRV record.
fn problems(messages: &Messages) -> Vec<(String, String)> {
    let mut kept = messages.take();
    kept.retain(|message| message.fields.get_str("message").ok() == Some("SRV record problem"));
    let text = |fields: &Document, key| fields.get_str(key).expect("a text").to_owned();
    kept.iter()
        .map(|message| {
            assert_eq!(message.target, "marula_driver::topology");
            assert_eq!(message.level, Level::DEBUG);
            assert_eq!(text(&message.fields, "topologyId").len(), 24);
            (
                text(&message.fields, "srvRecord"),
                text(&message.fields, "failure"),
            )
        })
        .collect()
}

#[tokio::test]
async fn problems_of_srv_answers_are_logged() {
    let (messages, _listening) = Messages::listen(Level::DEBUG);
    let mongos = MockMongos::start().await;
    let dns = DnsServer::start().await;
    dns.set_srv(RECORD, &[(HOST, 27017)]);
    let address = mongos.address;
    let environment = Environment {
        dns: dns.resolver(),
        dialer: Dialer::Mapped(Arc::new(move |_, _| Some(address))),
        min_rescan_interval: Duration::from_millis(10),
        ..Environment::default()
    };
    let client = environment.connect(URI).await.expect("a client");
    let rescan = async || dns.wait_for_queries(RECORD, dns.queries(RECORD) + 3).await;
    rescan().await;
    assert_eq!(problems(&messages), [], "no problem");
    for (answer, why) in [
        (Answer::NoSuchDomain, "does not exist"),
        (Answer::Failure, "cannot be looked up"),
    ] {
        dns.set_srv_answer(RECORD, answer);
        // One lookup may send several queries.
        let mut logged = problems(&messages);
        while !logged.iter().any(|(_, problem)| problem.contains(why)) {
            rescan().await;
            logged = problems(&messages);
        }
        assert!(logged.iter().all(|(record, _)| record == RECORD), "{logged:?}");
    }
    dns.set_srv(RECORD, &[(HOST, 27018), ("evil.example.com", 27017)]);
    let hosts = wait_for_hosts(&client, |hosts| hosts.iter().all(|host| host.ends_with(":27018"))).await;
    assert_eq!(hosts.len(), 1, "the invalid host is ignored");
    rescan().await;
    let (_, problem) = problems(&messages).pop().expect("a message");
    assert!(problem.contains("evil.example.com"), "{problem}");
}
