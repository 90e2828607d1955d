//! Connections through a SOCKS5 proxy: runs the negotiation of
//! [`proto::socks5`](crate::proto::socks5).

use std::io;

use tokio::net::TcpStream;

use crate::proto::socks5::{Credentials, Negotiation, Step};

/// Requests that the proxy at the other end of `stream` connects to the host. Afterwards the stream
/// is connected to the host.
pub(super) async fn negotiate(
    stream: &TcpStream,
    host: &str,
    port: u16,
    credentials: Option<Credentials>,
) -> io::Result<()> {
    let (mut negotiation, mut step) = Negotiation::begin(host, port, credentials)?;
    while let Step::Exchange { send, read } = step {
        write_all(stream, &send).await?;
        step = negotiation.handle(&read_exact(stream, read).await?)?;
    }
    Ok(())
}

async fn write_all(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads exactly this number of bytes: the following ones may come from the server.
async fn read_exact(stream: &TcpStream, count: usize) -> io::Result<Vec<u8>> {
    let mut answer = vec![0; count];
    let mut filled = 0;
    while let Some(rest) = answer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        stream.readable().await?;
        match stream.try_read(rest) {
            Ok(0) => {
                let why = "the proxy closed the connection";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
            }
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(answer)
}
