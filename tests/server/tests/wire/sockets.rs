//! TLS connections and Unix domain sockets.

use crate::client::{Client, code, on};
use bson::{Document, doc};
use marula_test_server::{TestCertificates, TestServer, TestServerBuilder};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

async fn encrypted(builder: TestServerBuilder) -> (TestServer, TestCertificates) {
    let made = TestCertificates::generate().unwrap();
    let builder = builder.tls(made.server.clone()).tls_client_ca(&*made.ca_pem);
    (builder.start().await.unwrap(), made)
}

/// Connects with TLS, optionally with a client certificate.
async fn dial(
    address: SocketAddr,
    made: &TestCertificates,
    certificate: bool,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_slice(made.ca_pem.as_bytes()).unwrap();
    roots.add(root).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = if certificate {
        let own = CertificateDer::from_pem_slice(made.client.certificate_pem.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(made.client.key_pem.as_bytes()).unwrap();
        builder.with_client_auth_cert(vec![own], key).unwrap()
    } else {
        builder.with_no_client_auth()
    };
    let connector = TlsConnector::from(Arc::new(config));
    let name = address.ip().into();
    let stream = TcpStream::connect(address).await?;
    connector.connect(name, stream).await
}

/// Runs a command. Returns an error if the server closes the connection.
async fn run(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    body: Document,
) -> std::io::Result<Document> {
    let mut payload = vec![0; 5];
    payload.extend(body.to_vec().unwrap());
    let mut message = Vec::new();
    for word in [payload.len() as i32 + 16, 7, 0, 2013] {
        message.extend(word.to_le_bytes());
    }
    message.extend(payload);
    stream.write_all(&message).await?;
    stream.flush().await?;
    let mut head = [0; 16];
    stream.read_exact(&mut head).await?;
    let length = i32::from_le_bytes(head[..4].try_into().unwrap());
    let mut rest = vec![0; length as usize - 16];
    stream.read_exact(&mut rest).await?;
    Ok(Document::from_reader(&rest[5..]).unwrap())
}

fn authenticate(user: Option<&str>) -> Document {
    let mut body = doc! { "authenticate": 1, "mechanism": "MONGODB-X509" };
    if let Some(user) = user {
        body.insert("user", user);
    }
    on("$external", body)
}

#[tokio::test]
async fn the_subject_of_the_certificate_is_the_user() {
    let subject = TestCertificates::CLIENT_SUBJECT;
    let (server, made) = encrypted(TestServer::builder().x509_user(subject)).await;
    assert!(server.uri().ends_with("/?tls=true"), "{}", server.uri());
    let mut stream = dial(server.addresses()[0], &made, true).await.unwrap();
    let find = || on("db", doc! { "find": "c" });
    assert_eq!(code(&run(&mut stream, find()).await.unwrap()), 13);
    let wrong = run(&mut stream, authenticate(Some("CN=other"))).await.unwrap();
    assert_eq!(code(&wrong), 18);
    assert!(
        wrong.get_str("errmsg").unwrap().contains("matching the user"),
        "{wrong}"
    );
    for user in [None, Some(subject)] {
        let reply = run(&mut stream, authenticate(user)).await.unwrap();
        assert_eq!(reply.get_str("user").ok(), Some(subject), "{reply}");
        assert_eq!(reply.get_str("dbname").ok(), Some("$external"));
    }
    assert_eq!(code(&run(&mut stream, find()).await.unwrap()), 0);
}

#[tokio::test]
async fn all_processes_use_tls() {
    for builder in [
        TestServer::builder().replica_set(),
        TestServer::builder().sharded(),
    ] {
        let (server, made) = encrypted(builder).await;
        let uris = [vec![server.uri(), server.single_uri()], server.member_uris()].concat();
        assert!(uris.iter().all(|uri| uri.contains("tls=true")), "{uris:?}");
        for address in server.addresses() {
            let mut stream = dial(address, &made, true).await.unwrap();
            let reply = run(&mut stream, on("admin", doc! { "ping": 1 })).await.unwrap();
            assert_eq!(reply.get_f64("ok").ok(), Some(1.0));
        }
        server.stop_member(0).await;
        assert!(dial(server.addresses()[0], &made, true).await.is_err());
        server.restart_member(0).await.unwrap();
        dial(server.addresses()[0], &made, true).await.unwrap();
    }
}

#[tokio::test]
async fn client_certificates_are_required_by_default() {
    let ping = || on("admin", doc! { "ping": 1 });
    let (server, made) = encrypted(TestServer::builder()).await;
    let refused = async {
        let mut stream = dial(server.addresses()[0], &made, false).await?;
        run(&mut stream, ping()).await
    };
    refused.await.unwrap_err();
    let builder = TestServer::builder().tls_allow_connections_without_certificates();
    let (server, made) = encrypted(builder).await;
    let mut stream = dial(server.addresses()[0], &made, false).await.unwrap();
    run(&mut stream, ping()).await.unwrap();
    let unauthenticated = run(&mut stream, authenticate(None)).await.unwrap();
    assert_eq!(code(&unauthenticated), 18, "{unauthenticated}");
}

#[tokio::test]
async fn plain_connections_to_a_tls_server_are_closed() {
    let (server, _) = encrypted(TestServer::builder()).await;
    let mut client = Client::connect(server.addresses()[0]).await;
    client.send(0, &on("admin", doc! { "ping": 1 })).await;
    // The server may send a TLS alert before it closes the connection.
    let mut rest = Vec::new();
    let _ = client.stream.read_to_end(&mut rest).await;
    assert_eq!(server.commands_seen("ping"), 0);
}

#[cfg(unix)]
#[tokio::test]
async fn the_first_process_listens_on_a_unix_domain_socket() {
    use tokio::net::UnixStream;
    let path = std::env::temp_dir().join(format!("marula-wire-{}.sock", std::process::id()));
    // A stale socket of an earlier process is replaced.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let builder = TestServer::builder().replica_set().unix_socket(&path);
    let server = builder.start().await.unwrap();
    let mut stream = UnixStream::connect(&path).await.unwrap();
    let hello = run(&mut stream, on("admin", doc! { "hello": 1 })).await.unwrap();
    let first = server.addresses()[0].to_string();
    assert_eq!(hello.get_str("me").ok(), Some(&*first));
    let who = run(&mut stream, on("admin", doc! { "whatsmyuri": 1 }))
        .await
        .unwrap();
    assert_eq!(who.get_str("you").ok(), Some("anonymous unix socket"));
    server.stop_member(0).await;
    assert!(!path.exists());
    server.restart_member(0).await.unwrap();
    UnixStream::connect(&path).await.unwrap();
    server.stop().await;
    assert!(!path.exists());
}

#[cfg(unix)]
#[tokio::test]
async fn a_regular_file_is_not_replaced() {
    let path = std::env::temp_dir().join(format!("marula-wire-{}.txt", std::process::id()));
    std::fs::write(&path, "content").unwrap();
    let refused = TestServer::builder().unix_socket(&path).start().await;
    assert!(refused.is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "content");
    std::fs::remove_file(&path).unwrap();
}
