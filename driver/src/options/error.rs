//! Errors of connection strings and options.

use std::fmt;

use crate::types::address::AddressProblem;

/// Used instead of a message that could contain a password.
pub(super) const ADVICE: &str = "user name and password must be percent-encoded";

/// The `authSource` of users that are defined outside the server.
pub(super) const EXTERNAL: &str = "$external";

/// A connection string or an option is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OptionError {
    NoScheme,
    /// The user name or the password contains a reserved character.
    NotPercentEncoded,
    EmptyUsername,
    /// A `%` in the user name or the password is not followed by two hexadecimal digits.
    MalformedEscape {
        part: &'static str,
    },
    NoHost,
    EmptyHost,
    /// `has_colon`: the host is followed by a `:` and the `@` is missing, so the text may be user
    /// name and password.
    InvalidHost {
        name: HostName,
        reason: HostProblem,
        has_colon: bool,
    },
    SrvHosts,
    SrvPort,
    DatabaseEncoding,
    DatabaseCharacter(char),
    /// A control character that is not percent-encoded, such as a line break.
    ControlCharacter(char),
    /// A control character in the value of an option.
    ControlCharacterIn {
        option: String,
    },
    /// `None`: the name may be part of a secret.
    NoValue {
        option: Option<String>,
    },
    OptionEncoding,
    ValueEncoding {
        option: String,
    },
    Repeated {
        option: String,
    },
    TlsAndSsl,
    NotInTxtRecord {
        option: String,
    },
    EmptyAuthSource,
    /// Two options that cannot be used together.
    Conflict(&'static str, &'static str),
    NoProxyHost,
    ProxyHost,
    ProxyPort,
    ProxyCredentials,
    /// `limit` is in bytes.
    TooLong {
        option: &'static str,
        limit: usize,
    },
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoScheme => f.write_str("it must begin with mongodb:// or mongodb+srv://"),
            Self::NotPercentEncoded => write!(f, "{ADVICE} if they contain any of : / ? # [ ] @"),
            Self::EmptyUsername => f.write_str("the user name is empty"),
            Self::MalformedEscape { part } => {
                write!(f, "{ADVICE}; the {part} has a '%' without two hexadecimal digits")
            }
            Self::NoHost => f.write_str("it has no host"),
            Self::EmptyHost => f.write_str("a host is empty: check the commas"),
            Self::InvalidHost {
                name,
                reason,
                has_colon,
            } => {
                write!(f, "{name} is invalid: {reason}")?;
                if *has_colon {
                    f.write_str("; after a user name and password, write '@' and the host")?;
                }
                Ok(())
            }
            Self::SrvHosts => f.write_str("mongodb+srv takes exactly one host name"),
            Self::SrvPort => f.write_str("mongodb+srv takes a host name without port"),
            Self::DatabaseEncoding => f.write_str("the database name is not percent-encoded correctly"),
            Self::DatabaseCharacter(character) => {
                write!(f, "the database name must not contain {character:?}")
            }
            Self::ControlCharacter(character) => write!(
                f,
                "it contains the control character {character:?}; percent-encode one that belongs to a password"
            ),
            Self::ControlCharacterIn { option } => {
                write!(
                    f,
                    "the value of {option:?} contains a control character, such as a line break"
                )
            }
            Self::NoValue { option: Some(option) } => {
                write!(f, "the option \"{option}\" has no value: write {option}=…")
            }
            Self::NoValue { option: None } => f.write_str(
                "an option has no value; percent-encode '&' and ';' in passwords and other values",
            ),
            Self::OptionEncoding => f.write_str("the name of an option is not percent-encoded correctly"),
            Self::ValueEncoding { option } => {
                write!(f, "the value of {option} is not percent-encoded correctly")
            }
            Self::Repeated { option } => write!(f, "{option} is given more than once"),
            Self::TlsAndSsl => f.write_str("tls and ssl contradict each other"),
            Self::NotInTxtRecord { option } => write!(
                f,
                "{option} is not allowed there: only authSource, replicaSet and loadBalanced are"
            ),
            Self::EmptyAuthSource => f.write_str("authSource is empty"),
            Self::Conflict(a, b) => write!(f, "{a} and {b} cannot both be given"),
            Self::NoProxyHost => f.write_str("proxyPort, proxyUsername and proxyPassword need proxyHost"),
            Self::ProxyHost => {
                f.write_str("proxyHost must be a host name or an address; the port goes into proxyPort")
            }
            Self::ProxyPort => f.write_str("proxyPort must be a number from 1 to 65535"),
            Self::ProxyCredentials => f.write_str("proxyUsername and proxyPassword must both be given"),
            Self::TooLong { option, limit } => write!(f, "{option} must be at most {limit} bytes long"),
        }
    }
}

/// How an error refers to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostName {
    /// The text before the first `:`.
    Quoted(String),
    /// The position in the list, from 1: the text may be a password.
    Position(usize),
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quoted(name) => write!(f, "the host {name:?}"),
            Self::Position(position) => write!(f, "host {position} of the list"),
        }
    }
}

