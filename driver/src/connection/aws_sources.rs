//! AWS credentials of the environment variables and of EC2, and how responses are read ([Authentication], "Obtaining
//! Credentials").
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

#[cfg(feature = "aws-auth")]
use std::time::{Duration, SystemTime};

use zeroize::Zeroizing;

use super::{
    metadata_service::{METADATA_TIME_LIMIT, MetadataServices, fetch},
    source_error::SourceError,
};
use crate::{
    bson::{Document, from_extended_json},
    types::{aws_credentials::AwsCredentials, deadline::Deadline},
};

/// The validity of a token of the EC2 metadata service in seconds: it is used for two requests.
const EC2_TOKEN: &str = "30";
const EC2_ROLES: &str = "/latest/meta-data/iam/security-credentials/";

/// The credentials of the environment variables. `None` if neither of the access key is set.
///
/// # Errors
/// One of the two is set: the credentials of another source would be those of another identity.
pub(crate) fn from_variables(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<AwsCredentials>, SourceError> {
    const ID: &str = "AWS_ACCESS_KEY_ID";
    const SECRET: &str = "AWS_SECRET_ACCESS_KEY";
    let credentials = match (variable(ID), variable(SECRET)) {
        (Some(id), Some(secret)) => AwsCredentials::new(id, secret),
        (Some(_), None) => return Err(SourceError::NoVariable(SECRET)),
        (None, Some(_)) => return Err(SourceError::NoVariable(ID)),
        (None, None) => return Ok(None),
    };
    Ok(Some(match variable("AWS_SESSION_TOKEN") {
        Some(token) => credentials.with_session_token(token),
        None => credentials,
    }))
}

/// The credentials of the instance metadata service of EC2, version 2.
///
/// `hint` is about a variable of another source that is missing.
pub(super) async fn from_ec2(
    services: &MetadataServices,
    hint: Option<&'static str>,
    deadline: Deadline,
) -> Result<AwsCredentials, SourceError> {
    const NAME: &str = "the EC2 metadata service";
    let host = &services.ec2;
    let headers = [("X-aws-ec2-metadata-token-ttl-seconds", EC2_TOKEN)];
    let url = format!("{host}/latest/api/token");
    let token = request(NAME, "PUT", &url, &headers, deadline)
        .await
        .map_err(|error| SourceError::NoAwsSource {
            hint,
            cause: Box::new(error),
        })?;
    let unexpected = |expected| SourceError::Unexpected {
        origin: format!("a response of {NAME}"),
        expected,
    };
    if !is_word(token.trim()) {
        return Err(unexpected("a token"));
    }
    let headers = [("X-aws-ec2-metadata-token", token.trim())];
    let roles = request(NAME, "GET", &format!("{host}{EC2_ROLES}"), &headers, deadline).await?;
    let role = roles.lines().next().unwrap_or_default().trim();
    if !is_word(role) {
        return Err(unexpected("the name of a role"));
    }
    let url = format!("{host}{EC2_ROLES}{role}");
    parse(NAME, &request(NAME, "GET", &url, &headers, deadline).await?)
}

/// The deadline of one request ("EC2 endpoint").
pub(super) fn limited(deadline: Deadline) -> Deadline {
    deadline.min(Deadline::after(Some(METADATA_TIME_LIMIT)))
}

/// Whether the text can be part of a request.
fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

async fn request(
    service: &'static str,
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    deadline: Deadline,
) -> Result<Zeroizing<String>, SourceError> {
    fetch(service, method, url, headers, limited(deadline)).await
}

/// The credentials in a response of a container's endpoint or EC2.
pub(super) fn parse(service: &'static str, body: &str) -> Result<AwsCredentials, SourceError> {
    credentials(service, &document(service, body)?, "Token")
}

/// The response is not part of an error: it may contain a secret.
pub(super) fn document(service: &'static str, body: &str) -> Result<Document, SourceError> {
    from_extended_json(body).map_err(|_| SourceError::NotJson(service))
}

/// The credentials in a response, whose session token has this name.
pub(super) fn credentials(
    service: &'static str,
    response: &Document,
    token: &'static str,
) -> Result<AwsCredentials, SourceError> {
    let field = |field: &'static str| {
        let text = response.get_str(field).ok().filter(|text| !text.is_empty());
        text.ok_or(SourceError::NoField { service, field })
    };
    let mut credentials = AwsCredentials::new(field("AccessKeyId")?, field("SecretAccessKey")?);
    if let Ok(token) = field(token) {
        credentials = credentials.with_session_token(token);
    }
    Ok(expiring(credentials, response))
}

/// Adds `Expiration` of the response.
#[cfg(feature = "aws-auth")]
fn expiring(credentials: AwsCredentials, response: &Document) -> AwsCredentials {
    AwsCredentials {
        expiration: expiration(response),
        ..credentials
    }
}

/// In-use encryption obtains credentials for each request.
#[cfg(not(feature = "aws-auth"))]
fn expiring(credentials: AwsCredentials, _: &Document) -> AwsCredentials {
    credentials
}

/// `Expiration`: a date, or a number of seconds since the Unix epoch.
#[cfg(feature = "aws-auth")]
fn expiration(response: &Document) -> Option<SystemTime> {
    use crate::bson::{Bson, read_date};
    let seconds = |seconds: i64| Some(Duration::from_secs(seconds.try_into().ok()?));
    let since_epoch = match response.get("Expiration")? {
        Bson::String(text) => Duration::from_millis(read_date(text)?.try_into().ok()?),
        Bson::Int32(number) => seconds(i64::from(*number))?,
        Bson::Int64(number) => seconds(*number)?,
        Bson::Double(number) => Duration::try_from_secs_f64(*number).ok()?,
        _ => return None,
    };
    SystemTime::UNIX_EPOCH.checked_add(since_epoch)
}

#[cfg(all(test, feature = "aws-auth"))]
mod tests {
    use super::*;

    #[test]
    fn the_expiration_is_a_date_or_a_number_of_seconds() {
        let at = |text: &str| {
            let body = format!(r#"{{"AccessKeyId":"a","SecretAccessKey":"b","Expiration":{text}}}"#);
            let expiration = parse("the service", &body).unwrap().expiration?;
            Some(
                expiration
                    .duration_since(SystemTime::UNIX_EPOCH)
                    .unwrap()
                    .as_millis(),
            )
        };
        assert_eq!(at(r#""2020-01-01T00:00:00Z""#), Some(1_577_836_800_000));
        assert_eq!(at("1577836800"), Some(1_577_836_800_000));
        assert_eq!(at("1.5778368E9"), Some(1_577_836_800_000));
        for odd in [r#""soon""#, "-1", "null", "1e300"] {
            assert_eq!(at(odd), None, "{odd}");
        }
    }

    #[test]
    fn an_incomplete_response_is_an_error_without_its_content() {
        for (body, why) in [
            ("<html>hunter2</html>", "not a JSON document"),
            (r#"{"AccessKeyId":"hunter2"}"#, "SecretAccessKey"),
            (r#"{"AccessKeyId":"","SecretAccessKey":"hunter2"}"#, "AccessKeyId"),
        ] {
            let error = parse("the service", body).unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains("hunter2"), "{error}");
        }
    }
}
