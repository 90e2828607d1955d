//! Private keys encrypted with a password (PKCS #8, PBES2).

use pkcs8::{EncryptedPrivateKeyInfo, SecretDocument};
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

const END: &str = "-----END ENCRYPTED PRIVATE KEY-----";
const BEGIN: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----";

/// Finds the encrypted key among the other parts of the file.
pub(super) fn decrypt(text: &[u8], password: &str) -> Result<PrivateKeyDer<'static>, &'static str> {
    let malformed = "holds an encrypted key that is malformed, or encrypted in an unknown way";
    let text = std::str::from_utf8(text).map_err(|_| malformed)?;
    let begin = text.find(BEGIN).ok_or(malformed)?;
    let rest = text.get(begin..).ok_or(malformed)?;
    let end = rest.find(END).ok_or(malformed)? + END.len();
    let block = rest.get(..end).ok_or(malformed)?;
    let (_, document) = SecretDocument::from_pem(block).map_err(|_| malformed)?;
    let encrypted = EncryptedPrivateKeyInfo::try_from(document.as_bytes()).map_err(|_| malformed)?;
    let key = encrypted
        .decrypt(password)
        .map_err(|_| "holds an encrypted key that tlsCertificateKeyFilePassword does not open")?;
    Ok(PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(
        key.as_bytes().to_vec(),
    )))
}
