//! Keys of page tokens: a token that is sealed with one can be neither read nor changed by those
//! who receive it.
//!
//! A sealed token is deterministic authenticated encryption in the construction SIV of [Rogaway
//! and Shrimpton], from HMAC-SHA-256 and AES-256 in mode CTR: the tag authenticates what the token
//! is bound to and the plain content, and its first half is the initial counter of the encryption.
//! Two pages whose contents and bindings are equal have the same token.
//!
//! [Rogaway and Shrimpton]: https://eprint.iacr.org/2006/221

use std::fmt;
use std::sync::Arc;

use aes::Aes256;
use base64::engine::{Engine as _, general_purpose::STANDARD as BASE64};
use ctr::{
    Ctr128BE,
    cipher::{KeyIvInit, StreamCipher},
};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::base::error::{Error, Result};

/// The version of the form, and the first byte of a token.
const VERSION: u8 = 1;
const TAG: usize = 32;
const COUNTER: usize = 16;

/// A secret key of page tokens, for [`Find::token_key`](crate::collection::Find::token_key): the
/// tokens are encrypted and authenticated, so that a client can neither read the values in them nor
/// construct one.
///
/// A token is bound to the database and the collection, to the sort keys with their directions, and to a
/// [`context`](TokenKey::context), such as a user: with another one it is
/// [`Error::InvalidPageToken`]. It does not expire, and it is not bound to the filter.
///
/// ```
/// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
/// # let secret = [7; 32];
/// let key = TokenKey::new(secret); // once, from the configuration of the application
///
/// let user = key.context("user 17");
/// let first = orders.find_all().token_key(&user).keyset(|o| o.total().desc(), None, 2).await?;
/// let next = first.next.expect("another page");
/// let second = orders.find_all().token_key(&user).keyset(|o| o.total().desc(), Some(&next), 2).await?;
/// assert_eq!(second.items.len(), 1);
///
/// let other = key.context("user 18");
/// let stolen = orders.find_all().token_key(&other).keyset(|o| o.total().desc(), Some(&next), 2).await;
/// assert!(matches!(stolen, Err(Error::InvalidPageToken)));
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct TokenKey {
    /// The first one seals; all open.
    secrets: Arc<[Secret]>,
    context: Option<Arc<str>>,
}

/// The two keys that are derived from one of the application. The key of the HMAC is padded to the
/// size of its block.
#[derive(Clone)]
struct Secret {
    authentication: Zeroizing<[u8; 64]>,
    encryption: Zeroizing<[u8; 32]>,
}

impl TokenKey {
    /// A key of 32 random bytes, which all processes of the application share. A password is not
    /// one.
    ///
    /// ```
    /// # use marula_guide::*;
    /// # let secret: [u8; 32] = [7; 32];
    /// let key = TokenKey::new(secret);
    /// assert_eq!(format!("{key:?}"), "TokenKey(..)");
    /// ```
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        TokenKey {
            secrets: Arc::new([Secret::new(&Zeroizing::new(key))]),
            context: None,
        }
    }

    /// A key of 32 bytes.
    ///
    /// ```
    /// # use marula_guide::*;
    /// assert!(TokenKey::from_slice(&[7; 32]).is_ok());
    /// assert!(TokenKey::from_slice(b"a password").is_err());
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the key has another length.
    pub fn from_slice(key: &[u8]) -> Result<Self> {
        let found = key.len();
        let key = <[u8; 32]>::try_from(key).map_err(|_| {
            Error::argument(format!(
                "a key of page tokens is 32 random bytes, found {found} bytes"
            ))
        })?;
        Ok(Self::new(key))
    }

    /// A key of 32 bytes in base64, as `openssl rand -base64 32` prints one.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let key = TokenKey::from_base64("BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=")?;
    /// # drop(key); Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the text is not base64, or the key has another length.
    pub fn from_base64(key: &str) -> Result<Self> {
        let key = BASE64.decode(key.trim());
        let key = key.map_err(|_| {
            Error::argument("a key of page tokens is 32 random bytes in base64; the text is not base64")
        })?;
        Self::from_slice(&Zeroizing::new(key))
    }

    /// Accepts the tokens of a previous key too, while this one issues the new tokens. Call it
    /// again for further keys. The context of `previous` is ignored.
    ///
    /// To replace a key, first let all processes accept the tokens of the new one, then issue them.
    ///
    /// ```
    /// # use marula_guide::*;
    /// # let (secret, old_secret) = ([7; 32], [6; 32]);
    /// let key = TokenKey::new(secret).with_previous(&TokenKey::new(old_secret));
    /// # drop(key);
    /// ```
    #[must_use]
    pub fn with_previous(&self, previous: &TokenKey) -> Self {
        TokenKey {
            secrets: self.secrets.iter().chain(&*previous.secrets).cloned().collect(),
            context: self.context.clone(),
        }
    }

    /// The same key for the tokens of one context, such as a user or a tenant: a token of another
    /// context is [`Error::InvalidPageToken`]. Replaces the context of this key.
    ///
    /// ```
    /// # use marula_guide::*;
    /// # let (key, user_id) = (TokenKey::new([7; 32]), 17);
    /// let key = key.context(format!("user {user_id}"));
    /// # drop(key);
    /// ```
    #[must_use]
    pub fn context(&self, context: impl AsRef<str>) -> Self {
        TokenKey {
            secrets: Arc::clone(&self.secrets),
            context: Some(context.as_ref().into()),
        }
    }

    /// Encrypts and authenticates the content of a token that is bound to these parts.
    pub(super) fn seal(&self, bound: &[&[u8]], content: Vec<u8>) -> Vec<u8> {
        let Some(secret) = self.secrets.first() else {
            return Vec::new();
        };
        let tag: [u8; TAG] = self.mac(secret, bound, &content).finalize().into_bytes().into();
        let mut sealed = content;
        secret.encrypt(&tag, &mut sealed);
        [&[VERSION][..], &tag, &sealed].concat()
    }

    /// The content of a token that one of the keys has sealed with the same binding.
    pub(super) fn open(&self, bound: &[&[u8]], token: &[u8]) -> Option<Vec<u8>> {
        let (tag, sealed) = token.strip_prefix(&[VERSION])?.split_first_chunk::<TAG>()?;
        self.secrets.iter().find_map(|secret| {
            let mut content = sealed.to_vec();
            secret.encrypt(tag, &mut content);
            // The comparison takes the same time for all tags.
            let is_authentic = self.mac(secret, bound, &content).verify_slice(tag).is_ok();
            is_authentic.then_some(content)
        })
    }

    fn mac(&self, secret: &Secret, bound: &[&[u8]], content: &[u8]) -> Hmac<Sha256> {
        let mut mac = keyed(&secret.authentication);
        let context = self.context.as_deref().map(str::as_bytes);
        // With the numbers of parts and their lengths, different parts are different messages.
        let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX).to_be_bytes();
        mac.update(&number(bound.len()));
        mac.update(&[u8::from(context.is_some())]);
        for part in bound.iter().copied().chain(context) {
            mac.update(&number(part.len()));
            mac.update(part);
        }
        mac.update(content);
        mac
    }
}

