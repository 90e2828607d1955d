//! The client program of the official Rust driver, equivalent to that of this project.

use std::{hint::black_box, process::ExitCode};

use futures_util::TryStreamExt;
use marula_bench_shared::contract::{
    BenchClient, DATABASE, Failure, FutureSize, INSERTED, Large, MANY, MANY_SMALL, MANY_TWEETS, Material,
    NotOffered, ONE_SMALL, ONE_TWEET, Small, SmallRef, Task, WATCHED, future_size, id, run,
};
use mongodb::{
    Client, Collection, Cursor, Database,
    bson::{Document, RawDocumentBuf, deserialize_from_slice, doc, rawdoc},
};
use serde::{Serialize, de::DeserializeOwned};

fn main() -> ExitCode {
    run::<Official>()
}

#[derive(Clone)]
struct Official {
    client: Client,
    database: Database,
}

impl BenchClient for Official {
    async fn connect(uri: &str) -> Result<Self, Failure> {
        let client = Client::with_uri_str(uri).await?;
        let database = client.database(DATABASE);
        Ok(Self { client, database })
    }

    async fn work(&self, task: Task, material: &Material, count: u64) -> Result<(), Failure> {
        match task {
            Task::Ping => self.ping(count).await,
            Task::PingRaw => self.ping_raw(count).await,
            Task::InsertOne => self.insert_one::<Small>(&material.small, count).await,
            Task::InsertOne27k => self.insert_one::<Large>(&material.large, count).await,
            Task::FindOne => self.find_one::<Small>(ONE_SMALL, count).await,
            Task::FindOneRawTweet => self.find_one::<RawDocumentBuf>(ONE_TWEET, count).await,
            // It has no `timeoutMS`.
            Task::FindOneTimeout
            | Task::FindOneTwoFields
            | Task::UpdateOne
            | Task::FindOne27k
            | Task::Find10kRich
            | Task::InsertMany10kRich => Err(NotOffered.into()),
            Task::TransactionTwoInserts => self.transaction(&material.small, count).await,
            Task::Find10kOwned => self.find_owned::<Small>(MANY_SMALL, count).await,
            Task::Find10kBorrowed => self.find_borrowed(count).await,
            Task::Find10kRaw => self.find_raw(MANY_SMALL, count).await,
            Task::Find10kTweetsDocument => self.find_owned::<Document>(MANY_TWEETS, count).await,
            Task::Find10kTweetsRaw => self.find_raw(MANY_TWEETS, count).await,
            Task::InsertMany10k => self.insert_many(&material.many, count).await,
            Task::ChangeStream10k => self.watch(count).await,
        }
    }

    async fn futures(&self) -> Result<Vec<FutureSize>, Failure> {
        let small = &Small::new(0);
        let inserted = self.collection::<Small>(INSERTED);
        let mut cursor = self.find::<Small>(MANY_SMALL).await?;
        Ok(vec![
            future_size!("ping", self.database.run_command(doc! { "ping": 1 })),
            future_size!("insert_one", inserted.insert_one(small)),
            future_size!("insert_many", inserted.insert_many(std::slice::from_ref(small))),
            future_size!("find_one", inserted.find_one(doc! { "_id": id(0) })),
            future_size!("find", inserted.find(doc! {})),
            future_size!("next of a cursor", cursor.try_next()),
        ])
    }
}

impl Official {
    fn collection<T: Send + Sync>(&self, name: &str) -> Collection<T> {
        self.database.collection(name)
    }

    async fn ping(&self, count: u64) -> Result<(), Failure> {
        let admin = self.client.database("admin");
        for _ in 0..count {
            black_box(admin.run_command(doc! { "ping": 1 }).await?);
        }
        Ok(())
    }

    /// The command is passed by value, and replies are always documents.
    async fn ping_raw(&self, count: u64) -> Result<(), Failure> {
        let admin = self.client.database("admin");
        let ping = rawdoc! { "ping": 1 };
        for _ in 0..count {
            black_box(admin.run_raw_command(ping.clone()).await?);
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
        let inserted = self.collection::<Small>(INSERTED);
        for _ in 0..count {
            let mut session = self.client.start_session().await?;
            let done =
                session
                    .start_transaction()
                    .and_run((&inserted, small), |session, (inserted, small)| {
                        Box::pin(async move {
                            inserted.insert_one(*small).session(&mut *session).await?;
                            inserted.insert_one(*small).session(session).await
                        })
                    });
            black_box(done.await?);
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

    async fn find_one<T: DeserializeOwned + Send + Sync>(
        &self,
        name: &str,
        count: u64,
    ) -> Result<(), Failure> {
        let collection = self.collection::<T>(name);
        for _ in 0..count {
            let found = collection.find_one(doc! { "_id": id(0) }).await?;
            black_box(found.ok_or("nothing was found")?);
        }
        Ok(())
    }

    async fn find<T: DeserializeOwned + Send + Sync>(&self, name: &str) -> Result<Cursor<T>, Failure> {
        Ok(self.collection::<T>(name).find(doc! {}).await?)
    }

    async fn find_owned<T>(&self, name: &str, count: u64) -> Result<(), Failure>
    where
        T: DeserializeOwned + Send + Sync + Unpin,
    {
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

    /// The type of a cursor's documents cannot borrow from them, so they are deserialised from
    /// their bytes.
    async fn find_borrowed(&self, count: u64) -> Result<(), Failure> {
        for _ in 0..count {
            let mut cursor = self.find::<RawDocumentBuf>(MANY_SMALL).await?;
            let mut found = 0;
            while cursor.advance().await? {
                black_box(deserialize_from_slice::<SmallRef<'_>>(
                    cursor.current().as_bytes(),
                )?);
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
                black_box(cursor.current());
                found += 1;
            }
            all(found)?;
        }
        Ok(())
    }

    async fn insert_many(&self, documents: &[Small], count: u64) -> Result<(), Failure> {
        let inserted = self.collection::<Small>(INSERTED);
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
