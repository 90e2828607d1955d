//! The client program without a driver: requests prepared as bytes, replies read and thrown away. No driver on tokio can be
//! cheaper than that.

use std::{hint::black_box, process::ExitCode};

use bson::doc;
use marula_bench::encode;
use marula_bench_contract::{
    Contestant, DATABASE, Failure, INSERTED, MANY_SMALL, MANY_TWEETS, Material, ONE_SMALL, ONE_TWEET, Task,
    id, run,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

fn main() -> ExitCode {
    run::<Floor>()
}

/// The address of the server that operations go to.
#[derive(Clone)]
struct Floor {
    address: String,
}

impl Contestant for Floor {
    async fn connect(uri: &str) -> Result<Self, Failure> {
        let rest = uri
            .strip_prefix("mongodb://")
            .ok_or("this is no connection string")?;
        let hosts = rest.split(['/', '?']).next().unwrap_or(rest);
        // The primary of a set comes first.
        let address = hosts.split(',').next().unwrap_or(hosts).to_owned();
        Ok(Self { address })
    }

    async fn work(&self, task: Task, material: &Material, count: u64) -> Result<(), Failure> {
        let mut connection = Connection::dial(&self.address).await?;
        let requests = requests(task, material);
        for _ in 0..count {
            let (first, more) = requests.split_first().ok_or("there is no request")?;
            let mut length = connection.exchange(first).await?;
            let Some(more) = more.first() else { continue };
            while let Some(id) = cursor_id(connection.reply(length)) {
                length = connection.exchange(&with_cursor(more, id)).await?;
            }
        }
        Ok(())
    }
}

/// The request of an operation and, for queries with many results, the one for more of them.
fn requests(task: Task, material: &Material) -> Vec<Vec<u8>> {
    let insert = |documents: &[Vec<u8>]| {
        vec![encode::message(
            &doc! { "insert": INSERTED, "$db": DATABASE },
            documents,
        )]
    };
    let find_one = |name: &str| {
        let find = doc! { "find": name, "$db": DATABASE, "filter": { "_id": id(0) }, "limit": 1, "singleBatch": true };
        vec![encode::message(&find, &[])]
    };
    let find = |name: &str| {
        let find = doc! { "find": name, "$db": DATABASE, "filter": {} };
        let more = doc! { "getMore": 0_i64, "collection": name, "$db": DATABASE };
        vec![encode::message(&find, &[]), encode::message(&more, &[])]
    };
    match task {
        Task::Ping | Task::PingRaw => vec![encode::message(&doc! { "ping": 1, "$db": "admin" }, &[])],
        Task::InsertOne => insert(&[encode::document(&material.small)]),
        Task::InsertOne27k => insert(&[encode::document(&material.large)]),
        Task::InsertMany10k => insert(&material.many.iter().map(encode::document).collect::<Vec<_>>()),
        Task::FindOne => find_one(ONE_SMALL),
        Task::FindOneRawTweet => find_one(ONE_TWEET),
        // Bytes thrown away are the floor of all that can be made of them.
        Task::Find10kRaw | Task::Find10kOwned | Task::Find10kBorrowed => find(MANY_SMALL),
        Task::Find10kTweetsRaw | Task::Find10kTweetsDocument => find(MANY_TWEETS),
    }
}

/// The id is the first value: behind header, flags, kind, length, type and name.
const CURSOR_AT: usize = 16 + 4 + 1 + 4 + 1 + "getMore\0".len();

fn with_cursor(more: &[u8], id: i64) -> Vec<u8> {
    let mut more = more.to_vec();
    more[CURSOR_AT..CURSOR_AT + 8].copy_from_slice(&id.to_le_bytes());
    more
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
        let length = self.buffer[..filled]
            .first_chunk()
            .map(|bytes| i32::from_le_bytes(*bytes));
        let length = usize::try_from(length.ok_or("the reply was cut")?)?;
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

/// The id of a reply's cursor when there is more to fetch. Canned replies have the id of a cursor behind the batch, close to the end.
fn cursor_id(reply: &[u8]) -> Option<i64> {
    const ID: &[u8] = b"\x12id\0";
    if !reply.get(26..)?.starts_with(b"cursor\0") {
        return None;
    }
    let tail = &reply[reply.len().saturating_sub(400)..];
    let at = tail.windows(ID.len()).rposition(|window| window == ID)?;
    let id = i64::from_le_bytes(*tail.get(at + ID.len()..)?.first_chunk()?);
    (id != 0).then_some(id)
}
