//! Collections that the encrypting client does not know as encrypted: no plain value is sent to them.

use super::{Hospital, Patient, Plain, patient};
use marula::bson::{Document as BsonDocument, doc};
use marula::driver::{EncryptionError, ErrorKind};
use marula::schema::{DataKeys, SyncMode};
use marula::{Error, Model, prelude::*};

/// The namespace and the fields of the error.
pub(super) fn not_encrypted(error: &Error) -> (String, Vec<String>) {
    let mut cause = error.driver();
    if let Some(ErrorKind::BulkWrite(bulk)) = cause.map(marula::driver::Error::kind) {
        cause = bulk.interrupted_by.as_ref();
    }
    match cause.map(marula::driver::Error::kind) {
        Some(ErrorKind::Encryption(EncryptionError::NotEncrypted {
            namespace,
            fields,
            required_by,
        })) => {
            assert_eq!(required_by, "model `Patient`");
            let text = format!("{error:#}");
            assert!(
                text.contains(&format!(
                    "model `Patient` requires that the client encrypts `{}`",
                    fields.join("`, `")
                )) && text.contains(namespace)
                    && text.contains("create the collection with these encrypted fields"),
                "{text}"
            );
            (namespace.clone(), fields.clone())
        }
        _ => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn nothing_is_sent_to_a_collection_that_is_not_known_as_encrypted() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let client = hospital.with::<Patient>().await.client();
    let acme = client.database("acme");
    let patients = acme.collection::<Patient>();
    let (document, mut saved) = (patient(1), patient(2));
    let p = Patient::fields();
    let errors = [
        patients.insert_one(&document).await.unwrap_err(),
        patients.insert_many([&document]).await.unwrap_err(),
        patients.save(&mut saved).await.unwrap_err(),
        patients
            .upsert_with(|p| p.id().eq(1), |p| p.age().set(1), &document)
            .await
            .unwrap_err(),
        patients.replace(&document).upsert(true).await.unwrap_err(),
        patients
            .find_one_and_replace(|p| p.id().eq(1), &document)
            .await
            .unwrap_err(),
        patients
            .update_one(|p| p.id().eq(1), |p| p.age().set(3))
            .await
            .unwrap_err(),
        patients
            .update_by_id(1, |p| p.name().set("Ada"))
            .upsert(true)
            .await
            .unwrap_err(),
        patients
            .find_one_and_update(|p| p.id().eq(1), |p| p.age().set(3))
            .await
            .unwrap_err(),
        patients.bulk().insert(&document).await.unwrap_err(),
        client
            .bulk()
            .on(&patients, |b| b.insert(&document))
            .await
            .unwrap_err(),
        patients.find(|p| p.ssn().eq("1")).all().await.unwrap_err(),
        patients.find_one(|p| p.ssn().eq("1")).await.unwrap_err(),
        patients.count(|p| p.ssn().eq("1")).await.unwrap_err(),
        patients.delete_one(|p| p.ssn().ne("1")).await.unwrap_err(),
        patients
            .find_one_and_delete(|p| p.ssn().ne("1"))
            .await
            .unwrap_err(),
        patients
            .aggregate()
            .match_(|_| p.ssn().eq("1"))
            .all()
            .await
            .unwrap_err(),
        patients
            .find(|p| p.ssn().eq("1"))
            .explain()
            .unwrap()
            .await
            .unwrap_err()
            .into(),
        patients.named("others").insert_one(&document).await.unwrap_err(),
    ];
    for error in &errors {
        let (namespace, fields) = not_encrypted(error);
        assert!(["acme.patients", "acme.others"].contains(&namespace.as_str()));
        assert_eq!(fields.len(), 7);
    }
    let stored = hospital.client.database("acme");
    assert_eq!(
        stored.driver().list_collection_names().await.unwrap(),
        Vec::<String>::new()
    );

    // Other models, and the collection that the client knows.
    acme.collection::<Plain>()
        .insert_one(&Plain { _id: 1 })
        .await
        .unwrap();
    let known = client.database("hospital").collection::<Patient>();
    known.insert_one(&document).await.unwrap();
    assert_eq!(
        known.find_one(|p| p.ssn().eq("457-55-0001")).await.unwrap(),
        Some(document)
    );
}

#[tokio::test]
async fn the_encrypted_fields_of_the_collection_are_used_without_a_map() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let acme = hospital.client.database("acme");
    let keys = DataKeys::new(&hospital.encryption, "local");
    let schema = acme.schema().encryption(keys).register::<Patient>();
    schema.sync(SyncMode::Additive).await.unwrap();
    let client = hospital.client_with(hospital.options());
    let patients = client.database("acme").collection::<Patient>();
    patients.insert_one(&patient(1)).await.unwrap();
    assert_eq!(
        patients.find_one(|p| p.age().gt(20)).await.unwrap(),
        Some(patient(1))
    );
    let mut session = client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    patients
        .insert_one(&patient(2))
        .session(&mut session)
        .await
        .unwrap();
    session.commit_transaction().await.unwrap();
    let raw = acme.driver().collection::<BsonDocument>("patients");
    let raw = raw.find_one(doc! { "_id": 2 }).await.unwrap().unwrap();
    assert!(super::is_encrypted(raw.get("ssn")), "{raw}");
}

#[tokio::test]
async fn a_map_that_lacks_fields_is_an_error_that_names_them() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let schema = hospital.schema().register::<Patient>();
    schema.sync(SyncMode::Additive).await.unwrap();
    let db = hospital.db();
    let listed = db.driver().list_collections().filter(doc! { "name": "patients" });
    let listed = listed.await.unwrap().try_next().await.unwrap().unwrap();
    let mut fields = listed.options.get_document("encryptedFields").unwrap().clone();
    fields.get_array_mut("fields").unwrap().retain(|field| {
        let path = field.as_document().unwrap().get_str("path").unwrap();
        !["age", "address.st"].contains(&path)
    });
    let options = hospital.options().encrypted_fields("hospital.patients", &fields);
    let patients = hospital
        .client_with(options)
        .database("hospital")
        .collection::<Patient>();
    let error = patients.insert_one(&patient(1)).await.unwrap_err();
    let (namespace, missing) = not_encrypted(&error);
    assert_eq!(
        (namespace.as_str(), missing),
        (
            "hospital.patients",
            vec!["age".to_owned(), "address.st".to_owned()]
        )
    );
}
