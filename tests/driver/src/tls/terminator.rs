//! A proxy that terminates TLS.

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

/// Options of a proxy besides its certificate.
#[derive(Default)]
pub struct TerminatorOptions<'a> {
    /// The authority of client certificates. `None`: no client certificate is requested.
    pub clients: Option<&'a Authority>,
    /// The OCSP response that is stapled. Empty: none.
    pub staple: Vec<u8>,
    /// The supported versions of TLS. Empty: all.
    pub versions: &'static [&'static SupportedProtocolVersion],
    /// Whether session resumption is disabled.
    pub disable_resumption: bool,
}

/// Counts of handshakes, and facts of the last one.
#[derive(Clone, Debug, Default)]
pub struct TlsCounts {
    /// Successful handshakes.
    pub encrypted: usize,
    /// Failed handshakes.
    pub refused: usize,
    /// The server name (SNI) of the last handshake.
    pub server_name: Option<String>,
    /// Handshakes that resumed a session.
    pub resumed: usize,
    /// Whether the last client presented a certificate.
    pub certificate: bool,
}

/// Listens on a loopback port with TLS and forwards the decrypted bytes, until it is dropped.
pub struct TlsTerminator {
    /// The address of the listening socket.
    pub address: SocketAddr,
    counts: Arc<watch::Sender<TlsCounts>>,
    cut: Arc<watch::Sender<()>>,
    acceptor: Arc<Mutex<TlsAcceptor>>,
    task: JoinHandle<()>,
}

impl TlsTerminator {
    /// Starts a proxy in front of `target`.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn start(identity: &Identity, target: SocketAddr) -> Self {
        Self::start_with(identity, TerminatorOptions::default(), target).await
    }

    /// As [`start`](Self::start); clients must present a certificate of this authority.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn with_client_certificates(
        identity: &Identity,
        clients: &Authority,
        target: SocketAddr,
    ) -> Self {
        let options = TerminatorOptions {
            clients: Some(clients),
            ..TerminatorOptions::default()
        };
        Self::start_with(identity, options, target).await
    }

    /// As [`start`](Self::start), with options.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn start_with(identity: &Identity, options: TerminatorOptions<'_>, target: SocketAddr) -> Self {
        let acceptor = Arc::new(Mutex::new(acceptor(identity, &options)));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let counts = Arc::new(watch::Sender::new(TlsCounts::default()));
        let cut = Arc::new(watch::Sender::new(()));
        let (own_counts, own_cut, own_acceptor) =
            (Arc::clone(&counts), Arc::clone(&cut), Arc::clone(&acceptor));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = own_acceptor
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .clone();
                let relay = relay(stream, acceptor, target, Arc::clone(&own_counts));
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
            counts,
            cut,
            acceptor,
            task,
        }
    }

    /// Replaces the certificate, and closes all connections.
    pub fn set_identity(&self, identity: &Identity) {
        let new = acceptor(identity, &TerminatorOptions::default());
        *self.acceptor.lock().unwrap_or_else(PoisonError::into_inner) = new;
        self.close_all();
    }

    /// Waits until `holds` returns true.
    pub async fn wait_until(&self, holds: impl FnMut(&TlsCounts) -> bool) {
        let mut counts = self.counts.subscribe();
        counts.wait_for(holds).await.expect("the sender is in the proxy");
    }

    /// The counts so far.
    #[must_use]
    pub fn counts(&self) -> TlsCounts {
        self.counts.borrow().clone()
    }

    /// Closes all connections.
    pub fn close_all(&self) {
        self.cut.send_replace(());
    }
}

impl Drop for TlsTerminator {
    fn drop(&mut self) {
        self.task.abort();
        self.close_all();
    }
}

pub(super) fn acceptor(identity: &Identity, options: &TerminatorOptions<'_>) -> TlsAcceptor {
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
    if options.disable_resumption {
        config.send_tls13_tickets = 0;
        config.session_storage = Arc::new(NoServerSessionStorage {});
    }
    TlsAcceptor::from(Arc::new(config))
}

async fn relay(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    target: SocketAddr,
    counts: Arc<watch::Sender<TlsCounts>>,
) {
    let Ok(mut encrypted) = acceptor.accept(stream).await else {
        counts.send_modify(|counts| counts.refused += 1);
        return;
    };
    let session = encrypted.get_ref().1;
    let resumed = session.handshake_kind() == Some(HandshakeKind::Resumed);
    let (name, certificate) = (
        session.server_name().map(str::to_owned),
        session.peer_certificates().is_some(),
    );
    counts.send_modify(|counts| {
        counts.encrypted += 1;
        counts.resumed += usize::from(resumed);
        counts.server_name = name;
        counts.certificate = certificate;
    });
    if let Ok(mut plain) = TcpStream::connect(target).await {
        let _ = copy_bidirectional(&mut encrypted, &mut plain).await;
    }
}
