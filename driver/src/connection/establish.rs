//! Opening a connection: resolve, connect, agree on encryption, handshake, login.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    Connection, Dialer, DnsLookup, Resolver, SharedMetadata, State,
    login::{LoginLimits, LoginSettings},
    open::{open, timed_out},
    read_buffer::ReadBuffer,
    stream::Stream,
    tls::TlsConfig,
};
use crate::{
    Error, ErrorKind, Result, ServerAddress,
    bson::ObjectId,
    error::{NetworkError, NetworkPhase},
    options::Proxy,
    proto::{
        auth::Login,
        command::CommandBuilder,
        description::HelloReply,
        handshake::{self, parse_hello},
        wire::{Compression, CompressionSettings},
    },
    types::{deadline::Deadline, server_api::ServerApi},
};

/// What every connection of a client has in common.
#[derive(Clone, Debug)]
pub struct ConnectionSettings {
    /// `connectTimeoutMS`: bounds resolving, connecting, the handshake and the login together; zero
    /// means no limit.
    pub connect_timeout: Duration,
    /// `timeoutMS` of the client: bounds each command of the login (Client Side Operations Timeout,
    /// "Background Connection Pooling"). Its tests require that a hello that takes longer succeeds,
    /// so only `connect_timeout` bounds the hello.
    pub command_timeout: Option<Duration>,
    /// The `client` document of the handshake.
    pub metadata: SharedMetadata,
    /// How connections are encrypted; `None`: not at all.
    pub tls: Option<TlsConfig>,
    /// `loadBalanced`: sent in the handshake, whose reply must then contain `serviceId`.
    pub load_balanced: bool,
    /// The declared version of the server's interface: the connection's own commands carry it.
    pub server_api: Option<ServerApi>,
    /// Knows where servers and proxies are.
    pub dialer: Dialer,
    /// The compressors that are offered. Monitors offer none: they send hello only, which is never
    /// compressed, and the server need not compress the replies.
    pub compression: CompressionSettings,
    /// Knows the addresses of their names.
    pub dns: Arc<dyn DnsLookup>,
    /// Through which TCP connections go; `None`: straight to the servers.
    pub proxy: Option<Proxy>,
    /// The user. `None`: no authentication, as for monitors.
    pub login: Option<LoginSettings>,
}

/// A connection that has exchanged the handshake, and on which the user has yet to log in.
#[derive(Debug)]
pub struct Handshaken {
    connection: Connection,
    login: Option<Login>,
    deadline: Deadline,
}

impl ConnectionSettings {
    /// Connections in the clear, straight to the servers.
    pub fn new(connect_timeout: Duration, metadata: impl Into<SharedMetadata>) -> Self {
        Self {
            connect_timeout,
            command_timeout: None,
            metadata: metadata.into(),
            tls: None,
            load_balanced: false,
            server_api: None,
            dialer: Default::default(),
            compression: CompressionSettings::default(),
            dns: Arc::new(Resolver::default()),
            proxy: None,
            login: None,
        }
    }

    /// The same without a login, and without compression.
    pub fn for_monitors(&self) -> Self {
        Self {
            login: None,
            compression: CompressionSettings::default(),
            ..self.clone()
        }
    }
}

impl Handshaken {
    /// The service behind the load balancer, in load-balanced mode.
    pub fn service_id(&self) -> Option<ObjectId> {
        self.connection.hello.service_id
    }

    /// Logs the user in, if there is one.
    pub async fn log_in(mut self, settings: &ConnectionSettings) -> Result<Connection> {
        if let (Some(login), Some(user)) = (self.login, &settings.login) {
            let limits = LoginLimits::new(self.deadline, settings.connect_timeout, settings.command_timeout);
            let outcome = self.connection.log_in(login, user, limits).await;
            outcome.map_err(|unfinished| unfinished.error().with_address(&self.connection.address))?;
        }
        self.connection.is_established = true;
        Ok(self.connection)
    }
}

impl Connection {
    /// Opens a connection, exchanges the handshake and logs in, all within `connectTimeoutMS`.
    ///
    /// Dropping the future closes the socket.
    pub async fn establish(address: &ServerAddress, settings: &ConnectionSettings) -> Result<Self> {
        // Boxed: large, needed once, and part of tasks that live as long as the client.
        let handshaken = Box::pin(Self::handshake(address, settings)).await?;
        Box::pin(handshaken.log_in(settings)).await
    }

