//! MONGODB-X509, and passwords over TLS, on servers with TLS.

use marula_driver::{Client, ErrorKind, NetworkPhase, bson::doc, options::ClientOptions};
use marula_driver_tests::{Encrypted, tls::Authority};
use marula_test_server::{StartError, TestServer, TestServerBuilder, TlsIdentity};

use crate::authentication::{assert_refused, guarded, log_in, started, try_out};

const X509: &str = "authMechanism=MONGODB-X509";

/// Its user is the owner of the client's certificate.
fn of_owner() -> TestServerBuilder {
    TestServer::builder().x509_user(Encrypted::CLIENT_SUBJECT)
}

/// The connection string with this user.
fn named(uri: &str, user: &str) -> String {
    let name = user.replace('=', "%3D").replace(',', "%2C").replace(' ', "%20");
    uri.replacen("mongodb://", &format!("mongodb://{name}@"), 1)
}

#[tokio::test]
async fn the_owner_of_a_certificate_logs_in_on_every_deployment() {
    for builder in [
        of_owner(),
        of_owner().replica_set(),
        of_owner().sharded(),
        of_owner().load_balanced(),
        of_owner().version("4.2.0"),
        of_owner().version("4.4.0").replica_set(),
    ] {
        let deployment = Encrypted::start(builder).await;
        let uri = deployment.uri_with_certificate(X509);
        log_in(&uri).await.unwrap();
        log_in(&named(&uri, Encrypted::CLIENT_SUBJECT)).await.unwrap();
        let error = log_in(&named(&uri, "CN=other,O=else")).await.unwrap_err();
        assert_refused(&error, 18);
        let error = log_in(&deployment.uri_with_certificate("")).await.unwrap_err();
        assert_eq!(
            error.code(),
            Some(13),
            "a certificate without credentials does not authenticate: {error}"
        );
    }
}

#[tokio::test]
async fn the_server_sees_whose_certificate_it_is() {
    let deployment = Encrypted::start(of_owner()).await;
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
        "it went with the handshake"
    );
}

/// The user is the subject of the certificate: this one is not a user of the server.
#[tokio::test]
async fn the_owner_of_a_certificate_must_be_a_user() {
    let deployment = Encrypted::start(guarded()).await;
    let hosts = deployment.server.addresses()[0];
    let uri = format!(
        "mongodb://{hosts}/?tls=true&tlsCAFile={}&tlsCertificateKeyFile={}&{X509}",
        deployment.authority, deployment.client_key
    );
    assert_refused(&log_in(&uri).await.unwrap_err(), 18);
    let root = deployment.client_with("").await;
    let create = doc! { "createUser": Encrypted::CLIENT_SUBJECT, "roles": [{ "role": "read", "db": "db" }] };
    root.database("$external").run_command(create).await.unwrap();
    log_in(&uri).await.unwrap();
    log_in(&named(&uri, Encrypted::CLIENT_SUBJECT)).await.unwrap();
}

#[tokio::test]
async fn who_shows_no_certificate_is_refused() {
    // Where the certificate is optional, there is no user to authenticate.
    let deployment = Encrypted::start(of_owner()).await;
    let error = log_in(&deployment.uri(X509)).await.unwrap_err();
    assert_refused(&error, 18);
    assert!(error.to_string().contains("No verified subject name"), "{error}");
    // Where it is required, the handshake fails before any command.
    let deployment = Encrypted::with_client_certificates(of_owner()).await;
    let brief = format!("{X509}&serverSelectionTimeoutMS=300");
    let error = log_in(&deployment.uri(&brief)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ServerSelection(_)), "{error}");
    assert_eq!(deployment.server.commands_seen("hello"), 0);
    assert_eq!(deployment.server.commands_seen("isMaster"), 0);
    log_in(&deployment.uri_with_certificate(X509)).await.unwrap();
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_refused() {
    let deployment = Encrypted::start(of_owner()).await;
    let files = marula_driver_tests::tls::Files::new();
    let stranger = files.write("stranger.pem", &Authority::new().issue(&["localhost"]).pem());
    let options = format!("tlsCertificateKeyFile={stranger}&{X509}&serverSelectionTimeoutMS=300");
    let error = log_in(&deployment.uri(&options)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ServerSelection(_)), "{error}");
    assert_eq!(deployment.server.commands_seen("authenticate"), 0);
}

