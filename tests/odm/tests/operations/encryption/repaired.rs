//! Encrypted collections whose creation has failed, and options that they cannot have.

use super::{Hospital, Patient};
use marula::bson::{Document as BsonDocument, doc};
use marula::driver::encryption::{ClientEncryption, ClientEncryptionOptions};
use marula::schema::{DataKeys, Step, SyncMode};
use marula::{Document, Error, SchemaError};
use serde::{Deserialize, Serialize};

#[tokio::test]
async fn a_missing_index_of_encryption_is_created() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let schema = || hospital.schema().register::<Patient>();
    schema().sync(SyncMode::Additive).await.unwrap();
    let db = hospital.db();
    let patients = db.driver().collection::<BsonDocument>("patients");
    patients.drop_index("__safeContent___1").await.unwrap();
    let plan = schema().plan().await.unwrap();
    let missing: Vec<&str> = plan
        .steps()
        .filter_map(|(_, step)| match step {
            Step::Create { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(missing, ["__safeContent___1"]);
    let applied = schema().sync(SyncMode::Additive).await.unwrap();
    assert_eq!(
        applied.created,
        [("hospital.patients".to_owned(), "__safeContent___1".to_owned())]
    );
    assert!(schema().plan().await.unwrap().is_empty());
    assert!(schema().sync(SyncMode::Full).await.unwrap().is_empty());
    let indexes = patients.list_index_names().await.unwrap();
    assert!(indexes.contains(&"__safeContent___1".to_owned()), "{indexes:?}");
}

/// Fails the next commands of this name.
async fn fail(hospital: &Hospital, command: &str, times: i32) {
    let admin = hospital.client.database("admin");
    let fail = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": times },
        "data": { "failCommands": [command], "errorCode": 11_600, "closeConnection": false },
    };
    admin.driver().run_command(fail).await.expect("a fail point");
}

#[tokio::test]
async fn the_data_keys_of_a_creation_that_failed_are_used() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let schema = || hospital.schema().register::<Patient>();
    fail(&hospital, "create", 1).await;
    schema().sync(SyncMode::Additive).await.unwrap_err();
    assert_eq!(hospital.keys().await, 7);
    schema().sync(SyncMode::Additive).await.unwrap();
    assert_eq!(hospital.keys().await, 7, "no key was added");
    let key = hospital
        .encryption
        .get_key_by_alt_name("marula:hospital.patients:address.st");
    let key = key.await.unwrap().expect("a key");
    let db = hospital.db();
    let listed = db.driver().list_collections().filter(doc! { "name": "patients" });
    let listed = listed.await.unwrap().try_next().await.unwrap().unwrap();
    let fields = listed.options.get_document("encryptedFields").unwrap();
    let fields = fields.get_array("fields").unwrap().iter();
    let mut fields = fields.filter_map(|field| field.as_document());
    let street = fields.find(|field| field.get_str("path").is_ok_and(|path| path == "address.st"));
    let street = street.expect("an encrypted field");
    assert_eq!(street.get("keyId"), key.get("_id"));

    // A collection that is created again has the same keys, unless another provider is to encrypt them.
    db.driver()
        .collection::<BsonDocument>("patients")
        .drop()
        .encrypted_fields(listed.options.get_document("encryptedFields").unwrap())
        .await
        .unwrap();
    let providers = super::providers().with(
        "local:other",
        doc! { "key": marula::bson::Binary {
            subtype: marula::bson::BinarySubtype::Generic,
            bytes: vec![9; 96],
        } },
    );
    let options = ClientEncryptionOptions::new(super::VAULT, providers);
    let other = ClientEncryption::new(hospital.client.driver(), options).unwrap();
    let other = db
        .schema()
        .encryption(DataKeys::new(&other, "local:other"))
        .register::<Patient>();
    let error = other.sync(SyncMode::Additive).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("`ssn` of model `Patient`")
            && text.contains("marula:hospital.patients:ssn")
            && text.contains("local:other"),
        "{text}"
    );
    schema().sync(SyncMode::Additive).await.unwrap();
    assert_eq!(hospital.keys().await, 7);
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "expiring", index(at, ttl = "60s"))]
struct Expiring {
    _id: i64,
    at: marula::bson::DateTime,
    #[document(encrypted)]
    text: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "warned", json_schema(action = "warn"))]
struct Warned {
    _id: i64,
    #[document(encrypted)]
    text: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "moderate", json_schema(level = "moderate"))]
struct Moderate {
    _id: i64,
    #[document(encrypted)]
    text: String,
}

#[tokio::test]
async fn options_that_an_encrypted_collection_cannot_have_are_errors_that_name_the_model() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let schema = || hospital.schema();
    for (error, model, reason) in [
        (
            schema().register::<Expiring>().plan().await.unwrap_err(),
            "Expiring",
            "the TTL index `at_1`",
        ),
        (
            schema().register::<Warned>().plan().await.unwrap_err(),
            "Warned",
            "`validationAction`",
        ),
        (
            schema().register::<Moderate>().plan().await.unwrap_err(),
            "Moderate",
            "`validationLevel`",
        ),
    ] {
        assert!(
            matches!(&error, Error::Schema(SchemaError::InvalidEncryption { model: found, .. }) if *found == model),
            "{error:?}"
        );
        assert!(error.to_string().contains(reason), "{error}");
    }
    // As the server does.
    let key = hospital.encryption.create_data_key("local").await.unwrap();
    let db = hospital.db();
    let db = db.driver();
    let create = |options: BsonDocument| {
        let mut command = doc! { "create": "x", "encryptedFields": { "fields": [{ "path": "a", "bsonType": "int", "keyId": key }] } };
        command.extend(options);
        command
    };
    for (options, code) in [
        (doc! { "capped": true, "size": 4096 }, 6_367_301),
        (doc! { "timeseries": { "timeField": "t" } }, 6_346_401),
        (doc! { "validationLevel": "moderate" }, 2),
        (doc! { "validationAction": "warn" }, 2),
    ] {
        assert_eq!(
            db.run_command(create(options)).await.unwrap_err().code(),
            Some(code)
        );
    }
    db.run_command(create(doc! {})).await.unwrap();
    let x = db.collection::<BsonDocument>("x");
    let ttl =
        marula::driver::IndexModel::new(doc! { "b": 1 }).expire_after(std::time::Duration::from_secs(1));
    assert_eq!(x.create_index(ttl).await.unwrap_err().code(), Some(6_346_501));
    let of_encrypted = marula::driver::IndexModel::new(doc! { "a": 1 });
    assert_eq!(
        x.create_index(of_encrypted).await.unwrap_err().code(),
        Some(6_346_502)
    );
}
