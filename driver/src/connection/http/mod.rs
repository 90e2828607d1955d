//! A client of HTTP/1.1 for one request and one response: enough for OCSP responders and the like.

mod response;
mod url;

use std::{future::poll_fn, io, time::Duration};

use super::{Resolver, connect::connect, dialer::SystemDialer, stream::Stream};
use crate::{NetworkPhase, types::deadline::Deadline};
use response::ResponseReader;
pub(super) use url::Url;

/// One request.
#[derive(Debug)]
pub(super) struct Request<'a> {
    pub(super) method: &'a str,
    pub(super) url: &'a Url,
    /// Beside `Host`, `Content-Length` and `Connection`.
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) body: &'a [u8],
}

/// What came back.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// Opens a connection of its own, asks, and reads the answer. Follows no redirects. The caller limits the time; dropping the
/// future closes the socket.
///
/// # Errors
/// Of the socket; `InvalidData` for what is no HTTP, or for a body longer than `limit`.
pub(super) async fn send(request: &Request<'_>, limit: usize) -> io::Result<Response> {
    let Url { host, port, .. } = request.url;
    let resolver = Resolver::default();
    let addresses = SystemDialer.resolve(host, *port, &resolver, NetworkPhase::Connect);
    let addresses = addresses.await.map_err(io::Error::other)?;
    let mut stream = Stream::Tcp(connect(addresses, Deadline::NEVER, Duration::ZERO).await?);
    let (bytes, mut written) = (request.bytes(), 0);
    poll_fn(|cx| stream.poll_write_all(cx, &bytes, &mut written, None)).await?;
    read_response(&mut stream, ResponseReader::new(limit)).await
}

async fn read_response(stream: &mut Stream, mut reader: ResponseReader) -> io::Result<Response> {
    let mut buffer = Vec::with_capacity(4096);
    loop {
        match poll_fn(|cx| stream.poll_read(cx, &mut buffer, None)).await {
            Ok(_) => {
                if let Some(response) = reader.push(&buffer)? {
                    return Ok(response);
                }
                buffer.clear();
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return reader.end(),
            Err(error) => return Err(error),
        }
    }
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
