//! SCRAM (RFC 5802, RFC 7677) with the restrictions of the Authentication specification
//! ("SCRAM-SHA-1", "SCRAM-SHA-256").

use std::fmt;

use base64::engine::{Engine as _, general_purpose::STANDARD};
use md5::{Digest, Md5};
use zeroize::Zeroizing;

use super::mechanism::ScramHash;
use crate::{error::AuthenticationFailure, types::secret::Secret};

/// "SCRAM-SHA-1 … minimum iteration count of 4096" (Authentication). Fewer iterations would make it
/// cheap to guess the password.
const MIN_ITERATIONS: u32 = 4096;
/// The maximum iteration count. The server chooses the count; without a limit it could make the
/// client compute for hours. The limit is ten times the usual recommendations, about one minute of
/// processor time.
const MAX_ITERATIONS: u32 = 10_000_000;
/// `gs2-header` without channel binding (RFC 5802, section 7).
const GS2_HEADER: &str = "n,,";
/// `gs2-header` in base64.
const CHANNEL_BINDING: &str = "biws";

type Result<T> = std::result::Result<T, AuthenticationFailure>;

fn invalid_message(why: impl Into<String>) -> AuthenticationFailure {
    AuthenticationFailure::Conversation(why.into())
}

/// The user and the hash function of a conversation.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub(super) hash: ScramHash,
    pub(super) name: String,
    pub(super) password: Secret,
}

/// The parameters of `SaltedPassword` (RFC 5802, section 3). Deriving the keys is slow, so they are
/// cached by these parameters.
#[derive(Clone, PartialEq, Eq)]
pub struct ScramParameters {
    hash: ScramHash,
    /// The password as the hash function requires it: SASLprep for SCRAM-SHA-256, the MD5 digest
    /// with the user name for SCRAM-SHA-1.
    password: Secret,
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

/// `ClientKey` and `ServerKey`.
#[derive(Clone, PartialEq, Eq)]
pub struct SaltedKeys {
    client: Zeroizing<Vec<u8>>,
    server: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for SaltedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SaltedKeys(<redacted>)")
    }
}

impl ScramParameters {
    /// Derives the keys. Takes milliseconds to seconds of processor time.
    pub fn derive(&self) -> SaltedKeys {
        let password = self.password.expose().as_bytes();
        let salted = self.hash.salted_password(password, &self.salt, self.iterations);
        let salted = Zeroizing::new(salted);
        SaltedKeys {
            client: Zeroizing::new(self.hash.hmac(&salted, b"Client Key")),
            server: Zeroizing::new(self.hash.hmac(&salted, b"Server Key")),
        }
    }
}

/// The state after `client-first-message`.
#[derive(Debug)]
pub(super) struct ClientFirst {
    user: User,
    nonce: String,
    bare: String,
}

/// The state after `server-first-message`, until the keys are derived.
#[derive(Debug)]
pub(super) struct ServerFirst {
    hash: ScramHash,
    without_proof: String,
    signed: String,
}

/// The state after `client-final-message`. The server's signature must prove that it knows the
/// keys.
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

    /// Parses `server-first-message`.
    pub(super) fn handle_server_first(self, payload: &[u8]) -> Result<(ScramParameters, ServerFirst)> {
        let text = text_of(payload)?;
        let (nonce, salt, iterations) = split_server_first(text)?;
        if nonce.strip_prefix(self.nonce.as_str()).is_none_or(str::is_empty) {
            return Err(invalid_message("the server's nonce does not extend the client's"));
        }
        let salt = STANDARD
            .decode(salt)
            .map_err(|_| invalid_message("the server's salt is not valid base64"))?;
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

    /// `client-final-message` with the proof.
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

    /// Verifies `server-final-message`: it contains the signature or an error.
    pub(super) fn handle_server_final(self, payload: &[u8]) -> Result<()> {
        let text = text_of(payload)?;
        let first = text.split(',').next().unwrap_or_default();
        if let Some(reason) = first.strip_prefix("e=") {
            return Err(invalid_message(format!(
                "the server replied with the error {reason:?}"
            )));
        }
        let signature = first
            .strip_prefix("v=")
            .ok_or_else(|| invalid_message("the server's last message has no signature"))?;
        let signature = STANDARD
            .decode(signature)
            .map_err(|_| invalid_message("the server's signature is not valid base64"))?;
        if self
            .hash
            .verify_hmac(&self.server_key.server, self.signed.as_bytes(), &signature)
        {
            Ok(())
        } else {
            Err(invalid_message(
                "the server's signature is wrong: it does not know the password",
            ))
        }
    }
}

fn text_of(payload: &[u8]) -> Result<&str> {
    std::str::from_utf8(payload).map_err(|_| invalid_message("the server's message is not UTF-8"))
}

/// Splits `server-first-message` into nonce, salt and iteration count: these fields in this order,
/// optionally followed by extensions.
fn split_server_first(text: &str) -> Result<(&str, &str, &str)> {
    let mut fields = text.split(',');
    let mut field = |name: &str| {
        let found = fields.next().unwrap_or_default();
        if let Some(reason) = found.strip_prefix("e=") {
            return Err(invalid_message(format!(
                "the server replied with the error {reason:?}"
            )));
        }
        if found.starts_with("m=") {
            return Err(invalid_message(
                "the server requires an unsupported extension of SCRAM",
            ));
        }
        found
            .strip_prefix(name)
            .ok_or_else(|| invalid_message(format!("the server's first message lacks {name}")))
    };
    Ok((field("r=")?, field("s=")?, field("i=")?))
}

fn checked_iterations(text: &str) -> Result<u32> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid_message("the server's iteration count is not a number"));
    }
    // A number that does not fit is too large.
    match text.parse::<u32>().unwrap_or(u32::MAX) {
        count if count < MIN_ITERATIONS => Err(invalid_message(format!(
            "the server requests {count} iterations; fewer than {MIN_ITERATIONS} are not safe"
        ))),
        count if count > MAX_ITERATIONS => Err(invalid_message(format!(
            "the server requests {text} iterations; more than {MAX_ITERATIONS} take too long"
        ))),
        count => Ok(count),
    }
}

/// Escapes `=` and `,` in a user name (RFC 5802, section 5.1).
fn escape(name: &str) -> String {
    name.replace('=', "=3D").replace(',', "=2C")
}

fn prepare(user: &User) -> Result<Secret> {
    let password = user.password.expose();
    match user.hash {
        ScramHash::Sha256 => stringprep::saslprep(password)
            .map(Secret::new)
            .map_err(|_| AuthenticationFailure::Password),
        ScramHash::Sha1 => {
            let text = Zeroizing::new(format!("{}:mongo:{password}", user.name));
            Ok(Secret::new(hex::encode(Md5::digest(text.as_bytes()))))
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
