//! Stages that read a second collection.

use crate::models::*;
use marula::expr::*;
use marula::prelude::*;
use marula::{Document, Pipeline, Shape};
use serde::{Deserialize, Serialize};

#[tokio::test]
async fn documents_are_joined_by_equal_fields() {
    let shop = Shop::open().await;
    let joined = shop
        .orders
        .aggregate()
        .lookup::<WithCustomer>()
        .on(|o| o.customer_id(), |c| c.id())
        .match_(|w| w.customers().tier().gte(2))
        .sort(|w| w.order().id().desc())
        .all()
        .await
        .unwrap();
    let names: Vec<(i64, &str)> = joined
        .iter()
        .map(|w| (w.order.id, &*w.customers[0].name))
        .collect();
    assert_eq!(names, [(3, "Ada"), (2, "Ada"), (1, "Ada")]);
    shop.close().await;
}

#[tokio::test]
async fn documents_are_joined_by_a_pipeline() {
    let shop = Shop::open().await;
    let recent = shop
        .customers
        .aggregate()
        .lookup::<WithRecent>()
        .pipeline::<Order>(|customer, orders| {
            orders
                .match_expr(|o| {
                    and([
                        eq(o.customer_id(), customer.id()),
                        gte(o.total(), customer.tier() * 350),
                    ])
                })
                .sort(|o| o.created_at().desc())
                .limit(1)
                .project(|o| RowExpr {
                    id: expr(o.id()),
                    label: expr(customer.name()),
                    city: expr(o.address().city()),
                    net: expr(o.total()),
                    weight: expr(0.0),
                    year: year(o.created_at()),
                })
        })
        .sort(|w| w.customer().name().asc())
        .all()
        .await
        .unwrap();
    let found: Vec<(&str, i64)> = recent
        .iter()
        .map(|w| (&*w.recent[0].label, w.recent[0].id))
        .collect();
    assert_eq!(found, [("Ada", 3), ("Grace", 4)]);
    shop.close().await;
}

#[tokio::test]
async fn collections_are_united() {
    let shop = Shop::open().await;
    let refund = Refund {
        _id: 9,
        customer: ada().id,
        amount: 100,
    };
    shop.db.collection::<Refund>().insert_one(&refund).await.unwrap();
    let movements = shop
        .orders
        .aggregate()
        .project(|o| MovementExpr {
            id: expr(o.id()),
            customer: expr(o.customer_id()),
            amount: expr(o.total()),
        })
        .union_with::<Refund>(|refunds| {
            refunds.project(|r| MovementExpr {
                id: expr(r._id()),
                customer: expr(r.customer()),
                amount: r.amount() * -1,
            })
        })
        .sort(|m| m.id().desc())
        .all()
        .await
        .unwrap();
    assert_eq!(movements.len(), 5);
    assert_eq!((movements[0].id, movements[0].amount), (9, -100));
    shop.close().await;
}

/// A model with a `uuid::Uuid`, which serde cannot read from its buffer.
#[derive(Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "visits")]
struct Visit {
    _id: uuid::Uuid,
    customer: marula::bson::Uuid,
}

