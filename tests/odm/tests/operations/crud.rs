//! Inserts, finds, updates and deletes of models.

use std::collections::HashMap;

use crate::common::{Env, Order, Payment, Status, decimal, order};
use marula::bson::{Bson, Document as Doc, doc};
use marula::driver::options::ReturnDocument;
use marula::prelude::*;
use marula::{Document, Embedded, Error, Filter, Update};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

fn numbers(orders: &[Order]) -> Vec<i64> {
    orders.iter().map(|o| o.number).collect()
}

async fn shop(count: i64) -> (Env, marula::Collection<Order>, Vec<Order>) {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    let all: Vec<Order> = (1..=count).map(order).collect();
    orders.insert_many(&all).await.expect("orders are inserted");
    (env, orders, all)
}

#[tokio::test]
async fn inserted_documents_are_found_unchanged() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    let mut first = order(1);
    first.note = Some("quick".to_owned());
    first.payment = Payment::Card {
        last_four: "4242".to_owned(),
    };
    orders.insert_one(&first).await.unwrap();
    assert_eq!(orders.find_by_id(first.id).await.unwrap().as_ref(), Some(&first));
    assert_eq!(
        orders.find_one(|o| o.note().eq("quick")).await.unwrap(),
        Some(first.clone())
    );
    assert_eq!(orders.find_by_id(Uuid::from_u128(0)).await.unwrap(), None);
    let missing = orders
        .find_by_id(Uuid::from_u128(0))
        .required()
        .await
        .unwrap_err();
    assert!(matches!(missing, Error::NotFound { .. }), "{missing}");
    env.stop().await;
}

#[tokio::test]
async fn stored_values_have_their_bson_types() {
    let (env, orders, all) = shop(1).await;
    let raw = orders
        .find_by_id(all[0].id)
        .raw()
        .await
        .unwrap()
        .expect("the order");
    let stored: Doc = marula::bson::from_raw(&raw).unwrap();
    let id = stored.get("_id").expect("an id");
    assert!(
        matches!(id, Bson::Binary(b) if u8::from(b.subtype) == 4 && b.bytes == all[0].id.as_bytes()),
        "{id:?}"
    );
    assert_eq!(stored.get("total"), Some(&Bson::Decimal128(decimal("9.90"))));
    assert_eq!(stored.get("status"), Some(&Bson::String("open".to_owned())));
    assert_eq!(stored.get_i64("number").unwrap(), 1);
    assert!(!stored.contains_key("note"), "None is not stored");
    assert_eq!(stored.get_document("payment").unwrap(), &doc! { "kind": "cash" });
    assert_eq!(
        orders
            .find(|o| o.total().eq(decimal("9.9")))
            .all()
            .await
            .unwrap()
            .len(),
        1,
        "equal in value"
    );
    env.stop().await;
}

#[tokio::test]
async fn finds_sort_skip_and_limit() {
    let (env, orders, _) = shop(10).await;
    let found = orders
        .find(|o| o.number().gt(2))
        .sort(|o| o.number().desc())
        .skip(1)
        .limit(3)
        .all()
        .await
        .unwrap();
    assert_eq!(numbers(&found), [9, 8, 7]);
    let by_two = orders
        .find_all()
        .sort(|o| (o.status().asc(), o.created_at().asc()))
        .first()
        .await
        .unwrap();
    assert_eq!(by_two.map(|o| o.number), Some(1));
    let one = orders.find(|o| o.number().eq(4)).one().await.unwrap();
    assert_eq!(one.number, 4);
    assert!(matches!(
        orders.find(|o| o.number().gt(4)).one().await,
        Err(Error::MoreThanOne { .. })
    ));
    assert!(matches!(
        orders.find(|o| o.number().gt(40)).one().await,
        Err(Error::NotFound { .. })
    ));
    assert_eq!(orders.count(|o| o.number().lte(4)).await.unwrap(), 4);
    assert_eq!(orders.estimated_count().await.unwrap(), 10);
    assert!(orders.exists(|o| o.number().eq(4)).await.unwrap());
    assert!(!orders.exists(|o| o.number().eq(40)).await.unwrap());
    env.stop().await;
}

#[tokio::test]
async fn streams_read_many_batches() {
    let (env, orders, all) = shop(250).await;
    let mut stream = orders
        .find_all()
        .sort(|o| o.number().asc())
        .batch_size(20)
        .stream()
        .await
        .unwrap();
    let mut read = Vec::new();
    while let Some(order) = stream.try_next().await.unwrap() {
        read.push(order);
    }
    assert_eq!(read, all);
    let cursor = orders.find_all().batch_size(20).stream().await.unwrap();
    drop(cursor);
    env.stop().await;
}

