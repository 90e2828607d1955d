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
    connection::{MetadataServices, fetch},
    error::EncryptionError,
    options::encryption::{AwsCredentialProvider, AwsCredentials, EncryptionSettings},
    types::deadline::Deadline,
};

/// A token of Azure is used as long as it is valid for more than this time.
const RENEWAL: Duration = Duration::from_secs(60);
/// The token of the EC2 metadata service is used for two requests.
const EC2_TOKEN: &str = "30";
const AZURE: &str =
    "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fvault.azure.net%2F";
const GCP: &str = "/computeMetadata/v1/instance/service-accounts/default/token";
const EC2_ROLES: &str = "/latest/meta-data/iam/security-credentials/";

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
        let variable = |name| self.environment.variable(name);
        if let (Some(id), Some(secret)) = (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
            let credentials = AwsCredentials::new(id, secret);
            return Ok(match variable("AWS_SESSION_TOKEN") {
                Some(token) => credentials.with_session_token(token),
                None => credentials,
            });
        }
        if let Some(path) = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
            let url = format!("{}{path}", self.services.ecs);
            return aws_credentials(&self.get("the ECS endpoint", &url, &[], deadline).await?);
        }
        self.ec2(deadline).await
    }

    /// The instance metadata service, version 2.
    async fn ec2(&self, deadline: Deadline) -> Result<AwsCredentials, Missing> {
        const NAME: &str = "the EC2 metadata service";
        let host = &self.services.ec2;
        let headers = [("X-aws-ec2-metadata-token-ttl-seconds", EC2_TOKEN)];
        let url = format!("{host}/latest/api/token");
        let token = Zeroizing::new(request(NAME, "PUT", &url, &headers, deadline).await.map_err(
            |error| format!("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and {error}"),
        )?);
        let headers = [("X-aws-ec2-metadata-token", token.as_str())];
        let roles = self
            .get(NAME, &format!("{host}{EC2_ROLES}"), &headers, deadline)
            .await?;
        let role = roles.lines().next().unwrap_or_default().trim();
        let url = format!("{host}{EC2_ROLES}{role}");
        aws_credentials(&self.get(NAME, &url, &headers, deadline).await?)
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
        name: &str,
        url: &str,
        headers: &[(&str, &str)],
        deadline: Deadline,
    ) -> Result<Zeroizing<String>, Missing> {
        request(name, "GET", url, headers, deadline)
            .await
            .map(Zeroizing::new)
    }
}

/// The body of a response with status 200. The body of another is part of the error.
async fn request(
    name: &str,
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    deadline: Deadline,
) -> Result<String, Missing> {
    match fetch(method, url, headers, deadline).await {
        Ok(response) if response.status == 200 => Ok(response.body),
        Ok(response) => Err(format!(
            "{name} replied to {method} {url} with status {}: {}",
            response.status, response.body
        )),
        Err(error) => Err(format!("{name} at {url} did not reply: {error}")),
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

fn aws_credentials(body: &str) -> Result<AwsCredentials, Missing> {
    let response = parse(body)?;
    let field = |name: &str| {
        let text = response.get_str(name).ok().filter(|text| !text.is_empty());
        text.ok_or_else(|| format!("the response has no field {name}"))
    };
    let credentials = AwsCredentials::new(field("AccessKeyId")?, field("SecretAccessKey")?);
    Ok(match field("Token") {
        Ok(token) => credentials.with_session_token(token),
        Err(_) => credentials,
    })
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
