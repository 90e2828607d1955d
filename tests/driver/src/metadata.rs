//! A metadata service of a cloud machine on a loopback port, with answers that the test chooses.

use std::sync::{Arc, Mutex, PoisonError};

use marula_driver::internals::MetadataServices;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// What the service does with a request.
#[derive(Clone, Debug)]
pub enum HttpAnswer {
    /// Sends a response with this status and body.
    Reply(u16, String),
    /// Sends these bytes, and closes the connection.
    Raw(Vec<u8>),
    /// Sends nothing until the client closes the connection.
    Silence,
}

impl From<(u16, &str)> for HttpAnswer {
    fn from((status, body): (u16, &str)) -> Self {
        Self::Reply(status, body.to_owned())
    }
}

impl From<(u16, String)> for HttpAnswer {
    fn from((status, body): (u16, String)) -> Self {
        Self::Reply(status, body)
    }
}

/// A service that records its requests. It listens until the runtime ends.
#[derive(Debug)]
pub struct MetadataService {
    /// `http://127.0.0.1:port`
    pub url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl MetadataService {
    /// `answer` maps the first line of a request without the version to the answer.
    pub async fn start<A: Into<HttpAnswer>>(answer: impl Fn(&str) -> A + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let request = read_request(&mut socket).await;
                let line = request.lines().next().unwrap_or_default();
                let answer = answer(line.trim_end_matches(" HTTP/1.1")).into();
                recorded
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(request);
                tokio::spawn(send(socket, answer));
            }
        });
        Self { url, requests }
    }

    /// The requests, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// All services are this one.
    #[must_use]
    pub fn services(&self) -> MetadataServices {
        MetadataServices {
            ecs: self.url.clone(),
            ec2: self.url.clone(),
            azure: self.url.clone(),
            gcp: self.url.clone(),
            sts: self.url.clone(),
        }
    }
}

async fn read_request(socket: &mut TcpStream) -> String {
    let mut request = Vec::new();
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        if !matches!(socket.read_buf(&mut request).await, Ok(1..)) {
            break;
        }
    }
    String::from_utf8_lossy(&request).into_owned()
}

async fn send(mut socket: TcpStream, answer: HttpAnswer) {
    let bytes = match answer {
        HttpAnswer::Reply(status, body) => format!(
            "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes(),
        HttpAnswer::Raw(bytes) => bytes,
        HttpAnswer::Silence => {
            let mut sink = [0; 64];
            while matches!(socket.read(&mut sink).await, Ok(1..)) {}
            return;
        }
    };
    let _ = socket.write_all(&bytes).await;
}
