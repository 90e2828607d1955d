//! Prose test 4, cases 1 to 6: the limits of documents and commands, before and after the encryption.

use marula_driver::{
    WriteModel,
    bson::{Document, doc},
    encryption::AutoEncryptionOptions,
};

use super::{
    automatic::{Automatic, local, take},
    support::NAMESPACE,
};

/// The most bytes of the statements of one command.
const STATEMENTS: usize = 2_097_152;
const DOCUMENT: usize = 16_777_216;

/// 100 fields, about 1,000 bytes, and 10,000 bytes when they are encrypted.
fn encrypted_fields() -> Document {
    (0..100)
        .map(|field| (format!("{field:02}"), "a".into()))
        .collect()
}

fn with(mut document: Document, id: &str, length: usize) -> Document {
    document.insert("_id", id);
    document.insert("unencrypted", "a".repeat(length));
    document
}

pub(crate) async fn client_side_encryption_prose_4_limits_apply_before_and_after_the_encryption() {
    let automatic = Automatic::new().await;
    let encrypt = doc! {
        "keyId": [automatic.key], "bsonType": "string", "algorithm": "AEAD_AES_256_CBC_HMAC_SHA_512-Deterministic",
    };
    let properties: Document = encrypted_fields()
        .into_iter()
        .map(|(field, _)| (field, doc! { "encrypt": encrypt.clone() }.into()))
        .collect();
    let schema = doc! { "bsonType": "object", "properties": properties };
    let database = automatic.setup.client().database("db");
    database
        .create_collection("coll")
        .validator(doc! { "$jsonSchema": schema })
        .await
        .expect("a collection");
    let encryption =
        AutoEncryptionOptions::new(NAMESPACE, local()).extra_options(automatic.analysis.extra_options());
    let (client, sent) = automatic.client_with("", encryption);
    let coll = client.database("db").collection::<Document>("coll");
    let inserts = || {
        take(&sent)
            .into_iter()
            .filter(|(name, _)| name == "insert")
            .count()
    };
    // Cases 1, 2 and 5: one document may be larger than the limit of a command.
    for document in [
        with(doc! {}, "over_2mib_under_16mib", STATEMENTS),
        with(encrypted_fields(), "encryption_exceeds_2mib", STATEMENTS - 2_000),
        with(doc! {}, "under_16mib", DOCUMENT - 2_000),
    ] {
        coll.insert_one(&document).await.expect("an insert");
    }
    assert_eq!(inserts(), 3);
    // Cases 3 and 4: each document is sent alone.
    for (fields, length, id) in [
        (doc! {}, STATEMENTS, "over_2mib"),
        (encrypted_fields(), STATEMENTS - 2_000, "encryption_exceeds_2mib"),
    ] {
        let documents = [1, 2].map(|number| with(fields.clone(), &format!("{id}_{number}"), length));
        let result = coll
            .bulk_write(documents.iter().map(WriteModel::insert_one))
            .await;
        assert_eq!(
            (result.expect("a bulk write").inserted_count, inserts()),
            (2, 2),
            "{id}"
        );
    }
    // Case 6: the limit of a document applies to the encrypted one.
    let document = with(encrypted_fields(), "encryption_exceeds_16mib", DOCUMENT - 2_000);
    let error = coll.insert_one(&document).await.expect_err("too large");
    assert!(matches!(error.code(), None | Some(2 | 10334)), "{error:?}");
    let stored = database
        .collection::<Document>("coll")
        .count_documents(doc! {})
        .await;
    assert_eq!(stored.expect("a count"), 7);
}
