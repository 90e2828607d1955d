//! Credentials ([Authentication]).
//!
//! [Authentication]:
//! https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

use std::{collections::BTreeMap, fmt};

use super::{OidcCallback, error::PropertiesProblem};
#[cfg(feature = "aws-auth")]
use crate::types::aws_credentials::AwsCredentialProvider;
use crate::types::secret::Secret;

/// An authentication mechanism.
///
/// Creating a client with `MONGODB-AWS` without the feature `aws-auth`, or with `GSSAPI` without the
/// feature `gssapi`, fails with [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuthMechanism {
    /// `SCRAM-SHA-1`: user name and password, with SHA-1.
    ScramSha1,
    /// `SCRAM-SHA-256`: user name and password, with SHA-256.
    ScramSha256,
    /// `MONGODB-X509`: the client certificate in
    /// [`certificate_key_file`](super::TlsOptions::certificate_key_file).
    MongoDbX509,
    /// `PLAIN`: user name and password, for LDAP. The password is sent without encryption unless
    /// `tls=true`.
    Plain,
    /// `GSSAPI`: Kerberos (MongoDB Enterprise). Needs the feature `gssapi`, and the
    /// Kerberos library of the system: see [`Credential`].
    Gssapi,
    /// `MONGODB-AWS`: credentials of AWS IAM (MongoDB Atlas). Needs the feature `aws-auth`. The
    /// credentials come from an `AwsCredentialProvider`, or else from the environment: see
    /// [`Credential`].
    MongoDbAws,
    /// `MONGODB-OIDC`: access tokens of OpenID Connect (MongoDB 7.0+, Enterprise and Atlas). The
    /// tokens come from an [`OidcCallback`], or from the environment: see [`Credential`]. A token is
    /// sent without encryption unless `tls=true`.
    MongoDbOidc,
}

impl AuthMechanism {
    /// The names of all mechanisms, for the text of an error.
    pub(crate) const NAMES: &str =
        "SCRAM-SHA-1, SCRAM-SHA-256, MONGODB-X509, PLAIN, GSSAPI, MONGODB-AWS or MONGODB-OIDC";

    /// The mechanism as `authMechanism` spells it.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::ScramSha1 => "SCRAM-SHA-1",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::MongoDbX509 => "MONGODB-X509",
            Self::Plain => "PLAIN",
            Self::Gssapi => "GSSAPI",
            Self::MongoDbAws => "MONGODB-AWS",
            Self::MongoDbOidc => "MONGODB-OIDC",
        }
    }

    /// Whether the users are outside the server: `authSource` is always `$external`.
    pub(crate) fn is_external(&self) -> bool {
        match self {
            Self::Gssapi | Self::MongoDbX509 | Self::MongoDbAws | Self::MongoDbOidc => true,
            Self::ScramSha1 | Self::ScramSha256 | Self::Plain => false,
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [
            Self::ScramSha1,
            Self::ScramSha256,
            Self::MongoDbX509,
            Self::Plain,
            Self::Gssapi,
            Self::MongoDbAws,
            Self::MongoDbOidc,
        ]
        .into_iter()
        .find(|mechanism| mechanism.as_str() == text)
    }
}

