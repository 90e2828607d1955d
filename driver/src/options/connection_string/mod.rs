//! Connection strings (Connection String and URI Options specifications).

mod apply;
mod split;
#[cfg(test)]
mod tests;
mod txt;
mod value;

use super::{
    ClientOptions,
    error::{ADVICE, OptionError},
};
use crate::{Error, Result};
use std::str::FromStr;

impl ClientOptions {
    /// Reads a connection string. Nothing is resolved or contacted: the hosts of a `mongodb+srv` string are looked up by
    /// [`resolve`](Self::resolve).
    ///
    /// # Errors
    /// A string that breaks the format, or options that contradict each other. The text names the part, and never holds
    /// user name or password. An unknown option or a malformed value is no error but a [warning](Self::warnings).
    pub fn parse(uri: &str) -> Result<Self> {
        let unclear = split::may_hide_a_password(uri);
        // The text would quote a part of the password.
        let refuse = |error: OptionError| {
            Error::connection_string(if unclear {
                ADVICE.to_owned()
            } else {
                error.to_string()
            })
        };
        let parts = split::split(uri).map_err(refuse)?;
        let mut options = apply::apply(parts).map_err(refuse)?;
        if unclear && !options.warnings.is_empty() {
            options.warnings = vec![format!("some options are ignored or deprecated; {}", ADVICE)];
        }
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
