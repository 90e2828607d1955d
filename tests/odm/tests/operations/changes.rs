//! `save_changes`: the fields that differ are sent.

use std::collections::BTreeMap;

use crate::common::{Env, Observed};
use marula::bson::{DateTime, Document as BsonDocument, doc};
use marula::managed::BoxedError;
use marula::prelude::*;
use marula::{Document, Embedded, Error, Filter, Hooks};

#[derive(Clone, Debug, PartialEq, Embedded)]
struct Address {
    street: String,
    city: String,
    geo: Option<Geo>,
}

#[derive(Clone, Debug, PartialEq, Embedded)]
struct Geo {
    lat: f64,
    lon: f64,
}

#[derive(Clone, Debug, PartialEq, Embedded)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Payment {
    Card { fee: i64, last: i64 },
    Cash {},
}

fn positive(order: &Order) -> Result<(), &'static str> {
    if order.total < 0 {
        Err("a total is not negative")
    } else {
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "orders", hooks, validate = positive, soft_delete = deleted_at)]
struct Order {
    _id: i64,
    total: i64,
    note: Option<String>,
    #[document(skip_none)]
    coupon: Option<String>,
    tags: Vec<String>,
    address: Address,
    billing: Option<Address>,
    payment: Payment,
    stock: BTreeMap<String, i64>,
    text: String,
    text_lowercase: String,
    #[document(version)]
    revision: i32,
    #[document(created_at)]
    created_at: DateTime,
    #[document(updated_at)]
    updated_at: DateTime,
    deleted_at: Option<DateTime>,
}

impl Hooks for Order {
    fn before_replace(&mut self) -> Result<(), BoxedError> {
        self.text_lowercase = self.text.to_lowercase();
        Ok(())
    }
}

fn address() -> Address {
    Address {
        street: "Marktgasse 1".to_owned(),
        city: "Bern".to_owned(),
        geo: Some(Geo { lat: 46.9, lon: 7.4 }),
    }
}

fn order() -> Order {
    Order {
        _id: 1,
        total: 10,
        note: Some("ring".to_owned()),
        coupon: Some("TEA".to_owned()),
        tags: vec!["a".to_owned()],
        address: address(),
        billing: Some(address()),
        payment: Payment::Card { fee: 1, last: 4242 },
        stock: [("tea.green".to_owned(), 1)].into(),
        text: "tea".to_owned(),
        text_lowercase: "tea".to_owned(),
        revision: 0,
        created_at: DateTime::from_millis(0),
        updated_at: DateTime::from_millis(0),
        deleted_at: None,
    }
}

/// The update that was sent, without the maintained fields, and its filter.
fn sent(observed: &Observed) -> (BsonDocument, BsonDocument) {
    let commands = observed.take("update");
    let [command] = &commands[..] else {
        panic!("{commands:?}")
    };
    let updates = command.get_array("updates").expect("updates");
    let update = updates[0].as_document().expect("an update");
    let mut changes = update.get_document("u").expect("operators").clone();
    if let Ok(set) = changes.get_document_mut("$set") {
        set.remove("updated_at").expect("the time");
        if set.is_empty() {
            changes.remove("$set");
        }
    }
    let increment = changes.remove("$inc");
    assert_eq!(increment, Some(doc! { "revision": 1 }.into()));
    (changes, update.get_document("q").expect("a filter").clone())
}

#[tokio::test]
async fn only_the_fields_that_differ_are_sent() {
    let env = Env::start().await;
    let observed = Observed::of(&env);
    let orders = observed.db.collection::<Order>();
    let before = orders.insert(order()).await.unwrap();
    let mut after = before.clone();
    after.total = 11;
    after.note = None;
    after.coupon = None;
    after.tags.push("b".to_owned());
    after.address.city = "Biel".to_owned();
    after.address.geo = Some(Geo { lat: 47.1, lon: 7.4 });
    after.billing = None;
    after.payment = Payment::Card { fee: 2, last: 4242 };
    after.stock.insert("mug".to_owned(), 2);
    after.text = "Tea".to_owned();
    let result = orders
        .save_changes(&before, &mut after)
        .required()
        .await
        .unwrap()
        .unwrap();
    assert_eq!((result.matched_count, result.modified_count), (1, 1));
    let (update, filter) = sent(&observed);
    let set = doc! {
        "total": 11_i64,
        "note": null,
        "tags": ["a", "b"],
        "address.city": "Biel",
        "address.geo.lat": 47.1,
        "billing": null,
        "payment": { "kind": "card", "fee": 2_i64, "last": 4242_i64 },
        "stock": { "mug": 2_i64, "tea.green": 1_i64 },
        "text": "Tea",
    };
    assert_eq!(update, doc! { "$set": set, "$unset": { "coupon": "" } });
    let filter = filter.to_string();
    for part in ["_id", "revision", "address", "address.geo", "\"object\""] {
        assert!(filter.contains(part), "{filter}");
    }
    let found = orders.find_by_id(1).required().await.unwrap();
    assert_eq!(after.revision, 1);
    assert_eq!(found, after);

    // A change by the hook, and none.
    let mut same = found.clone();
    observed.take_all();
    assert!(orders.save_changes(&found, &mut same).await.unwrap().is_none());
    assert!(
        orders
            .save_changes(&found, &same)
            .required()
            .await
            .unwrap()
            .is_none()
    );
    assert!(observed.take_all().is_empty(), "nothing is sent");
    assert_eq!(same, found);
    let mut with_hook = found.clone();
    with_hook.text = "COFFEE".to_owned();
    orders.save_changes(&found, &with_hook).await.unwrap();
    assert_eq!(
        sent(&observed).0,
        doc! { "$set": { "text": "COFFEE", "text_lowercase": "coffee" } }
    );
    env.stop().await;
}

