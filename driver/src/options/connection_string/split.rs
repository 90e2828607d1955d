//! Splits a connection string into its parts. Only the hosts are interpreted.

use std::fmt;

use crate::{
    ServerAddress,
    options::error::{HostName, HostProblem, OptionError},
    types::secret::Secret,
};

/// The parts of a connection string, percent-decoded.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) srv: bool,
    pub(super) username: Option<String>,
    pub(super) password: Option<Secret>,
    pub(super) hosts: Vec<ServerAddress>,
    pub(super) database: Option<String>,
    pub(super) options: Vec<Pair>,
}

/// One option. The options are in the order of the connection string.
#[derive(PartialEq, Eq)]
pub(super) struct Pair {
    /// The name in lower case.
    pub(super) key: String,
    /// The name as the connection string spells it.
    pub(super) spelled: String,
    pub(super) value: String,
    /// A preceding option contains a secret. If that secret contains an unescaped `&` or `;`, this
    /// option is the rest of it.
    pub(super) follows_secret: bool,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl Pair {
    /// The name for errors and warnings. It does not reveal a part of a secret.
    pub(super) fn name(&self) -> &str {
        if self.follows_secret {
            "an option after a password or after authMechanismProperties (percent-encode '&' and ';' in values)"
        } else {
            &self.spelled
        }
    }
}

/// Whether the value of this option contains a secret. Misspelled names of such options are
/// included.
fn contains_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["passw", "pwd", "secret", "token", "authmechanismprop"]
        .iter()
        .any(|part| key.contains(part))
}

/// Whether an `@` follows the first `?`. It may belong to an option, or end a password that
/// contains the `?`.
pub(super) fn may_contain_a_password(uri: &str) -> bool {
    uri.split_once('?').is_some_and(|(_, query)| query.contains('@'))
}

/// Splits a connection string into its parts.
pub(super) fn split(uri: &str) -> Result<Parts, OptionError> {
    if let Some(character) = uri.chars().find(|character| character.is_control()) {
        return Err(OptionError::ControlCharacter(character));
    }
    let (srv, rest) = if let Some(rest) = uri.strip_prefix("mongodb://") {
        (false, rest)
    } else if let Some(rest) = uri.strip_prefix("mongodb+srv://") {
        (true, rest)
    } else {
        return Err(OptionError::NoScheme);
    };
    // `?` and `/` must be percent-encoded in a password, so the first of them ends the authority
    // (Connection String, "Userinfo").
    let (before_query, query) = match rest.split_once('?') {
        Some((before, query)) => (before, Some(query)),
        None => (rest, None),
    };
    let (user_info, location) = match before_query.rsplit_once('@') {
        Some((user_info, location)) => (Some(user_info), location),
        None => (None, before_query),
    };
    let (hosts, database) = match location.split_once('/') {
        Some((hosts, database)) => (hosts, database),
        None => (location, ""),
    };
    let (username, password) = match user_info {
        Some(text) => split_user_info(text)?,
        None => (None, None),
    };
    Ok(Parts {
        srv,
        username,
        password,
        hosts: split_hosts(hosts, srv, user_info.is_some())?,
        database: read_database(database)?,
        options: split_query(query.unwrap_or_default())?,
    })
}

/// Errors do not contain the text, which includes the password.
fn split_user_info(text: &str) -> Result<(Option<String>, Option<Secret>), OptionError> {
    let (name, password) = match text.split_once(':') {
        Some((name, password)) => (name, Some(password)),
        None => (text, None),
    };
    if text.contains(['@', '/']) || password.is_some_and(|password| password.contains(':')) {
        return Err(OptionError::NotPercentEncoded);
    }
    if name.is_empty() {
        return Err(OptionError::EmptyUsername);
    }
    let name = decode(name).ok_or(OptionError::MalformedEscape { part: "user name" })?;
    let password = match password.map(decode) {
        Some(None) => return Err(OptionError::MalformedEscape { part: "password" }),
        Some(Some(password)) => Some(Secret::new(password)),
        None => None,
    };
    Ok((Some(name), password))
}

/// If the `@` is missing, the text before the first `:` is the user name, and the rest may be the
/// password: errors contain nothing of it.
fn split_hosts(text: &str, srv: bool, has_user_info: bool) -> Result<Vec<ServerAddress>, OptionError> {
    if text.is_empty() {
        return Err(OptionError::NoHost);
    }
    let mut hosts = Vec::new();
    let mut follows_colon = false;
    for (index, part) in text.split(',').enumerate() {
        if part.is_empty() {
            return Err(OptionError::EmptyHost);
        }
        let quoted = part.split(':').next().unwrap_or_default();
        let name = if follows_colon || quoted.is_empty() {
            HostName::Position(index + 1)
        } else {
            HostName::Quoted(quoted.to_owned())
        };
        follows_colon |= part.contains(':');
        let refuse = |reason| {
            Err(OptionError::InvalidHost {
                name,
                reason,
                has_colon: follows_colon && !has_user_info,
            })
        };
        let Some(decoded) = decode(part) else {
            return refuse(HostProblem::Encoding);
        };
        if decoded.contains('/') && !decoded.ends_with(".sock") {
            return refuse(HostProblem::SocketPath);
        }
        match ServerAddress::read(&decoded) {
            Ok(address) if hosts.contains(&address) => {}
            Ok(address) => hosts.push(address),
            Err(problem) => return refuse(HostProblem::Address(problem)),
        }
    }
    if srv {
        if text.contains(',') {
            return Err(OptionError::SrvHosts);
        }
        if text.contains(':') {
            return Err(OptionError::SrvPort);
        }
    }
    Ok(hosts)
}

