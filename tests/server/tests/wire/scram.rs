//! The client side of SCRAM-SHA-256 (RFC 5802, RFC 7677).

use crate::client::{Client, code, on};
use bson::spec::BinarySubtype;
use bson::{Binary, doc};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap();
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

fn payload(text: &str) -> Binary {
    Binary {
        subtype: BinarySubtype::Generic,
        bytes: text.as_bytes().to_vec(),
    }
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for digit in 0..4 {
            text.push(if digit <= chunk.len() {
                char::from(ALPHABET[(bits >> (18 - 6 * digit)) as usize % 64])
            } else {
                '='
            });
        }
    }
    text
}

/// Authenticates a connection.
pub(crate) async fn authenticate(client: &mut Client, db: &str, user: &str, password: &str) {
    let first = format!("n={user},r=abcdef");
    let start = doc! {
        "saslStart": 1,
        "mechanism": "SCRAM-SHA-256",
        "payload": payload(&format!("n,,{first}")),
        "options": { "skipEmptyExchange": true },
    };
    let reply = client.run(on(db, start)).await;
    assert_eq!(code(&reply), 0, "{reply}");
    let server_first = String::from_utf8(reply.get_binary_generic("payload").unwrap().clone()).unwrap();
    let part = |name: &str| {
        let found = server_first.split(',').find_map(|part| part.strip_prefix(name));
        found.unwrap().to_owned()
    };
    let salt = Binary::from_base64(part("s="), None).unwrap().bytes;
    let mut salted = [0; 32];
    let iterations = part("i=").parse().unwrap();
    pbkdf2::pbkdf2_hmac::<Sha256>(password.as_bytes(), &salt, iterations, &mut salted);
    let without_proof = format!("c=biws,r={}", part("r="));
    let client_key = hmac(&salted, b"Client Key");
    let message = format!("{first},{server_first},{without_proof}");
    let signature = hmac(&Sha256::digest(&client_key), message.as_bytes());
    let proof: Vec<u8> = client_key.iter().zip(signature).map(|(a, b)| a ^ b).collect();
    let proof = payload(&format!("{without_proof},p={}", base64(&proof)));
    let id = reply.get_i32("conversationId").unwrap();
    let reply = client
        .run(on(
            db,
            doc! { "saslContinue": 1, "conversationId": id, "payload": proof },
        ))
        .await;
    assert_eq!(code(&reply), 0, "{reply}");
    assert!(reply.get_bool("done").unwrap());
}