#[tokio::test]
async fn updates_return_their_counts() {
    let (env, orders, all) = shop(3).await;
    let result = orders
        .update_one(
            |o| o.number().eq(1),
            |o| (o.status().set(Status::Paid), o.note().set("x")),
        )
        .await
        .unwrap();
    assert_eq!((result.matched_count, result.modified_count), (1, 1));
    let result = orders
        .update_by_id(all[1].id, |o| o.tags().push("gift"))
        .await
        .unwrap();
    assert_eq!(result.modified_count, 1);
    let result = orders
        .update_many(|_| Filter::everything(), |o| o.number().inc(10))
        .await
        .unwrap();
    assert_eq!(result.modified_count, 3);
    let paid = orders.find(|o| o.status().eq(Status::Paid)).all().await.unwrap();
    assert_eq!(numbers(&paid), [11]);
    assert_eq!(paid[0].note.as_deref(), Some("x"));
    assert_eq!(
        orders.find_by_id(all[1].id).required().await.unwrap().tags,
        ["gift"]
    );
    let none = orders
        .update_one(|o| o.number().eq(99), |o| o.note().unset())
        .await
        .unwrap();
    assert_eq!((none.matched_count, none.upserted_id), (0, None));
    let pipeline = orders
        .update_one(
            |o| o.number().eq(12),
            |_| Update::pipeline([doc! { "$set": { "note": "piped" } }]),
        )
        .await
        .unwrap();
    assert_eq!(pipeline.modified_count, 1);
    env.stop().await;
}

#[tokio::test]
async fn an_upsert_inserts_one_document() {
    let env = Env::start().await;
    let raw = env.db.collection::<Order>();
    let first = order(1);
    let result = raw.replace(&first).upsert(true).await.unwrap();
    assert!(result.upserted_id.is_some());
    let again = Order {
        note: Some("again".to_owned()),
        ..first.clone()
    };
    let result = raw.replace(&again).upsert(true).await.unwrap();
    assert_eq!((result.matched_count, result.upserted_id), (1, None));
    assert_eq!(raw.find_all().all().await.unwrap(), [again]);
    let result = raw
        .update_one(
            |o| o.number().eq(7),
            |o| (o.note().set("new"), o.tags().set_on_insert(["made"])),
        )
        .upsert(true)
        .await
        .unwrap();
    assert!(result.upserted_id.is_some());
    let made = raw
        .driver()
        .clone_with_type::<Doc>()
        .find_one(doc! { "number": 7 })
        .await
        .unwrap()
        .expect("made");
    assert_eq!(made.get_array("tags").unwrap(), &[Bson::from("made")]);
    env.stop().await;
}

#[tokio::test]
async fn replaces_and_deletes() {
    let (env, orders, all) = shop(5).await;
    let changed = Order {
        total: decimal("1"),
        ..all[0].clone()
    };
    assert_eq!(
        orders
            .replace_one(|o| o.number().eq(1), &changed)
            .await
            .unwrap()
            .modified_count,
        1
    );
    assert_eq!(orders.find_by_id(changed.id).required().await.unwrap(), changed);
    assert_eq!(orders.delete_by_id(changed.id).await.unwrap(), 1);
    assert_eq!(orders.delete_one(|o| o.number().gt(3)).await.unwrap(), 1);
    assert_eq!(orders.delete_many(|_| Filter::everything()).await.unwrap(), 3);
    assert_eq!(orders.delete_many(|_| Filter::everything()).await.unwrap(), 0);
    env.stop().await;
}

#[tokio::test]
async fn find_and_modify_returns_the_document() {
    let (env, orders, all) = shop(3).await;
    let before = orders
        .find_one_and_update(|o| o.number().eq(1), |o| o.note().set("n"))
        .await
        .unwrap();
    assert_eq!(before.as_ref(), Some(&all[0]));
    let after = orders
        .find_one_and_update(|_| Filter::everything(), |o| o.note().set("last"))
        .sort(|o| o.number().desc())
        .return_document(ReturnDocument::After)
        .await
        .unwrap()
        .expect("an order");
    assert_eq!((after.number, after.note.as_deref()), (3, Some("last")));
    let changed = Order {
        total: decimal("5"),
        ..all[1].clone()
    };
    let old = orders
        .find_one_and_replace(|o| o.id().eq(changed.id), &changed)
        .await
        .unwrap();
    assert_eq!(old, Some(all[1].clone()));
    assert_eq!(
        orders.find_one_and_delete(|o| o.number().eq(2)).await.unwrap(),
        Some(changed)
    );
    assert_eq!(
        orders.find_one_and_delete(|o| o.number().eq(2)).await.unwrap(),
        None
    );
    env.stop().await;
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "settings")]
struct Setting {
    #[serde(rename = "_id")]
    id: i64,
    #[serde(with = "marula::bson::exact")]
    #[document(opaque)]
    value: Bson,
}

/// BSON gives the keys of Extended JSON no meaning.
#[tokio::test]
async fn fields_keep_documents_with_the_keys_of_extended_json() {
    let env = Env::start().await;
    // Older servers store no names that begin with `$`.
    if env.is_before(5, 0).await {
        return env.stop().await;
    }
    let settings = env.db.collection::<Setting>();
    let value = Bson::from(doc! { "q": { "$date": 5 }, "w": [{ "$oid": "x" }] });
    let setting = Setting { id: 1, value };
    let stored = env.db.driver().collection::<Doc>("settings");
    stored
        .insert_one(&doc! { "_id": 1_i64, "value": &setting.value })
        .await
        .unwrap();
    let found = settings.find_by_id(1).await.unwrap();
    assert_eq!(found.as_ref(), Some(&setting));
    settings.save(&setting).await.unwrap();
    settings.replace(&setting).await.unwrap();
    let written = stored.find_one(doc! { "_id": 1_i64 }).await.unwrap();
    assert_eq!(
        written.and_then(|setting| setting.get("value").cloned()),
        Some(setting.value)
    );
    env.stop().await;
}

