//! A body that holds an `Rc` over an await runs, but not in a task of its own.
use std::rc::Rc;

use marula::driver::{Client, Collection, Result, bson::{Document, doc}};

async fn run(client: Client, things: Collection<Document>) -> Result<i32> {
    client
        .transaction()
        .run(async |tx| {
            let number = Rc::new(1);
            things.insert_one(&doc! {}).session(tx).await?;
            Ok(*number)
        })
        .await
}

fn spawn<F: Send>(_future: F) {}

fn main() {
    let _ = |client, things| spawn(run(client, things));
}
