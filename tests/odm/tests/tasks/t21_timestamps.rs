//! Task: every document has the times of its creation and of its last change.

use marula::bson::DateTime;
use marula::{Document, prelude::*};
use serde::{Deserialize, Serialize};

use crate::support::Env;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "notes")]
struct Note {
    _id: i64,
    text: String,
    #[document(created_at)]
    created_at: Option<DateTime>,
    #[document(updated_at)]
    updated_at: Option<DateTime>,
}

#[tokio::test]
async fn times_are_maintained() {
    let env = Env::start().await;
    let notes = env.db.collection::<Note>();
    let note = Note {
        _id: 1,
        text: "a".to_owned(),
        created_at: None,
        updated_at: None,
    };
    let before = DateTime::now();
    notes.insert_one(&note).await.unwrap();
    let stored = notes.find_by_id(1).required().await.unwrap();
    let created = stored.created_at.unwrap();
    assert!(created >= before && created <= DateTime::now());
    assert_eq!(stored.updated_at, Some(created));

    // An import with old dates: an update that names the fields is sent as it is.
    let old = DateTime::from_millis(1);
    let import = notes.update_by_id(1, |n| (n.created_at().set(old), n.updated_at().set(old)));
    import.required().await.unwrap();
    let update = notes.update_by_id(1, |n| n.text().set("b"));
    update.required().await.unwrap();
    let stored = notes.find_by_id(1).required().await.unwrap();
    assert_eq!(stored.created_at, Some(old));
    assert!(stored.updated_at >= Some(created));
    env.stop().await;
}