#[tokio::test]
async fn distinct_values_are_typed() {
    let (env, orders, _) = shop(3).await;
    orders
        .update_one(
            |o| o.number().eq(1),
            |o| (o.status().set(Status::Paid), o.tags().set(["a", "b"])),
        )
        .await
        .unwrap();
    let mut numbers: Vec<i64> = orders
        .distinct(|o| o.number(), |o| o.number().lt(3))
        .await
        .unwrap();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2]);
    let statuses = orders
        .distinct(|o| o.status(), |_| Filter::everything())
        .await
        .unwrap();
    assert_eq!(statuses.len(), 2);
    let mut tags: Vec<String> = orders
        .distinct(|o| o.tags().any(), |_| Filter::everything())
        .await
        .unwrap();
    tags.sort();
    assert_eq!(tags, ["a", "b"]);
    // The server would return elements, which are not arrays.
    let array = orders
        .distinct(|o| o.tags(), |_| Filter::everything())
        .await
        .unwrap_err();
    assert!(
        matches!(&array, Error::InvalidArgument { reason } if reason.contains("`tags`") && reason.contains("`.any()`")),
        "{array}"
    );
    env.stop().await;
}

#[tokio::test]
async fn distinct_through_a_variant_ignores_other_variants() {
    #[derive(Clone, Serialize, Deserialize, Embedded)]
    #[serde(tag = "kind")]
    enum Contact {
        Mail { text: String },
        Phone { text: String },
    }
    #[derive(Clone, Serialize, Deserialize, Embedded)]
    enum Keyed {
        Mail { text: String },
        Phone { text: String },
    }
    #[derive(Serialize, Deserialize, Document)]
    #[document(collection = "people")]
    struct Person {
        _id: i64,
        contact: Contact,
        others: Vec<Contact>,
        keyed: Vec<Keyed>,
        by_name: HashMap<String, Contact>,
    }
    let env = Env::start().await;
    let people = env.db.collection::<Person>();
    let text = |text: &str| text.to_owned();
    for (_id, contact, keyed) in [
        (
            1,
            Contact::Mail { text: text("a@b") },
            Keyed::Mail { text: text("a@b") },
        ),
        (
            2,
            Contact::Phone { text: text("555") },
            Keyed::Phone { text: text("555") },
        ),
    ] {
        let person = Person {
            _id,
            others: vec![contact.clone()],
            keyed: vec![keyed],
            by_name: HashMap::from([(text("home"), contact.clone())]),
            contact,
        };
        people.insert_one(&person).await.unwrap();
    }
    let all = || Filter::<Person>::everything();
    let mails = people.distinct(|p| p.contact().mail().text(), |_| all()).await;
    assert_eq!(mails.unwrap(), ["a@b"]);
    let mails = people
        .filter(Person::fields()._id().gt(1))
        .distinct(|p| p.contact().mail().text());
    assert!(mails.await.unwrap().is_empty());
    let phones = people
        .distinct(|p| p.keyed().any().phone().text(), |_| all())
        .await;
    assert_eq!(phones.unwrap(), ["555"], "the variant is in the path");
    let phones = people
        .distinct(|p| p.others().nth(0).phone().text(), |_| all())
        .await;
    assert_eq!(phones.unwrap(), ["555"]);
    let home = people
        .distinct(|p| p.by_name().entry("home").mail().text(), |_| all())
        .await;
    assert_eq!(home.unwrap(), ["a@b"]);
    let refused = people.distinct(|p| p.others().mail().text(), |_| all()).await;
    match refused {
        Err(Error::InvalidArgument { reason }) => {
            assert!(
                reason.contains("`others.text`") && reason.contains("\"Mail\""),
                "{reason}"
            );
        }
        other => panic!("{other:?}"),
    }
    let refused = people.distinct(|p| p.by_name().entry("a.b"), |_| all()).await;
    assert!(
        matches!(&refused, Err(Error::InvalidFilter { path, .. }) if path == "by_name.a.b"),
        "{:?}",
        refused.err()
    );
    env.stop().await;
}

#[tokio::test]
async fn named_selects_another_collection() {
    let (env, orders, _) = shop(1).await;
    let archive = orders.named("orders_archive");
    assert_eq!(archive.count(|_| Filter::everything()).await.unwrap(), 0);
    archive.insert_one(&order(5)).await.unwrap();
    assert_eq!(archive.count(|_| Filter::everything()).await.unwrap(), 1);
    assert_eq!(orders.count(|_| Filter::everything()).await.unwrap(), 1);
    env.stop().await;
}
