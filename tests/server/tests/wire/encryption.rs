//! Queryable Encryption: versions, the maintenance of state collections, and documents with values that are not encrypted.

use crate::client::{Client, code, on};
use bson::{Bson, Document, Uuid, doc};
use marula_test_server::TestServer;

async fn start(version: &str) -> (TestServer, Client) {
    let builder = TestServer::builder().version(version).replica_set();
    let server = builder.start().await.unwrap();
    let client = Client::connect(server.primary().unwrap()).await;
    (server, client)
}

fn information() -> Document {
    let collection =
        doc! { "escCollection": "enxcol_.people.esc", "ecocCollection": "enxcol_.people.ecoc", "fields": [] };
    doc! { "type": 1, "schema": { "db.people": collection } }
}

fn create() -> Document {
    let fields = doc! { "fields": [{ "path": "ssn", "bsonType": "string", "keyId": Uuid::new() }] };
    doc! { "create": "people", "encryptedFields": fields }
}

#[tokio::test]
async fn versions_before_7_have_no_current_protocol() {
    for (version, expected) in [("5.0.0", 40415), ("6.0.0", 238), ("7.0.0", 0), ("8.2.0", 0)] {
        let (_server, mut client) = start(version).await;
        for command in [
            doc! { "insert": "people", "documents": [{ "a": 1 }] },
            doc! { "find": "people", "filter": { "a": 1 } },
            doc! { "count": "people" },
        ] {
            let mut command = command;
            command.insert("encryptionInformation", information());
            let reply = client.run(on("db", command)).await;
            assert_eq!(code(&reply), expected, "{version}: {reply}");
        }
        let compact = doc! { "compactStructuredEncryptionData": "people", "compactionTokens": {} };
        let reply = client.run(on("db", compact)).await;
        let expected = if expected == 0 { 6_346_807 } else { 59 };
        assert_eq!(code(&reply), expected, "{version}: {reply}");
    }
}

#[tokio::test]
async fn invalid_information_is_rejected() {
    let (_server, mut client) = start("8.0.0").await;
    for information in [
        Bson::from(1),
        doc! { "type": 2, "schema": {} }.into(),
        doc! { "type": 1 }.into(),
        doc! { "type": 1, "schema": { "db.people": { "escCollection": "e" } } }.into(),
        doc! { "type": 1, "schema": { "people": {} } }.into(),
    ] {
        let find = doc! { "find": "people", "encryptionInformation": information };
        let reply = client.run(on("db", find)).await;
        assert_eq!(code(&reply), 2, "{reply}");
    }
    let of_other = doc! { "getMore": 1_i64, "collection": "people", "encryptionInformation": information() };
    let reply = client.run(on("db", of_other)).await;
    assert_eq!(code(&reply), 40415, "{reply}");
}

#[tokio::test]
async fn state_collections_are_maintained() {
    let (_server, mut client) = start("8.0.0").await;
    assert_eq!(code(&client.run(on("db", create())).await), 0);
    let entry = doc! { "insert": "enxcol_.people.ecoc", "documents": [{ "fieldName": "ssn" }, { "fieldName": "ssn" }] };
    for (command, tokens) in [
        ("compactStructuredEncryptionData", "compactionTokens"),
        ("cleanupStructuredEncryptionData", "cleanupTokens"),
    ] {
        client.run(on("db", entry.clone())).await;
        let reply = client.run(on("db", doc! { command: "people" })).await;
        assert_eq!(code(&reply), 40414, "{reply}");
        let message = reply.get_str("errmsg").unwrap();
        assert!(
            message.contains(&format!("'{command}.{tokens}' is missing")),
            "{message}"
        );
        let reply = client.run(on("db", doc! { command: "people", tokens: {} })).await;
        let ecoc = reply
            .get_document("stats")
            .and_then(|stats| stats.get_document("ecoc"))
            .unwrap();
        assert_eq!(ecoc, &doc! { "read": 2_i64, "deleted": 2_i64 });
        let left = client
            .run(on("db", doc! { "count": "enxcol_.people.ecoc" }))
            .await;
        assert_eq!(left.get_i32("n").unwrap(), 0);
        let missing = client
            .run(on("db", doc! { command: "missing", tokens: {} }))
            .await;
        assert_eq!(code(&missing), 26, "{missing}");
    }
}

#[tokio::test]
async fn values_of_encrypted_fields_must_be_encrypted() {
    let (_server, mut client) = start("8.0.0").await;
    assert_eq!(code(&client.run(on("db", create())).await), 0);
    let inserted = client
        .run(on(
            "db",
            doc! { "insert": "people", "documents": [{ "_id": 1, "name": "Ada" }] },
        ))
        .await;
    assert_eq!(inserted.get_i32("n").unwrap(), 1);
    let insert = doc! { "insert": "people", "documents": [{ "_id": 2, "ssn": "123" }] };
    let update =
        doc! { "update": "people", "updates": [{ "q": { "_id": 1 }, "u": { "$set": { "ssn": "123" } } }] };
    for command in [insert, update] {
        let reply = client.run(on("db", command)).await;
        let errors = reply.get_array("writeErrors").unwrap();
        assert_eq!(code(errors[0].as_document().unwrap()), 121, "{reply}");
    }
}
