//! Checks the example `live_feed`.

use std::net::SocketAddr;

use marula::Collection;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::live_feed::{Message, main, router};

/// A stream of server-sent events.
struct Events(BufReader<TcpStream>);

impl Events {
    async fn open(address: SocketAddr, channel: &str, last_event_id: Option<&str>) -> Self {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let last = last_event_id.map_or_else(String::new, |id| format!("last-event-id: {id}\r\n"));
        let request = format!("GET /channels/{channel}/events HTTP/1.1\r\nhost: feed\r\n{last}\r\n");
        stream.write_all(request.as_bytes()).await.expect("a request");
        let mut events = Events(BufReader::new(stream));
        assert_eq!(events.line().await, "HTTP/1.1 200 OK");
        while !events.line().await.is_empty() {}
        events
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).await.expect("a line");
        line.trim_end().to_owned()
    }

    /// The value of the next line with this name.
    async fn next(&mut self, name: &str) -> String {
        loop {
            let line = self.line().await;
            if let Some((_, value)) = line.split_once(": ").filter(|(found, _)| *found == name) {
                return value.to_owned();
            }
        }
    }
}

async fn send(address: SocketAddr, channel: &str, text: &str) {
    let body = format!(r#"{{"from":"ada","text":"{text}"}}"#);
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let request = format!(
        "POST /channels/{channel} HTTP/1.1\r\nhost: feed\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.expect("a request");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.expect("a reply");
    assert!(reply.starts_with("HTTP/1.1 201"), "{reply}");
}

#[tokio::test]
async fn events_continue_after_a_lost_connection() {
    let (deployment, db) = crate::start().await;
    let messages: Collection<Message> = db.collection();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = tokio::spawn(async move { axum::serve(listener, router(messages)).await });

    let mut events = Events::open(address, "lobby", None).await;
    send(address, "kitchen", "not in the lobby").await;
    send(address, "lobby", "one").await;
    send(address, "lobby", "two").await;
    let (mut ids, mut texts) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        ids.push(events.next("id").await);
        texts.push(events.next("data").await);
    }
    assert_eq!(
        texts,
        [r#"{"from":"ada","text":"one"}"#, r#"{"from":"ada","text":"two"}"#]
    );
    drop(events);

    send(address, "lobby", "three").await;
    let mut events = Events::open(address, "lobby", Some(&ids[0])).await;
    assert_eq!(events.next("data").await, texts[1]);
    assert_eq!(events.next("data").await, r#"{"from":"ada","text":"three"}"#);
    drop(events);
    served.abort();
    assert!(served.await.is_err());
    crate::stop(deployment, db).await;
    // Not called: it serves until Ctrl-C.
    let _ = main;
}
