//! The key vault.

use std::time::Duration;

use marula_driver::{
    Client, EncryptionError, ErrorKind, IndexModel,
    bson::{Bson, Document, Uuid, doc},
    encryption::{ClientEncryption, ClientEncryptionOptions, EncryptionAlgorithm, KmsProviders},
};

use super::support::{LOCAL_KEY, NAMESPACE, Setup, master_key};

pub(crate) async fn keys_are_managed() {
    let setup = Setup::new().await;
    let encryption = setup.encryption();
    let id = encryption
        .create_data_key("local")
        .alt_names(["one", "two"])
        .await
        .expect("a key");
    let names = |key: Option<Document>| {
        let key = key.expect("a key");
        assert_eq!(key.get("_id"), Some(&Bson::from(id)));
        key.get_array("keyAltNames").cloned().unwrap_or_default()
    };
    let found = encryption.get_key(id).await.expect("a key");
    let mut found = names(found);
    found.sort_by_key(ToString::to_string);
    assert_eq!(found, ["one", "two"].map(Bson::from));
    let found = encryption.get_key_by_alt_name("two").await.expect("a key");
    assert_eq!(names(found).len(), 2);
    assert_eq!(encryption.get_key_by_alt_name("three").await.expect("none"), None);

    let before = encryption.add_key_alt_name(id, "three").await.expect("a key");
    assert_eq!(names(before).len(), 2);
    for (name, count) in [("one", 3), ("none", 2), ("two", 2), ("three", 1)] {
        let before = encryption.remove_key_alt_name(id, name).await.expect("a key");
        assert_eq!(names(before).len(), count, "{name}");
    }
    let key = encryption.get_key(id).await.expect("a key").expect("a key");
    assert!(!key.contains_key("keyAltNames"), "{key}");
    // Names that the server could evaluate as fields or variables.
    for name in ["$keyAltNames", "$$ROOT", "$billing"] {
        encryption.add_key_alt_name(id, name).await.expect("a key");
    }
    for (name, left) in [("$$ROOT", 2), ("$billing", 1), ("$keyAltNames", 0)] {
        encryption.remove_key_alt_name(id, name).await.expect("a key");
        let after = encryption.get_key(id).await.expect("a key");
        assert_eq!(names(after).len(), left, "{name}");
    }
    assert_eq!(
        encryption.add_key_alt_name(Uuid::new(), "x").await.expect("none"),
        None
    );

    let keys = encryption
        .get_keys()
        .await
        .expect("keys")
        .try_collect()
        .await
        .expect("keys");
    assert_eq!(keys.len(), 1);
    assert_eq!(
        encryption.delete_key(id).await.expect("a result").deleted_count,
        1
    );
    assert_eq!(
        encryption.delete_key(id).await.expect("a result").deleted_count,
        0
    );
    assert_eq!(encryption.get_key(id).await.expect("none"), None);
}

pub(crate) async fn keys_are_rewrapped() {
    let setup = Setup::new().await;
    let encryption = setup.encryption();
    let key = encryption
        .create_data_key("local")
        .alt_names(["it"])
        .await
        .expect("a key");
    let value = encryption
        .encrypt("text", key, EncryptionAlgorithm::Random)
        .await
        .expect("a value");
    for provider in ["aws", "azure", "gcp", "kmip", "local"] {
        let mut rewrap = encryption
            .rewrap_many_data_key(doc! { "keyAltNames": "it" })
            .provider(provider);
        if let Some(key) = master_key(provider) {
            rewrap = rewrap.master_key(key);
        }
        let result = rewrap.await.expect(provider).bulk_write_result.expect(provider);
        assert_eq!(result.modified_count, 1);
        let key = encryption.get_key(key).await.expect("a key").expect("a key");
        let of_key = key.get_document("masterKey").expect("a key").get_str("provider");
        assert_eq!(of_key.expect("a provider"), provider);
        let text: String = setup
            .encryption()
            .decrypt(&value)
            .with_type()
            .await
            .expect(provider);
        assert_eq!(text, "text");
    }
    // With their own master keys again, and no key.
    let again = encryption.rewrap_many_data_key(doc! {}).await.expect("a result");
    assert_eq!(again.bulk_write_result.expect("a result").matched_count, 1);
    let none = encryption
        .rewrap_many_data_key(doc! { "_id": 1 })
        .await
        .expect("a result");
    assert!(none.bulk_write_result.is_none());
    // Prose test 16, case 2.
    let error = encryption
        .rewrap_many_data_key(doc! {})
        .master_key(doc! {})
        .await
        .expect_err("no provider");
    assert!(error.to_string().contains("requires its provider"), "{error}");
}

