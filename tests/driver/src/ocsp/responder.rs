//! An HTTP server that answers every request with a configured OCSP response.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// What the responder does with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Status 200 with this body.
    Body(Vec<u8>),
    /// Status 200 with this body in the chunked transfer coding.
    Chunks(Vec<u8>),
    /// A status without a body.
    Status(u16),
    /// These bytes, which are not an HTTP response.
    Raw(Vec<u8>),
    /// No reply until the client closes the connection or another reply is set.
    Nothing,
}

/// Listens on a loopback port until it is dropped.
#[derive(Debug)]
pub struct Responder {
    /// The URL for the certificates.
    pub url: String,
    reply: Arc<watch::Sender<Reply>>,
    requests: Arc<watch::Sender<usize>>,
    last: Arc<Mutex<Vec<u8>>>,
    task: JoinHandle<()>,
}

/// The URL of a responder that cannot be reached: nothing listens on this port.
pub const UNREACHABLE: &str = "http://127.0.0.1:1/";

impl Responder {
    /// Starts a responder that sends no reply until one is set.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/ocsp", listener.local_addr().expect("an address"));
        let reply = Arc::new(watch::Sender::new(Reply::Nothing));
        let requests = Arc::new(watch::Sender::new(0));
        let last = Arc::<Mutex<Vec<u8>>>::default();
        let (own_reply, own_requests, own_last) =
            (Arc::clone(&reply), Arc::clone(&requests), Arc::clone(&last));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let reply = own_reply.subscribe();
                let (requests, last) = (Arc::clone(&own_requests), Arc::clone(&own_last));
                tokio::spawn(async move {
                    // A client may disconnect at any time.
                    let _ = answer(stream, reply, &requests, &last).await;
                });
            }
        });
        Self {
            url,
            reply,
            requests,
            last,
            task,
        }
    }

    /// Sets the reply to all further requests.
    pub fn set_reply(&self, reply: Reply) {
        self.reply.send_replace(reply);
    }

    /// Sets the OCSP response to all further requests.
    pub fn set_response(&self, response: Vec<u8>) {
        self.set_reply(Reply::Body(response));
    }

    /// The number of requests received.
    #[must_use]
    pub fn requests(&self) -> usize {
        *self.requests.borrow()
    }

    /// Waits until `times` requests have been received.
    pub async fn wait_for_requests(&self, times: usize) {
        let mut requests = self.requests.subscribe();
        requests
            .wait_for(|count| *count >= times)
            .await
            .expect("the sender is in the responder");
    }

    /// The last request, with its head and body.
    #[must_use]
    pub fn last_request(&self) -> Vec<u8> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    mut stream: TcpStream,
    mut reply: watch::Receiver<Reply>,
    requests: &watch::Sender<usize>,
    last: &Mutex<Vec<u8>>,
) -> std::io::Result<()> {
    let request = read_request(&mut stream).await?;
    *last.lock().unwrap_or_else(PoisonError::into_inner) = request;
    requests.send_modify(|count| *count += 1);
    let mut sink = [0; 16];
    let reply = tokio::select! {
        reply = reply.wait_for(|reply| *reply != Reply::Nothing) => match reply {
            Ok(reply) => reply.clone(),
            Err(_) => return Ok(()),
        },
        _ = stream.read(&mut sink) => return Ok(()),
    };
    let bytes = match reply {
        Reply::Body(body) => [
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/ocsp-response\r\nContent-Length: {}\r\n\r\n",
                body.len()
            )
            .into_bytes(),
            body,
        ]
        .concat(),
        Reply::Chunks(body) => {
            let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
            for chunk in body.chunks(100) {
                bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
                bytes.extend(chunk);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"0\r\n\r\n");
            bytes
        }
        Reply::Status(status) => format!("HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n").into_bytes(),
        Reply::Raw(bytes) => bytes,
        Reply::Nothing => Vec::new(),
    };
    stream.write_all(&bytes).await?;
    stream.shutdown().await
}

async fn read_request(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        request.extend_from_slice(&buffer[..count]);
        let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&request[..end]).to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))
            .and_then(|length| length.trim().parse::<usize>().ok())
            .unwrap_or(0);
        if request.len() >= end + 4 + length {
            return Ok(request);
        }
    }
}