/// The reason why a host is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostProblem {
    Encoding,
    SocketPath,
    Address(AddressProblem),
}

impl fmt::Display for HostProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encoding => f.write_str("it has a '%' without two hexadecimal digits, or is not UTF-8"),
            Self::SocketPath => f.write_str("the path of a Unix domain socket must end in .sock"),
            Self::Address(problem) => problem.fmt(f),
        }
    }
}

/// What is wrong with the list `authMechanismProperties`. Positions count from 1; names and values can be secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PropertiesProblem {
    Empty { position: usize },
    NoColon { position: usize },
    NoName { position: usize },
    Repeated { position: usize },
}

impl fmt::Display for PropertiesProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { position } => write!(f, "property {position} is empty: check the commas"),
            Self::NoColon { position } => write!(f, "property {position} has no colon"),
            Self::NoName { position } => write!(f, "property {position} has no name before its colon"),
            Self::Repeated { position } => write!(f, "the name of property {position} is given twice"),
        }
    }
}

/// A credential does not fit its mechanism.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CredentialError {
    Missing {
        mechanism: &'static str,
        part: &'static str,
    },
    Forbidden {
        mechanism: &'static str,
        part: &'static str,
    },
    AuthSource {
        mechanism: &'static str,
    },
    EmptyAuthSource,
    /// The `authMechanismProperties` of the connection string.
    Properties(PropertiesProblem),
    /// In the user name or password of `PLAIN`.
    Nul,
    /// The name has blanks around it.
    BlankInProperty(&'static str),
    /// `None`: the name may be part of a secret.
    UnknownProperty {
        mechanism: &'static str,
        property: Option<&'static str>,
        known: &'static [&'static str],
    },
    RepeatedProperty(&'static str),
    PropertyValue {
        property: &'static str,
        expected: &'static str,
    },
    /// A callback, a provider or an option of another mechanism.
    OtherMechanism {
        part: &'static str,
        mechanism: &'static str,
    },
    NoEnvironment,
    /// Two of the parts that name the source of tokens.
    OidcSources(&'static str, &'static str),
    AllowedHosts,
    OidcUsername,
    NoTokenResource,
    TokenResource,
}

impl fmt::Display for CredentialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { mechanism, part } => write!(f, "authentication by {mechanism} needs {part}"),
            Self::Forbidden { mechanism, part } => {
                write!(f, "authentication by {mechanism} must not have {part}")?;
                if *mechanism == "MONGODB-AWS" {
                    f.write_str(
                        ": the credentials are those of environment variables, of a web identity, of a container or EC2, or of \
                         an AwsCredentialProvider",
                    )?;
                }
                Ok(())
            }
            Self::AuthSource { mechanism } => write!(
                f,
                "authentication by {mechanism} takes no authSource but {EXTERNAL}"
            ),
            Self::EmptyAuthSource => f.write_str("authSource is empty"),
            Self::Properties(problem) => write!(
                f,
                "authMechanismProperties in the connection string is invalid: {problem}; write NAME:value,NAME:value, and set \
                 values with a comma in Credential::mechanism_properties instead"
            ),
            Self::Nul => f.write_str(
                "the user name and the password of PLAIN must not contain the character NUL (RFC 4616)",
            ),
            Self::BlankInProperty(property) => write!(
                f,
                "the name of the property {property} has blanks around it: remove them, also after commas"
            ),
            Self::UnknownProperty {
                mechanism,
                property: Some(property),
                ..
            } => write!(f, "authentication by {mechanism} has no property {property}"),
            Self::UnknownProperty { mechanism, known, .. } => {
                let known = match known {
                    [] => "none".to_owned(),
                    known => known.join(", "),
                };
                write!(
                    f,
                    "authentication by {mechanism} has no such property; it has {known}"
                )
            }
            Self::RepeatedProperty(property) => write!(f, "the property {property} is given twice"),
            Self::PropertyValue { property, expected } => {
                write!(f, "the property {property} must be {expected}")
            }
            Self::OtherMechanism { part, mechanism } => {
                write!(f, "{part} needs authMechanism={mechanism}")
            }
            Self::NoEnvironment => {
                f.write_str("authentication by MONGODB-OIDC needs the property ENVIRONMENT or a callback")
            }
            Self::OidcSources(a, b) => {
                write!(f, "authentication by MONGODB-OIDC takes {a} or {b}, not both")
            }
            Self::AllowedHosts => {
                f.write_str("allowed_hosts (ALLOWED_HOSTS) needs the human callback of MONGODB-OIDC")
            }
            Self::OidcUsername => f.write_str(
                "MONGODB-OIDC takes a user name only with a callback and in the environment azure",
            ),
            Self::NoTokenResource => {
                f.write_str("the environments azure and gcp need the property TOKEN_RESOURCE")
            }
            Self::TokenResource => {
                f.write_str("the property TOKEN_RESOURCE is allowed in the environments azure and gcp only")
            }
        }
    }
}
