//! Maintained fields, hooks of the schema, and options of the collection with the types of other
//! crates.

use crate::database::Env;
use chrono::{DateTime, Utc};
use marula::bson::doc;
use marula::{Document, Model};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "posts", soft_delete = deleted_at, json_schema)]
struct Post {
    _id: i64,
    title: String,
    price: rust_decimal::Decimal,
    #[document(created_at)]
    created_at: DateTime<Utc>,
    #[document(updated_at)]
    updated_at: jiff::Timestamp,
    deleted_at: Option<time::OffsetDateTime>,
}

fn post() -> Post {
    Post {
        _id: 1,
        title: "a".to_owned(),
        price: "1.5".parse().unwrap(),
        created_at: DateTime::UNIX_EPOCH,
        updated_at: jiff::Timestamp::UNIX_EPOCH,
        deleted_at: None,
    }
}

#[tokio::test]
async fn maintained_dates_are_set_and_written_back() {
    let env = Env::open().await;
    let posts = env.collection::<Post>();
    posts.insert_one(&post()).await.unwrap();
    let mut stored = posts.find_by_id(1).required().await.unwrap();
    assert!(stored.created_at > DateTime::UNIX_EPOCH && stored.updated_at > jiff::Timestamp::UNIX_EPOCH);
    stored.updated_at = jiff::Timestamp::UNIX_EPOCH;
    posts.save(&mut stored).await.unwrap();
    assert!(stored.updated_at > jiff::Timestamp::UNIX_EPOCH);
    assert_eq!(posts.find_by_id(1).await.unwrap(), Some(stored));
    posts.delete_by_id(1).await.unwrap();
    assert_eq!(posts.find_by_id(1).await.unwrap(), None);
    env.close().await;
}

#[test]
fn the_schema_has_the_stored_types() {
    let schema = Post::json_schema();
    let of = |name: &str| {
        schema
            .get_document("properties")
            .unwrap()
            .get(name)
            .unwrap()
            .clone()
    };
    assert_eq!(of("created_at"), doc! { "bsonType": "date" }.into());
    assert_eq!(of("price"), doc! { "bsonType": "decimal" }.into());
    assert_eq!(of("deleted_at"), doc! { "bsonType": ["date", "null"] }.into());
}
