//! The credentials of `MONGODB-AWS`: where they come from, and their cache ([Authentication],
//! "Obtaining Credentials").
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

use std::{
    fmt,
    sync::{Arc, LazyLock},
    time::{Duration, SystemTime},
};

use super::{
    aws_environment::AwsSource, aws_sources::from_variables, login::LoginEnvironment,
    source_error::SourceError, source_tls::SourceTls,
};
use crate::{
    options::{AwsCredentialProvider, Credential},
    types::{
        aws_credentials::AwsCredentials,
        deadline::{Deadline, Elapsed},
        lock::{Inner, InnerGuard},
    },
};

/// Credentials are used again while they are valid for more than this time.
const RENEWAL: Duration = Duration::from_secs(5 * 60);
/// The maximum number of sources in a cache.
const MAX_SOURCES: usize = 64;

/// Cached credentials by their source, so that no client gets those of another identity. Clones share them.
#[derive(Clone)]
pub struct AwsCache(Arc<Inner<Vec<Cached>>>);

struct Cached {
    /// `None`: the provider of the client.
    source: Option<AwsSource>,
    credentials: AwsCredentials,
}

impl Cached {
    fn is_outdated(&self, now: SystemTime) -> bool {
        let is_expired = self.credentials.expiration.is_some_and(|end| end <= now);
        is_expired && self.source.as_ref().is_some_and(AwsSource::has_token)
    }
}

impl AwsCache {
    /// An empty cache.
    pub fn empty() -> Self {
        Self(Arc::default())
    }

    fn get(&self, source: Option<&AwsSource>) -> Option<AwsCredentials> {
        let cached = self.lock();
        let found = cached.iter().find(|cached| cached.source.as_ref() == source)?;
        Some(found.credentials.clone())
    }

    /// Replaces the credentials of a source, and removes expired ones of sources with a token, which may have been replaced.
    /// Other expired ones are kept: they say that their source had credentials, so that it renews them.
    fn set(&self, source: Option<AwsSource>, credentials: Option<AwsCredentials>) {
        let mut cached = self.lock();
        let now = SystemTime::now();
        cached.retain(|cached| cached.source != source && !cached.is_outdated(now));
        if cached.len() >= MAX_SOURCES {
            cached.remove(0);
        }
        cached.extend(credentials.map(|credentials| Cached { source, credentials }));
    }

    fn lock(&self) -> InnerGuard<'_, Vec<Cached>> {
        self.0.lock()
    }

    /// The cached credentials of the source that this environment has.
    #[cfg(feature = "internals")]
    pub(crate) fn get_for(&self, environment: &LoginEnvironment) -> Option<AwsCredentials> {
        self.get(Some(&environment.aws_source().ok()?))
    }

    /// Replaces the cached credentials of the source that this environment has.
    #[cfg(feature = "internals")]
    pub(crate) fn set_for(&self, environment: &LoginEnvironment, credentials: Option<AwsCredentials>) {
        if let Ok(source) = environment.aws_source() {
            self.set(Some(source), credentials);
        }
    }
}

