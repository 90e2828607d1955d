//! How connections are encrypted (URI Options specification, options beginning with `tls`).

use std::{fmt, path::PathBuf};

use crate::types::secret::Secret;

/// The `tls…` options. `Debug` shows no password.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsOptions {
    /// `tls`, `ssl`: whether connections are encrypted. `None`: only for `mongodb+srv`.
    pub enabled: Option<bool>,
    /// `tlsInsecure`: relax every check.
    pub insecure: Option<bool>,
    /// `tlsAllowInvalidCertificates`
    pub allow_invalid_certificates: Option<bool>,
    /// `tlsAllowInvalidHostnames`
    pub allow_invalid_hostnames: Option<bool>,
    /// `tlsCAFile`
    pub ca_file: Option<PathBuf>,
    /// `tlsCertificateKeyFile`
    pub certificate_key_file: Option<PathBuf>,
    /// `tlsDisableOCSPEndpointCheck`
    pub disable_ocsp_endpoint_check: Option<bool>,
    /// `tlsDisableCertificateRevocationCheck`
    pub disable_certificate_revocation_check: Option<bool>,
    pub(crate) certificate_key_file_password: Option<Secret>,
}

impl TlsOptions {
    /// `tlsCertificateKeyFilePassword`, which cannot be read back.
    pub fn set_certificate_key_file_password(&mut self, password: impl Into<String>) {
        self.certificate_key_file_password = Some(Secret::new(password));
    }

    /// Pairs of options that together would leave open which one holds.
    pub(crate) fn validate(&self) -> Result<(), String> {
        let insecure = ("tlsInsecure", self.insecure);
        let certificates = ("tlsAllowInvalidCertificates", self.allow_invalid_certificates);
        let hostnames = ("tlsAllowInvalidHostnames", self.allow_invalid_hostnames);
        let endpoint = ("tlsDisableOCSPEndpointCheck", self.disable_ocsp_endpoint_check);
        let revocation = (
            "tlsDisableCertificateRevocationCheck",
            self.disable_certificate_revocation_check,
        );
        for (a, b) in [
            (insecure, certificates),
            (insecure, hostnames),
            (insecure, endpoint),
            (insecure, revocation),
            (certificates, endpoint),
            (certificates, revocation),
            (endpoint, revocation),
        ] {
            if a.1.is_some() && b.1.is_some() {
                return Err(format!("{} and {} cannot both be given", a.0, b.0));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for TlsOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsOptions")
            .field("enabled", &self.enabled)
            .field("insecure", &self.insecure)
            .field("allow_invalid_certificates", &self.allow_invalid_certificates)
            .field("allow_invalid_hostnames", &self.allow_invalid_hostnames)
            .field("ca_file", &self.ca_file)
            .field("certificate_key_file", &self.certificate_key_file)
            .field(
                "certificate_key_file_password",
                &self.certificate_key_file_password,
            )
            .finish_non_exhaustive()
    }
}
