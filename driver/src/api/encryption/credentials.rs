//! Credentials that are obtained when they are needed ([Client Side Encryption], "Automatic Credentials").
//!
//! [Client Side Encryption]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    task::Poll,
    time::{Duration, Instant},
};

use marula_mongocrypt::Zeroizing;

use crate::{
    Error, Result,
    api::Environment,
    bson::{Document, DocumentWriter, from_extended_json},
    connection::{
        AwsSource, METADATA_TIME_LIMIT, MetadataServices, SourceError, SourceTls, fetch, from_variables,
    },
    error::EncryptionError,
    options::{TlsOptions, encryption::EncryptionSettings},
    types::{
        aws_credentials::{AwsCredentialProvider, AwsCredentials},
        deadline::{Deadline, Elapsed},
        lock::Inner,
    },
};

/// The time limit of the provider of the application without `timeoutMS`.
const PROVIDER_TIME_LIMIT: Duration = Duration::from_secs(60);
/// More than the length of the names of all fields in the document for libmongocrypt, in bytes.
const FIELDS: usize = 512;
/// A token of Azure is used as long as it is valid for more than this time.
const RENEWAL: Duration = Duration::from_secs(60);
const AZURE: &str =
    "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fvault.azure.net%2F";
const GCP: &str = "/computeMetadata/v1/instance/service-accounts/default/token";

/// The providers that were configured with an empty document.
pub(super) struct OnDemandCredentials {
    aws: bool,
    azure: bool,
    gcp: bool,
    aws_provider: Option<AwsCredentialProvider>,
    environment: Environment,
    services: MetadataServices,
    tls: SourceTls,
    azure_token: Inner<Option<AzureToken>>,
}

struct AzureToken {
    text: Zeroizing<String>,
    expires: Instant,
}

/// Why there are no credentials.
type Missing = String;

/// The credentials of one provider.
enum Credentials {
    Aws(AwsCredentials),
    /// An access token of Azure or Google Cloud.
    Token(Zeroizing<String>),
}

type Obtaining<'a> = Pin<Box<dyn Future<Output = Result<Credentials, Missing>> + Send + 'a>>;

impl Credentials {
    /// The length of the texts.
    fn size(&self) -> usize {
        match self {
            Self::Aws(aws) => {
                let token = aws.session_token.as_ref().map_or(0, |token| token.len());
                aws.access_key_id.len() + aws.secret_access_key.len() + token
            }
            Self::Token(token) => token.len(),
        }
    }
}

impl OnDemandCredentials {
    pub(super) fn new(
        settings: &EncryptionSettings,
        environment: Environment,
        services: MetadataServices,
    ) -> Self {
        let providers = &settings.providers;
        Self {
            aws: providers.is_on_demand("aws"),
            azure: providers.is_on_demand("azure"),
            gcp: providers.is_on_demand("gcp"),
            aws_provider: settings.aws_credentials.clone(),
            environment,
            services,
            tls: SourceTls::new(TlsOptions::default()),
            azure_token: Inner::default(),
        }
    }

    /// The document for libmongocrypt with all credentials that could be obtained, and the first error. The sources of all
    /// providers are used at the same time.
    pub(super) async fn obtain(&self, deadline: Deadline) -> Result<(Zeroizing<Vec<u8>>, Option<Error>)> {
        let mut obtaining: Vec<(&'static str, Obtaining<'_>)> = Vec::with_capacity(3);
        if self.aws {
            obtaining.push(("aws", Box::pin(self.aws(deadline))));
        }
        if self.gcp {
            obtaining.push(("gcp", Box::pin(self.gcp(deadline))));
        }
        if self.azure {
            obtaining.push(("azure", Box::pin(self.azure(deadline))));
        }
        let (mut found, mut missing) = (Vec::new(), None);
        for (provider, result) in all(obtaining).await {
            match result {
                Ok(credentials) => found.push((provider, credentials)),
                Err(message) => {
                    missing.get_or_insert(Error::from(EncryptionError::Credentials { provider, message }));
                }
            }
        }
        Ok((document(&found)?, missing))
    }

