//! The client program of the driver of this project.

use std::{hint::black_box, process::ExitCode, time::Duration};

use marula_bench_shared::contract::{
    BenchClient, DATABASE, Failure, FutureSize, INSERTED, Large, MANY, MANY_RICH, MANY_SMALL, MANY_TWEETS,
    Material, ONE_LARGE, ONE_SMALL, ONE_TWEET, Rich, Small, SmallRef, Task, WATCHED, future_size, id, run,
};
use marula_driver::{
    Client, Collection, Cursor, Database, TransactionScope,
    bson::{Document, RawDocumentBuf, doc, rawdoc},
    options::ClientOptions,
};
use serde::{Serialize, de::DeserializeOwned};

fn main() -> ExitCode {
    run::<Marula>()
}

/// `timeoutMS` of the task with a timeout: longer than it lasts.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone)]
struct Marula {
    client: Client,
    database: Database,
}

impl BenchClient for Marula {
    async fn connect(uri: &str) -> Result<Self, Failure> {
        Ok(Self::new(Client::connect(uri).await?))
    }

    async fn connect_for(task: Task, uri: &str) -> Result<Self, Failure> {
        let mut options = ClientOptions::parse(uri)?.resolve().await?;
        if task == Task::FindOneTimeout {
            options.timeout = Some(TIMEOUT);
        }
        Ok(Self::new(Client::with_options(options)?))
    }

    async fn work(&self, task: Task, material: &Material, count: u64) -> Result<(), Failure> {
        match task {
            Task::Ping => self.ping(count).await,
            Task::PingRaw => self.ping_raw(count).await,
            Task::InsertOne => self.insert_one(&material.small, count).await,
            Task::InsertOne27k => self.insert_one::<Large>(&material.large, count).await,
            Task::FindOne | Task::FindOneTimeout => self.find_one::<Small>(ONE_SMALL, count).await,
            Task::FindOneTwoFields => self.find_one_two_fields(count).await,
            Task::UpdateOne => self.update_one(count).await,
            Task::FindOne27k => self.find_one::<Large>(ONE_LARGE, count).await,
            Task::FindOneRawTweet => self.find_one::<RawDocumentBuf>(ONE_TWEET, count).await,
            Task::TransactionTwoInserts => self.transaction(&material.small, count).await,
            Task::Find10kOwned => self.find_owned::<Small>(MANY_SMALL, count).await,
            Task::Find10kBorrowed => self.find_borrowed(count).await,
            Task::Find10kRaw => self.find_raw(MANY_SMALL, count).await,
            Task::Find10kTweetsDocument => self.find_owned::<Document>(MANY_TWEETS, count).await,
            Task::Find10kTweetsRaw => self.find_raw(MANY_TWEETS, count).await,
            Task::Find10kRich => self.find_owned::<Rich>(MANY_RICH, count).await,
            Task::InsertMany10k => self.insert_many(&material.many, count).await,
            Task::InsertMany10kRich => self.insert_many(&material.rich, count).await,
            Task::ChangeStream10k => self.watch(count).await,
        }
    }

    async fn futures(&self) -> Result<Vec<FutureSize>, Failure> {
        let small = &Small::new(0);
        let inserted = self.collection::<Small>(INSERTED);
        let mut cursor = self.find::<Small>(MANY_SMALL).await?;
        Ok(vec![
            future_size!("ping", boxed self.database.run_command(doc! { "ping": 1 })),
            future_size!("insert_one", boxed inserted.insert_one(small)),
            future_size!("insert_many", boxed inserted.insert_many(std::slice::from_ref(small))),
            future_size!("find_one", boxed inserted.find_one(doc! { "_id": id(0) })),
            future_size!("find", boxed inserted.find(doc! {})),
            future_size!("next of a cursor", cursor.try_next()),
        ])
    }
}

impl Marula {
    fn new(client: Client) -> Self {
        let database = client.database(DATABASE);
        Self { client, database }
    }

    fn collection<T>(&self, name: &str) -> Collection<T> {
        self.database.collection(name)
    }

    async fn ping(&self, count: u64) -> Result<(), Failure> {
        let admin = self.client.database("admin");
        for _ in 0..count {
            black_box(admin.run_command(doc! { "ping": 1 }).await?);
        }
        Ok(())
    }

