use marula::{Client, Collection, Document};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    total: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "stock")]
struct Item {
    _id: i64,
    left: i32,
}

async fn run(client: Client, orders: Collection<Order>, item: Item) -> marula::Result<()> {
    client.bulk().on(&orders, |b| b.insert(&item)).await?;
    Ok(())
}

fn main() {
    let _ = run;
    let _ = |item: Item| item.left;
}
