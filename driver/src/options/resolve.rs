//! Defaults and validation of credentials for each mechanism ([Authentication], "Supported
//! Authentication Methods").
//!
//! [Authentication]:
//! https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

use std::collections::BTreeMap;

use super::{
    AuthMechanism, ClientOptions, Credential,
    error::{CredentialError, EXTERNAL},
};
use crate::{
    Error, Result,
    proto::auth::{Identity, Mechanism, OidcFlow, ScramHash},
    types::secret::Secret,
};

/// The default `authSource` of mechanisms with users inside the server.
const ADMIN: &str = "admin";

/// Whether a mechanism requires, allows or forbids a part of the credential.
#[derive(Clone, Copy, PartialEq)]
enum Requirement {
    Required,
    Optional,
    Forbidden,
}

/// The parts of a credential that a mechanism uses.
struct Rules {
    name: &'static str,
    username: Requirement,
    password: Requirement,
    properties: &'static [&'static str],
    /// `None`: users are always external, and no other source is allowed.
    default_source: Option<&'static str>,
}

impl Rules {
    fn of(mechanism: Option<&AuthMechanism>) -> Self {
        let name = mechanism.map_or("the default mechanism", AuthMechanism::as_str);
        let passwords = |default_source| Self {
            name,
            username: Requirement::Required,
            password: Requirement::Required,
            properties: &[],
            default_source: Some(default_source),
        };
        let external = |username, password, properties| Self {
            name,
            username,
            password,
            properties,
            default_source: None,
        };
        match mechanism {
            None | Some(AuthMechanism::ScramSha1 | AuthMechanism::ScramSha256) => passwords(ADMIN),
            Some(AuthMechanism::Plain) => passwords(EXTERNAL),
            Some(AuthMechanism::Gssapi) => external(
                Requirement::Required,
                Requirement::Optional,
                &[
                    "SERVICE_NAME",
                    "SERVICE_REALM",
                    "SERVICE_HOST",
                    "CANONICALIZE_HOST_NAME",
                ],
            ),
            Some(AuthMechanism::MongoDbX509) => external(Requirement::Optional, Requirement::Forbidden, &[]),
            Some(AuthMechanism::MongoDbAws) => external(Requirement::Forbidden, Requirement::Forbidden, &[]),
            Some(AuthMechanism::MongoDbOidc) => external(
                Requirement::Optional,
                Requirement::Forbidden,
                &["ENVIRONMENT", "TOKEN_RESOURCE"],
            ),
        }
    }
}

impl ClientOptions {
    /// The credential with all defaults applied.
    ///
    /// A connection string with a user name and without a password is valid. The credential is
    /// checked against its mechanism here, when a client is created.
    pub(crate) fn resolved_credential(&self) -> Result<Option<Credential>> {
        self.credential
            .as_ref()
            .map(|given| {
                let mut given = given.clone();
                // That of the connection string is also for a credential that the application sets.
                if given.source.is_none() && !given.mechanism.as_ref().is_some_and(AuthMechanism::is_external)
                {
                    given.source.clone_from(&self.auth_source);
                }
                resolve(&given, self.default_database.as_deref())
            })
            .transpose()
            .map_err(Error::invalid_argument)
    }

    /// The identity that the connections of a client authenticate as.
    pub(crate) fn identity(&self) -> Result<Option<Identity>> {
        // First: the parts of a credential are of no use to a mechanism without implementation.
        let given = self.credential.as_ref();
        if self.ignored_mechanism && given.is_none_or(|credential| credential.mechanism.is_none()) {
            return Err(Error::invalid_argument(format!(
                "the authMechanism of the connection string is unknown, so that connections would be authenticated in \
                 another way, or not at all; write {}, or leave the option out",
                AuthMechanism::NAMES
            )));
        }
        let mechanism = given
            .and_then(|credential| Some((credential.mechanism.as_ref()?, credential)))
            .map(|(mechanism, credential)| implementation(mechanism, credential))
            .transpose()?;
        let Some(credential) = self.resolved_credential()? else {
            return Ok(None);
        };
        Ok(Some(Identity {
            mechanism,
            password: credential.password().cloned(),
            source: credential.source.unwrap_or_else(|| ADMIN.to_owned()),
            username: credential.username,
        }))
    }
}

