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

async fn run(client: Client, orders: Collection<Order>) -> marula::Result<()> {
    let mut tx = client.start_transaction().await?;
    let first = orders.find_by_id(1).session(&mut tx);
    let second = orders.find_by_id(2).session(&mut tx);
    first.await?;
    second.await?;
    Ok(())
}

fn main() {
    let _ = run;
    let _ = |item: Item| item.left;
}
