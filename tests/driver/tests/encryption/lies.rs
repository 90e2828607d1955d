//! Key management services whose responses are wrong.

use std::fmt::Write as _;

use base64::{Engine, prelude::BASE64_STANDARD};
use marula_driver::{
    EncryptionError, Error, ErrorKind,
    bson::{Bson, doc},
    encryption::{ClientEncryption, EncryptionAlgorithm},
};
use marula_driver_tests::kms::{KmsDouble, Tamper};

use super::support::{NAMESPACE, Setup, master_key, providers};
use marula_driver::encryption::ClientEncryptionOptions;

/// The number of attempts of a request.
pub(super) const ATTEMPTS: usize = 4;

/// A response with this status line and body.
fn response(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}").into_bytes()
}

/// The error of in-use encryption, with all its sources as text.
fn text_of(error: &Error) -> String {
    assert!(matches!(error.kind(), ErrorKind::Encryption(_)), "{error:?}");
    let mut text = String::new();
    write!(text, "{error:#} {error:?}").expect("a text");
    text
}

pub(crate) async fn responses_of_services_that_make_no_sense_are_errors() {
    let setup = Setup::new().await;
    let secret = "c2VjcmV0LWtleQ";
    let cases = [
        ("HTML", response("200 OK", "<html><body>Welcome</body></html>")),
        ("an empty body", response("200 OK", "")),
        (
            "no JSON",
            response("200 OK", &format!(r#"{{"CiphertextBlob":"{secret}"#)),
        ),
        (
            "another JSON",
            response("200 OK", &format!(r#"{{"Plaintext":"{secret}"}}"#)),
        ),
        (
            "a number that is none",
            response(
                "200 OK",
                &format!(r#"{{"CiphertextBlob":{{"$numberInt":"{secret}"}}}}"#),
            ),
        ),
        (
            "an unknown encoding",
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {secret}\r\n\r\n{{}}").into_bytes(),
        ),
        (
            "an error with an unknown type",
            response(
                "400 Bad Request",
                &format!(r#"{{"__type":"{secret}","code":"{secret}","message":"the token is {secret}"}}"#),
            ),
        ),
        ("an array", response("200 OK", r#"["CiphertextBlob"]"#)),
        ("another type", response("200 OK", r#"{"CiphertextBlob":7}"#)),
        (
            "no base64",
            response("200 OK", &format!(r#"{{"CiphertextBlob":"{secret}-*"}}"#)),
        ),
        ("a redirect", response("302 Found", "")),
        (
            "an error",
            response(
                "400 Bad Request",
                r#"{"message":"the key arn:aws:7 is disabled","request":"7182"}"#,
            ),
        ),
        (
            "an error of a proxy",
            response("502 Bad Gateway", "<html>Bad Gateway</html>"),
        ),
        ("an unknown status", response("999 What", "{}")),
        ("no status", b"HTTP/1.1\r\n\r\n".to_vec()),
        ("no HTTP", b"220 mail.example.com ESMTP\r\n".to_vec()),
        ("zero bytes", vec![0; 64]),
        ("no length", b"HTTP/1.1 200 OK\r\n\r\n{}".to_vec()),
        (
            "a negative length",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}".to_vec(),
        ),
        (
            "a large length",
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{}".to_vec(),
        ),
        (
            "a length that is not a number",
            b"HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\n{}".to_vec(),
        ),
        (
            "more than the length",
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}{}{}".to_vec(),
        ),
        (
            "less than the length",
            b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}".to_vec(),
        ),
        (
            "a malformed chunk",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n".to_vec(),
        ),
    ];
    let create = async |(name, bytes): (&'static str, Vec<u8>)| {
        let kms = KmsDouble::start().await;
        kms.tamper(vec![Tamper::Replace(bytes); ATTEMPTS]);
        let options = kms.configure(ClientEncryptionOptions::new(NAMESPACE, providers()));
        let encryption = setup.encryption_with(options);
        let key = master_key("aws").expect("a master key");
        let created = encryption.create_data_key("aws").master_key(key).await;
        let text = text_of(&created.expect_err(name));
        assert!(!text.contains(secret), "{name}: {text}");
        (name, text)
    };
    let texts = futures_util::future::join_all(cases.map(create)).await;
    let text = |wanted: &str| &texts.iter().find(|(name, _)| *name == wanted).expect("a case").1;
    // The body can repeat the request.
    assert!(
        text("an error").contains("HTTP status=400. The response is not shown"),
        "{}",
        text("an error")
    );
    assert!(!text("an error").contains("disabled"), "{}", text("an error"));
    assert!(
        text("a number that is none").contains("HTTP status=200"),
        "{}",
        text("a number that is none")
    );
    assert!(text("HTML").contains("HTTP status=200"), "{}", text("HTML"));
    let keys = setup.encryption().get_keys().await.expect("keys");
    assert!(keys.try_collect().await.expect("keys").is_empty());
}

/// The service returns another key than the one that was encrypted, or one of a wrong length.
pub(crate) async fn wrong_keys_of_services_are_errors() {
    let setup = Setup::new().await;
    let encryption = setup.encryption();
    let master = master_key("aws").expect("a master key");
    let key = encryption
        .create_data_key("aws")
        .master_key(master)
        .await
        .expect("a key");
    let value = encryption
        .encrypt("text", key, EncryptionAlgorithm::Random)
        .await
        .expect("a value");
    for (length, part) in [
        (96, "HMAC"),
        (95, "incorrect length"),
        (0, ""),
        (97, "incorrect length"),
    ] {
        let plaintext = BASE64_STANDARD.encode(vec![7; length]);
        let body = doc! { "Plaintext": &plaintext, "KeyId": "key" };
        let body = serde_json::to_string(&body).expect("JSON");
        setup.kms.tamper([Tamper::Replace(response("200 OK", &body))]);
        // Without the key in its cache.
        let other: ClientEncryption = setup.encryption();
        let text = text_of(&other.decrypt(&value).await.expect_err("another key"));
        assert!(text.contains(part), "{length}: {text}");
        assert!(length == 0 || !text.contains(&plaintext), "{length}: {text}");
    }
    setup.kms.tamper([]);
    let other = setup.encryption();
    assert_eq!(other.decrypt(&value).await.expect("a value"), Bson::from("text"));
    // A key of the key vault that was altered.
    let stored = setup
        .client()
        .database("encryption")
        .collection::<marula_driver::bson::Document>("keys");
    let alter = doc! { "$set": { "masterKey.region": 7 } };
    stored.update_one(doc! {}, alter).await.expect("an update");
    let error = setup
        .encryption()
        .decrypt(&value)
        .await
        .expect_err("an altered key");
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Encryption(EncryptionError::Rejected { .. })
        ),
        "{error:?}"
    );
}
