//! The sources of temporary AWS credentials in the environment, and their order ([Authentication], "Obtaining Credentials").
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

use super::{
    aws_container::Container,
    aws_sources::from_ec2,
    metadata_service::MetadataServices,
    source_error::SourceError,
    source_tls::SourceTls,
    web_identity::{Found, WebIdentity},
};
use crate::types::{aws_credentials::AwsCredentials, deadline::Deadline};

/// A source. Equal sources have the credentials of the same identity.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum AwsSource {
    /// `AssumeRoleWithWebIdentity`
    WebIdentity(WebIdentity),
    /// The endpoint of a container.
    Container(Container),
    /// The instance metadata service of EC2. `hint` is about a variable of another source that is missing.
    Ec2 { hint: Option<&'static str> },
}

impl AwsSource {
    /// The first one that the environment variables configure: a web identity, a container, or else EC2.
    ///
    /// # Errors
    /// The variables of a container are invalid.
    pub(crate) fn of(
        variable: impl Fn(&str) -> Option<String>,
        services: &MetadataServices,
    ) -> Result<Self, SourceError> {
        let hint = match WebIdentity::of(&variable) {
            Found::Complete(identity) => return Ok(Self::WebIdentity(identity)),
            Found::Incomplete(hint) => Some(hint),
            Found::None => None,
        };
        Ok(match Container::of(&variable, services)? {
            Some(container) => Self::Container(container),
            None => Self::Ec2 { hint },
        })
    }

    /// Whether the source contains a token, which may be replaced.
    #[cfg(feature = "aws-auth")]
    pub(crate) fn has_token(&self) -> bool {
        matches!(self, Self::Container(container) if container.has_token())
    }

    /// Obtains credentials, until the deadline. Dropping the future closes the socket.
    ///
    /// # Errors
    /// A file cannot be read, or the service is not reached, rejects the request, or does not reply in time.
    pub(crate) async fn obtain(
        &self,
        services: &MetadataServices,
        tls: &SourceTls,
        deadline: Deadline,
    ) -> Result<AwsCredentials, SourceError> {
        match self {
            Self::WebIdentity(identity) => identity.obtain(services, tls, deadline).await,
            Self::Container(container) => container.obtain(tls, deadline).await,
            Self::Ec2 { hint } => from_ec2(services, *hint, deadline).await,
        }
    }
}
