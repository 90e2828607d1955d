//! AWS credentials of a web identity, e.g. of a Kubernetes pod ([Authentication], "AssumeRoleWithWebIdentity").
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

use std::{io, sync::OnceLock, time::SystemTime};

use zeroize::Zeroizing;

use super::{
    aws_sources::{credentials, document},
    http::{Request, Response, Url, send, send_over_tls},
    metadata_service::{METADATA_TIME_LIMIT, MetadataServices, percent_encoded, shortened},
    source_error::{SourceError, read_file},
    tls::TlsConfig,
};
use crate::{
    options::TlsOptions,
    types::{aws_credentials::AwsCredentials, deadline::Deadline},
};

const NAME: &str = "the Security Token Service (AssumeRoleWithWebIdentity)";
/// The maximum size of a response, in bytes.
const MAX_RESPONSE: usize = 1 << 20;
/// The beginning of the name of a session, if `AWS_ROLE_SESSION_NAME` is not set.
const SESSION_NAME: &str = "marula-driver";

/// The Security Token Service, which issues credentials for the token of a web identity.
#[derive(Debug)]
pub(crate) struct WebIdentity {
    options: TlsOptions,
    /// Created when it is needed: it reads the certificates of the system.
    tls: OnceLock<TlsConfig>,
}

impl WebIdentity {
    /// With the TLS options of the connections to the service.
    pub(crate) fn new(options: TlsOptions) -> Self {
        Self {
            options,
            tls: OnceLock::new(),
        }
    }

    /// The credentials of the role `AWS_ROLE_ARN` for the token in the file `AWS_WEB_IDENTITY_TOKEN_FILE`, which is read for
    /// each call. `None` if one of the variables is not set.
    ///
    /// # Errors
    /// The file cannot be read, or the service rejects the token, is not reached, or does not reply within 10 s.
    pub(crate) async fn obtain(
        &self,
        variable: impl Fn(&str) -> Option<String>,
        services: &MetadataServices,
        deadline: Deadline,
    ) -> Result<Option<AwsCredentials>, SourceError> {
        let (Some(file), Some(role)) = (variable("AWS_WEB_IDENTITY_TOKEN_FILE"), variable("AWS_ROLE_ARN"))
        else {
            return Ok(None);
        };
        let session = variable("AWS_ROLE_SESSION_NAME");
        // The log of the service contains the names of sessions.
        let session = session.unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            format!("{SESSION_NAME}-{}", now.unwrap_or_default().as_nanos())
        });
        let token = Zeroizing::new(read_file(file).await?);
        // The token is part of the target, so errors do not contain it.
        let target = Zeroizing::new(format!(
            "/?Action=AssumeRoleWithWebIdentity&RoleSessionName={}&RoleArn={}&WebIdentityToken={}&Version=2011-06-15",
            percent_encoded(&session),
            percent_encoded(&role),
            percent_encoded(token.trim())
        ));
        let deadline = deadline.min(Deadline::after(Some(METADATA_TIME_LIMIT)));
        let unanswered = |cause: String| SourceError::NoReply { service: NAME, cause };
        let response = match deadline.run(self.post(&services.sts, &target, deadline)).await {
            Ok(response) => response.map_err(|error| unanswered(error.to_string()))?,
            Err(_) => return Err(unanswered("no answer in time".to_owned())),
        };
        parse(response).map(Some)
    }

    /// Sends a request without a body to the service, over TLS unless its URL is one of `http`.
    async fn post(&self, service: &str, target: &str, deadline: Deadline) -> io::Result<Response> {
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
        let tls = TlsConfig::new(&self.options).map_err(io::Error::other)?;
        Ok(self.tls.get_or_init(|| tls))
    }
}

/// The credentials in the response of the service.
fn parse(response: Response) -> Result<AwsCredentials, SourceError> {
    let Response { status, body } = response;
    let body = Zeroizing::new(body);
    let text = Zeroizing::new(String::from_utf8_lossy(&body).into_owned());
    if status != 200 {
        return Err(SourceError::Status {
            service: NAME,
            status,
            body: shortened(&text).to_owned(),
        });
    }
    let response = document(NAME, &text)?;
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
