//! `MONGODB-AWS`: the payloads, the checks of the server's message, and AWS Signature Version 4
//! ([Authentication], "MONGODB-AWS").
//!
//! The signature is that of a request `GetCallerIdentity` to the Security Token Service. The server
//! sends the request; the driver does not.
//!
//! [Authentication]: https://github.com/mongodb/specifications/blob/master/source/auth/auth.md

use std::{fmt, time::Duration};

use base64::engine::{Engine as _, general_purpose::STANDARD};
use sha2::{Digest, Sha256};

use super::mechanism::ScramHash;
use crate::{
    bson::{BinarySubtype, DocumentWriter, civil, find_element},
    error::AuthenticationFailure,
    types::aws_credentials::AwsCredentials,
};

/// The length of the client's nonce, with which the server's nonce begins.
pub(super) const CLIENT_NONCE: usize = 32;
const SERVER_NONCE: usize = 64;
const MAX_HOST: usize = 255;
/// `n`: the client does not support channel binding.
const NO_CHANNEL_BINDING: i32 = b'n' as i32;
const BODY: &str = "Action=GetCallerIdentity&Version=2011-06-15";
/// The host without a region in its name, and the region of it and of hosts without a dot.
const GLOBAL_HOST: &str = "sts.amazonaws.com";
const GLOBAL_REGION: &str = "us-east-1";

/// The first message of the server.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct AwsServerFirst {
    nonce: [u8; SERVER_NONCE],
    host: String,
    region: String,
}

/// The payload of the first message: the nonce of the client.
pub(super) fn client_first(nonce: &[u8; CLIENT_NONCE]) -> Vec<u8> {
    document(|writer| {
        writer.binary("r", BinarySubtype::Generic, nonce);
        writer.i32("p", NO_CHANNEL_BINDING);
    })
}

fn document(write: impl FnOnce(&mut DocumentWriter<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = DocumentWriter::new(&mut bytes);
    let position = writer.begin();
    write(&mut writer);
    writer.end(position);
    // A document too long for BSON is left incomplete, and the server rejects it.
    let _ = writer.finish();
    bytes
}

impl AwsServerFirst {
    /// Parses the first message of the server, and checks that it answers the client's nonce.
    pub(super) fn parse(
        payload: &[u8],
        client_nonce: &[u8; CLIENT_NONCE],
    ) -> Result<Self, AuthenticationFailure> {
        let invalid = |why: &str| AuthenticationFailure::Conversation(why.to_owned());
        let field = |name| {
            find_element(payload, name)
                .map(|element| element.map(|element| element.value))
                .map_err(|_| invalid("the server's message is not valid BSON"))
        };
        let nonce = field("s")?.and_then(|value| value.binary().ok());
        let nonce: [u8; SERVER_NONCE] = nonce
            .and_then(|binary| binary.bytes.try_into().ok())
            .ok_or_else(|| invalid("the server's nonce is not 64 bytes long"))?;
        if !nonce.starts_with(client_nonce) {
            return Err(invalid(
                "the server's nonce does not begin with that of the client",
            ));
        }
        let host = field("h")?.and_then(|value| value.str().ok());
        let host = host.ok_or_else(|| invalid("the server names no host of the Security Token Service"))?;
        let region = region(host)
            .ok_or_else(|| invalid("the server's host of the Security Token Service is not a valid name"))?;
        Ok(Self {
            nonce,
            host: host.to_owned(),
            region: region.to_owned(),
        })
    }

    /// The payload of the second message, signed at this time since the Unix epoch.
    pub(super) fn sign(&self, credentials: &AwsCredentials, now: Duration) -> Vec<u8> {
        let date = basic_date(now);
        let authorization = self.authorization(credentials, &date);
        document(|writer| {
            writer.str("a", &authorization);
            writer.str("d", &date);
            if let Some(token) = &credentials.session_token {
                writer.str("t", token);
            }
        })
    }

    /// The header field `Authorization` of the request (AWS Signature Version 4).
    fn authorization(&self, credentials: &AwsCredentials, date: &str) -> String {
        let nonce = STANDARD.encode(self.nonce);
        let length = BODY.len().to_string();
        let mut headers = vec![
            ("content-length", length.as_str()),
            ("content-type", "application/x-www-form-urlencoded"),
            ("host", &self.host),
            ("x-amz-date", date),
        ];
        if let Some(token) = &credentials.session_token {
            headers.push(("x-amz-security-token", token));
        }
        headers.push(("x-mongodb-gs2-cb-flag", "n"));
        headers.push(("x-mongodb-server-nonce", &nonce));
        let names = headers
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join(";");
        let lines: String = headers
            .iter()
            .map(|(name, value)| format!("{name}:{}\n", value.trim()))
            .collect();
        let request = format!("POST\n/\n\n{lines}\n{names}\n{}", digest(BODY));
        let day = date.get(..8).unwrap_or(date);
        let scope = format!("{day}/{}/sts/aws4_request", self.region);
        let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", digest(&request));
        let secret = zeroize::Zeroizing::new(format!("AWS4{}", *credentials.secret_access_key));
        let key = [day, &self.region, "sts", "aws4_request"]
            .into_iter()
            .fold(secret.as_bytes().to_vec(), |key, part| {
                hmac(&zeroize::Zeroizing::new(key), part)
            });
        let key = zeroize::Zeroizing::new(key);
        let signature = hex(&hmac(&key, &to_sign));
        format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
            credentials.access_key_id
        )
    }
}

