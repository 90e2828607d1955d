//! AWS credentials of a container: of ECS ([Authentication], "ECS endpoint"), and, as in the AWS SDKs, of EKS Pod Identity
//! and of Greengrass ([Container credential provider]).
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md
//! [Container credential provider]:
//! https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use zeroize::Zeroizing;

use super::{
    aws_sources::{limited, parse},
    http::{Request, Scheme, Url},
    metadata_service::{MAX_RESPONSE, MetadataServices, body_of},
    source_error::{SourceError, TokenFile, read_file},
    source_tls::SourceTls,
};
use crate::types::{aws_credentials::AwsCredentials, deadline::Deadline};

const RELATIVE_URI: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
const FULL_URI: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
const TOKEN: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN";
const TOKEN_FILE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";
/// The addresses that may be asked without TLS, beside those of the machine itself: of ECS and of EKS, which only the
/// machine reaches.
const HOSTS: [IpAddr; 3] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 23)),
    IpAddr::V6(Ipv6Addr::new(0xFD00, 0xEC2, 0, 0, 0, 0, 0, 0x23)),
];

/// The endpoint of a container's credentials. The path and the token may be secrets, so it does not implement `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Container {
    name: &'static str,
    url: Url,
    scheme: Scheme,
    authorization: Authorization,
}

/// The header field `Authorization`.
#[derive(Clone, PartialEq, Eq)]
enum Authorization {
    None,
    /// The content of a file, which is read for each request.
    File(String),
    Token(Zeroizing<String>),
}

impl Container {
    /// That of the environment variables. `None` if there is none.
    ///
    /// # Errors
    /// A variable has an invalid value, or a URL without TLS of another host.
    pub(super) fn of(
        variable: impl Fn(&str) -> Option<String>,
        services: &MetadataServices,
    ) -> Result<Option<Self>, SourceError> {
        let unexpected = |name: &str, expected| SourceError::Unexpected {
            origin: name.to_owned(),
            expected,
        };
        let (name, (url, scheme)) = if let Some(path) = variable(RELATIVE_URI) {
            // Otherwise it would change the host.
            if !path.starts_with('/') {
                return Err(unexpected(RELATIVE_URI, "a path that begins with /"));
            }
            let name = "the ECS endpoint";
            let url = Url::parse_scheme(&format!("{}{path}", services.ecs));
            (name, url.ok_or(SourceError::InvalidUrl(name))?)
        } else if let Some(url) = variable(FULL_URI) {
            let url = Url::parse_scheme(&url).filter(|(url, scheme)| is_allowed(url, *scheme));
            let expected = "a URL with https, or a URL with http of a loopback address, 169.254.170.2, \
                            169.254.170.23 or [fd00:ec2::23]";
            let name = "the endpoint AWS_CONTAINER_CREDENTIALS_FULL_URI";
            (name, url.ok_or_else(|| unexpected(FULL_URI, expected))?)
        } else {
            return Ok(None);
        };
        // The file may be replaced while the container runs, so it precedes the token, as in the SDKs.
        let authorization = match (variable(TOKEN_FILE), variable(TOKEN)) {
            (Some(file), _) => Authorization::File(file),
            (None, Some(token)) => Authorization::Token(Zeroizing::new(token)),
            (None, None) => Authorization::None,
        };
        Ok(Some(Self {
            name,
            url,
            scheme,
            authorization,
        }))
    }

    /// Whether it contains the token of the environment variable.
    #[cfg(feature = "aws-auth")]
    pub(super) fn has_token(&self) -> bool {
        matches!(self.authorization, Authorization::Token(_))
    }

    /// The credentials of the endpoint.
    ///
    /// # Errors
    /// The token is invalid or cannot be read, or the endpoint refuses it, is not reached, or does not reply within 10 s.
    pub(super) async fn obtain(
        &self,
        tls: &SourceTls,
        deadline: Deadline,
    ) -> Result<AwsCredentials, SourceError> {
        let token = self.authorization.token(deadline).await?;
        let header = token.as_ref().map(|token| ("Authorization", token.as_str()));
        let request = Request {
            method: "GET",
            url: &self.url,
            headers: header.as_slice(),
            body: b"",
        };
        let deadline = limited(deadline);
        let sending = tls.send(&request, self.scheme, MAX_RESPONSE, deadline);
        let hidden = token.as_ref().map(|token| token.as_str());
        let body = body_of(self.name, &self.url, deadline, hidden.as_slice(), sending).await?;
        parse(self.name, &body)
    }
}

