//! Models with type parameters.

use crate::database::Env;
use marula::{Collection, Document, Embedded, prelude::*};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "events", index(tenant, -at))]
struct Envelope<T: Clone> {
    #[serde(rename = "_id")]
    id: uuid::Uuid,
    tenant: String,
    at: chrono::DateTime<chrono::Utc>,
    payload: T,
    more: Option<Page<T>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Page<T>
where
    T: Clone,
{
    items: Vec<T>,
    count: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Login {
    name: String,
    until: jiff::Timestamp,
}

fn envelope<T: Clone>(payload: T) -> Envelope<T> {
    Envelope {
        id: uuid::Uuid::now_v7(),
        tenant: "a".to_owned(),
        at: chrono::DateTime::from_timestamp_millis(5).unwrap(),
        more: Some(Page {
            items: vec![payload.clone()],
            count: 1,
        }),
        payload,
    }
}

#[tokio::test]
async fn a_model_with_a_parameter_is_used_with_several_types() {
    let env = Env::open().await;
    let logins: Collection<Envelope<Login>> = env.db.collection().named("logins");
    let numbers: Collection<Envelope<i64>> = env.db.collection().named("numbers");
    let login = envelope(Login {
        name: "x".to_owned(),
        until: jiff::Timestamp::from_second(7).unwrap(),
    });
    logins.insert_one(&login).await.unwrap();
    numbers.insert_one(&envelope(3)).await.unwrap();

    let found = logins
        .find(|e| {
            e.tenant().eq("a")
                & e.payload().name().eq("x")
                & e.payload().until().gt(jiff::Timestamp::UNIX_EPOCH)
        })
        .await
        .unwrap();
    assert_eq!(found, [login]);
    let changed = numbers
        .find_one_and_update(
            |e| e.payload().gt(2) & e.more().items().contains(3),
            |e| e.payload().inc(1),
        )
        .returning_new()
        .await
        .unwrap();
    assert_eq!(changed.unwrap().payload, 4);
    env.close().await;
}

/// Stored in a field of another model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "books")]
struct Book {
    _id: i64,
    pages: Page<Login>,
}

#[test]
fn parameters_are_filled_in_paths_and_values() {
    let b = Book::fields();
    assert_eq!(
        b.pages().items().any().name().eq("x").to_string(),
        r#"{"pages.items.name": {"$eq": "x"}}"#
    );
    let empty = Page {
        items: Vec::new(),
        count: 0,
    };
    assert_eq!(
        b.pages().eq(empty).to_string(),
        r#"{"pages": {"$eq": {"items": [], "count": 0}}}"#
    );
}
