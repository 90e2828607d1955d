//! A TCP proxy that forwards bytes to the client in small pieces, each when the test releases it.
//! It does not read the protocol.

use std::{net::SocketAddr, sync::Arc};

use tokio::{
    io::{self, AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    task::{JoinHandle, JoinSet},
};

use crate::polling::Gate;

/// Listens on a loopback port until it is dropped. Dropping it also closes its connections.
#[derive(Debug)]
pub struct SlowWrites {
    /// The address of the listening socket.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    /// The length of a piece in bytes. The last piece of a read may be shorter.
    piece: usize,
    /// The number of pieces that are held back.
    held: watch::Sender<usize>,
    release: Notify,
    open: watch::Sender<usize>,
}

impl SlowWrites {
    /// Starts a proxy in front of `target`.
    ///
    /// # Panics
    /// If no port is available.
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
                    // If one side closes its connection, both sockets are closed.
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
        // The next call waits for the next piece.
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

/// Counts a piece as held back until it is dropped.
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
        // Both directions end when the client closes the connection.
        outcome = io::copy(&mut from_client, &mut to_server) => outcome.map(drop),
    }
}
