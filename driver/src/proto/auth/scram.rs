//! SCRAM (RFC 5802, RFC 7677) with the restrictions of the Authentication specification.

use std::{borrow::Cow, fmt};

use base64::engine::{Engine as _, general_purpose::STANDARD};
use md5::{Digest, Md5};

use super::mechanism::ScramHash;
use crate::{error::AuthenticationFailure, types::secret::Secret};

/// "SCRAM-SHA-1 … minimum iteration count of 4096" (Authentication): fewer iterations make the
/// password cheap to guess.
const MIN_ITERATIONS: u32 = 4096;
/// A limit, since the iteration count comes from the server: ten times the usual recommendations,
/// one minute of work.
const MAX_ITERATIONS: u32 = 10_000_000;
/// The header that says "no channel binding".
const GS2_HEADER: &str = "n,,";
/// The same in base 64.
const CHANNEL_BINDING: &str = "biws";

type Result<T> = std::result::Result<T, AuthenticationFailure>;

fn broken(why: impl Into<String>) -> AuthenticationFailure {
    AuthenticationFailure::Conversation(why.into())
}

/// Whose password is proved, and with which hash.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub(super) hash: ScramHash,
    pub(super) name: String,
    pub(super) password: Secret,
}

/// The input of `SaltedPassword`. Deriving the keys is slow, so they are cached.
#[derive(Clone, PartialEq, Eq)]
pub struct ScramParameters {
    hash: ScramHash,
    /// As the hash wants it: prepared, or digested with the user's name.
    password: String,
    salt: Vec<u8>,
    iterations: u32,
}

impl fmt::Debug for ScramParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScramParameters")
            .field("hash", &self.hash)
            .field("iterations", &self.iterations)
            .finish_non_exhaustive()
    }
}

/// The keys of a password with a salt.
#[derive(Clone, PartialEq, Eq)]
pub struct SaltedKeys {
    client: Vec<u8>,
    server: Vec<u8>,
}

impl fmt::Debug for SaltedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SaltedKeys(<redacted>)")
    }
}

impl ScramParameters {
    /// Derives the keys. Takes milliseconds of processor time.
    pub fn derive(&self) -> SaltedKeys {
        let salted = self
            .hash
            .salted_password(self.password.as_bytes(), &self.salt, self.iterations);
        SaltedKeys {
            client: self.hash.hmac(&salted, b"Client Key"),
            server: self.hash.hmac(&salted, b"Server Key"),
        }
    }
}

/// The client's first message was made, and maybe sent.
#[derive(Debug)]
pub(super) struct ClientFirst {
    user: User,
    nonce: String,
    bare: String,
}

/// The server's first message was understood.
#[derive(Debug)]
pub(super) struct ServerFirst {
    hash: ScramHash,
    without_proof: String,
    signed: String,
}

/// The proof was made; the server must now prove that it knows the password too.
#[derive(Debug)]
pub(super) struct ClientFinal {
    hash: ScramHash,
    server_key: SaltedKeys,
    signed: String,
}

impl ClientFirst {
    pub(super) fn new(user: User, nonce: &[u8]) -> Self {
        let nonce = STANDARD.encode(nonce);
        let bare = format!("n={},r={nonce}", escape(&user.name));
        Self { user, nonce, bare }
    }

    pub(super) fn hash(&self) -> ScramHash {
        self.user.hash
    }

    pub(super) fn payload(&self) -> Vec<u8> {
        format!("{GS2_HEADER}{}", self.bare).into_bytes()
    }

    /// Takes the server's first message.
    pub(super) fn handle_server_first(self, payload: &[u8]) -> Result<(ScramParameters, ServerFirst)> {
        let text = text_of(payload)?;
        let (nonce, salt, iterations) = split_server_first(text)?;
        if nonce.strip_prefix(self.nonce.as_str()).is_none_or(str::is_empty) {
            return Err(broken("the server's nonce does not extend the client's"));
        }
        let salt = STANDARD
            .decode(salt)
            .map_err(|_| broken("the server's salt is not in base 64"))?;
        let iterations = checked_iterations(iterations)?;
        let without_proof = format!("c={CHANNEL_BINDING},r={nonce}");
        let parameters = ScramParameters {
            hash: self.user.hash,
            password: prepare(&self.user)?,
            salt,
            iterations,
        };
        let next = ServerFirst {
            hash: self.user.hash,
            signed: format!("{},{text},{without_proof}", self.bare),
            without_proof,
        };
        Ok((parameters, next))
    }
}