impl fmt::Debug for AwsServerFirst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsServerFirst")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

fn hmac(key: &[u8], message: &str) -> Vec<u8> {
    ScramHash::Sha256.hmac(key, message.as_bytes())
}

fn digest(text: &str) -> String {
    hex(&Sha256::digest(text))
}

fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// The region of a host of the Security Token Service: its second label. `None` for an invalid host.
fn region(host: &str) -> Option<&str> {
    // Only characters of host names: the host is part of the text that is signed, line by line.
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if host.is_empty() || host.len() > MAX_HOST || !host.bytes().all(is_name) {
        return None;
    }
    let mut labels = host.split('.');
    if labels.any(str::is_empty) {
        return None;
    }
    if host == GLOBAL_HOST {
        return Some(GLOBAL_REGION);
    }
    Some(host.split('.').nth(1).unwrap_or(GLOBAL_REGION))
}

/// The time in the form `YYYYMMDDTHHMMSSZ`.
fn basic_date(since_epoch: Duration) -> String {
    const DAY: u64 = 86_400;
    let seconds = since_epoch.as_secs();
    let (days, second) = (seconds / DAY, seconds % DAY);
    let (year, month, day) = civil(days.try_into().unwrap_or_default());
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bson::{Binary, Document, doc, to_vec};

    fn server_first(nonce: &[u8], host: &str) -> Document {
        let bytes = nonce.to_vec();
        let nonce = Binary {
            subtype: BinarySubtype::Generic,
            bytes,
        };
        doc! { "s": nonce, "h": host }
    }

    fn ascending() -> Vec<u8> {
        (0..64).collect()
    }

    fn client_nonce() -> [u8; CLIENT_NONCE] {
        std::array::from_fn(|index| index as u8)
    }

    fn parse(message: &Document) -> Result<AwsServerFirst, AuthenticationFailure> {
        AwsServerFirst::parse(&to_vec(message).unwrap(), &client_nonce())
    }

    #[test]
    fn the_signature_is_that_of_the_vectors() {
        let credentials = AwsCredentials::new("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY");
        let global = parse(&server_first(&ascending(), "sts.amazonaws.com")).unwrap();
        assert_eq!(
            digest(BODY),
            "ab821ae955788b0e33ebd34c208442ccfc2d406e2edc5e7a39bd6458fbb4f843"
        );
        assert_eq!(
            global.authorization(&credentials, "20200101T000000Z"),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20200101/us-east-1/sts/aws4_request, \
             SignedHeaders=content-length;content-type;host;x-amz-date;x-mongodb-gs2-cb-flag;x-mongodb-server-nonce, \
             Signature=7d1e9185fc6feeb2d9284ebfd3dd4adfcf7d595934cf1e4eff7e22e5dab2f238"
        );
        let regional = parse(&server_first(&ascending(), "sts.us-west-2.amazonaws.com")).unwrap();
        let authorization =
            regional.authorization(&credentials.with_session_token("TOKEN"), "20200101T000000Z");
        assert!(
            authorization
                .ends_with("Signature=f3d88a289673080ab0c0602d9bd2e130a6ddb6085d69bfe9e06991b2dc5243b7"),
            "{authorization}"
        );
        assert!(authorization.contains("x-amz-date;x-amz-security-token;x-mongodb"));
    }

    #[test]
    fn the_region_is_the_second_label_of_the_host() {
        for (host, expected) in [
            ("sts.amazonaws.com", Some("us-east-1")),
            ("sts.us-west-2.amazonaws.com", Some("us-west-2")),
            ("sts.us-west-2.amazonaws.com.ch", Some("us-west-2")),
            ("example.com", Some("com")),
            ("localhost", Some("us-east-1")),
            ("sts..com", None),
            (".amazonaws.com", None),
            ("sts.amazonaws.", None),
            ("", None),
            ("sts.amazonaws.com\nx-amz-date:1", None),
        ] {
            assert_eq!(region(host), expected, "{host}");
        }
        assert_eq!(region(&"x".repeat(255)), Some("us-east-1"));
        assert_eq!(region(&"x".repeat(256)), None);
    }

    #[test]
    fn messages_that_do_not_answer_the_client_are_rejected() {
        for (message, why) in [
            (server_first(&ascending()[..63], "localhost"), "64 bytes"),
            (server_first(&[0; 64], "localhost"), "does not begin"),
            (server_first(&ascending(), "sts..com"), "not a valid name"),
            (doc! { "h": "localhost" }, "64 bytes"),
            (doc! { "s": 1, "h": "localhost" }, "64 bytes"),
        ] {
            let error = parse(&message).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let mut message = server_first(&ascending(), "localhost");
        message.remove("h");
        assert!(parse(&message).unwrap_err().to_string().contains("no host"));
        assert!(AwsServerFirst::parse(b"\x05\0\0\0", &client_nonce()).is_err());
    }

    #[test]
    fn dates_have_the_basic_form_of_iso_8601() {
        for (seconds, expected) in [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (951_868_800, "20000301T000000Z"),
            (1_577_836_800, "20200101T000000Z"),
            (1_609_459_199, "20201231T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(basic_date(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn the_second_message_has_a_token_only_if_the_credentials_have_one() {
        let first = parse(&server_first(&ascending(), "localhost")).unwrap();
        let credentials = AwsCredentials::new("AKID", "secret");
        let now = Duration::from_secs(1_577_836_800);
        let decode = |bytes: Vec<u8>| crate::bson::decode_document(&bytes).unwrap();
        let message = decode(first.sign(&credentials, now));
        assert_eq!(message.keys().collect::<Vec<_>>(), ["a", "d"]);
        let message = decode(first.sign(&credentials.with_session_token("TOKEN"), now));
        assert_eq!(message.get_str("t").unwrap(), "TOKEN");
        assert_eq!(message.get_str("d").unwrap(), "20200101T000000Z");
    }

    proptest! {
        /// A message that is accepted despite the damage has a nonce and a host that are valid.
        #[test]
        fn damaged_messages_are_rejected_without_a_panic(position in 0..110usize, byte: u8, length in 0..130usize) {
            let mut bytes = to_vec(&server_first(&ascending(), "sts.amazonaws.com")).unwrap();
            bytes.truncate(length);
            if let Some(damaged) = bytes.get_mut(position) {
                *damaged = byte;
            }
            if let Ok(first) = AwsServerFirst::parse(&bytes, &client_nonce()) {
                prop_assert!(first.nonce.starts_with(&client_nonce()));
                prop_assert!(region(&first.host).is_some());
            }
        }
    }
}
