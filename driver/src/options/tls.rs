//! How connections are encrypted (URI Options specification, options beginning with `tls`).

use std::{fmt, path::PathBuf};

use crate::types::secret::Secret;

/// The `tls…` options. `Debug` shows no password.
///
/// Connections are encrypted with `tls=true` and for `mongodb+srv`; no other option here switches encryption on. The
/// server's certificate must be in force, be issued by an authority that the system trusts (or one of
/// [`ca_file`](Self::ca_file)), and hold the host name by which the client knows the server. Revocation is not checked by
/// this version. Of TLS, versions 1.2 and 1.3 are spoken.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsOptions {
    /// `tls`, `ssl`: whether connections are encrypted. `None`: only for `mongodb+srv`.
    pub enabled: Option<bool>,
    /// `tlsInsecure`: relax every check, which is both that follow. Whoever sits between client and server can then read and
    /// change everything.
    pub insecure: Option<bool>,
    /// `tlsAllowInvalidCertificates`: accept every certificate: of any issuer, expired, and for any name, since an unchecked
    /// certificate proves none.
    pub allow_invalid_certificates: Option<bool>,
    /// `tlsAllowInvalidHostnames`: accept a certificate for another name, if everything else is well with it.
    pub allow_invalid_hostnames: Option<bool>,
    /// `tlsCAFile`: a PEM file with the authorities to trust instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// `tlsCertificateKeyFile`: a PEM file with the certificate that the client shows, those that lead from it to its
    /// authority, and its private key (PKCS #8, PKCS #1 or SEC 1).
    pub certificate_key_file: Option<PathBuf>,
    /// `tlsDisableOCSPEndpointCheck`. No effect in this version.
    pub disable_ocsp_endpoint_check: Option<bool>,
    /// `tlsDisableCertificateRevocationCheck`. No effect in this version.
    pub disable_certificate_revocation_check: Option<bool>,
    pub(crate) certificate_key_file_password: Option<Secret>,
}

impl TlsOptions {
    /// `tlsCertificateKeyFilePassword`, which cannot be read back. Encrypted keys are read with the feature `key-password`, in
    /// PKCS #8 form.
    pub fn set_certificate_key_file_password(&mut self, password: impl Into<String>) {
        self.certificate_key_file_password = Some(Secret::new(password));
    }

    #[cfg_attr(
        not(feature = "rustls"),
        expect(dead_code, reason = "only rustls reads the file that it opens")
    )]
    pub(crate) fn certificate_key_file_password(&self) -> Option<&str> {
        self.certificate_key_file_password.as_ref().map(Secret::expose)
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
