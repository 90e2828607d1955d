//! Why an access token or credentials could not be obtained.

use std::{
    fmt, fs,
    io::{self, Read as _},
    time::Duration,
};

/// The cause. Its text contains no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SourceError {
    /// An environment variable is not set.
    NoVariable(&'static str),
    File {
        path: String,
        cause: String,
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
    /// The last source of AWS credentials.
    #[cfg(any(feature = "aws-auth", feature = "encryption"))]
    NoAwsSource(Box<Self>),
    RuntimeEnds,
    ShutDown,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoVariable(name) => write!(f, "the environment variable {name} is not set"),
            Self::File { path, cause } => write!(f, "the token file {path} cannot be read: {cause}"),
            Self::Application { what, cause } => write!(f, "{what} failed: {cause}"),
            Self::NoPerson => f.write_str("the callback did not return an access token within 5 minutes"),
            Self::NoToken(limit) => write!(f, "no access token was obtained within {limit:?}"),
            Self::EmptyToken => f.write_str("the callback returned an empty access token"),
            Self::InvalidUrl(service) => write!(f, "the URL of {service} is not a valid http:// URL"),
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
            Self::NoAwsSource(cause) => write!(
                f,
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and {cause}"
            ),
            Self::RuntimeEnds => f.write_str("the runtime is ending"),
            Self::ShutDown => f.write_str("the client was shut down"),
        }
    }
}

/// The maximum size of a file with a token, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// Reads a file on a thread for blocking tasks.
pub(super) async fn read_file(path: String) -> Result<String, SourceError> {
    let reading = tokio::task::spawn_blocking(move || {
        read_regular(&path).map_err(|error| SourceError::File {
            cause: error.to_string(),
            path,
        })
    });
    reading.await.map_err(|_| SourceError::RuntimeEnds)?
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
        let error = read_file(folder).await.unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }
}