#[tokio::test]
async fn another_version_is_a_conflict() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    let before = orders.insert(order()).await.unwrap();
    let changed = |total| Order {
        total,
        ..before.clone()
    };
    orders.save_changes(&before, &changed(11)).await.unwrap();
    let conflict = orders.save_changes(&before, &changed(12)).await.unwrap_err();
    assert!(matches!(conflict, Error::VersionConflict { .. }), "{conflict}");
    let mut stored = orders.find_by_id(1).required().await.unwrap();
    assert_eq!(stored.total, 11);
    let read = stored.clone();
    stored.total = 13;
    orders.delete_permanently(|o| o._id().eq(1)).await.unwrap();
    let conflict = orders.save_changes(&read, &stored).await.unwrap_err();
    assert!(matches!(conflict, Error::VersionConflict { .. }), "{conflict}");
    let missing = orders
        .save_changes(&before, &changed(14))
        .required()
        .await
        .unwrap_err();
    assert!(matches!(missing, Error::NotFound { .. }), "{missing}");

    let other = orders
        .save_changes(&before, &Order { _id: 2, ..changed(1) })
        .await
        .unwrap_err();
    assert!(
        matches!(&other, Error::InvalidArgument { .. }) && other.to_string().contains("ids"),
        "{other}"
    );
    let other = orders
        .save_changes(
            &before,
            &Order {
                revision: 4,
                ..changed(1)
            },
        )
        .await
        .unwrap_err();
    assert!(
        matches!(&other, Error::InvalidArgument { .. }) && other.to_string().contains("versions"),
        "{other}"
    );
    let invalid = orders.save_changes(&before, &changed(-1)).await.unwrap_err();
    assert!(matches!(invalid, Error::Validation { .. }), "{invalid}");
    env.stop().await;
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "people")]
struct Person {
    _id: i64,
    name: String,
    home: Option<Address>,
    #[serde(flatten)]
    counts: BTreeMap<String, i64>,
}

fn person() -> Person {
    Person {
        _id: 1,
        name: "Ada".to_owned(),
        home: Some(address()),
        counts: [("visits".to_owned(), 1)].into(),
    }
}

#[tokio::test]
async fn fields_that_others_have_changed_are_kept() {
    let env = Env::start().await;
    let people = env.db.collection::<Person>();
    people.insert_one(&person()).await.unwrap();
    let before = person();
    people.update_by_id(1, |p| p.name().set("Grace")).await.unwrap();
    let mut after = before.clone();
    after.counts.insert("orders".to_owned(), 2);
    after.counts.remove("visits");
    after.home.as_mut().unwrap().city = "Biel".to_owned();
    people.save_changes(&before, &after).required().await.unwrap();
    let found = people.find_by_id(1).required().await.unwrap();
    assert_eq!(
        found,
        Person {
            name: "Grace".to_owned(),
            ..after.clone()
        }
    );

    // The embedded document was removed meanwhile: no part of it is created.
    people.update_by_id(1, |p| p.home().unset()).await.unwrap();
    let mut moved = after.clone();
    moved.home.as_mut().unwrap().city = "Chur".to_owned();
    let result = people.save_changes(&after, &moved).await.unwrap().unwrap();
    assert_eq!(result.matched_count, 0);
    assert_eq!(people.find_by_id(1).required().await.unwrap().home, None);

    let mut dotted = after.clone();
    dotted.counts.insert("a.b".to_owned(), 1);
    let refused = people.save_changes(&after, &dotted).await.unwrap_err();
    assert!(matches!(refused, Error::InvalidUpdate { .. }), "{refused}");
    env.stop().await;
}

