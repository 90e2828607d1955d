//! Credentials that are obtained when they are needed ([Client Side Encryption], "Automatic Credentials").
//!
//! [Client Side Encryption]:
//! https://github.com/mongodb/specifications/blob/master/source/client-side-encryption/client-side-encryption.md

use std::{
    fmt,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use marula_mongocrypt::Zeroizing;

use crate::{
    Error, Result,
    api::Environment,
    bson::{Document, DocumentWriter, from_extended_json},
    connection::{METADATA_TIME_LIMIT, MetadataServices, fetch, from_ec2, from_ecs, from_variables},
    error::EncryptionError,
    options::encryption::EncryptionSettings,
    types::{
        aws_credentials::{AwsCredentialProvider, AwsCredentials},
        deadline::Deadline,
    },
};

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
    azure_token: Mutex<Option<AzureToken>>,
}

struct AzureToken {
    text: Zeroizing<String>,
    expires: Instant,
}

/// Why there are no credentials.
type Missing = String;

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
            azure_token: Mutex::default(),
        }
    }

    /// The document for libmongocrypt with all credentials that could be obtained, and the first error.
    pub(super) async fn obtain(&self, deadline: Deadline) -> Result<(Zeroizing<Vec<u8>>, Option<Error>)> {
        let mut missing = None;
        let mut note = |provider, message| {
            missing.get_or_insert(Error::from(EncryptionError::Credentials { provider, message }));
        };
        let mut bytes = Zeroizing::new(Vec::with_capacity(4096));
        let mut writer = DocumentWriter::new(&mut bytes);
        let document = writer.begin();
        if self.aws {
            match self.aws(deadline).await {
                Ok(credentials) => write_aws(&mut writer, &credentials),
                Err(message) => note("aws", message),
            }
        }
        if self.gcp {
            match self.gcp(deadline).await {
                Ok(token) => write_token(&mut writer, "gcp", &token),
                Err(message) => note("gcp", message),
            }
        }
        if self.azure {
            match self.azure(deadline).await {
                Ok(token) => write_token(&mut writer, "azure", &token),
                Err(message) => note("azure", message),
            }
        }
        writer.end(document);
        writer.finish()?;
        Ok((bytes, missing))
    }

    /// Environment variables, then ECS, then EC2 (Authentication, "Obtaining Credentials").
    async fn aws(&self, deadline: Deadline) -> Result<AwsCredentials, Missing> {
        if let Some(provider) = &self.aws_provider {
            return match deadline.run(provider.provide()).await {
                Ok(Ok(credentials)) => Ok(credentials),
                Ok(Err(error)) => Err(format!("the provider of the application failed: {error}")),
                Err(_) => Err("the provider of the application did not return in time".to_owned()),
            };
        }
        let variable = |name: &str| self.environment.variable(name);
        if let Some(credentials) = from_variables(variable).map_err(|error| error.to_string())? {
            return Ok(credentials);
        }
        match variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
            Some(path) => from_ecs(&self.services, &path, deadline).await,
            None => from_ec2(&self.services, deadline).await,
        }
        .map_err(|error| error.to_string())
    }

    /// "Obtaining GCP Credentials"
    async fn gcp(&self, deadline: Deadline) -> Result<Zeroizing<String>, Missing> {
        let url = format!("{}{GCP}", self.services.gcp);
        let headers = [("Metadata-Flavor", "Google")];
        let body = self.get("the metadata server", &url, &headers, deadline).await?;
        access_token(&parse(&body)?)
    }

    /// "Obtaining an Access Token for Azure Key Vault"
    async fn azure(&self, deadline: Deadline) -> Result<Zeroizing<String>, Missing> {
        if let Some(token) = &*self.azure_token.lock().unwrap_or_else(PoisonError::into_inner)
            && token.expires.saturating_duration_since(Instant::now()) > RENEWAL
        {
            return Ok(token.text.clone());
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
            *self.azure_token.lock().unwrap_or_else(PoisonError::into_inner) = Some(token);
        }
        Ok(text)
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
            .map(Zeroizing::new)
            .map_err(|error| error.to_string())
    }
}

fn parse(body: &str) -> Result<Document, Missing> {
    from_extended_json(body).map_err(|error| format!("the response is not JSON ({error}): {body}"))
}

/// The response is part of the error only if it has no token.
fn access_token(response: &Document) -> Result<Zeroizing<String>, Missing> {
    match response.get_str("access_token") {
        Ok(token) => Ok(Zeroizing::new(token.to_owned())),
        Err(_) => Err(format!("the response has no field access_token: {response}")),
    }
}

fn write_aws(writer: &mut DocumentWriter<'_>, credentials: &AwsCredentials) {
    let document = writer.begin_document("aws");
    writer.str("accessKeyId", &credentials.access_key_id);
    writer.str("secretAccessKey", &credentials.secret_access_key);
    if let Some(token) = &credentials.session_token {
        writer.str("sessionToken", token);
    }
    writer.end(document);
}

fn write_token(writer: &mut DocumentWriter<'_>, provider: &str, token: &str) {
    let document = writer.begin_document(provider);
    writer.str("accessToken", token);
    writer.end(document);
}

impl fmt::Debug for OnDemandCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnDemandCredentials")
    }
}
