//! Runs the contexts of libmongocrypt through their states, with values that `pymongocrypt` 1.20.0 (libmongocrypt 1.20.5, the
//! cryptography of the Python package `cryptography`) has made.
//!
//! The tests need libmongocrypt. Without it they are reported as ignored, or fail if `MARULA_REQUIRE_MONGOCRYPT` is set,
//! as in `.ci/run`.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failure of the test")]

mod support;

use bson::{Bson, Document, RawDocumentBuf, doc};
use marula_mongocrypt::{
    Context, Crypt, CryptOptions, DataKeyOptions, ExplicitOptions, KeyReference, State, Zeroizing,
};
use support::{
    KEY_DOCUMENT, KEY_ID, KEY_MATERIAL, binary, crypt, document, finish, hex_bytes, local_provider, value_of,
};

const DETERMINISTIC: &str = "AEAD_AES_256_CBC_HMAC_SHA_512-Deterministic";
const DETERMINISTIC_VALUE: &str = "016e7e2a0c278f475c8611d15b53ded47f025f1b2ecb11267acbf9d54397500eb92be4345900ca9f2250f9ae3b1e90377cc9eb9d7522412add2ca0879960b7ce7a649f168c876d77ef26c6a9ea495bc28057469e961dd0ce83207b8bfd4e8a63ab53";
const RANDOM_VALUE: &str = "026e7e2a0c278f475c8611d15b53ded47f10b30e10d786da3577d9330bad88dd6917f82d8d097136e0551ea82bd6063ce3a08e338f79314171b67d1b127d57acbe36fe871521f660e5353531cc51c211c533";
const UNINDEXED_VALUE: &str = "106e7e2a0c278f475c8611d15b53ded47f021c5bab0fe1c9b36855fb770bbba541c533ae3ac288bd4270a6d01df756ea932a70f8d025e71ca5144093fb39e572ccd627be2cd6aad2119c830bd2b814c55cde73409defaf333e31b27028b5982a5e22";
const FIND_PAYLOAD: &str = "0c890000000564002000000000491115b1c9086df60e69887e324dc033a9fc0b13cd3dd00013f8305e303485f9057300200000000058193030b9c34f82f595acf149436d9801bc84f8ecee4e0a79365a434db23d9b056c002000000000bd8e84e727598b70820ad895ad45704d0d8244429c24626a95dd0526b9bb733212636d00040000000000000000";

fn options(algorithm: &str) -> ExplicitOptions<'_> {
    ExplicitOptions {
        key: KeyReference::Id(&KEY_ID),
        algorithm,
        contention_factor: None,
        query_type: None,
        range: None,
        text: None,
    }
}

fn encrypt(crypt: &Crypt, value: impl Into<Bson>, options: &ExplicitOptions<'_>) -> Vec<u8> {
    let value = document(doc! { "v": value.into() });
    value_of(finish(crypt.encrypt_value(&value, options).unwrap()))
}

fn decrypt(crypt: &Crypt, value: &[u8]) -> Bson {
    let value = document(doc! { "v": binary(6, value) });
    let mut result = finish(crypt.decrypt_value(&value).unwrap());
    result.remove("v").unwrap()
}

fn deterministic_values_are_those_of_pymongocrypt() {
    let crypt = crypt();
    let value = encrypt(&crypt, "secret text", &options(DETERMINISTIC));
    assert_eq!(hex::encode(&value), DETERMINISTIC_VALUE);
    let by_name = ExplicitOptions {
        key: KeyReference::AltName("one"),
        ..options(DETERMINISTIC)
    };
    assert_eq!(encrypt(&crypt, "secret text", &by_name), value);
}

fn values_of_pymongocrypt_are_decrypted() {
    let crypt = crypt();
    for (value, expected) in [
        (DETERMINISTIC_VALUE, Bson::from("secret text")),
        (RANDOM_VALUE, Bson::Int32(42)),
        (UNINDEXED_VALUE, Bson::from("secret text")),
    ] {
        assert_eq!(decrypt(&crypt, &hex_bytes(value)), expected);
    }
}

