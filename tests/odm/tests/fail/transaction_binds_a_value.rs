use marula::{Client, Collection, Document};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Order {
    _id: i64,
    total: i64,
}

async fn run(client: Client, orders: Collection<Order>) -> marula::Result<()> {
    let tx = client.start_transaction().await?;
    let orders = tx.bind(orders);
    orders.find_by_id(1).await?;
    Ok(())
}

fn main() {
    let _ = run;
}