/// User name, password and mechanism. `Debug` prints neither the password nor the properties of the
/// mechanism.
///
/// Every connection of a pool authenticates after its handshake, within `connectTimeoutMS`;
/// connections of monitors do not authenticate. Without a mechanism, SCRAM-SHA-256 is used if the
/// server supports it for the user, and SCRAM-SHA-1 otherwise. If authentication fails, the
/// operation fails with [`ErrorKind::Authentication`](crate::ErrorKind::Authentication).
///
/// A credential that lacks a part that its mechanism requires, or has one that it does not allow,
/// is an [`InvalidArgument`](crate::ErrorKind::InvalidArgument) error when the client is created.
///
/// ```
/// use marula_driver::options::{ClientOptions, Credential};
///
/// let mut options = ClientOptions::parse("mongodb://db1.example.com")?;
/// let mut credential = Credential::default().with_password("correct horse");
/// credential.username = Some("ada".to_owned());
/// options.credential = Some(credential);
/// # Ok::<(), marula_driver::Error>(())
/// ```
///
/// # OpenID Connect
///
/// `MONGODB-OIDC` needs either a callback or the property `ENVIRONMENT`. In the *machine flow*, a
/// [callback](Self::with_oidc_callback) obtains the access token, or one of these environments
/// provides it:
///
/// | `ENVIRONMENT` | token | other parts |
/// |---|---|---|
/// | `azure` | from the Azure Instance Metadata Service | `TOKEN_RESOURCE` (required): the audience; user name: the client id of a managed identity |
/// | `gcp` | from the metadata server of Google Cloud | `TOKEN_RESOURCE` (required): the audience |
/// | `k8s` | the file that `AZURE_FEDERATED_TOKEN_FILE` or else `AWS_WEB_IDENTITY_TOKEN_FILE` names, or else that of the service account | none |
/// | `test` | the file that `OIDC_TOKEN_FILE` names | none |
///
/// A `TOKEN_RESOURCE` that contains a comma cannot be part of a connection string; set it in
/// [`mechanism_properties`](Self::mechanism_properties). In the *human flow*, a
/// [callback](Self::with_oidc_human_callback) lets a person sign in.
///
/// ```
/// use marula_driver::options::{ClientOptions, Credential, OidcCallback, OidcCredential};
///
/// let mut options = ClientOptions::parse("mongodb://db1.example.com/?tls=true")?;
/// let callback = OidcCallback::new(|_| async { Ok(OidcCredential::new(token().await?)) });
/// options.credential = Some(Credential::default().with_oidc_callback(callback));
/// # async fn token() -> Result<String, std::io::Error> { Ok(String::new()) }
/// # Ok::<(), marula_driver::Error>(())
/// ```
///
/// The tokens are cached for all connections of a client. When the server requires
/// reauthentication, the connection is authenticated with another token, and the command is sent
/// again.
///
/// # AWS
///
/// `MONGODB-AWS` allows neither a user name nor a password. The credentials are those of the first
/// source that has them:
///
/// 1. the provider of the application (`with_aws_credential_provider`);
/// 2. the environment variables `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and, optional,
///    `AWS_SESSION_TOKEN`;
/// 3. `AssumeRoleWithWebIdentity`, if `AWS_WEB_IDENTITY_TOKEN_FILE` and `AWS_ROLE_ARN` are set;
///    `AWS_ROLE_SESSION_NAME` is the name of its session;
/// 4. the endpoint of the container: the path `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` of ECS, or else the
///    URL `AWS_CONTAINER_CREDENTIALS_FULL_URI` (EKS Pod Identity, Greengrass), which must be one of
///    `https`, of a loopback address, or of `169.254.170.2`, `169.254.170.23` or `[fd00:ec2::23]`. The
///    content of the file `AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE`, which is read for each request, or
///    else the value of `AWS_CONTAINER_AUTHORIZATION_TOKEN` is the header field `Authorization`;
/// 5. the EC2 Instance Metadata Service, version 2.
///
/// The variables are read for each connection. Credentials of the last three sources are cached for
/// the process until five minutes before they expire, or until authentication fails. The cache
/// distinguishes the sources: roles and token files, URLs and authorization tokens. While credentials of
/// a source are cached, the variables of the second source are not used instead. The credentials of a
/// provider are cached for its client. The shared files of the AWS SDKs are not read.
///
/// # Kerberos
///
/// `GSSAPI` needs the principal of the user as user name, e.g. `ada@EXAMPLE.COM`; in a connection
/// string, `@` and `/` in it are written as `%40` and `%2F`. The Kerberos library of the system (MIT
/// or Heimdal) is linked, and reads its own files and environment variables: `KRB5_CONFIG`,
/// `KRB5CCNAME` and `KRB5_CLIENT_KTNAME`. Without a password, it uses the ticket of the user in the
/// ticket cache, which `kinit` writes, or obtains one with the key of the user in the keytab. With a
/// password, it obtains a ticket for each connection, and writes no file.
///
/// The server must prove that it has the key of the service
/// `SERVICE_NAME/host@SERVICE_REALM`, which these properties determine:
///
/// | property | value | default |
/// |---|---|---|
/// | `SERVICE_NAME` | the name of the service; the option `gssapiServiceName` of connection strings is a deprecated alias | `mongodb` |
/// | `SERVICE_REALM` | the realm of the service | the Kerberos library determines it: by `domain_realm` of its configuration, or it asks the KDC of the user |
/// | `SERVICE_HOST` | the host of the service, for all servers | the host of the server, as the next property says |
/// | `CANONICALIZE_HOST_NAME` | `none` or `false`: the host as the client knows it (see below); `forward`: the name at the end of its CNAME records; `forwardAndReverse` or `true`: the name of the PTR record of its first address, or else as `forward` | `none` |
///
/// Host names are looked up by the name servers in fully qualified form. If a lookup fails, the host
/// is not changed. Without `SERVICE_REALM`, the Kerberos library may then replace the host by its canonical
/// name, whatever `CANONICALIZE_HOST_NAME` says: that of MIT does so by default, also by the PTR records of its
/// address. Errors name the host before this. If these names are not those of the service, set
/// `rdns = false` (no PTR records) or `dns_canonicalize_hostname = false` (neither) in the section
/// `[libdefaults]` of krb5.conf, or `SERVICE_REALM`, with which the host is used as it is.
///
/// ```
/// use marula_driver::options::{AuthMechanism, Credential};
///
/// let mut credential = Credential::default();
/// credential.mechanism = Some(AuthMechanism::Gssapi);
/// credential.username = Some("ada@EXAMPLE.COM".to_owned());
/// let properties = &mut credential.mechanism_properties;
/// properties.insert("SERVICE_REALM".to_owned(), "SERVERS.EXAMPLE.COM".to_owned());
/// ```
///
/// The library blocks a thread for blocking tasks of tokio while it waits for the key distribution
/// center. Time limits apply to the connection, but do not end a call of the library, which ends by
/// the library's own limits; dropping the runtime waits for that. MIT Kerberos can abort a process that
/// ends during a call. What failed is described by
/// [`AuthenticationFailure::Kerberos`](crate::AuthenticationFailure::Kerberos).
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Credential {
    /// The user name. Required by SCRAM and PLAIN, and by GSSAPI the principal. Optional for X.509: the server uses the
    /// subject of the client certificate. For OIDC: passed to the callback, or the client id of a
    /// managed identity of Azure. Not allowed for AWS and the other environments of OIDC.
    pub username: Option<String>,
    /// `authSource`: the database in which the user is defined. `None`: for SCRAM the database in
    /// the connection string, or `admin`; for PLAIN the database in the connection string, or
    /// `$external`; for other mechanisms `$external`, which is the only value that they allow.
    pub source: Option<String>,
    /// `authMechanism`. `None`: negotiated, SCRAM-SHA-256 or SCRAM-SHA-1.
    pub mechanism: Option<AuthMechanism>,
    /// `authMechanismProperties`. Names are case-insensitive. `MONGODB-OIDC` has `ENVIRONMENT` and
    /// `TOKEN_RESOURCE`, `GSSAPI` has `SERVICE_NAME`, `SERVICE_REALM`, `SERVICE_HOST` and
    /// `CANONICALIZE_HOST_NAME`; a property that a mechanism does not have is an error. If those in a
    /// connection string are malformed, they are ignored with a warning; creating a client fails then
    /// if the mechanism has properties, unless they are set here or OIDC has a callback. A comma at
    /// the end and a repeated pair are only warnings. Default: none.
    pub mechanism_properties: BTreeMap<String, String>,
    /// `ALLOWED_HOSTS`: the hosts that the human flow of `MONGODB-OIDC` sends tokens to, without
    /// port. `*.` at the start stands for any subdomain. An empty list allows no host. Only with a
    /// [human callback](Self::with_oidc_human_callback). `None`: `*.mongodb.net`,
    /// `*.mongodb-qa.net`, `*.mongodb-dev.net`, `*.mongodbgov.net`, `*.mongo.com`, `localhost`,
    /// `127.0.0.1` and `::1`.
    pub allowed_hosts: Option<Vec<String>>,
    pub(crate) oidc_callback: Option<OidcCallback>,
    pub(crate) oidc_human_callback: Option<OidcCallback>,
    #[cfg(feature = "aws-auth")]
    pub(crate) aws_credential_provider: Option<AwsCredentialProvider>,
    password: Option<Secret>,
    /// What is wrong with `authMechanismProperties` in the connection string, which are ignored then.
    pub(super) ignored_properties: Option<PropertiesProblem>,
}

