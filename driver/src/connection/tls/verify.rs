//! Verification of the server's certificate, and its variants by the insecure options.

use std::sync::Arc;

use tokio_rustls::rustls::{
    CertificateError, DigitallySignedStruct, Error as TlsError, OtherError, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    crypto::CryptoProvider,
    pki_types::{CertificateDer, ServerName, UnixTime},
    server::ParsedCertificate,
};

use super::{
    files,
    ocsp::{PinnedCertificate, Revocation},
};
use crate::{Error, Result, options::TlsOptions};

/// The verifier for the options.
pub(super) fn verifier(
    options: &TlsOptions,
    provider: &Arc<CryptoProvider>,
    revocation: Option<&Arc<Revocation>>,
) -> Result<Arc<dyn ServerCertVerifier>> {
    if options.insecure == Some(true) || options.allow_invalid_certificates == Some(true) {
        return Ok(Arc::new(NoCheck {
            schemes: provider.signature_verification_algorithms.supported_schemes(),
        }));
    }
    let (roots, pinned) = match &options.ca_file {
        Some(path) => files::authorities(path)?,
        None => (system_roots()?, Vec::new()),
    };
    let roots = Arc::new(roots);
    let chain = WebPkiServerVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(provider))
        .build()
        .map_err(|e| Error::invalid_argument(format!("the trusted certificates cannot be used: {e}")))?;
    Ok(Arc::new(Check {
        chain,
        roots,
        pinned,
        any_name: options.allow_invalid_hostnames == Some(true),
        revocation: revocation.map(Arc::clone),
    }))
}

fn system_roots() -> Result<RootCertStore> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added > 0 {
        return Ok(roots);
    }
    let why = match found.errors.first() {
        Some(error) => format!(" ({error})"),
        None => String::new(),
    };
    Err(Error::invalid_argument(format!(
        "the system has no trusted root certificates{why}: name a file with tlsCAFile"
    )))
}

/// Verifies chain, validity period, name and revocation.
#[derive(Debug)]
struct Check {
    chain: Arc<WebPkiServerVerifier>,
    roots: Arc<RootCertStore>,
    /// The certificates in `tlsCAFile`, which are trusted themselves.
    pinned: Vec<CertificateDer<'static>>,
    /// `tlsAllowInvalidHostnames`.
    any_name: bool,
    /// `None` if the check is disabled.
    revocation: Option<Arc<Revocation>>,
}

impl Check {
    /// A server may present a certificate that is itself listed in `tlsCAFile`, usually a
    /// self-signed one. The library rejects it as a CA certificate, or for an unknown issuer.
    fn check_pinned(&self, end_entity: &CertificateDer<'_>, now: UnixTime) -> Option<Result<(), TlsError>> {
        if !self.pinned.iter().any(|pinned| pinned == end_entity) {
            return None;
        }
        let certificate = PinnedCertificate::read(end_entity)?;
        let refusal = if !certificate.for_servers {
            CertificateError::InvalidPurpose
        } else if now.as_secs() < certificate.not_before {
            CertificateError::NotValidYet
        } else if now.as_secs() > certificate.not_after {
            CertificateError::Expired
        } else {
            return Some(Ok(()));
        };
        Some(Err(refusal.into()))
    }
}

fn is_about_the_name(error: &TlsError) -> bool {
    matches!(
        error,
        TlsError::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
        )
    )
}

impl ServerCertVerifier for Check {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let checked =
            self.chain
                .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match checked {
            Ok(_) => {}
            // The name is verified last, so everything else is valid.
            Err(error) if is_about_the_name(&error) => {
                if !self.any_name {
                    return Err(error);
                }
            }
            Err(error) => {
                self.check_pinned(end_entity, now).unwrap_or(Err(error))?;
                if !self.any_name {
                    verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                }
                // A listed certificate is trusted explicitly, and has no issuer whose OCSP response
                // could be verified.
                return Ok(ServerCertVerified::assertion());
            }
        }
        if let Some(revocation) = &self.revocation {
            revocation
                .examine(end_entity, intermediates, &self.roots, ocsp_response, now)
                .map_err(|refusal| {
                    TlsError::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(refusal))))
                })?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.chain.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        self.chain.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}

/// No verification (`tlsInsecure`, `tlsAllowInvalidCertificates`). Name and signatures are not
/// verified either: without a trusted certificate they prove nothing.
#[derive(Debug)]
struct NoCheck {
    schemes: Vec<SignatureScheme>,
}

impl ServerCertVerifier for NoCheck {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}
