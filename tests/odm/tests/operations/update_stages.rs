//! Updates by typed stages: their effect, the fields that the model maintains, and what is refused.

use crate::common::Env;
use marula::bson::{DateTime, doc};
use marula::expr::*;
use marula::{Collection, Document, Embedded, Error, Fields, Update, prelude::*};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Address {
    city: String,
    zip: Option<i32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Payment {
    Card { fee: i64 },
    Cash {},
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "items", soft_delete = deleted_at)]
struct Item {
    _id: i64,
    tenant: i64,
    price: i64,
    qty: i32,
    total: i64,
    label: String,
    note: Option<String>,
    #[document(skip_none)]
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    home: Option<Address>,
    payment: Payment,
    deleted_at: Option<DateTime>,
    #[document(version)]
    version: i64,
    #[document(created_at)]
    created_at: DateTime,
    #[document(updated_at)]
    updated_at: Option<DateTime>,
}

const EPOCH: DateTime = DateTime::from_millis(0);

fn item(id: i64) -> Item {
    Item {
        _id: id,
        tenant: id % 2,
        price: 10 * id,
        qty: 3,
        total: 0,
        label: format!("item {id}"),
        note: None,
        hint: Some("hint".to_owned()),
        home: (id == 1).then(|| Address {
            city: "Bern".to_owned(),
            zip: None,
        }),
        payment: if id == 2 {
            Payment::Card { fee: 5 }
        } else {
            Payment::Cash {}
        },
        deleted_at: None,
        version: 0,
        created_at: EPOCH,
        updated_at: None,
    }
}

async fn filled(env: &Env) -> Collection<Item> {
    let items: Collection<Item> = env.db.collection();
    items
        .insert_many(&[item(1), item(2), item(3)])
        .await
        .expect("inserted");
    items
}

fn totals(i: &Fields<Item>) -> marula::update::UpdateStages<Item> {
    Update::stages().set(i.total(), i.price() * i.qty())
}

#[tokio::test]
async fn every_update_call_takes_stages_and_maintains_the_fields() {
    let env = Env::start().await;
    let items = filled(&env).await;
    let before = items.find_by_id(1).required().await.unwrap();

    items
        .update_by_id(1, |i| {
            totals(&i).set(i.note(), concat([expr(i.label()), expr(" $x")]))
        })
        .required()
        .await
        .unwrap();
    let first = items.find_by_id(1).required().await.unwrap();
    assert_eq!((first.total, first.note.as_deref()), (30, Some("item 1 $x")));
    assert_eq!(
        (first.version, first.created_at),
        (before.version + 1, before.created_at)
    );
    assert!(first.updated_at >= before.updated_at && first.updated_at > Some(EPOCH));

    let result = items
        .update_many(
            |i| i._id().gt(1),
            |i| totals(&i).unset(i.note()).set(i.hint(), i.note()),
        )
        .await
        .unwrap();
    assert_eq!(result.modified_count, 2);
    let second = items.find_by_id(2).required().await.unwrap();
    assert_eq!(
        (second.total, second.hint, second.version),
        (60, None, before.version + 1)
    );

    let third = items
        .find_one_and_update(|i| i._id().eq(3), |i| totals(&i).set(i.total(), i.total() + 1))
        .returning_new()
        .required()
        .await
        .unwrap();
    assert_eq!((third.total, third.version), (91, before.version + 2));

    items
        .bulk()
        .update_by_id(3, |i| Update::stages().set(i.label(), "$price"))
        .await
        .unwrap();
    assert_eq!(items.find_by_id(3).required().await.unwrap().label, "$price");
    env.stop().await;
}

#[tokio::test]
async fn conditions_keep_what_they_do_not_change() {
    let env = Env::start().await;
    let items = filled(&env).await;
    items
        .update_all(|i| {
            Update::stages()
                .set_if(gt(i.price(), 15), i.label(), "dear")
                .set_if(eq(i._id(), 1), i.home().zip(), 3000)
        })
        .await
        .unwrap();
    let all = items.find_all().sort(|i| i._id().asc()).await.unwrap();
    let labels: Vec<&str> = all.iter().map(|i| &*i.label).collect();
    assert_eq!(labels, ["item 1", "dear", "dear"]);
    let zips: Vec<_> = all.iter().map(|i| i.home.as_ref().map(|home| home.zip)).collect();
    assert_eq!(zips, [Some(Some(3000)), None, None]);
    env.stop().await;
}

