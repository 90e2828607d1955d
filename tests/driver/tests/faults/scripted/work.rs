//! The operations of the tasks while connections fail.

use std::{
    future::{IntoFuture, poll_fn},
    pin::{Pin, pin},
    task::Poll,
};

use marula_driver::{
    Client, Collection, Error, ErrorKind, PoolError,
    bson::{Document, doc},
    options::{ReadPreference, ReadPreferenceMode},
};

use crate::ledger::{FIXED, Ledger, numbers};

use super::{kinds::Random, script::Script};

/// Checks that the error is one that a failed connection may cause.
pub(crate) fn check(error: &Error) {
    let expected = matches!(
        error.kind(),
        ErrorKind::Network(_)
            | ErrorKind::Pool(_)
            | ErrorKind::ServerSelection(_)
            | ErrorKind::Protocol(_)
            | ErrorKind::Decode(_)
            | ErrorKind::InvalidReply(_)
            | ErrorKind::Authentication(_)
    );
    assert!(expected, "{error:?}");
}

pub(crate) async fn ping(client: &Client) -> Result<(), Error> {
    let admin = client.database("admin");
    admin.run_command(doc! { "ping": 1 }).await.map(drop)
}

/// Polls a future whenever it is woken, at most `polls` times.
pub(crate) async fn poll_at_most<T>(
    mut polls: usize,
    mut future: Pin<&mut impl Future<Output = T>>,
) -> Option<T> {
    poll_fn(|cx| {
        polls -= 1;
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if polls == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// A task. No other task writes its documents.
struct Task {
    client: Client,
    number: i32,
    counters: Collection<Document>,
    inserts: Collection<Document>,
    fixed: Collection<Document>,
    ledger: Ledger,
    step: i32,
}

/// Whether the client was shut down.
pub(crate) fn is_end(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Shutdown | ErrorKind::Pool(PoolError::Closed { .. })
    )
}

/// Reads and writes until the script has ended or the client was shut down.
pub(crate) async fn work(client: Client, number: i32, seed: u64, script: Script) -> Ledger {
    let mut random = Random(seed.wrapping_add(0x1000 + u64::from(number.unsigned_abs())));
    let database = client.database("faults");
    let nearest = ReadPreference::new(ReadPreferenceMode::Nearest);
    let mut task = Task {
        client: client.clone(),
        number,
        counters: database.collection("counters"),
        inserts: database.collection("inserts"),
        fixed: database.collection("fixed").with_read_preference(nearest),
        ledger: Ledger::default(),
        step: 0,
    };
    while !script.is_done() {
        let before = script.performed();
        match task.step(&mut random).await {
            Ok(()) => {
                task.ledger.successes += 1;
                script.succeeded_after(before);
            }
            Err(error) if is_end(&error) => break,
            Err(error) => {
                check(&error);
                task.ledger.errors += 1;
            }
        }
    }
    task.ledger
}

impl Task {
    async fn step(&mut self, random: &mut Random) -> Result<(), Error> {
        self.step += 1;
        match random.below(10) {
            0 => self.push().await,
            1 => self.insert().await,
            2 => self.insert_many().await,
            3 => self.delete().await,
            4 => self.look_at_counter().await,
            5 => self.read_all().await,
            6 => self.begin_to_read().await,
            7 => self.work_in_session().await,
            8 => self.drop_operations(1 + random.below(5)).await,
            _ => self.count().await,
        }
    }

    async fn push(&mut self) -> Result<(), Error> {
        let push = doc! { "$push": { "numbers": self.step } };
        let filter = doc! { "_id": self.number };
        let pushed = self.counters.update_one(filter, push).await?;
        assert_eq!(pushed.matched_count, 1);
        self.ledger.pushed.push(self.step);
        Ok(())
    }

    async fn insert(&mut self) -> Result<(), Error> {
        let id = format!("{}-{}", self.number, self.step);
        self.inserts.insert_one(&doc! { "_id": &id }).await?;
        self.ledger.inserted.push(id);
        Ok(())
    }

    async fn insert_many(&mut self) -> Result<(), Error> {
        let ids = (0..5).map(|part| format!("{}-{}-{part}", self.number, self.step));
        let ids: Vec<String> = ids.collect();
        let all: Vec<Document> = ids.iter().map(|id| doc! { "_id": id }).collect();
        let inserted = self.inserts.insert_many(&all).await?;
        assert_eq!(inserted.inserted_ids.len(), all.len());
        self.ledger.inserted.extend(ids);
        Ok(())
    }

    /// Deletes the last inserted document. If the delete fails, the state of the document is
    /// unknown.
    async fn delete(&mut self) -> Result<(), Error> {
        let Some(id) = self.ledger.inserted.pop() else {
            return Ok(());
        };
        let deleted = self.inserts.delete_one(doc! { "_id": &id }).await?;
        assert_eq!(deleted.deleted_count, 1, "{id} was acknowledged");
        self.ledger.deleted.push(id);
        Ok(())
    }

    async fn look_at_counter(&mut self) -> Result<(), Error> {
        let found = self.counters.find_one(doc! { "_id": self.number }).await?;
        let found = found.expect("the task's counter");
        assert_eq!(
            found.get_i32("_id").ok(),
            Some(self.number),
            "the reply of another task"
        );
        let numbers = numbers(&found);
        let missing = self.ledger.pushed.iter().find(|number| !numbers.contains(number));
        assert_eq!(missing, None, "an acknowledged write is missing");
        Ok(())
    }

    /// Reads the documents that no task changes, in four batches.
    async fn read_all(&mut self) -> Result<(), Error> {
        let cursor = self
            .fixed
            .find(doc! {})
            .sort(doc! { "_id": 1 })
            .batch_size(3)
            .await?;
        let all = cursor.try_collect().await?;
        let ids: Vec<i32> = all
            .iter()
            .map(|document| document.get_i32("_id").expect("a number"))
            .collect();
        let expected: Vec<i32> = (0..FIXED).collect();
        assert_eq!(ids, expected, "documents are missing or duplicated");
        Ok(())
    }

    /// Drops a cursor before its end, so that it is killed.
    async fn begin_to_read(&mut self) -> Result<(), Error> {
        let mut cursor = self.fixed.find(doc! {}).batch_size(2).await?;
        assert!(cursor.advance().await?, "there are documents");
        Ok(())
    }

    /// Writes and reads in one session, in which operations may have failed before.
    async fn work_in_session(&mut self) -> Result<(), Error> {
        let mut session = self.client.start_session().await?;
        for part in ["a", "b"] {
            let id = format!("{}-{}-{part}", self.number, self.step);
            let document = doc! { "_id": &id };
            let stored = self.inserts.insert_one(&document).session(&mut session).await;
            match stored {
                Ok(_) => {}
                Err(error) if is_end(&error) => return Err(error),
                Err(error) => {
                    check(&error);
                    continue;
                }
            }
            self.ledger.inserted.push(id);
            let found = self
                .inserts
                .find_one(document.clone())
                .session(&mut session)
                .await?;
            assert_eq!(found, Some(document), "an acknowledged write is missing");
        }
        Ok(())
    }

    /// Drops a write and a read after this many polls. Whether the write was executed is unknown.
    async fn drop_operations(&mut self, polls: usize) -> Result<(), Error> {
        let push = doc! { "$push": { "numbers": self.step } };
        let push = self.counters.update_one(doc! { "_id": self.number }, push);
        let find = self.fixed.find_one(doc! {});
        drop(poll_at_most(polls, pin!(push.into_future())).await);
        drop(poll_at_most(polls, pin!(find.into_future())).await);
        Ok(())
    }

    async fn count(&mut self) -> Result<(), Error> {
        let below = doc! { "_id": { "$lt": self.number } };
        let count = self.fixed.count_documents(below).await?;
        let expected = self.number.min(FIXED).unsigned_abs();
        assert_eq!(count, u64::from(expected), "the reply of another task");
        Ok(())
    }
}
