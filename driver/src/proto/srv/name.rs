//! The host name of a `mongodb+srv` connection string, and the verification of the hosts in its SRV
//! records.

use std::fmt;

use super::{NameProblem, SrvError};

/// The maximum length of a DNS name (RFC 1035). A label has at most [`MAX_LABEL`] characters.
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// The host name of a `mongodb+srv` connection string, with `srvServiceName`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SrvName {
    hostname: String,
    service: String,
}

impl SrvName {
    /// `hostname` is without a port. Fails if the name or the service name is not valid in DNS.
    pub fn new(hostname: &str, service: &str) -> Result<Self, SrvError> {
        let hostname = normalize(hostname);
        if let Err(problem) = check_name(&hostname) {
            return Err(SrvError::HostName {
                host: hostname,
                problem,
            });
        }
        // The label consists of an underscore and the service name.
        let known = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if service.is_empty() || service.len() >= MAX_LABEL || !service.chars().all(known) {
            return Err(SrvError::ServiceName(service.to_owned()));
        }
        Ok(Self {
            hostname,
            service: service.to_owned(),
        })
    }

    /// The name of the TXT record.
    pub fn hostname(&self) -> &str {
        &self.hostname
    }

    /// The name of the SRV records.
    pub fn query(&self) -> String {
        format!("_{}._tcp.{}", self.service, self.hostname)
    }

    /// The domain that all hosts must be in: the host name without its first label, or the complete
    /// host name if it has one or two labels ("Querying DNS").
    pub fn domain(&self) -> &str {
        match self.hostname.split_once('.') {
            Some((_, rest)) if rest.contains('.') => rest,
            _ => &self.hostname,
        }
    }

    /// Returns the target of an SRV record in lower case and without the final dot, if it is in the
    /// domain. The domain itself, and a name that ends with the domain within a label, are not.
    pub(super) fn verify(&self, target: &str) -> Result<String, SrvError> {
        let host = normalize(target);
        let query = || self.query();
        if host.is_empty() {
            return Err(SrvError::NotOffered { query: query() });
        }
        if let Err(problem) = check_name(&host) {
            return Err(SrvError::Target {
                query: query(),
                host,
                problem,
            });
        }
        let prefix = host
            .strip_suffix(self.domain())
            .and_then(|rest| rest.strip_suffix('.'));
        match prefix {
            Some(prefix) if !prefix.is_empty() => Ok(host),
            _ => Err(SrvError::OutsideDomain {
                query: query(),
                host,
                domain: self.domain().to_owned(),
            }),
        }
    }
}

impl fmt::Display for SrvName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hostname)
    }
}

fn normalize(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

fn check_name(name: &str) -> Result<(), NameProblem> {
    if name.is_empty() {
        return Err(NameProblem::Empty);
    }
    if name.len() > MAX_NAME {
        return Err(NameProblem::TooLong);
    }
    for label in name.split('.') {
        if label.is_empty() {
            return Err(NameProblem::EmptyLabel);
        }
        if label.len() > MAX_LABEL {
            return Err(NameProblem::LabelTooLong);
        }
        if !label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        {
            return Err(NameProblem::Character);
        }
    }
    Ok(())
}