/// The credentials, if they are valid long enough.
fn usable(credentials: AwsCredentials) -> Option<AwsCredentials> {
    let remaining = credentials.expiration?.duration_since(SystemTime::now()).ok()?;
    (remaining > RENEWAL).then_some(credentials)
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

impl LoginEnvironment {
    fn aws_source(&self) -> Result<AwsSource, SourceError> {
        AwsSource::of(|name| (self.variables)(name), &self.services)
    }
}

/// Where the credentials of a client come from.
pub(super) struct AwsLogin {
    provider: Option<AwsCredentialProvider>,
    environment: LoginEnvironment,
    /// That of the client if it has a provider, and that of the process otherwise.
    cache: AwsCache,
    tls: SourceTls,
}

impl AwsLogin {
    pub(super) fn new(credential: &Credential, environment: LoginEnvironment) -> Self {
        let provider = credential.aws_credential_provider.clone();
        let cache = match provider {
            Some(_) => AwsCache::empty(),
            None => environment.aws_cache.clone(),
        };
        Self {
            provider,
            tls: SourceTls::new(environment.sts_tls.clone()),
            environment,
            cache,
        }
    }

    /// The credentials and the sources that may be awaited, for errors. Environment variables are not awaited.
    pub(super) fn description(&self) -> &'static str {
        match self.provider {
            Some(_) => "AWS credentials of the provider of the application (AwsCredentialProvider)",
            None => "AWS credentials of a service of the environment (web identity, container or EC2)",
        }
    }

    /// Removes the cached credentials of the source of this client.
    pub(super) fn invalidate(&self) {
        if self.provider.is_some() {
            self.cache.set(None, None);
        } else if let Ok(source) = self.environment.aws_source() {
            self.cache.set(Some(source), None);
        }
    }

    /// The credentials of the first source that has them, until the deadline. No lock is held, so that several
    /// connections may obtain credentials at the same time.
    pub(super) async fn obtain(&self, deadline: Deadline) -> Result<AwsCredentials, SourceError> {
        if let Some(provider) = &self.provider {
            return self.provided(provider, deadline).await;
        }
        let source = self.environment.aws_source();
        let cached = self.cache.get(source.as_ref().ok());
        let is_filled = source.is_ok() && cached.is_some();
        if let Some(cached) = cached.filter(|_| is_filled).and_then(usable) {
            return Ok(cached);
        }
        // Environment variables are not cached. They are not asked to renew credentials of
        // another source, because theirs may be those of another identity.
        if !is_filled && let Some(credentials) = from_variables(|name| (self.environment.variables)(name))? {
            return Ok(credentials);
        }
        let source = source?;
        let services = &self.environment.services;
        let credentials = source.obtain(services, &self.tls, deadline).await?;
        if credentials.expiration.is_some() {
            self.cache.set(Some(source), Some(credentials.clone()));
        }
        Ok(credentials)
    }

    async fn provided(
        &self,
        provider: &AwsCredentialProvider,
        deadline: Deadline,
    ) -> Result<AwsCredentials, SourceError> {
        if let Some(cached) = self.cache.get(None).and_then(usable) {
            return Ok(cached);
        }
        let what = "the provider of the application";
        let credentials = match deadline.run(provider.provide()).await {
            Ok(provided) => provided.map_err(|error| SourceError::Application {
                what,
                cause: error.to_string(),
            })?,
            Err(Elapsed) => {
                return Err(SourceError::Late {
                    what: format!("{what} (AwsCredentialProvider)"),
                });
            }
        };
        if credentials.expiration.is_some() {
            self.cache.set(None, Some(credentials.clone()));
        }
        Ok(credentials)
    }
}

impl fmt::Debug for AwsLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AwsLogin")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::MetadataServices;

    fn source(variables: &[(&str, &str)]) -> AwsSource {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        AwsSource::of(variable, &MetadataServices::default()).unwrap()
    }

    fn with_token(token: &str) -> AwsSource {
        source(&[
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/"),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN", token),
        ])
    }

    #[test]
    fn expired_credentials_of_a_token_that_was_replaced_are_removed() {
        let cache = AwsCache::empty();
        let hour = Duration::from_secs(3600);
        let (past, future) = (SystemTime::now() - hour, SystemTime::now() + hour);
        let credentials = |end| Some(AwsCredentials::new("key", "secret").with_expiration(end));
        let [first, second, third] = ["first", "second", "third"].map(with_token);
        let machine = source(&[]);
        cache.set(Some(machine.clone()), credentials(past));
        cache.set(Some(first.clone()), credentials(past));
        cache.set(Some(second.clone()), credentials(future));
        cache.set(Some(third.clone()), credentials(future));
        let is_cached = |source| cache.get(Some(source)).is_some();
        assert!(!is_cached(&first));
        assert!(is_cached(&second) && is_cached(&third));
        // It is asked before the environment variables.
        assert!(is_cached(&machine));
    }
}
