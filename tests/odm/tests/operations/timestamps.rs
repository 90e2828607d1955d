//! `#[document(created_at)]` and `#[document(updated_at)]`.

use crate::common::Env;
use marula::bson::{Bson, DateTime, ObjectId, doc};
use marula::prelude::*;
use marula::{Document, Error, Update};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[serde(rename_all = "camelCase")]
#[document(collection = "notes")]
struct Note {
    #[serde(rename = "_id")]
    id: i64,
    text: String,
    #[document(created_at)]
    created_at: DateTime,
    #[document(updated_at)]
    updated_at: Option<DateTime>,
}

const EPOCH: DateTime = DateTime::from_millis(0);

fn note(id: i64) -> Note {
    Note {
        id,
        text: "a".to_owned(),
        created_at: EPOCH,
        updated_at: None,
    }
}

/// Sets both times to the epoch, without the ODM.
async fn age(env: &Env) {
    let raw = env.db.driver().collection::<marula::bson::Document>("notes");
    let times = doc! { "createdAt": EPOCH, "updatedAt": EPOCH };
    raw.update_many(doc! {}, doc! { "$set": times })
        .await
        .expect("notes are updated");
}

#[tokio::test]
async fn inserts_set_both_times() {
    let env = Env::start().await;
    let notes = env.db.collection::<Note>();
    let before = DateTime::now();
    notes.insert_one(&note(1)).await.unwrap();
    notes.insert_many([note(2), note(3)]).await.unwrap();
    notes.bulk().insert(&note(4)).await.unwrap();
    notes
        .update_one(|n| n.id().eq(5), |n| n.text().set("x"))
        .upsert(true)
        .await
        .unwrap();
    notes
        .upsert_with(|n| n.id().eq(6), |n| n.text().set("x"), &note(6))
        .await
        .unwrap();
    notes.save(&note(7)).await.unwrap();
    notes.bulk().save(&note(9)).await.unwrap();
    notes
        .update_by_id(8, |_| {
            Update::<Note>::pipeline([doc! { "$set": { "text": "x" } }])
        })
        .upsert(true)
        .await
        .unwrap();
    let all = notes.find_all().await.unwrap();
    assert_eq!(all.len(), 9);
    for note in all {
        assert!(note.created_at >= before, "{note:?}");
        assert_eq!(note.updated_at, Some(note.created_at), "{note:?}");
    }
    env.stop().await;
}

#[tokio::test]
async fn changes_set_the_time_of_the_update_only() {
    let env = Env::start().await;
    let notes = env.db.collection::<Note>();
    notes.insert_many((1..=9).map(note)).await.unwrap();
    age(&env).await;
    let text = |n: marula::Fields<Note>| n.text().set("b");
    notes.update_by_id(1, text).await.unwrap();
    notes
        .update_many(|n| n.id().eq(2), text)
        .upsert(true)
        .await
        .unwrap();
    notes.find_one_and_update(|n| n.id().eq(3), text).await.unwrap();
    notes.replace(&note(4)).await.unwrap();
    notes
        .find_one_and_replace(|n| n.id().eq(5), &note(5))
        .await
        .unwrap();
    notes.save(&note(6)).await.unwrap();
    notes.bulk().replace(&note(7)).save(&note(9)).await.unwrap();
    notes
        .update_by_id(8, |_| {
            Update::<Note>::pipeline([doc! { "$set": { "text": "x" } }])
        })
        .await
        .unwrap();
    for note in notes.find_all().await.unwrap() {
        assert_eq!(note.created_at, EPOCH, "{note:?}");
        assert!(note.updated_at > Some(EPOCH), "{note:?}");
    }
    // An update that sets the time itself is not changed.
    notes.update_all(|n| n.updated_at().set(EPOCH)).await.unwrap();
    assert!(
        notes
            .find_all()
            .await
            .unwrap()
            .iter()
            .all(|n| n.updated_at == Some(EPOCH))
    );
    env.stop().await;
}

#[tokio::test]
async fn a_saved_struct_has_the_stored_times() {
    let env = Env::start().await;
    let notes = env.db.collection::<Note>();
    let mut note = note(1);
    notes.save(&mut note).await.unwrap();
    assert!(note.created_at > EPOCH);
    assert_eq!(note.updated_at, Some(note.created_at));
    assert_eq!(notes.find_by_id(1).required().await.unwrap(), note);
    age(&env).await;
    note.text = "$literal".to_owned();
    notes.save(&mut note).await.unwrap();
    // The stored time of the insert is kept.
    let read = notes.find_by_id(1).required().await.unwrap();
    assert_eq!((read.created_at, read.text.as_str()), (EPOCH, "$literal"));
    assert_eq!(read.updated_at, note.updated_at);
    env.stop().await;
}

#[tokio::test]
async fn an_inserted_struct_has_the_stored_times_and_the_id() {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
    #[document(collection = "drafts")]
    struct Draft {
        #[serde(rename = "_id")]
        id: Option<ObjectId>,
        #[document(created_at)]
        created_at: DateTime,
    }
    let env = Env::start().await;
    let notes = env.db.collection::<Note>();
    let mut one = note(1);
    notes.insert_one(&mut one).await.unwrap();
    assert!(one.created_at > EPOCH && one.updated_at == Some(one.created_at));
    assert_eq!(notes.find_by_id(1).required().await.unwrap(), one);
    let mut many = [note(2), note(3)];
    notes.insert_many(many.iter_mut()).await.unwrap();
    let found = notes.find(|n| n.id().gt(1)).sort(|n| n.id().asc()).await.unwrap();
    assert_eq!(found, many);
    // A failed insert changes only the structs that were inserted.
    let (mut twice, mut both) = (note(1), [note(4), note(1)]);
    let refused = notes.insert_one(&mut twice).await;
    assert!(matches!(refused, Err(Error::Duplicate { .. })), "{refused:?}");
    assert!(notes.insert_many(both.iter_mut()).await.is_err());
    assert_eq!((&twice, &both[1]), (&note(1), &note(1)));
    assert_eq!(notes.find_by_id(4).required().await.unwrap(), both[0]);
    let drafts = env.db.collection::<Draft>();
    let mut draft = Draft {
        id: None,
        created_at: EPOCH,
    };
    let shared = drafts.insert_one(&draft).await.unwrap();
    assert_eq!((draft.id, draft.created_at), (None, EPOCH));
    let inserted = drafts.insert_one(&mut draft).await.unwrap();
    assert_eq!(draft.id.map(Bson::from), Some(inserted.inserted_id.clone()));
    assert_ne!(shared.inserted_id, inserted.inserted_id);
    let stored = drafts.find_by_id(draft.id.unwrap()).required().await.unwrap();
    assert_eq!(stored, draft);
    env.stop().await;
}
