//! A raw TCP client that encodes messages independently of the server's code.

use bson::Document;
use marula_test_server::TestServer;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) const OP_MSG: i32 = 2013;
pub(crate) const MORE_TO_COME: u32 = 2;
pub(crate) const EXHAUST_ALLOWED: u32 = 1 << 16;

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    pub(crate) next_id: i32,
}

pub(crate) struct Reply {
    pub(crate) id: i32,
    pub(crate) response_to: i32,
    pub(crate) flags: u32,
    pub(crate) body: Document,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Client {
        Client {
            stream: TcpStream::connect(address).await.unwrap(),
            next_id: 100,
        }
    }

    pub(crate) async fn send(&mut self, flags: u32, body: &Document) -> i32 {
        let mut payload = flags.to_le_bytes().to_vec();
        payload.push(0);
        payload.extend(body.to_vec().unwrap());
        self.send_raw(OP_MSG, &payload).await
    }

    pub(crate) async fn send_raw(&mut self, op_code: i32, payload: &[u8]) -> i32 {
        self.next_id += 1;
        let mut message = Vec::new();
        for word in [payload.len() as i32 + 16, self.next_id, 0, op_code] {
            message.extend(word.to_le_bytes());
        }
        message.extend(payload);
        self.stream.write_all(&message).await.unwrap();
        self.next_id
    }

    /// Receives the next reply, or `None` if the server has closed the connection.
    pub(crate) async fn receive(&mut self) -> Option<Reply> {
        let mut head = [0; 16];
        self.stream.read_exact(&mut head).await.ok()?;
        let word = |at: usize| i32::from_le_bytes(head[at..at + 4].try_into().unwrap());
        let mut rest = vec![0; word(0) as usize - 16];
        self.stream.read_exact(&mut rest).await.ok()?;
        let (flags, body) = match word(12) {
            OP_MSG => (u32::from_le_bytes(rest[..4].try_into().unwrap()), &rest[5..]),
            _ => (0, &rest[20..]),
        };
        let body = Document::from_reader(body).unwrap();
        Some(Reply {
            id: word(4),
            response_to: word(8),
            flags,
            body,
        })
    }

    pub(crate) async fn run(&mut self, body: Document) -> Document {
        let id = self.send(0, &body).await;
        let reply = self.receive().await.unwrap();
        assert_eq!(reply.response_to, id);
        reply.body
    }
}

pub(crate) fn on(db: &str, mut body: Document) -> Document {
    body.insert("$db", db);
    body
}

pub(crate) fn code(reply: &Document) -> i32 {
    reply.get_i32("code").unwrap_or(0)
}

pub(crate) async fn standalone() -> (TestServer, Client) {
    let server = TestServer::builder().start().await.unwrap();
    let client = Client::connect(server.addresses()[0]).await;
    (server, client)
}

pub(crate) async fn replica_set() -> TestServer {
    TestServer::builder().replica_set().start().await.unwrap()
}
