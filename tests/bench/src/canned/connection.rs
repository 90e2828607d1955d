//! One connection: reads requests, writes replies.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use super::{
    replies::{Replies, Reply},
    request::{self, i32_at},
};

/// The state that all connections of a deployment share.
#[derive(Debug)]
pub(super) struct Cluster {
    /// The `$clusterTime`, incremented with every reply.
    pub(super) time: AtomicU64,
    /// Delay before every reply, except those of the handshake.
    pub(super) delay: Option<Duration>,
}

const LONGEST: usize = 48_000_000;

/// Replies to requests until the client closes the connection.
pub(super) fn serve(mut stream: TcpStream, cluster: &Cluster, replies: &Replies) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut requests = Requests::default();
    // Copies of the replies for this connection, made at first use. Later only a few fields are
    // changed.
    let mut own: Vec<Option<Reply>> = vec![None; replies.len()];
    while requests.next(&mut stream)? {
        let message = requests.message();
        let parsed = request::parse(message).ok_or(io::ErrorKind::InvalidData)?;
        let Some((index, written)) = replies.find(parsed) else {
            continue;
        };
        let slot = own.get_mut(index).ok_or(io::ErrorKind::InvalidData)?;
        if slot.is_none() {
            *slot = replies.get(index).cloned();
        }
        let reply = slot.as_mut().ok_or(io::ErrorKind::InvalidData)?;
        reply.bytes[8..12].copy_from_slice(&message[4..8]);
        if let Some(at) = reply.written {
            reply.bytes[at..at + 4].copy_from_slice(&written.to_le_bytes());
        }
        if !reply.times.is_empty() {
            let time = cluster.time.fetch_add(1, Ordering::Relaxed).to_le_bytes();
            for at in &reply.times {
                reply.bytes[*at..*at + 8].copy_from_slice(&time);
            }
        }
        if let Some(delay) = cluster.delay {
            thread::sleep(delay);
        }
        stream.write_all(&reply.bytes)?;
    }
    Ok(())
}

/// Serves a connection on a new thread. Errors of the connection are ignored.
pub(super) fn spawn(stream: TcpStream, cluster: Arc<Cluster>, replies: Arc<Replies>) {
    thread::spawn(move || serve(stream, &cluster, &replies));
}

/// Reads requests from a stream into one buffer.
#[derive(Default)]
struct Requests {
    buffer: Vec<u8>,
    filled: usize,
    length: usize,
}

impl Requests {
    /// Reads one message. Returns `false` if the client has closed the connection.
    fn next(&mut self, stream: &mut TcpStream) -> io::Result<bool> {
        self.buffer.copy_within(self.length..self.filled, 0);
        self.filled -= self.length;
        self.length = 0;
        loop {
            let needed = match i32_at(&self.buffer[..self.filled], 0) {
                Some(length) => usize::try_from(length)
                    .ok()
                    .filter(|length| (16..=LONGEST).contains(length))
                    .ok_or(io::ErrorKind::InvalidData)?,
                None => 4,
            };
            if needed > 4 && self.filled >= needed {
                self.length = needed;
                return Ok(true);
            }
            if self.buffer.len() < needed.max(64 * 1024) {
                self.buffer.resize(needed.max(64 * 1024), 0);
            }
            let read = stream.read(&mut self.buffer[self.filled..])?;
            if read == 0 {
                return Ok(false);
            }
            self.filled += read;
        }
    }

    fn message(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}
