//! A transaction can run several times, and a second run would begin with the changes of the first.
use marula::driver::{Client, Collection, Result, bson::{Document, doc}};

async fn run(client: Client, things: Collection<Document>) -> Result<()> {
    let mut tries = 0;
    client
        .transaction()
        .run(async |tx| {
            tries += 1;
            things.insert_one(&doc! { "tries": tries }).session(tx).await?;
            Ok(())
        })
        .await
}

fn main() {
    let _ = run;
}
