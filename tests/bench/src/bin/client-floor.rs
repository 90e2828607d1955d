//! The lower bound of clients on tokio: precomputed requests; replies are read and discarded.

use std::{
    hint::black_box,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
};

use marula_bench::floor::{address, cursor_id, reply_length, requests, with_cursor};
use marula_bench_shared::contract::{BenchClient, Failure, Material, Task, run};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

fn main() -> ExitCode {
    run::<Floor>()
}

/// The address of the server, and the idle connections.
#[derive(Clone)]
struct Floor {
    address: Arc<str>,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl BenchClient for Floor {
    async fn connect(uri: &str) -> Result<Self, Failure> {
        Ok(Self {
            address: address(uri)?.into(),
            idle: Arc::default(),
        })
    }

    async fn work(&self, task: Task, material: &Material, count: u64) -> Result<(), Failure> {
        let idle = self.idle().pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => Connection::dial(&self.address).await?,
        };
        let requests = requests(task, material);
        for _ in 0..count {
            let mut next = None;
            for request in &requests.first {
                let length = connection.exchange(request).await?;
                next = requests.more.as_ref().zip(cursor_id(connection.reply(length)));
            }
            while let Some((more, id)) = next {
                let length = connection.exchange(&with_cursor(more, id)).await?;
                next = cursor_id(connection.reply(length)).map(|id| (more, id));
            }
        }
        self.idle().push(connection);
        Ok(())
    }
}

impl Floor {
    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    async fn dial(address: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let buffer = vec![0; 64 * 1024];
        Ok(Self { stream, buffer })
    }

    /// Sends a request and reads the reply, whose length it returns.
    async fn exchange(&mut self, request: &[u8]) -> Result<usize, Failure> {
        self.stream.write_all(request).await?;
        let mut filled = self.stream.read(&mut self.buffer).await?;
        let length = reply_length(&self.buffer[..filled]).ok_or("the reply is truncated")?;
        if self.buffer.len() < length {
            self.buffer.resize(length, 0);
        }
        while filled < length {
            match self.stream.read(&mut self.buffer[filled..length]).await? {
                0 => return Err("the server has closed the connection".into()),
                read => filled += read,
            }
        }
        black_box(self.reply(length));
        Ok(length)
    }

    fn reply(&self, length: usize) -> &[u8] {
        &self.buffer[..length]
    }
}
