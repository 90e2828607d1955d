//! The cryptography for a library that was built without its own.

use aes::Aes256;
use cbc::cipher::{
    BlockModeDecrypt, BlockModeEncrypt, InnerIvInit, KeyInit, KeyIvInit, StreamCipher,
    block_padding::NoPadding,
};
use hmac::{Hmac, Mac};
use ring::{rand::SystemRandom, rsa::KeyPair as RsaKeyPair, signature::RSA_PKCS1_SHA256};
use sha2::{Digest, Sha256, Sha512};
use zeroize::Zeroizing;

/// Why an operation failed: an argument has a wrong length or form.
pub(crate) type Failure = &'static str;

type Bytes = Zeroizing<Vec<u8>>;

const KEY_OR_IV: Failure = "the key must have 32 bytes, and the initialization vector 16";
const BLOCKS: Failure = "the input must consist of blocks of 16 bytes";

/// AES-256 in mode CBC. The caller has padded the input.
pub(crate) fn cbc_encrypt(key: &[u8], iv: &[u8], input: &[u8]) -> Result<Bytes, Failure> {
    let cipher = cbc::Encryptor::<Aes256>::new_from_slices(key, iv).map_err(|_| KEY_OR_IV)?;
    let mut output = Zeroizing::new(vec![0; input.len()]);
    cipher
        .encrypt_padded_b2b::<NoPadding>(input, &mut output)
        .map_err(|_| BLOCKS)?;
    Ok(output)
}

/// The reverse of [`cbc_encrypt`].
pub(crate) fn cbc_decrypt(key: &[u8], iv: &[u8], input: &[u8]) -> Result<Bytes, Failure> {
    let cipher = cbc::Decryptor::<Aes256>::new_from_slices(key, iv).map_err(|_| KEY_OR_IV)?;
    let mut output = Zeroizing::new(vec![0; input.len()]);
    cipher
        .decrypt_padded_b2b::<NoPadding>(input, &mut output)
        .map_err(|_| BLOCKS)?;
    Ok(output)
}

/// AES-256 in mode CTR, with a counter of 128 bits. Encryption and decryption are the same.
pub(crate) fn ctr(key: &[u8], iv: &[u8], input: &[u8]) -> Result<Bytes, Failure> {
    let cipher = Aes256::new_from_slice(key).map_err(|_| KEY_OR_IV)?;
    let core =
        ctr::CtrCore::<_, ctr::flavors::Ctr128BE>::inner_iv_slice_init(cipher, iv).map_err(|_| KEY_OR_IV)?;
    let mut cipher = ctr::cipher::StreamCipherCoreWrapper::from_core(core);
    let mut output = Zeroizing::new(input.to_vec());
    cipher
        .try_apply_keystream(&mut output)
        .map_err(|_| "the input is too long")?;
    Ok(output)
}

pub(crate) fn hmac_sha_256(key: &[u8], input: &[u8]) -> Result<Bytes, Failure> {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).map_err(|_| "the key is invalid")?;
    mac.update(input);
    Ok(Zeroizing::new(mac.finalize().into_bytes().to_vec()))
}

pub(crate) fn hmac_sha_512(key: &[u8], input: &[u8]) -> Result<Bytes, Failure> {
    let mut mac = <Hmac<Sha512> as KeyInit>::new_from_slice(key).map_err(|_| "the key is invalid")?;
    mac.update(input);
    Ok(Zeroizing::new(mac.finalize().into_bytes().to_vec()))
}

pub(crate) fn sha_256(input: &[u8]) -> Bytes {
    Zeroizing::new(Sha256::digest(input).to_vec())
}

/// Random bytes of the operating system.
pub(crate) fn random(count: usize) -> Result<Bytes, Failure> {
    let mut output = Zeroizing::new(vec![0; count]);
    getrandom::fill(&mut output).map_err(|_| "the operating system provides no random numbers")?;
    Ok(output)
}

/// RSASSA-PKCS1-v1_5 with SHA-256, for the requests to Google Cloud. The key is PKCS #8 in DER, of at least 2048 bits.
pub(crate) fn sign(key: &[u8], input: &[u8]) -> Result<Bytes, Failure> {
    let key = RsaKeyPair::from_pkcs8(key)
        .map_err(|_| "the private key is not an RSA key of 2048 to 4096 bits in PKCS #8")?;
    let mut output = Zeroizing::new(vec![0; key.public().modulus_len()]);
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), input, &mut output)
        .map_err(|_| "signing failed")?;
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        hex::decode(text).unwrap()
    }

    const KEY: &str = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";
    const TEXT: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51";

    /// NIST SP 800-38A, F.2.5.
    #[test]
    fn cbc_is_that_of_nist() {
        let iv = bytes("000102030405060708090a0b0c0d0e0f");
        let expected = "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d";
        let output = cbc_encrypt(&bytes(KEY), &iv, &bytes(TEXT)).unwrap();
        assert_eq!(hex::encode(&*output), expected);
        assert_eq!(*cbc_decrypt(&bytes(KEY), &iv, &output).unwrap(), bytes(TEXT));
    }

    /// NIST SP 800-38A, F.5.5, also for a part of a block.
    #[test]
    fn ctr_is_that_of_nist() {
        let iv = bytes("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
        let expected = bytes("601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5");
        for length in [0, 1, 16, 17, 32] {
            let output = ctr(&bytes(KEY), &iv, &bytes(TEXT)[..length]).unwrap();
            assert_eq!(*output, expected[..length]);
        }
    }

    /// RFC 4231, test case 2.
    #[test]
    fn hmac_is_that_of_rfc_4231() {
        let input = b"what do ya want for nothing?";
        assert_eq!(
            hex::encode(&*hmac_sha_256(b"Jefe", input).unwrap()),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert!(
            hex::encode(&*hmac_sha_512(b"Jefe", input).unwrap())
                .starts_with("164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554")
        );
    }

    #[test]
    fn sha_256_is_that_of_fips_180() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex::encode(&*sha_256(b"abc")), expected);
    }

    #[test]
    fn random_bytes_differ() {
        assert_eq!(random(0).unwrap().len(), 0);
        assert_ne!(random(32).unwrap(), random(32).unwrap());
    }

    #[test]
    fn arguments_of_a_wrong_length_are_errors() {
        let (key, iv) = ([0; 32], [0; 16]);
        for length in [0, 16, 31, 33] {
            assert!(cbc_encrypt(&vec![0; length], &iv, &[]).is_err());
            assert!(cbc_decrypt(&vec![0; length], &iv, &[]).is_err());
            assert!(ctr(&vec![0; length], &iv, &[]).is_err());
        }
        for length in [0, 12, 15, 17] {
            assert!(cbc_encrypt(&key, &vec![0; length], &[]).is_err());
            assert!(ctr(&key, &vec![0; length], &[]).is_err());
        }
        assert!(cbc_encrypt(&key, &iv, &[0; 17]).is_err());
        assert!(cbc_decrypt(&key, &iv, &[0; 31]).is_err());
        assert!(sign(b"no key", b"text").is_err());
    }
}
