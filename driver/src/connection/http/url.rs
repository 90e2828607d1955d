//! URLs of the form `http://host[:port]/path`, and with `https`.

use std::{fmt, net::Ipv6Addr};

/// Whether a request is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// Without TLS.
    Http,
    /// With TLS.
    Https,
}

/// The URL of a request. Without TLS: the resources are signed, or served by the machine itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    /// A host name or an IP address, IPv6 without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Path and query, starting with a slash.
    pub(crate) target: String,
}

impl Url {
    /// Parses a URL. `None` for other schemes, for user information, and for characters that need
    /// encoding in a request.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match Self::parse_scheme(text)? {
            (url, Scheme::Http) => Some(url),
            (_, Scheme::Https) => None,
        }
    }

    /// As [`parse`](Self::parse), also for the scheme `https`.
    pub(crate) fn parse_scheme(text: &str) -> Option<(Self, Scheme)> {
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let (scheme, rest) = text.split_once("://")?;
        let (scheme, default_port) = if scheme.eq_ignore_ascii_case("http") {
            (Scheme::Http, 80)
        } else if scheme.eq_ignore_ascii_case("https") {
            (Scheme::Https, 443)
        } else {
            return None;
        };
        let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        let (host, port) = split_authority(authority, default_port)?;
        let target = if target.starts_with('/') {
            target.to_owned()
        } else {
            format!("/{target}")
        };
        Some((Self { host, port, target }, scheme))
    }

    /// Host and port as in the header field `Host`.
    pub(crate) fn authority(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        match self.port {
            80 => host,
            port => format!("{host}:{port}"),
        }
    }
}

/// With `http`: the scheme is not part of the value.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority(), self.target)
    }
}

fn split_authority(authority: &str, default_port: u16) -> Option<(String, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            host.parse::<Ipv6Addr>().ok()?;
            match after {
                "" => (host, None),
                _ => (host, Some(after.strip_prefix(':')?)),
            }
        }
        None => {
            let (host, port) = match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            };
            let named = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            if host.is_empty() || !host.bytes().all(named) {
                return None;
            }
            (host, port)
        }
    };
    let port = match port {
        None | Some("") => default_port,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
        Some(_) => return None,
    };
    (port != 0).then(|| (host.to_ascii_lowercase(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        for (text, host, port, target) in [
            ("http://a.example", "a.example", 80, "/"),
            ("HTTP://A.example/", "a.example", 80, "/"),
            ("http://a.example:81/b/c?d=e#f", "a.example", 81, "/b/c?d=e"),
            ("http://a.example?d", "a.example", 80, "/?d"),
            ("http://a.example:/x", "a.example", 80, "/x"),
            ("http://127.0.0.1:8/x", "127.0.0.1", 8, "/x"),
            ("http://[::1]:8/x", "::1", 8, "/x"),
            ("http://[fe80::1]", "fe80::1", 80, "/"),
        ] {
            let url = Url::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (&*url.host, url.port, &*url.target),
                (host, port, target),
                "{text}"
            );
            assert_eq!(Url::parse(&url.to_string()), Some(url), "{text}");
        }
    }

    #[test]
    fn the_scheme_determines_the_default_port() {
        for (text, scheme, port) in [
            ("http://a.example/b", Scheme::Http, 80),
            ("HTTPS://a.example/b", Scheme::Https, 443),
            ("https://a.example:80/b", Scheme::Https, 80),
        ] {
            let (url, found) = Url::parse_scheme(text).unwrap();
            assert_eq!((found, url.port, &*url.target), (scheme, port, "/b"), "{text}");
        }
    }

    #[test]
    fn urls_that_cannot_be_requested_are_rejected() {
        for text in [
            "",
            "a.example",
            "https://a.example/",
            "ldap://a.example/",
            "http://",
            "http:///x",
            "http://user@a.example/",
            "http://a.example:99999/",
            "http://a.example:0/",
            "http://a.example:+1/",
            "http://a.example:1:2/",
            "http://[::1/",
            "http://[::1]8/",
            "http://[a.example]/",
            "http://a.example/b c",
            "http://a.example/b\r\nHost: c",
            "http://a.exämple/",
        ] {
            assert_eq!(Url::parse(text), None, "{text}");
        }
    }
}
