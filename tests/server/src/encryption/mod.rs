//! The server's part of Queryable Encryption (version 2 of the protocol).
//!
//! A command of an encrypting client has `encryptionInformation`. Before it runs, [`rewrite`] replaces the payloads in it:
//!
//! | payload | replaced by |
//! |---|---|
//! | insert and update payloads (type 11) | the stored value (types 14, 15 and 17); its tags are added to `__safeContent__` |
//! | find payloads (types 12, 13 and 18) | `{__safeContent__: {$in: tags}}` |
//!
//! A tag is derived from the tokens of a payload and a counter. The positions in use are documents of the state collection ESC.
//! The server stores each value once more in the state collection ECOC, which `compactStructuredEncryptionData` empties.
//!
//! Entries of the state collections are added before the command runs. They remain if it fails, and stand for no document then.
//! The README and the layouts of payloads are those of [libmongocrypt](https://github.com/mongodb/libmongocrypt).

mod command;
mod expression;
mod filter;
mod payload;
mod schema;
mod state;
mod stored;
mod token;
mod write;

pub(crate) use command::{has_information, rewrite};
pub(crate) use write::without_removed_tags;

use crate::error::Error;

/// The field with the tags of a document.
const SAFE_CONTENT: &str = "__safeContent__";

/// A payload that is not one of the protocol.
fn malformed(what: &str) -> Error {
    Error::bad_value(format!("malformed payload of Queryable Encryption: {what}"))
}

#[cfg(test)]
mod tests;
