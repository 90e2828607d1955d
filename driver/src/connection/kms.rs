//! Requests to key management services, over TLS ([Client Side Encryption], "KMS provider TLS options").
//!
//! [Client Side Encryption]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md

mod allowed_hosts;
mod caught_stream;

use std::{
    fmt, io,
    sync::{Arc, OnceLock},
    time::Duration,
};

use marula_mongocrypt::{Fed, KmsContext};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use self::{
    allowed_hosts::AllowedHosts,
    caught_stream::{CaughtStream, PanicFlag},
};
use super::{Dialer, DnsLookup, TlsConfig, connect::connect};
use crate::{
    Error, Result,
    bson::RawDocument,
    error::{EncryptionError, NetworkPhase},
    options::{
        TlsOptions,
        encryption::{EncryptionSettings, KmsConnect, KmsStream},
    },
    types::{
        deadline::{Deadline, Elapsed},
        panics::Panicked,
    },
};

/// The time limit of one attempt of a request.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// The most bytes that are read at once.
const CHUNK: usize = 16 * 1024;

/// How key management services are reached.
pub(crate) struct KmsTransport {
    /// By the name of the provider.
    tls: Vec<(String, TlsConfig)>,
    /// For the other providers. Created when it is needed: it reads the certificates of the system.
    default_tls: OnceLock<TlsConfig>,
    connect: Option<KmsConnect>,
    allowed: AllowedHosts,
    dialer: Dialer,
    dns: Arc<dyn DnsLookup>,
}

impl KmsTransport {
    /// Reads the files of the TLS options.
    ///
    /// # Errors
    /// `InvalidArgument` for a file that cannot be read or does not have the expected content.
    pub(crate) fn new(
        settings: &EncryptionSettings,
        dialer: Dialer,
        dns: Arc<dyn DnsLookup>,
    ) -> Result<Self> {
        let tls = settings
            .tls
            .iter()
            .map(|(provider, options)| Ok((provider.clone(), TlsConfig::new(options)?)))
            .collect::<Result<_>>()?;
        Ok(Self {
            tls,
            default_tls: OnceLock::new(),
            connect: settings.connect.clone(),
            allowed: AllowedHosts::new(settings),
            dialer,
            dns,
        })
    }

    /// Permits the endpoints of a master key that the application has given.
    pub(crate) fn permit(&self, provider: &str, master_key: &RawDocument) {
        for field in ["endpoint", "keyVaultEndpoint"] {
            if let Ok(endpoint) = master_key.get_str(field) {
                self.allowed.permit(provider, endpoint);
            }
        }
    }

