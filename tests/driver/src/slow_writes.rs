//! A TCP proxy that knows nothing of what it passes: bytes to the client go on in small pieces, each when the test says so.

use std::{net::SocketAddr, sync::Arc};

use tokio::{
    io::{self, AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    task::{JoinHandle, JoinSet},
};

use crate::polling::Gate;

/// Listens on loopback until it is dropped, which ends its connections too.
#[derive(Debug)]
pub struct SlowWrites {
    /// Where it listens.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    /// Bytes of a piece, the last one of what the server sent at once being the rest.
    piece: usize,
    /// Pieces that wait.
    held: watch::Sender<usize>,
    release: Notify,
    open: watch::Sender<usize>,
}

impl SlowWrites {
    /// Stands in front of `target`.
    ///
    /// # Panics
    /// When no port can be had.
    pub async fn start(target: SocketAddr, piece: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            piece,
            held: watch::Sender::new(0),
            release: Notify::new(),
            open: watch::Sender::new(0),
        });
        let own = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                while connections.try_join_next().is_some() {}
                let shared = Arc::clone(&own);
                shared.open.send_modify(|open| *open += 1);
                connections.spawn(async move {
                    // An error is one side's hanging up; both sockets are closed then.
                    let _ = relay(client, target, &shared).await;
                    shared.open.send_modify(|open| *open -= 1);
                });
            }
        });
        Self {
            address,
            shared,
            task,
        }
    }

    /// Waits until no connection is open.
    ///
    /// # Panics
    /// Never: the proxy outlives its borrow.
    pub async fn wait_for_none_open(&self) {
        let mut open = self.shared.open.subscribe();
        open.wait_for(|open| *open == 0)
            .await
            .expect("the sender is in the proxy");
    }
}

impl Gate for SlowWrites {
    async fn release(&self) {
        let mut held = self.shared.held.subscribe();
        held.wait_for(|held| *held > 0)
            .await
            .expect("the sender is in the proxy");
        self.shared.release.notify_one();
        // One at a time: the next call waits for the next piece.
        held.wait_for(|held| *held == 0)
            .await
            .expect("the sender is in the proxy");
    }
}

impl Drop for SlowWrites {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A piece is held while this lives.
struct Held<'a>(&'a Shared);

impl<'a> Held<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.held.send_modify(|held| *held += 1);
        Self(shared)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.held.send_modify(|held| *held -= 1);
    }
}

async fn relay(client: TcpStream, target: SocketAddr, shared: &Shared) -> io::Result<()> {
    client.set_nodelay(true)?;
    let server = TcpStream::connect(target).await?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let down = async {
        let mut bytes = vec![0; 4096];
        loop {
            let count = from_server.read(&mut bytes).await?;
            if count == 0 {
                return Ok(());
            }
            for piece in bytes[..count].chunks(shared.piece) {
                let held = Held::new(shared);
                shared.release.notified().await;
                drop(held);
                to_client.write_all(piece).await?;
            }
        }
    };
    tokio::select! {
        outcome = down => outcome,
        // The client's hanging up ends both directions.
        outcome = io::copy(&mut from_client, &mut to_server) => outcome.map(drop),
    }
}
