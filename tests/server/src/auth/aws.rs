//! The server's part of `MONGODB-AWS`. MongoDB sends the signed request to the Security Token
//! Service; here the settings contain the keys, and the signature is computed again.

use crate::auth::scram::random;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, DateTime, Document, doc};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The tolerated difference between the clocks, in milliseconds.
const CLOCK_SKEW: i64 = 5 * 60 * 1000;
/// The signed request.
const BODY: &str = "Action=GetCallerIdentity&Version=2011-06-15";

/// The credentials of a user.
#[derive(Debug, Clone)]
pub(crate) struct AwsUser {
    pub(crate) access_key_id: String,
    pub(crate) secret_access_key: String,
    pub(crate) session_token: Option<String>,
}

/// A conversation after the first message of the server.
#[derive(Debug)]
pub(crate) struct Conversation {
    nonce: Vec<u8>,
    host: String,
}

impl Conversation {
    /// Handles the first message of the client. `None` if it is malformed.
    pub(crate) fn start(payload: &[u8], host: &str) -> Option<(Conversation, Vec<u8>)> {
        let message = Document::from_reader(payload).ok()?;
        let nonce = match message.get("r") {
            Some(Bson::Binary(nonce)) if nonce.bytes.len() == 32 => &nonce.bytes,
            _ => return None,
        };
        if message.get_i32("p").ok()? != i32::from(b'n') || message.len() != 2 {
            return None;
        }
        let nonce: Vec<u8> = nonce.iter().copied().chain(random()).collect();
        let reply = Binary {
            subtype: BinarySubtype::Generic,
            bytes: nonce.clone(),
        };
        let host = host.to_owned();
        let reply = doc! { "s": reply, "h": &host }.to_vec().ok()?;
        Some((Conversation { nonce, host }, reply))
    }

    /// Verifies the second message of the client. Returns the user.
    pub(crate) fn finish<'u>(&self, payload: &[u8], users: &'u [AwsUser]) -> Option<&'u AwsUser> {
        let message = Document::from_reader(payload).ok()?;
        let authorization = message.get_str("a").ok()?;
        let date = message.get_str("d").ok()?;
        let token = match message.get("t") {
            None => None,
            Some(Bson::String(token)) => Some(token.as_str()),
            Some(_) => return None,
        };
        if (DateTime::now().timestamp_millis() - millis(date)?).abs() > CLOCK_SKEW {
            return None;
        }
        users.iter().find(|user| {
            user.session_token.as_deref() == token && self.authorization(user, date) == authorization
        })
    }

    /// The value that the client must send.
    fn authorization(&self, user: &AwsUser, date: &str) -> String {
        let mut headers = format!(
            "content-length:{}\ncontent-type:application/x-www-form-urlencoded\nhost:{}\nx-amz-date:{date}\n",
            BODY.len(),
            self.host
        );
        let mut names = "content-length;content-type;host;x-amz-date".to_owned();
        if let Some(token) = &user.session_token {
            let _ = writeln!(headers, "x-amz-security-token:{token}");
            names.push_str(";x-amz-security-token");
        }
        let nonce = BASE64.encode(&self.nonce);
        let _ = write!(
            headers,
            "x-mongodb-gs2-cb-flag:n\nx-mongodb-server-nonce:{nonce}\n"
        );
        names.push_str(";x-mongodb-gs2-cb-flag;x-mongodb-server-nonce");
        let region = match self.host.as_str() {
            "sts.amazonaws.com" => "us-east-1",
            host => host.split('.').nth(1).unwrap_or("us-east-1"),
        };
        let day = &date[..8];
        let scope = format!("{day}/{region}/sts/aws4_request");
        let request = format!("POST\n/\n\n{headers}\n{names}\n{}", hex(&Sha256::digest(BODY)));
        let text = format!(
            "AWS4-HMAC-SHA256\n{date}\n{scope}\n{}",
            hex(&Sha256::digest(request))
        );
        let mut key = format!("AWS4{}", user.secret_access_key).into_bytes();
        for part in [day, region, "sts", "aws4_request", &text] {
            key = hmac(&key, part);
        }
        format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={}",
            user.access_key_id,
            hex(&key)
        )
    }
}