#[tokio::test]
async fn fields_of_variants_change_only_in_their_variant() {
    let env = Env::start().await;
    let items = filled(&env).await;
    let result = items
        .update_all(|i| {
            Update::stages().set(
                i.payment().card().fee(),
                if_null(i.payment().card().fee(), 0) + i.price(),
            )
        })
        .await
        .unwrap();
    assert_eq!((result.matched_count, result.modified_count), (1, 1));
    let card = items.find_by_id(2).required().await.unwrap();
    assert_eq!(card.payment, Payment::Card { fee: 25 });
    let upsert = items
        .update_one(
            |i| i._id().eq(9),
            |i| Update::stages().set(i.payment().card().fee(), 1),
        )
        .upsert(true);
    assert!(matches!(upsert.await, Err(Error::InvalidUpdate { .. })));
    env.stop().await;
}

#[tokio::test]
async fn handles_with_a_scope_keep_their_fields() {
    let env = Env::start().await;
    let items = filled(&env).await;
    items
        .update_by_id(3, |i| i.deleted_at().set(EPOCH))
        .await
        .unwrap();
    let own = items.scoped(|i| i.tenant().eq(1));
    let result = own
        .update_all(|i| Update::stages().set(i.label(), "own"))
        .await
        .unwrap();
    assert_eq!(result.matched_count, 1);
    let error = own
        .update_all(|i| Update::stages().set(i.tenant(), 2))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::InvalidUpdate { .. }), "{error:?}");
    env.stop().await;
}

#[tokio::test]
async fn maintained_fields_and_empty_updates_are_refused() {
    let env = Env::start().await;
    let items = filled(&env).await;
    let fields = Item::fields;
    for (update, field) in [
        (Update::stages().set(fields().version(), 5), "version"),
        (Update::stages().set(fields().created_at(), now()), "created_at"),
        (Update::stages().set(fields().updated_at(), now()), "updated_at"),
        (Update::stages().unset(fields()._id()), "_id"),
        (Update::stages().replace_with(fields()), "$replaceWith"),
    ] {
        let error = items.update_by_id(1, |_| update).await.unwrap_err();
        assert!(
            matches!(error, Error::InvalidUpdate { .. }) && error.to_string().contains(field),
            "{error}"
        );
    }
    let error = items.update_by_id(1, |_| Update::stages()).await.unwrap_err();
    assert!(error.to_string().contains("changes nothing"), "{error}");
    let unchanged = items
        .update_by_id(1, |_| Update::stages())
        .allow_empty()
        .await
        .unwrap();
    assert_eq!((unchanged.matched_count, unchanged.modified_count), (1, 0));
    env.stop().await;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "pages")]
struct Page {
    _id: i64,
    text: String,
    #[document(updated_at)]
    changed: Option<DateTime>,
}

#[tokio::test]
async fn documents_are_replaced_where_nothing_is_maintained() {
    let env = Env::start().await;
    let pages: Collection<Page> = env.db.collection();
    let page = |text: &str| Page {
        _id: 1,
        text: text.to_owned(),
        changed: None,
    };
    pages.insert_one(&page("old")).await.unwrap();
    pages
        .update_by_id(1, |_| {
            Update::stages().replace_with(Expr::<Page, Page>::raw(
                doc! { "_id": 1_i64, "text": { "$literal": "$new" } },
            ))
        })
        .required()
        .await
        .unwrap();
    let found = pages.find_by_id(1).required().await.unwrap();
    assert_eq!(found.text, "$new");
    assert!(found.changed.is_some());
    let error = pages
        .update_by_id(1, |p| Update::stages().set(p.changed(), EPOCH))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("the ODM maintains"), "{error}");

    let inserted = pages
        .update_one(|p| p._id().eq(2), |p| Update::stages().set(p.text(), "x"))
        .upsert(true)
        .await
        .unwrap();
    assert!(inserted.upserted_id.is_some());
    let stored = env
        .db
        .driver()
        .collection::<marula::bson::Document>("pages")
        .find_one(doc! { "_id": 2 })
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stored.get_str("text").unwrap(), "x");
    env.stop().await;
}
