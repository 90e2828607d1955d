//! Why a host name or its DNS records cannot be used.

use std::fmt;

/// A host name, or an answer to its lookup, that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SrvError {
    /// The host name of the connection string.
    HostName {
        /// The host name.
        host: String,
        /// What is wrong with it.
        problem: NameProblem,
    },
    /// `srvServiceName`.
    ServiceName(String),
    /// The target is the root domain: the service is not offered (RFC 2782).
    NotOffered {
        /// The name of the SRV record.
        query: String,
    },
    /// The target of a record is not a host name.
    Target {
        /// The name of the SRV record.
        query: String,
        /// Its target.
        host: String,
        /// What is wrong with it.
        problem: NameProblem,
    },
    /// The target of a record is not in the domain of the host name.
    OutsideDomain {
        /// The name of the SRV record.
        query: String,
        /// Its target.
        host: String,
        /// The domain of the host name in the connection string.
        domain: String,
    },
    /// The port of a record is 0.
    PortZero {
        /// The name of the SRV record.
        query: String,
        /// Its target.
        host: String,
    },
    /// There are no SRV records.
    NoRecords {
        /// The name of the SRV record.
        query: String,
    },
    /// The lookup failed.
    Lookup(String),
    /// The lookup timed out.
    NoAnswer {
        /// The name of the SRV record.
        query: String,
    },
    /// The TXT record is not UTF-8.
    TxtNotUtf8 {
        /// The host name.
        host: String,
    },
    /// There is more than one TXT record.
    TxtRecords {
        /// The host name.
        host: String,
        /// The number of TXT records.
        count: usize,
    },
}

impl fmt::Display for SrvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HostName { host, problem } => write!(f, "the host name \"{host}\" {problem}"),
            Self::ServiceName(service) => write!(
                f,
                "srvServiceName \"{service}\" must be 1 to 62 letters, digits and hyphens"
            ),
            Self::NotOffered { query } => write!(
                f,
                "the SRV record {query} names the host \"\", which says that the service is not offered"
            ),
            Self::Target { query, host, problem } => write!(
                f,
                "the SRV record {query} names the host \"{host}\", which {problem}"
            ),
            Self::OutsideDomain { query, host, domain } => write!(
                f,
                "the SRV record {query} names the host \"{host}\", which is not below the domain {domain}"
            ),
            Self::PortZero { query, host } => {
                write!(f, "the SRV record {query} names port 0 of the host \"{host}\"")
            }
            Self::NoRecords { query } => write!(f, "there is no SRV record {query}"),
            Self::Lookup(reason) => f.write_str(reason),
            Self::NoAnswer { query } => write!(f, "no answer for {query} in time"),
            Self::TxtNotUtf8 { host } => write!(f, "the TXT record of {host} is not UTF-8"),
            Self::TxtRecords { host, count } => {
                write!(f, "the host {host} has {count} TXT records; only one is allowed")
            }
        }
    }
}

/// What is wrong with a host name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameProblem {
    /// No characters.
    Empty,
    /// More than 253 characters.
    TooLong,
    /// Two dots in a row, or a leading dot.
    EmptyLabel,
    /// A label of more than 63 characters.
    LabelTooLong,
    /// A character other than letters, digits, `-` and `_`.
    Character,
}

impl fmt::Display for NameProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty"),
            Self::TooLong => f.write_str("is too long for a DNS name"),
            Self::EmptyLabel => f.write_str("has an empty part"),
            Self::LabelTooLong => f.write_str("has a part of more than 63 characters"),
            Self::Character => f.write_str("has characters that host names cannot have"),
        }
    }
}