fn find_payloads_are_those_of_pymongocrypt() {
    let query = ExplicitOptions {
        contention_factor: Some(4),
        query_type: Some("equality"),
        ..options("Indexed")
    };
    assert_eq!(
        hex::encode(encrypt(&crypt(), "secret text", &query)),
        FIND_PAYLOAD
    );
}

/// The server makes a stored value (type 14) of the payload of an insert (type 11). To decrypt it, the library needs CTR.
fn indexed_values_as_stored_are_decrypted() {
    let crypt = crypt();
    let insert = ExplicitOptions {
        contention_factor: Some(0),
        ..options("Indexed")
    };
    for text in [
        "",
        "a",
        "sixteen bytes ..",
        "a text of more than one block of the cipher",
    ] {
        let payload = encrypt(&crypt, text, &insert);
        assert_eq!(payload[0], 11);
        let stored = support::store(&Document::from_reader(&payload[1..]).unwrap());
        assert_eq!(stored[0], 14);
        assert_eq!(decrypt(&crypt, &stored), Bson::from(text));
    }
}

fn range_and_string_payloads_are_made() {
    let crypt = crypt();
    let range = document(doc! { "min": 0, "max": 200, "trimFactor": 1, "sparsity": 1_i64 });
    let ranges = ExplicitOptions {
        contention_factor: Some(0),
        range: Some(&range),
        ..options("Range")
    };
    let payload = encrypt(&crypt, 6, &ranges);
    assert_eq!(payload[0], 11);
    let payload = Document::from_reader(&payload[1..]).unwrap();
    assert_eq!(payload.get_array("g").unwrap().len(), 8, "edges");
    let expression = document(doc! { "v": { "$and": [{ "age": { "$gt": 1 } }, { "age": { "$lt": 9 } }] } });
    let query = ExplicitOptions {
        query_type: Some("range"),
        ..ranges
    };
    let result = finish(crypt.encrypt_expression(&expression, &query).unwrap());
    let operands = result.get_document("v").unwrap().get_array("$and").unwrap();
    assert_eq!(operands.len(), 2);
    for query_type in ["prefix", "suffix", "substring"] {
        let lengths = doc! { "strMinQueryLength": 2, "strMaxQueryLength": 10 };
        let mut text = doc! { "caseSensitive": true, "diacriticSensitive": true, query_type: lengths };
        if query_type == "substring" {
            text.get_document_mut(query_type)
                .unwrap()
                .insert("strMaxLength", 30);
        }
        let text = document(text);
        let mut options = ExplicitOptions {
            contention_factor: Some(0),
            text: Some(&text),
            ..options("string")
        };
        assert_eq!(encrypt(&crypt, "example", &options)[0], 11, "{query_type}");
        options.query_type = Some(query_type);
        assert_eq!(encrypt(&crypt, "exam", &options)[0], 18, "{query_type}");
    }
}

fn a_new_key_encrypts_with_the_given_material() {
    let crypt = crypt();
    let names = ["first".to_owned(), "second".to_owned()];
    let provider = document(doc! { "provider": "local" });
    let context = crypt.create_data_key(&DataKeyOptions {
        key_encryption_key: &provider,
        alt_names: &names,
        key_material: Some(&KEY_MATERIAL),
    });
    let key = finish(context.unwrap());
    assert_eq!(key.get_array("keyAltNames").unwrap().len(), 2);
    let id: [u8; 16] = id_of(&key);
    // The tokens depend on the key material and the value alone.
    let query = ExplicitOptions {
        key: KeyReference::Id(&id),
        contention_factor: Some(4),
        query_type: Some("equality"),
        ..options("Indexed")
    };
    let context = crypt.encrypt_value(&document(doc! { "v": "secret text" }), &query);
    let value = value_of(support::finish_with(context.unwrap(), &document(key)));
    assert_eq!(hex::encode(value), FIND_PAYLOAD);
}

fn id_of(key: &Document) -> [u8; 16] {
    match key.get("_id") {
        Some(Bson::Binary(id)) => id.bytes.as_slice().try_into().unwrap(),
        other => panic!("{other:?}"),
    }
}

