//! [`Client::warm_up`].

use std::time::Duration;

use super::{Client, command::awaitable};
use crate::{Error, Result, types::deadline::Deadline};

impl Client {
    /// Establishes connections before they are needed: to every data-bearing server of the
    /// deployment (primary and secondaries, each mongos, the load balancer) that is in reach, until
    /// each pool has [`connections`](WarmUp::connections) connections, authenticated and ready.
    ///
    /// Waits until a data-bearing server is known and every other server has been checked. A server
    /// whose check fails, or does not end in time, is out of reach. Connections in use count, so
    /// that on a client whose pools have enough connections nothing is sent. At most `maxConnecting`
    /// connections to a server are established at the same time.
    ///
    /// Later the connections are treated as all others: they are closed after `maxIdleTimeMS`, and
    /// only `minPoolSize` of them are replaced.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the number is larger than
    /// `maxPoolSize`. The error of the first connection that could not be established, e.g.
    /// [`Authentication`](crate::ErrorKind::Authentication) or
    /// [`Network`](crate::ErrorKind::Network). [`Pool`](crate::ErrorKind::Pool) if a server failed
    /// in between. [`ServerSelection`](crate::ErrorKind::ServerSelection) if there was no
    /// data-bearing server in time, [`Timeout`](crate::ErrorKind::Timeout) if the connections were
    /// not established in time, [`Shutdown`](crate::ErrorKind::Shutdown) if the client was shut down or its
    /// runtime has ended. After an error, the connections that were established remain, and
    /// the action can be repeated.
    ///
    /// # Cancel safety
    /// If the future is dropped, connections that are being established become available.
    ///
    /// ```no_run
    /// # async fn run() -> marula_driver::Result<()> {
    /// let client = marula_driver::Client::connect("mongodb://localhost/?minPoolSize=5").await?;
    /// client.warm_up().await?;
    /// # Ok(()) }
    /// ```
    pub fn warm_up(&self) -> WarmUp<'_> {
        WarmUp {
            client: self,
            connections: None,
            timeout: None,
        }
    }
}

/// Establishes connections. Await it; see [`Client::warm_up`].
#[must_use = "nothing is sent before the action is awaited"]
#[derive(Debug)]
pub struct WarmUp<'a> {
    client: &'a Client,
    connections: Option<u32>,
    timeout: Option<Duration>,
}

impl WarmUp<'_> {
    /// The number of connections to each server. Default: `minPoolSize`, at least 1.
    pub fn connections(mut self, value: u32) -> Self {
        self.connections = Some(value);
        self
    }

    /// `timeoutMS`: the time limit. Zero means no limit. Default: that of the client, or else
    /// `serverSelectionTimeoutMS`.
    pub fn timeout(mut self, value: Duration) -> Self {
        self.timeout = Some(value);
        self
    }

    async fn run(self) -> Result<()> {
        let timeout = self.client.start_timeout(self.timeout, None)?;
        let executor = self.client.executor();
        let _running = executor.enter();
        let topology = executor.topology();
        let (min, max) = topology.pool_sizes();
        let connections = self.connections.unwrap_or(min.max(1));
        if max > 0 && connections > max {
            return Err(Error::invalid_argument(format!(
                "warm_up of {connections} connections exceeds maxPoolSize ({max})"
            )));
        }
        let deadline = if timeout.is_set() {
            timeout.deadline(None)
        } else {
            Deadline::after(Some(topology.server_selection_timeout()))
        };
        let warmed = topology.warm_up(connections, deadline).await;
        warmed.map_err(|error| timeout.report(error))
    }
}

awaitable!(['a] WarmUp<'a> => ());
