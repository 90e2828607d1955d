//! An incremental parser of HTTP/1.1 responses (RFC 9112).

use std::io;

use httparse::{EMPTY_HEADER, Status};

use super::Response;

/// Maximum length of the head, in bytes.
const MAX_HEAD: usize = 16 * 1024;
/// Maximum number of header fields.
const MAX_HEADERS: usize = 64;
/// Maximum length of the line before a chunk, in bytes.
const MAX_CHUNK_LINE: usize = 1024;

/// The length of the body (RFC 9112, section 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunks,
    UntilClose,
}

#[derive(Debug)]
enum Phase {
    Head,
    Body { status: u16, framing: Framing },
}

/// The parser. Input arrives in pieces of any length.
pub(super) struct ResponseReader {
    /// Bytes not parsed yet: of the head, of a body with a length, or of a chunk.
    pending: Vec<u8>,
    /// The content of the chunks received.
    body: Vec<u8>,
    limit: usize,
    phase: Phase,
}

impl ResponseReader {
    /// A parser for a body of at most `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            pending: Vec::new(),
            body: Vec::new(),
            limit,
            phase: Phase::Head,
        }
    }

    /// Adds bytes. Returns the response when it is complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<Option<Response>> {
        self.pending.extend_from_slice(bytes);
        while matches!(self.phase, Phase::Head) {
            if !self.read_head()? {
                return Ok(None);
            }
        }
        let Phase::Body { status, framing } = self.phase else {
            return Ok(None);
        };
        match framing {
            Framing::Length(length) if self.pending.len() < length => Ok(None),
            Framing::Length(length) => {
                self.pending.truncate(length);
                Ok(Some(self.take(status)))
            }
            Framing::UntilClose if self.pending.len() > self.limit => Err(too_long()),
            Framing::UntilClose => Ok(None),
            Framing::Chunks => {
                if self.read_chunks()? {
                    self.pending = std::mem::take(&mut self.body);
                    Ok(Some(self.take(status)))
                } else {
                    Ok(None)
                }
            }
        }
    }

    /// Handles the end of the connection.
    pub(super) fn end(mut self) -> io::Result<Response> {
        match self.phase {
            Phase::Body {
                status,
                framing: Framing::UntilClose,
            } => Ok(self.take(status)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn take(&mut self, status: u16) -> Response {
        Response {
            status,
            body: std::mem::take(&mut self.pending),
        }
    }

    /// `false` if more bytes are needed.
    fn read_head(&mut self) -> io::Result<bool> {
        let mut headers = [EMPTY_HEADER; MAX_HEADERS];
        let mut head = httparse::Response::new(&mut headers);
        let parsed = head.parse(&self.pending).map_err(|_| malformed("head"))?;
        let Status::Complete(length) = parsed else {
            return if self.pending.len() > MAX_HEAD {
                Err(malformed("head, which is too long"))
            } else {
                Ok(false)
            };
        };
        let status = head.code.unwrap_or_default();
        if status < 100 {
            return Err(malformed("status"));
        }
        if status == 101 {
            return Err(malformed("change of protocol"));
        }
        // An interim response precedes the final one (RFC 9110, section 15.2).
        if !(100..200).contains(&status) {
            let framing = match status {
                204 | 304 => Framing::Length(0),
                _ => framing(head.headers)?,
            };
            if matches!(framing, Framing::Length(length) if length > self.limit) {
                return Err(too_long());
            }
            self.phase = Phase::Body { status, framing };
        }
        self.pending.drain(..length);
        Ok(true)
    }

    /// `true` after the last chunk. Trailer fields are ignored.
    fn read_chunks(&mut self) -> io::Result<bool> {
        loop {
            let size = httparse::parse_chunk_size(&self.pending).map_err(|_| malformed("chunk"))?;
            let Status::Complete((line, size)) = size else {
                return if self.pending.len() > MAX_CHUNK_LINE {
                    Err(malformed("chunk"))
                } else {
                    Ok(false)
                };
            };
            if size == 0 {
                return Ok(true);
            }
            let size = usize::try_from(size).map_err(|_| too_long())?;
            if size > self.limit.saturating_sub(self.body.len()) {
                return Err(too_long());
            }
            let end = line + size;
            match self.pending.get(end..end + 2) {
                None => return Ok(false),
                Some(b"\r\n") => {}
                Some(_) => return Err(malformed("chunk")),
            }
            self.body
                .extend_from_slice(self.pending.get(line..end).unwrap_or_default());
            self.pending.drain(..end + 2);
        }
    }
}

fn framing(headers: &[httparse::Header<'_>]) -> io::Result<Framing> {
    let mut length = None;
    let mut chunks = false;
    for header in headers {
        let value = header.value.trim_ascii();
        if header.name.eq_ignore_ascii_case("transfer-encoding") {
            if !value.eq_ignore_ascii_case(b"chunked") {
                return Err(malformed("encoding, which is unknown"));
            }
            chunks = true;
        } else if header.name.eq_ignore_ascii_case("content-length") {
            let new = parse_length(value).ok_or_else(|| malformed("length"))?;
            if length.is_some_and(|old| old != new) {
                return Err(malformed("length"));
            }
            length = Some(new);
        }
    }
    match (chunks, length) {
        (true, Some(_)) => Err(malformed("length, which is stated in two ways")),
        (true, None) => Ok(Framing::Chunks),
        (false, Some(length)) => Ok(Framing::Length(length)),
        (false, None) => Ok(Framing::UntilClose),
    }
}

fn parse_length(value: &[u8]) -> Option<usize> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

fn malformed(what: &str) -> io::Error {
    let text = format!("the HTTP response has a malformed {what}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the HTTP response is too long")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 100;

    /// Reads `bytes` in pieces of this length, and then the connection closes.
    fn read(bytes: &[u8], piece: usize) -> io::Result<Response> {
        let mut reader = ResponseReader::new(LIMIT);
        for piece in bytes.chunks(piece) {
            if let Some(response) = reader.push(piece)? {
                return Ok(response);
            }
        }
        reader.end()
    }

    #[test]
    fn every_framing_is_read_whatever_the_pieces() {
        for (bytes, status, body) in [
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more",
                200,
                "hello",
            ),
            ("HTTP/1.0 200 OK\r\n\r\nhello", 200, "hello"),
            ("HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n", 200, ""),
            (
                "HTTP/1.1 503 Busy\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nno",
                503,
                "no",
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n",
                200,
                "hello",
            ),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                200,
                "hello",
            ),
            ("HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
        ] {
            for piece in 1..=bytes.len() {
                let response = read(bytes.as_bytes(), piece).unwrap_or_else(|e| panic!("{bytes}: {e}"));
                assert_eq!(response.status, status, "{bytes}");
                assert_eq!(response.body, body.as_bytes(), "{bytes}");
            }
        }
    }

    #[test]
    fn bytes_other_than_a_response_are_rejected() {
        let long_head = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(20_000));
        let many_headers = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(65));
        let long_body = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(101));
        for bytes in [
            "",
            "SSH-2.0-x\r\n",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 000 None\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 101 Switching\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
            "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            &long_head,
            &many_headers,
            &long_body,
        ] {
            assert!(read(bytes.as_bytes(), 7).is_err(), "{bytes}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..300), piece in 1..50usize) {
            let _ = read(&bytes, piece);
            let mut response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            response.extend_from_slice(&bytes);
            if let Ok(response) = read(&response, piece) {
                prop_assert!(response.body.len() <= LIMIT);
            }
        }
    }
}