impl Credential {
    /// Sets the password. It cannot be read back. Required by SCRAM and PLAIN, optional for GSSAPI,
    /// not allowed for other mechanisms.
    #[must_use]
    pub fn with_password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(Secret::new(password));
        self
    }

    /// `OIDC_CALLBACK`: sets the callback of the machine flow, and the mechanism `MONGODB-OIDC` if
    /// no mechanism is set. Not with the property `ENVIRONMENT` or a human callback.
    #[must_use]
    pub fn with_oidc_callback(mut self, callback: OidcCallback) -> Self {
        self.oidc_callback = Some(callback);
        self.mechanism.get_or_insert(AuthMechanism::MongoDbOidc);
        self
    }

    /// `OIDC_HUMAN_CALLBACK`: sets the callback of the human flow, which lets a person sign in at
    /// the identity provider that the server names, and the mechanism `MONGODB-OIDC` if no mechanism
    /// is set. The callback has five minutes; `connectTimeoutMS` and `timeoutMS` do not apply while
    /// it runs, but an operation that waits for the connection ends with its own time limit. Not
    /// with the property `ENVIRONMENT` or a machine callback.
    ///
    /// ```
    /// use marula_driver::options::{Credential, OidcCallback, OidcCredential};
    ///
    /// let callback = OidcCallback::new(|params| async move {
    ///     let provider = params.idp_info.as_ref().ok_or("no identity provider")?;
    ///     let (access, refresh) = sign_in(&provider.issuer, params.refresh_token()).await?;
    ///     Ok(OidcCredential::new(access).with_refresh_token(refresh))
    /// });
    /// let mut credential = Credential::default().with_oidc_human_callback(callback);
    /// credential.allowed_hosts = Some(vec!["*.db.example.com".to_owned()]);
    /// # async fn sign_in(_: &str, _: Option<&str>) -> Result<(String, String), std::io::Error> {
    /// #     Ok((String::new(), String::new()))
    /// # }
    /// ```
    #[must_use]
    pub fn with_oidc_human_callback(mut self, callback: OidcCallback) -> Self {
        self.oidc_human_callback = Some(callback);
        self.mechanism.get_or_insert(AuthMechanism::MongoDbOidc);
        self
    }

    /// `AWS_CREDENTIAL_PROVIDER`: obtains the credentials of `MONGODB-AWS` from this provider, before
    /// any other source, and sets the mechanism `MONGODB-AWS` if no mechanism is set. It is called
    /// for each connection, unless its credentials have an
    /// [expiration](super::AwsCredentials::with_expiration).
    ///
    /// ```
    /// use marula_driver::options::{AwsCredentialProvider, AwsCredentials, Credential};
    ///
    /// let provider = AwsCredentialProvider::new(|| async {
    ///     Ok(AwsCredentials::new("AKIA…", std::env::var("DB_SECRET")?))
    /// });
    /// let credential = Credential::default().with_aws_credential_provider(provider);
    /// ```
    #[cfg(feature = "aws-auth")]
    #[must_use]
    pub fn with_aws_credential_provider(mut self, provider: AwsCredentialProvider) -> Self {
        self.aws_credential_provider = Some(provider);
        self.mechanism.get_or_insert(AuthMechanism::MongoDbAws);
        self
    }

    #[cfg(feature = "aws-auth")]
    pub(super) fn has_aws_credential_provider(&self) -> bool {
        self.aws_credential_provider.is_some()
    }

    #[cfg(not(feature = "aws-auth"))]
    #[expect(clippy::unused_self, reason = "the twin reads a field")]
    pub(super) fn has_aws_credential_provider(&self) -> bool {
        false
    }

    pub(super) fn has_oidc_callback(&self) -> bool {
        self.oidc_callback.is_some() || self.oidc_human_callback.is_some()
    }

    /// The warning about properties without a mechanism and a user, which configure no credentials.
    pub(super) fn unused_properties(&self) -> Option<String> {
        const WARNING: &str = "authMechanismProperties has no effect: without a valid authMechanism and without a user \
                               name, connections are not authenticated";
        (!self.mechanism_properties.is_empty()).then(|| WARNING.to_owned())
    }

    /// Sets the property `SERVICE_NAME`, unless it is set.
    pub(super) fn set_service_name(&mut self, name: String) {
        const PROPERTY: &str = "SERVICE_NAME";
        let properties = &mut self.mechanism_properties;
        if !properties.keys().any(|key| key.eq_ignore_ascii_case(PROPERTY)) {
            properties.insert(PROPERTY.to_owned(), name);
        }
    }

    pub(crate) fn set_password(&mut self, password: Secret) {
        self.password = Some(password);
    }

    pub(crate) fn password(&self) -> Option<&Secret> {
        self.password.as_ref()
    }

    /// Whether a password is set.
    #[must_use]
    pub fn has_password(&self) -> bool {
        self.password.is_some()
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("username", &self.username)
            .field("source", &self.source)
            .field("mechanism", &self.mechanism)
            .field("password", &self.password)
            .field("allowed_hosts", &self.allowed_hosts)
            .field("oidc_callback", &self.oidc_callback)
            .field("oidc_human_callback", &self.oidc_human_callback)
            .finish_non_exhaustive()
    }
}
