//! The server's side of SCRAM (RFC 5802): what is kept of a password, and one conversation.

use super::UserName;
use bson::Binary;
use hmac::{EagerHash, Hmac, KeyInit, Mac};
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::Sha256;

/// The hashes, by the names of their mechanisms.
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

    fn sign(self, key: &[u8], message: &[u8]) -> Vec<u8> {
        match self {
            Hash::Sha1 => sign::<Sha1>(key, message),
            Hash::Sha256 => sign::<Sha256>(key, message),
        }
    }

    fn salted(self, password: &[u8], salt: &[u8], iterations: u32) -> Vec<u8> {
        let mut out = vec![0; self.digest(b"").len()];
        match self {
            Hash::Sha1 => pbkdf2::pbkdf2_hmac::<Sha1>(password, salt, iterations, &mut out),
            Hash::Sha256 => pbkdf2::pbkdf2_hmac::<Sha256>(password, salt, iterations, &mut out),
        }
        out
    }
}

fn sign<D: EagerHash>(key: &[u8], message: &[u8]) -> Vec<u8>
where
    Hmac<D>: KeyInit + Mac,
{
    let mut mac = <Hmac<D> as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

/// What the server keeps of a password.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    salt: Vec<u8>,
    iterations: u32,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

impl Stored {
    /// `None` for a password that SASLprep does not allow.
    pub(crate) fn new(hash: Hash, user: &str, password: &str, iterations: u32) -> Option<Stored> {
        let password = match hash {
            Hash::Sha1 => hex(&Md5::digest(format!("{user}:mongo:{password}"))),
            Hash::Sha256 => stringprep::saslprep(password).ok()?.into_owned(),
        };
        let salt = random()[..16].to_vec();
        let salted = hash.salted(password.as_bytes(), &salt, iterations);
        Some(Stored {
            stored_key: hash.digest(&hash.sign(&salted, b"Client Key")),
            server_key: hash.sign(&salted, b"Server Key"),
            salt,
            iterations,
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// 32 random bytes, of which 12 bits are fixed.
fn random() -> [u8; 32] {
    let halves = [bson::Uuid::new().bytes(), bson::Uuid::new().bytes()];
    let mut bytes = [0; 32];
    for (place, half) in bytes.chunks_mut(16).zip(halves) {
        place.copy_from_slice(&half);
    }
    bytes
}

/// A conversation that the client goes on with.
#[derive(Debug)]
pub(crate) struct Conversation {
    pub(crate) id: i32,
    pub(crate) user: UserName,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The client must prove that it knows the password.
    Proof {
        hash: Hash,
        stored: Stored,
        nonce: String,
        /// The first messages of both sides.
        said: String,
        skip_empty_exchange: bool,
    },
    /// The client must say that it is content.
    LastWord,
}

/// What the client says first: its name and its nonce.
pub(crate) struct ClientFirst<'m> {
    pub(crate) name: String,
    nonce: &'m str,
    bare: &'m str,
}

impl<'m> ClientFirst<'m> {
    /// `None` if the message is not well-formed, or asks for what the server does not have.
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
    /// Begins, and says the server's first message.
    pub(crate) fn begin(
        id: i32,
        user: UserName,
        (hash, stored): (Hash, Stored),
        first: &ClientFirst<'_>,
        skip_empty_exchange: bool,
    ) -> (Conversation, String) {
        let nonce = format!("{}{}", first.nonce, base64(&random()));
        let message = format!("r={nonce},s={},i={}", base64(&stored.salt), stored.iterations);
        let state = State::Proof {
            hash,
            stored,
            said: format!("{},{message}", first.bare),
            nonce,
            skip_empty_exchange,
        };
        (Conversation { id, user, state }, message)
    }

    /// Takes the client's next message. Says the server's, and the conversation unless it is over. `None` ends it badly.
    pub(crate) fn go_on(self, payload: &[u8]) -> Option<(String, Option<Conversation>)> {
        let (hash, stored, nonce, said, skip) = match self.state {
            State::LastWord => return payload.is_empty().then(|| (String::new(), None)),
            State::Proof {
                hash,
                stored,
                nonce,
                said,
                skip_empty_exchange,
            } => (hash, stored, nonce, said, skip_empty_exchange),
        };
        let (without_proof, proof) = std::str::from_utf8(payload).ok()?.split_once(",p=")?;
        if without_proof != format!("c=biws,r={nonce}") {
            return None;
        }
        let signed = format!("{said},{without_proof}");
        let proof = Binary::from_base64(proof, None).ok()?.bytes;
        let signature = hash.sign(&stored.stored_key, signed.as_bytes());
        let client_key: Vec<u8> = proof.iter().zip(&signature).map(|(a, b)| a ^ b).collect();
        if proof.len() != signature.len() || hash.digest(&client_key) != stored.stored_key {
            return None;
        }
        let message = format!("v={}", base64(&hash.sign(&stored.server_key, signed.as_bytes())));
        let next = Conversation {
            state: State::LastWord,
            ..self
        };
        Some((message, (!skip).then_some(next)))
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0_usize, |word, at| {
            word << 8 | usize::from(chunk.get(at).copied().unwrap_or(0))
        });
        for place in 0..4 {
            let letter = char::from(LETTERS[word >> (18 - 6 * place) & 63]);
            text.push(if place <= chunk.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    /// The example of RFC 7677, with the server's part of the nonce fixed.
    #[test]
    fn the_example_of_the_standard_holds() {
        let salt = Binary::from_base64("W22ZaJ0SNY7soEsUEjb6gQ==", None)
            .unwrap()
            .bytes;
        let salted = Hash::Sha256.salted(b"pencil", &salt, 4096);
        let stored = Stored {
            stored_key: Hash::Sha256.digest(&Hash::Sha256.sign(&salted, b"Client Key")),
            server_key: Hash::Sha256.sign(&salted, b"Server Key"),
            salt,
            iterations: 4096,
        };
        let nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let conversation = |proof: &str| {
            let conversation = Conversation {
                id: 1,
                user: UserName::new("admin", "user"),
                state: State::Proof {
                    hash: Hash::Sha256,
                    stored: stored.clone(),
                    nonce: nonce.to_owned(),
                    said: format!(
                        "n=user,r=rOprNGfwEbeRWgbNEkqO,r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
                    ),
                    skip_empty_exchange: true,
                },
            };
            conversation.go_on(format!("c=biws,r={nonce},p={proof}").as_bytes())
        };
        let (message, next) = conversation("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=").unwrap();
        assert_eq!(message, "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
        assert!(next.is_none());
        assert!(conversation("eHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=").is_none());
        assert!(conversation("").is_none());
    }

    #[test]
    fn first_messages_are_taken_apart() {
        let first = ClientFirst::parse(b"n,,n=a=2Cb=3D2C,r=x").unwrap();
        assert_eq!((first.name.as_str(), first.nonce), ("a,b=2C", "x"));
        for message in ["", "n,,n=a", "y,,n=a,r=x", "n,,n=a,r=", "n,,n=a,r=x,m=y"] {
            assert!(ClientFirst::parse(message.as_bytes()).is_none(), "{message}");
        }
    }

    #[test]
    fn passwords_are_prepared_for_the_newer_hash() {
        assert!(Stored::new(Hash::Sha256, "u", "\u{7}", 1).is_none());
        assert!(Stored::new(Hash::Sha1, "u", "\u{7}", 1).is_some());
    }
}
