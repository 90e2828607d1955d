//! The credentials of `MONGODB-AWS`: where they come from, and their cache ([Authentication],
//! "Obtaining Credentials").
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

use std::{
    fmt, io,
    sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, SystemTime},
};

use zeroize::Zeroizing;

use super::{
    aws_sources::{credentials, document, from_ec2, from_ecs, from_variables},
    http::{Request, Response, Url, send, send_over_tls},
    login::LoginEnvironment,
    metadata_service::{METADATA_TIME_LIMIT, percent_encoded, shortened},
    source_error::{SourceError, read_file},
    tls::TlsConfig,
};
use crate::{
    options::{AwsCredentialProvider, Credential},
    types::{aws_credentials::AwsCredentials, deadline::Deadline},
};

/// Credentials are used again while they are valid for more than this time.
const RENEWAL: Duration = Duration::from_secs(5 * 60);
/// The maximum size of a response of the Security Token Service, in bytes.
const MAX_RESPONSE: usize = 1 << 20;
/// The beginning of the name of a session, if `AWS_ROLE_SESSION_NAME` is not set.
const SESSION_NAME: &str = "marula-driver";

/// Cached credentials. Clones share them.
#[derive(Clone)]
pub struct AwsCache(Arc<Mutex<Option<AwsCredentials>>>);

impl AwsCache {
    /// An empty cache.
    pub fn empty() -> Self {
        Self(Arc::default())
    }

    /// The cached credentials.
    pub fn get(&self) -> Option<AwsCredentials> {
        self.lock().clone()
    }

    /// Replaces the cached credentials.
    pub fn set(&self, credentials: Option<AwsCredentials>) {
        *self.lock() = credentials;
    }

    fn is_filled(&self) -> bool {
        self.lock().is_some()
    }

