//! A body that owns what it captures is cloned for each attempt.
use marula::driver::{Client, Collection, Result, bson::{Document, doc}};

struct Key(i32);

async fn run(client: Client, things: Collection<Document>, key: Key) -> Result<()> {
    client
        .transaction()
        .run(async move |tx| {
            let key = &key;
            things.insert_one(&doc! { "key": key.0 }).session(tx).await?;
            Ok(())
        })
        .await
}

fn main() {
    let _ = run;
}
