//! Requests to the metadata services of cloud machines: plain HTTP to an address that only the machine itself reaches.

use std::{io, time::Duration};

use super::http::{Request, Url, send};
use crate::types::deadline::Deadline;

/// The maximum size of a response, in bytes.
const MAX_RESPONSE: usize = 1 << 20;
/// The time limit of a response ("Obtaining an Access Token for Azure Key Vault").
const TIME_LIMIT: Duration = Duration::from_secs(10);

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
}

impl Default for MetadataServices {
    fn default() -> Self {
        Self {
            ecs: "http://169.254.170.2".to_owned(),
            ec2: "http://169.254.169.254".to_owned(),
            azure: "http://169.254.169.254".to_owned(),
            gcp: "http://metadata.google.internal".to_owned(),
        }
    }
}

/// A response: the status and the text of the body.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// Sends a request without a body. Dropping the future closes the socket.
///
/// # Errors
/// The service cannot be reached, does not reply within 10 s or before the deadline, or its response is malformed.
pub(crate) async fn fetch(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    deadline: Deadline,
) -> io::Result<Fetched> {
    let url = Url::parse(url).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{url} is not an http:// URL"),
        )
    })?;
    let request = Request {
        method,
        url: &url,
        headers,
        body: b"",
    };
    let deadline = deadline.min(Deadline::after(Some(TIME_LIMIT)));
    match deadline.run(send(&request, MAX_RESPONSE)).await {
        Ok(response) => {
            let response = response?;
            Ok(Fetched {
                status: response.status,
                body: String::from_utf8_lossy(&response.body).into_owned(),
            })
        }
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time")),
    }
}
