//! A document with a version that was deleted since it was read is not inserted again.

use crate::common::Env;
use marula::bson::{Bson, DateTime};
use marula::error::FailedWriteReason;
use marula::prelude::*;
use marula::{Document, Error, Filter};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "pages")]
struct Page {
    _id: i64,
    text: String,
    #[document(version)]
    version: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "notes")]
struct Note {
    _id: i64,
    #[document(version)]
    version: i32,
    #[document(created_at)]
    created: Option<DateTime>,
    #[document(updated_at)]
    updated: Option<DateTime>,
}

fn page(id: i64, version: i64) -> Page {
    Page {
        _id: id,
        text: "a".to_owned(),
        version,
    }
}

fn is_conflict<T: std::fmt::Debug>(result: Result<T, Error>) {
    let error = result.expect_err("a conflict");
    assert!(
        matches!(&error, Error::VersionConflict { id: Some(id), .. } if **id == Bson::Int64(1)),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_save_does_not_insert_a_deleted_document_again() {
    let env = Env::start().await;
    let pages = env.db.collection::<Page>();
    let mut first = page(1, 0);
    pages.save(&mut first).await.unwrap();
    let mut read = pages.find_by_id(1).required().await.unwrap();
    assert_eq!(read.version, 1);
    pages.delete_by_id(1).required().await.unwrap();
    is_conflict(pages.save(&mut read).await);
    is_conflict(pages.save(&read).await);
    assert_eq!(read.version, 1);
    assert_eq!(pages.count(|_| Filter::everything()).await.unwrap(), 0);
    // A new document has version 0.
    read.version = 0;
    assert_eq!(
        pages.save(&mut read).await.unwrap().upserted_id,
        Some(Bson::Int64(1))
    );
    assert_eq!(read.version, 1);
    env.stop().await;
}

#[tokio::test]
async fn a_save_with_a_time_of_the_insert_does_not_insert_a_deleted_document_again() {
    let env = Env::start().await;
    let notes = env.db.collection::<Note>();
    let mut note = Note {
        _id: 1,
        version: 0,
        created: None,
        updated: None,
    };
    notes.save(&mut note).await.unwrap();
    notes.save(&mut note).await.unwrap();
    assert_eq!(note.version, 2);
    let before = note.clone();
    notes.delete_by_id(1).required().await.unwrap();
    is_conflict(notes.save(&mut note).await);
    assert_eq!(note, before);
    assert_eq!(notes.count(|_| Filter::everything()).await.unwrap(), 0);
    env.stop().await;
}

#[tokio::test]
async fn replacements_do_not_insert_a_deleted_document_again() {
    let env = Env::start().await;
    let pages = env.db.collection::<Page>();
    let deleted = page(1, 3);
    is_conflict(pages.replace(&deleted).await);
    is_conflict(pages.replace(&deleted).required().await);
    is_conflict(pages.replace(&deleted).upsert(true).await);
    is_conflict(
        pages
            .replace_one(|p| p.text().eq("a"), &deleted)
            .upsert(true)
            .await,
    );
    is_conflict(
        pages
            .find_one_and_replace(|p| p._id().eq(1), &deleted)
            .upsert(true)
            .await,
    );
    // Another filter than the id says which documents are replaced: there may be none.
    let replaced = pages.replace_one(|p| p.text().eq("a"), &deleted).await.unwrap();
    assert_eq!(replaced.matched_count, 0);
    let none = pages
        .find_one_and_replace(|p| p._id().eq(1), &deleted)
        .await
        .unwrap();
    assert_eq!(none, None);
    assert_eq!(pages.count(|_| Filter::everything()).await.unwrap(), 0);
    // Upserts of new documents, and of those that are stored.
    let new = page(1, 0);
    assert!(
        pages
            .replace(&new)
            .upsert(true)
            .await
            .unwrap()
            .upserted_id
            .is_some()
    );
    let stored = page(1, 1);
    assert_eq!(
        pages.replace(&stored).upsert(true).await.unwrap().matched_count,
        1
    );
    let stored = page(1, 2);
    let old = pages
        .find_one_and_replace(|p| p._id().eq(1), &stored)
        .upsert(true)
        .required()
        .await
        .unwrap();
    assert_eq!(old.version, 2);
    assert_eq!(pages.find_by_id(1).required().await.unwrap().version, 3);
    env.stop().await;
}

/// The positions and ids of the conflicts of a bulk write, which are all its failed writes.
fn conflicts(error: Error) -> Vec<(usize, Bson)> {
    let Error::BulkWrite { failed, .. } = error else {
        panic!("another error: {error}");
    };
    let conflicts = failed.into_iter().map(|write| match write.reason {
        FailedWriteReason::VersionConflict { id: Some(id) } => (write.operation.index, id),
        other => panic!("another reason: {other:?}"),
    });
    conflicts.collect()
}

#[tokio::test]
async fn bulk_writes_do_not_insert_a_deleted_document_again() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    if env.is_before(8, 0).await {
        return env.stop().await;
    }
    let pages = env.db.collection::<Page>();
    pages
        .insert_many([page(2, 1), page(3, 1), page(4, 1)])
        .await
        .unwrap();
    let lost = pages
        .bulk()
        .save(&page(1, 1))
        .save(&page(2, 1))
        .replace(&page(3, 1))
        // Deleted in the same bulk write after it was replaced: not a conflict.
        .delete_by_id(2)
        .replace(&page(5, 1))
        // Changed by another writer.
        .save(&page(4, 7))
        // New documents.
        .save(&page(6, 0))
        .replace(&page(7, 0))
        .await
        .unwrap_err();
    assert_eq!(
        conflicts(lost),
        [(0, Bson::Int64(1)), (4, Bson::Int64(5)), (5, Bson::Int64(4))]
    );
    let stored = pages.find_all().sort(|p| p._id().asc()).await.unwrap();
    let stored: Vec<(i64, i64)> = stored.iter().map(|p| (p._id, p.version)).collect();
    assert_eq!(stored, [(3, 2), (4, 1), (6, 1)]);

    let bulk = env.client().bulk().on(&pages, |b| {
        b.save(&page(1, 1)).replace(&page(5, 1)).save(&page(3, 2))
    });
    let lost = bulk.await.unwrap_err();
    assert_eq!(conflicts(lost), [(0, Bson::Int64(1)), (1, Bson::Int64(5))]);
    assert_eq!(pages.find_by_id(3).required().await.unwrap().version, 3);
    assert_eq!(pages.count(|_| Filter::everything()).await.unwrap(), 3);
    env.stop().await;
}

#[tokio::test]
async fn a_bulk_write_recognizes_its_saves_with_a_time_of_the_insert() {
    let env = Env::start().await;
    let notes = env.db.collection::<Note>();
    let note = |id, version| Note {
        _id: id,
        version,
        created: None,
        updated: None,
    };
    notes.save(&note(1, 0)).await.unwrap();
    let lost = notes
        .bulk()
        .save(&note(1, 1))
        .save(&note(2, 1))
        .await
        .unwrap_err();
    assert_eq!(conflicts(lost), [(1, Bson::Int64(2))]);
    let stored = notes.find_all().one().await.unwrap();
    assert_eq!((stored._id, stored.version), (1, 2));
    assert!(stored.created.is_some());
    env.stop().await;
}
