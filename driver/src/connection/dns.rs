//! What the driver asks DNS for, whoever answers.

use std::{fmt, pin::Pin};

use crate::proto::srv::{SrvRecord, TxtRecord};

/// Why DNS gave no records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupError {
    /// There are none, says an answer.
    NoRecords(String),
    /// There is no answer.
    Failed(String),
    /// The driver was built without the means to ask.
    Unavailable(String),
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRecords(why) | Self::Failed(why) | Self::Unavailable(why) => f.write_str(why),
        }
    }
}

/// A lookup under way. Dropping it gives it up.
pub type Lookup<'a, T> = Pin<Box<dyn Future<Output = Result<Vec<T>, LookupError>> + Send + 'a>>;

/// Asks DNS. Names are complete: no search domain is to be tried.
pub trait DnsLookup: fmt::Debug + Send + Sync {
    /// The SRV records of a name.
    fn srv<'a>(&'a self, name: &'a str) -> Lookup<'a, SrvRecord>;

    /// The TXT records of a name.
    fn txt<'a>(&'a self, name: &'a str) -> Lookup<'a, TxtRecord>;
}
