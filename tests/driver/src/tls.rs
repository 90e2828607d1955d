//! Certificates made on the spot, and a listener that takes off the encryption in front of a server without any.

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::ring::default_provider,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
        server::WebPkiClientVerifier,
    },
};

/// A certificate authority of its own.
pub struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key.
pub struct Identity {
    certificate: Certificate,
    key: KeyPair,
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Authority {
    /// # Panics
    /// When no key can be made.
    #[must_use]
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        let name = format!("Authority {}", NEXT.fetch_add(1, Ordering::Relaxed));
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("a certificate");
        Self {
            certificate,
            issuer: Issuer::new(params, key),
        }
    }

    /// The authority's own certificate, for `tlsCAFile`.
    #[must_use]
    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// A certificate for these names or addresses.
    #[must_use]
    pub fn issue(&self, names: &[&str]) -> Identity {
        self.issue_with(names, |_| {})
    }

    /// A certificate that was in force long ago.
    #[must_use]
    pub fn issue_expired(&self, names: &[&str]) -> Identity {
        self.issue_with(names, |params| {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        })
    }

    fn issue_with(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Identity {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(names).expect("names");
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        Identity { certificate, key }
    }
}

impl Identity {
    /// Certificate and key, for `tlsCertificateKeyFile`.
    #[must_use]
    pub fn pem(&self) -> String {
        self.certificate.pem() + &self.key.serialize_pem()
    }

    /// The certificate alone.
    #[must_use]
    pub fn certificate_pem(&self) -> String {
        self.certificate.pem()
    }
}

/// Files that are gone when this value is.
#[derive(Debug)]
pub struct Files(PathBuf);

impl Default for Files {
    fn default() -> Self {
        Self::new()
    }
}

impl Files {
    /// # Panics
    /// When no folder can be made.
    #[must_use]
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("marula-tls-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    /// Writes a file and returns its path.
    ///
    /// # Panics
    /// When it cannot be written.
    #[must_use]
    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).expect("a file");
        path.to_str().expect("a readable path").to_owned()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a front has met.
#[derive(Clone, Debug, Default)]
pub struct Met {
    /// Handshakes that succeeded.
    pub encrypted: usize,
    /// Those that did not.
    pub refused: usize,
    /// The name that the client asked for last.
    pub server_name: Option<String>,
    /// Whether the last client showed a certificate.
    pub certificate: bool,
}

/// Listens on loopback with TLS and passes on what it decrypts, until it is dropped.
#[derive(Debug)]
pub struct TlsFront {
    /// Where it listens.
    pub address: SocketAddr,
    met: Arc<watch::Sender<Met>>,
    cut: Arc<watch::Sender<()>>,
    task: JoinHandle<()>,
}

impl TlsFront {
    /// Stands in front of `target`.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn start(identity: &Identity, target: SocketAddr) -> Self {
        Self::start_with(identity, None, target).await
    }

    /// As [`start`](Self::start); clients must show a certificate of this authority.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn demanding(identity: &Identity, clients: &Authority, target: SocketAddr) -> Self {
        Self::start_with(identity, Some(clients), target).await
    }

    async fn start_with(identity: &Identity, clients: Option<&Authority>, target: SocketAddr) -> Self {
        let provider = Arc::new(default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("versions");
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(authority.certificate.der().clone()).expect("a root");
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                    .build()
                    .expect("a verifier");
                builder.with_client_cert_verifier(verifier)
            }
        };
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(identity.key.serialize_der()));
        let config = builder
            .with_single_cert(vec![identity.certificate.der().clone()], key)
            .expect("a certificate with its key");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let met = Arc::new(watch::Sender::new(Met::default()));
        let cut = Arc::new(watch::Sender::new(()));
        let (own_met, own_cut) = (Arc::clone(&met), Arc::clone(&cut));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let relay = relay(stream, acceptor.clone(), target, Arc::clone(&own_met));
                let mut cut = own_cut.subscribe();
                tokio::spawn(async move {
                    tokio::select! {
                        () = relay => {}
                        _ = cut.changed() => {}
                    }
                });
            }
        });
        Self {
            address,
            met,
            cut,
            task,
        }
    }

    /// What has come in so far.
    #[must_use]
    pub fn met(&self) -> Met {
        self.met.borrow().clone()
    }

    /// Cuts all connections.
    pub fn cut_all(&self) {
        self.cut.send_replace(());
    }
}

impl Drop for TlsFront {
    fn drop(&mut self) {
        self.task.abort();
        self.cut_all();
    }
}

async fn relay(stream: TcpStream, acceptor: TlsAcceptor, target: SocketAddr, met: Arc<watch::Sender<Met>>) {
    let Ok(mut encrypted) = acceptor.accept(stream).await else {
        met.send_modify(|met| met.refused += 1);
        return;
    };
    let session = encrypted.get_ref().1;
    let (name, certificate) = (
        session.server_name().map(str::to_owned),
        session.peer_certificates().is_some(),
    );
    met.send_modify(|met| {
        met.encrypted += 1;
        met.server_name = name;
        met.certificate = certificate;
    });
    if let Ok(mut plain) = TcpStream::connect(target).await {
        let _ = copy_bidirectional(&mut encrypted, &mut plain).await;
    }
}
