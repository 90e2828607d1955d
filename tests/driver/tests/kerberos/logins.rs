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
    support::{encoded, fail_once, log_in, options_of, server, server_with, user_of},
};

pub(crate) async fn a_ticket_logs_in() {
    let server = server().await;
    log_in(&server, ADA, "").await.unwrap();
    log_in(&server, ADA, "authSource=$external").await.unwrap();
    // Monitors and the administrator do not use the mechanism: a token, an empty reply, the choice.
    assert_eq!(server.commands_seen("saslStart"), 2);
    assert_eq!(server.commands_seen("saslContinue"), 4);
}

pub(crate) async fn a_keytab_logs_in() {
    log_in(&server().await, ADA, "").await.unwrap();
}

pub(crate) async fn a_password_logs_in() {
    let server = server().await;
    let mut options = options_of(&server, ADA, "");
    let credential = options.credential.take().unwrap();
    options.credential = Some(credential.with_password(PASSWORD));
    let client = Client::with_options(options).unwrap();
    assert_eq!(user_of(&client).await.unwrap().0, ADA);
    let uri = format!(
        "mongodb://{}:{PASSWORD}@localhost:{}/?authMechanism=GSSAPI",
        encoded(ADA),
        server.addresses()[0].port()
    );
    let client = Client::connect(&uri).await.unwrap();
    assert_eq!(user_of(&client).await.unwrap().0, ADA);
}

pub(crate) async fn names_with_special_characters_log_in() {
    let server = server().await;
    for user in SPECIAL {
        log_in(&server, user, "").await.unwrap();
        let mut options = options_of(&server, ADA, "");
        let mut credential = Credential::default();
        credential.mechanism = Some(AuthMechanism::Gssapi);
        credential.username = Some(user.to_owned());
        options.credential = Some(credential);
        let client = Client::with_options(options).unwrap();
        assert_eq!(user_of(&client).await.unwrap().0, user);
    }
}

pub(crate) async fn several_connections_log_in_at_once() {
    const CONNECTIONS: usize = 8;
    let acceptor = Acceptor::new(Lie::None);
    let server = server_with(&acceptor).await;
    let options = options_of(&server, ADA, "minPoolSize=8&maxConnecting=8");
    let client = Client::with_options(options).unwrap();
    client.warm_up().await.unwrap();
    assert_eq!(acceptor.accepted(), CONNECTIONS);
    // A network error closes the connections of the pool, and all log in again.
    fail_once(&server, "find", doc! { "closeConnection": true }).await;
    let things = client
        .database("test")
        .collection::<marula_driver::bson::Document>("things");
    things.find_one(doc! {}).await.unwrap_err();
    client.warm_up().await.unwrap();
    assert!(acceptor.accepted() >= 2 * CONNECTIONS, "{}", acceptor.accepted());
    things.find_one(doc! {}).await.unwrap();
}

pub(crate) async fn a_server_requires_reauthentication() {
    let acceptor = Acceptor::new(Lie::None);
    let server = server_with(&acceptor).await;
    let client = Client::with_options(options_of(&server, ADA, "")).unwrap();
    let things = client
        .database("test")
        .collection::<marula_driver::bson::Document>("things");
    things.find_one(doc! {}).await.unwrap();
    fail_once(&server, "find", doc! { "errorCode": 391 }).await;
    things.find_one(doc! {}).await.unwrap();
    assert_eq!(acceptor.accepted(), 2);
}

pub(crate) async fn secrets_do_not_appear_in_events_errors_or_debug_output() {
    let server = server().await;
    for (user, is_known) in [(ADA, true), ("unknown@MARULA.TEST", false)] {
        let commands = CommandRecorder::default();
        let mut options = options_of(&server, user, "");
        let credential = options.credential.take().unwrap();
        options.credential = Some(credential.with_password(PASSWORD));
        commands.listen(&mut options);
        let shown = format!("{options:?}");
        let client = Client::with_options(options).unwrap();
        let outcome = user_of(&client).await;
        assert_eq!(outcome.is_ok(), is_known, "{outcome:?}");
        let shown = format!("{shown} {client:?} {outcome:?} {:?}", commands.take());
        assert!(!shown.contains(PASSWORD), "{shown}");
    }
}
