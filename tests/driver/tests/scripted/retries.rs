//! Which of two errors is reported.

use marula_driver::{
    Client, ErrorKind, NetworkPhase,
    bson::{Document, doc},
};
use marula_driver_tests::{Answer, ScriptedServer};

/// The first try loses its connection. A check of the server succeeds then, so that it is selected again, but the
/// connection of the retry is closed in its handshake: the server never receives the command a second time.
#[tokio::test]
async fn a_retry_that_reaches_no_server_does_not_hide_the_first_error() {
    for command in ["find", "insert"] {
        let (mut lost, mut found_by) = (None, None);
        let hello = doc! { "logicalSessionTimeoutMinutes": 30 };
        let server = ScriptedServer::start(hello, move |request| {
            if request.name() == command {
                lost = Some(request.connection);
                return Answer::Close;
            }
            if lost.is_none() {
                return Answer::Success;
            }
            // The monitor is first, on its connection or on a new one: it must find the server before the pool opens again.
            if *found_by.get_or_insert(request.connection) == request.connection {
                Answer::Success
            } else {
                Answer::Close
            }
        })
        .await;
        let client = Client::connect(server.uri("serverMonitoringMode=poll"))
            .await
            .expect("a client");
        let things = client.database("d").collection::<Document>("c");
        let error = match command {
            "find" => things.find_one(doc! {}).await.expect_err("lost"),
            _ => things.insert_one(&doc! {}).await.map(drop).expect_err("lost"),
        };
        let ErrorKind::Network(network) = error.kind() else {
            panic!("{command}: {error}");
        };
        assert_eq!(network.phase(), NetworkPhase::Read, "{command}: {error}");
        assert_eq!(server.requests_named(command).len(), 1);
    }
}
