//! The client program of the ODM of this project, for the tasks that it supports.

use std::{hint::black_box, process::ExitCode};

use marula::{Client, Collection, Document, bson::oid::ObjectId};
use marula_bench_shared::contract::{
    BenchClient, DATABASE, Failure, FutureSize, INSERTED, MANY, MANY_SMALL, Material, NotOffered, ONE_SMALL,
    Small, Task, future_size, id, run,
};
use serde::{Deserialize, Serialize};

fn main() -> ExitCode {
    run::<Odm>()
}

/// [`Small`] as a model.
#[derive(Clone, Debug, Serialize, Deserialize, Document)]
#[document(collection = "inserted")]
struct Order {
    #[serde(rename = "_id")]
    #[document(id)]
    id: ObjectId,
    customer: String,
    category: String,
    currency: String,
    priority: String,
    shipping: String,
    campaign: String,
    operator: String,
    quantity: i32,
    subtotal: i32,
    discount: i32,
    delivery: i32,
    position: i32,
    checksum: i32,
}

impl From<&Small> for Order {
    fn from(small: &Small) -> Self {
        Self {
            id: small.id,
            customer: small.customer.clone(),
            category: small.category.clone(),
            currency: small.currency.clone(),
            priority: small.priority.clone(),
            shipping: small.shipping.clone(),
            campaign: small.campaign.clone(),
            operator: small.operator.clone(),
            quantity: small.quantity,
            subtotal: small.subtotal,
            discount: small.discount,
            delivery: small.delivery,
            position: small.position,
            checksum: small.checksum,
        }
    }
}

#[derive(Clone)]
struct Odm(Client);

impl BenchClient for Odm {
    async fn connect(uri: &str) -> Result<Self, Failure> {
        Ok(Self(marula::connect(uri).await?))
    }

    async fn work(&self, task: Task, material: &Material, count: u64) -> Result<(), Failure> {
        match task {
            Task::InsertOne => self.insert_one(&Order::from(&material.small), count).await,
            Task::FindOne => self.find_one(count).await,
            Task::Find10kOwned => self.find_all(count).await,
            Task::InsertMany10k => {
                let orders: Vec<Order> = material.many.iter().map(Order::from).collect();
                self.insert_many(&orders, count).await
            }
            _ => Err(NotOffered.into()),
        }
    }

    async fn futures(&self) -> Result<Vec<FutureSize>, Failure> {
        let order = &Order::from(&Small::new(0));
        let inserted = self.orders(INSERTED);
        let mut stream = self.orders(MANY_SMALL).find_all().stream().await?;
        Ok(vec![
            future_size!("insert_one", boxed inserted.insert_one(order)),
            future_size!("insert_many", boxed inserted.insert_many(std::slice::from_ref(order))),
            future_size!("find_one", inserted.find_by_id(id(0))),
            future_size!("find", inserted.find_all().stream()),
            future_size!("next of a cursor", stream.try_next()),
        ])
    }
}

impl Odm {
    fn orders(&self, name: &str) -> Collection<Order> {
        self.0.database(DATABASE).collection::<Order>().named(name)
    }

    async fn insert_one(&self, order: &Order, count: u64) -> Result<(), Failure> {
        let inserted = self.orders(INSERTED);
        for _ in 0..count {
            black_box(inserted.insert_one(order).await?);
        }
        Ok(())
    }

    async fn find_one(&self, count: u64) -> Result<(), Failure> {
        let orders = self.orders(ONE_SMALL);
        for _ in 0..count {
            let found = orders.find_by_id(id(0)).await?;
            black_box(found.ok_or("nothing was found")?);
        }
        Ok(())
    }

    async fn find_all(&self, count: u64) -> Result<(), Failure> {
        let orders = self.orders(MANY_SMALL);
        for _ in 0..count {
            let mut stream = orders.find_all().stream().await?;
            let mut found = 0;
            while let Some(order) = stream.try_next().await? {
                black_box(order);
                found += 1;
            }
            if found != MANY {
                return Err(format!("{found} documents were found").into());
            }
        }
        Ok(())
    }

    async fn insert_many(&self, orders: &[Order], count: u64) -> Result<(), Failure> {
        let inserted = self.orders(INSERTED);
        for _ in 0..count {
            black_box(inserted.insert_many(orders).await?);
        }
        Ok(())
    }
}
