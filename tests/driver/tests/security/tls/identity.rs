//! The verification of server and client certificates.

use std::{error::Error as _, io};

use marula_driver::{Client, Error, ErrorKind, NetworkPhase};
use marula_driver_tests::{
    ClosedPort, standalone,
    tls::{Authority, Files, TlsTerminator},
};

use super::{Encrypted, selection_error, works};

#[tokio::test]
async fn a_server_with_a_certificate_of_the_authority_is_trusted() {
    let encrypted = Encrypted::valid().await;
    works(&encrypted.trusting("")).await;
    let counts = encrypted.terminator.counts();
    assert_eq!(
        counts.server_name.as_deref(),
        Some("localhost"),
        "the server name is sent"
    );
    assert!(!counts.certificate && counts.encrypted >= 2, "{counts:?}");
    assert_eq!(counts.refused, 0);
    let again = encrypted.uri("localhost", &format!("ssl=true&tlsCAFile={}", encrypted.ca_file));
    works(&again).await;
}

#[tokio::test]
async fn a_certificate_for_an_ip_address_is_trusted() {
    let encrypted = Encrypted::start(|authority| authority.issue(&["127.0.0.1"])).await;
    works(&encrypted.uri("127.0.0.1", &format!("tlsCAFile={}", encrypted.ca_file))).await;
    assert_eq!(
        encrypted.terminator.counts().server_name,
        None,
        "no server name is sent for an IP address"
    );
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_not_trusted() {
    let encrypted = Encrypted::valid().await;
    let other = encrypted.files.write("other.pem", &Authority::new().pem());
    for uri in [
        encrypted.uri("localhost", &format!("tlsCAFile={other}")),
        encrypted.uri(
            "localhost",
            &format!("tlsCAFile={other}&tlsAllowInvalidHostnames=true"),
        ),
    ] {
        let text = selection_error(&uri).await;
        assert!(text.contains("could not be encrypted"), "{text}");
        assert!(
            text.contains("certificate")
                && text.contains("UnknownIssuer")
                && text.contains("tlsCAFile must name"),
            "{text}"
        );
    }
    works(&encrypted.uri(
        "localhost",
        &format!("tlsCAFile={other}&tlsAllowInvalidCertificates=true"),
    ))
    .await;
    works(&encrypted.uri("localhost", &format!("tlsCAFile={other}&tlsInsecure=true"))).await;
}

/// An application can distinguish an untrusted certificate from a closed port.
#[tokio::test]
async fn the_source_of_a_server_selection_error_is_its_cause() {
    let encrypted = Encrypted::valid().await;
    let other = encrypted.files.write("other.pem", &Authority::new().pem());
    let port = ClosedPort::new();
    let closed = port.address();
    for (uri, phase, io_kind) in [
        (
            encrypted.uri("localhost", &format!("tlsCAFile={other}")),
            NetworkPhase::TlsHandshake,
            io::ErrorKind::InvalidData,
        ),
        (
            format!("mongodb://{closed}/?tls=false"),
            NetworkPhase::Connect,
            io::ErrorKind::ConnectionRefused,
        ),
    ] {
        let client = Client::connect(format!("{uri}&serverSelectionTimeoutMS=1000"))
            .await
            .expect("valid options");
        let error = client
            .list_database_names()
            .await
            .expect_err("no server is available");
        assert!(matches!(error.kind(), ErrorKind::ServerSelection(_)), "{error}");
        let source = error.source().and_then(|source| source.downcast_ref::<Error>());
        let source = source.expect("the cause");
        let ErrorKind::Network(network) = source.kind() else {
            panic!("{source:?}");
        };
        assert_eq!((network.phase(), network.io_kind()), (phase, io_kind));
        let whole = format!("{error:#}");
        let reason = source.to_string();
        assert_eq!(whole.matches(&reason).count(), 1, "{whole}");
        assert!(!error.to_string().contains(&reason), "{error}");
    }
}

#[tokio::test]
async fn a_certificate_for_another_name_is_rejected() {
    let encrypted = Encrypted::start(|authority| authority.issue(&["other.example.com"])).await;
    let text = selection_error(&encrypted.trusting("")).await;
    assert!(
        text.contains("certificate") && text.contains("other.example.com"),
        "{text}"
    );
    works(&encrypted.trusting("tlsAllowInvalidHostnames=true")).await;
    works(&encrypted.trusting("tlsAllowInvalidCertificates=true")).await;
    works(&encrypted.trusting("tlsInsecure=true")).await;
}

#[tokio::test]
async fn an_expired_certificate_is_rejected() {
    let encrypted = Encrypted::start(|authority| authority.issue_expired(&["localhost"])).await;
    for options in ["", "tlsAllowInvalidHostnames=true"] {
        let text = selection_error(&encrypted.trusting(options)).await;
        assert!(text.contains("expired"), "{text}");
    }
    works(&encrypted.trusting("tlsInsecure=true")).await;
}

#[tokio::test]
async fn options_set_to_false_do_not_disable_checks() {
    let encrypted = Encrypted::start(|authority| authority.issue(&["other.example.com"])).await;
    for options in [
        "tlsInsecure=false",
        "tlsAllowInvalidHostnames=false",
        "tlsAllowInvalidCertificates=false",
    ] {
        let text = selection_error(&encrypted.trusting(options)).await;
        assert!(text.contains("other.example.com"), "{options}: {text}");
    }
}

#[tokio::test]
async fn the_client_presents_its_certificate() {
    let authority = Authority::new();
    let clients = Authority::new();
    let server = standalone().await.server;
    let identity = authority.issue(&["localhost"]);
    let terminator =
        TlsTerminator::with_client_certificates(&identity, &clients, server.addresses()[0]).await;
    let files = Files::new();
    let ca_file = files.write("ca.pem", &authority.pem());
    let uri = |options: &str| {
        let port = terminator.address.port();
        format!("mongodb://localhost:{port}/?tls=true&tlsCAFile={ca_file}&{options}")
    };
    let own = files.write("client.pem", &clients.issue(&["a client"]).pem());
    works(&uri(&format!("tlsCertificateKeyFile={own}"))).await;
    assert!(terminator.counts().certificate);

    let foreign = files.write("foreign.pem", &authority.issue(&["a client"]).pem());
    for options in [String::new(), format!("tlsCertificateKeyFile={foreign}")] {
        let text = selection_error(&uri(&options)).await;
        assert!(text.contains("alert"), "the server sends an alert: {text}");
    }
}

#[tokio::test]
async fn invalid_files_are_rejected_by_name() {
    let files = Files::new();
    let identity = Authority::new().issue(&["a client"]);
    let certificate = files.write("certificate.pem", &identity.certificate_pem());
    let nothing = files.write("nothing.pem", "no certificate here");
    let broken = files.write(
        "broken.pem",
        "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n",
    );
    let of_no_use = files.write(
        "of_no_use.pem",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    );
    let old_form = files.write(
        "old_form.pem",
        &format!(
            "{}-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----\n",
            identity.certificate_pem()
        ),
    );
    let encrypted = files.write(
        "encrypted.pem",
        &format!(
            "{}-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
            identity.certificate_pem()
        ),
    );
    let other_key = files.write(
        "other_key.pem",
        &(identity.certificate_pem() + key_of(&Authority::new().issue(&["another"]).pem())),
    );
    for (options, parts) in [
        (
            "tlsCAFile=/nowhere/ca.pem".to_owned(),
            ["tlsCAFile", "/nowhere/ca.pem"],
        ),
        (format!("tlsCAFile={nothing}"), ["tlsCAFile", "no certificate"]),
        (format!("tlsCAFile={broken}"), ["tlsCAFile", "not a PEM file"]),
        (
            format!("tlsCAFile={of_no_use}"),
            ["tlsCAFile", "an invalid certificate"],
        ),
        (
            "tlsCertificateKeyFile=/nowhere/key.pem".to_owned(),
            ["tlsCertificateKeyFile", "cannot be read"],
        ),
        (
            format!("tlsCertificateKeyFile={certificate}"),
            ["tlsCertificateKeyFile", "no private key"],
        ),
        (
            format!("tlsCertificateKeyFile={old_form}&tlsCertificateKeyFilePassword=hunter2"),
            ["tlsCertificateKeyFile", "openssl pkcs8"],
        ),
        (
            format!("tlsCertificateKeyFile={encrypted}"),
            ["tlsCertificateKeyFile", "tlsCertificateKeyFilePassword"],
        ),
        (
            format!("tlsCertificateKeyFile={encrypted}&tlsCertificateKeyFilePassword=hunter2"),
            ["tlsCertificateKeyFile", "encrypted key"],
        ),
        (
            format!("tlsInsecure=true&tlsCertificateKeyFile={other_key}"),
            ["tlsCertificateKeyFile", "cannot be used"],
        ),
    ] {
        let uri = format!("mongodb://localhost/?tls=true&{options}");
        let error = Client::connect(&uri).await.expect_err(&options);
        assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error}");
        let text = error.to_string();
        assert!(parts.iter().all(|part| text.contains(part)), "{options}: {text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}

fn key_of(pem: &str) -> &str {
    let begin = pem.find("-----BEGIN PRIVATE KEY").expect("a key");
    &pem[begin..]
}

/// Enabling revocation checks cannot be combined with disabling other checks.
async fn cannot_be_combined(a: &str, b: &str) {
    for given in ["true", "false"] {
        let uri = format!("mongodb://localhost/?tls=true&{a}=true&{b}={given}");
        let error = Client::connect(&uri).await.expect_err(&uri);
        let text = error.to_string();
        assert!(text.contains(a) && text.contains(b), "{text}");
    }
}

#[tokio::test]
async fn ocsp_support_prose_invalid_1() {
    cannot_be_combined("tlsInsecure", "tlsDisableCertificateRevocationCheck").await;
    cannot_be_combined("tlsInsecure", "tlsDisableOCSPEndpointCheck").await;
}

#[tokio::test]
async fn ocsp_support_prose_invalid_2() {
    cannot_be_combined(
        "tlsAllowInvalidCertificates",
        "tlsDisableCertificateRevocationCheck",
    )
    .await;
    cannot_be_combined("tlsAllowInvalidCertificates", "tlsDisableOCSPEndpointCheck").await;
}
