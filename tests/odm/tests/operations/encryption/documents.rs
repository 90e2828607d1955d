//! Documents with encrypted fields: written, queried, changed and read.

use super::{Hospital, Patient, Ssn, Ward, is_encrypted, patient};
use marula::bson::{DateTime, Document as BsonDocument, doc};
use marula::schema::SyncMode;
use marula::{Document, Error, Model, Projection, prelude::*};
use serde::{Deserialize, Serialize};

#[tokio::test]
async fn documents_are_encrypted_queried_and_changed() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let schema = hospital.schema().register::<Patient>();
    let applied = schema.clone().sync(SyncMode::Additive).await.unwrap();
    assert_eq!(applied.created_collections, ["hospital.patients"]);
    assert_eq!(applied.created.len(), 1);
    assert_eq!(hospital.keys().await, 7, "one for each field");

    let db = hospital.encrypted(schema).await;
    let patients = db.collection::<Patient>();
    for id in 1..=4 {
        patients.insert_one(&patient(id)).await.unwrap();
    }
    let stored = hospital.stored(3).await;
    for name in ["ssn", "age", "ward", "remarks", "allergies", "policy"] {
        assert!(is_encrypted(stored.get(name)), "{name}: {stored}");
    }
    let address = stored.get_document("address").unwrap();
    assert!(is_encrypted(address.get("st")) && address.get_str("city").unwrap() == "Bern");
    assert_eq!(stored.get_str("name").unwrap(), "patient 3");
    assert!(
        !hospital.stored(1).await.contains_key("remarks"),
        "`None` is not stored"
    );

    // Typed filters.
    let found = patients.find_one(|p| p.ssn().eq("457-55-0003")).await.unwrap();
    assert_eq!(found, Some(patient(3)));
    let ids = async |filter| {
        let mut found = patients.find(|_| filter).await.unwrap();
        found.sort_by_key(|p: &Patient| p.id);
        found.iter().map(|p| p.id).collect::<Vec<_>>()
    };
    let p = Patient::fields();
    assert_eq!(ids(p.ssn().is_in(["457-55-0001", "457-55-0002"])).await, [1, 2]);
    assert_eq!(
        ids(p.ssn().ne(Ssn("457-55-0001".to_owned())) & p.id().lt(3)).await,
        [2]
    );
    assert_eq!(ids(p.ward().eq(Ward::North)).await, [2, 4]);
    assert_eq!(ids(p.age().gt(21) & p.age().lte(23)).await, [2, 3]);
    assert_eq!(ids(p.age().between(21, 22)).await, [1, 2]);
    assert_eq!(ids(p.age().eq(24)).await, [4]);
    assert_eq!(ids(!p.ward().eq(Ward::North)).await, [1, 3]);
    assert_eq!(ids(p.notes().exists()).await, [2, 3, 4]);
    assert_eq!(ids(p.insurance().policy().eq(1002)).await, [2]);

    // Updates.
    patients
        .update_one(
            |p| p.ssn().eq("457-55-0001"),
            |p| (p.age().set(99), p.notes().set("moved")),
        )
        .await
        .unwrap();
    let changed = patients.find_one(|p| p.age().gte(99)).await.unwrap().unwrap();
    assert_eq!((changed.id, changed.notes.as_deref()), (1, Some("moved")));
    assert!(is_encrypted(hospital.stored(1).await.get("remarks")));
    patients
        .update_one(|p| p.id().eq(1), |p| p.notes().unset())
        .await
        .unwrap();
    assert_eq!(patients.find_by_id(1).await.unwrap().unwrap().notes, None);
    let mut replaced = patient(2);
    replaced.ssn = Ssn("1".to_owned());
    patients.replace_one(|p| p.id().eq(2), &replaced).await.unwrap();
    assert_eq!(
        patients.find_one(|p| p.ssn().eq("1")).await.unwrap(),
        Some(replaced)
    );

    // Deletes.
    assert_eq!(
        patients.delete_one(|p| p.ssn().eq("457-55-0003")).await.unwrap(),
        1
    );
    assert_eq!(patients.count(|_| marula::Filter::everything()).await.unwrap(), 3);

    // A client without encryption stores no plain value.
    let plain = hospital.db().collection::<Patient>();
    let document = patient(9);
    for error in [
        plain.insert_one(&document).await.unwrap_err(),
        plain.insert_many([&document]).await.unwrap_err(),
        plain.save(&document).await.unwrap_err(),
        plain
            .replace_one(|p| p.id().eq(9), &document)
            .upsert(true)
            .await
            .unwrap_err(),
        plain
            .find_one_and_replace(|p| p.id().eq(9), &document)
            .upsert(true)
            .await
            .unwrap_err(),
        plain
            .update_one(|p| p.id().eq(9), |p| p.name().set("Ada"))
            .upsert(true)
            .await
            .unwrap_err(),
        plain.bulk().insert(&document).await.unwrap_err(),
    ] {
        let text = format!("{error:#}");
        assert!(
            text.contains("ssn") && text.contains("Client::with_auto_encryption"),
            "{text}"
        );
    }
    // Nor does it send one in a filter or an update: a negated condition would match every document.
    for error in [
        plain
            .update_one(|p| p.id().eq(1), |p| p.age().set(1))
            .await
            .unwrap_err(),
        plain.delete_many(|p| !p.age().between(0, 10)).await.unwrap_err(),
        plain.bulk().delete_one(|p| p.age().ne(1)).await.unwrap_err(),
        plain.find_one_and_delete(|p| p.age().ne(1)).await.unwrap_err(),
        plain.find_one(|p| p.age().eq(1)).await.unwrap_err(),
        plain
            .find(|p| p.id().eq(1) | p.age().eq(1))
            .all()
            .await
            .unwrap_err(),
        plain.count(|p| p.age().eq(1)).await.unwrap_err(),
    ] {
        let text = format!("{error:#}");
        assert!(
            text.contains("age") && text.contains("Client::with_auto_encryption"),
            "{text}"
        );
    }
    let upsert = patients.update_one(|p| p.age().eq(99), |p| p.name().set("Ada"));
    let error = upsert.upsert(true).await.unwrap_err().to_string();
    assert!(error.contains("an upsert by an encrypted field"), "{error}");
    assert_eq!(
        plain
            .update_one(|p| p.id().eq(1), |p| p.name().set("Ada"))
            .await
            .unwrap()
            .matched_count,
        1
    );
}

