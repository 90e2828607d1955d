//! Sockets of clients: TCP or Unix domain, with or without TLS.

pub(crate) mod certificates;
pub(crate) mod subject;
pub(crate) mod tls;
#[cfg(unix)]
pub(crate) mod unix;
#[cfg(not(unix))]
#[path = "unix_off.rs"]
pub(crate) mod unix;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// The listening sockets of one mongod or mongos.
#[derive(Debug)]
pub(crate) struct Listeners {
    pub(crate) tcp: TcpListener,
    pub(crate) unix: Option<unix::Listener>,
}

impl Listeners {
    /// Accepts the next client. An error concerns one client (for example, a reset connection or a
    /// lack of file descriptors), not the listener.
    pub(crate) async fn accept(&self) -> io::Result<Socket> {
        let by_unix = async {
            match &self.unix {
                Some(listener) => listener.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            accepted = self.tcp.accept() => accepted.map(|(stream, _)| Socket::Tcp(stream)),
            accepted = by_unix => accepted,
        }
    }
}

/// A bidirectional byte stream.
pub(crate) trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

/// An accepted socket before the TLS handshake.
pub(crate) enum Socket {
    Tcp(TcpStream),
    /// Unnamed: the path of the listener does not identify the client.
    Unix(Box<dyn Bytes>),
}

/// A socket ready for messages, and its peer.
pub(crate) struct Accepted {
    pub(crate) stream: Stream,
    /// The address of the client.
    pub(crate) peer: String,
    /// The subject of the verified client certificate.
    pub(crate) certificate_subject: Option<String>,
}

impl Socket {
    /// Performs the TLS handshake if the server uses TLS. Returns an error if the handshake fails
    /// or the client disconnects.
    pub(crate) async fn open(self, tls: Option<Arc<ServerConfig>>) -> io::Result<Accepted> {
        let (stream, peer) = match self {
            Socket::Tcp(stream) => {
                let peer = stream.peer_addr().map(|address| address.to_string());
                // Replies are usually small and written at once, so Nagle's algorithm is disabled.
                let _ = stream.set_nodelay(true);
                (Stream::Tcp(stream), peer.unwrap_or_default())
            }
            Socket::Unix(stream) => (Stream::Boxed(stream), "anonymous unix socket".to_owned()),
        };
        let Some(config) = tls else {
            return Ok(Accepted {
                stream,
                peer,
                certificate_subject: None,
            });
        };
        let encrypted = TlsAcceptor::from(config).accept(stream).await?;
        let certificates = encrypted.get_ref().1.peer_certificates();
        let certificate_subject = certificates
            .and_then(|chain| chain.first())
            .and_then(|own| subject::of_certificate(own));
        Ok(Accepted {
            stream: Stream::Boxed(Box::new(encrypted)),
            peer,
            certificate_subject,
        })
    }
}

/// The stream of a connection. Plain TCP, the most frequent case, needs no dynamic dispatch.
pub(crate) enum Stream {
    Tcp(TcpStream),
    Boxed(Box<dyn Bytes>),
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Boxed(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Stream::Boxed(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Boxed(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Boxed(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
