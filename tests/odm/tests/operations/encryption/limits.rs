//! What the server does not do with encrypted documents: done in another way, or an error before anything is sent.

use super::{Address, Hospital, Patient, patient};
use marula::bson::{Document as BsonDocument, doc};
use marula::{Collection, Document, Error, Filter, Update, prelude::*};
use serde::{Deserialize, Serialize};

async fn patients(hospital: &Hospital) -> Collection<Patient> {
    let patients = hospital.with::<Patient>().await.collection::<Patient>();
    let inserted = patients.insert_many((1..=3).map(patient)).await;
    inserted.expect("inserts");
    patients
}

#[tokio::test]
async fn several_updates_and_deletes_of_a_bulk_write_are_sent_one_by_one() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let patients = patients(&hospital).await;
    for ordered in [true, false] {
        let done = patients
            .bulk()
            .update_one(|p| p.ssn().eq("457-55-0001"), |p| p.age().set(90))
            .update_by_id(2, |p| p.age().set(91))
            .insert(&patient(4))
            .insert(&patient(5))
            .save(&patient(6))
            .replace(&patient(3))
            .delete_by_id(4)
            .delete_one(|p| p.ssn().eq("457-55-0005"))
            .delete_by_id(6)
            .ordered(ordered)
            .await
            .unwrap();
        assert_eq!(
            (
                done.inserted_count,
                done.matched_count,
                done.deleted_count,
                done.upserted_ids.len()
            ),
            (2, 3, 3, 1)
        );
    }
    assert_eq!(patients.count(|p| p.age().gte(90)).await.unwrap(), 2);

    // An ordered bulk write ends with the first write that is rejected, an unordered one does not.
    for (ordered, deleted) in [(true, 0), (false, 1)] {
        let error = patients
            .bulk()
            .update_by_id(1, |p| p.name().set("Ada"))
            .update_by_id(1, |_| Update::raw(doc! { "$set": { "_id": 7 } }))
            .delete_by_id(3)
            .ordered(ordered)
            .await
            .unwrap_err();
        let Error::BulkWrite {
            failed, performed, ..
        } = &error
        else {
            panic!("{error:?}");
        };
        assert_eq!(failed.len(), 1);
        assert_eq!((performed.matched_count, performed.deleted_count), (1, deleted));
    }
}

#[tokio::test]
async fn a_bulk_write_of_a_client_that_the_server_rejects_is_not_sent() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let patients = patients(&hospital).await;
    let client = patients.database().client();
    let plain = client.database("hospital").collection::<super::Plain>();
    let (fourth, fifth) = (patient(4), patient(5));
    let done = client
        .bulk()
        .on(&patients, |b| b.insert(&fourth).insert(&fifth))
        .await
        .unwrap();
    assert_eq!(done.inserted_count, 2);
    let one = client
        .bulk()
        .on(&patients, |b| b.update_by_id(4, |p| p.age().set(60)))
        .await
        .unwrap();
    assert_eq!(one.modified_count, 1);
    let several = client.bulk().on(&patients, |b| {
        b.update_by_id(4, |p| p.age().set(61))
            .update_by_id(5, |p| p.age().set(61))
    });
    let collections = client
        .bulk()
        .on(&patients, |b| b.insert(&patient(6)))
        .on(&plain, |b| b.insert(&super::Plain { _id: 1 }));
    for (error, reason) in [
        (several.await.unwrap_err(), "inserts, or one other write"),
        (collections.await.unwrap_err(), "writes on one collection"),
    ] {
        assert!(matches!(error, Error::InvalidBulkWrite { .. }), "{error:?}");
        let text = format!("{error:#}");
        assert!(
            text.contains("model `Patient`") && text.contains(reason),
            "{text}"
        );
    }
    assert_eq!(patients.count(|p| p.age().eq(61)).await.unwrap(), 0);
    assert_eq!(patients.find_by_id(6).await.unwrap(), None);
}