fn keys_are_rewrapped() {
    let provider = document(doc! { "provider": "local" });
    let filter = document(doc! {});
    let mut result = finish(crypt().rewrap_data_keys(&filter, Some(&provider)).unwrap());
    let Some(Bson::Array(keys)) = result.remove("v") else {
        panic!("{result}")
    };
    let [Bson::Document(key)] = keys.as_slice() else {
        panic!("{keys:?}")
    };
    let old = Document::from_reader(hex_bytes(KEY_DOCUMENT).as_slice()).unwrap();
    assert_eq!(key.get("_id"), old.get("_id"));
    assert_ne!(key.get("keyMaterial"), old.get("keyMaterial"));
}

fn the_states_ask_for_their_inputs() {
    let crypt = crypt();
    let command = document(doc! { "find": "people", "filter": {} });
    let mut context = crypt.encrypt("town", &command).unwrap();
    assert_eq!(context.state().unwrap(), State::NeedCollectionInfo);
    assert_eq!(context.database().unwrap(), None, "that of the command");
    let filter = Document::from_reader(context.operation().unwrap().as_slice()).unwrap();
    assert_eq!(filter, doc! { "name": "people" });
    context.done().unwrap();
    assert_eq!(context.state().unwrap(), State::NeedMarkings);
    let sent = Document::from_reader(context.operation().unwrap().as_slice()).unwrap();
    assert_eq!(sent.get_document("jsonSchema").unwrap(), &doc! {});
}

fn kms_requests_are_described() {
    let provider =
        document(doc! { "provider": "aws", "region": "us-east-1", "key": "arn:aws:kms:us-east-1:1:key/x" });
    let options = DataKeyOptions {
        key_encryption_key: &provider,
        ..DataKeyOptions::default()
    };
    let mut context = crypt().create_data_key(&options).unwrap();
    assert_eq!(context.state().unwrap(), State::NeedKms);
    let mut kms = context.next_kms().unwrap();
    assert_eq!(kms.endpoint().unwrap(), "kms.us-east-1.amazonaws.com:443");
    assert_eq!(kms.provider(), "aws");
    assert!(kms.delay().is_zero());
    let message = kms.message().unwrap();
    assert!(String::from_utf8_lossy(&message).contains("TrentService.Encrypt"));
    assert!(kms.bytes_needed() > 0);
    assert!(kms.fail(), "a network error is transient");
    // Returned again, after a delay.
    assert!(!context.next_kms().unwrap().delay().is_zero());
}