    /// Sends the request and reads the reply, in at most 10 s. After a transient error, libmongocrypt returns the request
    /// again, up to three times.
    ///
    /// Dropping the future closes the socket.
    ///
    /// # Errors
    /// The service replied with an error, could not be reached, did not reply in time, or is none that requests may be
    /// sent to. `deadline` has passed.
    pub(crate) async fn exchange(&self, request: &mut KmsContext<'_>, deadline: Deadline) -> Result<()> {
        let endpoint = request.endpoint()?;
        let provider = request.provider();
        if !self.allowed.contain(&provider, &endpoint) {
            return Err(EncryptionError::KmsHostNotAllowed { provider, endpoint }.into());
        }
        let failure = match deadline.run(self.attempt(request, &endpoint, deadline)).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(Failure::Reply(error))) => return Err(error),
            Ok(Err(Failure::Panicked)) => {
                let provider = request.provider();
                return Err(EncryptionError::KmsConnectPanicked { provider, endpoint }.into());
            }
            Ok(Err(Failure::Network(error))) => {
                if request.fail() {
                    return Ok(());
                }
                error
            }
            // The time limit of the operation.
            Err(Elapsed) => timed_out(),
        };
        Err(EncryptionError::KmsConnection {
            provider: request.provider(),
            endpoint,
            cause: failure,
        }
        .into())
    }

    /// Waits as long as libmongocrypt asks for before a retry, then makes one attempt.
    async fn attempt(
        &self,
        request: &mut KmsContext<'_>,
        endpoint: &str,
        deadline: Deadline,
    ) -> Result<(), Failure> {
        tokio::time::sleep(request.delay()).await;
        let own = Deadline::after(Some(TIME_LIMIT));
        let panicked = PanicFlag::default();
        match own
            .run(self.send(request, endpoint, own.min(deadline), &panicked))
            .await
        {
            Ok(Err(_)) if panicked.is_set() => Err(Failure::Panicked),
            Ok(result) => result,
            Err(Elapsed) => Err(Failure::Network(timed_out())),
        }
    }

    async fn send(
        &self,
        request: &mut KmsContext<'_>,
        endpoint: &str,
        deadline: Deadline,
        panicked: &PanicFlag,
    ) -> Result<(), Failure> {
        let message = request.message().map_err(Error::from)?;
        let tls = self.tls(&request.provider())?;
        let (host, port) = split(endpoint).ok_or_else(|| {
            Error::invalid_argument(format!(
                "the endpoint of a key management service must be host:port, found {endpoint:?}"
            ))
        })?;
        let opened = self.open(host, port, deadline, panicked).await;
        let stream = opened.map_err(Failure::Network)?;
        let handshake = tls.handshake(stream, host.to_owned(), deadline);
        let mut stream = Box::pin(handshake).await.map_err(Failure::Network)?;
        stream
            .write_all(&message)
            .await
            .map_err(failed(NetworkPhase::Write))?;
        stream.flush().await.map_err(failed(NetworkPhase::Write))?;
        let mut buffer = marula_mongocrypt::Zeroizing::new(vec![0; CHUNK]);
        loop {
            let needed = request.bytes_needed().min(CHUNK);
            if needed == 0 {
                return Ok(());
            }
            let target = buffer.get_mut(..needed).unwrap_or_default();
            let read = stream.read(target).await.map_err(failed(NetworkPhase::Read))?;
            if read == 0 {
                let error = io::Error::new(io::ErrorKind::UnexpectedEof, "the service closed the connection");
                return Err(failed(NetworkPhase::Read)(error));
            }
            let bytes = target.get(..read).unwrap_or_default();
            let fed = request.feed(bytes);
            if fed.map_err(|error| refused(error, endpoint, &request.provider()))? == Fed::Again {
                return Ok(());
            }
        }
    }

    fn tls(&self, provider: &str) -> Result<TlsConfig> {
        if let Some((_, tls)) = self.tls.iter().find(|(name, _)| name == provider) {
            return Ok(tls.clone());
        }
        if let Some(tls) = self.default_tls.get() {
            return Ok(tls.clone());
        }
        let tls = TlsConfig::new(&TlsOptions::default())?;
        Ok(self.default_tls.get_or_init(|| tls).clone())
    }

    async fn open(
        &self,
        host: &str,
        port: u16,
        deadline: Deadline,
        panicked: &PanicFlag,
    ) -> Result<Box<dyn KmsStream>> {
        let network = |error| Error::network(NetworkPhase::Connect, error);
        if let Some(connect) = &self.connect {
            let opened = connect.open(host, port, deadline.remaining()).await;
            let opened = opened.unwrap_or_else(|Panicked| {
                panicked.set();
                Err(io::Error::other("the function of the application panicked"))
            });
            let stream = CaughtStream::new(opened.map_err(network)?, panicked.clone());
            return Ok(Box::new(stream));
        }
        let dns = &*self.dns;
        let addresses = self
            .dialer
            .resolve(host, port, dns, NetworkPhase::Connect)
            .await?;
        let stream = connect(addresses, deadline, TIME_LIMIT).await.map_err(network)?;
        Ok(Box::new(stream))
    }
}

impl fmt::Debug for KmsTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KmsTransport")
            .field("connect", &self.connect)
            .finish_non_exhaustive()
    }
}

/// Why an attempt failed.
enum Failure {
    /// The request may be repeated.
    Network(Error),
    /// An error of the service, of libmongocrypt, or of an option.
    Reply(Error),
    /// The function of the application or its stream panicked.
    Panicked,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Reply(error)
    }
}

/// The error of a response, with the service.
fn refused(mut error: marula_mongocrypt::Error, endpoint: &str, provider: &str) -> Error {
    error.message = format!("{endpoint} of the provider {provider:?}: {}", error.message);
    error.into()
}

fn timed_out() -> Error {
    let error = io::Error::new(io::ErrorKind::TimedOut, "no answer in time");
    Error::network(NetworkPhase::Read, error)
}

fn failed(phase: NetworkPhase) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::Network(Error::network(phase, error))
}

/// Host and port. libmongocrypt adds the default port of the provider.
fn split(endpoint: &str) -> Option<(&str, u16)> {
    let (host, port) = endpoint.rsplit_once(':')?;
    let host = host
        .strip_prefix('[')
        .and_then(|h| h.strip_suffix(']'))
        .unwrap_or(host);
    (!host.is_empty()).then_some((host, port.parse().ok()?))
}

#[cfg(test)]
mod tests;
