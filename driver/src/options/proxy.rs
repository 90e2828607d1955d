//! A SOCKS5 proxy between the client and its servers (SOCKS5 Support specification).

use std::fmt;

use super::error::OptionError;
use crate::{
    proto::socks5::{Credentials, MAX_TEXT},
    types::secret::Secret,
};

const DEFAULT_PORT: u16 = 1080;

/// A SOCKS5 proxy, through which all TCP connections to servers go, those of monitors too. `Debug` shows no password.
///
/// The proxy gets the servers' host names as they are and resolves them itself; the driver resolves the proxy's alone. The DNS
/// lookups of a `mongodb+srv` connection string do not go through it, nor do Unix domain sockets. User name and password are
/// offered, and sent in the clear when the proxy asks for them. Encryption (`tls=true`) is agreed on with the server, through
/// the proxy.
///
/// A proxy that cannot be used fails connections with a [`Network`](crate::ErrorKind::Network) error of the phase
/// [`Proxy`](crate::NetworkPhase::Proxy). A client is refused when the host is missing or holds a port, when the port is 0, when
/// one of user name and password is given without the other, or when one is longer than 255 bytes. Empty ones count as not given.
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
    /// `proxyHost`: its name or address.
    pub host: String,
    /// `proxyPort`; default 1080.
    pub port: Option<u16>,
    /// `proxyUsername`; default: no login is offered.
    pub username: Option<String>,
    pub(crate) password: Option<Secret>,
}

impl Proxy {
    /// A proxy on the default port, without login.
    #[must_use]
    pub fn new(host: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            ..Self::default()
        }
    }

    /// Sets `proxyPassword`, which cannot be read back.
    #[must_use]
    pub fn with_password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(Secret::new(password));
        self
    }

    /// Whether a password was given.
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

    /// Where it is.
    pub(crate) fn endpoint(&self) -> (&str, u16) {
        let bare = self
            .host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        (bare.unwrap_or(&self.host), self.port.unwrap_or(DEFAULT_PORT))
    }

    /// Who logs in there, if the proxy asks.
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
    fn what_cannot_be_used_is_refused() {
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
    fn empty_credentials_count_as_none() {
        let proxy = with_login("", "");
        assert_eq!(proxy.validate(), Ok(()));
        assert_eq!(proxy.credentials(), None);
        let proxy = with_login(&"u".repeat(255), &"p".repeat(255));
        assert_eq!(proxy.validate(), Ok(()));
        assert!(proxy.credentials().is_some());
    }

    #[test]
    fn addresses_may_stand_in_brackets() {
        for host in ["::1", "[::1]"] {
            let proxy = Proxy::new(host);
            assert_eq!(proxy.validate(), Ok(()), "{host}");
            assert_eq!(proxy.endpoint(), ("::1", 1080));
        }
        assert_eq!(Proxy::new("fe80::1%eth0").validate(), Ok(()));
    }
}
