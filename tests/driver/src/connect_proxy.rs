//! An HTTP proxy for tunnels (`CONNECT`, RFC 9110, section 9.3.6), plain or over TLS.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

use crate::tls::Identity;

/// The most bytes of a request.
const LONGEST_REQUEST: usize = 8 << 10;

/// Listens on a loopback port until it is dropped. All tunnels lead to one address, whatever the client asks for.
#[derive(Debug)]
pub struct ConnectProxy {
    /// The address of the listening socket.
    pub address: SocketAddr,
    tunnels: Tunnels,
    task: JoinHandle<()>,
}

/// The targets of the tunnels, `host:port`.
type Tunnels = Arc<Mutex<Vec<String>>>;

fn lock(tunnels: &Tunnels) -> MutexGuard<'_, Vec<String>> {
    tunnels.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ConnectProxy {
    /// Starts a proxy in front of `target`.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn start(target: SocketAddr) -> Self {
        Self::start_with(None, target).await
    }

    /// As [`start`](Self::start); the connections to the proxy are encrypted.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn with_tls(identity: &Identity, target: SocketAddr) -> Self {
        Self::start_with(Some(identity.acceptor(None)), target).await
    }

    async fn start_with(acceptor: Option<TlsAcceptor>, target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let tunnels = Tunnels::default();
        let recorded = Arc::clone(&tunnels);
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (acceptor, tunnels) = (acceptor.clone(), Arc::clone(&recorded));
                tokio::spawn(async move {
                    match acceptor {
                        Some(acceptor) => tunnel(acceptor.accept(socket).await?, target, &tunnels).await,
                        None => tunnel(socket, target, &tunnels).await,
                    }
                });
            }
        });
        Self {
            address,
            tunnels,
            task,
        }
    }

    /// The targets that clients asked for, `host:port`, since the start or the last [`reset`](Self::reset).
    #[must_use]
    pub fn tunnels(&self) -> Vec<String> {
        lock(&self.tunnels).clone()
    }

    /// Forgets the tunnels.
    pub fn reset(&self) {
        lock(&self.tunnels).clear();
    }
}

impl Drop for ConnectProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn tunnel(
    mut client: impl AsyncRead + AsyncWrite + Unpin,
    target: SocketAddr,
    tunnels: &Tunnels,
) -> io::Result<()> {
    let mut received = Vec::new();
    while !received.ends_with(b"\r\n\r\n") {
        if received.len() >= LONGEST_REQUEST {
            return client.write_all(b"HTTP/1.1 431 Too Large\r\n\r\n").await;
        }
        // Not more than the request: what follows belongs to the tunnel.
        received.push(client.read_u8().await?);
    }
    let Some(wanted) = target_of(&received) else {
        return client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    };
    lock(tunnels).push(wanted);
    let mut server = TcpStream::connect(target).await?;
    client
        .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
        .await?;
    client.flush().await?;
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

/// The target of a request with the method `CONNECT`, and the same in the field `Host`.
fn target_of(request: &[u8]) -> Option<String> {
    let request = std::str::from_utf8(request).ok()?;
    let mut lines = request.lines();
    let target = lines
        .next()?
        .strip_prefix("CONNECT ")?
        .strip_suffix(" HTTP/1.1")?;
    let host = lines.find_map(|line| line.strip_prefix("Host: "))?;
    (host == target).then(|| target.to_owned())
}