#[tokio::test]
async fn a_projection_reads_encrypted_fields() {
    #[derive(Debug, PartialEq, Serialize, Deserialize, Projection)]
    #[document(of = Patient)]
    struct Contact {
        #[serde(rename = "_id")]
        id: i64,
        ssn: Ssn,
        #[serde(rename = "remarks")]
        notes: Option<String>,
    }

    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let db = hospital.with::<Patient>().await;
    let patients = db.collection::<Patient>();
    patients.insert_one(&patient(2)).await.unwrap();
    let contact = Contact {
        id: 2,
        ssn: Ssn("457-55-0002".to_owned()),
        notes: Some("stable".to_owned()),
    };
    let found = patients
        .find(|p| p.age().gt(0))
        .select::<Contact>()
        .await
        .unwrap();
    assert_eq!(found, [contact]);
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "texts")]
struct Text {
    _id: i64,
    #[document(encrypted(prefix(min = 2, max = 10), suffix(min = 2, max = 10), contention = 0))]
    name: String,
    #[document(encrypted(substring(max_length = 10, min = 2, max = 6), case_sensitive))]
    town: String,
}

#[tokio::test]
async fn parts_of_strings_are_searched() {
    let Some(hospital) = Hospital::start("9.0.0").await else {
        return;
    };
    let schema = hospital.schema().register::<Text>();
    schema.clone().sync(SyncMode::Additive).await.unwrap();
    assert!(schema.clone().plan().await.unwrap().is_empty());
    let db = hospital.encrypted(schema).await;
    let texts = db.collection::<Text>();
    let text = |id, name: &str, town: &str| Text {
        _id: id,
        name: name.to_owned(),
        town: town.to_owned(),
    };
    texts.insert_one(&text(1, "Lovelace", "London")).await.unwrap();
    texts.insert_one(&text(2, "Love", "Oxford")).await.unwrap();
    let ids = async |filter| {
        let mut found: Vec<i64> = texts
            .find(|_| filter)
            .await
            .unwrap()
            .iter()
            .map(|t: &Text| t._id)
            .collect();
        found.sort_unstable();
        found
    };
    let t = Text::fields();
    assert_eq!(ids(t.name().starts_with("Lov")).await, [1, 2]);
    assert_eq!(ids(t.name().ends_with("ace")).await, [1]);
    assert_eq!(
        ids(t.name().starts_with("Lov") & !t.name().ends_with("ace")).await,
        [2]
    );
    assert_eq!(ids(t.town().contains_text("ond")).await, [1]);
    assert_eq!(ids(t.town().contains_text("OND")).await, Vec::<i64>::new());
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "visits", schema_version(1))]
struct Visit {
    _id: i64,
    #[document(encrypted(equality))]
    reason: String,
    #[document(version)]
    version: i64,
    #[document(created_at)]
    created_at: DateTime,
    #[document(updated_at)]
    updated_at: DateTime,
}

