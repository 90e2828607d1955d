//! Failures of Kerberos before the server is involved.

use std::fs;

use marula_driver::{Error, KerberosFailure};
use marula_driver_tests::ClosedPort;

use crate::{
    kdc::{ADA, configuration},
    support::{assert_kerberos, client_with, error_of, options_of, server, user_of},
};

async fn error_with_password(user: &str, password: &str) -> Error {
    let server = server().await;
    let mut options = options_of(&server, user, "");
    let credential = options.credential.take().expect("a credential");
    options.credential = Some(credential.with_password(password));
    let client = client_with(options);
    let error = user_of(&client).await.expect_err("a failure");
    assert_eq!(server.commands_seen("saslStart"), 0);
    error
}

pub(crate) async fn a_missing_ticket_is_an_error_that_says_how_to_get_one() {
    let server = server().await;
    let error = error_of(&server, ADA, "").await;
    let kerberos = assert_kerberos(&error, KerberosFailure::NoTicket, "run `kinit ada@MARULA.TEST`");
    assert_eq!(kerberos.principal, ADA);
    assert!(error.to_string().contains("KRB5_CLIENT_KTNAME"), "{error}");
    assert_eq!(
        error
            .address()
            .map(|address| address.host().into_owned())
            .as_deref(),
        Some("localhost")
    );
    assert_eq!(server.commands_seen("saslStart"), 0);
}

pub(crate) async fn the_ticket_of_another_user_is_not_used() {
    let server = server().await;
    for user in ["grace/admin@MARULA.TEST", "ada@NOWHERE.TEST"] {
        let error = error_of(&server, user, "").await;
        assert_kerberos(&error, KerberosFailure::NoTicket, &format!("kinit {user}"));
    }
}

pub(crate) async fn an_expired_ticket_is_an_error() {
    let error = error_of(&server().await, ADA, "").await;
    assert_kerberos(&error, KerberosFailure::TicketExpired, "has expired: run `kinit");
}

pub(crate) async fn a_wrong_password_is_an_error() {
    let error = error_with_password(ADA, "wrong-password").await;
    assert_kerberos(&error, KerberosFailure::WrongPassword, "rejected the password");
    assert!(!format!("{error:?}").contains("wrong-password"), "{error:?}");
}

pub(crate) async fn an_unknown_user_is_an_error() {
    let error = error_with_password("eve@MARULA.TEST", "p").await;
    assert_kerberos(
        &error,
        KerberosFailure::UnknownUser,
        "does not know eve@MARULA.TEST",
    );
    let error = error_with_password("ada@NOWHERE.TEST", "p").await;
    assert_kerberos(&error, KerberosFailure::UnknownRealm, "KRB5_CONFIG");
}

fn configure(text: &str) {
    let path = std::env::var("KRB5_CONFIG").expect("the path of the configuration");
    fs::write(path, text).expect("the configuration is written");
}

pub(crate) async fn an_unconfigured_realm_is_an_error() {
    configure("[libdefaults]\n default_realm = MARULA.TEST\n dns_lookup_kdc = false\n");
    let error = error_of(&server().await, ADA, "").await;
    assert_kerberos(&error, KerberosFailure::UnknownRealm, "KRB5_CONFIG");
}

pub(crate) async fn an_unreachable_kdc_is_an_error() {
    let closed = ClosedPort::new();
    configure(&configuration(closed.address().port()));
    let error = error_of(&server().await, ADA, "").await;
    assert_kerberos(&error, KerberosFailure::KdcUnreachable, "KRB5_CONFIG");
}
