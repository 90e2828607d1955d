//! Tokens, and encryption with them.

use aes::Aes256;
use bson::Uuid;
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit, StreamCipher};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A key or a derived value: 32 bytes.
pub(super) type Token = [u8; 32];

/// HMAC-SHA-256 of a number, 8 bytes in little-endian order.
pub(super) fn derive(key: &Token, number: u64) -> Token {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        unreachable!("HMAC accepts keys of any length");
    };
    mac.update(&number.to_le_bytes());
    mac.finalize().into_bytes().into()
}

/// A random initialization vector, and the plaintext encrypted with AES-256 in CTR mode.
pub(super) fn encrypt(key: &Token, plaintext: &[u8]) -> Vec<u8> {
    let vector = Uuid::new().bytes();
    let mut encrypted = vector.to_vec();
    encrypted.extend_from_slice(plaintext);
    Ctr128BE::<Aes256>::new(key.into(), &vector.into()).apply_keystream(&mut encrypted[vector.len()..]);
    encrypted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_little_endian_order() {
        // HMAC-SHA-256 with 32 bytes 0x0b and the message 01 00 00 00 00 00 00 00, computed by Python's hmac.
        let expected = "feeb596ad9926d99e7cf22254603c5cb71c231f3ce6d57d3f88e3cad4195cdae";
        let derived: String = derive(&[0x0b; 32], 1)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(derived, expected);
    }

    #[test]
    fn each_encryption_has_its_own_vector() {
        let first = encrypt(&[1; 32], b"value");
        assert_eq!(first.len(), 16 + 5);
        assert_ne!(first, encrypt(&[1; 32], b"value"));
    }
}