#[tokio::test]
async fn passwords_log_in_over_encrypted_connections_on_every_deployment() {
    for builder in [
        guarded(),
        guarded().replica_set(),
        guarded().sharded(),
        guarded().load_balanced(),
        guarded().version("4.2.0"),
    ] {
        let deployment = Encrypted::start(builder).await;
        for mechanism in ["", "authMechanism=SCRAM-SHA-1", "authMechanism=SCRAM-SHA-256"] {
            log_in(&deployment.uri(mechanism)).await.unwrap();
        }
        let wrong = deployment.uri("").replacen("hunter2", "hunter3", 1);
        assert_refused(&log_in(&wrong).await.unwrap_err(), 18);
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
async fn an_encrypted_server_and_a_client_in_the_clear_do_not_meet() {
    let deployment = Encrypted::start(TestServer::builder()).await;
    let clear = format!(
        "mongodb://{}/?serverSelectionTimeoutMS=300",
        deployment.server.addresses()[0]
    );
    let error = log_in(&clear).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ServerSelection(_)), "{error}");
    // A client that does not know the authority says so.
    let untrusting = format!("{}&serverSelectionTimeoutMS=300", deployment.server.uri());
    let error = log_in(&untrusting).await.unwrap_err();
    assert!(format!("{error:#}").contains("ertificate"), "{error:#}");
    log_in(&deployment.uri("")).await.unwrap();
    assert_eq!(deployment.server.commands_seen("listCollections"), 1);
}

/// Compressed bytes are encrypted, not the other way round.
#[tokio::test]
async fn encrypted_connections_are_compressed() {
    let deployment = Encrypted::start(guarded().replica_set()).await;
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
async fn a_certificate_goes_with_no_password_and_no_other_source() {
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
async fn a_server_whose_key_is_of_another_certificate_does_not_start() {
    let authority = Authority::new();
    let (one, other) = (authority.issue(&["localhost"]), authority.issue(&["localhost"]));
    let identity = TlsIdentity::new(one.certificate_pem(), other.pem());
    let error = TestServer::builder().tls(identity).start().await.unwrap_err();
    assert!(matches!(error, StartError::InvalidTls { .. }), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn users_log_in_through_a_unix_domain_socket() {
    let path = std::env::temp_dir().join(format!("marula-login-{}.sock", std::process::id()));
    let server = started(guarded().unix_socket(&path)).await;
    let escaped = path.to_str().unwrap().replace('/', "%2F");
    let uri = |password: &str| format!("mongodb://root:{password}@{escaped}/");
    log_in(&uri("hunter2")).await.unwrap();
    assert_refused(&log_in(&uri("hunter3")).await.unwrap_err(), 18);
    let client = Client::connect(uri("hunter2")).await.unwrap();
    try_out(&client).await.unwrap();
    server.stop().await;
    assert!(!path.exists(), "the socket goes with the server");
}

/// A certificate that is refused during the handshake of TLS is a failure of the socket, in that phase.
#[tokio::test]
async fn a_load_balancer_tells_where_the_handshake_failed() {
    let deployment = Encrypted::with_client_certificates(of_owner().load_balanced()).await;
    let options = format!("{X509}&retryReads=false");
    let error = log_in(&deployment.uri(&options)).await.unwrap_err();
    let ErrorKind::Network(network) = error.kind() else {
        panic!("{error:?}");
    };
    // In TLS 1.3 the client has finished by the time the server looks at its certificate.
    let phase = network.phase();
    assert!(
        matches!(phase, NetworkPhase::TlsHandshake | NetworkPhase::Handshake),
        "{phase:?}"
    );
}
