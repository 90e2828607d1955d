//! The credentials of `MONGODB-AWS`: where they come from, and their cache ([Authentication],
//! "Obtaining Credentials").
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

use std::{
    fmt,
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use super::{
    aws_sources::{from_ec2, from_ecs, from_variables},
    login::LoginEnvironment,
    source_error::SourceError,
    web_identity::WebIdentity,
};
use crate::{
    options::{AwsCredentialProvider, Credential},
    types::{aws_credentials::AwsCredentials, deadline::Deadline},
};

/// Credentials are used again while they are valid for more than this time.
const RENEWAL: Duration = Duration::from_secs(5 * 60);

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
    web_identity: WebIdentity,
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
            web_identity: WebIdentity::new(environment.sts_tls.clone()),
            environment,
            cache,
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
        } else if let Some(credentials) = self.web_identity.obtain(variable, services, deadline).await? {
            credentials
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
}

impl fmt::Debug for AwsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AwsSource")
    }
}
