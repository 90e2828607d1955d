//! The PEM files of the options.

use std::path::Path;

use tokio_rustls::rustls::{
    RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use zeroize::Zeroizing;

use super::key_password;
use crate::{Error, Result, options::TlsOptions};

const CA_FILE: &str = "tlsCAFile";
const KEY_FILE: &str = "tlsCertificateKeyFile";

/// The certificates of a `tlsCAFile`: as roots, and themselves.
pub(super) fn authorities(path: &Path) -> Result<(RootCertStore, Vec<CertificateDer<'static>>)> {
    let mut roots = RootCertStore::empty();
    let certificates = certificates(CA_FILE, path, &read(CA_FILE, path)?)?;
    for certificate in &certificates {
        roots.add(certificate.clone()).map_err(|e| {
            refuse(
                CA_FILE,
                path,
                format_args!("contains an invalid certificate: {e}"),
            )
        })?;
    }
    Ok((roots, certificates))
}

/// The certificate chain and the key of `tlsCertificateKeyFile`, if it is set.
pub(super) fn client_certificate(
    options: &TlsOptions,
) -> Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>> {
    let Some(path) = &options.certificate_key_file else {
        return Ok(None);
    };
    let text = read(KEY_FILE, path)?;
    // The key first: the parser of certificates fails at a key in the old encrypted form, which is
    // not valid PEM.
    let key = private_key(path, &text, options.certificate_key_file_password())?;
    Ok(Some((certificates(KEY_FILE, path, &text)?, key)))
}

fn private_key(path: &Path, text: &[u8], password: Option<&str>) -> Result<PrivateKeyDer<'static>> {
    let refuse = |why: &str| refuse(KEY_FILE, path, format_args!("{why}"));
    if contains(text, b"Proc-Type: 4,ENCRYPTED") {
        return Err(refuse(
            "contains a key encrypted in the old form of OpenSSL; convert it with: openssl pkcs8 -topk8",
        ));
    }
    if contains(text, b"-----BEGIN ENCRYPTED PRIVATE KEY-----") {
        let Some(password) = password else {
            return Err(refuse(
                "contains an encrypted key; set tlsCertificateKeyFilePassword",
            ));
        };
        return key_password::decrypt(text, password).map_err(refuse);
    }
    PrivateKeyDer::from_pem_slice(text).map_err(|_| refuse("contains no private key in PEM format"))
}

fn certificates(option: &str, path: &Path, text: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    let found: Vec<_> = CertificateDer::pem_slice_iter(text)
        .collect::<Result<_, _>>()
        .map_err(|e| refuse(option, path, format_args!("is not a PEM file: {e}")))?;
    if found.is_empty() {
        return Err(refuse(
            option,
            path,
            format_args!("contains no certificate in PEM format"),
        ));
    }
    Ok(found)
}

fn read(option: &str, path: &Path) -> Result<Zeroizing<Vec<u8>>> {
    let text = std::fs::read(path).map(Zeroizing::new);
    text.map_err(|e| refuse(option, path, format_args!("cannot be read: {e}")))
}

fn refuse(option: &str, path: &Path, why: std::fmt::Arguments<'_>) -> Error {
    Error::invalid_argument(format!("the {option} {} {why}", path.display()))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
