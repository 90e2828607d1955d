//! A client without automatic encryption sends no value of an encrypted field.

use super::{Hospital, Patient, Plain, patient};
use marula::{Document, Error, Model, Pipeline, prelude::*};
use serde::{Deserialize, Serialize};

fn is_unencrypted(error: &Error, field: &str) {
    let text = format!("{error:#}");
    assert!(
        text.contains(field) && text.contains("Client::with_auto_encryption"),
        "{text}"
    );
}

#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "names")]
struct Named {
    _id: i64,
    #[document(encrypted(prefix(min = 2, max = 10)))]
    name: String,
}

#[tokio::test]
async fn filters_of_pipelines_expressions_and_explains_are_checked() {
    let Some(hospital) = Hospital::start("9.0.0").await else {
        return;
    };
    let db = hospital.db();
    let patients = db.collection::<Patient>();
    let document = patient(1);
    let p = Patient::fields();
    for error in [
        patients.replace(&document).explain().unwrap_err(),
        patients
            .replace_one(|p| p.id().eq(1), &document)
            .explain()
            .unwrap_err(),
    ] {
        is_unencrypted(&error, "ssn");
    }
    let plain = db.collection::<Plain>();
    let union = plain
        .aggregate()
        .union_with::<Patient>(|p| p.match_(|p| p.age().ne(1)).assume::<Plain>());
    for error in [
        patients
            .aggregate()
            .match_(|p| p.age().ne(1))
            .all()
            .await
            .unwrap_err(),
        patients
            .aggregate()
            .limit(1)
            .match_(|_| p.age().eq(1) | p.id().eq(1))
            .all()
            .await
            .unwrap_err(),
        patients
            .aggregate()
            .match_(|p| p.age().ne(1))
            .explain()
            .unwrap_err(),
        union.all().await.unwrap_err(),
        patients.find_all().filter(p.age().ne(1)).all().await.unwrap_err(),
        patients
            .find(|p| p.id().gt(1))
            .filter(p.age().gt(1))
            .all()
            .await
            .unwrap_err(),
    ] {
        is_unencrypted(&error, "age");
    }
    let names = db.collection::<Named>();
    for error in [
        names
            .find(|n| n.name().starts_with("Lov"))
            .all()
            .await
            .unwrap_err(),
        names.count(|n| n.name().starts_with("Lov")).await.unwrap_err(),
        names
            .delete_one(|n| !n.name().starts_with("Lov"))
            .await
            .unwrap_err(),
        names
            .aggregate()
            .match_(|n| n.name().starts_with("Lov"))
            .all()
            .await
            .unwrap_err(),
    ] {
        is_unencrypted(&error, "name");
    }
    // Pipelines without such a filter.
    assert_eq!(
        patients
            .aggregate()
            .match_(|p| p.id().eq(1))
            .all()
            .await
            .unwrap()
            .len(),
        0
    );
    let _ = Pipeline::<Patient>::new();
}

#[tokio::test]
async fn an_upsert_by_a_part_of_an_encrypted_string_is_rejected() {
    let Some(hospital) = Hospital::start("9.0.0").await else {
        return;
    };
    let names = hospital.with::<Named>().await.collection::<Named>();
    let upsert = names.update_one(|n| n.name().starts_with("Lov"), |n| n.name().set("Lovelace"));
    let error = upsert.upsert(true).await.unwrap_err();
    assert!(
        error.to_string().contains("an upsert by an encrypted field"),
        "{error}"
    );
}

#[tokio::test]
async fn change_events_are_not_filtered_by_encrypted_values() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let encrypted = hospital.with::<Patient>().await;
    for db in [hospital.db(), encrypted] {
        let patients = db.collection::<Patient>();
        let watch = patients.watch().filter(|p| p.ssn().eq("457-55-5462"));
        let error = watch.await.expect_err("a filter on an encrypted field");
        assert!(
            matches!(&error, Error::InvalidFilter { path, .. } if path == "ssn"),
            "{error:?}"
        );
    }
    // The analysis of commands rejects all change streams of the encrypting client.
    let patients = hospital.db().collection::<Patient>();
    drop(patients.watch().filter(|p| p.name().eq("Ada")).await.unwrap());
}

#[tokio::test]
async fn a_bulk_write_does_not_take_collections_of_other_clients() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let encrypted = hospital.with::<Patient>().await;
    let patients = encrypted.collection::<Patient>();
    let document = patient(1);
    let error = hospital
        .client
        .bulk()
        .on(&patients, |b| b.insert(&document))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::InvalidBulkWrite { .. }), "{error:?}");
    assert!(
        format!("{error:#}").contains("belongs to another client"),
        "{error:#}"
    );
    assert_eq!(patients.find_by_id(1).await.unwrap(), None);
    encrypted
        .client()
        .bulk()
        .on(&patients, |b| b.insert(&document))
        .await
        .unwrap();
}