fn read_database(text: &str) -> Result<Option<String>, OptionError> {
    if text.is_empty() {
        return Ok(None);
    }
    let name = decode(text).ok_or(OptionError::DatabaseEncoding)?;
    let is_invalid = |c: &char| matches!(c, '/' | '\\' | ' ' | '"' | '$') || c.is_control();
    match name.chars().find(is_invalid) {
        // Errors do not contain the text: it may be the rest of a password that contains a `/`.
        Some(bad) => Err(OptionError::DatabaseCharacter(bad)),
        None => Ok(Some(name)),
    }
}

pub(super) fn split_query(text: &str) -> Result<Vec<Pair>, OptionError> {
    let mut options = Vec::new();
    let mut follows_secret = false;
    for pair in text.split(['&', ';']).filter(|pair| !pair.is_empty()) {
        let Some((key, value)) = pair.split_once('=') else {
            let option = (!follows_secret).then(|| pair.to_owned());
            return Err(OptionError::NoValue { option });
        };
        let key = decode(key).ok_or(OptionError::OptionEncoding)?;
        let mut option = Pair {
            key: key.to_ascii_lowercase(),
            spelled: key,
            value: String::new(),
            follows_secret,
        };
        option.value = decode(value).ok_or_else(|| OptionError::ValueEncoding {
            option: option.name().to_owned(),
        })?;
        let is_secret = contains_secret(&option.key);
        // A password can contain any character.
        let is_invalid = !is_secret && option.value.contains(char::is_control);
        if is_invalid || option.spelled.contains(char::is_control) {
            return Err(OptionError::ControlCharacterIn {
                option: option.name().to_owned(),
            });
        }
        follows_secret |= is_secret;
        options.push(option);
    }
    Ok(options)
}

/// Percent-decodes a text. Returns `None` if a `%` is not followed by two hexadecimal digits, or if
/// the result is not UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes().iter();
    while let Some(byte) = rest.next() {
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|byte| char::from(*byte).to_digit(16));
        let (high, low) = (digit()?, digit()?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(uri: &str) -> Vec<String> {
        split(uri)
            .unwrap()
            .hosts
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn all_forms_of_hosts_are_parsed() {
        assert_eq!(hosts("mongodb://a,B:28000"), ["a:27017", "b:28000"]);
        assert_eq!(hosts("mongodb://[::1]:27018/"), ["[::1]:27018"]);
        assert_eq!(hosts("mongodb://%2Ftmp%2Fx.sock/db"), ["/tmp/x.sock"]);
        assert_eq!(
            hosts("mongodb://rel%2Fx.sock,%2fy.sock"),
            ["rel/x.sock", "/y.sock"]
        );
        // Without a slash, it is a host name.
        assert_eq!(
            hosts("mongodb://mongodb-27017.sock,db.sock:1/x.sock"),
            ["mongodb-27017.sock:27017", "db.sock:1"]
        );
    }

    #[test]
    fn user_database_and_options_are_decoded() {
        let parts = split("mongodb://al%3Aice:p%40ss@h/my%2Edb?appName=a%20b&W=1").unwrap();
        assert_eq!(parts.username.as_deref(), Some("al:ice"));
        assert_eq!(parts.password, Some(Secret::new("p@ss")));
        assert_eq!(parts.database.as_deref(), Some("my.db"));
        let options: Vec<(&str, &str)> = parts
            .options
            .iter()
            .map(|option| (option.key.as_str(), option.value.as_str()))
            .collect();
        assert_eq!(options, [("appname", "a b"), ("w", "1")]);
    }

    #[test]
    fn errors_name_the_option_unless_it_may_be_part_of_a_secret() {
        let error = |query: &str| split(&format!("mongodb://h/?{query}")).unwrap_err().to_string();
        assert!(error("w").contains("\"w\""));
        assert!(error("ssl=true&w=%").contains("of w "));
        for query in ["proxyPassword=s3&cr3t", "proxyPassword=s3;cr3t=%", "pwd=s3&cr3t"] {
            let error = error(query);
            assert!(
                !error.contains("cr3t") && error.contains("percent-encode"),
                "{error}"
            );
        }
    }

    #[test]
    fn errors_do_not_contain_the_password() {
        for uri in [
            "mongodb://u:hunter2:x@h",
            "mongodb://u:hunter2%zz@h",
            "mongodb://u:hunter2@@h",
            "mongodb://:hunter2@h",
        ] {
            let error = split(uri).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn errors_do_not_contain_what_follows_a_colon_in_the_hosts() {
        for (uri, named) in [
            ("mongodb://bob:s3cret", "the host \"bob\""),
            ("mongodb://bob:s3cret/db", "'@'"),
            ("mongodb://bob:s3%2Fcret", "the host \"bob\""),
            ("mongodb://bob:s3cret%zz", "hexadecimal"),
            ("mongodb://bob:s3:cret", "more than one ':'"),
            ("mongodb://bob:1,cret%zz", "host 2"),
            ("mongodb://bob:1/cret$x", "'$'"),
            ("mongodb+srv://bob:s3cret", "the host \"bob\""),
        ] {
            let error = split(uri).unwrap_err().to_string();
            assert!(!error.contains("cret") && error.contains(named), "{uri}: {error}");
        }
    }

    #[test]
    fn malformed_connection_strings_are_rejected() {
        for uri in [
            "",
            "http://h",
            "mongodb://",
            "mongodb:///db",
            "mongodb://a,,b",
            "mongodb://a:0",
            "mongodb://a:b",
            "mongodb://h/d$b",
            "mongodb://h/?novalue",
            "mongodb://h/?a=%",
            "mongodb+srv://a,b",
            "mongodb+srv://a:1",
            "mongodb://a%",
            "mongodb:///tmp/mongodb.sock",
        ] {
            assert!(split(uri).is_err(), "{uri} was accepted");
        }
    }
}
