//! The server side of SCRAM (RFC 5802, RFC 7677): credentials credentials, and the conversation.

use super::UserName;
use base64::engine::{Engine as _, general_purpose::STANDARD as BASE64};
use bson::Binary;
use hmac::{EagerHash, Hmac, KeyInit, Mac};
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::Sha256;

/// The hash function of a SCRAM mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha1,
    Sha256,
}

impl Hash {
    pub(crate) const ALL: [Hash; 2] = [Hash::Sha1, Hash::Sha256];

    pub(crate) fn mechanism(self) -> &'static str {
        match self {
            Hash::Sha1 => "SCRAM-SHA-1",
            Hash::Sha256 => "SCRAM-SHA-256",
        }
    }

    pub(crate) fn of_mechanism(name: &str) -> Option<Hash> {
        Hash::ALL.into_iter().find(|hash| hash.mechanism() == name)
    }

    fn digest(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Hash::Sha1 => Sha1::digest(bytes).to_vec(),
            Hash::Sha256 => Sha256::digest(bytes).to_vec(),
        }
    }

    fn hmac(self, key: &[u8], message: &[u8]) -> Vec<u8> {
        match self {
            Hash::Sha1 => hmac::<Sha1>(key, message),
            Hash::Sha256 => hmac::<Sha256>(key, message),
        }
    }

    /// SaltedPassword of RFC 5802.
    fn salted_password(self, password: &[u8], salt: &[u8], iterations: u32) -> Vec<u8> {
        let mut out = vec![0; self.digest(b"").len()];
        match self {
            Hash::Sha1 => pbkdf2::pbkdf2_hmac::<Sha1>(password, salt, iterations, &mut out),
            Hash::Sha256 => pbkdf2::pbkdf2_hmac::<Sha256>(password, salt, iterations, &mut out),
        }
        out
    }
}

