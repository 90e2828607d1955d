//! The body is an async closure, not a closure that returns a future.
use marula::driver::{Client, Collection, Result, bson::{Document, doc}};

async fn run(client: Client, things: Collection<Document>) -> Result<()> {
    client
        .transaction()
        .run(|tx| async move { things.insert_one(&doc! {}).session(tx).await.map(drop) })
        .await
}

fn main() {
    let _ = run;
}
