//! SOCKS5 proxy options ([SOCKS5 Support]).
//!
//! [SOCKS5 Support]:
//! https://github.com/mongodb/specifications/blob/master/source/socks5-support/socks5.md

use std::fmt;

use super::error::OptionError;
use crate::{
    proto::socks5::{Credentials, MAX_TEXT},
    types::secret::Secret,
};

/// The default of `proxyPort` (RFC 1928).
const DEFAULT_PORT: u16 = 1080;

/// A SOCKS5 proxy for all TCP connections to servers, including those of monitors. `Debug` prints
/// no password.
///
/// The proxy resolves the host names of the servers; the driver resolves only the host name of the
/// proxy. DNS queries for a `mongodb+srv` connection string and Unix domain sockets do not use the
/// proxy. User name and password are sent unencrypted if the proxy requests them. With `tls=true`,
/// TLS is negotiated with the server through the proxy.
///
/// If the proxy cannot be used, connections fail with a [`Network`](crate::ErrorKind::Network)
/// error of the phase [`Proxy`](crate::NetworkPhase::Proxy). Creating a client fails if the host is
/// empty or contains a port, if the port is 0, if only one of user name and password is set, or if
/// one of them is longer than 255 bytes. An empty user name or password is not set.
///
/// ```
/// use marula_driver::options::{ClientOptions, Proxy};
///
/// let mut options = ClientOptions::parse("mongodb://db1.internal")?;
/// let mut proxy = Proxy::new("bastion.example.com").with_password("correct horse");
/// proxy.username = Some("ada".to_owned());
/// options.proxy = Some(proxy);
/// # Ok::<(), marula_driver::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Proxy {
    /// `proxyHost`: the host name or IP address of the proxy.
    pub host: String,
    /// `proxyPort`. Default: 1080.
    pub port: Option<u16>,
    /// `proxyUsername`. Requires a password. Default: no authentication with the proxy.
    pub username: Option<String>,
    pub(crate) password: Option<Secret>,
}

impl Proxy {
    /// A proxy on the default port, without authentication.
    #[must_use]
    pub fn new(host: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            ..Self::default()
        }
    }

    /// Sets `proxyPassword`. It cannot be read back. Requires a user name.
    #[must_use]
    pub fn with_password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(Secret::new(password));
        self
    }

    /// Whether a password is set.
    #[must_use]
    pub fn has_password(&self) -> bool {
        self.password().is_some()
    }

    fn username(&self) -> Option<&str> {
        self.username.as_deref().filter(|name| !name.is_empty())
    }

    fn password(&self) -> Option<&Secret> {
        self.password
            .as_ref()
            .filter(|password| !password.expose().is_empty())
    }

    /// Host and port.
    pub(crate) fn endpoint(&self) -> (&str, u16) {
        let bare = self
            .host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        (bare.unwrap_or(&self.host), self.port.unwrap_or(DEFAULT_PORT))
    }

    /// User name and password for the proxy; `None` if they are not set.
    pub(crate) fn credentials(&self) -> Option<Credentials> {
        Credentials::new(self.username()?, self.password()?)
    }

    pub(crate) fn validate(&self) -> Result<(), OptionError> {
        let (host, port) = self.endpoint();
        if host.is_empty() {
            return Err(OptionError::NoProxyHost);
        }
        let address = host.split('%').next().unwrap_or_default();
        if host.contains(':') && address.parse::<std::net::Ipv6Addr>().is_err() {
            return Err(OptionError::ProxyHost);
        }
        if port == 0 {
            return Err(OptionError::ProxyPort);
        }
        let (username, password) = (self.username(), self.password());
        if username.is_some() != password.is_some() {
            return Err(OptionError::ProxyCredentials);
        }
        for (name, text) in [
            ("proxyUsername", username),
            ("proxyPassword", password.map(Secret::expose)),
        ] {
            if text.is_some_and(|text| text.len() > MAX_TEXT) {
                return Err(OptionError::TooLong {
                    option: name,
                    limit: MAX_TEXT,
                });
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("username", &self.username)
            .field("password", &self.password)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_login(username: &str, password: &str) -> Proxy {
        let mut proxy = Proxy::new("h").with_password(password);
        proxy.username = Some(username.into());
        proxy
    }

    #[test]
    fn invalid_options_are_rejected() {
        let refusal = |proxy: Proxy| proxy.validate().unwrap_err().to_string();
        assert!(refusal(Proxy::default()).contains("need proxyHost"));
        assert!(refusal(Proxy::new("h:1080")).contains("proxyPort"));
        let mut nowhere = Proxy::new("h");
        nowhere.port = Some(0);
        assert!(refusal(nowhere).contains("from 1 to 65535"));
        assert!(refusal(Proxy::new("h").with_password("p")).contains("must both be given"));
        assert!(refusal(with_login("u", "")).contains("must both be given"));
        let long = refusal(with_login("u", &"s3cr3t".repeat(50)));
        assert!(
            long.contains("proxyPassword") && !long.contains("s3cr3t"),
            "{long}"
        );
        assert!(refusal(with_login(&"u".repeat(256), "p")).contains("proxyUsername must be at most 255"));
    }

    #[test]
    fn empty_credentials_are_not_set() {
        let proxy = with_login("", "");
        assert_eq!(proxy.validate(), Ok(()));
        assert_eq!(proxy.credentials(), None);
        let proxy = with_login(&"u".repeat(255), &"p".repeat(255));
        assert_eq!(proxy.validate(), Ok(()));
        assert!(proxy.credentials().is_some());
    }

    #[test]
    fn ipv6_addresses_may_be_in_brackets() {
        for host in ["::1", "[::1]"] {
            let proxy = Proxy::new(host);
            assert_eq!(proxy.validate(), Ok(()), "{host}");
            assert_eq!(proxy.endpoint(), ("::1", 1080));
        }
        assert_eq!(Proxy::new("fe80::1%eth0").validate(), Ok(()));
    }
}