#[tokio::test]
async fn maintained_fields_of_encrypted_documents_are_kept() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let db = hospital.with::<Visit>().await;
    let visits = db.collection::<Visit>();
    let mut visit = Visit {
        _id: 1,
        reason: "cough".to_owned(),
        version: 0,
        created_at: DateTime::from_millis(0),
        updated_at: DateTime::from_millis(0),
    };
    visits.save(&mut visit).await.unwrap();
    assert_eq!(visit.version, 1);
    let created = visit.created_at;
    assert!(created > DateTime::from_millis(0));
    visit.created_at = DateTime::from_millis(0);
    visit.reason = "fever".to_owned();
    visits.save(&mut visit).await.unwrap();
    let stored = visits
        .find_one(|v| v.reason().eq("fever"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((stored.version, stored.created_at), (2, created));
    let raw = hospital.db().driver().collection::<BsonDocument>("visits");
    let raw = raw.find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
    assert!(is_encrypted(raw.get("reason")), "{raw}");

    // The stored document of a replacement is compared without `__safeContent__`.
    let mut stale = stored.clone();
    stale.version = 1;
    let error = visits.replace_one(|v| v._id().eq(1), &stale).await.unwrap_err();
    assert!(matches!(error, Error::VersionConflict { .. }), "{error}");
    let mut replaced = visits
        .bulk()
        .replace_one(|v| v._id().eq(1), &stored)
        .await
        .unwrap();
    assert_eq!(replaced.matched_count, 1);
    let conflict = visits
        .bulk()
        .replace_one(|v| v._id().eq(1), &stored)
        .await
        .unwrap_err();
    assert!(
        format!("{conflict:?}").contains("VersionConflict"),
        "{conflict:?}"
    );
    replaced = visits
        .bulk()
        .delete_one(|v| v.reason().eq("fever"))
        .await
        .unwrap();
    assert_eq!(replaced.deleted_count, 1);

    // What would send a plain value is rejected.
    let error = visits.bulk().save(&stored).await.unwrap_err();
    assert!(
        format!("{error:#}").contains("cannot set encrypted fields"),
        "{error:#}"
    );
    let error = visits.migrate().await.unwrap_err();
    assert!(
        format!("{error:#}").contains("compares whole documents"),
        "{error:#}"
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "scans", schema_version(2, upgrade = upgrade_scan))]
struct Scan {
    _id: i64,
    #[document(encrypted(equality))]
    organ: String,
    pages: i64,
}

fn upgrade_scan(_: u32, document: &mut BsonDocument) -> Result<(), marula::managed::BoxedError> {
    document.insert("pages", 1_i64);
    Ok(())
}

/// The server cannot compare the whole document, which an upgrade before the update needs.
#[tokio::test]
async fn an_update_of_an_older_document_with_encrypted_fields_is_refused() {
    let Some(hospital) = Hospital::start("8.2.0").await else {
        return;
    };
    let db = hospital.with::<Scan>().await;
    let scans = db.collection::<Scan>();
    let scan = |id| Scan {
        _id: id,
        organ: "heart".to_owned(),
        pages: 1,
    };
    scans.insert_many([scan(1), scan(2)]).await.unwrap();
    let raw = hospital.db().driver().collection::<BsonDocument>("scans");
    let older = doc! { "$unset": { "schema_version": 1, "pages": 1 } };
    raw.update_one(doc! { "_id": 1_i64 }, older).await.unwrap();
    let error = scans.update_by_id(1, |s| s.pages().inc(1)).await.unwrap_err();
    assert!(
        matches!(&error, Error::Encode { path, .. } if path == "organ"),
        "{error:?}"
    );
    let mut found = scans.find_by_id(1).required().await.unwrap();
    assert_eq!(found, scan(1));
    scans.save(&mut found).await.unwrap();
    for id in [1, 2] {
        scans
            .update_by_id(id, |s| s.pages().inc(1))
            .required()
            .await
            .unwrap();
        assert_eq!(scans.find_by_id(id).required().await.unwrap().pages, 2);
    }
}
