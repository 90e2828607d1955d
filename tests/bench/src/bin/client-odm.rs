//! The client program of the ODM of this project, for the tasks that it supports.

use std::{hint::black_box, process::ExitCode};

use chrono::{DateTime, Utc};
use marula::{
    Client, Collection, Document, Embedded, Model,
    bson::{self, oid::ObjectId},
    prelude::*,
};
use marula_bench_shared::contract::{
    self, BenchClient, DATABASE, Failure, FutureSize, INSERTED, Large, MANY, MANY_RICH, MANY_SMALL, Material,
    NotOffered, ONE_LARGE, ONE_SMALL, Rich, Small, Task, WATCHED, future_size, id, run,
};
use rust_decimal::Decimal;
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

/// [`Large`] as a model.
#[derive(Clone, Debug, Document)]
#[document(collection = "inserted")]
struct LargeOrder {
    #[serde(rename = "_id")]
    #[document(id)]
    id: ObjectId,
    lines: Vec<Line>,
}

#[derive(Clone, Debug, Embedded)]
struct Line {
    article: String,
    category: String,
    supplier: String,
    quantity: i32,
    subtotal: i32,
    discount: i32,
}

impl From<&Large> for LargeOrder {
    fn from(large: &Large) -> Self {
        let lines = large.lines.iter().map(|line| Line {
            article: line.article.clone(),
            category: line.category.clone(),
            supplier: line.supplier.clone(),
            quantity: line.quantity,
            subtotal: line.subtotal,
            discount: line.discount,
        });
        Self {
            id: large.id,
            lines: lines.collect(),
        }
    }
}

/// [`Rich`] as a model, with the dates and the decimals of other crates.
#[derive(Clone, Debug, Document)]
#[document(collection = "inserted")]
struct RichOrder {
    #[serde(rename = "_id")]
    #[document(id)]
    id: ObjectId,
    customer: String,
    placed: DateTime<Utc>,
    paid: Option<DateTime<Utc>>,
    total: Decimal,
    state: State,
    lines: Vec<Item>,
    #[serde(flatten)]
    address: Address,
}

#[derive(Clone, Debug, Embedded)]
#[serde(tag = "kind")]
enum State {
    New,
    Sent { by: String, count: i32 },
}

#[derive(Clone, Debug, Embedded)]
struct Item {
    sku: String,
    price: Decimal,
    shipped: Option<DateTime<Utc>>,
}

#[derive(Clone, Debug, Embedded)]
struct Address {
    street: String,
    city: String,
}

impl TryFrom<&Rich> for RichOrder {
    type Error = Failure;

    fn try_from(rich: &Rich) -> Result<Self, Failure> {
        let lines = rich.lines.iter().map(|item| -> Result<Item, Failure> {
            Ok(Item {
                sku: item.sku.clone(),
                price: item.price.to_string().parse()?,
                shipped: item.shipped.map(date).transpose()?,
            })
        });
        Ok(Self {
            id: rich.id,
            customer: rich.customer.clone(),
            placed: date(rich.placed)?,
            paid: rich.paid.map(date).transpose()?,
            total: rich.total.to_string().parse()?,
            state: match &rich.state {
                contract::State::New => State::New,
                contract::State::Sent { by, count } => State::Sent {
                    by: by.clone(),
                    count: *count,
                },
            },
            lines: lines.collect::<Result<_, _>>()?,
            address: Address {
                street: rich.address.street.clone(),
                city: rich.address.city.clone(),
            },
        })
    }
}

fn date(date: bson::DateTime) -> Result<DateTime<Utc>, Failure> {
    DateTime::from_timestamp_millis(date.timestamp_millis()).ok_or_else(|| "a date out of range".into())
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
            Task::InsertOne27k => self.insert_one(&LargeOrder::from(&material.large), count).await,
            Task::FindOne => self.find_one::<Order>(ONE_SMALL, count).await,
            Task::FindOneTwoFields => self.find_one_two_fields(count).await,
            Task::UpdateOne => self.update_one(count).await,
            Task::FindOne27k => self.find_one::<LargeOrder>(ONE_LARGE, count).await,
            Task::Find10kOwned => self.find_all::<Order>(MANY_SMALL, count).await,
            Task::Find10kRich => self.find_all::<RichOrder>(MANY_RICH, count).await,
            Task::InsertMany10k => {
                let orders: Vec<Order> = material.many.iter().map(Order::from).collect();
                self.insert_many(&orders, count).await
            }
            Task::InsertMany10kRich => {
                let orders: Result<Vec<RichOrder>, Failure> =
                    material.rich.iter().map(RichOrder::try_from).collect();
                self.insert_many(&orders?, count).await
            }
            Task::ChangeStream10k => self.watch(count).await,
            _ => Err(NotOffered.into()),
        }
    }

    async fn futures(&self) -> Result<Vec<FutureSize>, Failure> {
        let order = &Order::from(&Small::new(0));
        let inserted = self.collection::<Order>(INSERTED);
        let mut stream = self.collection::<Order>(MANY_SMALL).find_all().stream().await?;
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
    fn collection<D: Model>(&self, name: &str) -> Collection<D> {
        self.0.database(DATABASE).collection::<D>().named(name)
    }

    async fn insert_one<D: Model>(&self, order: &D, count: u64) -> Result<(), Failure> {
        let inserted = self.collection::<D>(INSERTED);
        for _ in 0..count {
            black_box(inserted.insert_one(order).await?);
        }
        Ok(())
    }

    async fn find_one<D: Model<Id = ObjectId>>(&self, name: &str, count: u64) -> Result<(), Failure> {
        let orders = self.collection::<D>(name);
        for _ in 0..count {
            let found = orders.find_by_id(id(0)).await?;
            black_box(found.ok_or("nothing was found")?);
        }
        Ok(())
    }

    async fn find_one_two_fields(&self, count: u64) -> Result<(), Failure> {
        let orders = self.collection::<Order>(ONE_SMALL);
        for _ in 0..count {
            let found = orders
                .find_one(|o| o.customer().eq("c-1") & o.quantity().gt(0))
                .await?;
            black_box(found.ok_or("nothing was found")?);
        }
        Ok(())
    }

    async fn update_one(&self, count: u64) -> Result<(), Failure> {
        let inserted = self.collection::<Order>(INSERTED);
        for _ in 0..count {
            let updating =
                inserted.update_by_id(id(0), |o| (o.quantity().inc(1), o.campaign().set("spring")));
            black_box(updating.await?);
        }
        Ok(())
    }

    async fn find_all<D: Model>(&self, name: &str, count: u64) -> Result<(), Failure> {
        let orders = self.collection::<D>(name);
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

    async fn insert_many<D: Model>(&self, orders: &[D], count: u64) -> Result<(), Failure> {
        let inserted = self.collection::<D>(INSERTED);
        for _ in 0..count {
            black_box(inserted.insert_many(orders).await?);
        }
        Ok(())
    }

    async fn watch(&self, count: u64) -> Result<(), Failure> {
        let watched = self.collection::<Order>(WATCHED);
        for _ in 0..count {
            let mut changes = watched.watch().await?;
            for _ in 0..MANY {
                let change = changes.try_next().await?.ok_or("the change stream has ended")?;
                black_box(change.full_document.ok_or("an event has no document")?);
            }
        }
        Ok(())
    }
}
