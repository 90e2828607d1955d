//! [`AwsCredentials`], and the function of the application that returns them.

#[cfg(feature = "aws-auth")]
use std::time::SystemTime;
use std::{error::Error as StdError, fmt, pin::Pin, sync::Arc};

use zeroize::Zeroizing;

use super::panics::{CaughtFuture, Panicked};

/// Credentials of AWS. `Debug` prints no secret. The texts are zeroed when they are dropped.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AwsCredentials {
    /// `accessKeyId`
    pub access_key_id: String,
    pub(crate) secret_access_key: Zeroizing<String>,
    pub(crate) session_token: Option<Zeroizing<String>>,
    #[cfg(feature = "aws-auth")]
    pub(crate) expiration: Option<SystemTime>,
}

impl AwsCredentials {
    /// Credentials without a session token.
    pub fn new(access_key_id: impl Into<String>, secret_access_key: impl Into<String>) -> Self {
        Self {
            access_key_id: access_key_id.into(),
            secret_access_key: Zeroizing::new(secret_access_key.into()),
            session_token: None,
            #[cfg(feature = "aws-auth")]
            expiration: None,
        }
    }

    /// Adds the session token of temporary credentials.
    #[must_use]
    pub fn with_session_token(mut self, token: impl Into<String>) -> Self {
        self.session_token = Some(Zeroizing::new(token.into()));
        self
    }

    /// Sets when the credentials expire. `MONGODB-AWS` uses credentials of an
    /// [`AwsCredentialProvider`] again while this is more than five minutes away. Default: not set;
    /// the provider is called for each connection. In-use encryption does not use it.
    #[cfg(feature = "aws-auth")]
    #[must_use]
    pub fn with_expiration(mut self, expiration: SystemTime) -> Self {
        self.expiration = Some(expiration);
        self
    }
}

impl fmt::Debug for AwsCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsCredentials")
            .field("access_key_id", &self.access_key_id)
            .finish_non_exhaustive()
    }
}

/// The error of a function of the application.
pub(crate) type ProviderError = Box<dyn StdError + Send + Sync>;

type Providing = Pin<Box<dyn Future<Output = Result<AwsCredentials, ProviderError>> + Send>>;

/// A function of the application that returns AWS credentials when they are needed: for
/// `MONGODB-AWS` (`AWS_CREDENTIAL_PROVIDER`, feature `aws-auth`), and for key management services of
/// in-use encryption (`credentialProviders.aws`, feature `encryption`).
///
/// ```
/// use marula_driver::options::{AwsCredentialProvider, AwsCredentials};
///
/// let provider = AwsCredentialProvider::new(|| async {
///     let secret = std::env::var("KMS_SECRET")?;
///     Ok(AwsCredentials::new("AKIA…", secret))
/// });
/// ```
#[derive(Clone)]
pub struct AwsCredentialProvider(Arc<dyn Fn() -> Providing + Send + Sync>);

impl AwsCredentialProvider {
    /// Obtains credentials with this function. It is called when credentials are needed. The future
    /// is dropped if the time limit of the operation expires. An error of it is part of the error of
    /// the operation, so it must not contain a secret. So is a panic of it, without its message.
    pub fn new<F, O>(provide: F) -> Self
    where
        F: Fn() -> O + Send + Sync + 'static,
        O: Future<Output = Result<AwsCredentials, Box<dyn StdError + Send + Sync>>> + Send + 'static,
    {
        Self(Arc::new(move || Box::pin(provide())))
    }

    /// A panic of the provider is an error of it.
    pub(crate) async fn provide(&self) -> Result<AwsCredentials, ProviderError> {
        let provided = CaughtFuture::begin(|| (self.0)()).await;
        provided.unwrap_or_else(|Panicked| Err("it panicked".into()))
    }
}

/// Whether both are clones of the same provider.
impl PartialEq for AwsCredentialProvider {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for AwsCredentialProvider {}

impl fmt::Debug for AwsCredentialProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AwsCredentialProvider")
    }
}
