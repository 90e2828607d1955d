//! Bodies of many kinds, whose futures are `Send`.

use std::sync::Arc;

use marula_driver::{
    Client, ClientSession, Collection, Error, Result, TransactionScope,
    bson::{Document, doc},
};

use super::Bank;

async fn transfer(tx: &mut TransactionScope, accounts: &Collection<Document>, n: i32) -> Result<i32> {
    accounts.insert_one(&doc! { "n": n }).session(tx).await?;
    nested(tx, accounts, n).await
}

/// Works with and without a transaction.
async fn nested(session: &mut ClientSession, accounts: &Collection<Document>, n: i32) -> Result<i32> {
    accounts.insert_one(&doc! { "n": n }).session(session).await?;
    accounts.insert_one(&doc! { "n": n }).session(session).await?;
    Ok(n)
}

async fn whole(tx: &mut TransactionScope) -> Result<i32> {
    let accounts = tx.client().database("bank").collection("accounts");
    transfer(tx, &accounts, 1).await
}

/// A helper of an application, over bodies.
async fn audited<T>(
    client: &Client,
    body: impl AsyncFnOnce(&mut TransactionScope) -> Result<T> + Clone,
) -> Result<T> {
    client.transaction().run(body).await
}

trait Repository: Send + Sync {
    fn accounts(&self) -> &Collection<Document>;
}

struct Shop {
    client: Client,
    accounts: Collection<Document>,
    names: Vec<String>,
}

impl Repository for Shop {
    fn accounts(&self) -> &Collection<Document> {
        &self.accounts
    }
}

impl Shop {
    async fn place(&self, note: &str) -> Result<i32> {
        let run = self.client.transaction().run(async |tx| {
            for name in self.names.iter().filter(|name| name.as_str() != note) {
                self.accounts
                    .insert_one(&doc! { "name": name })
                    .session(tx)
                    .await?;
            }
            transfer(tx, &self.accounts, 1).await
        });
        run.await
    }
}

async fn dynamic(client: &Client, shop: &dyn Repository, names: Vec<&str>) -> Result<usize> {
    let document = doc! {};
    client
        .transaction()
        .run(async |tx| {
            let mut seen = Vec::new();
            for name in names.iter().map(|name| name.trim()).filter(|name| !name.is_empty()) {
                shop.accounts().insert_one(&document).session(tx).await?;
                seen.push(name);
            }
            let mut cursor = shop.accounts().find(doc! {}).session(tx).await?;
            while cursor.try_next().await?.is_some() {
                tokio::select! {
                    inserted = shop.accounts().insert_one(&document).session(tx).into_future() => { inserted?; }
                    () = std::future::pending() => {}
                }
            }
            Ok(seen.len())
        })
        .await
}

/// Generic over the document.
async fn save<T: serde::Serialize + Send + Sync>(
    client: &Client,
    items: &[T],
    into: &Collection<T>,
) -> Result<usize> {
    client
        .transaction()
        .run(async |tx| {
            for item in items {
                into.insert_one(item).session(tx).await?;
            }
            Ok::<_, Error>(items.len())
        })
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_futures_of_bodies_can_be_spawned() {
    let bank = Bank::open().await;
    let shop = Arc::new(Shop {
        client: bank.client.clone(),
        accounts: bank.accounts.clone(),
        names: vec!["a".to_owned(), "b".to_owned()],
    });
    let own = Arc::clone(&shop);
    let placed = tokio::spawn(async move { own.place("a").await }).await.unwrap();
    assert_eq!(placed.unwrap(), 1);
    assert_eq!(bank.stored().await, 4);
    let client = bank.client.clone();
    let run = tokio::spawn(async move { client.transaction().run(whole).await });
    assert_eq!(run.await.unwrap().unwrap(), 1);
    let (client, accounts) = (bank.client.clone(), bank.accounts.clone());
    let saved = tokio::spawn(async move { save(&client, &[doc! {}, doc! {}], &accounts).await });
    assert_eq!(saved.await.unwrap().unwrap(), 2);
    let (client, accounts) = (bank.client.clone(), bank.accounts.clone());
    let audited = tokio::spawn(async move {
        audited(&client, async |tx| {
            accounts.insert_one(&doc! {}).session(tx).await?;
            Ok(7)
        })
        .await
    });
    assert_eq!(audited.await.unwrap().unwrap(), 7);
    let own = Arc::clone(&shop);
    let counted = tokio::spawn(async move {
        let text = String::from("a, b");
        dynamic(&own.client, &*own, text.split(',').collect()).await
    });
    assert_eq!(counted.await.unwrap().unwrap(), 2);
    // Owned by the closure.
    let accounts = bank.accounts.clone();
    let body = async move |tx: &mut TransactionScope| accounts.insert_one(&doc! {}).session(tx).await;
    tokio::spawn(bank.client.transaction().run(body))
        .await
        .unwrap()
        .unwrap();
}
