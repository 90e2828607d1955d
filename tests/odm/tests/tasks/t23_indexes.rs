//! Task: create the indexes at the start; change one later; see what prevents a unique one.

use marula::bson::{Bson, DateTime};
use marula::schema::{Apply, SyncMode};
use marula::{Document, Error, SchemaError};
use serde::{Deserialize, Serialize};

use crate::support::Env;

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "sessions", index(seen_at, ttl = "2h"), index(email))]
struct FirstSession {
    _id: i64,
    email: String,
    seen_at: DateTime,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "sessions", index(seen_at, ttl = "1h"), index(email, unique))]
struct Session {
    _id: i64,
    email: String,
    seen_at: DateTime,
}

#[tokio::test]
async fn indexes_are_created_and_changed() {
    let env = Env::start().await;
    let first = env.db.schema().register::<FirstSession>();
    let applied = first.clone().sync(SyncMode::Additive).await.unwrap();
    assert_eq!(applied.created.len(), 2);
    assert!(first.sync(SyncMode::Verify).await.is_ok());

    let sessions = env.db.collection::<Session>();
    let session = |id| Session {
        _id: id,
        email: "a@example.com".to_owned(),
        seen_at: DateTime::now(),
    };
    sessions.insert_many([session(1), session(2)]).await.unwrap();
    let plan = env.db.schema().register::<Session>().plan().await.unwrap();
    let text = plan.to_string();
    assert!(text.contains("expireAfterSeconds: 7200 → 3600"), "{text}");
    let error = plan.apply(Apply::full()).await.unwrap_err();
    // The time limit was changed before the duplicates were found.
    let Error::Schema(SchemaError::PartlyApplied { applied, source }) = error else {
        panic!("{error}")
    };
    assert_eq!(applied.modified.len(), 1, "{applied}");
    let Error::Schema(SchemaError::Duplicates { index, samples, .. }) = &*source else {
        panic!("{source}")
    };
    assert_eq!(index, "email_1");
    assert_eq!(samples[0].ids, [Bson::Int64(1), Bson::Int64(2)]);
    env.stop().await;
}
