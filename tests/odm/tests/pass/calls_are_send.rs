//! The futures of all calls are `Send`, and handles are `Send + Sync`.

use marula::aggregate::Merge;
use marula::expr::{count, expr, sum_of};
use marula::prelude::*;
use marula::{Collection, Document, Embedded, Projection, Shape};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Line {
    sku: String,
    qty: i32,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    lines: Vec<Line>,
}

#[derive(Serialize, Deserialize, Projection)]
#[document(of = Order)]
struct Id {
    _id: i64,
}

#[derive(Shape)]
struct Counted {
    #[document(flatten)]
    order: Order,
    pieces: i64,
}

#[derive(Serialize, Deserialize, Document, Shape)]
#[document(collection = "numbers")]
struct Number {
    _id: i64,
    orders: i64,
}

async fn reads(orders: Collection<Order>) -> marula::Result<()> {
    orders.find_all().select::<Id>().await?;
    orders.find_all().select::<Id>().page(0, 10).await?;
    orders
        .find_all()
        .select::<Id>()
        .keyset(|o| o._id().asc(), None, 10)
        .await?;
    orders.find_by_id(1).select::<Id>().required().await?;
    orders
        .find_one_and_delete(|o| o._id().eq(1))
        .select::<Id>()
        .await?;
    orders.load([1]).await?;
    orders.load_by(|o| o._id(), [1]).await?;
    let counted = || {
        orders.aggregate().add_fields(|o| CountedAdded {
            pieces: sum_of(o.lines(), |l| l.qty()),
        })
    };
    let first = counted().first().await?;
    assert!(first.is_none_or(|c| c.order._id == c.pieces));
    counted().all().await?;
    counted().stream().await?.try_next().await?;
    let numbers = orders.aggregate().group(|o| NumberGroup {
        _id: expr(o._id()),
        orders: count(),
    });
    numbers.merge_into(Merge::new()).execute().await?;
    Ok(())
}

async fn calls(orders: Collection<Order>, order: Order) -> marula::Result<()> {
    orders.insert_one(&order).await?;
    orders
        .insert_many(std::slice::from_ref(&order))
        .ordered(false)
        .await?;
    orders
        .find(|o| o._id().eq(1))
        .sort(|o| o._id().asc())
        .limit(1)
        .all()
        .await?;
    orders.find(|o| o._id().eq(1)).one().await?;
    let mut stream = orders.find_all().stream().await?;
    stream.try_next().await?;
    orders.find_all().page(0, 10).await?;
    orders.find_all().keyset(|o| o._id().asc(), None, 10).await?;
    orders.find_one(|o| o._id().eq(1)).await?;
    orders.find_by_id(1).required().await?;
    orders.count(|o| o._id().eq(1)).await?;
    orders.exists(|o| o._id().eq(1)).await?;
    orders.distinct(|o| o.lines().sku(), |o| o._id().eq(1)).await?;
    orders
        .update_one(
            |o| o._id().eq(1),
            |o| o.lines().filtered_positional(|l| l.sku().eq("a")).qty().inc(1),
        )
        .upsert(true)
        .await?;
    orders
        .update_many(|o| o._id().eq(1), |o| o.lines().all_positional().qty().inc(1))
        .await?;
    orders.replace_one(|o| o._id().eq(1), &order).await?;
    orders.replace(&order).upsert(true).await?;
    orders
        .find_one_and_update(|o| o._id().eq(1), |o| o.lines().pop_last())
        .await?;
    orders.find_one_and_replace(|o| o._id().eq(1), &order).await?;
    orders.find_one_and_delete(|o| o._id().eq(1)).await?;
    orders.delete_by_id(1).await?;
    orders.delete_many(|o| o._id().eq(1)).await?;
    Ok(())
}

async fn writes(client: marula::Client, orders: Collection<Order>, mut order: Order) -> marula::Result<()> {
    let mut session = client.start_session().await?;
    orders.save(&mut order).session(&mut session).await?;
    orders.save(&order).await?;
    orders.insert_many([order]).await?;
    orders.bulk().delete_by_id(1).session(&mut session).await?;
    client
        .bulk()
        .on(&orders, |b| b.delete_by_id(1))
        .session(&mut session)
        .await?;
    let mut events = orders.watch().filter(|o| o._id().gt(1)).await?;
    events.next_if_any().await?;
    let mut tx = client.start_transaction().await?;
    orders
        .find_all()
        .session(&mut tx)
        .stream()
        .await?
        .try_collect()
        .await?;
    orders
        .update_all(|o| o.lines().pop_last())
        .session(&mut tx)
        .await?;
    tx.commit().await?;
    client
        .transaction()
        .run(async |tx| orders.delete_all().session(tx).required().await)
        .await?;
    Ok(())
}

async fn schema(db: marula::Database) -> marula::Result<()> {
    let plan = db.schema().register::<Order>().plan().await?;
    plan.apply(marula::schema::Apply::additive()).await?;
    Ok(())
}

fn send<F: Future + Send + 'static>(_: F) {}
fn shared<T: Clone + Send + Sync + 'static>() {}

#[test]
fn futures_are_send() {
    shared::<Collection<Order>>();
    shared::<marula::Database>();
    shared::<marula::Client>();
    shared::<marula::Filter<Order>>();
    shared::<marula::Update<Order>>();
    shared::<marula::Error>();
    let run = |orders: Collection<Order>, order, db| {
        send(reads(orders.clone()));
        send(calls(orders, order));
        send(schema(db));
    };
    let _ = |client, orders, order| send(writes(client, orders, order));
    let _ = run;
}
