//! [`KmsConnect`]: how connections to key management services are opened.

use std::{fmt, io, pin::Pin, sync::Arc, time::Duration};

use tokio::io::{AsyncRead, AsyncWrite};

use crate::types::panics::CaughtFuture;

/// A stream to a key management service, or to a proxy that forwards to it.
pub trait KmsStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> KmsStream for S {}

type Opened = io::Result<Box<dyn KmsStream>>;
type Opening = Pin<Box<dyn Future<Output = Opened> + Send>>;

/// Opens streams to key management services (`kmsConnectCallback`).
///
/// The function receives the host and the port of the service, and the time that is left of the attempt: 10 s, or less if the
/// time limit of the operation ends earlier. The driver drops the future when the time is over. That and an error are handled
/// as a transient network error: the function is called again, up to three times, after a delay that libmongocrypt determines.
/// A panic of the function or of its stream is not repeated: the operation fails with
/// [`EncryptionError::KmsConnectPanicked`](crate::EncryptionError::KmsConnectPanicked).
///
/// ```
/// use marula_driver::encryption::KmsConnect;
/// use tokio::net::TcpStream;
///
/// let connect = KmsConnect::new(|host, port, _time| async move {
///     // An HTTP proxy would be sent `CONNECT` here.
///     TcpStream::connect((host, port)).await
/// });
/// ```
#[derive(Clone)]
pub struct KmsConnect(Arc<dyn Fn(String, u16, Option<Duration>) -> Opening + Send + Sync>);

impl KmsConnect {
    /// Opens streams with this function.
    pub fn new<F, O, S>(open: F) -> Self
    where
        F: Fn(String, u16, Option<Duration>) -> O + Send + Sync + 'static,
        O: Future<Output = io::Result<S>> + Send + 'static,
        S: KmsStream + 'static,
    {
        Self(Arc::new(move |host, port, time| {
            let opening = open(host, port, time);
            Box::pin(async move {
                let stream = opening.await?;
                Ok(Box::new(stream) as Box<dyn KmsStream>)
            })
        }))
    }

    pub(crate) fn open(&self, host: &str, port: u16, time: Option<Duration>) -> CaughtFuture<Opened> {
        CaughtFuture::begin(|| (self.0)(host.to_owned(), port, time))
    }
}

impl fmt::Debug for KmsConnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KmsConnect")
    }
}
