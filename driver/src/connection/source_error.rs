//! Why an access token or credentials could not be obtained.

use std::{
    fmt, fs,
    io::{self, Read as _},
    time::Duration,
};

use zeroize::Zeroizing;

use crate::types::deadline::{Deadline, Elapsed};

/// The cause. Its text contains no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SourceError {
    /// An environment variable is not set.
    NoVariable(&'static str),
    /// `variable` is the environment variable that names the file.
    File {
        path: String,
        variable: Option<&'static str>,
        cause: String,
    },
    /// The time limit expired before the source returned.
    Late {
        what: String,
    },
    /// The callback or the provider of the application failed.
    Application {
        what: &'static str,
        cause: String,
    },
    /// The callback of the human flow did not return in time.
    NoPerson,
    /// No access token was obtained within this time.
    NoToken(Duration),
    EmptyToken,
    /// The URL of this service. Its path may be a secret.
    InvalidUrl(&'static str),
    NoReply {
        service: &'static str,
        cause: String,
    },
    /// `body` is the beginning of the body.
    Status {
        service: &'static str,
        status: u16,
        body: String,
    },
    NotJson(&'static str),
    NoField {
        service: &'static str,
        field: &'static str,
    },
    /// A file or a response has another content.
    Unexpected {
        origin: String,
        expected: &'static str,
    },
    /// The last source of AWS credentials. `hint` is about a variable that is missing.
    #[cfg(any(feature = "aws-auth", feature = "encryption"))]
    NoAwsSource {
        hint: Option<&'static str>,
        cause: Box<Self>,
    },
    RuntimeEnds,
    ShutDown,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoVariable(name) => write!(f, "the environment variable {name} is not set"),
            Self::File {
                path,
                variable,
                cause,
            } => write!(f, "{} cannot be read: {cause}", TokenFile(path, *variable)),
            Self::Late { what } => write!(f, "no answer in time from {what}"),
            Self::Application { what, cause } => write!(f, "{what} failed: {cause}"),
            Self::NoPerson => f.write_str("the callback did not return an access token within 5 minutes"),
            Self::NoToken(limit) => write!(
                f,
                "no access token was obtained within {limit:?}: the callback or the service of the environment did not return"
            ),
            Self::EmptyToken => f.write_str("the callback returned an empty access token"),
            Self::InvalidUrl(service) => {
                write!(f, "the URL of {service} is not a valid URL with http or https")
            }
            Self::NoReply { service, cause } => write!(f, "{service} did not reply: {cause}"),
            Self::Status {
                service,
                status,
                body,
            } => write!(f, "{service} replied with status {status}: {body}"),
            Self::NotJson(service) => write!(f, "the response of {service} is not a JSON document"),
            Self::NoField { service, field } => {
                write!(f, "the response of {service} has no field {field}")
            }
            Self::Unexpected { origin, expected } => {
                write!(f, "{origin} contains something else than {expected}")
            }
            #[cfg(any(feature = "aws-auth", feature = "encryption"))]
            Self::NoAwsSource { hint, cause } => write!(
                f,
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, {}, neither \
                 AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor AWS_CONTAINER_CREDENTIALS_FULL_URI is set, and {cause}",
                hint.unwrap_or("AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN are not set")
            ),
            Self::RuntimeEnds => f.write_str("the runtime is ending"),
            Self::ShutDown => f.write_str("the client was shut down"),
        }
    }
}

impl SourceError {
    /// Whether a time limit expired.
    pub(super) fn is_late(&self) -> bool {
        match self {
            Self::Late { .. } => true,
            #[cfg(any(feature = "aws-auth", feature = "encryption"))]
            Self::NoAwsSource { cause, .. } => cause.is_late(),
            _ => false,
        }
    }
}

/// How a text refers to a file with a token: the path, and the environment variable that names it.
pub(super) struct TokenFile<'a>(pub(super) &'a str, pub(super) Option<&'static str>);

impl fmt::Display for TokenFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(path, Some(variable)) => write!(f, "the token file {path} ({variable})"),
            Self(path, None) => write!(f, "the token file {path}"),
        }
    }
}

/// The maximum size of a file with a token, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// Reads a file on a thread for blocking tasks, until the deadline. `variable` is the environment variable that names the
/// file. Dropping the future leaves a read that has begun to the system.
pub(super) async fn read_file(
    path: &str,
    variable: Option<&'static str>,
    deadline: Deadline,
) -> Result<Zeroizing<String>, SourceError> {
    let owned = path.to_owned();
    let reading = tokio::task::spawn_blocking(move || read_regular(&owned).map(Zeroizing::new));
    match deadline.run(reading).await {
        Ok(Ok(read)) => read.map_err(|error| SourceError::File {
            path: path.to_owned(),
            variable,
            cause: error.to_string(),
        }),
        Ok(Err(_)) => Err(SourceError::RuntimeEnds),
        Err(Elapsed) => Err(SourceError::Late {
            what: TokenFile(path, variable).to_string(),
        }),
    }
}

/// A pipe or a device could block the thread, or have no end.
fn read_regular(path: &str) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    fs::File::open(path)?
        .take(MAX_FILE + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(io::Error::other("it is larger than 1 MiB"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_regular_files_are_read() {
        let folder = std::env::temp_dir().to_string_lossy().into_owned();
        let reading = read_file(&folder, Some("TOKEN_FILE"), Deadline::NEVER);
        let error = reading.await.unwrap_err().to_string();
        let file = format!("the token file {folder} (TOKEN_FILE) cannot be read: ");
        assert!(
            error.starts_with(&file) && error.contains("not a regular file"),
            "{error}"
        );
    }
}
