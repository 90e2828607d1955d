//! TLS configuration: the server certificate, and the requirements on client certificates.

use std::sync::Arc;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// A certificate chain and its private key.
#[derive(Clone)]
#[non_exhaustive]
pub struct TlsIdentity {
    /// The certificate in PEM, followed by intermediate certificates, if any.
    pub certificate_pem: String,
    /// The private key in PEM: PKCS #8, PKCS #1 or SEC 1.
    pub key_pem: String,
}

impl TlsIdentity {
    /// Creates an identity from PEM. [`TestServerBuilder::start`](crate::TestServerBuilder::start)
    /// validates it.
    #[must_use]
    pub fn new(certificate_pem: impl Into<String>, key_pem: impl Into<String>) -> TlsIdentity {
        TlsIdentity {
            certificate_pem: certificate_pem.into(),
            key_pem: key_pem.into(),
        }
    }
}

impl std::fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsIdentity")
            .field("certificate_pem", &self.certificate_pem)
            .finish_non_exhaustive()
    }
}

/// The TLS settings of the builder.
#[derive(Debug, Clone, Default)]
pub(crate) struct TlsSettings {
    pub(crate) identity: Option<TlsIdentity>,
    /// Certificate authorities of client certificates, in PEM.
    pub(crate) client_authority: Option<String>,
    pub(crate) allow_connections_without_certificates: bool,
}

const WITHOUT_CA: &str = "`tls_allow_connections_without_certificates` requires `tls_client_ca`";

impl TlsSettings {
    /// Returns the rustls configuration; `None` for connections without TLS.
    pub(crate) fn config(&self) -> Result<Option<Arc<ServerConfig>>, String> {
        let Some(identity) = &self.identity else {
            return if self.client_authority.is_some() {
                Err("`tls_client_ca` requires `tls`".to_owned())
            } else if self.allow_connections_without_certificates {
                Err(WITHOUT_CA.to_owned())
            } else {
                Ok(None)
            };
        };
        let provider = Arc::new(default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = match &self.client_authority {
            None if self.allow_connections_without_certificates => return Err(WITHOUT_CA.to_owned()),
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let mut roots = RootCertStore::empty();
                for root in certificates(pem)? {
                    roots.add(root).map_err(|error| error.to_string())?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                let verifier = if self.allow_connections_without_certificates {
                    verifier.allow_unauthenticated()
                } else {
                    verifier
                };
                builder.with_client_cert_verifier(verifier.build().map_err(|error| error.to_string())?)
            }
        };
        let key = PrivateKeyDer::from_pem_slice(identity.key_pem.as_bytes())
            .map_err(|error| format!("invalid private key: {error}"))?;
        let config = builder
            .with_single_cert(certificates(&identity.certificate_pem)?, key)
            .map_err(|error| error.to_string())?;
        Ok(Some(Arc::new(config)))
    }
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match found {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err("the PEM contains no certificate".to_owned()),
        Err(error) => Err(format!("invalid certificate: {error}")),
    }
}
