//! Prose test 28: connections to key management services through HTTP proxies, which the application opens. The key
//! management service stands behind the proxies; its certificate is valid for its own name only, and that of the encrypted
//! proxy for the proxy's only.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use marula_driver::{
    Client, EncryptionError, ErrorKind,
    bson::{Binary, BinarySubtype, Bson, Document, doc},
    encryption::{AutoEncryptionOptions, ClientEncryption, ClientEncryptionOptions, KmsConnect},
    options::ClientOptions,
};
use marula_driver_tests::{
    ConnectProxy, Deployment, QueryAnalysis, kms::KmsDouble, standalone, tls::Authority,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, RootCertStore, crypto::ring::default_provider, pki_types::ServerName},
};

use super::support::{NAMESPACE, master_key, providers};

const KMS: &str = "kms.us-east-1.amazonaws.com";
const PROXY: &str = "localhost";

/// A server with the key vault, AWS, and its authority.
struct Stage {
    deployment: Deployment,
    kms: KmsDouble,
    authority: Authority,
}

impl Stage {
    async fn new() -> Self {
        let authority = Authority::new();
        let kms = KmsDouble::with_identity(&authority, &authority.issue(&[KMS])).await;
        Self {
            deployment: standalone().await,
            kms,
            authority,
        }
    }

    /// Options with TLS for the service, and this function.
    fn options(&self, connect: KmsConnect) -> ClientEncryptionOptions {
        ClientEncryptionOptions::new(NAMESPACE, providers())
            .kms_tls("aws", self.kms.tls())
            .kms_connect(connect)
    }

    async fn create(&self, options: ClientEncryptionOptions) -> marula_driver::Result<()> {
        let encryption = ClientEncryption::new(&self.deployment.client, options)?;
        let key = master_key("aws").expect("a master key");
        encryption.create_data_key("aws").master_key(key).await.map(drop)
    }

    /// The service was asked once, through one tunnel.
    fn check(&self, proxy: &ConnectProxy) {
        assert_eq!(proxy.tunnels(), [format!("{KMS}:443")]);
        let hosts: Vec<String> = self
            .kms
            .requests()
            .into_iter()
            .map(|request| request.host)
            .collect();
        assert_eq!(hosts, [KMS]);
    }
}

/// Asks for a tunnel.
async fn connect<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, host: &str, port: u16) -> io::Result<S> {
    let request = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    stream.flush().await?;
    let mut response = Vec::new();
    while !response.ends_with(b"\r\n\r\n") {
        response.push(stream.read_u8().await?);
    }
    if !response.starts_with(b"HTTP/1.1 200") {
        let status = String::from_utf8_lossy(&response).into_owned();
        return Err(io::Error::other(format!("the proxy answered {status}")));
    }
    Ok(stream)
}

/// A connection through the plain proxy.
async fn through(proxy: SocketAddr, host: &str, port: u16) -> io::Result<TcpStream> {
    connect(TcpStream::connect(proxy).await?, host, port).await
}

fn through_plain_proxy(proxy: &ConnectProxy) -> KmsConnect {
    let proxy = proxy.address;
    KmsConnect::new(move |host, port, _| async move { through(proxy, &host, port).await })
}

fn through_encrypted_proxy(proxy: &ConnectProxy, authority: &Authority) -> KmsConnect {
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).expect("a root");
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let (proxy, connector) = (proxy.address, TlsConnector::from(Arc::new(config)));
    KmsConnect::new(move |host, port, _| {
        let connector = connector.clone();
        async move {
            let name = ServerName::try_from(PROXY).map_err(io::Error::other)?;
            let stream = connector.connect(name, TcpStream::connect(proxy).await?).await?;
            connect(stream, &host, port).await
        }
    })
}

/// Case 1.
pub(crate) async fn client_side_encryption_prose_28_a_plain_proxy_is_used() {
    let stage = Stage::new().await;
    let proxy = ConnectProxy::start(stage.kms.address).await;
    let options = stage.options(through_plain_proxy(&proxy));
    stage.create(options).await.expect("a key");
    stage.check(&proxy);
}

/// Case 2: TLS to the service within TLS to the proxy.
pub(crate) async fn client_side_encryption_prose_28_an_encrypted_proxy_is_used() {
    let stage = Stage::new().await;
    let identity = stage.authority.issue(&[PROXY]);
    let proxy = ConnectProxy::with_tls(&identity, stage.kms.address).await;
    let options = stage.options(through_encrypted_proxy(&proxy, &stage.authority));
    stage.create(options).await.expect("a key");
    stage.check(&proxy);
    // The name of the service is checked, not that of the proxy.
    let other = KmsDouble::with_identity(&stage.authority, &identity).await;
    let proxy = ConnectProxy::with_tls(&identity, other.address).await;
    let options = stage.options(through_encrypted_proxy(&proxy, &stage.authority));
    let error = stage
        .create(options)
        .await
        .expect_err("a certificate of the proxy");
    assert!(format!("{error:#}").contains("not valid for name"), "{error:#}");
}

