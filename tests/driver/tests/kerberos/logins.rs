//! Logins that succeed.

use marula_driver::{
    Client,
    bson::doc,
    options::{AuthMechanism, Credential},
};
use marula_driver_tests::CommandRecorder;

use crate::{
    acceptor::{Acceptor, Lie},
    kdc::{ADA, PASSWORD, SPECIAL},
    support::{
        assert_logs_in, client_with, encoded, fail_once, name_of, options_of, server, server_with, user_of,
    },
};

pub(crate) async fn a_ticket_logs_in() {
    let server = server().await;
    assert_logs_in(&server, ADA, "").await;
    assert_logs_in(&server, ADA, "authSource=$external").await;
    // Monitors and the administrator do not use the mechanism: a token, an empty reply, the choice.
    assert_eq!(server.commands_seen("saslStart"), 2);
    assert_eq!(server.commands_seen("saslContinue"), 4);
}

pub(crate) async fn a_keytab_logs_in() {
    assert_logs_in(&server().await, ADA, "").await;
}

pub(crate) async fn a_password_logs_in() {
    let server = server().await;
    let mut options = options_of(&server, ADA, "");
    let credential = options.credential.take().expect("a credential");
    options.credential = Some(credential.with_password(PASSWORD));
    let client = client_with(options);
    assert_eq!(name_of(&client).await, ADA);
    let uri = format!(
        "mongodb://{}:{PASSWORD}@localhost:{}/?authMechanism=GSSAPI",
        encoded(ADA),
        server.addresses()[0].port()
    );
    let client = Client::connect(&uri).await.expect("a connection string");
    assert_eq!(name_of(&client).await, ADA);
}

pub(crate) async fn names_with_special_characters_log_in() {
    let server = server().await;
    for user in SPECIAL {
        assert_logs_in(&server, user, "").await;
        let mut options = options_of(&server, ADA, "");
        let mut credential = Credential::default();
        credential.mechanism = Some(AuthMechanism::Gssapi);
        credential.username = Some(user.to_owned());
        options.credential = Some(credential);
        let client = client_with(options);
        assert_eq!(name_of(&client).await, user);
    }
}

pub(crate) async fn a_user_without_a_realm_has_the_default_realm() {
    let server = server().await;
    let client = client_with(options_of(&server, "ada", "gssapiServiceName=database"));
    assert_eq!(name_of(&client).await, ADA);
}

pub(crate) async fn several_connections_log_in_at_once() {
    const CONNECTIONS: usize = 8;
    let acceptor = Acceptor::new(Lie::None);
    let server = server_with(&acceptor).await;
    let options = options_of(&server, ADA, "minPoolSize=8&maxConnecting=8");
    let client = client_with(options);
    client.warm_up().await.expect("all connections log in");
    assert_eq!(acceptor.accepted(), CONNECTIONS);
    // After a network error, the pool closes its connections and establishes others.
    fail_once(&server, "find", doc! { "closeConnection": true }).await;
    let things = client
        .database("test")
        .collection::<marula_driver::bson::Document>("things");
    things.find_one(doc! {}).await.expect_err("a failure");
    client.warm_up().await.expect("all connections log in");
    assert!(acceptor.accepted() >= 2 * CONNECTIONS, "{}", acceptor.accepted());
    things.find_one(doc! {}).await.expect("a login");
}

pub(crate) async fn a_server_requires_reauthentication() {
    let acceptor = Acceptor::new(Lie::None);
    let server = server_with(&acceptor).await;
    let client = client_with(options_of(&server, ADA, ""));
    let things = client
        .database("test")
        .collection::<marula_driver::bson::Document>("things");
    things.find_one(doc! {}).await.expect("a login");
    fail_once(&server, "find", doc! { "errorCode": 391 }).await;
    things.find_one(doc! {}).await.expect("a login");
    assert_eq!(acceptor.accepted(), 2);
}

pub(crate) async fn secrets_do_not_appear_in_events_errors_or_debug_output() {
    let server = server().await;
    for (user, is_known) in [(ADA, true), ("unknown@MARULA.TEST", false)] {
        let commands = CommandRecorder::default();
        let mut options = options_of(&server, user, "");
        let credential = options.credential.take().expect("a credential");
        options.credential = Some(credential.with_password(PASSWORD));
        commands.listen(&mut options);
        let shown = format!("{options:?}");
        let client = client_with(options);
        let outcome = user_of(&client).await;
        assert_eq!(outcome.is_ok(), is_known, "{outcome:?}");
        let shown = format!("{shown} {client:?} {outcome:?} {:?}", commands.take());
        assert!(!shown.contains(PASSWORD), "{shown}");
    }
}
