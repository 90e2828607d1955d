//! TLS of requests to services that issue AWS credentials.

use std::{io, sync::OnceLock};

use super::{
    http::{Request, Response, Scheme, send, send_over_tls},
    tls::TlsConfig,
};
use crate::{options::TlsOptions, types::deadline::Deadline};

/// How connections to the services are encrypted.
#[derive(Debug)]
pub(crate) struct SourceTls {
    options: TlsOptions,
    /// Created when it is needed: it reads the certificates of the system.
    config: OnceLock<TlsConfig>,
}

impl SourceTls {
    pub(crate) fn new(options: TlsOptions) -> Self {
        Self {
            options,
            config: OnceLock::new(),
        }
    }

    /// Sends a request, over TLS for `https`. Dropping the future closes the socket.
    ///
    /// # Errors
    /// Those of the socket and of the handshake, and an invalid response, or one with a body of more than `limit` bytes.
    pub(super) async fn send(
        &self,
        request: &Request<'_>,
        scheme: Scheme,
        limit: usize,
        deadline: Deadline,
    ) -> io::Result<Response> {
        match scheme {
            Scheme::Http => send(request, limit).await,
            Scheme::Https => send_over_tls(request, self.config()?, limit, deadline).await,
        }
    }

    fn config(&self) -> io::Result<&TlsConfig> {
        if let Some(config) = self.config.get() {
            return Ok(config);
        }
        let config = TlsConfig::new(&self.options).map_err(io::Error::other)?;
        Ok(self.config.get_or_init(|| config))
    }
}
