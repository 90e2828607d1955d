//! The messages of authentication, and the effect of authentication errors on servers and pools.

use std::sync::{Arc, Mutex};

use marula_driver::{
    Client, ErrorKind, NetworkPhase, SYSTEM_OVERLOADED_ERROR,
    bson::doc,
    event::{EventListener, PoolEvent, SdamEvent},
    options::{ClientOptions, ServerApi, ServerApiVersion},
};
use marula_driver_tests::CommandRecorder;
use marula_test_server::TestServer;

use crate::authentication::{
    anonymous, assert_rejected, authenticate, create_user, list_databases, started, uri_of, with_root_user,
};

#[tokio::test]
async fn commands_without_authentication_are_rejected() {
    let server = started(with_root_user()).await;
    let error = authenticate(&anonymous(&server)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Command(_)), "{error}");
    assert_eq!(error.code(), Some(13));
}

#[tokio::test]
async fn users_authenticate_with_every_topology() {
    for builder in [
        with_root_user().replica_set(),
        with_root_user().sharded(),
        with_root_user().load_balanced(),
        with_root_user().version("4.2.0"),
        with_root_user().version("4.4.0").replica_set(),
    ] {
        let server = started(builder).await;
        authenticate(&server.uri()).await.unwrap();
        let error = authenticate(&uri_of(&server, "root:wrong", ""))
            .await
            .unwrap_err();
        assert_rejected(&error, 18);
    }
}

#[tokio::test]
async fn pooled_connections_authenticate_and_monitors_do_not() {
    let server = started(with_root_user()).await;
    let client = Client::connect(format!("{}?minPoolSize=5", server.uri()))
        .await
        .unwrap();
    server.wait_for_command("saslContinue", 5).await;
    list_databases(&client).await.unwrap();
    // The first message of each conversation is in the handshake, and skipEmptyExchange omits the
    // last exchange.
    assert_eq!(server.commands_seen("saslStart"), 0);
    assert_eq!(server.commands_seen("saslContinue"), 5);
    assert!(
        server.connections_created() > 5,
        "the monitor has a separate connection"
    );
}

#[tokio::test]
async fn an_old_server_gets_every_message() {
    let server = started(with_root_user().version("4.2.0")).await;
    authenticate(&server.uri()).await.unwrap();
    assert_eq!(server.commands_seen("saslStart"), 1);
    assert_eq!(server.commands_seen("saslContinue"), 2);
}

#[tokio::test]
async fn a_failed_speculation_falls_back_to_a_full_conversation() {
    let server = started(with_root_user()).await;
    create_user(&server, "old", "old", &["SCRAM-SHA-1"]).await;
    let before = server.commands_seen("saslStart");
    authenticate(&uri_of(&server, "old:old", "")).await.unwrap();
    assert_eq!(server.commands_seen("saslStart"), before + 1);
}

#[tokio::test]
async fn users_authenticate_to_their_auth_source() {
    let server = started(with_root_user()).await;
    let root = Client::connect(server.uri()).await.unwrap();
    let command = doc! { "createUser": "a,b=c@d", "pwd": "x:/?#", "roles": [{ "role": "read", "db": "db" }] };
    root.database("shop").run_command(command).await.unwrap();
    let user = "a%2Cb%3Dc%40d:x%3A%2F%3F%23";
    authenticate(&uri_of(&server, user, "authSource=shop"))
        .await
        .unwrap();
    authenticate(&uri_of(&server, user, "").replace("/?", "/shop?"))
        .await
        .unwrap();
    let error = authenticate(&uri_of(&server, user, "")).await.unwrap_err();
    assert_rejected(&error, 18);
}

#[tokio::test]
async fn x509_and_plain_authenticate() {
    let server = started(with_root_user().x509_user("CN=me").plain_user("ldap", "hunter2")).await;
    let certificate = |user: &str| {
        let uri = anonymous(&server).replacen("mongodb://", &format!("mongodb://{user}"), 1);
        format!("{uri}?authMechanism=MONGODB-X509")
    };
    authenticate(&certificate("")).await.unwrap();
    authenticate(&certificate("CN%3Dme@")).await.unwrap();
    assert_eq!(
        server.commands_seen("authenticate"),
        0,
        "it was speculated in the handshake"
    );
    assert_rejected(&authenticate(&certificate("CN%3Dyou@")).await.unwrap_err(), 18);
    authenticate(&uri_of(&server, "ldap:hunter2", "authMechanism=PLAIN"))
        .await
        .unwrap();
    let wrong = uri_of(&server, "ldap:hunter3", "authMechanism=PLAIN");
    assert_rejected(&authenticate(&wrong).await.unwrap_err(), 18);
}

/// A server that requires an API version with every command requires it with the commands of
/// authentication, too.
#[tokio::test]
async fn authentication_commands_have_the_api_version() {
    let server = started(with_root_user().version("5.0.0")).await;
    create_user(&server, "old", "old", &["SCRAM-SHA-1"]).await;
    let root = Client::connect(server.uri()).await.unwrap();
    let require = doc! { "setParameter": 1, "requireApiVersion": true };
    root.database("admin").run_command(require).await.unwrap();
    for user in ["root:hunter2", "old:old"] {
        let mut options = ClientOptions::parse(&uri_of(&server, user, "")).unwrap();
        options.server_api = Some(ServerApi::new(ServerApiVersion::V1));
        list_databases(&Client::with_options(options).unwrap())
            .await
            .unwrap();
        let undeclared = uri_of(&server, user, "serverSelectionTimeoutMS=1000");
        let error = authenticate(&undeclared).await.unwrap_err();
        assert!(format!("{error:#}").contains("apiVersion"), "{error:#}");
    }
}