/// A network failure within the reply: the whole reply to the repeated request is accepted.
fn a_reply_that_is_cut_at_any_byte_is_repeated() {
    let provider =
        document(doc! { "provider": "aws", "region": "us-east-1", "key": "arn:aws:kms:us-east-1:1:key/x" });
    let options = DataKeyOptions {
        key_encryption_key: &provider,
        ..DataKeyOptions::default()
    };
    // 129 bytes of zeros.
    let body = format!(r#"{{"CiphertextBlob":"{}","KeyId":"key"}}"#, "AAAA".repeat(43));
    let reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let feed = |context: &mut Context, bytes: &[u8]| {
        let mut kms = context.next_kms().unwrap();
        for chunk in bytes.chunks(7) {
            assert!(kms.bytes_needed() >= chunk.len());
            kms.feed(chunk).unwrap();
        }
        kms.bytes_needed()
    };
    let crypt = crypt();
    for cut in 0..reply.len() {
        let mut context = crypt.create_data_key(&options).unwrap();
        let (first, _) = reply.as_bytes().split_at(cut);
        {
            let mut kms = context.next_kms().unwrap();
            for byte in first {
                kms.feed(&[*byte]).unwrap();
            }
            assert!(kms.bytes_needed() > 0 && kms.fail(), "{cut}");
        }
        assert_eq!(feed(&mut context, reply.as_bytes()), 0, "{cut}");
        assert!(context.next_kms().is_none(), "{cut}");
        context.kms_done().unwrap();
        let key = Document::from_reader(context.finalize().unwrap().as_slice()).unwrap();
        assert_eq!(key.get_binary_generic("keyMaterial").unwrap(), &[0; 129], "{cut}");
    }
}

fn credentials_are_asked_for() {
    let options = CryptOptions {
        kms_providers: Zeroizing::new(document(doc! { "aws": {} })),
        ..CryptOptions::default()
    };
    let crypt = Crypt::new(support::library(), &options).unwrap();
    let provider =
        document(doc! { "provider": "aws", "region": "us-east-1", "key": "arn:aws:kms:us-east-1:1:key/x" });
    let mut context = crypt
        .create_data_key(&DataKeyOptions {
            key_encryption_key: &provider,
            ..DataKeyOptions::default()
        })
        .unwrap();
    assert_eq!(context.state().unwrap(), State::NeedKmsCredentials);
    let credentials = doc! { "aws": { "accessKeyId": "id", "secretAccessKey": "secret" } };
    context.provide_kms_providers(&document(credentials)).unwrap();
    assert_eq!(context.state().unwrap(), State::NeedKms);
}

/// The requests for a token of Google Cloud are signed with RSA.
fn requests_to_google_cloud_are_signed() {
    let provider = document(doc! {
        "provider": "gcp", "projectId": "p", "location": "l", "keyRing": "r", "keyName": "k"
    });
    let mut context = crypt()
        .create_data_key(&DataKeyOptions {
            key_encryption_key: &provider,
            ..DataKeyOptions::default()
        })
        .unwrap();
    let message = context.next_kms().unwrap().message().unwrap().to_vec();
    let message = String::from_utf8(message).unwrap();
    let token = message.split("assertion=").nth(1).unwrap();
    let signature = token.trim().rsplit('.').next().unwrap();
    // 256 bytes in base64url.
    assert_eq!(signature.trim_end_matches('=').len(), 342, "{signature}");
}

fn errors_name_the_cause() {
    let crypt = crypt();
    let value = document(doc! { "v": 1.5 });
    let error = crypt.encrypt_value(&value, &options("none")).unwrap_err();
    assert!(error.message.contains("algorithm"), "{error}");
    let unknown = ExplicitOptions {
        key: KeyReference::AltName("unknown"),
        ..options(DETERMINISTIC)
    };
    let value = document(doc! { "v": 1 });
    let mut context = crypt.encrypt_value(&value, &unknown).unwrap();
    assert_eq!(context.state().unwrap(), State::NeedKeys);
    let error = context.done().unwrap_err();
    assert!(error.message.contains("not all keys"), "{error}");
    // A failed context stays failed.
    assert!(context.state().is_err());
    assert!(context.finalize().is_err());
    let mut damaged = hex_bytes(DETERMINISTIC_VALUE);
    *damaged.last_mut().unwrap() ^= 1;
    let value = document(doc! { "v": binary(6, &damaged) });
    let mut context = crypt.decrypt_value(&value).unwrap();
    support::feed_key(&mut context, &hex_bytes(KEY_DOCUMENT));
    assert!(context.finalize().unwrap_err().message.contains("HMAC"));
}

fn malformed_documents_are_errors() {
    let crypt = crypt();
    for bytes in [&[][..], &[5, 0, 0, 0], &[4, 0, 0, 0, 0], &[255; 16]] {
        assert!(crypt.encrypt("db", bytes).is_err());
        assert!(crypt.decrypt_value(bytes).is_err());
        assert!(crypt.encrypt_value(bytes, &options(DETERMINISTIC)).is_err());
        let options = CryptOptions {
            kms_providers: Zeroizing::new(bytes.to_vec()),
            ..CryptOptions::default()
        };
        assert!(Crypt::new(support::library(), &options).is_err());
    }
}

fn secrets_are_not_printed() {
    let options = CryptOptions {
        kms_providers: Zeroizing::new(document(local_provider())),
        ..CryptOptions::default()
    };
    let crypt = Crypt::new(support::library(), &options).unwrap();
    let text = format!("{options:?} {crypt:?}");
    assert!(
        text.contains("key_expiration") && !text.contains("kms_providers"),
        "{text}"
    );
}

/// Contexts of one instance run on many threads at once.
fn an_instance_is_shared_by_threads() {
    let crypt = crypt();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let value = encrypt(&crypt, "secret text", &options(DETERMINISTIC));
                    assert_eq!(hex::encode(value), DETERMINISTIC_VALUE);
                }
            });
        }
    });
}

