//! `$lookup` with encrypted collections.

use marula_driver::bson::{Binary, BinarySubtype, Bson, Document, doc};
use marula_driver_tests::QueryAnalysis;

use super::queryable::Queryable;

const COLLECTIONS: [&str; 7] = [
    "csfle",
    "csfle2",
    "qe",
    "qe2",
    "no_schema",
    "no_schema2",
    "non_csfle_schema",
];

/// Creates the collections, with one document in each.
async fn start(analysis: QueryAnalysis) -> Queryable {
    let queryable = Queryable::with_analysis("8.2.0", analysis).await;
    let plain = queryable.setup.client().database("db");
    let client = queryable.automatic();
    for name in COLLECTIONS {
        match name {
            "csfle" | "csfle2" => {
                let encrypt = doc! {
                    "keyId": [queryable.key], "bsonType": "string", "algorithm": "AEAD_AES_256_CBC_HMAC_SHA_512-Deterministic",
                };
                let schema = doc! { "bsonType": "object", "properties": { name: { "encrypt": encrypt } } };
                let create = plain
                    .create_collection(name)
                    .validator(doc! { "$jsonSchema": schema });
                create.await.expect(name);
            }
            "qe" | "qe2" => {
                let equality = doc! { "queryType": "equality", "contention": 0_i64 };
                let field = queryable.field(name, "string", Some(equality.into()));
                queryable.collection(&client, name, vec![field]).await;
            }
            "non_csfle_schema" => {
                let validator = doc! { "$jsonSchema": { "bsonType": "object" } };
                plain
                    .create_collection(name)
                    .validator(validator)
                    .await
                    .expect(name);
            }
            _ => plain.create_collection(name).await.expect(name),
        }
        let collection = client.database("db").collection::<Document>(name);
        collection.insert_one(&doc! { name: name }).await.expect(name);
        let stored = plain.collection::<Document>(name).find_one(doc! {}).await;
        let stored = stored.expect(name).expect(name);
        let is_encrypted = matches!(
            stored.get(name),
            Some(Bson::Binary(Binary {
                subtype: BinarySubtype::Encrypted,
                ..
            }))
        );
        assert_eq!(
            is_encrypted,
            name.starts_with("csfle") || name.starts_with("qe"),
            "{stored}"
        );
    }
    queryable
}

fn pipeline(outer: &str, inner: &str, value: &str) -> Vec<Document> {
    let project = || doc! { "$project": { "_id": 0, "__safeContent__": 0 } };
    let matched = [doc! { "$match": { inner: inner } }, project()];
    vec![
        doc! { "$match": { outer: value } },
        doc! { "$lookup": { "from": inner, "as": "matched", "pipeline": matched } },
        project(),
    ]
}

/// Cases 1 to 8 and 10.
pub(crate) async fn client_side_encryption_prose_25_encrypted_collections_are_joined() {
    let queryable = start(QueryAnalysis::start().await).await;
    for (outer, inner) in [
        ("csfle", "no_schema"),
        ("qe", "no_schema"),
        ("no_schema", "csfle"),
        ("no_schema", "qe"),
        ("csfle", "csfle2"),
        ("qe", "qe2"),
        ("no_schema", "no_schema2"),
        ("qe", "non_csfle_schema"),
    ] {
        let collection = queryable.automatic().database("db").collection::<Document>(outer);
        let cursor = collection
            .aggregate(pipeline(outer, inner, outer))
            .await
            .expect(outer);
        let documents = cursor.try_collect().await.expect(outer);
        assert_eq!(documents, [doc! { outer: outer, "matched": [{ inner: inner }] }]);
    }
    let collection = queryable
        .automatic()
        .database("db")
        .collection::<Document>("csfle");
    let error = collection
        .aggregate(pipeline("csfle", "qe", "qe"))
        .await
        .expect_err("two kinds of encryption");
    let message = "Cannot specify both encryptionInformation and csfleEncryptionSchemas unless csfleEncryptionSchemas only \
                   contains non-encryption JSON schema validators";
    assert!(error.to_string().contains(message), "{error}");
}

/// Case 9.
pub(crate) async fn client_side_encryption_prose_25_an_old_analysis_is_an_error() {
    let queryable = start(QueryAnalysis::with_wire_version(25).await).await;
    let collection = queryable
        .automatic()
        .database("db")
        .collection::<Document>("csfle");
    let error = collection
        .aggregate(pipeline("csfle", "no_schema", "csfle"))
        .await
        .expect_err("too old");
    assert!(error.to_string().contains("Upgrade"), "{error}");
}