    /// The same as far as the handshake, which begins the login.
    pub async fn handshake(address: &ServerAddress, settings: &ConnectionSettings) -> Result<Handshaken> {
        let login = settings
            .login
            .as_ref()
            .map(|user| user.begin(address))
            .transpose();
        let login = login.map_err(|error| error.with_address(address))?;
        let deadline = Deadline::after(Some(settings.connect_timeout));
        let stream = open(address, settings, deadline)
            .await
            .map_err(|e| e.with_address(address))?;
        let mut connection = Self {
            address: address.clone(),
            stream,
            hello: HelloReply::default(),
            server_api: settings.server_api,
            handshake_time: Duration::ZERO,
            mechanism: None,
            token: None,
            write: Vec::new(),
            read: ReadBuffer::default(),
            compression: (!settings.compression.offered().is_empty())
                .then(|| Box::new(Compression::new(settings.compression.clone()))),
            last_request: 0,
            transactional_request: None,
            large_request: None,
            drain_end: None,
            outstanding: None,
            exhaust: false,
            is_established: false,
            state: State::Idle,
            unused_cursor: None,
            hello_body: 0..0,
            failure: None,
        };
        let started = Instant::now();
        let handshaken = deadline
            .run(connection.shake_hands(settings, login.as_ref()))
            .await;
        match handshaken {
            Ok(Ok(hello)) => connection.hello = hello,
            Ok(Err(error)) => {
                let error = match error.kind() {
                    ErrorKind::Network(network) if is_tls_required(&connection.stream, network) => {
                        let error = io::Error::new(network.io_kind(), network.to_string());
                        Error::network_with_hint(NetworkPhase::Handshake, error, TLS_REQUIRED)
                    }
                    _ => in_phase(error, NetworkPhase::Handshake),
                };
                return Err(error.with_address(address));
            }
            Err(_) => {
                return Err(
                    timed_out(NetworkPhase::Handshake, settings.connect_timeout).with_address(address)
                );
            }
        }
        connection.handshake_time = started.elapsed();
        Ok(Handshaken {
            connection,
            login,
            deadline,
        })
    }

    async fn shake_hands(
        &mut self,
        settings: &ConnectionSettings,
        login: Option<&Login>,
    ) -> Result<HelloReply> {
        let (message, _) = self.begin();
        let mut command = CommandBuilder::new(message.buffer);
        handshake::first_hello(
            &mut command,
            &settings.metadata.document(),
            settings.load_balanced,
            settings.server_api,
            settings.compression.offered(),
        );
        if let Some(login) = login {
            login.write_hello(&mut command);
        }
        command.finish("admin")?;
        message.finish()?;
        let hello = self.hello_round_trip(Deadline::NEVER).await?;
        if settings.load_balanced && hello.service_id.is_none() {
            return Err(Error::unsupported(handshake::NO_SERVICE_ID));
        }
        let agreed = handshake::agreed_compressor(self.hello_reply(), settings.compression.offered());
        if let Some(compression) = &mut self.compression {
            compression.choose(agreed);
        }
        Ok(hello)
    }

    /// Asks the server for its state, as monitors do.
    pub async fn run_hello(&mut self, deadline: Deadline) -> Result<HelloReply> {
        let (hello_ok, server_api) = (self.hello.hello_ok, self.server_api);
        let (message, _) = self.begin();
        let mut command = CommandBuilder::new(message.buffer);
        handshake::hello(&mut command, hello_ok, server_api);
        command.finish("admin")?;
        message.finish()?;
        self.hello_round_trip(deadline).await
    }

    async fn hello_round_trip(&mut self, deadline: Deadline) -> Result<HelloReply> {
        self.send(deadline).await?;
        self.receive_hello(deadline).await
    }

    /// The reply to a hello.
    pub(super) async fn receive_hello(&mut self, deadline: Deadline) -> Result<HelloReply> {
        let body = self.receive(deadline).await?;
        self.hello_body = body.clone();
        let parsed = parse_hello(self.reply(body));
        parsed.map_err(|error| match error.kind() {
            ErrorKind::Decode(_) => self.fail(error),
            _ => error.with_address(&self.address),
        })
    }
}

const TLS_REQUIRED: &str = "if the server requires TLS, set tls=true";

/// Whether the handshake may have failed because the server requires TLS: it closes a connection
/// that does not begin with a TLS handshake.
fn is_tls_required(stream: &Stream, error: &NetworkError) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(stream, Stream::Tcp(_))
        && matches!(
            error.io_kind(),
            UnexpectedEof | ConnectionReset | ConnectionAborted
        )
}

/// Sets the phase of a network error, for a socket that failed before the connection was
/// established, and so before any command of the application was sent.
pub(super) fn in_phase(error: Error, phase: NetworkPhase) -> Error {
    match error.kind() {
        ErrorKind::Network(network) if network.phase() != phase => {
            let copy = io::Error::new(network.io_kind(), network.to_string());
            Error::network(phase, copy)
        }
        _ => error,
    }
}
