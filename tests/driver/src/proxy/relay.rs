//! One proxied connection: request, reply, request, reply, each with its fate.

use std::io;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::oneshot,
};

use super::{Exchange, Fate, Shared, lock};

/// Length, request id, response id, operation code.
const HEADER: usize = 16;
const MORE_TO_COME: u8 = 2;

/// Relays until one side ends the connection or a fate does.
pub(super) async fn run(
    mut client: TcpStream,
    mut server: TcpStream,
    connection: usize,
    shared: &Shared,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let mut mute = false;
    loop {
        wait_for_request(&client, shared).await?;
        let request = read_message(&mut client).await?;
        let exchange = Exchange {
            connection,
            command: command_name(&request),
        };
        let (fate, mut waits) = {
            let mut rule = lock(&shared.rule);
            let fate = if mute { Fate::Pass } else { rule(&exchange) };
            // Under the lock of the rule, so that no end of waits that another rule calls for is missed.
            (fate, shared.waits.subscribe())
        };
        let fate = match fate {
            Fate::Later(fate) => {
                unless_gone(&client, waits.changed())
                    .await?
                    .map_err(io::Error::other)?;
                *fate
            }
            fate => fate,
        };
        if fate == Fate::Lose {
            return Ok(());
        }
        server.write_all(&request).await?;
        if request.get(HEADER).is_some_and(|flags| flags & MORE_TO_COME != 0) {
            continue;
        }
        let mut reply = unless_gone(&client, read_message(&mut server)).await??;
        if mute {
            continue;
        }
        match fate {
            Fate::Pass | Fate::Lose | Fate::Later(_) => client.write_all(&reply).await?,
            Fate::CutAfter(count) => {
                let count = count.min(reply.len() - 1);
                return client.write_all(&reply[..count]).await;
            }
            Fate::Garble { at, mask } => {
                reply[at] ^= mask;
                return client.write_all(&reply).await;
            }
            Fate::Hang => {
                let _ = unless_gone(&client, waits.changed()).await?;
                return Ok(());
            }
            Fate::Delay => {
                let _ = unless_gone(&client, waits.changed()).await?;
                client.write_all(&reply).await?;
            }
            Fate::HalfClose => {
                client.write_all(&reply).await?;
                client.shutdown().await?;
                mute = true;
            }
            Fate::Stepwise(ends) => {
                let mut sent = 0;
                let ends = ends.into_iter().map(|end| end.min(reply.len()));
                for end in ends.filter(|end| *end > 0).chain([reply.len()]) {
                    if end <= sent {
                        continue;
                    }
                    released(&client, shared).await?;
                    client.write_all(&reply[sent..end]).await?;
                    sent = end;
                }
            }
        }
    }
}

/// Holds a piece until the test lets it go.
async fn released(client: &TcpStream, shared: &Shared) -> io::Result<()> {
    let (piece, release) = oneshot::channel();
    lock(&shared.held).push_back(piece);
    shared.held_changed.send_replace(());
    unless_gone(client, release).await?.map_err(io::Error::other)
}

/// The first byte of a request is there, and requests are not paused.
async fn wait_for_request(client: &TcpStream, shared: &Shared) -> io::Result<()> {
    if client.peek(&mut [0]).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut paused = shared.paused.subscribe();
    paused
        .wait_for(|paused| !paused)
        .await
        .map(drop)
        .map_err(io::Error::other)
}

/// Waits for `event`, and fails when the client hangs up before.
async fn unless_gone<T>(client: &TcpStream, event: impl Future<Output = T>) -> io::Result<T> {
    let gone = async {
        match client.peek(&mut [0]).await {
            Ok(0) => io::Error::from(io::ErrorKind::UnexpectedEof),
            // A request ahead of its time waits for its turn.
            Ok(_) => std::future::pending().await,
            Err(error) => error,
        }
    };
    tokio::select! {
        biased;
        outcome = event => Ok(outcome),
        error = gone => Err(error),
    }
}

async fn read_message(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut message = vec![0; 4];
    stream.read_exact(&mut message).await?;
    let length = message
        .first_chunk()
        .map(|bytes| i32::from_le_bytes(*bytes))
        .unwrap_or_default();
    let rest = u64::try_from(length)
        .ok()
        .and_then(|length| length.checked_sub(4))
        .ok_or(io::ErrorKind::InvalidData)?;
    if stream.take(rest).read_to_end(&mut message).await? as u64 != rest {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(message)
}

/// The first key of the body, which follows the flags, the section's kind, the document's length and the element's type.
fn command_name(message: &[u8]) -> &str {
    let key = message.get(HEADER + 4 + 1 + 4 + 1..).unwrap_or_default();
    let end = key.iter().position(|byte| *byte == 0).unwrap_or_default();
    std::str::from_utf8(&key[..end]).unwrap_or_default()
}
