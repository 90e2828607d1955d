//! `save`, `upsert_with`, inserts from iterators, and writes to whole collections.

use std::collections::BTreeMap;

use crate::common::Env;
use marula::bson::ObjectId;
use marula::prelude::*;
use marula::{Document, Embedded, Error, Filter, Update};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Address {
    city: String,
    zip: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "people")]
struct Person {
    #[serde(rename = "_id")]
    id: Option<ObjectId>,
    name: String,
    visits: i64,
    tags: Vec<String>,
    address: Address,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "settings")]
struct Setting {
    #[document(id = manual)]
    _id: Option<String>,
    value: i32,
}

fn person(name: &str) -> Person {
    Person {
        id: None,
        name: name.to_owned(),
        visits: 5,
        tags: vec!["new".to_owned()],
        address: Address {
            city: "Zurich".to_owned(),
            zip: None,
        },
    }
}

#[tokio::test]
async fn save_inserts_and_then_replaces() {
    let env = Env::start().await;
    let people = env.db.collection::<Person>();
    let mut ada = person("ada");
    let saved = people.save(&mut ada).await.unwrap();
    assert!(ada.id.is_some() && saved.upserted_id.is_some());
    ada.visits = 6;
    assert_eq!(people.save(&mut ada).await.unwrap().matched_count, 1);
    ada.visits = 7;
    assert_eq!(people.save(&ada).await.unwrap().matched_count, 1);
    assert_eq!(people.find_all().await.unwrap(), [ada]);
    // The struct of a shared reference is not changed, so a second save inserts again.
    let bob = person("bob");
    people.save(&bob).await.unwrap();
    people.save(&bob).await.unwrap();
    assert_eq!(people.count(|p| p.name().eq("bob")).await.unwrap(), 2);
    let settings = env.db.collection::<Setting>();
    let none = Setting { _id: None, value: 1 };
    let missing = settings.save(&none).await.unwrap_err();
    assert!(matches!(missing, Error::MissingId { .. }), "{missing}");
    env.stop().await;
}

#[tokio::test]
async fn insert_many_takes_iterators_of_documents_and_references() {
    let env = Env::start().await;
    let people = env.db.collection::<Person>();
    let names = ["a", "b"];
    let result = people.insert_many(names.iter().map(|n| person(n))).await.unwrap();
    assert_eq!(result.inserted_ids.len(), 2);
    let all = [person("c"), person("d"), person("e")];
    people
        .insert_many(all.iter().filter(|p| p.name != "d"))
        .await
        .unwrap();
    people.insert_many(Some(&all[1])).await.unwrap();
    people
        .insert_many(vec![Box::new(person("f"))])
        .ordered(false)
        .await
        .unwrap();
    let nothing = people.insert_many(None::<Person>).await.unwrap();
    assert!(nothing.inserted_ids.is_empty());
    let found = people.find_all().sort(|p| p.name().asc()).await.unwrap();
    let found: Vec<_> = found.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(found, ["a", "b", "c", "d", "e", "f"]);
    assert_eq!(
        people
            .update_all(|p| p.visits().set(0))
            .await
            .unwrap()
            .modified_count,
        6
    );
    assert_eq!(people.delete_all().await.unwrap(), 6);
    env.stop().await;
}