    /// Environment variables, then a web identity, then a container, then EC2 (Authentication, "Obtaining Credentials").
    async fn aws(&self, deadline: Deadline) -> Result<Credentials, Missing> {
        if let Some(provider) = &self.aws_provider {
            let deadline = match deadline.remaining() {
                Some(_) => deadline,
                None => Deadline::after(Some(PROVIDER_TIME_LIMIT)),
            };
            return match deadline.run(provider.provide()).await {
                Ok(Ok(credentials)) => Ok(Credentials::Aws(credentials)),
                Ok(Err(error)) => Err(format!("the provider of the application failed: {error}")),
                Err(Elapsed) => Err(
                    "the provider of the application did not return in time: within timeoutMS, or 60 s \
                                     if it is not set"
                        .to_owned(),
                ),
            };
        }
        let text = |error: SourceError| error.to_string();
        let variable = |name: &str| self.environment.variable(name);
        if let Some(credentials) = from_variables(variable).map_err(text)? {
            return Ok(Credentials::Aws(credentials));
        }
        let source = AwsSource::of(variable, &self.services).map_err(text)?;
        let credentials = source.obtain(&self.services, &self.tls, deadline).await;
        credentials.map(Credentials::Aws).map_err(text)
    }

    /// "Obtaining GCP Credentials"
    async fn gcp(&self, deadline: Deadline) -> Result<Credentials, Missing> {
        let url = format!("{}{GCP}", self.services.gcp);
        let headers = [("Metadata-Flavor", "Google")];
        let body = self.get("the metadata server", &url, &headers, deadline).await?;
        access_token(&parse(&body)?).map(Credentials::Token)
    }

    /// "Obtaining an Access Token for Azure Key Vault"
    async fn azure(&self, deadline: Deadline) -> Result<Credentials, Missing> {
        if let Some(token) = &*self.azure_token.lock()
            && token.expires.saturating_duration_since(Instant::now()) > RENEWAL
        {
            return Ok(Credentials::Token(token.text.clone()));
        }
        let began = Instant::now();
        let url = format!("{}{AZURE}", self.services.azure);
        let headers = [("Metadata", "true"), ("Accept", "application/json")];
        let body = self
            .get("the instance metadata service", &url, &headers, deadline)
            .await?;
        let document = parse(&body)?;
        let text = access_token(&document)?;
        let seconds = document
            .get_str("expires_in")
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or("the response has no field expires_in with a number of seconds")?;
        if let Some(expires) = began.checked_add(Duration::from_secs(seconds)) {
            let token = AzureToken {
                text: text.clone(),
                expires,
            };
            *self.azure_token.lock() = Some(token);
        }
        Ok(Credentials::Token(text))
    }

    async fn get(
        &self,
        name: &'static str,
        url: &str,
        headers: &[(&str, &str)],
        deadline: Deadline,
    ) -> Result<Zeroizing<String>, Missing> {
        let deadline = deadline.min(Deadline::after(Some(METADATA_TIME_LIMIT)));
        fetch(name, "GET", url, headers, deadline)
            .await
            .map_err(|error| error.to_string())
    }
}

/// The response is not part of errors: it may contain a token.
fn parse(body: &str) -> Result<Document, Missing> {
    from_extended_json(body).map_err(|_| format!("the response of {} bytes is not JSON", body.len()))
}

fn access_token(response: &Document) -> Result<Zeroizing<String>, Missing> {
    match response.get_str("access_token") {
        Ok(token) => Ok(Zeroizing::new(token.to_owned())),
        Err(_) => {
            let names: Vec<&str> = response.keys().map(String::as_str).collect();
            let names = names.join(", ");
            Err(format!(
                "the response has no field access_token with a string; its fields: {names}"
            ))
        }
    }
}