    /// The cached credentials, if they are valid long enough.
    fn usable(&self) -> Option<AwsCredentials> {
        self.get().filter(|credentials| {
            let remaining = credentials
                .expiration
                .and_then(|expiration| expiration.duration_since(SystemTime::now()).ok());
            remaining.is_some_and(|remaining| remaining > RENEWAL)
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<AwsCredentials>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The cache of the process.
impl Default for AwsCache {
    fn default() -> Self {
        static PROCESS: LazyLock<AwsCache> = LazyLock::new(AwsCache::empty);
        PROCESS.clone()
    }
}

impl fmt::Debug for AwsCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AwsCache")
    }
}

/// The time since the Unix epoch.
pub(super) fn now() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

/// The source of the credentials of a client.
pub(super) struct AwsSource {
    provider: Option<AwsCredentialProvider>,
    environment: LoginEnvironment,
    /// That of the client if it has a provider, and that of the process otherwise.
    cache: AwsCache,
    /// Created when it is needed: it reads the certificates of the system.
    tls: OnceLock<TlsConfig>,
}

impl AwsSource {
    pub(super) fn new(credential: &Credential, environment: LoginEnvironment) -> Self {
        let provider = credential.aws_credential_provider.clone();
        let cache = match provider {
            Some(_) => AwsCache::empty(),
            None => environment.aws_cache.clone(),
        };
        Self {
            provider,
            environment,
            cache,
            tls: OnceLock::new(),
        }
    }

    /// Removes the cached credentials.
    pub(super) fn invalidate(&self) {
        self.cache.set(None);
    }

    /// The credentials of the first source that has them. No lock is held, so that several
    /// connections may obtain credentials at the same time.
    pub(super) async fn obtain(&self, deadline: Deadline) -> Result<AwsCredentials, SourceError> {
        if let Some(cached) = self.cache.usable() {
            return Ok(cached);
        }
        let variable = |name: &str| (self.environment.variables)(name);
        let services = &self.environment.services;
        let credentials = if let Some(provider) = &self.provider {
            let provided = provider.provide().await;
            provided.map_err(|error| SourceError::Application {
                what: "the provider of the application",
                cause: error.to_string(),
            })?
        } else if !self.cache.is_filled()
            && let Some(credentials) = from_variables(variable)?
        {
            // Environment variables are not cached. They are not asked to renew credentials of
            // another source, because theirs may be those of another identity.
            return Ok(credentials);
        } else if let (Some(file), Some(role)) =
            (variable("AWS_WEB_IDENTITY_TOKEN_FILE"), variable("AWS_ROLE_ARN"))
        {
            let session = variable("AWS_ROLE_SESSION_NAME");
            // The log of the service tells sessions apart by their names.
            let session = session.unwrap_or_else(|| format!("{SESSION_NAME}-{}", now().as_nanos()));
            self.assume_role(file, &role, &session, deadline).await?
        } else if let Some(path) = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
            from_ecs(services, &path, deadline).await?
        } else {
            from_ec2(services, deadline).await?
        };
        if credentials.expiration.is_some() {
            self.cache.set(Some(credentials.clone()));
        }
        Ok(credentials)
    }

    /// `AssumeRoleWithWebIdentity` of the Security Token Service.
    async fn assume_role(
        &self,
        file: String,
        role: &str,
        session: &str,
        deadline: Deadline,
    ) -> Result<AwsCredentials, SourceError> {
        const NAME: &str = "the Security Token Service (AssumeRoleWithWebIdentity)";
        let token = Zeroizing::new(read_file(file).await?);
        // The token is part of the target, so errors do not contain it.
        let target = Zeroizing::new(format!(
            "/?Action=AssumeRoleWithWebIdentity&RoleSessionName={}&RoleArn={}&WebIdentityToken={}&Version=2011-06-15",
            percent_encoded(session),
            percent_encoded(role),
            percent_encoded(token.trim())
        ));
        let deadline = deadline.min(Deadline::after(Some(METADATA_TIME_LIMIT)));
        let unanswered = |cause: String| SourceError::NoReply { service: NAME, cause };
        let response = match deadline.run(self.post(&target, deadline)).await {
            Ok(response) => response.map_err(|error| unanswered(error.to_string()))?,
            Err(_) => return Err(unanswered("no answer in time".to_owned())),
        };
        let body = Zeroizing::new(String::from_utf8_lossy(&response.body).into_owned());
        if response.status != 200 {
            return Err(SourceError::Status {
                service: NAME,
                status: response.status,
                body: shortened(&body).to_owned(),
            });
        }
        let response = document(NAME, &body)?;
        // The service nests the result; the specification does not.
        let nested = response
            .get_document("AssumeRoleWithWebIdentityResponse")
            .and_then(|response| response.get_document("AssumeRoleWithWebIdentityResult"));
        let result = nested.unwrap_or(&response);
        let field = "Credentials";
        let found = result.get_document(field);
        let found = found.map_err(|_| SourceError::NoField { service: NAME, field })?;
        credentials(NAME, found, "SessionToken")
    }

    /// Sends a request without a body to the service, over TLS unless its URL is one of `http`.
    async fn post(&self, target: &str, deadline: Deadline) -> io::Result<Response> {
        let service = &self.environment.services.sts;
        let (authority, is_encrypted) = match service.strip_prefix("https://") {
            Some(authority) => (authority, true),
            None => (service.strip_prefix("http://").unwrap_or(service), false),
        };
        let url = format!("http://{authority}{target}");
        let mut url = Url::parse(&url).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "the URL of the service is invalid")
        })?;
        if is_encrypted && url.port == 80 {
            url.port = 443;
        }
        let request = Request {
            method: "POST",
            url: &url,
            headers: &[("Accept", "application/json")],
            body: b"",
        };
        if is_encrypted {
            send_over_tls(&request, self.tls()?, MAX_RESPONSE, deadline).await
        } else {
            send(&request, MAX_RESPONSE).await
        }
    }

    fn tls(&self) -> io::Result<&TlsConfig> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls);
        }
        let tls = TlsConfig::new(&self.environment.sts_tls).map_err(io::Error::other)?;
        Ok(self.tls.get_or_init(|| tls))
    }
}

impl fmt::Debug for AwsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AwsSource")
    }
}
