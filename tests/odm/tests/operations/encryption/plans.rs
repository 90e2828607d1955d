//! Schema plans of models with encrypted fields.

use super::{Hospital, Patient, Plain, VAULT, providers};
use marula::driver::encryption::AutoEncryptionOptions;
use marula::schema::{Apply, Step, SyncMode};
use marula::{Document, Error, SchemaError};
use marula_test_server::TestServer;
use serde::{Deserialize, Serialize};

#[tokio::test]
async fn a_plan_creates_no_keys_and_is_applied_once() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let schema = || hospital.schema().register::<Patient>();
    let plan = schema().plan().await.unwrap();
    assert!(!plan.is_empty());
    let printed = plan.to_string();
    assert!(
        printed.contains("+ create   collection {")
            && printed.contains(
                r#""encryptedFields": {"fields": [{"path": "ssn", "bsonType": "string", "keyId": null"#
            ),
        "{printed}"
    );
    assert_eq!(hospital.keys().await, 0);
    assert_eq!(hospital.collections().await, Vec::<String>::new());
    let error = schema().sync(SyncMode::Verify).await.unwrap_err();
    assert!(
        matches!(error, Error::Schema(SchemaError::NotInSync { .. })),
        "{error}"
    );
    let error = schema()
        .encrypted_fields_map(AutoEncryptionOptions::new(VAULT, providers()))
        .await
        .expect_err("no collection");
    assert!(
        error.to_string().contains("create it with `Schema::sync` first"),
        "{error}"
    );

    // Several instances start at once.
    let (first, second) = tokio::join!(
        schema().sync(SyncMode::Additive),
        schema().sync(SyncMode::Additive)
    );
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(
        first.created_collections.len() + second.created_collections.len(),
        1
    );
    assert_eq!(hospital.keys().await, 7);
    assert_eq!(
        hospital.collections().await,
        [
            "enxcol_.patients.ecoc",
            "enxcol_.patients.esc",
            "marula_schema",
            "patients"
        ]
    );
    let again = schema().plan().await.unwrap();
    assert!(again.is_empty(), "{again}");
    assert!(!again.to_string().contains("__safeContent__"), "{again}");
    assert!(schema().sync(SyncMode::Verify).await.unwrap().is_empty());
    assert!(again.apply(Apply::full()).await.unwrap().is_empty());
    assert_eq!(hospital.keys().await, 7);
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "patients")]
struct ChangedPatient {
    _id: i64,
    #[document(encrypted(equality, contention = 8))]
    ssn: String,
    #[document(encrypted(range(min = 0, max = 200, sparsity = 1, trim_factor = 6)))]
    age: i64,
    #[document(encrypted)]
    phone: String,
    ward: String,
}