pub(crate) async fn key_material_has_96_bytes() {
    let setup = Setup::new().await;
    let encryption = setup.encryption();
    let create = |material: &[u8]| encryption.create_data_key("local").key_material(material);
    for length in [0, 95, 97] {
        let error = create(&vec![1; length]).await.expect_err("a wrong length");
        assert!(
            error.to_string().contains(&format!("96 bytes, found {length}")),
            "{error}"
        );
    }
    // The tokens of a payload depend on the material alone.
    let mut payloads = Vec::new();
    for _ in 0..2 {
        let key = create(&[1; 96]).await.expect("a key");
        let payload = encryption
            .encrypt("x", key, EncryptionAlgorithm::Indexed)
            .contention_factor(0)
            .query_type("equality")
            .await
            .expect("a payload");
        payloads.push(payload.bytes);
    }
    assert_eq!(payloads[0], payloads[1]);
}

/// Prose test 13: a unique index makes duplicate names errors of the server.
pub(crate) async fn client_side_encryption_prose_13_names_of_keys_are_unique() {
    let setup = Setup::new().await;
    let keys = setup
        .client()
        .database("encryption")
        .collection::<Document>("keys");
    let exists = doc! { "keyAltNames": { "$exists": true } };
    let index = IndexModel::new(doc! { "keyAltNames": 1 })
        .name("keyAltNames_1")
        .unique(true)
        .partial_filter_expression(exists);
    keys.create_index(index).await.expect("an index");
    let encryption = setup.encryption();
    let create = |name: &str| encryption.create_data_key("local").alt_names([name.to_owned()]);
    let with_def = create("def").await.expect("a key");
    // Case 1.
    create("abc").await.expect("a key");
    for name in ["abc", "def"] {
        let error = create(name).await.expect_err("a duplicate");
        assert!(error.is_duplicate_key(), "{name}: {error}");
    }
    // Case 2.
    let other = encryption.create_data_key("local").await.expect("a key");
    encryption.add_key_alt_name(other, "ghi").await.expect("a key");
    for (id, name) in [(other, "ghi"), (with_def, "def")] {
        let before = encryption
            .add_key_alt_name(id, name)
            .await
            .expect("a key")
            .expect("a key");
        let names = before.get_array("keyAltNames").expect("names");
        assert!(names.contains(&Bson::from(name)), "{before}");
    }
    let error = encryption
        .add_key_alt_name(other, "def")
        .await
        .expect_err("a duplicate");
    assert!(error.is_duplicate_key(), "{error}");
}

/// Prose test 16, case 1: a value is decrypted by objects of two clients after each change of the provider.
pub(crate) async fn client_side_encryption_prose_16_keys_are_rewrapped_between_all_providers() {
    let setup = Setup::new().await;
    let providers = ["aws", "azure", "gcp", "kmip", "local"];
    let other = setup.deployment.client_with("").await;
    let key_vault = setup
        .client()
        .database("encryption")
        .collection::<Document>("keys");
    for source in providers {
        for destination in providers {
            key_vault.drop().await.expect("a drop");
            let first = setup.encryption();
            let mut create = first.create_data_key(source);
            if let Some(key) = master_key(source) {
                create = create.master_key(key);
            }
            let key = create.await.expect(source);
            let value = first
                .encrypt("test", key, EncryptionAlgorithm::Deterministic)
                .await
                .expect(source);
            let options = setup.options(super::support::providers());
            let second = ClientEncryption::new(&other, options).expect("options");
            let mut rewrap = second.rewrap_many_data_key(doc! {}).provider(destination);
            if let Some(key) = master_key(destination) {
                rewrap = rewrap.master_key(key);
            }
            let result = rewrap.await.expect(destination).bulk_write_result;
            assert_eq!(result.expect(destination).modified_count, 1);
            for encryption in [&first, &second, &setup.encryption()] {
                let text: String = encryption.decrypt(&value).with_type().await.expect(destination);
                assert_eq!(text, "test", "{source} to {destination}");
            }
        }
    }
}

