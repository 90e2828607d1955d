//! The properties of the mechanism, in connection strings and in typed credentials.

use std::{net::IpAddr, sync::Arc};

use marula_driver::{
    AuthenticationFailure, Error, KerberosFailure, Result,
    internals::{Dialer, Environment},
    options::{AuthMechanism, ClientOptions, Credential},
};
use marula_driver_tests::dns::DnsServer;
use marula_test_server::TestServer;

use crate::{
    acceptor::{Acceptor, Lie},
    kdc::{ADA, SERVERS_REALM},
    support::{
        assert_kerberos, assert_logs_in, client_with, encoded, error_of, failure, name_of, options_of,
        server, user_of,
    },
};

/// The properties as an option.
fn properties(text: &str) -> String {
    format!("authMechanismProperties={text}")
}

/// The service in an error of Kerberos.
fn service(error: &Error) -> &str {
    match failure(error) {
        AuthenticationFailure::Kerberos(error) => &error.service,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn the_service_name_is_that_of_the_property() {
    let server = server().await;
    for accepted in [
        "SERVICE_NAME:mongodb",
        "SERVICE_NAME:database",
        "service_name:database",
    ] {
        assert_logs_in(&server, ADA, &properties(accepted)).await;
    }
    let error = error_of(&server, ADA, &properties("SERVICE_NAME:other")).await;
    let error = assert_kerberos(&error, KerberosFailure::UnknownService, "SERVICE_NAME");
    assert_eq!(error.service, "other/localhost");
    assert_eq!(error.principal, ADA);
    assert!(!error.message.is_empty());
}

pub(crate) async fn the_service_host_is_that_of_the_property() {
    let server = server().await;
    let by_address = |options: &str| {
        let options = options_of(&server, ADA, options);
        let mut changed = options.clone();
        changed.hosts = vec![server.addresses()[0].to_string().parse().expect("an address")];
        client_with(changed)
    };
    let error = user_of(&by_address("")).await.expect_err("a failure");
    assert_kerberos(&error, KerberosFailure::UnknownService, "SERVICE_HOST");
    assert_eq!(service(&error), "mongodb/127.0.0.1");
    let client = by_address(&properties("SERVICE_HOST:localhost"));
    assert_eq!(name_of(&client).await, ADA);
    // It is not canonicalized.
    let client = by_address(&properties("SERVICE_HOST:localhost,CANONICALIZE_HOST_NAME:true"));
    assert_eq!(name_of(&client).await, ADA);
}

pub(crate) async fn the_service_realm_is_that_of_the_property() {
    let server = server().await;
    assert_logs_in(&server, ADA, &properties("SERVICE_REALM:MARULA.TEST")).await;
    let error = error_of(&server, ADA, &properties("SERVICE_REALM:OTHER.TEST")).await;
    assert_eq!(service(&error), "mongodb/localhost@OTHER.TEST");
    assert_kerberos(&error, KerberosFailure::UnknownService, "SERVICE_REALM");
    let option = properties(&format!("SERVICE_NAME:elsewhere,SERVICE_REALM:{SERVERS_REALM}"));
    assert_logs_in(&server, ADA, &option).await;
}

/// A user of one realm, and servers in another one.
pub(crate) async fn the_service_realm_is_that_of_the_configuration() {
    let server = server().await;
    let option = properties("SERVICE_NAME:elsewhere");
    let error = error_of(&server, ADA, &option).await;
    assert_kerberos(&error, KerberosFailure::UnknownService, "SERVICE_REALM");
    assert_eq!(service(&error), "elsewhere/localhost");
    let path = std::env::var("KRB5_CONFIG").expect("the path of the configuration");
    let mut text = std::fs::read_to_string(&path).expect("the configuration");
    text += &format!("[domain_realm]\n localhost = {SERVERS_REALM}\n");
    std::fs::write(&path, text).expect("the configuration is written");
    assert_logs_in(&server, ADA, &option).await;
    // The property precedes.
    let option = properties("SERVICE_REALM:MARULA.TEST");
    assert_logs_in(&server, ADA, &option).await;
    let option = properties("SERVICE_NAME:elsewhere,SERVICE_REALM:MARULA.TEST");
    let error = error_of(&server, ADA, &option).await;
    assert_eq!(service(&error), "elsewhere/localhost@MARULA.TEST");
}

/// Logs in on a host whose records are those of a DNS server.
async fn log_in_on(host: &str, dns: &DnsServer, server: &TestServer, options: &str) -> Result<String> {
    let address = server.addresses()[0];
    let environment = Environment {
        dialer: Dialer::Mapped(Arc::new(move |_, _| Some(address))),
        dns: dns.resolver(),
        ..Environment::default()
    };
    let user = encoded(ADA);
    let uri = format!("mongodb://{user}@{host}/?authMechanism=GSSAPI&retryReads=false&{options}");
    let client = environment.client(ClientOptions::parse(&uri)?)?;
    Ok(user_of(&client).await?.0)
}

pub(crate) async fn host_names_are_canonicalized() {
    let server = server().await;
    let dns = DnsServer::start().await;
    let address: IpAddr = [192, 0, 2, 7].into();
    dns.set_addresses("db.marula.test", &[address]);
    dns.set_alias("db.marula.test", "alias.marula.test");
    dns.set_alias("alias.marula.test", "Node.Marula.test");
    dns.set_host_name(address, "Rack.Marula.test");
    for value in ["none", "false"] {
        let option = properties(&format!("CANONICALIZE_HOST_NAME:{value}"));
        let error = log_in_on("db.marula.test", &dns, &server, &option)
            .await
            .expect_err("a failure");
        assert_eq!(service(&error), "mongodb/db.marula.test");
        assert_kerberos(&error, KerberosFailure::UnknownService, "CANONICALIZE_HOST_NAME");
    }
    assert!(!dns.asked().contains("alias.marula.test"));
    for value in ["forward", "forwardAndReverse", "true"] {
        let option = properties(&format!("CANONICALIZE_HOST_NAME:{value}"));
        let user = log_in_on("db.marula.test", &dns, &server, &option)
            .await
            .expect("a login");
        assert_eq!(user, ADA, "{value}");
        // Only the service of the host that the mode finds.
        let option = properties(&format!("CANONICALIZE_HOST_NAME:{value},SERVICE_NAME:x"));
        let error = log_in_on("db.marula.test", &dns, &server, &option)
            .await
            .expect_err("a failure");
        let host = if value == "forward" { "node" } else { "rack" };
        assert_eq!(service(&error), format!("x/{host}.marula.test"));
    }
    // Without records, the host is not changed.
    let option = properties("CANONICALIZE_HOST_NAME:true");
    let error = log_in_on("Plain.marula.test", &dns, &server, &option)
        .await
        .expect_err("a failure");
    assert_eq!(service(&error), "mongodb/plain.marula.test");
}

pub(crate) async fn typed_credentials_have_the_same_properties() {
    let server = server().await;
    for (pairs, expected) in [
        (
            &[("SERVICE_NAME", "database"), ("SERVICE_REALM", "MARULA.TEST")][..],
            None,
        ),
        (
            &[
                ("SERVICE_HOST", "localhost"),
                ("CANONICALIZE_HOST_NAME", "forward"),
            ],
            None,
        ),
        (&[("Service_Name", "x")], Some("x/localhost")),
        (&[("SERVICE_HOST", "a/b")], Some(r"mongodb/a\/b")),
    ] {
        let mut options = options_of(&server, ADA, "");
        let mut credential = Credential::default();
        credential.mechanism = Some(AuthMechanism::Gssapi);
        credential.username = Some(ADA.to_owned());
        credential.mechanism_properties = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        options.credential = Some(credential);
        let outcome = user_of(&client_with(options)).await;
        match (outcome, expected) {
            (Ok((user, _)), None) => assert_eq!(user, ADA),
            (Err(error), Some(expected)) => assert_eq!(service(&error), expected),
            (outcome, _) => panic!("{pairs:?}: {outcome:?}"),
        }
    }
}

pub(crate) async fn a_unix_domain_socket_needs_a_service_host() {
    let path = std::env::temp_dir().join(format!("marula-kerberos-{}.sock", std::process::id()));
    let acceptor = Acceptor::new(Lie::None);
    let server = TestServer::builder()
        .gssapi(acceptor, [ADA])
        .unix_socket(&path)
        .start()
        .await
        .expect("the server starts");
    let client = |options: &str| {
        let mut options = options_of(&server, ADA, options);
        options.hosts = vec![path.display().to_string().parse().expect("an address")];
        client_with(options)
    };
    let without = user_of(&client("")).await;
    let with = user_of(&client(&properties("SERVICE_HOST:localhost"))).await;
    let _ = std::fs::remove_file(&path);
    let error = without.expect_err("a failure");
    assert_kerberos(&error, KerberosFailure::NoHost, "set SERVICE_HOST");
    assert_eq!(with.expect("a login").0, ADA);
}
