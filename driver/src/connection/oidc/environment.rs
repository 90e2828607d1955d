//! The built-in environments of `MONGODB-OIDC` ([Authentication], "Built-in OIDC Environment
//! Integrations").
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

use crate::{
    bson::from_extended_json,
    connection::{
        login::LoginEnvironment,
        metadata_service::{fetch, percent_encoded},
        source_error::{SourceError, TokenFile, read_file},
    },
    options::Credential,
    types::{deadline::Deadline, secret::Secret},
};

const AZURE: &str = "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=";
const GCP: &str = "/computeMetadata/v1/instance/service-accounts/default/identity?audience=";
const SERVICE_ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// A source of access tokens (`ENVIRONMENT`).
#[derive(Clone, Debug)]
pub(super) enum TokenEnvironment {
    Test,
    Azure {
        resource: String,
        client_id: Option<String>,
    },
    Gcp {
        resource: String,
    },
    K8s,
}

impl TokenEnvironment {
    /// The environment of a valid credential. `None` if it has none.
    pub(super) fn of(credential: &Credential) -> Option<Self> {
        let property = |name| credential.mechanism_properties.get(name).cloned();
        let resource = property("TOKEN_RESOURCE").unwrap_or_default();
        Some(match property("ENVIRONMENT")?.as_str() {
            "test" => Self::Test,
            "azure" => Self::Azure {
                resource,
                client_id: credential.username.clone(),
            },
            "gcp" => Self::Gcp { resource },
            "k8s" => Self::K8s,
            _ => return None,
        })
    }

    /// Obtains a token.
    pub(super) async fn token(
        &self,
        environment: &LoginEnvironment,
        deadline: Deadline,
    ) -> Result<Secret, SourceError> {
        let variable = |name: &str| (environment.variables)(name);
        match self {
            Self::Test => {
                let name = "OIDC_TOKEN_FILE";
                let path = variable(name).ok_or(SourceError::NoVariable(name))?;
                read(&path, Some(name), deadline).await
            }
            Self::K8s => {
                let variables = ["AZURE_FEDERATED_TOKEN_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE"];
                let found = variables
                    .into_iter()
                    .find_map(|name| Some((variable(name)?, name)));
                match found {
                    Some((path, name)) => read(&path, Some(name), deadline).await,
                    None => read(SERVICE_ACCOUNT, None, deadline).await,
                }
            }
            Self::Azure { resource, client_id } => {
                let mut url = format!(
                    "{}{AZURE}{}",
                    environment.services.azure,
                    percent_encoded(resource)
                );
                if let Some(id) = client_id {
                    url.push_str("&client_id=");
                    url.push_str(&percent_encoded(id));
                }
                let service = "the Azure Instance Metadata Service";
                let headers = [("Accept", "application/json"), ("Metadata", "true")];
                let body = fetch(service, "GET", &url, &headers, deadline).await?;
                // The body may contain a token, and is not part of the error.
                let response = from_extended_json(&body).map_err(|_| SourceError::NotJson(service))?;
                let field = "access_token";
                let token = response
                    .get_str(field)
                    .map_err(|_| SourceError::NoField { service, field })?;
                checked(token, service)
            }
            Self::Gcp { resource } => {
                let url = format!("{}{GCP}{}", environment.services.gcp, percent_encoded(resource));
                let service = "the metadata server of Google Cloud";
                let headers = [("Metadata-Flavor", "Google")];
                checked(&fetch(service, "GET", &url, &headers, deadline).await?, service)
            }
        }
    }
}

async fn read(path: &str, variable: Option<&'static str>, deadline: Deadline) -> Result<Secret, SourceError> {
    let text = read_file(path, variable, deadline).await?;
    checked(&text, &TokenFile(path, variable).to_string())
}

/// A token is one word of visible characters: anything else, such as a page of HTML, is an error.
fn checked(text: &str, origin: &str) -> Result<Secret, SourceError> {
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(SourceError::Unexpected {
            origin: origin.to_owned(),
            expected: "a token",
        });
    }
    Ok(Secret::new(token))
}
