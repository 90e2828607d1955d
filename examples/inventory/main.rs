//! An inventory: transactions over two collections, and edits with optimistic locking.
//!
//! `cargo run --example inventory` connects to `MONGODB_URI`, which must be a replica set or a
//! sharded cluster, or to an in-process replica set if it is not set. It uses the database
//! `marula_inventory`, which it drops first.

use std::error::Error as StdError;

use marula::{Client, Collection, Database, Document, Error, Result, prelude::*};
use marula_examples::deployment::Deployment;
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "items")]
pub(crate) struct Item {
    #[serde(rename = "_id")]
    pub(crate) sku: String,
    pub(crate) description: String,
    pub(crate) left: i64,
    /// Incremented by every write; a replacement of an older version is rejected.
    #[document(version)]
    pub(crate) version: i64,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "moves", index(sku))]
pub(crate) struct Move {
    #[serde(rename = "_id")]
    id: Uuid,
    pub(crate) sku: String,
    pub(crate) pieces: i64,
}

/// The collections of the inventory.
pub(crate) struct Inventory {
    client: Client,
    pub(crate) items: Collection<Item>,
    pub(crate) moves: Collection<Move>,
}

impl Inventory {
    pub(crate) fn new(client: &Client, db: &Database) -> Self {
        Inventory {
            client: client.clone(),
            items: db.collection(),
            moves: db.collection(),
        }
    }

    /// Takes pieces of several items, all or none. `false` if one of them has too few.
    pub(crate) async fn take(&self, order: &[(&str, i64)]) -> Result<bool> {
        let transaction = self.client.transaction().strict().run(async |tx| {
            let (items, moves) = tx.bind((&self.items, &self.moves));
            for &(sku, pieces) in order {
                let taken = items.update_one(
                    |i| i.sku().eq(sku) & i.left().gte(pieces),
                    |i| i.left().inc(-pieces),
                );
                // The error aborts the transaction.
                taken.required().await?;
                let id = Move::new_id();
                let sku = sku.to_owned();
                let pieces = -pieces;
                moves.insert_one(&Move { id, sku, pieces }).await?;
            }
            Ok(())
        });
        match transaction.await {
            Ok(()) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads an item, changes it, and stores it. If it was changed in the meantime, all is repeated
    /// with the stored item, so that no change is lost.
    pub(crate) async fn edit(&self, sku: &str, mut change: impl AsyncFnMut(&mut Item)) -> Result<Item> {
        loop {
            let mut item = self.items.find_by_id(sku).required().await?;
            change(&mut item).await;
            match self.items.save(&mut item).await {
                Ok(_) => return Ok(item),
                Err(error) if error.is_version_conflict() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Inserts the items of the example.
    pub(crate) async fn seed(&self) -> Result<()> {
        let item = |sku: &str, left| Item {
            sku: sku.to_owned(),
            description: String::new(),
            left,
            version: 0,
        };
        self.items.insert_many([item("cup", 10), item("tea", 3)]).await?;
        Ok(())
    }
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Box<dyn StdError>> {
    let deployment = Deployment::start().await?;
    let db = deployment.empty_database("marula_inventory").await?;
    let inventory = Inventory::new(&deployment.client, &db);
    inventory.seed().await?;
    for order in [[("cup", 2), ("tea", 2)], [("cup", 2), ("tea", 2)]] {
        let outcome = if inventory.take(&order).await? {
            "taken"
        } else {
            "too few pieces"
        };
        println!("{order:?}: {outcome}");
    }
    for item in inventory.items.find_all().sort(|i| i.sku().asc()).await? {
        println!("{}: {} left, version {}", item.sku, item.left, item.version);
    }
    println!("{} moves", inventory.moves.count(|m| m.pieces().lt(0)).await?);
    let edited = inventory.edit("tea", async |item| item.description.push_str("Rooibos"));
    println!("edited: {:?}", edited.await?);
    deployment.stop().await;
    Ok(())
}
