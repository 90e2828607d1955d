//! Documents that are not well-formed: libmongocrypt would skip values, or end the process.

use marula_driver::{
    Client, Collection, EncryptionError, Error, ErrorKind,
    bson::{Binary, BinarySubtype, RawDocumentBuf, doc},
    encryption::AutoEncryptionOptions,
    options::ClientOptions,
};
use marula_driver_tests::{Answer, Request, ScriptedServer};

use super::{
    automatic::{Automatic, local, recorded, take},
    support::NAMESPACE,
};

/// A document of elements, each its type, name and value.
fn document(elements: &[(u8, &str, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    for (kind, name, value) in elements {
        bytes.push(*kind);
        bytes.extend(name.as_bytes());
        bytes.push(0);
        bytes.extend(*value);
    }
    bytes.push(0);
    let length = i32::try_from(bytes.len()).expect("a length");
    bytes.splice(..4, length.to_le_bytes());
    bytes
}

const DOCUMENT: u8 = 3;
const ARRAY: u8 = 4;
/// A string, with its type.
const SSN: (u8, &str, &[u8]) = (2, "ssn", b"\x07\0\0\x00457-55\0");
const OK: (u8, &str, &[u8]) = (0x10, "ok", &[1, 0, 0, 0]);
/// A binary value of subtype 2 whose second length is wrong.
const OLD: (u8, &str, &[u8]) = (5, "old", &[5, 0, 0, 0, 2, 9, 0, 0, 0, 1]);

/// The values that libmongocrypt takes for the end of a document, and that the driver copies from raw documents.
const SKIPPED: [(u8, &str, &[u8]); 4] = [
    OLD,
    // A Boolean that is neither true nor false.
    (8, "old", &[2]),
    // A string without its last byte.
    (2, "old", b"\x02\0\0\0ab"),
    // Code with a scope whose length is wrong.
    (0x0f, "old", &[16, 0, 0, 0, 2, 0, 0, 0, b'a', 0, 5, 0, 0, 0, 0, 0]),
];

fn raw(bytes: Vec<u8>) -> RawDocumentBuf {
    RawDocumentBuf::from_bytes(bytes).expect("the length is right")
}

fn nested(levels: usize) -> Vec<u8> {
    (0..levels).fold(document(&[]), |inner, _| document(&[(DOCUMENT, "a", &inner)]))
}

fn expect_argument(error: &Error, path: &str) {
    assert!(
        matches!(error.kind(), ErrorKind::InvalidArgument(_)),
        "{path}: {error:?}"
    );
    let text = error.to_string();
    assert!(text.contains(path) && !text.contains("457"), "{path}: {text}");
}

/// Otherwise the value behind it would be sent as it is, and a filter would match all documents.
pub(crate) async fn a_malformed_command_is_not_sent() {
    let automatic = Automatic::new().await;
    let (client, sent) = automatic.client("");
    let patients: Collection<RawDocumentBuf> = client.database("hospital").collection("patients");
    for old in SKIPPED {
        let person = || raw(document(&[old, SSN]));
        let error = patients.insert_one(&person()).await.expect_err("malformed");
        expect_argument(&error, "documents.0.old");
        let error = patients.delete_many(person()).await.expect_err("malformed");
        expect_argument(&error, "deletes.0.q.old");
        let error = patients.find_one(person()).await.expect_err("malformed");
        expect_argument(&error, "filter.old");
    }
    // A document whose last byte is not zero, for which libmongocrypt ends the process.
    let mut query = document(&[SSN]);
    *query.last_mut().expect("a byte") = 1;
    let command = document(&[
        (2, "findAndModify", b"\x09\0\0\0patients\0"),
        (DOCUMENT, "query", &query),
        (8, "remove", &[1]),
    ]);
    let database = client.database("hospital");
    let error = database.run_command(raw(command)).await.expect_err("malformed");
    expect_argument(&error, "query");
    assert_eq!(take(&sent), []);
}

fn reply_of(first: &[u8]) -> Vec<u8> {
    let batch = document(&[(DOCUMENT, "0", first)]);
    let cursor = document(&[
        (0x12, "id", &[0; 8]),
        (2, "ns", b"\x12\0\0\0hospital.patients\0"),
        (ARRAY, "firstBatch", &batch),
    ]);
    document(&[(DOCUMENT, "cursor", &cursor), OK])
}

/// A client of a server whose replies to commands with this name are these bytes, and of its mongocryptd.
async fn client_of(name: &'static str, reply: Vec<u8>, bypasses: bool) -> (ScriptedServer, Client) {
    let server = ScriptedServer::start(doc! { "iscryptd": true }, move |request: &Request| {
        let command = request
            .command
            .keys()
            .next()
            .map(String::as_str)
            .unwrap_or_default();
        if command == name {
            return Answer::Bytes(reply.clone());
        }
        match command {
            "listCollections" | "find" if !request.is_hello() => {
                let cursor = doc! { "id": 0_i64, "ns": "hospital.patients", "firstBatch": [] };
                Answer::Reply(doc! { "ok": 1, "cursor": cursor })
            }
            _ => Answer::Success,
        }
    })
    .await;
    let options = ClientOptions::parse(&server.uri("")).expect("a connection string");
    let encryption = AutoEncryptionOptions::new(NAMESPACE, local())
        .extra_options(doc! { "mongocryptdURI": server.uri(""), "mongocryptdBypassSpawn": true })
        .bypass_auto_encryption(bypasses);
    // A schema of the options is not asked for.
    let encryption = match name {
        "listCollections" => encryption,
        _ => encryption.schema("hospital.patients", doc! { "properties": {} }),
    };
    let (client, _sent) = recorded(options, encryption);
    (server, client)
}

fn patients(client: &Client) -> Collection<RawDocumentBuf> {
    client.database("hospital").collection("patients")
}

/// Otherwise the fields behind it would be lost.
pub(crate) async fn a_malformed_reply_is_not_shortened() {
    let value = [&[17, 0, 0, 0, 6, 1][..], &[7; 16]].concat();
    for old in SKIPPED {
        let person = document(&[(5, "ssn", &value), old, (0x10, "more", &[1, 0, 0, 0])]);
        let (_server, client) = client_of("find", reply_of(&person), true).await;
        let error = patients(&client).find_one(doc! {}).await.expect_err("malformed");
        let ErrorKind::Encryption(EncryptionError::Reply(cause)) = error.kind() else {
            panic!("{error:?}");
        };
        assert!(matches!(cause.kind(), ErrorKind::InvalidReply(_)), "{cause:?}");
        assert!(cause.to_string().contains("cursor.firstBatch.0.old"), "{cause}");
    }
}

/// libmongocrypt has no limit of levels, and would overflow the stack.
pub(crate) async fn deeply_nested_replies_are_errors() {
    let deep = nested(10_000);
    let (_server, client) = client_of("find", reply_of(&deep), true).await;
    let error = patients(&client).find_one(doc! {}).await.expect_err("nested");
    assert!(format!("{error:#}").contains("nested too deeply"), "{error:#}");
    // The reply of mongocryptd.
    let (_server, client) = client_of("insert", document(&[(DOCUMENT, "result", &deep), OK]), false).await;
    let inserted = patients(&client).insert_one(&raw(document(&[SSN]))).await;
    let error = inserted.expect_err("nested");
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Encryption(EncryptionError::QueryAnalysis { .. })
        ),
        "{error:?}"
    );
    assert!(format!("{error:#}").contains("nested too deeply"), "{error:#}");
}