#[tokio::test]
async fn a_mechanism_without_its_feature_is_rejected_by_name() {
    let outcome = Client::connect("mongodb://u@h/?authMechanism=GSSAPI").await;
    if cfg!(feature = "gssapi") {
        return outcome.map(drop).unwrap();
    }
    let error = outcome.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");
    assert!(
        error
            .to_string()
            .contains("authMechanism=GSSAPI needs the feature `gssapi`"),
        "{error}"
    );
}

async fn fail_once(server: &TestServer, command: &str, effect: marula_driver::bson::Document) {
    let mut data = doc! { "failCommands": [command] };
    data.extend(effect);
    let point = doc! { "configureFailPoint": "failCommand", "mode": { "times": 1 }, "data": data };
    let client = Client::connect(server.uri())
        .await
        .expect("the fail point is set");
    client
        .database("admin")
        .run_command(point)
        .await
        .expect("the fail point is set");
}

#[tokio::test]
async fn a_network_error_during_authentication_has_no_overload_labels() {
    let server = started(with_root_user()).await;
    let uri = format!("{}?retryReads=false", server.uri());
    fail_once(&server, "saslContinue", doc! { "closeConnection": true }).await;
    let client = Client::connect(&uri).await.unwrap();
    let things = client
        .database("db")
        .collection::<marula_driver::bson::Document>("things");
    let error = things.find_one(doc! {}).await.unwrap_err();
    let ErrorKind::Network(network) = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!(network.phase(), NetworkPhase::Authentication);
    assert!(!error.contains_label(SYSTEM_OVERLOADED_ERROR), "{error}");
    things.find_one(doc! {}).await.unwrap();
}

#[tokio::test]
async fn retryable_errors_during_authentication_are_retried() {
    for effect in [doc! { "closeConnection": true }, doc! { "errorCode": 91 }] {
        let server = started(with_root_user().replica_set()).await;
        fail_once(&server, "saslContinue", effect.clone()).await;
        let client = Client::connect(server.uri()).await.unwrap();
        let things = client.database("db").collection("things");
        things.insert_one(&doc! {}).await.unwrap();
        fail_once(&server, "saslContinue", effect).await;
        let client = Client::connect(server.uri()).await.unwrap();
        let things = client
            .database("db")
            .collection::<marula_driver::bson::Document>("things");
        assert!(things.find_one(doc! {}).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn an_authentication_error_marks_the_server_unknown_and_clears_its_pool() {
    let server = started(with_root_user()).await;
    let events = Arc::<Mutex<Vec<String>>>::default();
    let (pool, sdam) = (Arc::clone(&events), Arc::clone(&events));
    let mut options = ClientOptions::parse(&uri_of(&server, "root:hunter3", "")).unwrap();
    options.pool_listener = Some(EventListener::new(move |event: &PoolEvent| {
        if let PoolEvent::PoolCleared { .. } | PoolEvent::ConnectionClosed { .. } = event {
            pool.lock().unwrap().push(format!("{event:?}"));
        }
    }));
    options.sdam_listener = Some(EventListener::new(move |event: &SdamEvent| {
        if let SdamEvent::ServerDescriptionChanged { new, .. } = event {
            sdam.lock()
                .unwrap()
                .push(format!("{:?} {:?}", new.server_type(), new.error()));
        }
    }));
    let client = Client::with_options(options).unwrap();
    assert_rejected(&list_databases(&client).await.unwrap_err(), 18);
    let events = events.lock().unwrap().clone();
    let place = |part: &str| {
        let found = events.iter().position(|event| event.starts_with(part));
        found.unwrap_or_else(|| panic!("no {part} in {events:#?}"))
    };
    assert!(place("Standalone") < place("Unknown"));
    assert!(place("PoolCleared") < place("ConnectionClosed"));
    assert!(
        events[place("Unknown")].contains("AuthenticationFailed"),
        "{events:#?}"
    );
    assert!(!format!("{events:?}").contains("hunter"), "{events:#?}");
}

#[tokio::test]
async fn passwords_do_not_appear_in_events_errors_or_debug_output() {
    let server = started(with_root_user()).await;
    for (user, works) in [("root:hunter2", true), ("root:hunter22", false)] {
        for mechanism in ["SCRAM-SHA-1", "SCRAM-SHA-256"] {
            let recorder = CommandRecorder::default();
            let options = format!("authMechanism={mechanism}");
            let client = recorder.client_of(&uri_of(&server, user, &options));
            let outcome = list_databases(&client).await;
            assert_eq!(outcome.is_ok(), works);
            let shown = format!("{client:?} {:?}", recorder.take());
            assert!(!shown.contains("hunter"), "{shown}");
            if let Err(error) = outcome {
                let shown = format!("{error} {error:?} {:?}", error.server_response());
                assert!(!shown.contains("hunter") && shown.contains(mechanism), "{shown}");
            }
        }
    }
}

/// An empty password is sent, and the server decides about it; a missing password is an error of
/// the client.
#[tokio::test]
async fn an_empty_password_is_sent_and_a_missing_one_is_not() {
    let server = started(with_root_user()).await;
    for mechanism in ["", "authMechanism=SCRAM-SHA-1", "authMechanism=SCRAM-SHA-256"] {
        let error = authenticate(&uri_of(&server, "root:", mechanism))
            .await
            .unwrap_err();
        assert_rejected(&error, 18);
        let error = Client::connect(uri_of(&server, "root", mechanism))
            .await
            .unwrap_err();
        assert!(error.to_string().contains("password"), "{error}");
    }
}