#[tokio::test]
async fn a_changed_model_is_reported() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let created = hospital.schema().register::<Patient>();
    created.sync(SyncMode::Additive).await.unwrap();
    let schema = || hospital.schema().register::<ChangedPatient>();
    let plan = schema().plan().await.unwrap();
    let differences = plan.steps().find_map(|(_, step)| match step {
        Step::EncryptedFieldsConflict { differences, .. } => Some(differences.clone()),
        _ => None,
    });
    let ssn = "`ssn` has the queries {\"queryType\": \"equality\", \"contention\": 4} in the collection and \
               {\"queryType\": \"equality\", \"contention\": 8} in the model";
    assert_eq!(
        differences.expect("a conflict"),
        [
            "`age` has the type int in the collection and long in the model",
            "`phone` is not encrypted in the collection",
            ssn,
            "`address.st` is encrypted in the collection and not in the model",
            "`allergies` is encrypted in the collection and not in the model",
            "`policy` is encrypted in the collection and not in the model",
            "`remarks` is encrypted in the collection and not in the model",
            "`ward` is encrypted in the collection and not in the model",
        ]
    );
    assert!(
        plan.to_string()
            .contains("! conflict encrypted fields: `age` has"),
        "{plan}"
    );
    assert!(!plan.is_empty());
    let conflict = plan.conflict().expect("a conflict").to_string();
    assert!(
        conflict.contains("register it for a new collection"),
        "{conflict}"
    );
    // Conflicts of encrypted fields are not allowed: the values would be stored as they are.
    let allowing = Apply::additive().allow_conflicts(true);
    for apply in [Apply::additive(), Apply::full(), allowing] {
        let error = plan.apply(apply).await.unwrap_err();
        assert!(
            matches!(error, Error::Schema(SchemaError::EncryptedFieldsConflict { .. })),
            "{error}"
        );
    }
    assert_eq!(hospital.keys().await, 7);

    // A collection that is not encrypted, and a model that is not.
    hospital.db().driver().create_collection("others").await.unwrap();
    let plan = hospital
        .schema()
        .register_named::<ChangedPatient>("others")
        .plan()
        .await
        .unwrap();
    assert!(
        plan.to_string().contains("the collection is not encrypted"),
        "{plan}"
    );
    let plain = hospital
        .schema()
        .register_named::<Plain>("patients")
        .plan()
        .await
        .unwrap();
    assert!(
        plain
            .to_string()
            .contains("`ssn` is encrypted in the collection and not in the model"),
        "{plain}"
    );
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "texts")]
struct Text {
    _id: i64,
    #[document(encrypted(prefix(min = 2, max = 10), suffix(min = 2, max = 10), contention = 0))]
    text: String,
}

/// Ranges need MongoDB 8.0, prefixes and the others MongoDB 8.2.
#[tokio::test]
async fn query_types_need_a_server_that_has_them() {
    for (version, age, text) in [("7.0", true, true), ("8.0", false, true), ("8.2", false, false)] {
        let Some(hospital) = Hospital::start(version).await else {
            return;
        };
        let plan = hospital
            .schema()
            .register::<Patient>()
            .register::<Text>()
            .plan()
            .await
            .unwrap();
        let unsupported = plan
            .unsupported()
            .map(|error| error.to_string())
            .unwrap_or_default();
        let range = "the query type `range` of the encrypted field `age` (model `Patient`) needs MongoDB 8.0 or later, the \
                     server is 7.0";
        assert_eq!(unsupported.contains(range), age, "{unsupported}");
        for kind in ["prefix", "suffix"] {
            let found = unsupported.contains(&format!("the query type `{kind}"));
            assert_eq!(found, text, "{unsupported}");
        }
        assert_eq!(unsupported.contains("(model `Text`) needs MongoDB 8.2"), text);
        assert_eq!(hospital.keys().await, 0);
    }
}

/// It is rejected before a data key is created.
#[tokio::test]
async fn an_encrypted_collection_on_a_standalone_is_rejected() {
    let server = TestServer::builder().standalone().start().await;
    let server = server.expect("the server starts");
    let client = marula::connect(server.uri()).await.expect("a connection string");
    let schema = || client.database("hospital").schema().register::<Patient>();
    for mode in [SyncMode::Verify, SyncMode::Additive, SyncMode::Full] {
        let error = schema().sync(mode).await.unwrap_err();
        assert!(
            matches!(error, Error::Schema(SchemaError::Unsupported { .. })),
            "{error}"
        );
        assert_eq!(
            error.to_string(),
            "schema: hospital.patients: the collection with the encrypted fields of model `Patient` needs a replica set or a \
             sharded cluster, the server is a standalone"
        );
    }
}

#[tokio::test]
async fn a_schema_without_data_keys_is_rejected() {
    let server = TestServer::builder()
        .replica_set()
        .start()
        .await
        .expect("the server starts");
    let client = marula::connect(server.uri()).await.expect("a connection string");
    let db = client.database("hospital");
    let error = db.schema().register::<Patient>().plan().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "schema: model `Patient` of hospital.patients has encrypted fields, and the schema has no data keys for them; call \
         `Schema::encryption(DataKeys::new(client_encryption, provider))`"
    );
    assert!(db.schema().register::<Plain>().plan().await.unwrap().is_empty());
}
