//! What clients connect through: sockets of TCP or of a Unix path, encrypted or not.

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

/// Where a process of the deployment listens.
#[derive(Debug)]
pub(crate) struct Listeners {
    pub(crate) tcp: TcpListener,
    pub(crate) unix: Option<unix::Listener>,
}

impl Listeners {
    /// The next client, whichever way it comes. An error concerns one client (it hung up, or descriptors ran out), not the
    /// listener.
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

/// Bytes in both directions.
pub(crate) trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

/// An accepted socket on which nothing was said yet.
pub(crate) enum Socket {
    Tcp(TcpStream),
    /// The path where it was accepted has no meaning for the client, so it has no name.
    Unix(Box<dyn Bytes>),
}

/// A socket ready for messages, and who is at its other end.
pub(crate) struct Accepted {
    pub(crate) stream: Stream,
    /// The client's address.
    pub(crate) peer: String,
    /// Whom the certificate that the client showed names; it was verified.
    pub(crate) certificate_subject: Option<String>,
}

impl Socket {
    /// Agrees on the encryption, if the server wants one. A client that wants another is an error, and so is one that hangs up.
    pub(crate) async fn open(self, tls: Option<Arc<ServerConfig>>) -> io::Result<Accepted> {
        let (stream, peer) = match self {
            Socket::Tcp(stream) => {
                let peer = stream.peer_addr().map(|address| address.to_string());
                // Small replies are the rule, and each is written at once.
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

/// The stream of a connection. TCP in the clear, by far the most used, costs no virtual call.
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
