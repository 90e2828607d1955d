//! Private keys encrypted with a password (PKCS #8, PBES2).

use pkcs8::{EncryptedPrivateKeyInfo, SecretDocument};
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

const END: &str = "-----END ENCRYPTED PRIVATE KEY-----";
const BEGIN: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----";

/// Finds the encrypted key among the other parts of the file.
pub(super) fn decrypt(text: &[u8], password: &str) -> Result<PrivateKeyDer<'static>, &'static str> {
    let malformed = "contains an encrypted key that is malformed, or encrypted in an unknown way";
    let text = std::str::from_utf8(text).map_err(|_| malformed)?;
    let begin = text.find(BEGIN).ok_or(malformed)?;
    let rest = text.get(begin..).ok_or(malformed)?;
    let end = rest.find(END).ok_or(malformed)? + END.len();
    let block = rest.get(..end).ok_or(malformed)?;
    let (_, document) = SecretDocument::from_pem(block).map_err(|_| malformed)?;
    let encrypted = EncryptedPrivateKeyInfo::try_from(document.as_bytes()).map_err(|_| malformed)?;
    let key = encrypted
        .decrypt(password)
        .map_err(|_| "contains an encrypted key that tlsCertificateKeyFilePassword does not open")?;
    Ok(PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(
        key.as_bytes().to_vec(),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_rustls::rustls::crypto::ring::sign::any_supported_type;

    /// Made for this test, and used for nothing else.
    const KEY: &str = "\
-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhLYhQgXtl9iwICA+gw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEKmud3ruiUYUBUBHTJkOpGcEgZDH
Ak44ZiNr1wDq4phYPfEz62cwtYygqq99TK76U6vCYv5xX2LTlq5zN2HREDrWhVvw
PZuNH3S7+3FgD/z8sKN6imrQJQMrTY7Zmh4q7fnVFhFvCMREraHeZzaMS7evwhRG
iPQoHl9bkMsNmmnOxCeF5Q077EJlsChBK0MKJQ+xwd0dx/6ZdIDJePrngr9jDzo=
-----END ENCRYPTED PRIVATE KEY-----
";

    #[test]
    fn the_password_opens_the_key_among_other_parts() {
        let text = format!("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n{KEY}more");
        let key = decrypt(text.as_bytes(), "hunter2").unwrap();
        assert!(any_supported_type(&key).is_ok());
    }

    #[test]
    fn a_wrong_password_and_a_malformed_key_have_different_messages() {
        let wrong = decrypt(KEY.as_bytes(), "hunter3").unwrap_err();
        assert!(wrong.contains("does not open"), "{wrong}");
        let malformed = decrypt(KEY.replace("MIHs", "AAAA").as_bytes(), "hunter2").unwrap_err();
        assert!(malformed.contains("malformed"), "{malformed}");
        let cut = decrypt(KEY.replace("-----END", "").as_bytes(), "hunter2").unwrap_err();
        assert!(cut.contains("malformed"), "{cut}");
        assert!(decrypt(&[0xff, 0xfe], "hunter2").is_err());
    }
}
