//! Opening a socket to a server: resolve its name, connect, through the proxy if there is one, and
//! agree on encryption.

use std::{io, time::Duration};

use tokio::net::TcpStream;

use super::{ConnectionSettings, connect::connect, socks5, stream::Stream};
use crate::{Error, Result, ServerAddress, error::NetworkPhase, types::deadline::Deadline};

/// Opens the stream under a connection. Each step fails in its own phase, also when the time is up.
pub(super) async fn open(
    address: &ServerAddress,
    settings: &ConnectionSettings,
    deadline: Deadline,
) -> Result<Stream> {
    let opening = Opening { settings, deadline };
    let socket = match address {
        ServerAddress::Tcp { host, port } => opening.tcp(host, *port).await?,
        ServerAddress::Unix { path } => return opening.unix(path).await,
    };
    match &settings.tls {
        None => Ok(Stream::Tcp(socket)),
        Some(tls) => {
            let encrypting = tls.connect(socket, address, deadline);
            opening
                .within(NetworkPhase::TlsHandshake, encrypting)
                .await
                .map(Stream::Tls)
        }
    }
}

/// The time ran out in this phase.
pub(super) fn timed_out(phase: NetworkPhase, limit: Duration) -> Error {
    let message = format!("no answer within connectTimeoutMS ({limit:?})");
    Error::network(phase, io::Error::new(io::ErrorKind::TimedOut, message))
}

#[derive(Clone, Copy)]
struct Opening<'a> {
    settings: &'a ConnectionSettings,
    deadline: Deadline,
}

impl Opening<'_> {
    async fn within<T>(self, phase: NetworkPhase, step: impl Future<Output = Result<T>>) -> Result<T> {
        match self.deadline.run(step).await {
            Ok(outcome) => outcome,
            Err(_) => Err(timed_out(phase, self.settings.connect_timeout)),
        }
    }

    async fn tcp(self, host: &str, port: u16) -> Result<TcpStream> {
        let Some(proxy) = &self.settings.proxy else {
            return self.reach(host, port, NetworkPhase::Connect).await;
        };
        let (proxy_host, proxy_port) = proxy.endpoint();
        let socket = self.reach(proxy_host, proxy_port, NetworkPhase::Proxy).await?;
        let asking = async {
            let asked = socks5::negotiate(&socket, host, port, proxy.credentials()).await;
            asked.map_err(|error| Error::network(NetworkPhase::Proxy, error))
        };
        self.within(NetworkPhase::Proxy, asking).await?;
        Ok(socket)
    }

    /// Connects to a host by itself, without a proxy.
    async fn reach(self, host: &str, port: u16, phase: NetworkPhase) -> Result<TcpStream> {
        let Self { settings, deadline } = self;
        let dns = &*settings.dns;
        let resolving = settings.dialer.resolve(host, port, dns, phase);
        let addresses = self.within(NetworkPhase::Resolve, resolving).await?;
        connect(addresses, deadline, settings.connect_timeout)
            .await
            .map_err(|error| Error::network(phase, error))
    }

    #[cfg(unix)]
    async fn unix(self, path: &std::path::Path) -> Result<Stream> {
        if self.settings.tls.is_some() {
            return Err(Error::unsupported(
                "tls=true cannot be used with a Unix domain socket",
            ));
        }
        let connecting = async {
            let connected = tokio::net::UnixStream::connect(path).await;
            connected.map_err(|error| Error::network(NetworkPhase::Connect, error))
        };
        self.within(NetworkPhase::Connect, connecting)
            .await
            .map(Stream::Unix)
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_async, reason = "the twin waits")]
    async fn unix(self, _: &std::path::Path) -> Result<Stream> {
        Err(Error::unsupported("Unix domain sockets on this platform"))
    }
}