#[tokio::test]
async fn find_and_modify_returns_the_document_before_the_change() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let patients = patients(&hospital).await;
    let change = || patients.find_one_and_update(|p| p.id().eq(1), |p| p.age().set(70));
    assert_eq!(change().await.unwrap(), Some(patient(1)));
    let replaced = patient(1);
    let replace = || patients.find_one_and_replace(|p| p.ssn().eq("457-55-0001"), &replaced);
    assert_eq!(replace().await.unwrap().map(|p| p.age), Some(70));
    for error in [
        change().returning_new().await.unwrap_err(),
        change().select::<Name>().await.unwrap_err(),
        change().returning_new().explain().unwrap_err(),
        replace().returning_new().await.unwrap_err(),
        replace().select::<Name>().explain().unwrap_err(),
        patients
            .find_one_and_delete(|p| p.id().eq(1))
            .select::<Name>()
            .await
            .unwrap_err(),
    ] {
        assert!(matches!(error, Error::InvalidArgument { .. }), "{error:?}");
        let text = error.to_string();
        assert!(
            text.contains("hospital.patients") && text.contains("model `Patient`"),
            "{text}"
        );
    }
    assert_eq!(patients.find_by_id(1).await.unwrap(), Some(patient(1)));

    // The server rejects what the ODM does not send.
    let raw = patients.driver().clone_with_type::<BsonDocument>();
    let changed = raw
        .find_one_and_update(doc! { "_id": 1 }, doc! { "$set": { "age": 71 } })
        .return_document(marula::driver::options::ReturnDocument::After);
    assert_eq!(changed.await.unwrap_err().code(), Some(6_371_402));
    let projected = raw
        .find_one_and_update(doc! { "_id": 1 }, doc! { "$set": { "age": 71 } })
        .projection(doc! { "name": 1 });
    assert_eq!(projected.await.unwrap_err().code(), Some(6_371_408));
}

#[derive(Debug, Serialize, Deserialize, marula::Projection)]
#[document(of = Patient)]
struct Name {
    name: String,
}

#[tokio::test]
async fn writes_of_several_documents_are_errors() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let patients = patients(&hospital).await;
    for error in [
        patients
            .update_many(|p| p.id().gt(0), |p| p.name().set("x"))
            .await
            .unwrap_err(),
        patients
            .update_many(|p| p.id().gt(0), |p| p.age().set(1))
            .explain()
            .unwrap_err(),
        patients.delete_many(|p| p.id().gt(0)).await.unwrap_err(),
        patients
            .bulk()
            .update_many(|p| p.id().gt(0), |p| p.age().set(1))
            .await
            .unwrap_err(),
        patients.bulk().delete_many(|p| p.id().gt(0)).await.unwrap_err(),
    ] {
        let text = format!("{error:#}");
        assert!(
            text.contains("_many` on hospital.patients") && text.contains("model `Patient`"),
            "{text}"
        );
    }
    assert_eq!(patients.count(|p| p.id().gt(0)).await.unwrap(), 3);
    // Without encryption the server changes plain fields of several documents.
    let plain = hospital.db().collection::<Patient>();
    let done = plain
        .update_many(|p| p.id().gt(0), |p| p.name().set("x"))
        .await
        .unwrap();
    assert_eq!(done.modified_count, 3);
}

#[tokio::test]
async fn a_document_that_contains_an_encrypted_field_is_set_and_not_compared() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let patients = patients(&hospital).await;
    let address = Address {
        city: "Basel".to_owned(),
        street: "Rheingasse 2".to_owned(),
    };
    patients
        .update_by_id(1, |p| p.address().set(&address))
        .required()
        .await
        .unwrap();
    let changed = patients.find_by_id(1).required().await.unwrap();
    assert_eq!(changed.address, Some(address.clone()));
    let stored = hospital.stored(1).await;
    let stored = stored.get_document("address").unwrap();
    assert!(super::is_encrypted(stored.get("st")), "{stored}");
    patients
        .update_by_id(3, |p| p.address().unset())
        .required()
        .await
        .unwrap();
    // That of the second is null.
    assert_eq!(patients.count(|p| p.address().exists()).await.unwrap(), 2);

    for error in [
        patients
            .find(|p| p.address().eq(&address))
            .all()
            .await
            .unwrap_err(),
        patients
            .find(|p| !p.address().eq(&address))
            .all()
            .await
            .unwrap_err(),
        patients
            .count(|p| p.id().eq(1) | p.address().is_in([&address]))
            .await
            .unwrap_err(),
        patients
            .delete_one(|p| p.address().ne(&address))
            .await
            .unwrap_err(),
    ] {
        assert!(
            matches!(&error, Error::InvalidFilter { path, .. } if path == "address.st"),
            "{error:?}"
        );
    }
    let renamed = |_| Update::raw(doc! { "$rename": { "address": "home" } });
    let into = |_| Update::raw(doc! { "$rename": { "home": "address" } });
    for error in [
        patients.update_by_id(1, renamed).await.unwrap_err(),
        patients.update_by_id(1, into).await.unwrap_err(),
    ] {
        assert!(
            matches!(&error, Error::InvalidUpdate { path, .. } if path == "address.st"),
            "{error:?}"
        );
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "open")]
struct Open {
    _id: i64,
    #[document(encrypted(equality))]
    ssn: String,
    #[document(version)]
    version: i64,
    #[serde(flatten)]
    extra: BsonDocument,
}

