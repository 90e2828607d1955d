//! AWS credentials of a web identity, e.g. of a Kubernetes pod ([Authentication], "AssumeRoleWithWebIdentity").
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

use std::time::SystemTime;

use zeroize::Zeroizing;

use super::{
    aws_sources::{credentials, document, limited},
    http::{Request, Url},
    metadata_service::{MAX_RESPONSE, MetadataServices, body_of, percent_encoded},
    source_error::{SourceError, read_file},
    source_tls::SourceTls,
};
use crate::types::{aws_credentials::AwsCredentials, deadline::Deadline};

const NAME: &str = "the Security Token Service (AssumeRoleWithWebIdentity)";
const TOKEN_FILE: &str = "AWS_WEB_IDENTITY_TOKEN_FILE";
/// The beginning of the name of a session, if `AWS_ROLE_SESSION_NAME` is not set.
const SESSION_NAME: &str = "marula-driver";

/// A role, and the file with the token that it is assumed with.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct WebIdentity {
    file: String,
    role: String,
    session: Option<String>,
}

/// The variables of a web identity.
pub(super) enum Found {
    Complete(WebIdentity),
    /// One of the two variables is not set, as the text says.
    Incomplete(&'static str),
    None,
}

impl WebIdentity {
    /// That of the environment variables.
    pub(super) fn of(variable: impl Fn(&str) -> Option<String>) -> Found {
        match (variable(TOKEN_FILE), variable("AWS_ROLE_ARN")) {
            (Some(file), Some(role)) => Found::Complete(Self {
                file,
                role,
                session: variable("AWS_ROLE_SESSION_NAME"),
            }),
            (Some(_), None) => {
                Found::Incomplete("AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not")
            }
            (None, Some(_)) => {
                Found::Incomplete("AWS_ROLE_ARN is set, but AWS_WEB_IDENTITY_TOKEN_FILE is not")
            }
            (None, None) => Found::None,
        }
    }

    /// The credentials of the role for the token, which is read for each call.
    ///
    /// # Errors
    /// The file cannot be read, or the service rejects the token, is not reached, or does not reply within 10 s.
    pub(super) async fn obtain(
        &self,
        services: &MetadataServices,
        tls: &SourceTls,
        deadline: Deadline,
    ) -> Result<AwsCredentials, SourceError> {
        // The log of the service contains the names of sessions.
        let session = self.session.clone().unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            format!("{SESSION_NAME}-{}", now.unwrap_or_default().as_nanos())
        });
        let token = read_file(&self.file, Some(TOKEN_FILE), deadline).await?;
        let encoded = Zeroizing::new(percent_encoded(token.trim()));
        // The token is part of the target, so errors do not contain it.
        let url = Zeroizing::new(format!(
            "{}/?Action=AssumeRoleWithWebIdentity&RoleSessionName={}&RoleArn={}&WebIdentityToken={}&Version=2011-06-15",
            services.sts,
            percent_encoded(&session),
            percent_encoded(&self.role),
            *encoded
        ));
        let (url, scheme) = Url::parse_scheme(&url).ok_or(SourceError::InvalidUrl(NAME))?;
        let request = Request {
            method: "POST",
            url: &url,
            headers: &[("Accept", "application/json")],
            body: b"",
        };
        let deadline = limited(deadline);
        let sending = tls.send(&request, scheme, MAX_RESPONSE, deadline);
        let hidden = [token.trim(), encoded.as_str()];
        parse(&body_of(NAME, &url, deadline, &hidden, sending).await?)
    }
}

/// The credentials in the response of the service.
pub(super) fn parse(body: &str) -> Result<AwsCredentials, SourceError> {
    let response = document(NAME, body)?;
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