impl Authorization {
    async fn token(&self, deadline: Deadline) -> Result<Option<Zeroizing<String>>, SourceError> {
        let (text, origin) = match self {
            Self::None => return Ok(None),
            Self::Token(token) => (token.clone(), format!("the environment variable {TOKEN}")),
            Self::File(path) => {
                let text = read_file(path, Some(TOKEN_FILE), deadline).await?;
                (text, TokenFile(path, Some(TOKEN_FILE)).to_string())
            }
        };
        let token = text.trim();
        // Other characters would end the header field.
        let is_visible = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
        if token.is_empty() || !token.bytes().all(is_visible) {
            let expected = "a token of visible ASCII characters";
            return Err(SourceError::Unexpected { origin, expected });
        }
        Ok(Some(Zeroizing::new(token.to_owned())))
    }
}

/// Whether the credentials may be requested: over TLS, or from the machine itself. `localhost` is not looked up: it stands
/// for the loopback addresses 127.0.0.1 and ::1 (`dialer`), so that no name server can name another host.
fn is_allowed(url: &Url, scheme: Scheme) -> bool {
    let is_near = |address: IpAddr| address.is_loopback() || HOSTS.contains(&address);
    scheme == Scheme::Https || url.host == "localhost" || url.host.parse().is_ok_and(is_near)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Option<Container>, SourceError> {
        let variable = |name: &str| {
            let mut variables = variables.iter();
            Some(variables.find(|(known, _)| *known == name)?.1.to_owned())
        };
        Container::of(variable, &MetadataServices::default())
    }

    #[test]
    fn only_the_machine_itself_is_asked_without_tls() {
        for (url, is_allowed) in [
            ("https://credentials.example.com/x", true),
            ("http://localhost:1/x", true),
            ("http://LOCALHOST/x", true),
            ("http://127.0.0.1:8080/x", true),
            ("http://127.9.9.9/x", true),
            ("http://[::1]:8080/x", true),
            ("http://169.254.170.2/x", true),
            ("http://169.254.170.23/v1/credentials", true),
            ("http://[fd00:ec2::23]/v1/credentials", true),
            ("http://[fd00:0ec2:0::23]/v1/credentials", true),
            ("http://169.254.169.254/x", false),
            ("http://169.254.170.24/x", false),
            ("http://[fd00:ec2::24]/x", false),
            ("http://[::ffff:127.0.0.1]/x", false),
            ("http://0.0.0.0/x", false),
            ("http://127.0.0.1.example.com/x", false),
            ("http://localhost.example.com/x", false),
            ("http://2130706433/x", false),
            ("http://127.1/x", false),
            ("http://user@127.0.0.1/x", false),
            ("http://credentials.example.com/x", false),
            ("ftp://127.0.0.1/x", false),
            ("127.0.0.1/x", false),
            ("http://127.0.0.1/x\r\ny: z", false),
        ] {
            let found = of(&[(FULL_URI, url)]);
            assert_eq!(found.is_ok(), is_allowed, "{url}");
            if let Err(error) = found {
                let text = error.to_string();
                assert!(text.starts_with(FULL_URI) && !text.contains("/x"), "{text}");
            }
        }
    }

    #[test]
    fn a_relative_uri_precedes_and_is_a_path() {
        let both = of(&[(RELATIVE_URI, "/a"), (FULL_URI, "http://127.0.0.1/b")]);
        let found = both.unwrap().unwrap();
        assert_eq!(found.url.to_string(), "http://169.254.170.2/a");
        let error = of(&[(RELATIVE_URI, ".example.com/")]).err().unwrap().to_string();
        assert!(error.contains(RELATIVE_URI), "{error}");
        assert!(of(&[(TOKEN, "x")]).unwrap().is_none());
    }

    #[tokio::test]
    async fn the_token_is_that_of_the_file_or_of_the_variable() {
        let uri = (FULL_URI, "http://127.0.0.1/x");
        let token = async |variables: &[(&str, &str)]| {
            let container = of(variables).unwrap().unwrap();
            let token = container.authorization.token(Deadline::NEVER).await;
            token.map(|token| token.map(|token| token.to_string()))
        };
        assert_eq!(token(&[uri]).await, Ok(None));
        let basic = Ok(Some("Basic abc=".to_owned()));
        assert_eq!(token(&[uri, (TOKEN, "Basic abc=\n")]).await, basic);
        for text in ["a\r\nHost: b", "\u{e9}", " ", "a\0"] {
            let error = token(&[uri, (TOKEN, text)]).await.unwrap_err().to_string();
            assert!(error.contains(TOKEN) && !error.contains("Host"), "{error}");
        }
        let error = token(&[uri, (TOKEN, "x"), (TOKEN_FILE, "/nonexistent/token")]).await;
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("/nonexistent/token") && error.contains(TOKEN_FILE),
            "{error}"
        );
    }
}