    async fn ping_raw(&self, count: u64) -> Result<(), Failure> {
        let admin = self.client.database("admin");
        let ping = rawdoc! { "ping": 1 };
        for _ in 0..count {
            black_box(admin.run_command(&ping).with_type::<RawDocumentBuf>().await?);
        }
        Ok(())
    }

    async fn insert_one<T: Serialize + Send + Sync>(&self, document: &T, count: u64) -> Result<(), Failure> {
        let inserted = self.collection::<T>(INSERTED);
        for _ in 0..count {
            black_box(inserted.insert_one(document).await?);
        }
        Ok(())
    }

    async fn transaction(&self, small: &Small, count: u64) -> Result<(), Failure> {
        let inserted = &self.collection::<Small>(INSERTED);
        for _ in 0..count {
            let body = async |tx: &mut TransactionScope| {
                inserted.insert_one(small).session(tx).await?;
                inserted.insert_one(small).session(tx).await
            };
            black_box(self.client.transaction().run(body).await?);
        }
        Ok(())
    }

    async fn watch(&self, count: u64) -> Result<(), Failure> {
        let watched = self.collection::<Small>(WATCHED);
        for _ in 0..count {
            let mut changes = watched.watch().await?;
            for _ in 0..MANY {
                let change = changes.try_next().await?.ok_or("the change stream has ended")?;
                black_box(change.full_document.ok_or("an event has no document")?);
            }
        }
        Ok(())
    }

    async fn find_one<T: DeserializeOwned + Send + Sync + 'static>(
        &self,
        name: &str,
        count: u64,
    ) -> Result<(), Failure> {
        let collection = self.collection::<T>(name);
        for _ in 0..count {
            let found: Option<T> = collection.find_one(doc! { "_id": id(0) }).await?;
            black_box(found.ok_or("nothing was found")?);
        }
        Ok(())
    }

    async fn find_one_two_fields(&self, count: u64) -> Result<(), Failure> {
        let collection = self.collection::<Small>(ONE_SMALL);
        for _ in 0..count {
            let filter = doc! { "customer": { "$eq": "c-1" }, "quantity": { "$gt": 0 } };
            let found = collection.find_one(filter).await?;
            black_box(found.ok_or("nothing was found")?);
        }
        Ok(())
    }

    async fn update_one(&self, count: u64) -> Result<(), Failure> {
        let inserted = self.collection::<Small>(INSERTED);
        for _ in 0..count {
            let update = doc! { "$inc": { "quantity": 1 }, "$set": { "campaign": "spring" } };
            black_box(inserted.update_one(doc! { "_id": id(0) }, update).await?);
        }
        Ok(())
    }

    async fn find<T>(&self, name: &str) -> Result<Cursor<T>, Failure>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        Ok(self.collection::<T>(name).find(doc! {}).await?)
    }

    async fn find_owned<T: DeserializeOwned + Send + Sync + 'static>(
        &self,
        name: &str,
        count: u64,
    ) -> Result<(), Failure> {
        for _ in 0..count {
            let mut cursor = self.find::<T>(name).await?;
            let mut found = 0;
            while let Some(document) = cursor.try_next().await? {
                black_box(document);
                found += 1;
            }
            all(found)?;
        }
        Ok(())
    }

    async fn find_borrowed(&self, count: u64) -> Result<(), Failure> {
        for _ in 0..count {
            let mut cursor = self.find::<Document>(MANY_SMALL).await?;
            let mut found = 0;
            while cursor.advance().await? {
                black_box(cursor.deserialize_current::<SmallRef<'_>>()?);
                found += 1;
            }
            all(found)?;
        }
        Ok(())
    }

    async fn find_raw(&self, name: &str, count: u64) -> Result<(), Failure> {
        for _ in 0..count {
            let mut cursor = self.find::<RawDocumentBuf>(name).await?;
            let mut found = 0;
            while cursor.advance().await? {
                black_box(cursor.current()?);
                found += 1;
            }
            all(found)?;
        }
        Ok(())
    }

    async fn insert_many<T: Serialize + Send + Sync>(
        &self,
        documents: &[T],
        count: u64,
    ) -> Result<(), Failure> {
        let inserted = self.collection::<T>(INSERTED);
        for _ in 0..count {
            black_box(inserted.insert_many(documents).await?);
        }
        Ok(())
    }
}

fn all(found: usize) -> Result<(), Failure> {
    if found == MANY {
        Ok(())
    } else {
        Err(format!("{found} documents were found").into())
    }
}
