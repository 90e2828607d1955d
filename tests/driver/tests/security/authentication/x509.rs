//! MONGODB-X509, and passwords over TLS, on servers with TLS.

use marula_driver::{
    Client, ErrorKind, NetworkPhase, bson::doc, internals::wait_for_description, options::ClientOptions,
};
use marula_driver_tests::{Encrypted, tls::Authority};
use marula_test_server::{StartError, TestServer, TestServerBuilder, TlsIdentity};

use crate::authentication::{assert_rejected, authenticate, list_databases, started, with_root_user};

const X509: &str = "authMechanism=MONGODB-X509";

/// A server whose user is the subject of the client certificate.
fn with_certificate_user() -> TestServerBuilder {
    TestServer::builder().x509_user(Encrypted::CLIENT_SUBJECT)
}

/// The connection string with this user.
fn named(uri: &str, user: &str) -> String {
    let name = user.replace('=', "%3D").replace(',', "%2C").replace(' ', "%20");
    uri.replacen("mongodb://", &format!("mongodb://{name}@"), 1)
}

#[tokio::test]
async fn x509_authenticates_with_every_topology() {
    for builder in [
        with_certificate_user(),
        with_certificate_user().replica_set(),
        with_certificate_user().sharded(),
        with_certificate_user().load_balanced(),
        with_certificate_user().version("4.2.0"),
        with_certificate_user().version("4.4.0").replica_set(),
    ] {
        let deployment = Encrypted::start(builder).await;
        let uri = deployment.uri_with_certificate(X509);
        authenticate(&uri).await.unwrap();
        authenticate(&named(&uri, Encrypted::CLIENT_SUBJECT))
            .await
            .unwrap();
        let error = authenticate(&named(&uri, "CN=other,O=else")).await.unwrap_err();
        assert_rejected(&error, 18);
        let error = authenticate(&deployment.uri_with_certificate(""))
            .await
            .unwrap_err();
        assert_eq!(
            error.code(),
            Some(13),
            "a certificate without credentials does not authenticate: {error}"
        );
    }
}

#[tokio::test]
async fn the_server_takes_the_user_name_from_the_certificate() {
    let deployment = Encrypted::start(with_certificate_user()).await;
    let client = Client::connect(deployment.uri_with_certificate(X509))
        .await
        .unwrap();
    let status = client
        .database("admin")
        .run_command(doc! { "connectionStatus": 1 })
        .await
        .unwrap();
    let users = status
        .get_document("authInfo")
        .unwrap()
        .get_array("authenticatedUsers");
    let expected = doc! { "user": "CN=client,OU=tests,O=Marula", "db": "$external" };
    assert_eq!(users.unwrap().as_slice(), [expected.into()]);
    assert_eq!(
        deployment.server.commands_seen("authenticate"),
        0,
        "it was speculated in the handshake"
    );
}

/// The subject of the certificate is not a user of the server.
#[tokio::test]
async fn x509_requires_a_user_for_the_subject() {
    let deployment = Encrypted::start(with_root_user()).await;
    let hosts = deployment.server.addresses()[0];
    let uri = format!(
        "mongodb://{hosts}/?tls=true&tlsCAFile={}&tlsCertificateKeyFile={}&{X509}",
        deployment.authority, deployment.client_key
    );
    assert_rejected(&authenticate(&uri).await.unwrap_err(), 18);
    let root = deployment.client_with("").await;
    let create = doc! { "createUser": Encrypted::CLIENT_SUBJECT, "roles": [{ "role": "read", "db": "db" }] };
    root.database("$external").run_command(create).await.unwrap();
    authenticate(&uri).await.unwrap();
    authenticate(&named(&uri, Encrypted::CLIENT_SUBJECT))
        .await
        .unwrap();
}

#[tokio::test]
async fn x509_without_certificate_is_rejected() {
    // If the certificate is optional, the server has no subject name to authenticate.
    let deployment = Encrypted::start(with_certificate_user()).await;
    let error = authenticate(&deployment.uri(X509)).await.unwrap_err();
    assert_rejected(&error, 18);
    assert!(error.to_string().contains("No verified subject name"), "{error}");
    // If it is required, the TLS handshake fails before any command.
    let deployment = Encrypted::with_client_certificates(with_certificate_user()).await;
    let brief = format!("{X509}&serverSelectionTimeoutMS=300");
    let error = authenticate(&deployment.uri(&brief)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ServerSelection(_)), "{error}");
    assert_eq!(deployment.server.commands_seen("hello"), 0);
    assert_eq!(deployment.server.commands_seen("isMaster"), 0);
    authenticate(&deployment.uri_with_certificate(X509))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_rejected() {
    let deployment = Encrypted::start(with_certificate_user()).await;
    let files = marula_driver_tests::tls::Files::new();
    let stranger = files.write("stranger.pem", &Authority::new().issue(&["localhost"]).pem());
    let options = format!("tlsCertificateKeyFile={stranger}&{X509}&serverSelectionTimeoutMS=300");
    let error = authenticate(&deployment.uri(&options)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ServerSelection(_)), "{error}");
    assert_eq!(deployment.server.commands_seen("authenticate"), 0);
}