pub(crate) async fn an_unreachable_key_vault_is_an_error_of_encryption() {
    let client = Client::connect("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=10")
        .await
        .expect("a client");
    let options = || ClientEncryptionOptions::new(NAMESPACE, KmsProviders::new().local(&LOCAL_KEY));
    let encryption = ClientEncryption::new(&client, options()).expect("options");
    let error = encryption
        .encrypt("x", "name", EncryptionAlgorithm::Random)
        .await
        .expect_err("no server");
    let ErrorKind::Encryption(EncryptionError::KeyVault(cause)) = error.kind() else {
        panic!("{error:?}")
    };
    assert!(matches!(cause.kind(), ErrorKind::ServerSelection(_)), "{cause:?}");
    assert!(error.is_timeout() && error.is_unavailable(), "those of the cause");
    // The time limit of the options.
    let limited = options().timeout(Duration::from_millis(5));
    let encryption = ClientEncryption::new(&client, limited).expect("options");
    let error = encryption
        .encrypt("x", "name", EncryptionAlgorithm::Random)
        .await
        .expect_err("no server");
    assert!(error.is_timeout(), "{error:?}");
}

/// The keys are created before the collection, whose name of a state collection is invalid.
pub(crate) async fn a_failed_encrypted_collection_reports_its_keys() {
    let setup = Setup::new().await;
    let encryption = setup.encryption();
    let database = setup.client().database("hospital");
    let fields = doc! { "escCollection": "other", "fields": [
        { "path": "ssn", "bsonType": "string", "keyId": Bson::Null },
        "no document",
        { "path": "name", "bsonType": "string", "keyId": Bson::Null },
    ] };
    let error = encryption
        .create_encrypted_collection(&database, "patients", fields.clone(), "local")
        .await
        .expect_err("an invalid name");
    let ErrorKind::Encryption(EncryptionError::CreateCollection { encrypted_fields, .. }) = error.kind()
    else {
        panic!("{error:?}");
    };
    let ids: Vec<Bson> = encrypted_fields
        .get_array("fields")
        .expect("fields")
        .iter()
        .filter_map(|field| field.as_document()?.get("keyId").cloned())
        .collect();
    let mut stored = encryption.get_keys().await.expect("keys");
    let mut found = 0;
    while let Some(key) = stored.try_next().await.expect("a key") {
        assert!(ids.contains(key.get("_id").expect("an id")), "{key}");
        found += 1;
    }
    assert_eq!((ids.len(), found), (2, 2));
    let error = encryption
        .create_encrypted_collection(&database, "patients", fields, "aws")
        .await
        .expect_err("no master key");
    assert!(
        matches!(
            error.kind(),
            ErrorKind::Encryption(EncryptionError::CreateCollection { .. })
        ),
        "{error:?}"
    );
}

pub(crate) async fn providers_that_cannot_encrypt_keys_are_named() {
    let setup = Setup::new().await;
    let local = KmsProviders::new().local(&LOCAL_KEY);
    let encryption = setup.encryption_with(setup.options(local));
    let key = encryption.create_data_key("local").await.expect("a key");
    let errors = [
        encryption
            .create_data_key("aws")
            .await
            .expect_err("not configured"),
        encryption
            .rewrap_many_data_key(doc! { "_id": key })
            .provider("local:other")
            .await
            .expect_err("not configured"),
    ];
    for error in errors {
        let text = error.to_string();
        assert!(
            text.contains("is not one of the options, which have: local"),
            "{text}"
        );
    }
    let error = setup
        .encryption()
        .create_data_key("aws")
        .await
        .expect_err("no master key");
    assert!(error.to_string().contains("requires a master key"), "{error}");
    // A key that does not exist.
    let error = encryption
        .encrypt("x", "missing", EncryptionAlgorithm::Random)
        .await
        .expect_err("no key");
    assert!(error.to_string().contains(NAMESPACE), "{error}");
}