#[derive(Debug, PartialEq, Shape)]
#[serde(rename_all = "camelCase")]
struct VisitOfCustomer {
    #[document(flatten)]
    visit: Visit,
    #[serde(default)]
    its_customers: Vec<Customer>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
struct Visits {
    #[serde(rename = "_id")]
    customer: marula::bson::Uuid,
    visits: Vec<Visit>,
}

#[derive(Debug, PartialEq, Shape)]
struct CustomerOfVisits {
    #[document(flatten)]
    visits: Visits,
    joined: Vec<VisitOfCustomer>,
}

#[tokio::test]
async fn flattened_documents_are_read_without_a_buffer() {
    let shop = Shop::open().await;
    let visits = shop.db.collection::<Visit>();
    let visit = Visit {
        _id: uuid::Uuid::from_u128(5),
        customer: ada().id,
    };
    visits.insert_one(&visit).await.unwrap();
    let joined = || {
        visits
            .aggregate()
            .lookup::<VisitOfCustomer>()
            .on(|v| v.customer(), |c| c.id())
            .match_(|v| v.visit().customer().eq(ada().id) & v.its_customers().name().eq("Ada"))
    };
    let found = joined().all().await.unwrap();
    assert_eq!(found[0].visit, visit);
    assert_eq!(found[0].its_customers, [ada()]);

    // In an array of another flattened document.
    let nested = visits
        .aggregate()
        .group(|v| VisitsGroup {
            customer: expr(v.customer()),
            visits: push(lit::<_, marula::bson::Bson>("x")).retype(),
        })
        .stage_raw(marula::bson::doc! { "$lookup": {
            "from": "visits", "localField": "_id", "foreignField": "customer", "as": "joined"
        } })
        .stage_raw(marula::bson::doc! { "$set": { "visits": "$joined" } })
        .assume::<CustomerOfVisits>()
        .first()
        .await
        .unwrap()
        .unwrap();
    assert_eq!(nested.visits.visits, [visit]);
    assert!(nested.joined[0].its_customers.is_empty());

    let error = joined()
        .stage_raw(marula::bson::doc! { "$unset": "customer" })
        .first()
        .await
        .unwrap_err();
    assert!(error.to_string().contains("missing field `customer`"), "{error}");
    shop.close().await;
}

#[test]
fn other_collections_are_named() {
    let all = Pipeline::<Order>::new()
        .union_with_collection::<Order>("orders_of_a", |o| o.limit(1))
        .lookup::<WithCustomer>()
        .from("customers_of_a")
        .on(|o| o.customer_id(), |c| c.id());
    assert_eq!(
        all.to_string(),
        concat!(
            r#"[{"$unionWith": {"coll": "orders_of_a", "pipeline": [{"$limit": 1}]}}, "#,
            r#"{"$lookup": {"from": "customers_of_a", "localField": "customerId", "#,
            r#""foreignField": "_id", "as": "customers"}}]"#
        )
    );
}

#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "employees")]
struct Employee {
    _id: i64,
    manager: Option<i64>,
    active: bool,
}

#[derive(Debug, Serialize, Deserialize, Shape)]
struct WithManagers {
    #[serde(flatten)]
    employee: Employee,
    managers: Vec<Employee>,
}

#[test]
fn recursive_lookups_are_sent() {
    let chains = Pipeline::<Employee>::new()
        .graph_lookup::<WithManagers>()
        .max_depth(3)
        .restrict(|m| m.active().eq(true))
        .on(|e| e.manager(), |m| m.manager(), |m| m._id())
        .match_(|w| w.managers().size(2));
    assert_eq!(
        chains.to_string(),
        concat!(
            r#"[{"$graphLookup": {"from": "employees", "startWith": "$manager", "connectFromField": "manager", "#,
            r#""connectToField": "_id", "as": "managers", "maxDepth": 3, "#,
            r#""restrictSearchWithMatch": {"active": {"$eq": true}}}}, {"$match": {"managers": {"$size": 2}}}]"#
        )
    );
}

/// `code` is a field of both variants, and the stage takes the name of a field only.
#[test]
fn fields_of_variants_are_not_names() {
    let joined = Pipeline::<Order>::new()
        .lookup::<WithCustomer>()
        .on(|o| o.payment().card().code(), |c| c.name());
    assert_eq!(
        joined.to_string(),
        "<invalid pipeline at `payment.code`: the stage would also read this field of other variants of the enum; add the \
         field by `add_fields` before>"
    );
}

#[derive(Debug, Shape)]
#[expect(dead_code, reason = "nothing is read")]
struct Repriced {
    #[document(flatten)]
    order: Order,
    total: i64,
}

/// The shape would read the same value as `order.total` and as `total`.
#[test]
fn added_fields_do_not_replace_fields_of_the_documents() {
    let repriced = Pipeline::<Order>::new().add_fields(|o| RepricedAdded { total: o.total() * 2 });
    assert_eq!(
        repriced.to_string(),
        "<invalid pipeline at `total`: the documents have a field of this name, which the added field would replace; rename \
         it in the shape>"
    );
}
