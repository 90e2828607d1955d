//! The PEM files that the options name.

use std::path::Path;

use tokio_rustls::rustls::{
    RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use super::key_password;
use crate::{Error, Result, options::TlsOptions};

const CA_FILE: &str = "tlsCAFile";
const KEY_FILE: &str = "tlsCertificateKeyFile";

/// The certificates of a `tlsCAFile`: as roots, and as they are.
pub(super) fn authorities(path: &Path) -> Result<(RootCertStore, Vec<CertificateDer<'static>>)> {
    let mut roots = RootCertStore::empty();
    let certificates = certificates(CA_FILE, path, &read(CA_FILE, path)?)?;
    for certificate in &certificates {
        roots.add(certificate.clone()).map_err(|e| {
            refuse(
                CA_FILE,
                path,
                format_args!("holds a certificate that is unfit: {e}"),
            )
        })?;
    }
    Ok((roots, certificates))
}

/// The certificate chain and the key of a `tlsCertificateKeyFile`, if one is named.
pub(super) fn client_certificate(
    options: &TlsOptions,
) -> Result<Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>> {
    let Some(path) = &options.certificate_key_file else {
        return Ok(None);
    };
    let text = read(KEY_FILE, path)?;
    // The key first: in its old encrypted form it is no PEM that the reader of certificates can step over.
    let key = private_key(path, &text, options.certificate_key_file_password())?;
    Ok(Some((certificates(KEY_FILE, path, &text)?, key)))
}

fn private_key(path: &Path, text: &[u8], password: Option<&str>) -> Result<PrivateKeyDer<'static>> {
    let refuse = |why: &str| refuse(KEY_FILE, path, format_args!("{why}"));
    if contains(text, b"Proc-Type: 4,ENCRYPTED") {
        return Err(refuse(
            "holds a key encrypted in the old form of OpenSSL; convert it with: openssl pkcs8 -topk8",
        ));
    }
    if contains(text, b"-----BEGIN ENCRYPTED PRIVATE KEY-----") {
        let Some(password) = password else {
            return Err(refuse(
                "holds an encrypted key; give tlsCertificateKeyFilePassword",
            ));
        };
        return key_password::decrypt(text, password).map_err(refuse);
    }
    PrivateKeyDer::from_pem_slice(text).map_err(|_| refuse("holds no private key in PEM form"))
}

fn certificates(option: &str, path: &Path, text: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    let found: Vec<_> = CertificateDer::pem_slice_iter(text)
        .collect::<Result<_, _>>()
        .map_err(|e| refuse(option, path, format_args!("is no PEM file: {e}")))?;
    if found.is_empty() {
        return Err(refuse(
            option,
            path,
            format_args!("holds no certificate in PEM form"),
        ));
    }
    Ok(found)
}

fn read(option: &str, path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| refuse(option, path, format_args!("cannot be read: {e}")))
}

fn refuse(option: &str, path: &Path, why: std::fmt::Arguments<'_>) -> Error {
    Error::invalid_argument(format!("the {option} {} {why}", path.display()))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
