//! The messages of authentication, and the effect of its failures on servers and pools.

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
    anonymous, assert_refused, create_user, guarded, log_in, started, try_out, uri_of,
};

#[tokio::test]
async fn whoever_does_not_log_in_is_refused() {
    let server = started(guarded()).await;
    let error = log_in(&anonymous(&server)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Command(_)), "{error}");
    assert_eq!(error.code(), Some(13));
}

#[tokio::test]
async fn users_log_in_on_every_deployment() {
    for builder in [
        guarded().replica_set(),
        guarded().sharded(),
        guarded().load_balanced(),
        guarded().version("4.2.0"),
        guarded().version("4.4.0").replica_set(),
    ] {
        let server = started(builder).await;
        log_in(&server.uri()).await.unwrap();
        let error = log_in(&uri_of(&server, "root:wrong", "")).await.unwrap_err();
        assert_refused(&error, 18);
    }
}

#[tokio::test]
async fn each_connection_of_a_pool_logs_in_and_monitors_do_not() {
    let server = started(guarded()).await;
    let client = Client::connect(format!("{}?minPoolSize=5", server.uri()))
        .await
        .unwrap();
    server.wait_for_command("saslContinue", 5).await;
    try_out(&client).await.unwrap();
    // The first message of each went with the handshake, and the last exchange was spared.
    assert_eq!(server.commands_seen("saslStart"), 0);
    assert_eq!(server.commands_seen("saslContinue"), 5);
    assert!(server.connections_created() > 5, "the monitor has its own");
}

#[tokio::test]
async fn an_old_server_wants_every_message() {
    let server = started(guarded().version("4.2.0")).await;
    log_in(&server.uri()).await.unwrap();
    assert_eq!(server.commands_seen("saslStart"), 1);
    assert_eq!(server.commands_seen("saslContinue"), 2);
}

#[tokio::test]
async fn a_speculation_that_does_not_fit_is_dropped() {
    let server = started(guarded()).await;
    create_user(&server, "old", "old", &["SCRAM-SHA-1"]).await;
    let before = server.commands_seen("saslStart");
    log_in(&uri_of(&server, "old:old", "")).await.unwrap();
    assert_eq!(server.commands_seen("saslStart"), before + 1);
}

#[tokio::test]
async fn users_of_other_databases_log_in_there() {
    let server = started(guarded()).await;
    let root = Client::connect(server.uri()).await.unwrap();
    let command = doc! { "createUser": "a,b=c@d", "pwd": "x:/?#", "roles": [{ "role": "read", "db": "db" }] };
    root.database("shop").run_command(command).await.unwrap();
    let user = "a%2Cb%3Dc%40d:x%3A%2F%3F%23";
    log_in(&uri_of(&server, user, "authSource=shop")).await.unwrap();
    log_in(&uri_of(&server, user, "").replace("/?", "/shop?"))
        .await
        .unwrap();
    let error = log_in(&uri_of(&server, user, "")).await.unwrap_err();
    assert_refused(&error, 18);
}

#[tokio::test]
async fn certificates_and_plain_passwords_are_mechanisms_too() {
    let server = started(guarded().x509_user("CN=me").plain_user("ldap", "hunter2")).await;
    let certificate = |user: &str| {
        let uri = anonymous(&server).replacen("mongodb://", &format!("mongodb://{user}"), 1);
        format!("{uri}?authMechanism=MONGODB-X509")
    };
    log_in(&certificate("")).await.unwrap();
    log_in(&certificate("CN%3Dme@")).await.unwrap();
    assert_eq!(
        server.commands_seen("authenticate"),
        0,
        "it went with the handshake"
    );
    assert_refused(&log_in(&certificate("CN%3Dyou@")).await.unwrap_err(), 18);
    log_in(&uri_of(&server, "ldap:hunter2", "authMechanism=PLAIN"))
        .await
        .unwrap();
    let wrong = uri_of(&server, "ldap:hunter3", "authMechanism=PLAIN");
    assert_refused(&log_in(&wrong).await.unwrap_err(), 18);
}

/// A server that wants a version of its interface with every command wants it with those that log in.
#[tokio::test]
async fn commands_that_log_in_declare_the_version_of_the_interface() {
    let server = started(guarded().version("5.0.0")).await;
    create_user(&server, "old", "old", &["SCRAM-SHA-1"]).await;
    let root = Client::connect(server.uri()).await.unwrap();
    let require = doc! { "setParameter": 1, "requireApiVersion": true };
    root.database("admin").run_command(require).await.unwrap();
    for user in ["root:hunter2", "old:old"] {
        let mut options = ClientOptions::parse(&uri_of(&server, user, "")).unwrap();
        options.server_api = Some(ServerApi::new(ServerApiVersion::V1));
        try_out(&Client::with_options(options).unwrap()).await.unwrap();
        let undeclared = uri_of(&server, user, "serverSelectionTimeoutMS=1000");
        let error = log_in(&undeclared).await.unwrap_err();
        assert!(format!("{error:#}").contains("apiVersion"), "{error:#}");
    }
}

#[tokio::test]
async fn mechanisms_that_this_version_lacks_are_refused_by_name() {
    for (uri, name) in [
        ("mongodb://u@h/?authMechanism=GSSAPI", "GSSAPI"),
        ("mongodb://h/?authMechanism=MONGODB-AWS", "MONGODB-AWS"),
        (
            "mongodb://h/?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:k8s",
            "MONGODB-OIDC",
        ),
    ] {
        let error = Client::connect(uri).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
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
async fn a_connection_lost_while_logging_in_is_no_sign_of_overload() {
    let server = started(guarded()).await;
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
async fn a_login_that_may_be_retried_is() {
    for effect in [doc! { "closeConnection": true }, doc! { "errorCode": 91 }] {
        let server = started(guarded().replica_set()).await;
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
async fn a_failed_login_marks_the_server_unknown_and_clears_its_pool() {
    let server = started(guarded()).await;
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
    assert_refused(&try_out(&client).await.unwrap_err(), 18);
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
async fn secrets_are_shown_nowhere() {
    let server = started(guarded()).await;
    for (user, works) in [("root:hunter2", true), ("root:hunter22", false)] {
        for mechanism in ["SCRAM-SHA-1", "SCRAM-SHA-256"] {
            let recorder = CommandRecorder::default();
            let options = format!("authMechanism={mechanism}");
            let client = recorder.client_of(&uri_of(&server, user, &options));
            let outcome = try_out(&client).await;
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

/// An empty password is one that the server has to judge; none is a mistake that the client knows of.
#[tokio::test]
async fn an_empty_password_is_sent_and_a_missing_one_is_not() {
    let server = started(guarded()).await;
    for mechanism in ["", "authMechanism=SCRAM-SHA-1", "authMechanism=SCRAM-SHA-256"] {
        let error = log_in(&uri_of(&server, "root:", mechanism)).await.unwrap_err();
        assert_refused(&error, 18);
        let error = Client::connect(uri_of(&server, "root", mechanism))
            .await
            .unwrap_err();
        assert!(error.to_string().contains("password"), "{error}");
    }
}
