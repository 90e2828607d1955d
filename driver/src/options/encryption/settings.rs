//! The options that explicit and automatic encryption share.

use super::{Duration, KmsConnect, KmsProviders, PathBuf};
use crate::{Error, Namespace, Result, options::TlsOptions, types::aws_credentials::AwsCredentialProvider};

/// The options that explicit and automatic encryption share.
#[derive(Clone, Debug)]
pub(crate) struct EncryptionSettings {
    key_vault_namespace: String,
    pub(crate) providers: KmsProviders,
    /// By the name of the provider.
    pub(crate) tls: Vec<(String, TlsOptions)>,
    /// By the name of the provider.
    pub(crate) allowed_hosts: Vec<(String, Vec<String>)>,
    pub(crate) key_expiration: Option<Duration>,
    pub(crate) connect: Option<KmsConnect>,
    pub(crate) aws_credentials: Option<AwsCredentialProvider>,
    pub(crate) library: Option<PathBuf>,
}

impl EncryptionSettings {
    pub(crate) fn new(key_vault_namespace: String, providers: KmsProviders) -> Self {
        Self {
            key_vault_namespace,
            providers,
            tls: Vec::new(),
            allowed_hosts: Vec::new(),
            key_expiration: None,
            connect: None,
            aws_credentials: None,
            library: None,
        }
    }

    /// Sets the TLS options of a provider.
    pub(crate) fn set_tls(&mut self, provider: String, options: TlsOptions) {
        self.tls.retain(|(name, _)| *name != provider);
        self.tls.push((provider, options));
    }

    /// Sets the hosts of a provider that requests may be sent to.
    pub(crate) fn set_allowed_hosts(&mut self, provider: String, hosts: Vec<String>) {
        self.allowed_hosts.retain(|(name, _)| *name != provider);
        self.allowed_hosts.push((provider, hosts));
    }

    /// The collection with the keys.
    ///
    /// # Errors
    /// The namespace is not `database.collection`.
    pub(crate) fn key_vault(&self) -> Result<Namespace> {
        Namespace::parse(&self.key_vault_namespace).ok_or_else(|| {
            Error::invalid_argument(format!(
                "the namespace of the key vault must be \"database.collection\", found {:?}",
                self.key_vault_namespace
            ))
        })
    }

    /// Checks the options that libmongocrypt does not check.
    ///
    /// # Errors
    /// A document could not be encoded, TLS options of a provider disable checks, or there are two sources of AWS
    /// credentials.
    pub(crate) fn validate(&self) -> Result<()> {
        self.providers.check()?;
        for (provider, tls) in &self.tls {
            validate_tls(provider, tls)?;
        }
        if self.aws_credentials.is_some() && !self.providers.is_on_demand("aws") {
            return Err(Error::invalid_argument(
                "a provider of AWS credentials requires that the KMS provider \"aws\" is an empty document, so that \
                 credentials have one source; remove the credentials or the provider",
            ));
        }
        Ok(())
    }
}

/// Rejects TLS options that disable TLS or its checks ("KMS provider TLS options").
fn validate_tls(provider: &str, tls: &TlsOptions) -> Result<()> {
    let reject = |why: &str| {
        Err(Error::invalid_argument(format!(
            "the TLS options of the KMS provider {provider:?}: {why}"
        )))
    };
    if tls.enabled == Some(false) {
        return reject("TLS is required");
    }
    for (option, name) in [
        (tls.insecure, "tlsInsecure"),
        (tls.allow_invalid_certificates, "tlsAllowInvalidCertificates"),
        (tls.allow_invalid_hostnames, "tlsAllowInvalidHostnames"),
        (
            tls.disable_certificate_revocation_check,
            "tlsDisableCertificateRevocationCheck",
        ),
    ] {
        if option == Some(true) {
            return reject(&format!("Insecure TLS options prohibited: {name}"));
        }
    }
    Ok(())
}

/// The setters of these options, for a type with the field `settings`.
macro_rules! settings_setters {
    () => {
        /// The TLS options of the connections to a provider, e.g. the client certificate that a KMIP server requires:
        /// `tlsCAFile`, `tlsCertificateKeyFile`, its password, and `tlsDisableOCSPEndpointCheck`. Options that disable
        /// TLS or checks are rejected. Default: the trusted authorities of the system, without a client certificate.
        pub fn kms_tls(mut self, provider: impl Into<String>, options: crate::options::TlsOptions) -> Self {
            self.settings.set_tls(provider.into(), options);
            self
        }

        /// The hosts that requests to this provider may be sent to. Requests contain access tokens of the provider, or are
        /// sent with the client certificate, and a client that can write to the key vault can change the host in a stored key. A
        /// pattern that begins with `*.` stands for all hosts below that domain. Default: the services of the providers, e.g.
        /// `kms.<region>.amazonaws.com`, `<name>.vault.azure.net` and `cloudkms.googleapis.com`; none of `kmip`. The
        /// endpoints that the document of the provider contains, and those of the master keys that this object was given,
        /// are permitted too.
        ///
        /// A key with another host fails with [`EncryptionError::KmsHostNotAllowed`](crate::EncryptionError::KmsHostNotAllowed).
        pub fn kms_allowed_hosts(
            mut self,
            provider: impl Into<String>,
            hosts: impl IntoIterator<Item = impl Into<String>>,
        ) -> Self {
            let hosts = hosts.into_iter().map(Into::into).collect();
            self.settings.set_allowed_hosts(provider.into(), hosts);
            self
        }

        /// `keyExpirationMS`: how long decrypted data keys are cached, in whole milliseconds. Zero means indefinitely.
        /// Default: 60 s.
        pub fn key_expiration(mut self, time: std::time::Duration) -> Self {
            self.settings.key_expiration = Some(time);
            self
        }

        /// `kmsConnectCallback`: opens the connections to key management services, e.g. through an HTTP proxy. The driver
        /// performs TLS over the stream, with the name of the service. Default: connects to the service.
        pub fn kms_connect(mut self, connect: KmsConnect) -> Self {
            self.settings.connect = Some(connect);
            self
        }

        /// `credentialProviders.aws`: returns AWS credentials when they are needed, in place of the environment of the
        /// process. Requires the KMS provider `aws` with an empty document. It must return within the time limit of the
        /// operation, or within 60 s if there is none. Default: the environment.
        pub fn aws_credentials(mut self, provider: AwsCredentialProvider) -> Self {
            self.settings.aws_credentials = Some(provider);
            self
        }

        /// The path of libmongocrypt, or of the folder that contains it. Default: the environment variable
        /// `MONGOCRYPT_LIB_PATH`, or else where the system's loader looks.
        pub fn library_path(mut self, path: impl Into<std::path::PathBuf>) -> Self {
            self.settings.library = Some(path.into());
            self
        }
    };
}
pub(crate) use settings_setters;
