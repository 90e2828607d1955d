//! One proxied connection: a sequence of requests and replies, with one action for each exchange.

use std::io;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::{oneshot, watch},
};

use super::{Action, Exchange, Place, Seen, Shared, lock};

/// The length in bytes of a message header.
const HEADER: usize = 16;
const MORE_TO_COME: u8 = 2;

/// Reads without answering until the client closes the connection.
pub(super) async fn ignore(mut client: TcpStream) {
    while matches!(client.read(&mut [0; 1024]).await, Ok(count) if count > 0) {}
}

/// Relays until one side or an action closes the connection.
pub(super) async fn run(
    client: TcpStream,
    server: TcpStream,
    connection: usize,
    shared: &Shared,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let mut relay = Relay {
        client,
        server,
        connection,
        shared,
        mute: false,
    };
    let mut is_first = true;
    loop {
        relay.wait_for_request().await?;
        let request = read_message(&mut relay.client).await?;
        let mut stage = Stage {
            is_first,
            is_streamed: false,
        };
        is_first = false;
        while relay.exchange(&request, stage).await? {
            stage.is_streamed = true;
        }
    }
}

#[derive(Clone, Copy)]
struct Stage {
    is_first: bool,
    is_streamed: bool,
}

struct Relay<'a> {
    client: TcpStream,
    server: TcpStream,
    connection: usize,
    shared: &'a Shared,
    /// Whether nothing more is sent to the client.
    mute: bool,
}

/// Closes the connection because of an action.
fn end<T>() -> io::Result<T> {
    Err(io::ErrorKind::ConnectionAborted.into())
}

impl Relay<'_> {
    /// Relays one request and its reply, or one further reply. Returns whether the flag
    /// `moreToCome` of the reply is set.
    async fn exchange(&mut self, request: &[u8], stage: Stage) -> io::Result<bool> {
        let (action, mut waits) = self.decide(request, stage).await?;
        self.pass_partition().await?;
        if !stage.is_streamed {
            match action {
                Action::DropRequest => return end(),
                Action::CutRequestAfter(count) => {
                    let count = count.min(request.len() - 1);
                    self.server.write_all(&request[..count]).await?;
                    return end();
                }
                Action::ForwardLate => return self.pass_late(request).await,
                _ => self.server.write_all(request).await?,
            }
            if flags(request) & MORE_TO_COME != 0 {
                return Ok(false);
            }
        } else if matches!(
            action,
            Action::DropRequest | Action::CutRequestAfter(_) | Action::ForwardLate
        ) {
            return end();
        }
        let mut reply = while_connected(&self.client, read_message(&mut self.server)).await??;
        self.note(request, stage, |seen| {
            seen.replies += 1;
            seen.longest_reply = seen.longest_reply.max(reply.len());
        });
        let goes_on = flags(&reply) & MORE_TO_COME != 0;
        self.pass_partition().await?;
        if self.mute {
            return Ok(goes_on);
        }
        match action {
            Action::CutAfter(count) => {
                let count = count.min(reply.len() - 1);
                self.client.write_all(&reply[..count]).await?;
                return end();
            }
            Action::Reset => {
                self.client.set_zero_linger()?;
                return end();
            }
            Action::Corrupt { at, mask } => {
                let at = match at {
                    Place::FromStart(at) => at,
                    Place::Last => reply.len() - 1,
                };
                reply[at] ^= mask;
                self.client.write_all(&reply).await?;
                return end();
            }
            Action::Hang => {
                let _ = while_connected(&self.client, waits.changed()).await?;
                return end();
            }
            Action::Silence => return while_connected(&self.client, std::future::pending()).await,
            Action::Delay => {
                let _ = while_connected(&self.client, waits.changed()).await?;
                self.client.write_all(&reply).await?;
            }
            Action::HalfClose => {
                self.client.write_all(&reply).await?;
                self.client.shutdown().await?;
                self.mute = true;
            }
            Action::Stepwise(ends) => self.write_stepwise(&reply, ends, &mut waits).await?,
            _ => self.client.write_all(&reply).await?,
        }
        Ok(goes_on)
    }

    /// Forwards a request after the client has closed the connection. The reply of the server shows
    /// that it was executed.
    async fn pass_late(&mut self, request: &[u8]) -> io::Result<bool> {
        let disconnected: io::Result<()> = while_connected(&self.client, std::future::pending()).await;
        if disconnected.is_err() {
            self.server.write_all(request).await?;
            read_message(&mut self.server).await?;
        }
        end()
    }

    fn note(&self, request: &[u8], stage: Stage, change: impl FnOnce(&mut Seen)) {
        let exchange = self.describe(request, stage);
        self.shared.seen.send_modify(|seen| {
            change(seen.entry(exchange.name().to_owned()).or_default());
        });
    }

    fn describe<'r>(&self, request: &'r [u8], stage: Stage) -> Exchange<'r> {
        Exchange {
            connection: self.connection,
            command: command_name(request),
            is_first: stage.is_first,
            is_streamed: stage.is_streamed,
            request,
        }
    }

    /// Evaluates the rule, after any `Later` action has ended.
    async fn decide(&self, request: &[u8], stage: Stage) -> io::Result<(Action, watch::Receiver<u64>)> {
        if self.mute {
            return Ok((Action::Pass, self.shared.waits.subscribe()));
        }
        let exchange = self.describe(request, stage);
        let (mut action, mut waits) = {
            let mut rule = lock(&self.shared.rule);
            let action = rule(&exchange);
            // The receiver is made under the lock of the rule, so that no call of `end_waits` by
            // another rule is missed.
            (action, self.shared.waits.subscribe())
        };
        self.note(request, stage, |seen| seen.requests += 1);
        loop {
            action = match action {
                Action::Later(action) => {
                    while_connected(&self.client, waits.changed())
                        .await?
                        .map_err(io::Error::other)?;
                    *action
                }
                Action::Observed(action, done) => {
                    done.call();
                    *action
                }
                action => return Ok((action, waits)),
            };
        }
    }

    /// Waits for the end of a network partition.
    async fn pass_partition(&self) -> io::Result<()> {
        let mut partitioned = self.shared.partitioned.subscribe();
        let healed = partitioned.wait_for(|partitioned| !partitioned);
        while_connected(&self.client, healed)
            .await?
            .map(drop)
            .map_err(io::Error::other)
    }

    async fn write_stepwise(
        &mut self,
        reply: &[u8],
        ends: Vec<usize>,
        waits: &mut watch::Receiver<u64>,
    ) -> io::Result<()> {
        let mut sent = 0;
        let ends = ends.into_iter().map(|end| end.min(reply.len()));
        for end in ends.filter(|end| *end > 0).chain([reply.len()]) {
            if end <= sent {
                continue;
            }
            if released(&self.client, self.shared, waits).await? {
                return self.client.write_all(&reply[sent..]).await;
            }
            self.client.write_all(&reply[sent..end]).await?;
            sent = end;
        }
        Ok(())
    }

    /// Waits until the first byte of a request has arrived and requests are not paused.
    async fn wait_for_request(&self) -> io::Result<()> {
        if self.client.peek(&mut [0]).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut paused = self.shared.paused.subscribe();
        paused
            .wait_for(|paused| !paused)
            .await
            .map(drop)
            .map_err(io::Error::other)
    }
}

