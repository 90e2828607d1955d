//! The parsers of what services send, for the fuzz targets.

use super::{aws_sources, web_identity};

pub use super::{http::http_response, tls::RevocationStatus};

/// Reads the credentials in a response of a metadata service and of the Security Token Service of
/// AWS. Returns the text of each error.
pub fn aws_credentials(body: &str) -> [Option<String>; 2] {
    [
        aws_sources::parse("the service", body).err(),
        web_identity::parse(body).err(),
    ]
    .map(|error| error.map(|error| error.to_string()))
}
