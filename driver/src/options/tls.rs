//! How connections are encrypted (URI Options specification, options beginning with `tls`).

use std::{fmt, path::PathBuf};

use super::error::OptionError;
use crate::types::secret::Secret;

/// The `tls…` options. `Debug` shows no password.
///
/// Connections are encrypted with `tls=true` and for `mongodb+srv`; no other option here switches encryption on. The
/// server's certificate must be in force, be issued by an authority that the system trusts (or one of
/// [`ca_file`](Self::ca_file)), hold the host name by which the client knows the server, and not be revoked. Of TLS, versions
/// 1.2 and 1.3 are spoken. The files are read once, when the client is made: after a change of files, make a new client.
///
/// # Revoked certificates
///
/// With `tls=true` the client looks, by OCSP (RFC 6960), whether the server's certificate was revoked, unless
/// [`insecure`](Self::insecure), [`allow_invalid_certificates`](Self::allow_invalid_certificates) or
/// [`disable_certificate_revocation_check`](Self::disable_certificate_revocation_check) is set. In this order:
///
/// 1. A response that the server staples must be valid for its certificate: in force by the client's clock, without
///    tolerance, and signed by the certificate's issuer or a delegate of it. Any other refuses the connection. A server whose
///    certificate demands stapling (Must-Staple, RFC 7633) and that staples nothing, or nothing conclusive, is refused as well.
/// 2. Conclusive responses are remembered, per client, until they expire.
/// 3. Else the responders that the certificate names (`http://` only) are asked all at once, before anything is sent to the
///    server, for at most five seconds and half of what is left of `connectTimeoutMS`. The first valid answer that says
///    "good" or "revoked" counts, the latter refuses the connection. Connections that want to know the same share one
///    question. The question never goes through a proxy.
/// 4. Where nobody gives a conclusive answer, the connection is used (soft fail), and nobody is asked again about that
///    certificate for a minute.
///
/// A refusal is a network error of the phase `TlsHandshake`, of the kind `InvalidData`, and says when the certificate was
/// revoked and who says so. Only the server's own certificate is asked for, not those of authorities. Certificate revocation
/// lists (CRL) are neither read nor downloaded, and there is no option for them. Responses signed with SHA-1 count as signed
/// wrongly. When a TLS session is resumed, nothing is stapled; the rest holds.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsOptions {
    /// `tls`, `ssl`: whether connections are encrypted. `None`: only for `mongodb+srv`.
    pub enabled: Option<bool>,
    /// `tlsInsecure`: relax every check, which is both that follow, and do not look for revocation. Default: no. Whoever sits
    /// between client and server can then read and change everything.
    pub insecure: Option<bool>,
    /// `tlsAllowInvalidCertificates`: accept every certificate: of any issuer, expired, revoked, and for any name, since an
    /// unchecked certificate proves none. Default: no.
    pub allow_invalid_certificates: Option<bool>,
    /// `tlsAllowInvalidHostnames`: accept a certificate for another name, if everything else is well with it. Default: no.
    pub allow_invalid_hostnames: Option<bool>,
    /// `tlsCAFile`: a PEM file with the authorities to trust instead of the system's. A server's own certificate may stand in
    /// it as well, self-signed or not: it is accepted byte for byte as it stands there, if it is in force, fit for servers and
    /// for the name. Unless its issuer is trusted, too, its revocation is not looked at: there is nobody whose word would count.
    pub ca_file: Option<PathBuf>,
    /// `tlsCertificateKeyFile`: a PEM file with the certificate that the client shows, those that lead from it to its
    /// authority, and its private key (PKCS #8, PKCS #1 or SEC 1).
    pub certificate_key_file: Option<PathBuf>,
    /// `tlsDisableOCSPEndpointCheck`: ask no responders, as where a firewall swallows such questions. Stapled responses are
    /// still looked at. Default: no. An error together with `tlsInsecure`, `tlsAllowInvalidCertificates` or
    /// `tlsDisableCertificateRevocationCheck`, whatever the values.
    pub disable_ocsp_endpoint_check: Option<bool>,
    /// `tlsDisableCertificateRevocationCheck`: do not look for revocation at all, Must-Staple included. Default: no. An error
    /// together with `tlsInsecure`, `tlsAllowInvalidCertificates` or `tlsDisableOCSPEndpointCheck`, whatever the values.
    pub disable_certificate_revocation_check: Option<bool>,
    pub(crate) certificate_key_file_password: Option<Secret>,
}

impl TlsOptions {
    /// `tlsCertificateKeyFilePassword`, which cannot be read back. Encrypted keys are read with the feature `key-password`, in
    /// PKCS #8 form.
    pub fn set_certificate_key_file_password(&mut self, password: impl Into<String>) {
        self.certificate_key_file_password = Some(Secret::new(password));
    }

    #[cfg(feature = "rustls")]
    pub(crate) fn certificate_key_file_password(&self) -> Option<&str> {
        self.certificate_key_file_password.as_ref().map(Secret::expose)
    }

    /// A warning, if there are options that have no effect since connections are not encrypted. `tls=false` is a decision,
    /// and no reason for one.
    pub(crate) fn unused(&self) -> Option<String> {
        if self.enabled.is_some() {
            return None;
        }
        let given: Vec<&str> = [
            (self.ca_file.is_some(), "tlsCAFile"),
            (self.certificate_key_file.is_some(), "tlsCertificateKeyFile"),
            (
                self.certificate_key_file_password.is_some(),
                "tlsCertificateKeyFilePassword",
            ),
            (self.insecure.is_some(), "tlsInsecure"),
            (
                self.allow_invalid_certificates.is_some(),
                "tlsAllowInvalidCertificates",
            ),
            (self.allow_invalid_hostnames.is_some(), "tlsAllowInvalidHostnames"),
            (
                self.disable_ocsp_endpoint_check.is_some(),
                "tlsDisableOCSPEndpointCheck",
            ),
            (
                self.disable_certificate_revocation_check.is_some(),
                "tlsDisableCertificateRevocationCheck",
            ),
        ]
        .into_iter()
        .filter_map(|(given, name)| given.then_some(name))
        .collect();
        (!given.is_empty()).then(|| {
            format!(
                "connections are NOT encrypted, and {} has no effect: write tls=true to encrypt them",
                given.join(", ")
            )
        })
    }

    /// Pairs of options that together would leave open which one holds.
    pub(crate) fn validate(&self) -> Result<(), OptionError> {
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
                return Err(OptionError::Conflict(a.0, b.0));
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
