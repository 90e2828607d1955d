//! TLS options ([URI Options], options that begin with `tls`).
//!
//! [URI Options]:
//! https://github.com/mongodb/specifications/blob/master/source/uri-options/uri-options.md

use std::{fmt, path::PathBuf};

use super::error::OptionError;
use crate::types::secret::Secret;

/// The `tls…` options. `Debug` prints no password.
///
/// TLS is used with `tls=true`, and by default for `mongodb+srv`; no other option enables it. The
/// protocol versions are TLS 1.2 and 1.3. The certificate of the server must be within its validity
/// period, be issued by a trusted authority (of the operating system, or in
/// [`ca_file`](Self::ca_file)), be valid for the host name in the server's address, and not be
/// revoked. The files are read once, when the client is created; changed files require a new
/// client.
///
/// # Revoked certificates
///
/// The client checks with OCSP (RFC 6960) whether the certificate of the server is revoked, unless
/// [`insecure`](Self::insecure), [`allow_invalid_certificates`](Self::allow_invalid_certificates)
/// or [`disable_certificate_revocation_check`](Self::disable_certificate_revocation_check) is set.
/// The steps are, in this order ([OCSP Support]):
///
/// 1. If the server staples a response, it must be valid: its validity period includes the current
///    time of the client's clock, without tolerance, and it is signed by the issuer of the
///    certificate or by a delegate of the issuer. Otherwise the connection fails. It also fails if
///    the certificate has the Must-Staple extension (RFC 7633) and no conclusive response is
///    stapled.
/// 2. If the cache of the client has a conclusive response that has not expired, it is used.
/// 3. Otherwise all OCSP responders in the certificate (`http://` only) are queried in parallel,
///    before anything is sent to the server. The time limit is five seconds, but at most half of
///    the remaining `connectTimeoutMS`. The first valid response with the status "good" or
///    "revoked" is used; "revoked" fails the connection. Connections that need the same response
///    share a query. Queries do not use the proxy.
/// 4. Without a conclusive response the connection is used (soft fail), and the responders are not
///    queried again for this certificate for one minute.
///
/// If a certificate is revoked, the connection fails with a network error of the phase
/// `TlsHandshake` and the kind `InvalidData`, whose text contains the time of the revocation and
/// the source of the response. Only the server's own certificate is checked, not those of the
/// authorities. Certificate revocation lists (CRL) are not supported. A response signed with SHA-1
/// is invalid. A resumed TLS session has no stapled response; the other steps apply.
///
/// [OCSP Support]:
/// https://github.com/mongodb/specifications/blob/master/source/ocsp-support/ocsp-support.md
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsOptions {
    /// `tls` or `ssl`: whether connections are encrypted. `None`: `true` for `mongodb+srv`, `false`
    /// otherwise.
    pub enabled: Option<bool>,
    /// `tlsInsecure`: disables all checks of the server's certificate, as the two options below do,
    /// and the revocation check. An attacker between client and server can read and modify all
    /// data. Default: `false`. Cannot be set together with `tlsAllowInvalidCertificates`,
    /// `tlsAllowInvalidHostnames`, `tlsDisableOCSPEndpointCheck` or
    /// `tlsDisableCertificateRevocationCheck`, whatever the values.
    pub insecure: Option<bool>,
    /// `tlsAllowInvalidCertificates`: accept every certificate, also one that is untrusted,
    /// expired, revoked, or for another host name. An attacker between client and server can read
    /// and modify all data. Default: `false`.
    pub allow_invalid_certificates: Option<bool>,
    /// `tlsAllowInvalidHostnames`: accept a certificate for another host name. The other checks
    /// apply. Default: `false`.
    pub allow_invalid_hostnames: Option<bool>,
    /// `tlsCAFile`: path of a PEM file with the trusted certificate authorities. It replaces those
    /// of the operating system, which are the default. The file can also contain certificates of
    /// servers, self-signed or not: a server with exactly such a certificate is trusted if the
    /// certificate is within its validity period, valid for servers, and valid for the host name.
    /// The revocation of such a certificate is checked only if its issuer is trusted too.
    pub ca_file: Option<PathBuf>,
    /// `tlsCertificateKeyFile`: path of a PEM file with the certificate of the client, its
    /// intermediate certificates, and its private key (PKCS #8, PKCS #1 or SEC 1). Default: none.
    pub certificate_key_file: Option<PathBuf>,
    /// `tlsDisableOCSPEndpointCheck`: do not query OCSP responders, e.g. if a firewall blocks them.
    /// Stapled responses are still checked. Default: `false`. Cannot be set together with
    /// `tlsInsecure`, `tlsAllowInvalidCertificates` or `tlsDisableCertificateRevocationCheck`,
    /// whatever the values.
    pub disable_ocsp_endpoint_check: Option<bool>,
    /// `tlsDisableCertificateRevocationCheck`: do not check for revocation at all, including
    /// Must-Staple. Default: `false`. Cannot be set together with `tlsInsecure`,
    /// `tlsAllowInvalidCertificates` or `tlsDisableOCSPEndpointCheck`, whatever the values.
    pub disable_certificate_revocation_check: Option<bool>,
    pub(crate) certificate_key_file_password: Option<Secret>,
}

impl TlsOptions {
    /// Sets `tlsCertificateKeyFilePassword`, the password of an encrypted private key. It cannot be
    /// read back. Encrypted private keys require the feature `key-password` and must be in PKCS #8
    /// format. Default: none; the private key must not be encrypted.
    pub fn set_certificate_key_file_password(&mut self, password: impl Into<String>) {
        self.certificate_key_file_password = Some(Secret::new(password));
    }

    #[cfg(feature = "rustls")]
    pub(crate) fn certificate_key_file_password(&self) -> Option<&str> {
        self.certificate_key_file_password.as_ref().map(Secret::expose)
    }

    /// A warning if options have no effect because TLS is not enabled. An explicit `tls=false`
    /// causes none.
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

    /// Rejects the combinations of options that the specification forbids (URI Options,
    /// "Conflicting TLS options").
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
