//! `None`: stored as null, or left out.

use crate::database::Env;
use marula::bson::{Bson, Document as BsonDocument, doc};
use marula::schema::SyncMode;
use marula::{Document, Embedded, prelude::*};

#[derive(Clone, Debug, Default, PartialEq, Embedded)]
#[document(skip_none)]
struct Address {
    city: Option<String>,
    #[document(skip_none = false)]
    floor: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Document)]
#[document(collection = "users", skip_none, index(email, unique, sparse))]
struct User {
    _id: i64,
    email: Option<String>,
    visits: Option<i64>,
    tags: Option<Vec<String>>,
    #[document(skip_none = false)]
    note: Option<String>,
    address: Option<Address>,
    #[serde(default)]
    names: Vec<Option<String>>,
}

/// A date that functions write as text.
mod day {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde passes a reference")]
    pub(super) fn serialize<S: Serializer>(day: &Option<u32>, serializer: S) -> Result<S::Ok, S::Error> {
        day.map(|day| format!("day {day}")).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        Ok(text.and_then(|text| text.strip_prefix("day ")?.parse().ok()))
    }
}

#[derive(Clone, Debug, PartialEq, Document)]
#[serde(default)]
#[document(collection = "settings", skip_none)]
struct Settings {
    _id: i64,
    limit: Option<i64>,
    #[serde(with = "day")]
    #[document(opaque)]
    day: Option<u32>,
    #[document(as = Option<marula::forms::Millis>)]
    pause: Option<std::time::Duration>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            _id: 0,
            limit: Some(10),
            day: Some(1),
            pause: Some(std::time::Duration::from_millis(5)),
        }
    }
}

/// `None` is read as `None`, whatever the default is and however the field is written.
#[tokio::test]
async fn a_value_that_is_left_out_is_none() {
    let env = Env::open().await;
    let all = env.collection::<Settings>();
    let none = Settings {
        _id: 1,
        limit: None,
        day: None,
        pause: None,
    };
    for settings in [
        &none,
        &Settings {
            _id: 2,
            ..Settings::default()
        },
    ] {
        all.insert_one(settings).await.unwrap();
        assert_eq!(all.find_by_id(settings._id).required().await.unwrap(), *settings);
    }
    let raw = all.driver().clone_with_type::<BsonDocument>();
    assert_eq!(
        raw.find_one(doc! { "_id": 1 }).await.unwrap(),
        Some(doc! { "_id": 1_i64 })
    );
    let upsert = all.update_one(
        |s| s._id().eq(3),
        |s| {
            (
                s.limit().set_on_insert(None::<i64>),
                s.day().set(Bson::from("day 4")),
            )
        },
    );
    upsert.upsert(true).await.unwrap();
    assert_eq!(
        raw.find_one(doc! { "_id": 3 }).await.unwrap(),
        Some(doc! { "_id": 3_i64, "day": "day 4" })
    );
    env.close().await;
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "users")]
struct Plain {
    _id: i64,
    email: Option<String>,
    #[document(skip_none)]
    visits: Option<i64>,
}

#[tokio::test]
async fn a_field_is_left_out_or_null_by_its_attribute() {
    let env = Env::open().await;
    let users = env.collection::<User>();
    let raw = users.driver().clone_with_type::<BsonDocument>();
    let stored = async |id: i64| raw.find_one(doc! { "_id": id }).await.unwrap().unwrap();
    let user = User {
        _id: 1,
        address: Some(Address::default()),
        names: vec![None],
        ..User::default()
    };
    users.insert_one(&user).await.unwrap();
    let expected = doc! { "_id": 1_i64, "note": null, "address": { "floor": null }, "names": [null] };
    assert_eq!(stored(1).await, expected);
    assert_eq!(users.find_by_id(1).required().await.unwrap(), user);

    // Operators need no value that null would be in the way of.
    users
        .update_by_id(1, |u| {
            (
                u.visits().inc(1),
                u.tags().push("new"),
                u.address().city().set("Bern"),
            )
        })
        .await
        .unwrap();
    users
        .update_by_id(1, |u| {
            (
                u.visits().set(None::<i64>),
                u.note().set(None::<String>),
                u.email().set(Some("a@b.c")),
            )
        })
        .await
        .unwrap();
    users
        .update_by_id(1, |u| u.address().city().set(None::<String>))
        .await
        .unwrap();
    let expected = doc! {
        "_id": 1_i64, "note": null, "address": { "floor": null }, "names": [null], "tags": ["new"], "email": "a@b.c",
    };
    assert_eq!(stored(1).await, expected);
    users.update_by_id(1, |u| u.email().set_null()).await.unwrap();
    assert_eq!(stored(1).await.get("email"), Some(&Bson::Null));

    let plains = env.collection::<Plain>();
    let plain = Plain {
        _id: 2,
        email: None,
        visits: None,
    };
    plains.insert_one(&plain).await.unwrap();
    assert_eq!(stored(2).await, doc! { "_id": 2_i64, "email": null });
    env.close().await;
}

#[tokio::test]
async fn a_sparse_index_leaves_out_documents_without_the_field() {
    let env = Env::open().await;
    let users = env.collection::<User>();
    env.db
        .schema()
        .register::<User>()
        .sync(SyncMode::Additive)
        .await
        .unwrap();
    let user = |id: i64, email: Option<&str>| User {
        _id: id,
        email: email.map(str::to_owned),
        ..User::default()
    };
    for id in 1..=2 {
        users.insert_one(&user(id, None)).await.unwrap();
    }
    users.insert_one(&user(3, Some("a@b.c"))).await.unwrap();
    let error = users.insert_one(&user(4, Some("a@b.c"))).await.unwrap_err();
    assert!(matches!(error, marula::Error::Duplicate { .. }), "{error}");
    env.close().await;
}