/// Case 3.
pub(crate) async fn client_side_encryption_prose_28_automatic_encryption_uses_a_proxy() {
    let stage = Stage::new().await;
    let proxy = ConnectProxy::start(stage.kms.address).await;
    let options = stage.options(through_plain_proxy(&proxy));
    let encryption = ClientEncryption::new(&stage.deployment.client, options).expect("options");
    let master_key = master_key("aws").expect("a master key");
    let key = encryption
        .create_data_key("aws")
        .master_key(master_key)
        .await
        .expect("a key");
    proxy.reset();
    let schema = doc! { "bsonType": "object", "properties": { "encrypted_string": { "encrypt": {
        "keyId": [key], "bsonType": "string", "algorithm": "AEAD_AES_256_CBC_HMAC_SHA_512-Deterministic",
    } } } };
    let analysis = QueryAnalysis::start().await;
    let automatic = AutoEncryptionOptions::new(NAMESPACE, providers())
        .kms_tls("aws", stage.kms.tls())
        .kms_connect(through_plain_proxy(&proxy))
        .schema("db.coll", schema)
        .extra_options(analysis.extra_options());
    let options = ClientOptions::parse(&stage.deployment.server.uri()).expect("a connection string");
    let client = Client::with_auto_encryption(options, automatic).expect("a client");
    let collection = client.database("db").collection::<Document>("coll");
    let document = doc! { "_id": 1, "encrypted_string": "hello" };
    collection.insert_one(&document).await.expect("an insert");
    let found = collection.find_one(doc! { "_id": 1 }).await.expect("a find");
    assert_eq!(found, Some(document));
    let plain = stage
        .deployment
        .client
        .database("db")
        .collection::<Document>("coll");
    let stored = plain
        .find_one(doc! { "_id": 1 })
        .await
        .expect("a find")
        .expect("a document");
    assert!(
        matches!(
            stored.get("encrypted_string"),
            Some(Bson::Binary(Binary {
                subtype: BinarySubtype::Encrypted,
                ..
            }))
        ),
        "{stored}"
    );
    // The key is cached.
    assert_eq!(proxy.tunnels(), [format!("{KMS}:443")]);
}

/// Case 4.
pub(crate) async fn client_side_encryption_prose_28_an_error_of_the_application_is_reported() {
    let stage = Stage::new().await;
    let failing = KmsConnect::new(|_, _, _| async { Err::<TcpStream, _>(io::Error::other("no proxy")) });
    let error = stage.create(stage.options(failing)).await.expect_err("no proxy");
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Encryption(EncryptionError::KmsConnection { .. })
        ),
        "{error:?}"
    );
    assert!(format!("{error:#}").contains("no proxy"), "{error:#}");
    assert!(stage.kms.requests().is_empty());
}

/// Case 5.
pub(crate) async fn client_side_encryption_prose_28_the_application_receives_the_time_limit() {
    const LIMIT: Duration = Duration::from_secs(1);

    let stage = Stage::new().await;
    let proxy = ConnectProxy::start(stage.kms.address).await;
    let client = stage.deployment.client_with("timeoutMS=1000").await;
    let times: Arc<Mutex<Vec<Option<Duration>>>> = Arc::default();
    let (address, recorded) = (proxy.address, Arc::clone(&times));
    let connect = KmsConnect::new(move |host, port, time| {
        recorded.lock().unwrap_or_else(PoisonError::into_inner).push(time);
        async move { through(address, &host, port).await }
    });
    let encryption = ClientEncryption::new(&client, stage.options(connect)).expect("options");
    let key = master_key("aws").expect("a master key");
    encryption
        .create_data_key("aws")
        .master_key(key)
        .await
        .expect("a key");
    stage.check(&proxy);
    let times = times.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let [Some(time)] = times[..] else {
        panic!("{times:?}");
    };
    assert!(time > Duration::ZERO && time <= LIMIT, "{time:?}");
}

/// Case 6.
pub(crate) async fn client_side_encryption_prose_28_a_network_error_of_the_application_is_retried() {
    let stage = Stage::new().await;
    let proxy = ConnectProxy::start(stage.kms.address).await;
    let calls: Arc<Mutex<usize>> = Arc::default();
    let (address, counted) = (proxy.address, Arc::clone(&calls));
    let connect = KmsConnect::new(move |host, port, _| {
        let mut calls = counted.lock().unwrap_or_else(PoisonError::into_inner);
        *calls += 1;
        let is_first = *calls == 1;
        async move {
            if is_first {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            through(address, &host, port).await
        }
    });
    stage.create(stage.options(connect)).await.expect("a key");
    stage.check(&proxy);
    assert_eq!(*calls.lock().unwrap_or_else(PoisonError::into_inner), 2);
}
