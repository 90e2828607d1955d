//! The host name of a `mongodb+srv` connection string, and the names that its records may hold.

use std::fmt;

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
    pub fn new(hostname: &str, service: &str) -> Result<Self, String> {
        let hostname = normal(hostname);
        check_name(&hostname).map_err(|why| format!("the host name \"{hostname}\" {why}"))?;
        // The label is the name with an underscore before it.
        let known = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if service.is_empty() || service.len() >= MAX_LABEL || !service.chars().all(known) {
            return Err(format!(
                "srvServiceName \"{service}\" is no service name: 1 to {} letters, digits and hyphens",
                MAX_LABEL - 1
            ));
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
    pub(super) fn verify(&self, target: &str) -> Result<String, String> {
        let host = normal(target);
        let named = |why: &str| format!("the SRV record {} names the host \"{host}\", {why}", self.query());
        if host.is_empty() {
            return Err(named("which says that the service is not offered"));
        }
        check_name(&host).map_err(|why| named(&format!("which {why}")))?;
        let prefix = host
            .strip_suffix(self.domain())
            .and_then(|rest| rest.strip_suffix('.'));
        match prefix {
            Some(prefix) if !prefix.is_empty() => Ok(host),
            _ => Err(named(&format!("which is not below the domain {}", self.domain()))),
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

fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("is empty");
    }
    if name.len() > MAX_NAME {
        return Err("is too long for a DNS name");
    }
    for label in name.split('.') {
        if label.is_empty() {
            return Err("has an empty part");
        }
        if label.len() > MAX_LABEL {
            return Err("has a part of more than 63 characters");
        }
        if !label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        {
            return Err("has characters that host names cannot have");
        }
    }
    Ok(())
}
