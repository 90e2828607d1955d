//! Something must say which error the body returns.
use marula::driver::{Client, Collection, Result, bson::{Document, doc}};

async fn run(client: Client, things: Collection<Document>) -> Result<i32> {
    let n = client
        .transaction()
        .run(async |tx| {
            things.insert_one(&doc! {}).session(tx).await?;
            Ok(1)
        })
        .await?;
    Ok(n)
}

fn main() {
    let _ = run;
}