/// libmongocrypt ends the process for a length of zero.
pub(crate) async fn malformed_schemas_of_collections_are_errors() {
    for (kind, name) in [(DOCUMENT, "encryptedFields"), (DOCUMENT, "validator")] {
        let empty = [0; 4];
        let schema = document(&[(DOCUMENT, "$jsonSchema", &empty)]);
        let value: &[u8] = if name == "validator" { &schema } else { &empty };
        let options = document(&[(kind, name, value)]);
        let info = document(&[
            (2, "name", b"\x09\0\0\0patients\0"),
            (2, "type", b"\x0b\0\0\0collection\0"),
            (DOCUMENT, "options", &options),
        ]);
        let (_server, client) = client_of("listCollections", reply_of(&info), false).await;
        let inserted = patients(&client).insert_one(&raw(document(&[SSN]))).await;
        let error = inserted.expect_err("malformed");
        assert!(
            matches!(
                error.kind(),
                ErrorKind::Encryption(EncryptionError::CollectionInfo(_))
            ),
            "{error:?}"
        );
        assert!(
            format!("{error:#}").contains("malformed BSON at options."),
            "{error:#}"
        );
    }
}

/// The time of libmongocrypt is quadratic in their number.
pub(crate) async fn replies_with_very_many_keys_are_errors() {
    let automatic = Automatic::new().await;
    let value = |number: u32| {
        let mut bytes = vec![1; 1 + 16 + 16];
        bytes[1..5].copy_from_slice(&number.to_le_bytes());
        Binary {
            subtype: BinarySubtype::Encrypted,
            bytes,
        }
    };
    let values: Vec<_> = (0..10_001).map(value).collect();
    automatic
        .stored()
        .insert_one(&doc! { "_id": 1, "values": values })
        .await
        .expect("an insert");
    let (client, _sent) = automatic.client_with("", automatic.encryption().bypass_auto_encryption(true));
    let error = patients(&client).find_one(doc! {}).await.expect_err("many keys");
    assert!(
        matches!(error.kind(), ErrorKind::Encryption(EncryptionError::Reply(_))),
        "{error:?}"
    );
    assert!(
        format!("{error:#}").contains("more than 10000 data keys"),
        "{error:#}"
    );
}
