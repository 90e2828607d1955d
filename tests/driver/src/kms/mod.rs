//! Key management services on a loopback port: AWS, Azure, Google Cloud and KMIP, over TLS.
//!
//! One port serves all of them. The double of a service encrypts reversibly; it knows the published test keys of the
//! specification for AWS and KMIP.

mod http;
mod kmip;
mod ttlv;

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use marula_driver::{
    encryption::{AutoEncryptionOptions, ClientEncryptionOptions, KmsConnect},
    options::TlsOptions,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::tls::{Authority, Files, Identity};

/// The names of the services, which the certificate is valid for.
const NAMES: [&str; 9] = [
    "localhost",
    "127.0.0.1",
    "kms.us-east-1.amazonaws.com",
    "kms.us-east-2.amazonaws.com",
    "*.vault.azure.net",
    "login.microsoftonline.com",
    "oauth2.googleapis.com",
    "cloudkms.googleapis.com",
    "example.com",
];

/// The names of the providers, also those with a suffix, that [`KmsDouble::configure`] configures.
const PROVIDERS: [&str; 9] = [
    "aws",
    "aws:name1",
    "aws:name2",
    "azure",
    "azure:name1",
    "gcp",
    "gcp:name1",
    "kmip",
    "kmip:name1",
];

/// The services. Dropping the value closes them.
pub struct KmsDouble {
    /// The address of the listening socket.
    pub address: SocketAddr,
    state: Arc<State>,
    authority_file: String,
    client_file: String,
    _files: Files,
    task: JoinHandle<()>,
}

/// What the connections share.
#[derive(Default)]
struct State {
    requests: Mutex<Vec<KmsRequest>>,
    /// The number of connections that are closed after the handshake.
    network_failures: AtomicUsize,
    /// The number of requests that are answered with status 503.
    http_failures: AtomicUsize,
    /// What is done with the next responses.
    tampers: Mutex<VecDeque<Tamper>>,
    kmip: kmip::Objects,
}

/// What is done with a response.
#[derive(Clone, Debug)]
pub enum Tamper {
    /// Sends this number of bytes, at most all but one, and closes the connection.
    Cut(usize),
    /// Sends these bytes instead, and closes the connection.
    Replace(Vec<u8>),
}

/// A request that a service received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KmsRequest {
    /// The host in the header field `Host`; `kmip` for KMIP.
    pub host: String,
    /// The operation, e.g. `TrentService.Encrypt`, or the path.
    pub operation: String,
}

impl KmsDouble {
    /// Starts the services.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn start() -> Self {
        let authority = Authority::new();
        Self::with_identity(&authority, &authority.issue(&NAMES)).await
    }

    /// As [`start`](Self::start), with a certificate of this authority.
    ///
    /// # Panics
    /// If no port is available.
    pub async fn with_identity(authority: &Authority, identity: &Identity) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let files = Files::new();
        let state = Arc::new(State::default());
        let acceptor = identity.acceptor(Some(authority));
        let shared = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (acceptor, state) = (acceptor.clone(), Arc::clone(&shared));
                tokio::spawn(async move { serve(socket, acceptor, &state).await });
            }
        });
        Self {
            address,
            state,
            authority_file: files.write("authority.pem", &authority.pem()),
            client_file: files.write("client.pem", &authority.issue(&["a client"]).pem()),
            _files: files,
            task,
        }
    }

    /// Opens connections to all services here. Other hosts cannot be reached.
    #[must_use]
    pub fn connect(&self) -> KmsConnect {
        let address = self.address;
        KmsConnect::new(move |host, _port, _time| async move {
            if is_known(&host) {
                TcpStream::connect(address).await
            } else {
                Err(std::io::Error::other(format!("the host {host} does not exist")))
            }
        })
    }

    /// TLS options that trust the services, with a client certificate.
    #[must_use]
    pub fn tls(&self) -> TlsOptions {
        let mut tls = TlsOptions::default();
        tls.ca_file = Some(self.authority_file.clone().into());
        tls.certificate_key_file = Some(self.client_file.clone().into());
        tls
    }

    /// As [`configure`](Self::configure), for automatic encryption.
    pub fn configure_automatic(&self, options: AutoEncryptionOptions) -> AutoEncryptionOptions {
        PROVIDERS
            .into_iter()
            .fold(options.kms_connect(self.connect()), |options, provider| {
                options.kms_tls(provider, self.tls())
            })
    }

    /// Makes the options reach and trust the services.
    pub fn configure(&self, options: ClientEncryptionOptions) -> ClientEncryptionOptions {
        PROVIDERS
            .into_iter()
            .fold(options.kms_connect(self.connect()), |options, provider| {
                options.kms_tls(provider, self.tls())
            })
    }

    /// The requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<KmsRequest> {
        self.state
            .requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Tampers with the next responses, one for each entry. The entries before are removed.
    pub fn tamper(&self, tampers: impl IntoIterator<Item = Tamper>) {
        *self.state.tampers.lock().unwrap_or_else(PoisonError::into_inner) = tampers.into_iter().collect();
    }

    /// Closes the next connections after the TLS handshake.
    pub fn fail_connections(&self, count: usize) {
        self.state.network_failures.store(count, Ordering::SeqCst);
    }

    /// Answers the next requests with status 503.
    pub fn fail_requests(&self, count: usize) {
        self.state.http_failures.store(count, Ordering::SeqCst);
    }
}