fn hmac<D: EagerHash>(key: &[u8], message: &[u8]) -> Vec<u8>
where
    Hmac<D>: KeyInit + Mac,
{
    let mut mac = <Hmac<D> as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

/// The credentials that the server stores for a user instead of the password.
#[derive(Debug, Clone)]
pub(crate) struct Credentials {
    salt: Vec<u8>,
    iterations: u32,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

impl Credentials {
    /// `None` if SASLprep prohibits the password.
    pub(crate) fn new(hash: Hash, user: &str, password: &str, iterations: u32) -> Option<Credentials> {
        let password = match hash {
            Hash::Sha1 => hex(&Md5::digest(format!("{user}:mongo:{password}"))),
            Hash::Sha256 => stringprep::saslprep(password).ok()?.into_owned(),
        };
        let salt = random()[..16].to_vec();
        let salted = hash.salted_password(password.as_bytes(), &salt, iterations);
        Some(Credentials {
            stored_key: hash.digest(&hash.hmac(&salted, b"Client Key")),
            server_key: hash.hmac(&salted, b"Server Key"),
            salt,
            iterations,
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// 32 bytes of two random UUIDs (version 4), in which 12 bits are fixed.
pub(super) fn random() -> [u8; 32] {
    let halves = [bson::Uuid::new().bytes(), bson::Uuid::new().bytes()];
    let mut bytes = [0; 32];
    for (chunk, half) in bytes.chunks_mut(16).zip(halves) {
        chunk.copy_from_slice(&half);
    }
    bytes
}

/// A conversation that expects a further client message.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) id: i32,
    pub(crate) user: UserName,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Expects the client-final-message with the proof.
    ClientFinal {
        hash: Hash,
        credentials: Credentials,
        nonce: String,
        /// The client-first-message-bare and the server-first-message, separated by a comma: the
        /// beginning of AuthMessage.
        first_messages: String,
        skip_empty_exchange: bool,
    },
    /// Expects an empty message, without `skipEmptyExchange`.
    Empty,
}

/// The client-first-message.
pub(crate) struct ClientFirst<'m> {
    pub(crate) name: String,
    nonce: &'m str,
    bare: &'m str,
}

impl<'m> ClientFirst<'m> {
    /// `None` if the message is malformed, or has channel binding, an authorization identity or
    /// extensions.
    pub(crate) fn parse(payload: &'m [u8]) -> Option<ClientFirst<'m>> {
        let bare = std::str::from_utf8(payload).ok()?.strip_prefix("n,,")?;
        let (name, nonce) = bare.strip_prefix("n=")?.split_once(",r=")?;
        if nonce.is_empty() || nonce.contains(',') {
            return None;
        }
        let name = name.replace("=2C", ",").replace("=3D", "=");
        Some(ClientFirst { name, nonce, bare })
    }
}

impl Conversation {
    /// Starts a conversation; returns it and the server-first-message.
    pub(crate) fn start(
        id: i32,
        user: UserName,
        (hash, credentials): (Hash, Credentials),
        first: &ClientFirst<'_>,
        skip_empty_exchange: bool,
    ) -> (Conversation, String) {
        let nonce = format!("{}{}", first.nonce, BASE64.encode(random()));
        let message = format!(
            "r={nonce},s={},i={}",
            BASE64.encode(&credentials.salt),
            credentials.iterations
        );
        let state = State::ClientFinal {
            hash,
            credentials,
            first_messages: format!("{},{message}", first.bare),
            nonce,
            skip_empty_exchange,
        };
        (Conversation { id, user, state }, message)
    }

    /// Processes the next client message. Returns the server message, and the conversation unless
    /// it is complete; `None` if authentication fails.
    pub(crate) fn step(self, payload: &[u8]) -> Option<(String, Option<Conversation>)> {
        let (hash, credentials, nonce, first_messages, skip) = match self.state {
            State::Empty => return payload.is_empty().then(|| (String::new(), None)),
            State::ClientFinal {
                hash,
                credentials,
                nonce,
                first_messages,
                skip_empty_exchange,
            } => (hash, credentials, nonce, first_messages, skip_empty_exchange),
        };
        let (without_proof, proof) = std::str::from_utf8(payload).ok()?.split_once(",p=")?;
        if without_proof != format!("c=biws,r={nonce}") {
            return None;
        }
        let auth_message = format!("{first_messages},{without_proof}");
        let proof = Binary::from_base64(proof, None).ok()?.bytes;
        let signature = hash.hmac(&credentials.stored_key, auth_message.as_bytes());
        let client_key: Vec<u8> = proof.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        if proof.len() != signature.len() || hash.digest(&client_key) != credentials.stored_key {
            return None;
        }
        let message = format!(
            "v={}",
            BASE64.encode(hash.hmac(&credentials.server_key, auth_message.as_bytes()))
        );
        let next = Conversation {
            state: State::Empty,
            ..self
        };
        Some((message, (!skip).then_some(next)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, section 3.
    #[test]
    fn rfc_7677_example() {
        let salt = Binary::from_base64("W22ZaJ0SNY7soEsUEjb6gQ==", None)
            .unwrap()
            .bytes;
        let salted = Hash::Sha256.salted_password(b"pencil", &salt, 4096);
        let credentials = Credentials {
            stored_key: Hash::Sha256.digest(&Hash::Sha256.hmac(&salted, b"Client Key")),
            server_key: Hash::Sha256.hmac(&salted, b"Server Key"),
            salt,
            iterations: 4096,
        };
        let nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let conversation = |proof: &str| {
            let conversation = Conversation {
                id: 1,
                user: UserName::new("admin", "user"),
                state: State::ClientFinal {
                    hash: Hash::Sha256,
                    credentials: credentials.clone(),
                    nonce: nonce.to_owned(),
                    first_messages: format!(
                        "n=user,r=rOprNGfwEbeRWgbNEkqO,r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
                    ),
                    skip_empty_exchange: true,
                },
            };
            conversation.step(format!("c=biws,r={nonce},p={proof}").as_bytes())
        };
        let (message, next) = conversation("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=").unwrap();
        assert_eq!(message, "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        assert!(next.is_none());
        assert!(conversation("eHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=").is_none());
        assert!(conversation("").is_none());
    }

    #[test]
    fn client_first_messages_are_parsed() {
        let first = ClientFirst::parse(b"n,,n=a=2Cb=3D2C,r=x").unwrap();
        assert_eq!((first.name.as_str(), first.nonce), ("a,b=2C", "x"));
        for message in ["", "n,,n=a", "y,,n=a,r=x", "n,,n=a,r=", "n,,n=a,r=x,m=y"] {
            assert!(ClientFirst::parse(message.as_bytes()).is_none(), "{message}");
        }
    }

    #[test]
    fn saslprep_applies_to_sha_256_only() {
        assert!(Credentials::new(Hash::Sha256, "u", "\u{7}", 1).is_none());
        assert!(Credentials::new(Hash::Sha1, "u", "\u{7}", 1).is_some());
    }
}