/// The implementation of the mechanism.
fn implementation(mechanism: &AuthMechanism, credential: &Credential) -> Result<Mechanism> {
    match mechanism {
        AuthMechanism::ScramSha1 => Ok(Mechanism::Scram(ScramHash::Sha1)),
        AuthMechanism::ScramSha256 => Ok(Mechanism::Scram(ScramHash::Sha256)),
        AuthMechanism::MongoDbX509 => Ok(Mechanism::X509),
        AuthMechanism::Plain => Ok(Mechanism::Plain),
        AuthMechanism::MongoDbOidc => Ok(Mechanism::Oidc(match credential.oidc_human_callback {
            Some(_) => OidcFlow::Human,
            None => OidcFlow::Machine,
        })),
        #[cfg(feature = "aws-auth")]
        AuthMechanism::MongoDbAws => Ok(Mechanism::Aws),
        #[cfg(not(feature = "aws-auth"))]
        AuthMechanism::MongoDbAws => Err(Error::unsupported(
            "authMechanism=MONGODB-AWS needs the feature `aws-auth` of marula-driver",
        )),
        #[cfg(all(feature = "gssapi", unix))]
        AuthMechanism::Gssapi => Ok(Mechanism::Gssapi),
        #[cfg(all(feature = "gssapi", not(unix)))]
        AuthMechanism::Gssapi => Err(Error::unsupported(
            "authMechanism=GSSAPI is supported on Unix platforms only",
        )),
        #[cfg(not(feature = "gssapi"))]
        AuthMechanism::Gssapi => Err(Error::unsupported(
            "authMechanism=GSSAPI needs the feature `gssapi` of marula-driver",
        )),
    }
}

fn resolve(
    given: &Credential,
    default_database: Option<&str>,
) -> std::result::Result<Credential, CredentialError> {
    let rules = Rules::of(given.mechanism.as_ref());
    // The application may have replaced the properties or the mechanism, and callbacks of OIDC replace its properties.
    if let Some(problem) = given.ignored_properties
        && given.mechanism_properties.is_empty()
        && !rules.properties.is_empty()
        && !given.has_oidc_callback()
    {
        return Err(CredentialError::Properties(problem));
    }
    let name = rules.name;
    let mut credential = given.clone();
    let has_name = given
        .username
        .as_ref()
        .is_some_and(|username| !username.is_empty());
    for (what, want, given) in [
        ("a user name", rules.username, has_name),
        ("a password", rules.password, given.has_password()),
    ] {
        match want {
            Requirement::Required if !given => {
                return Err(CredentialError::Missing {
                    mechanism: name,
                    part: what,
                });
            }
            Requirement::Forbidden if given => {
                return Err(CredentialError::Forbidden {
                    mechanism: name,
                    part: what,
                });
            }
            _ => {}
        }
    }
    // NUL separates the parts of the message (RFC 4616).
    let password = given.password().map_or("", Secret::expose);
    if given.mechanism == Some(AuthMechanism::Plain)
        && [given.username.as_deref().unwrap_or_default(), password]
            .iter()
            .any(|part| part.contains('\0'))
    {
        return Err(CredentialError::Nul);
    }
    match (rules.default_source, &given.source) {
        (None, Some(source)) if source != EXTERNAL => {
            return Err(CredentialError::AuthSource { mechanism: name });
        }
        (None, _) => credential.source = Some(EXTERNAL.to_owned()),
        (_, Some(source)) if source.is_empty() => return Err(CredentialError::EmptyAuthSource),
        (_, Some(_)) => {}
        (Some(default), None) => credential.source = Some(default_database.unwrap_or(default).to_owned()),
    }
    credential.mechanism_properties = properties(given, &rules)?;
    check_owner(given)?;
    match given.mechanism {
        Some(AuthMechanism::Gssapi) => complete_gssapi(&mut credential.mechanism_properties)?,
        Some(AuthMechanism::MongoDbOidc) => check_oidc(&credential)?,
        _ => {}
    }
    Ok(credential)
}

/// The properties of all mechanisms, in the spelling of the specification.
const PROPERTIES: [&str; 8] = [
    "ALLOWED_HOSTS",
    "AWS_SESSION_TOKEN",
    "CANONICALIZE_HOST_NAME",
    "ENVIRONMENT",
    "SERVICE_HOST",
    "SERVICE_NAME",
    "SERVICE_REALM",
    "TOKEN_RESOURCE",
];