impl Drop for KmsDouble {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn is_known(host: &str) -> bool {
    NAMES.iter().any(|name| match name.strip_prefix("*.") {
        Some(domain) => host.split_once('.').is_some_and(|(_, parent)| parent == domain),
        None => *name == host,
    })
}

/// Subtracts one. `false` if the counter is zero.
fn take_one(counter: &AtomicUsize) -> bool {
    counter
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1))
        .is_ok()
}

async fn serve(socket: TcpStream, acceptor: TlsAcceptor, state: &State) {
    let mut stream = match acceptor.accept(socket).into_fallible().await {
        Ok(stream) => stream,
        Err((_, mut socket)) => {
            // A socket that is closed with unread bytes is reset, and the client may not receive the alert.
            let _ = socket.shutdown().await;
            let _ = tokio::io::copy(&mut socket, &mut tokio::io::sink()).await;
            return;
        }
    };
    if take_one(&state.network_failures) {
        return;
    }
    let mut received = Vec::new();
    while let Some(response) = answer(&mut stream, &mut received, state).await {
        let response = state.tampered(response);
        if stream.write_all(&response.bytes).await.is_err()
            || stream.flush().await.is_err()
            || response.is_last
        {
            break;
        }
    }
    let _ = stream.shutdown().await;
}

/// A response, and whether the connection is closed after it.
struct Response {
    bytes: Vec<u8>,
    is_last: bool,
}

/// Reads one request and returns its response. `None` if the client has closed the connection.
async fn answer(
    stream: &mut TlsStream<TcpStream>,
    received: &mut Vec<u8>,
    state: &State,
) -> Option<Response> {
    loop {
        let response = if received.first() == Some(&ttlv::FIRST_BYTE) {
            kmip::answer(received, state).map(|bytes| Response {
                bytes,
                is_last: false,
            })
        } else {
            http::answer(received, state).map(|bytes| Response { bytes, is_last: true })
        };
        if response.is_some() {
            return response;
        }
        if stream.read_buf(received).await.ok()? == 0 {
            return None;
        }
    }
}

impl State {
    fn tampered(&self, mut response: Response) -> Response {
        let tamper = self
            .tampers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front();
        match tamper {
            None => return response,
            Some(Tamper::Cut(length)) => {
                let most = response.bytes.len().saturating_sub(1);
                response.bytes.truncate(length.min(most));
            }
            Some(Tamper::Replace(bytes)) => response.bytes = bytes,
        }
        response.is_last = true;
        response
    }

    fn record(&self, host: &str, operation: &str) {
        let request = KmsRequest {
            host: host.to_owned(),
            operation: operation.to_owned(),
        };
        self.requests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(request);
    }
}

/// Encrypts bytes reversibly.
fn wrap(bytes: &[u8]) -> Vec<u8> {
    let mut wrapped = MARK.to_vec();
    wrapped.extend(bytes.iter().map(|byte| byte ^ 0x5a));
    wrapped
}

/// Decrypts the bytes of [`wrap`]. Others yield fixed bytes: their keys are not known.
fn unwrap(bytes: &[u8]) -> Vec<u8> {
    match bytes.strip_prefix(MARK) {
        Some(wrapped) => wrapped.iter().map(|byte| byte ^ 0x5a).collect(),
        None => (0..96).collect(),
    }
}

/// The start of the bytes of [`wrap`].
const MARK: &[u8] = b"wrapped:";
