//! A TCP relay that records all bytes.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::JoinHandle,
};

/// The bytes of one direction of one connection.
type Direction = Arc<Mutex<Vec<u8>>>;

/// Listens on a loopback port until it is dropped.
#[derive(Debug)]
pub struct ByteRecorder {
    address: SocketAddr,
    directions: Arc<Mutex<Vec<Direction>>>,
    task: JoinHandle<()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ByteRecorder {
    /// Starts a relay in front of `target`.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let directions = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&directions);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(target).await else {
                    continue;
                };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                for (from, to) in [(from_client, to_server), (from_server, to_client)] {
                    let direction = Direction::default();
                    lock(&recorded).push(Arc::clone(&direction));
                    tokio::spawn(relay(from, to, direction));
                }
            }
        });
        Self {
            address,
            directions,
            task,
        }
    }

    /// The address of the listening socket.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The bytes so far: an entry for each direction of each connection.
    #[must_use]
    pub fn recorded(&self) -> Vec<Vec<u8>> {
        lock(&self.directions)
            .iter()
            .map(|direction| lock(direction).clone())
            .collect()
    }
}

impl Drop for ByteRecorder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Ends when one side closes its connection.
async fn relay(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, direction: Direction) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let bytes = buffer.get(..count).unwrap_or_default();
        // Recorded first: a test that has received a reply finds its bytes.
        lock(&direction).extend_from_slice(bytes);
        if to.write_all(bytes).await.is_err() {
            return;
        }
    }
}