#[tokio::test]
async fn upsert_with_inserts_a_whole_document_once() {
    let env = Env::start().await;
    let people = env.db.collection::<Person>();
    let initial = person("ada");
    let visit = || {
        people.upsert_with(
            |p| p.name().eq("ada"),
            |p| {
                (
                    p.visits().inc(1),
                    p.tags().push("x"),
                    p.address().zip().set("8001"),
                )
            },
            &initial,
        )
    };
    assert!(visit().await.unwrap().upserted_id.is_some());
    let inserted = people.find_all().one().await.unwrap();
    assert_eq!(
        (inserted.visits, inserted.tags.as_slice()),
        (1, ["x".to_owned()].as_slice())
    );
    assert_eq!(inserted.address.city, "Zurich");
    assert_eq!(inserted.address.zip.as_deref(), Some("8001"));
    assert_eq!(visit().required().await.unwrap().matched_count, 1);
    let updated = people.find_all().one().await.unwrap();
    assert_eq!((updated.visits, updated.tags.len()), (2, 2));
    assert_eq!(updated.id, inserted.id);

    // The id of the filter has precedence, and an update that changes nothing is allowed.
    let id = ObjectId::new();
    let kept = people.upsert_with(|p| p.id().eq(id), |_| Update::<Person>::empty(), &person("bob"));
    assert_eq!(kept.await.unwrap().upserted_id, Some(id.into()));
    assert_eq!(people.find_by_id(id).required().await.unwrap().name, "bob");
    env.stop().await;
}

#[tokio::test]
async fn updates_that_leave_out_fields_of_an_inserted_document_are_refused() {
    let env = Env::start().await;
    let people = env.db.collection::<Person>();
    let initial = person("ada");
    let name = || Person::fields().name().eq("ada");
    let p = Person::fields();
    let refused: [(Update<Person>, &str); 4] = [
        (p.tags().pull_all(["x"]), "`$pullAll` creates no field"),
        (p.tags().pop_last(), "`$pop` creates no field"),
        (p.tags().nth(0).set("x"), "a part of an array"),
        (
            Update::pipeline([marula::bson::doc! { "$set": { "visits": 1 } }]),
            "pipeline",
        ),
    ];
    for (update, reason) in refused {
        let error = people
            .upsert_with(|_| name(), |_| update, &initial)
            .await
            .unwrap_err();
        assert!(matches!(error, Error::InvalidUpdate { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
    assert!(people.find_all().await.unwrap().is_empty());
    env.stop().await;
}

#[tokio::test]
async fn upsert_with_refuses_map_keys_that_are_no_paths() {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
    #[document(collection = "settings")]
    struct Settings {
        _id: i64,
        values: BTreeMap<String, i64>,
        #[serde(flatten)]
        rest: BTreeMap<String, i64>,
    }
    let env = Env::start().await;
    let settings = env.db.collection::<Settings>();
    let map = |key: &str| BTreeMap::from([(key.to_owned(), 1)]);
    for key in ["a.b", "$inc", ""] {
        let nested = Settings {
            _id: 1,
            values: map(key),
            rest: BTreeMap::new(),
        };
        let flattened = Settings {
            _id: 1,
            values: BTreeMap::new(),
            rest: map(key),
        };
        for (initial, expected) in [(&nested, format!("values.{key}")), (&flattened, key.to_owned())] {
            let upserted = settings
                .upsert_with(|s| s._id().eq(1), |s| s.values().entry("n").inc(1), initial)
                .await;
            match upserted {
                Err(Error::Encode { path, .. }) => assert_eq!(path, expected),
                other => panic!("{key}: {other:?}"),
            }
        }
    }
    assert_eq!(settings.count(|_| Filter::everything()).await.unwrap(), 0);
    // A map of which no entry is updated is one value.
    let whole = Settings {
        _id: 1,
        values: map("a.b"),
        rest: map("c"),
    };
    settings
        .upsert_with(|s| s._id().eq(1), |_| Update::<Settings>::empty(), &whole)
        .await
        .unwrap();
    assert_eq!(settings.find_by_id(1).required().await.unwrap(), whole);
    env.stop().await;
}

#[tokio::test]
async fn find_and_modify_returns_the_new_document() {
    let env = Env::start().await;
    let people = env.db.collection::<Person>();
    people.insert_one(&person("ada")).await.unwrap();
    let update = people.find_one_and_update(|p| p.name().eq("ada"), |p| p.visits().inc(1));
    assert_eq!(update.returning_new().required().await.unwrap().visits, 6);
    let replace = people.find_one_and_replace(|p| p.name().eq("ada"), &person("bob"));
    assert_eq!(replace.returning_new().required().await.unwrap().name, "bob");
    env.stop().await;
}
