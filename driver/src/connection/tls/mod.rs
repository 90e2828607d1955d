//! TLS connections, by rustls with the cryptography of ring.
//!
//! Server certificates are verified against `tlsCAFile`, by default against the trusted roots of
//! the system (`rustls-native-certs`). The system keeps these current, and they include the roots
//! that an organization adds, as in drivers that use OpenSSL.

mod files;
#[cfg(feature = "key-password")]
mod key_password;
#[cfg(not(feature = "key-password"))]
#[path = "key_password_off.rs"]
mod key_password;
mod ocsp;
mod verify;

use std::{
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker},
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream as RustlsStream,
    rustls::{
        self, CertificateError, ClientConfig, OtherError, crypto::CryptoProvider, pki_types::ServerName,
    },
};

use crate::{
    Error, Result, ServerAddress, error::NetworkPhase, options::TlsOptions, types::deadline::Deadline,
};
#[cfg(all(feature = "internals", feature = "aws-auth"))]
pub use ocsp::RevocationStatus;
use ocsp::{Revocation, RevocationError};

/// The TLS state of a client: trusted roots, client certificate, sessions for resumption, and the
/// revocation check.
#[derive(Clone)]
pub struct TlsConfig {
    connector: TlsConnector,
    /// `None` if the check is disabled.
    revocation: Option<Arc<Revocation>>,
}

impl std::fmt::Debug for TlsConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TlsConfig")
    }
}

impl TlsConfig {
    /// Reads the files that the options name, once.
    ///
    /// # Errors
    /// `InvalidArgument` with the option, for a file that cannot be read or does not have the
    /// expected content.
    pub fn new(options: &TlsOptions) -> Result<Self> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let revocation = revocation(options, &provider);
        let verifier = verify::verifier(options, &provider, revocation.as_ref())?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| Error::invalid_argument(format!("no version of TLS can be used: {e}")))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let config = match files::client_certificate(options)? {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => builder.with_client_auth_cert(chain, key).map_err(|e| {
                Error::invalid_argument(format!(
                    "the certificate and key in tlsCertificateKeyFile cannot be used: {e}"
                ))
            })?,
        };
        Ok(Self {
            connector: TlsConnector::from(Arc::new(config)),
            revocation,
        })
    }

    /// Performs the TLS handshake. The certificate must be valid for the host name, and must not be
    /// revoked. The deadline limits only the time for OCSP responders; the caller enforces it for
    /// the handshake.
    pub(super) async fn connect(
        &self,
        socket: TcpStream,
        address: &ServerAddress,
        deadline: Deadline,
    ) -> Result<TlsStream> {
        let stream = self
            .handshake(socket, address.host().into_owned(), deadline)
            .await?;
        Ok(TlsStream(Box::new(stream)))
    }

    /// As [`connect`](Self::connect), over any stream.
    pub(super) async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        socket: S,
        host: String,
        deadline: Deadline,
    ) -> Result<RustlsStream<S>> {
        let name = ServerName::try_from(host)
            .map_err(|_| refused("the host name is not a valid name of a certificate"))?;
        // Boxed: large, and not needed for connections without TLS.
        let (stream, captured) = Box::pin(ocsp::capture(self.connector.connect(name, socket))).await;
        let stream = stream.map_err(failed)?;
        if let Some(revocation) = &self.revocation {
            let chain = stream.get_ref().1.peer_certificates();
            let leaf = chain.and_then(<[_]>::first);
            Box::pin(revocation.check(captured, leaf, deadline))
                .await
                .map_err(refused)?;
        }
        Ok(stream)
    }
}

/// The revocation check. `None` if it, or all verification of the certificate, is disabled.
fn revocation(options: &TlsOptions, provider: &CryptoProvider) -> Option<Arc<Revocation>> {
    let on = |option: Option<bool>| option == Some(true);
    let off = on(options.insecure)
        || on(options.allow_invalid_certificates)
        || on(options.disable_certificate_revocation_check);
    let asks = !on(options.disable_ocsp_endpoint_check);
    let algorithms = provider.signature_verification_algorithms.all;
    (!off).then(|| Arc::new(Revocation::new(algorithms, asks)))
}

fn refused(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    let error = io::Error::new(io::ErrorKind::InvalidData, why);
    Error::network(NetworkPhase::TlsHandshake, error)
}

/// The hint for a certificate of an authority that is not trusted.
const UNTRUSTED: &str =
    "tlsCAFile must name a file with the certificate of the authority that issued the server's certificate";

fn failed(error: io::Error) -> Error {
    let is_untrusted = matches!(
        rustls_error(&error),
        Some(rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature
        ))
    );
    let error = classify(error);
    if is_untrusted {
        Error::network_with_hint(NetworkPhase::TlsHandshake, error, UNTRUSTED)
    } else {
        Error::network(NetworkPhase::TlsHandshake, error)
    }
}

fn rustls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// Errors of the TLS library have the kind `InvalidData`; others are errors of the socket.
fn classify(error: io::Error) -> io::Error {
    let Some(inner) = rustls_error(&error) else {
        return error;
    };
    // An error of the revocation check, wrapped by rustls.
    if let rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(other))) = inner
        && let Some(refusal) = other.downcast_ref::<RevocationError>()
    {
        return io::Error::new(io::ErrorKind::InvalidData, refusal.clone());
    }
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// An encrypted socket.
#[derive(Debug)]
pub(super) struct TlsStream(Box<RustlsStream<TcpStream>>);

impl TlsStream {
    /// Whether an idle stream is closed, has failed, or has unexpected data. Messages of TLS
    /// itself, such as session tickets after the handshake, are processed and do not count.
    pub(super) fn is_readable(&mut self) -> bool {
        let mut byte = [0];
        let mut target = ReadBuf::new(&mut byte);
        let mut cx = Context::from_waker(Waker::noop());
        Pin::new(&mut *self.0).poll_read(&mut cx, &mut target).is_ready()
    }

    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        match pin!(self.0.read_buf(buffer)).poll(cx) {
            // The end without close_notify, handled as that of a TCP stream: a truncated message is
            // detected by its length.
            Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Poll::Ready(Ok(0)),
            outcome => outcome,
        }
    }

    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(cx, bytes)
    }

    /// Writes encrypted data that is still buffered to the socket.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_untrusted_authority_yields_a_hint_at_the_ca_file() {
        for (error, has_hint) in [
            (CertificateError::UnknownIssuer, true),
            (CertificateError::BadSignature, true),
            (CertificateError::Expired, false),
            (CertificateError::NotValidForName, false),
        ] {
            let error = rustls::Error::InvalidCertificate(error);
            let error = failed(io::Error::new(io::ErrorKind::InvalidData, error));
            assert_eq!(error.to_string().contains("tlsCAFile"), has_hint, "{error}");
        }
    }
}