fn flags(message: &[u8]) -> u8 {
    message.get(HEADER).copied().unwrap_or_default()
}

/// Holds a piece back until it is released. Returns whether all pieces are released.
async fn released(client: &TcpStream, shared: &Shared, waits: &mut watch::Receiver<u64>) -> io::Result<bool> {
    let (piece, release) = oneshot::channel();
    lock(&shared.held).push_back(piece);
    shared.held_changed.send_replace(());
    let either = async {
        tokio::select! {
            released = release => released.map(|()| false).map_err(io::Error::other),
            ended = waits.changed() => ended.map(|()| true).map_err(io::Error::other),
        }
    };
    while_connected(client, either).await?
}

/// Waits for `event`. Fails if the client closes the connection before.
async fn while_connected<T>(client: &TcpStream, event: impl Future<Output = T>) -> io::Result<T> {
    let disconnected = async {
        match client.peek(&mut [0]).await {
            Ok(0) => io::Error::from(io::ErrorKind::UnexpectedEof),
            // A pipelined request is not read yet.
            Ok(_) => std::future::pending().await,
            Err(error) => error,
        }
    };
    tokio::select! {
        biased;
        outcome = event => Ok(outcome),
        error = disconnected => Err(error),
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

/// The first key of the body. It follows the flags, the kind of the section, the length of the
/// document and the type of the element.
fn command_name(message: &[u8]) -> &str {
    let key = message.get(HEADER + 4 + 1 + 4 + 1..).unwrap_or_default();
    let end = key.iter().position(|byte| *byte == 0).unwrap_or_default();
    std::str::from_utf8(&key[..end]).unwrap_or_default()
}
