//! Authentication mechanisms, and the hash functions of SCRAM.

use hmac::{EagerHash, Hmac, KeyInit, Mac};
use sha1::{Digest, Sha1};
use sha2::Sha256;

use super::oidc::OidcFlow;

/// An authentication mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// SCRAM (RFC 5802, RFC 7677).
    Scram(ScramHash),
    /// `MONGODB-X509`: the client certificate of the TLS connection.
    X509,
    /// `PLAIN` (RFC 4616): the password without encryption, e.g. for LDAP.
    Plain,
    /// `MONGODB-OIDC`: an access token of OpenID Connect.
    Oidc(OidcFlow),
    /// `MONGODB-AWS`: a signature with credentials of AWS.
    #[cfg(feature = "aws-auth")]
    Aws,
    /// `GSSAPI`: Kerberos (RFC 4752).
    #[cfg(feature = "gssapi")]
    Gssapi,
}

impl Mechanism {
    /// The name of the mechanism in commands.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scram(ScramHash::Sha1) => "SCRAM-SHA-1",
            Self::Scram(ScramHash::Sha256) => "SCRAM-SHA-256",
            Self::X509 => "MONGODB-X509",
            Self::Plain => "PLAIN",
            Self::Oidc(_) => "MONGODB-OIDC",
            #[cfg(feature = "aws-auth")]
            Self::Aws => "MONGODB-AWS",
            #[cfg(feature = "gssapi")]
            Self::Gssapi => "GSSAPI",
        }
    }
}

/// The hash function of SCRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScramHash {
    /// `SCRAM-SHA-1`
    Sha1,
    /// `SCRAM-SHA-256`
    Sha256,
}

impl ScramHash {
    pub(super) fn digest(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => Sha1::digest(bytes).to_vec(),
            Self::Sha256 => Sha256::digest(bytes).to_vec(),
        }
    }

    pub(super) fn hmac(self, key: &[u8], message: &[u8]) -> Vec<u8> {
        match self {
            Self::Sha1 => keyed::<Sha1>(key, message).finalize().into_bytes().to_vec(),
            Self::Sha256 => keyed::<Sha256>(key, message).finalize().into_bytes().to_vec(),
        }
    }

    /// Verifies an HMAC in constant time.
    pub(super) fn verify_hmac(self, key: &[u8], message: &[u8], claimed: &[u8]) -> bool {
        match self {
            Self::Sha1 => keyed::<Sha1>(key, message).verify_slice(claimed).is_ok(),
            Self::Sha256 => keyed::<Sha256>(key, message).verify_slice(claimed).is_ok(),
        }
    }

    /// `SaltedPassword` of RFC 5802: `Hi(password, salt, iterations)`, which is PBKDF2.
    pub(super) fn salted_password(self, password: &[u8], salt: &[u8], iterations: u32) -> Vec<u8> {
        match self {
            Self::Sha1 => pbkdf2::pbkdf2_hmac_array::<Sha1, 20>(password, salt, iterations).to_vec(),
            Self::Sha256 => pbkdf2::pbkdf2_hmac_array::<Sha256, 32>(password, salt, iterations).to_vec(),
        }
    }
}

fn keyed<D: EagerHash>(key: &[u8], message: &[u8]) -> Hmac<D>
where
    Hmac<D>: KeyInit + Mac,
{
    // HMAC accepts keys of any length, so this error does not occur.
    let mut mac = match <Hmac<D> as KeyInit>::new_from_slice(key) {
        Ok(mac) => mac,
        Err(_) => <Hmac<D> as KeyInit>::new(&hmac::digest::Key::<Hmac<D>>::default()),
    };
    mac.update(message);
    mac
}