#[tokio::test]
async fn scram_authenticates_over_tls_with_every_topology() {
    for builder in [
        with_root_user(),
        with_root_user().replica_set(),
        with_root_user().sharded(),
        with_root_user().load_balanced(),
        with_root_user().version("4.2.0"),
    ] {
        let deployment = Encrypted::start(builder).await;
        for mechanism in ["", "authMechanism=SCRAM-SHA-1", "authMechanism=SCRAM-SHA-256"] {
            authenticate(&deployment.uri(mechanism)).await.unwrap();
        }
        let wrong = deployment.uri("").replacen("hunter2", "hunter3", 1);
        assert_rejected(&authenticate(&wrong).await.unwrap_err(), 18);
        let things = deployment
            .client_with("")
            .await
            .database("db")
            .collection("things");
        let big = doc! { "text": "x".repeat(3 << 20) };
        things.insert_one(&big).await.unwrap();
        let found = things
            .find_one(doc! {})
            .projection(doc! { "_id": 0 })
            .await
            .unwrap();
        assert_eq!(found, Some(big));
    }
}

#[tokio::test]
async fn a_client_without_tls_cannot_use_a_server_with_tls() {
    let deployment = Encrypted::start(TestServer::builder()).await;
    let clear = format!(
        "mongodb://{}/?serverSelectionTimeoutMS=300",
        deployment.server.addresses()[0]
    );
    let error = authenticate(&clear).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ServerSelection(_)), "{error}");
    // The error names a certificate authority that is not trusted.
    let untrusting = format!("{}&serverSelectionTimeoutMS=50", deployment.server.uri());
    let client = Client::connect(untrusting).await.unwrap();
    wait_for_description(&client, |text| text.contains("ertificate")).await;
    let error = list_databases(&client).await.unwrap_err();
    assert!(format!("{error:#}").contains("ertificate"), "{error:#}");
    authenticate(&deployment.uri("")).await.unwrap();
    assert_eq!(deployment.server.commands_seen("listCollections"), 1);
}

/// Messages are compressed before they are encrypted.
#[tokio::test]
async fn tls_connections_are_compressed() {
    let deployment = Encrypted::start(with_root_user().replica_set()).await;
    for name in ["zstd", "zlib"] {
        let client = deployment.client_with(&format!("compressors={name}")).await;
        let things = client.database("db").collection(name);
        let big = doc! { "_id": 1, "text": "x".repeat(3 << 20) };
        things.insert_one(&big).await.unwrap();
        assert_eq!(things.find_one(doc! {}).await.unwrap(), Some(big));
    }
}

/// MONGODB-X509 cannot be combined with a password.
#[tokio::test]
async fn x509_cannot_have_a_password_or_another_auth_source() {
    for uri in [
        "mongodb://u:p@h/?tls=true&authMechanism=MONGODB-X509",
        "mongodb://h/?tls=true&authMechanism=MONGODB-X509&authSource=admin",
        "mongodb://h/?tls=true&authMechanism=MONGODB-X509&authMechanismProperties=SERVICE_NAME:x",
    ] {
        assert!(Client::connect(uri).await.is_err(), "{uri}");
    }
    let options = ClientOptions::parse("mongodb://h/db?tls=true&authMechanism=MONGODB-X509").unwrap();
    assert!(
        options.credential.is_some(),
        "the database in the path is not the authentication source"
    );
}

#[tokio::test]
async fn the_test_server_rejects_a_key_of_another_certificate() {
    let authority = Authority::new();
    let (one, other) = (authority.issue(&["localhost"]), authority.issue(&["localhost"]));
    let identity = TlsIdentity::new(one.certificate_pem(), other.pem());
    let error = TestServer::builder().tls(identity).start().await.unwrap_err();
    assert!(matches!(error, StartError::InvalidTls { .. }), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn users_authenticate_over_a_unix_domain_socket() {
    let path = std::env::temp_dir().join(format!("marula-login-{}.sock", std::process::id()));
    let server = started(with_root_user().unix_socket(&path)).await;
    let escaped = path.to_str().unwrap().replace('/', "%2F");
    let uri = |password: &str| format!("mongodb://root:{password}@{escaped}/");
    authenticate(&uri("hunter2")).await.unwrap();
    assert_rejected(&authenticate(&uri("hunter3")).await.unwrap_err(), 18);
    let client = Client::connect(uri("hunter2")).await.unwrap();
    list_databases(&client).await.unwrap();
    server.stop().await;
    assert!(!path.exists(), "the server deletes the socket");
}

/// A certificate that is rejected during the TLS handshake is a network error of that phase.
#[tokio::test]
async fn a_rejected_certificate_behind_a_load_balancer_has_the_tls_phase() {
    let deployment = Encrypted::with_client_certificates(with_certificate_user().load_balanced()).await;
    let options = format!("{X509}&retryReads=false");
    let error = authenticate(&deployment.uri(&options)).await.unwrap_err();
    let ErrorKind::Network(network) = error.kind() else {
        panic!("{error:?}");
    };
    // In TLS 1.3 the client has completed the handshake before the server verifies its certificate.
    let phase = network.phase();
    assert!(
        matches!(phase, NetworkPhase::TlsHandshake | NetworkPhase::Handshake),
        "{phase:?}"
    );
}
