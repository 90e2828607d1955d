//! Ids that know their model: `Id<Customer>`.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use crate::common::Env;
use marula::bson::{ObjectId, doc};
use marula::prelude::*;
use marula::schema::SyncMode;
use marula::{Document, Embedded, Model, Ref, Shape};

#[derive(Embedded)]
struct Id<D>(ObjectId, PhantomData<fn() -> D>);

// The derives would require the bounds of the parameter.
impl<D> Clone for Id<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Id<D> {}

impl<D> Eq for Id<D> {}

impl<D> Hash for Id<D> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<D> PartialEq for Id<D> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<D> fmt::Debug for Id<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "customers")]
struct Customer {
    #[serde(rename = "_id")]
    id: Id<Customer>,
    name: String,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "orders", index(customer), json_schema)]
struct Order {
    #[serde(rename = "_id", skip_serializing_if = "Option::is_none")]
    id: Option<Id<Order>>,
    customer: Id<Customer>,
    buyer: Ref<Customer>,
    total: i64,
}

#[derive(Debug, PartialEq, Shape)]
struct WithOrders {
    #[document(flatten)]
    customer: Customer,
    orders: Vec<Order>,
}

#[tokio::test]
async fn documents_are_found_changed_and_joined_by_typed_ids() {
    let env = Env::start().await;
    let schema = env.db.schema().register::<Order>().register::<Customer>();
    schema.sync(SyncMode::Full).await.expect("a schema");
    let (customers, orders) = (env.db.collection::<Customer>(), env.db.collection::<Order>());
    let customer = Customer {
        id: Customer::new_id(),
        name: "x".to_owned(),
    };
    customers.insert_one(&customer).await.expect("an insert");
    let mut order = Order {
        id: None,
        customer: customer.id,
        buyer: Ref::to(&customer),
        total: 1,
    };
    orders.save(&mut order).await.expect("a save");
    let id = order.id.expect("a new id");
    let found = orders.find(|o| o.customer().eq(customer.id) & o.buyer().eq(Ref::new(customer.id)));
    assert_eq!(found.await.expect("documents"), [order.clone()]);
    let update = orders.update_by_id(id, |o| o.total().inc(1));
    assert_eq!(update.await.expect("an update").modified_count, 1);
    let changed = orders.find_by_id(id).required().await.expect("a document");
    assert_eq!(changed.total, 2);
    let by_content = customers.find_by_id(customer.id.0).await;
    assert_eq!(by_content.expect("a reply"), Some(customer.clone()));

    let loaded = customers.load([&changed.customer]).await.expect("documents");
    assert_eq!(loaded.get(&customer.id), Some(&customer));
    let joined = customers
        .aggregate()
        .lookup::<WithOrders>()
        .on(|c| c.id(), |o| o.buyer());
    let joined = joined.all().await.expect("documents");
    assert_eq!(joined[0].orders, std::slice::from_ref(&changed));
    let by_field = customers
        .aggregate()
        .lookup::<WithOrders>()
        .on(|c| c.id(), |o| o.customer());
    assert_eq!(by_field.all().await.expect("documents"), joined);
    let same = orders
        .aggregate()
        .match_expr(|o| marula::expr::eq(o.customer(), o.buyer()));
    assert_eq!(same.all().await.expect("documents").len(), 1);
    let raw = orders.driver().clone_with_type::<marula::bson::Document>();
    let raw = raw.find_one(doc! {}).await.expect("a reply").expect("a document");
    assert_eq!(raw.get_object_id("customer").expect("an id"), customer.id.0);
    env.stop().await;
}