/// The properties with the names of the specification. The names given are compared without regard
/// to case.
fn properties(
    given: &Credential,
    rules: &Rules,
) -> std::result::Result<BTreeMap<String, String>, CredentialError> {
    let mut properties = BTreeMap::new();
    for (key, value) in &given.mechanism_properties {
        let known = rules
            .properties
            .iter()
            .find(|known| known.eq_ignore_ascii_case(key));
        let Some(known) = known else {
            let mut blank = PROPERTIES.into_iter().filter(|_| key.trim() != key);
            if let Some(property) = blank.find(|known| known.eq_ignore_ascii_case(key.trim())) {
                return Err(CredentialError::BlankInProperty(property));
            }
            // An unknown name may be part of a secret that contains a comma.
            let name = PROPERTIES.iter().find(|known| known.eq_ignore_ascii_case(key));
            return Err(CredentialError::UnknownProperty {
                mechanism: rules.name,
                property: name.copied(),
                known: rules.properties,
            });
        };
        if properties.insert((*known).to_owned(), value.clone()).is_some() {
            return Err(CredentialError::RepeatedProperty(known));
        }
    }
    Ok(properties)
}

fn complete_gssapi(properties: &mut BTreeMap<String, String>) -> std::result::Result<(), CredentialError> {
    properties
        .entry("SERVICE_NAME".to_owned())
        .or_insert_with(|| "mongodb".to_owned());
    for property in ["SERVICE_NAME", "SERVICE_REALM", "SERVICE_HOST"] {
        let value = properties.get(property);
        if value.is_some_and(|value| value.is_empty() || value.contains('\0')) {
            return Err(CredentialError::PropertyValue {
                property,
                expected: "a text without NUL that is not empty",
            });
        }
    }
    match properties.get("CANONICALIZE_HOST_NAME").map(String::as_str) {
        None | Some("none" | "forward" | "forwardAndReverse" | "true" | "false") => Ok(()),
        Some(_) => Err(CredentialError::PropertyValue {
            property: "CANONICALIZE_HOST_NAME",
            expected: "none, forward, forwardAndReverse, true or false",
        }),
    }
}

/// Rejects callbacks and providers of other mechanisms.
fn check_owner(credential: &Credential) -> std::result::Result<(), CredentialError> {
    let callback = credential.has_oidc_callback();
    let provider = credential.has_aws_credential_provider();
    for (part, is_given, owner) in [
        ("a callback of OIDC", callback, AuthMechanism::MongoDbOidc),
        (
            "allowed_hosts (ALLOWED_HOSTS)",
            credential.allowed_hosts.is_some(),
            AuthMechanism::MongoDbOidc,
        ),
        (
            "a provider of AWS credentials",
            provider,
            AuthMechanism::MongoDbAws,
        ),
    ] {
        if is_given && credential.mechanism.as_ref() != Some(&owner) {
            let mechanism = owner.as_str();
            return Err(CredentialError::OtherMechanism { part, mechanism });
        }
    }
    Ok(())
}

fn check_oidc(credential: &Credential) -> std::result::Result<(), CredentialError> {
    let property = |name| credential.mechanism_properties.get(name).map(String::as_str);
    let environment = property("ENVIRONMENT");
    let resource = property("TOKEN_RESOURCE");
    let has_resource = resource.is_some_and(|resource| !resource.is_empty());
    let sources = [
        (environment.is_some(), "the property ENVIRONMENT"),
        (
            credential.oidc_callback.is_some(),
            "a callback of the machine flow",
        ),
        (
            credential.oidc_human_callback.is_some(),
            "a callback of the human flow",
        ),
    ];
    let mut given = sources.iter().filter(|(is_given, _)| *is_given);
    if let (Some((_, a)), Some((_, b))) = (given.next(), given.next()) {
        return Err(CredentialError::OidcSources(a, b));
    }
    let has_callback = credential.has_oidc_callback();
    if credential.allowed_hosts.is_some() && credential.oidc_human_callback.is_none() {
        return Err(CredentialError::AllowedHosts);
    }
    let (takes_name, takes_resource) = match environment {
        None if has_callback => (true, false),
        Some("azure") => (true, true),
        Some("gcp") => (false, true),
        Some("test" | "k8s") => (false, false),
        Some(_) => {
            return Err(CredentialError::PropertyValue {
                property: "ENVIRONMENT",
                expected: "test, azure, gcp or k8s",
            });
        }
        None => return Err(CredentialError::NoEnvironment),
    };
    if credential.username.is_some() && !takes_name {
        return Err(CredentialError::OidcUsername);
    }
    match (takes_resource, resource) {
        (true, _) if !has_resource => Err(CredentialError::NoTokenResource),
        (false, Some(_)) => Err(CredentialError::TokenResource),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