impl Secret {
    fn new(key: &[u8; 32]) -> Self {
        let mut padded = Zeroizing::new([0; 64]);
        padded[..32].copy_from_slice(key);
        let derived = |purpose: &str| {
            let mut mac = keyed(&padded);
            mac.update(purpose.as_bytes());
            Zeroizing::new(<[u8; 32]>::from(mac.finalize().into_bytes()))
        };
        let mut authentication = Zeroizing::new([0; 64]);
        authentication[..32].copy_from_slice(&*derived("marula page token 1: authentication"));
        Secret {
            authentication,
            encryption: derived("marula page token 1: encryption"),
        }
    }

    /// Encrypts and decrypts.
    fn encrypt(&self, tag: &[u8; TAG], content: &mut [u8]) {
        let mut counter = [0; COUNTER];
        counter.copy_from_slice(&tag[..COUNTER]);
        let key = Zeroizing::new((*self.encryption).into());
        Ctr128BE::<Aes256>::new(&key, &counter.into()).apply_keystream(content);
    }
}

fn keyed(key: &[u8; 64]) -> Hmac<Sha256> {
    <Hmac<Sha256> as KeyInit>::new(&Zeroizing::new((*key).into()))
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: [&[u8]; 2] = [b"shop.orders", b"sort"];

    #[test]
    fn a_changed_byte_of_a_sealed_token_is_found() {
        let key = TokenKey::new([1; 32]).context("user 17");
        let content = b"some content of more than one block of the cipher".to_vec();
        let sealed = key.seal(&BOUND, content.clone());
        assert_eq!(key.open(&BOUND, &sealed), Some(content.clone()));
        assert!(!sealed.windows(7).any(|part| part == b"content"));
        for at in 0..sealed.len() {
            for bit in 0..8 {
                let mut changed = sealed.clone();
                changed[at] ^= 1 << bit;
                assert_eq!(key.open(&BOUND, &changed), None, "{at}");
            }
            assert_eq!(key.open(&BOUND, &sealed[..at]), None, "{at}");
        }
        assert_eq!(key.open(&BOUND, &[&sealed[..], &[0]].concat()), None);
    }

    #[test]
    fn bindings_are_not_ambiguous() {
        let key = TokenKey::new([1; 32]);
        let sealed = key.seal(&BOUND, b"content".to_vec());
        let moved: [&[u8]; 2] = [b"shop.order", b"ssort"];
        let more: [&[u8]; 3] = [b"shop.orders", b"sort", b""];
        for bound in [&moved[..], &more, &BOUND[..1]] {
            assert_eq!(key.open(bound, &sealed), None);
        }
        assert_eq!(key.context("").open(&BOUND, &sealed), None);
        assert!(key.open(&BOUND, &sealed).is_some());
    }
}