fn hmac(key: &[u8], message: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(message.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The milliseconds of a time in the form `YYYYMMDDTHHMMSSZ`.
fn millis(date: &str) -> Option<i64> {
    let is_valid = date.len() == 16 && date.is_ascii() && date.ends_with('Z') && &date[8..9] == "T";
    if !is_valid {
        return None;
    }
    let parts = [0..4, 4..6, 6..8, 9..11, 11..13, 13..15].map(|range| &date[range]);
    let [year, month, day, hour, minute, second] = parts;
    let text = format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z");
    DateTime::parse_rfc3339_str(text)
        .ok()
        .map(DateTime::timestamp_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(token: Option<&str>) -> AwsUser {
        AwsUser {
            access_key_id: "AKIDEXAMPLE".to_owned(),
            secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: token.map(str::to_owned),
        }
    }

    fn conversation(host: &str) -> Conversation {
        Conversation {
            nonce: (0..64).collect(),
            host: host.to_owned(),
        }
    }

    #[test]
    fn the_signature_is_that_of_the_vectors() {
        let date = "20200101T000000Z";
        let global = conversation("sts.amazonaws.com").authorization(&user(None), date);
        assert!(global.ends_with("=7d1e9185fc6feeb2d9284ebfd3dd4adfcf7d595934cf1e4eff7e22e5dab2f238"));
        let regional = conversation("sts.us-west-2.amazonaws.com").authorization(&user(Some("TOKEN")), date);
        assert!(regional.ends_with("=f3d88a289673080ab0c0602d9bd2e130a6ddb6085d69bfe9e06991b2dc5243b7"));
    }

    #[test]
    fn old_dates_and_other_users_are_rejected() {
        let conversation = conversation("sts.amazonaws.com");
        let users = [user(None), user(Some("TOKEN"))];
        let verify = |date: &str, signer: &AwsUser, token: Option<&str>| {
            let mut message = doc! { "a": conversation.authorization(signer, date), "d": date };
            if let Some(token) = token {
                message.insert("t", token);
            }
            conversation.finish(&message.to_vec().unwrap(), &users).is_some()
        };
        let now = DateTime::now().try_to_rfc3339_string().unwrap();
        let digits: String = now.chars().filter(char::is_ascii_digit).take(14).collect();
        let now = format!("{}T{}Z", &digits[..8], &digits[8..]);
        assert!(verify(&now, &users[0], None));
        assert!(verify(&now, &users[1], Some("TOKEN")));
        assert!(!verify(&now, &users[0], Some("TOKEN")));
        assert!(!verify("20200101T000000Z", &users[0], None));
        let other = AwsUser {
            secret_access_key: "other".to_owned(),
            ..user(None)
        };
        assert!(!verify(&now, &other, None));
        assert_eq!(millis("2020010-T000000Z"), None);
    }

    #[test]
    fn malformed_messages_are_rejected() {
        let nonce = |length| Binary {
            subtype: BinarySubtype::Generic,
            bytes: vec![7; length],
        };
        let start = |message: Document| Conversation::start(&message.to_vec().unwrap(), "localhost");
        let (conversation, reply) = start(doc! { "r": nonce(32), "p": 110 }).unwrap();
        let reply = Document::from_reader(reply.as_slice()).unwrap();
        assert_eq!(reply.get_binary_generic("s").unwrap().len(), 64);
        assert_eq!(reply.get_str("h").unwrap(), "localhost");
        assert!(conversation.nonce.starts_with(&[7; 32]));
        for odd in [
            doc! { "r": nonce(31), "p": 110 },
            doc! { "r": nonce(32), "p": 121 },
            doc! { "r": nonce(32) },
            doc! {},
        ] {
            assert!(start(odd).is_none());
        }
    }
}