fn a_missing_crypt_shared_is_an_error_only_with_its_path() {
    use marula_mongocrypt::CryptShared;
    let create = |crypt_shared| {
        let options = CryptOptions {
            kms_providers: Zeroizing::new(document(local_provider())),
            crypt_shared,
            ..CryptOptions::default()
        };
        Crypt::new(support::library(), &options)
    };
    let error = create(CryptShared::Path("/nonexistent/mongo_crypt_v1.so".into())).unwrap_err();
    assert!(
        error.message.contains("/nonexistent/mongo_crypt_v1.so"),
        "{error}"
    );
    assert!(create(CryptShared::System).is_ok());
    assert_eq!(create(CryptShared::Off).unwrap().crypt_shared_version(), None);
}

fn raw(bytes: &[u8]) -> RawDocumentBuf {
    RawDocumentBuf::from_bytes(bytes.to_vec()).unwrap()
}

/// A context can move to another thread between its steps.
fn a_context_moves_to_another_thread() {
    let value = document(doc! { "v": binary(6, &hex_bytes(RANDOM_VALUE)) });
    let mut context: Context = crypt().decrypt_value(&value).unwrap();
    support::feed_key(&mut context, &hex_bytes(KEY_DOCUMENT));
    let result = std::thread::spawn(move || context.finalize().unwrap())
        .join()
        .unwrap();
    assert_eq!(raw(&result).get_i32("v").unwrap(), 42);
}

/// Texts in allocations of their length. `.ci/run` runs these tests with Valgrind, which reports bytes that are read after them.
fn texts_are_read_up_to_their_end() {
    let owned = |text: &str| -> Box<str> { text.into() };
    let crypt = crypt();
    let (algorithm, query_type) = (owned("Indexed"), owned("equality"));
    let query = ExplicitOptions {
        contention_factor: Some(4),
        query_type: Some(&query_type),
        ..options(&algorithm)
    };
    assert_eq!(hex::encode(encrypt(&crypt, "secret text", &query)), FIND_PAYLOAD);
    let command = document(doc! { "insert": "people", "documents": [{ "a": 1 }] });
    let mut context = crypt.encrypt(&owned("database"), &command).unwrap();
    assert_eq!(context.state().unwrap(), State::NeedCollectionInfo);
    context.done().unwrap();
    let command = Document::from_reader(context.operation().unwrap().as_slice()).unwrap();
    assert_eq!(command.get_str("insert").unwrap(), "people");
}

fn main() {
    support::run(&[
        (
            "deterministic_values_are_those_of_pymongocrypt",
            deterministic_values_are_those_of_pymongocrypt,
        ),
        (
            "values_of_pymongocrypt_are_decrypted",
            values_of_pymongocrypt_are_decrypted,
        ),
        (
            "find_payloads_are_those_of_pymongocrypt",
            find_payloads_are_those_of_pymongocrypt,
        ),
        (
            "indexed_values_as_stored_are_decrypted",
            indexed_values_as_stored_are_decrypted,
        ),
        (
            "range_and_string_payloads_are_made",
            range_and_string_payloads_are_made,
        ),
        (
            "a_new_key_encrypts_with_the_given_material",
            a_new_key_encrypts_with_the_given_material,
        ),
        ("keys_are_rewrapped", keys_are_rewrapped),
        ("the_states_ask_for_their_inputs", the_states_ask_for_their_inputs),
        ("kms_requests_are_described", kms_requests_are_described),
        (
            "a_reply_that_is_cut_at_any_byte_is_repeated",
            a_reply_that_is_cut_at_any_byte_is_repeated,
        ),
        ("credentials_are_asked_for", credentials_are_asked_for),
        (
            "requests_to_google_cloud_are_signed",
            requests_to_google_cloud_are_signed,
        ),
        ("errors_name_the_cause", errors_name_the_cause),
        ("malformed_documents_are_errors", malformed_documents_are_errors),
        ("secrets_are_not_printed", secrets_are_not_printed),
        (
            "an_instance_is_shared_by_threads",
            an_instance_is_shared_by_threads,
        ),
        (
            "a_missing_crypt_shared_is_an_error_only_with_its_path",
            a_missing_crypt_shared_is_an_error_only_with_its_path,
        ),
        (
            "a_context_moves_to_another_thread",
            a_context_moves_to_another_thread,
        ),
        ("texts_are_read_up_to_their_end", texts_are_read_up_to_their_end),
    ]);
}