#[tokio::test]
async fn the_variant_of_a_document_must_be_the_same() {
    #[derive(Clone, Debug, PartialEq, Document)]
    #[serde(tag = "kind", rename_all = "lowercase")]
    #[document(collection = "vehicles")]
    enum Vehicle {
        Car { _id: i64, doors: i32 },
        Truck { _id: i64, load: i32 },
    }
    let env = Env::start().await;
    let vehicles = env.db.collection::<Vehicle>();
    let (car, wide) = (
        Vehicle::Car { _id: 1, doors: 3 },
        Vehicle::Car { _id: 1, doors: 5 },
    );
    let truck = Vehicle::Truck { _id: 1, load: 9 };
    vehicles.insert_one(&car).await.unwrap();
    vehicles.save_changes(&car, &wide).required().await.unwrap();
    vehicles.save_changes(&wide, &truck).required().await.unwrap();
    assert_eq!(vehicles.find_by_id(1).required().await.unwrap(), truck);
    let result = vehicles.save_changes(&wide, &car).await.unwrap().unwrap();
    assert_eq!(result.matched_count, 0);
    assert_eq!(vehicles.find_by_id(1).required().await.unwrap(), truck);
    env.stop().await;
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "cards", schema_version(2, upgrade = upgrade))]
struct Card {
    _id: i64,
    name: String,
    points: i64,
    #[document(version)]
    revision: i64,
}

fn upgrade(_: u32, document: &mut BsonDocument) -> Result<(), &'static str> {
    let name = document.remove("title").ok_or("no title")?;
    document.insert("name", name);
    Ok(())
}

#[tokio::test]
async fn a_document_of_an_older_form_is_upgraded_first() {
    let env = Env::start().await;
    let raw = env.db.driver().collection::<BsonDocument>("cards");
    raw.insert_one(&doc! { "_id": 1_i64, "title": "gold", "points": 1_i64, "revision": 3_i64 })
        .await
        .unwrap();
    let cards = env.db.collection::<Card>();
    let before = cards.find_by_id(1).required().await.unwrap();
    let mut after = Card {
        points: 2,
        ..before.clone()
    };
    cards.save_changes(&before, &mut after).required().await.unwrap();
    assert_eq!(after.revision, 4);
    let stored = raw.find_one(doc! {}).await.unwrap().unwrap();
    assert_eq!(stored.get_str("name").unwrap(), "gold");
    assert_eq!(cards.find_by_id(1).required().await.unwrap(), after);
    env.stop().await;
}

#[tokio::test]
async fn changes_are_saved_in_a_transaction_and_in_a_scope() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let orders = env.db.collection::<Order>();
    let before = orders.insert(order()).await.unwrap();
    let scoped = orders.scoped(|o| o.total().eq(10));
    let after = Order {
        total: 12,
        ..before.clone()
    };
    let refused = scoped.save_changes(&before, &after).await.unwrap_err();
    assert!(
        refused.is_out_of_scope() || matches!(refused, Error::InvalidUpdate { .. }),
        "{refused}"
    );
    let mut session = env.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    orders
        .save_changes(&before, &after)
        .session(&mut session)
        .required()
        .await
        .unwrap();
    session.abort_transaction().await.unwrap();
    assert_eq!(orders.count(|o| o.total().eq(10)).await.unwrap(), 1);
    assert_eq!(orders.count(|_| Filter::everything()).await.unwrap(), 1);
    env.stop().await;
}

#[derive(Clone, Debug, PartialEq, Embedded)]
struct Place {
    city: String,
}

/// A model whose field has become a part of an embedded document.
#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "shops", schema_version(2, upgrade = into_place))]
struct Shop {
    _id: i64,
    place: Place,
    #[document(version)]
    revision: i32,
}

fn into_place(_: u32, document: &mut BsonDocument) -> Result<(), BoxedError> {
    if let Some(city) = document.remove("city") {
        document.insert("place", doc! { "city": city });
    }
    Ok(())
}

#[tokio::test]
async fn a_document_of_an_older_version_is_upgraded_before_it_is_changed() {
    let env = Env::start().await;
    let shops = env.db.collection::<Shop>();
    let old = doc! { "_id": 1_i64, "city": "Bern", "revision": 3 };
    let raw = shops.driver().clone_with_type::<BsonDocument>();
    raw.insert_one(&old).await.unwrap();
    let before = shops.find_by_id(1).required().await.unwrap();
    let mut after = before.clone();
    after.place.city = "Basel".to_owned();
    shops.save_changes(&before, &mut after).required().await.unwrap();
    assert_eq!(shops.find_by_id(1).required().await.unwrap(), after);
    env.stop().await;
}

#[tokio::test]
async fn fields_of_hooks_are_compared_as_they_are_stored() {
    let env = Env::start().await;
    let orders = env.db.collection::<Order>();
    let mut first = order();
    first.text = "tea".to_owned();
    orders.insert_one(&mut first).await.unwrap();
    let mut second = first.clone();
    second.text = "COFFEE".to_owned();
    orders.save_changes(&first, &mut second).required().await.unwrap();
    // The struct has the text of the hook in its earlier state.
    let mut third = second.clone();
    third.text = "tea".to_owned();
    orders.save_changes(&second, &mut third).required().await.unwrap();
    let stored = orders.find_by_id(1).required().await.unwrap();
    assert_eq!(
        (stored.text.as_str(), stored.text_lowercase.as_str()),
        ("tea", "tea")
    );
    env.stop().await;
}