#[tokio::test]
async fn the_field_that_the_server_adds_is_not_written_back() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let open = hospital.with::<Open>().await.collection::<Open>();
    let mut first = Open {
        _id: 1,
        ssn: "1".to_owned(),
        version: 0,
        extra: doc! { "note": "a" },
    };
    open.save(&mut first).await.unwrap();
    let raw = hospital.db();
    let raw = raw.driver().collection::<BsonDocument>("open");
    let tags = async || {
        let stored = raw.find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
        stored.get_array("__safeContent__").unwrap().clone()
    };
    let before = tags().await;
    assert_eq!(before.len(), 1);
    let mut found = open.find_by_id(1).required().await.unwrap();
    found.ssn = "2".to_owned();
    open.save(&mut found).await.unwrap();
    assert_eq!((tags().await.len(), found.version), (1, 2));
    assert_ne!(tags().await, before, "of the new value alone");
    let found = open.find_one(|o| o.ssn().eq("2")).await.unwrap().unwrap();
    open.replace(&found).required().await.unwrap();
    let found = open.find_by_id(1).required().await.unwrap();
    open.bulk().replace(&found).await.unwrap();
    let mut found = open.find_by_id(1).required().await.unwrap();
    open.find_one_and_replace(|o| o._id().eq(1), &found)
        .await
        .unwrap();
    assert_eq!(tags().await.len(), 1);
    assert_eq!(open.count(|o| o.ssn().eq("1")).await.unwrap(), 0);
    found._id = 2;
    found.version = 0;
    open.insert_one(&found).await.unwrap();
    open.insert_many([Open {
        _id: 3,
        ..found.clone()
    }])
    .await
    .unwrap();
    assert_eq!(open.count(|o| o.ssn().eq("2")).await.unwrap(), 3);
    let conflict = open.replace(&Open { version: 1, ..found }).await.unwrap_err();
    assert!(matches!(conflict, Error::VersionConflict { .. }), "{conflict}");
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "visits", soft_delete = left_at)]
struct Visit {
    #[serde(rename = "_id")]
    id: i64,
    #[document(encrypted)]
    reason: String,
    left_at: Option<marula::bson::DateTime>,
}

#[tokio::test]
async fn documents_are_restored_and_deleted_permanently_by_id() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let visits = hospital.with::<Visit>().await.collection::<Visit>();
    let visit = Visit {
        id: 1,
        reason: "a cough".to_owned(),
        left_at: None,
    };
    visits.insert_one(&visit).await.unwrap();
    assert_eq!(visits.restore_by_id(1).await.unwrap().matched_count, 0);
    visits.delete_by_id(1).required().await.unwrap();
    assert_eq!(visits.find_by_id(1).await.unwrap(), None);
    assert_eq!(visits.delete_permanently_by_id(1).await.unwrap(), 0);
    visits.restore_by_id(1).required().await.unwrap();
    assert_eq!(visits.find_by_id(1).await.unwrap(), Some(visit));
    for (error, call) in [
        (
            visits.restore_by_id(2).upsert(true).await.unwrap_err(),
            "restore_by_id",
        ),
        (
            visits.restore_by_id(1).upsert(true).explain().unwrap_err(),
            "restore_by_id",
        ),
        (
            visits.restore(|v| v.id().eq(2)).upsert(true).await.unwrap_err(),
            "restore",
        ),
    ] {
        assert!(matches!(error, Error::InvalidArgument { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(&format!("`{call}` on hospital.visits")), "{text}");
    }
    assert_eq!(
        visits
            .with_deleted()
            .count(|_| Filter::everything())
            .await
            .unwrap(),
        1
    );
    for error in [
        visits.restore(|v| v.id().eq(1)).await.unwrap_err(),
        visits.delete_permanently(|v| v.id().eq(1)).await.unwrap_err(),
    ] {
        assert!(error.to_string().contains("write to each by its id"), "{error}");
    }
    visits.delete_permanently_by_id(1).required().await.unwrap();
    assert_eq!(visits.with_deleted().find_by_id(1).await.unwrap(), None);
}