impl ServerFirst {
    pub(super) fn hash(&self) -> ScramHash {
        self.hash
    }

    /// The client's final message.
    pub(super) fn handle_keys(self, keys: SaltedKeys) -> (Vec<u8>, ClientFinal) {
        let stored = self.hash.digest(&keys.client);
        let signature = self.hash.hmac(&stored, self.signed.as_bytes());
        let proof: Vec<u8> = keys.client.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        let message = format!("{},p={}", self.without_proof, STANDARD.encode(&proof));
        let next = ClientFinal {
            hash: self.hash,
            server_key: keys,
            signed: self.signed,
        };
        (message.into_bytes(), next)
    }
}

impl ClientFinal {
    pub(super) fn hash(&self) -> ScramHash {
        self.hash
    }

    /// Takes the server's final message: its signature, or the reason of its refusal.
    pub(super) fn handle_server_final(self, payload: &[u8]) -> Result<()> {
        let text = text_of(payload)?;
        let first = text.split(',').next().unwrap_or_default();
        if let Some(reason) = first.strip_prefix("e=") {
            return Err(broken(format!("the server answers {reason:?}")));
        }
        let signature = first
            .strip_prefix("v=")
            .ok_or_else(|| broken("the server's last message has no signature"))?;
        let signature = STANDARD
            .decode(signature)
            .map_err(|_| broken("the server's signature is not in base 64"))?;
        if self
            .hash
            .verify_hmac(&self.server_key.server, self.signed.as_bytes(), &signature)
        {
            Ok(())
        } else {
            Err(broken(
                "the server's signature is wrong: it does not know the password",
            ))
        }
    }
}

fn text_of(payload: &[u8]) -> Result<&str> {
    std::str::from_utf8(payload).map_err(|_| broken("the server's message is not UTF-8"))
}

/// Nonce, salt and iteration count: these fields in this order, and extensions after them.
fn split_server_first(text: &str) -> Result<(&str, &str, &str)> {
    let mut fields = text.split(',');
    let mut field = |name: &str| {
        let found = fields.next().unwrap_or_default();
        if let Some(reason) = found.strip_prefix("e=") {
            return Err(broken(format!("the server answers {reason:?}")));
        }
        if found.starts_with("m=") {
            return Err(broken("the server demands an extension of SCRAM"));
        }
        found
            .strip_prefix(name)
            .ok_or_else(|| broken(format!("the server's first message lacks {name}")))
    };
    Ok((field("r=")?, field("s=")?, field("i=")?))
}

fn checked_iterations(text: &str) -> Result<u32> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(broken("the server's iteration count is not a number"));
    }
    // More digits than fit are too many iterations.
    match text.parse::<u32>().unwrap_or(u32::MAX) {
        count if count < MIN_ITERATIONS => Err(broken(format!(
            "the server wants {count} iterations, and fewer than {MIN_ITERATIONS} are not safe"
        ))),
        count if count > MAX_ITERATIONS => Err(broken(format!(
            "the server wants {text} iterations, and more than {MAX_ITERATIONS} take too long"
        ))),
        count => Ok(count),
    }
}

/// `=` and `,` separate fields.
fn escape(name: &str) -> String {
    name.replace('=', "=3D").replace(',', "=2C")
}

fn prepare(user: &User) -> Result<String> {
    let password = user.password.expose();
    match user.hash {
        ScramHash::Sha256 => stringprep::saslprep(password)
            .map(Cow::into_owned)
            .map_err(|_| AuthenticationFailure::Password),
        ScramHash::Sha1 => {
            let digest = Md5::digest(format!("{}:mongo:{password}", user.name));
            Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
