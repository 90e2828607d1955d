//! A session runs one operation at a time.
use marula::driver::{Client, Collection, Result, bson::{Document, doc}};

async fn run(client: Client, things: Collection<Document>) -> Result<()> {
    let mut tx = client.start_transaction().await?;
    let (first, second) = (doc! {}, doc! {});
    let first = things.insert_one(&first).session(&mut tx);
    let second = things.insert_one(&second).session(&mut tx);
    first.await?;
    second.await?;
    tx.commit().await
}

fn main() {
    let _ = run;
}
