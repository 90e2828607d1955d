//! Requests to the metadata services of cloud machines: plain HTTP to an address that only the machine itself reaches.

#[cfg(any(feature = "aws-auth", feature = "encryption"))]
use std::time::Duration;
use std::{fmt::Write as _, io};

use zeroize::Zeroizing;

use super::{
    http::{Request, Response, Url, send},
    source_error::SourceError,
};
use crate::types::deadline::{Deadline, Elapsed};

/// The maximum size of a response, in bytes.
pub(super) const MAX_RESPONSE: usize = 1 << 20;
/// The minimum length of a text that is hidden in the body of an error. Shorter values of headers are words.
const MIN_HIDDEN: usize = 7;
/// The maximum length of the body of an error, in characters.
const MAX_SHOWN: usize = 1000;
/// The time limit of a response ("Obtaining an Access Token for Azure Key Vault", "EC2 endpoint").
#[cfg(any(feature = "aws-auth", feature = "encryption"))]
pub(crate) const METADATA_TIME_LIMIT: Duration = Duration::from_secs(10);

/// Where the services are: `http://host[:port]`. Tests replace them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataServices {
    /// Credentials of ECS tasks.
    pub ecs: String,
    /// The instance metadata service of EC2.
    pub ec2: String,
    /// The instance metadata service of Azure.
    pub azure: String,
    /// The metadata server of Google Cloud.
    pub gcp: String,
    /// The Security Token Service of AWS, the only one over TLS: `https://host[:port]`.
    pub sts: String,
}

impl Default for MetadataServices {
    fn default() -> Self {
        Self {
            ecs: "http://169.254.170.2".to_owned(),
            ec2: "http://169.254.169.254".to_owned(),
            azure: "http://169.254.169.254".to_owned(),
            gcp: "http://metadata.google.internal".to_owned(),
            sts: "https://sts.amazonaws.com".to_owned(),
        }
    }
}

/// Sends a request without a body to the service, until the deadline, and returns the body of a
/// response with status 200. Dropping the future closes the socket.
///
/// # Errors
/// The service cannot be reached, does not reply before the deadline, its response is malformed, or
/// has another status. The error then contains the beginning of the body, without the values of the headers and the path.
pub(crate) async fn fetch(
    service: &'static str,
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    deadline: Deadline,
) -> Result<Zeroizing<String>, SourceError> {
    let target = Url::parse(url).ok_or(SourceError::InvalidUrl(service))?;
    let request = Request {
        method,
        url: &target,
        headers,
        body: b"",
    };
    let secrets = headers.iter().filter(|(name, _)| *name != "Accept");
    let hidden: Vec<&str> = secrets.map(|(_, value)| *value).collect();
    body_of(service, &target, deadline, &hidden, send(&request, MAX_RESPONSE)).await
}

/// The body of the response of a service, as for [`fetch`]. If the body of an error contains one of the `hidden` texts,
/// or path and query of the URL, it is not shown.
pub(super) async fn body_of(
    service: &'static str,
    url: &Url,
    deadline: Deadline,
    hidden: &[&str],
    sending: impl Future<Output = io::Result<Response>>,
) -> Result<Zeroizing<String>, SourceError> {
    // The path is not part of an error: that of ECS suffices to fetch the credentials.
    let origin = url.authority();
    let response = match deadline.run(sending).await {
        Ok(response) => response.map_err(|error| SourceError::NoReply {
            service,
            cause: format!("{error} ({origin})"),
        })?,
        Err(Elapsed) => {
            return Err(SourceError::Late {
                what: format!("{service} ({origin})"),
            });
        }
    };
    let bytes = Zeroizing::new(response.body);
    let body = Zeroizing::new(String::from_utf8_lossy(&bytes).into_owned());
    match response.status {
        200 => Ok(body),
        status => Err(SourceError::Status {
            service,
            status,
            body: shown(&body, &[&[url.target.as_str()], hidden].concat()),
        }),
    }
}

/// The beginning of a body for an error, without the `hidden` texts, which a service may repeat from the request.
fn shown(body: &str, hidden: &[&str]) -> String {
    let mut shown = Zeroizing::new(body.to_owned());
    for text in hidden.iter().filter(|text| text.len() >= MIN_HIDDEN) {
        shown = Zeroizing::new(shown.replace(text, "(not shown)"));
    }
    shortened(&shown).to_owned()
}

fn shortened(body: &str) -> &str {
    let end = body
        .char_indices()
        .nth(MAX_SHOWN)
        .map_or(body.len(), |(end, _)| end);
    body.get(..end).unwrap_or(body)
}

/// Percent-encodes all characters of a value in a query, except the unreserved ones (RFC 3986).
pub(super) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_query_are_encoded() {
        assert_eq!(
            percent_encoded("api://a b/é-._~"),
            "api%3A%2F%2Fa%20b%2F%C3%A9-._~"
        );
    }

    #[test]
    fn texts_of_the_request_are_not_shown() {
        let token = "eyJhbGciOi.x";
        let body = format!("{}{token} {token}, true", "x".repeat(MAX_SHOWN - 5));
        let shown = shown(&body, &[token, "true", ""]);
        assert!(shown.ends_with("(not "), "{shown}");
        assert_eq!(
            super::shown(&format!("a {token} true"), &[token, "true"]),
            "a (not shown) true"
        );
    }

    #[test]
    fn long_bodies_are_shortened_at_a_character() {
        assert_eq!(shortened("é"), "é");
        assert_eq!(shortened(&"é".repeat(MAX_SHOWN + 1)), "é".repeat(MAX_SHOWN));
    }
}
