//! Connection strings ([Connection String] and [URI Options]).
//!
//! [Connection String]:
//! https://github.com/mongodb/specifications/blob/master/source/connection-string/connection-string-spec.md
//! [URI Options]:
//! https://github.com/mongodb/specifications/blob/master/source/uri-options/uri-options.md

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
    /// Parses a connection string. No I/O is performed: the hosts of a `mongodb+srv` connection
    /// string are looked up by [`resolve`](Self::resolve).
    ///
    /// Unknown options and most invalid values are ignored with [warnings](Self::warnings), as the
    /// specification requires, and so are blanks and line breaks around the connection string. Options that this version does not support are rejected when a
    /// [client is created](crate::Client::with_options).
    ///
    /// # Errors
    /// [`ConnectionString`](crate::ErrorKind::ConnectionString) if the syntax is invalid, or
    /// options contradict each other. The message names the part and contains no user name or
    /// password.
    pub fn parse(uri: &str) -> Result<Self> {
        let given = uri;
        // Files with secrets mostly end with a line break.
        let uri = uri.trim();
        let unclear = split::may_contain_a_password(uri);
        // The message could contain a part of the password.
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
        if uri.len() != given.len() {
            let blanks = "the blanks or line breaks around the connection string are ignored";
            options.warnings.push(blanks.to_owned());
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