/// The document for libmongocrypt.
fn document(found: &[(&'static str, Credentials)]) -> Result<Zeroizing<Vec<u8>>> {
    let size: usize = found.iter().map(|(_, credentials)| credentials.size()).sum();
    // Not reallocated, which would leave a copy.
    let mut bytes = Zeroizing::new(Vec::with_capacity(size + FIELDS));
    let mut writer = DocumentWriter::new(&mut bytes);
    let document = writer.begin();
    for (provider, credentials) in found {
        let document = writer.begin_document(provider);
        match credentials {
            Credentials::Aws(aws) => {
                writer.str("accessKeyId", &aws.access_key_id);
                writer.str("secretAccessKey", &aws.secret_access_key);
                if let Some(token) = &aws.session_token {
                    writer.str("sessionToken", token);
                }
            }
            Credentials::Token(token) => writer.str("accessToken", token),
        }
        writer.end(document);
    }
    writer.end(document);
    writer.finish()?;
    Ok(bytes)
}

/// Runs the futures at the same time. The results are in their order. Dropping the returned one drops all.
async fn all<'a>(
    mut running: Vec<(&'static str, Obtaining<'a>)>,
) -> Vec<(&'static str, Result<Credentials, Missing>)> {
    let mut results: Vec<_> = running.iter().map(|(provider, _)| (*provider, None)).collect();
    poll_fn(|cx| {
        for ((_, future), (_, result)) in running.iter_mut().zip(&mut results) {
            if result.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(cx)
            {
                *result = Some(ready);
            }
        }
        if results.iter().all(|(_, result)| result.is_some()) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    let ended = results.into_iter();
    ended
        .filter_map(|(provider, result)| Some((provider, result?)))
        .collect()
}

impl fmt::Debug for OnDemandCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnDemandCredentials")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, bson::doc, options::encryption::KmsProviders};

    fn with_provider(provider: AwsCredentialProvider) -> OnDemandCredentials {
        let providers = KmsProviders::new().with("aws", doc! {});
        let mut settings = EncryptionSettings::new("encryption.keys".to_owned(), providers);
        settings.aws_credentials = Some(provider);
        OnDemandCredentials::new(&settings, Environment::default(), MetadataServices::default())
    }

    #[tokio::test(start_paused = true)]
    async fn a_provider_of_the_application_has_a_time_limit() {
        let credentials = with_provider(AwsCredentialProvider::new(std::future::pending));
        for (of_operation, limit) in [
            (None, PROVIDER_TIME_LIMIT),
            (Some(2 * PROVIDER_TIME_LIMIT), 2 * PROVIDER_TIME_LIMIT),
        ] {
            let began = tokio::time::Instant::now();
            let (_, missing) = credentials.obtain(Deadline::after(of_operation)).await.unwrap();
            let error = missing.unwrap();
            let ErrorKind::Encryption(EncryptionError::Credentials {
                provider: "aws",
                message,
            }) = error.kind()
            else {
                panic!("{error:?}");
            };
            assert!(message.contains("did not return in time"), "{message}");
            assert!(
                began.elapsed() >= limit && began.elapsed() < 2 * limit,
                "{:?}",
                began.elapsed()
            );
        }
    }

    #[test]
    fn errors_contain_nothing_of_a_response() {
        let token = "eyJhbGciOi";
        let cut = parse(&format!("{{\"access_token\": \"{token}\"}} x")).unwrap_err();
        assert_eq!(cut, "the response of 32 bytes is not JSON");
        let nested = access_token(&doc! { "access_token": { "value": token }, "token_type": "Bearer" });
        let nested = nested.unwrap_err();
        assert!(
            nested.ends_with("its fields: access_token, token_type"),
            "{nested}"
        );
    }

    #[test]
    fn the_document_is_not_reallocated() {
        let text = "x".repeat(5_000);
        let aws = AwsCredentials::new(text.clone(), text.clone()).with_session_token(text.clone());
        let found = [
            ("aws", Credentials::Aws(aws)),
            ("gcp", Credentials::Token(Zeroizing::new(text.clone()))),
            ("azure", Credentials::Token(Zeroizing::new(text))),
        ];
        let capacity = found.iter().map(|(_, one)| one.size()).sum::<usize>() + FIELDS;
        let document = document(&found).unwrap();
        assert_eq!(
            (document.capacity(), document.len() <= capacity),
            (capacity, true)
        );
    }
}
