//! An HTTP/1.1 client for one request per connection (RFC 9112), for OCSP responders and metadata
//! services.

mod response;
mod url;

use std::{io, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};

#[cfg(any(feature = "aws-auth", feature = "encryption"))]
use super::TlsConfig;
use super::{Resolver, connect::connect, dialer::SystemDialer};
use crate::{NetworkPhase, types::deadline::Deadline};
use response::ResponseReader;
#[cfg(any(feature = "aws-auth", feature = "encryption"))]
pub(super) use url::Scheme;
pub(super) use url::Url;

/// One request.
pub(super) struct Request<'a> {
    pub(super) method: &'a str,
    pub(super) url: &'a Url,
    /// In addition to `Host`, `Content-Length` and `Connection`.
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) body: &'a [u8],
}

/// The response. It may contain a token.
#[cfg_attr(test, derive(Debug))]
#[derive(PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// Opens a connection, sends the request and reads the response. Redirects are not followed. The
/// caller sets a timeout; dropping the future closes the socket.
///
/// # Errors
/// Errors of the socket. `InvalidData` for a malformed response, or a body of more than `limit`
/// bytes.
pub(super) async fn send(request: &Request<'_>, limit: usize) -> io::Result<Response> {
    exchange(&mut open(request.url).await?, request, limit).await
}

/// As [`send`], over TLS. The deadline is that of the revocation check.
///
/// # Errors
/// In addition to those of [`send`]: the handshake failed.
#[cfg(any(feature = "aws-auth", feature = "encryption"))]
pub(super) async fn send_over_tls(
    request: &Request<'_>,
    tls: &TlsConfig,
    limit: usize,
    deadline: Deadline,
) -> io::Result<Response> {
    let stream = open(request.url).await?;
    let handshake = tls.handshake(stream, request.url.host.clone(), deadline);
    let mut stream = Box::pin(handshake).await.map_err(io::Error::other)?;
    exchange(&mut stream, request, limit).await
}

async fn open(url: &Url) -> io::Result<TcpStream> {
    let resolver = Resolver::default();
    let addresses = SystemDialer.resolve(&url.host, url.port, &resolver, NetworkPhase::Connect);
    let addresses = addresses.await.map_err(io::Error::other)?;
    connect(addresses, Deadline::NEVER, Duration::ZERO).await
}

async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    request: &Request<'_>,
    limit: usize,
) -> io::Result<Response> {
    stream.write_all(&request.bytes()).await?;
    stream.flush().await?;
    let mut reader = ResponseReader::new(limit);
    let mut buffer = Vec::with_capacity(4096);
    while stream.read_buf(&mut buffer).await? > 0 {
        if let Some(response) = reader.push(&buffer)? {
            return Ok(response);
        }
        buffer.clear();
    }
    reader.end()
}

/// The status and the body of a response that arrives in pieces of `piece` bytes, for the fuzz
/// targets. The body has at most `limit` bytes.
///
/// # Errors
/// The response is malformed, too long, or ends too early.
#[cfg(all(feature = "internals", feature = "aws-auth"))]
pub fn http_response(bytes: &[u8], piece: usize, limit: usize) -> io::Result<(u16, Vec<u8>)> {
    let mut reader = ResponseReader::new(limit);
    let content = |Response { status, body }| (status, body);
    for piece in bytes.chunks(piece.max(1)) {
        if let Some(response) = reader.push(piece)? {
            return Ok(content(response));
        }
    }
    reader.end().map(content)
}

impl Request<'_> {
    fn bytes(&self) -> Vec<u8> {
        let url = self.url;
        let mut head = format!(
            "{} {} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\nConnection: close\r\n",
            self.method,
            url.target,
            url.authority(),
            self.body.len()
        );
        for (name, value) in self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(self.body);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_host_target_and_length() {
        let url = Url::parse("http://responder.example.com:8080/a?b").unwrap();
        let request = Request {
            method: "POST",
            url: &url,
            headers: &[("Content-Type", "text/plain")],
            body: b"hello",
        };
        let expected = "POST /a?b HTTP/1.1\r\nHost: responder.example.com:8080\r\nContent-Length: 5\r\n\
                        Connection: close\r\nContent-Type: text/plain\r\n\r\nhello";
        assert_eq!(String::from_utf8(request.bytes()).unwrap(), expected);
    }
}
