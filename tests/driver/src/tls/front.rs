//! A listener with TLS.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
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
        DEFAULT_VERSIONS, HandshakeKind, RootCertStore, ServerConfig, SupportedProtocolVersion,
        crypto::ring::default_provider,
        server::{NoServerSessionStorage, WebPkiClientVerifier},
    },
};

use super::{Authority, Identity};

/// What a front does beside showing its certificate.
#[derive(Default)]
pub struct FrontOptions<'a> {
    /// Clients must show a certificate of this authority.
    pub clients: Option<&'a Authority>,
    /// The OCSP response that it staples; empty: none.
    pub staple: Vec<u8>,
    /// The versions of TLS that it speaks; empty: all.
    pub versions: &'static [&'static SupportedProtocolVersion],
    /// It remembers no sessions: every handshake is a full one.
    pub forgets_sessions: bool,
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
    /// Handshakes that resumed a session.
    pub resumed: usize,
    /// Whether the last client showed a certificate.
    pub certificate: bool,
}

/// Listens on loopback with TLS and passes on what it decrypts, until it is dropped.
pub struct TlsFront {
    /// Where it listens.
    pub address: SocketAddr,
    met: Arc<watch::Sender<Met>>,
    cut: Arc<watch::Sender<()>>,
    acceptor: Arc<Mutex<TlsAcceptor>>,
    task: JoinHandle<()>,
}

impl TlsFront {
    /// Stands in front of `target`.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn start(identity: &Identity, target: SocketAddr) -> Self {
        Self::start_with(identity, FrontOptions::default(), target).await
    }

    /// As [`start`](Self::start); clients must show a certificate of this authority.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn demanding(identity: &Identity, clients: &Authority, target: SocketAddr) -> Self {
        let options = FrontOptions {
            clients: Some(clients),
            ..FrontOptions::default()
        };
        Self::start_with(identity, options, target).await
    }

    /// As [`start`](Self::start), with options.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn start_with(identity: &Identity, options: FrontOptions<'_>, target: SocketAddr) -> Self {
        let acceptor = Arc::new(Mutex::new(acceptor(identity, &options)));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let met = Arc::new(watch::Sender::new(Met::default()));
        let cut = Arc::new(watch::Sender::new(()));
        let (own_met, own_cut, own_acceptor) = (Arc::clone(&met), Arc::clone(&cut), Arc::clone(&acceptor));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = own_acceptor
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone();
                let relay = relay(stream, acceptor, target, Arc::clone(&own_met));
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
            acceptor,
            task,
        }
    }

    /// Shows this certificate from now on, and cuts all connections.
    pub fn exchange(&self, identity: &Identity) {
        let new = acceptor(identity, &FrontOptions::default());
        *self.acceptor.lock().unwrap_or_else(PoisonError::into_inner) = new;
        self.cut_all();
    }

    /// Waits until this holds.
    ///
    /// # Panics
    /// Never: the front knows what it has met as long as it is there.
    pub async fn until(&self, holds: impl FnMut(&Met) -> bool) {
        let mut met = self.met.subscribe();
        met.wait_for(holds).await.expect("the front");
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

fn acceptor(identity: &Identity, options: &FrontOptions<'_>) -> TlsAcceptor {
    let provider = Arc::new(default_provider());
    let versions = match options.versions {
        [] => DEFAULT_VERSIONS,
        versions => versions,
    };
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .expect("versions");
    let builder = match options.clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(authority.der().clone()).expect("a root");
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .build()
                .expect("a verifier");
            builder.with_client_cert_verifier(verifier)
        }
    };
    let (chain, key) = identity.shown();
    let mut config = builder
        .with_single_cert_with_ocsp(chain, key, options.staple.clone())
        .expect("a certificate with its key");
    if options.forgets_sessions {
        config.send_tls13_tickets = 0;
        config.session_storage = Arc::new(NoServerSessionStorage {});
    }
    TlsAcceptor::from(Arc::new(config))
}

async fn relay(stream: TcpStream, acceptor: TlsAcceptor, target: SocketAddr, met: Arc<watch::Sender<Met>>) {
    let Ok(mut encrypted) = acceptor.accept(stream).await else {
        met.send_modify(|met| met.refused += 1);
        return;
    };
    let session = encrypted.get_ref().1;
    let resumed = session.handshake_kind() == Some(HandshakeKind::Resumed);
    let (name, certificate) = (
        session.server_name().map(str::to_owned),
        session.peer_certificates().is_some(),
    );
    met.send_modify(|met| {
        met.encrypted += 1;
        met.resumed += usize::from(resumed);
        met.server_name = name;
        met.certificate = certificate;
    });
    if let Ok(mut plain) = TcpStream::connect(target).await {
        let _ = copy_bidirectional(&mut encrypted, &mut plain).await;
    }
}
