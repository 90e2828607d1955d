//! Errors of host names and DNS records.

use std::fmt;

/// A host name or a DNS record is invalid, or a DNS query failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SrvError {
    /// The host name in the connection string is invalid.
    HostName {
        /// The host name in the connection string.
        host: String,
        /// Why it is invalid.
        problem: NameProblem,
    },
    /// `srvServiceName` is invalid.
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
        /// The target of the record.
        host: String,
        /// Why it is invalid.
        problem: NameProblem,
    },
    /// The target of a record is not in the domain of the host name.
    OutsideDomain {
        /// The name of the SRV record.
        query: String,
        /// The target of the record.
        host: String,
        /// The domain of the host name in the connection string.
        domain: String,
    },
    /// The port of a record is 0.
    PortZero {
        /// The name of the SRV record.
        query: String,
        /// The target of the record.
        host: String,
    },
    /// There are no SRV records.
    NoRecords {
        /// The name of the SRV record.
        query: String,
    },
    /// The DNS query failed.
    Lookup(String),
    /// The DNS query timed out.
    NoAnswer {
        /// The name of the SRV record.
        query: String,
    },
    /// The TXT record is not UTF-8.
    TxtNotUtf8 {
        /// The host name in the connection string.
        host: String,
    },
    /// There is more than one TXT record.
    TxtRecords {
        /// The host name in the connection string.
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
                "the SRV record {query} has the target \".\": the service is not offered at this domain"
            ),
            Self::Target { query, host, problem } => write!(
                f,
                "the SRV record {query} has the target \"{host}\", which {problem}"
            ),
            Self::OutsideDomain { query, host, domain } => write!(
                f,
                "the SRV record {query} has the target \"{host}\", which is not below the domain {domain}"
            ),
            Self::PortZero { query, host } => {
                write!(f, "the SRV record {query} has port 0 for the target \"{host}\"")
            }
            Self::NoRecords { query } => write!(f, "the SRV record {query} does not exist"),
            Self::Lookup(reason) => f.write_str(reason),
            Self::NoAnswer { query } => write!(f, "no answer to the DNS query for {query} in time"),
            Self::TxtNotUtf8 { host } => write!(f, "the TXT record of {host} is not UTF-8"),
            Self::TxtRecords { host, count } => {
                write!(f, "the host {host} has {count} TXT records; only one is allowed")
            }
        }
    }
}

/// The reason why a host name is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameProblem {
    /// The name is empty.
    Empty,
    /// The name has more than 253 characters.
    TooLong,
    /// The name has two dots in a row, or a leading dot.
    EmptyLabel,
    /// A label has more than 63 characters.
    LabelTooLong,
    /// The name has a character other than letters, digits, `-` and `_`.
    Character,
}

impl fmt::Display for NameProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty"),
            Self::TooLong => f.write_str("is too long for a DNS name"),
            Self::EmptyLabel => f.write_str("has an empty label"),
            Self::LabelTooLong => f.write_str("has a label of more than 63 characters"),
            Self::Character => f.write_str("has characters that are not allowed in host names"),
        }
    }
}
