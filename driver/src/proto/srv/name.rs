//! The host name of a `mongodb+srv` connection string, and the names that its records may hold.

use std::fmt;

use super::{NameProblem, SrvError};

/// A DNS name is at most this long, and each of its parts at most [`MAX_LABEL`].
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// What stands between `mongodb+srv://` and the options, and the service asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SrvName {
    hostname: String,
    service: String,
}

impl SrvName {
    /// The host name, without a port, and `srvServiceName`. Nothing is asked for names that DNS cannot hold.
    pub fn new(hostname: &str, service: &str) -> Result<Self, SrvError> {
        let hostname = normal(hostname);
        if let Err(problem) = check_name(&hostname) {
            return Err(SrvError::HostName {
                host: hostname,
                problem,
            });
        }
        // The label is the name with an underscore before it.
        let known = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if service.is_empty() || service.len() >= MAX_LABEL || !service.chars().all(known) {
            return Err(SrvError::ServiceName(service.to_owned()));
        }
        Ok(Self {
            hostname,
            service: service.to_owned(),
        })
    }

    /// Where the TXT record is.
    pub fn hostname(&self) -> &str {
        &self.hostname
    }

    /// Where the SRV records are.
    pub fn query(&self) -> String {
        format!("_{}._tcp.{}", self.service, self.hostname)
    }

    /// The part that hosts must share: all but the first part of the name, or all of it when it has one or two parts.
    pub fn domain(&self) -> &str {
        match self.hostname.split_once('.') {
            Some((_, rest)) if rest.contains('.') => rest,
            _ => &self.hostname,
        }
    }

    /// The host of an SRV record, in lower case and without the final dot, if it lies below the domain. A name that equals
    /// the domain, or ends like it in the middle of a part, does not.
    pub(super) fn verify(&self, target: &str) -> Result<String, SrvError> {
        let host = normal(target);
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

fn normal(name: &str) -> String {
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
