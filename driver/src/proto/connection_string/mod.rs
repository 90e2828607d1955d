//! Connection strings (Connection String and URI Options specifications).

mod apply;
mod split;
mod value;

use crate::{Error, Result, options::ClientOptions};
use std::str::FromStr;

impl ClientOptions {
    /// Reads a connection string. Nothing is resolved or contacted.
    ///
    /// # Errors
    /// A string that breaks the format, or options that contradict each other. The text names the part, and never holds
    /// user name or password. An unknown option or a malformed value is no error but a [warning](Self::warnings).
    pub fn parse(uri: &str) -> Result<Self> {
        let parts = split::split(uri).map_err(Error::connection_string)?;
        let options = apply::apply(parts).map_err(Error::connection_string)?;
        match options.validate() {
            Ok(()) => Ok(options),
            Err(error) => match error.kind() {
                crate::ErrorKind::InvalidArgument(why) => Err(Error::connection_string(why.clone())),
                _ => Err(error),
            },
        }
    }
}

impl FromStr for ClientOptions {
    type Err = Error;

    fn from_str(uri: &str) -> Result<Self> {
        Self::parse(uri)
    }
}
