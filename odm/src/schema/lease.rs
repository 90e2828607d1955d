//! The lease of the instance that changes, rebuilds or drops indexes: one at a time in a database.
//!
//! The lease is a document of `marula_schema` with an expiry time by the clock of the server; in a
//! sharded cluster, of the mongos, so that its validity must be longer than the clocks of the
//! mongos differ. Its holder renews it while it works. If the holder ends without giving it back,
//! another instance can take the lease after it has expired.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::{
    base::{
        bson::{Bson, DateTime, Document, doc},
        error::{Result, SchemaError},
    },
    driver::{
        self,
        options::{ReturnDocument, WriteConcern},
    },
    schema::record,
};

const ID: &str = "lease";
/// The pause between two attempts to take the lease.
const PAUSE: Duration = Duration::from_millis(200);
/// The shortest validity. A shorter one could expire before it is renewed.
pub(super) const SHORTEST: Duration = Duration::from_secs(1);

/// A lease that this instance holds.
pub(super) struct Lease {
    collection: driver::Collection<Document>,
    holder: uuid::Uuid,
    validity: Duration,
    /// When the last attempt to take the lease began: it is valid at least until `validity` later.
    taken: Instant,
}

/// The longest validity. The server fails if it adds more to the current date than a date can hold.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

/// The holder, and the expiry time by the clock of the server (`$$NOW`, MongoDB 4.2+).
fn terms(holder: uuid::Uuid, validity: Duration) -> (Document, Document) {
    let millis = i64::try_from(validity.min(LONGEST).as_millis()).unwrap_or(i64::MAX);
    // A string that begins with `$` would be a path.
    let holder = doc! { "$literal": holder.to_string() };
    (holder, doc! { "$add": ["$$NOW", millis] })
}

/// The new content of the lease that this instance holds.
fn renewal(holder: uuid::Uuid, validity: Duration) -> Vec<Document> {
    let (holder, expires_at) = terms(holder, validity);
    vec![doc! { "$set": { "holder": holder, "expires_at": expires_at } }]
}

/// The new content of a lease that may be held by another instance: the present content if it has
/// not expired. A lease without a date of expiry has expired. The lease of this instance is
/// renewed: the reply of an earlier attempt can be lost.
fn acquisition(holder: uuid::Uuid, validity: Duration) -> Vec<Document> {
    let (holder, expires_at) = terms(holder, validity);
    let is_held = doc! { "$and": [
        { "$eq": [{ "$type": "$expires_at" }, "date"] },
        { "$gte": ["$expires_at", "$$NOW"] },
        { "$ne": ["$holder", holder.clone()] },
    ] };
    vec![doc! { "$set": {
        "holder": { "$cond": [is_held.clone(), "$holder", holder] },
        "expires_at": { "$cond": [is_held, "$expires_at", expires_at] },
    } }]
}

impl Lease {
    /// Waits for the lease.
    ///
    /// # Errors
    /// [`SchemaError::LeaseTimeout`] if another instance holds it for longer than `wait`;
    /// errors of the driver.
    pub(super) async fn acquire(
        database: &driver::Database,
        validity: Duration,
        wait: Duration,
    ) -> Result<Lease> {
        let began = Instant::now();
        let mut lease = Lease {
            collection: record::collection(database),
            holder: uuid::Uuid::now_v7(),
            validity,
            taken: began,
        };
        while !lease.take().await? {
            if began.elapsed() >= wait {
                return Err(lease.timed_out(database.name()).await?.into());
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(lease)
    }

    /// Takes the lease if it is free. The filter of an upsert must not contain `$expr`, so that the
    /// update decides whether the lease is free, and the returned document says who holds it.
    async fn take(&mut self) -> Result<bool> {
        self.taken = Instant::now();
        let taken = self
            .collection
            .find_one_and_update(doc! { "_id": ID }, acquisition(self.holder, self.validity))
            .upsert(true)
            .return_document(ReturnDocument::After)
            .await;
        match taken {
            Ok(lease) => {
                let holder = lease.as_ref().and_then(|lease| lease.get_str("holder").ok());
                Ok(holder == Some(self.holder.to_string().as_str()))
            }
            // Another instance inserted the lease at the same time.
            Err(error) if error.is_duplicate_key() => Ok(false),
            Err(error) => {
                if error.write_concern_error().is_some() {
                    self.give_up().await;
                }
                Err(error.into())
            }
        }
    }

    /// Deletes a lease that was written without the acknowledgement of a majority, so that other
    /// instances do not wait until it expires. It expires if that fails.
    async fn give_up(&self) {
        let collection = self.collection.with_write_concern(WriteConcern::nodes(1));
        let deleted = collection.delete_one(self.own()).into_future();
        let _ = tokio::time::timeout(self.validity, deleted).await;
    }

    async fn timed_out(&self, database: &str) -> Result<SchemaError> {
        let held = self.collection.find_one(doc! { "_id": ID }).await?;
        let held = held.unwrap_or_default();
        Ok(SchemaError::LeaseTimeout {
            database: database.to_owned(),
            holder: held.get_str("holder").unwrap_or_default().to_owned(),
            expires_at: held
                .get("expires_at")
                .and_then(Bson::as_datetime)
                .copied()
                .unwrap_or(DateTime::MIN),
        })
    }

    /// Runs `work`, renews the lease meanwhile, and gives it back.
    ///
    /// If the future is dropped, the lease expires.
    ///
    /// # Errors
    /// Those of `work`. [`SchemaError::LeaseLost`] if the lease expired before it was renewed, e.g.
    /// because the server could not be reached: `work` was dropped.
    pub(super) async fn hold<T>(self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let outcome = {
            let mut work = pin!(work);
            let mut renewing = pin!(self.renew());
            poll_fn(|cx| {
                if let Poll::Ready(lost) = renewing.as_mut().poll(cx) {
                    return Poll::Ready(Err(lost));
                }
                work.as_mut().poll(cx).map(Ok)
            })
            .await
        };
        match outcome {
            // The server may still not reply.
            Err(lost) => Err(lost.into()),
            Ok(result) => {
                // It expires in any case.
                let _ = self.collection.delete_one(self.own()).await;
                result
            }
        }
    }

    fn own(&self) -> Document {
        doc! { "_id": ID, "holder": self.holder.to_string() }
    }

    /// Renews the lease until it is lost. A renewal without a reply ends when the lease has
    /// expired: the server could give it to another instance while `work` goes on.
    async fn renew(&self) -> SchemaError {
        let mut renewed = self.taken;
        loop {
            let left = self.validity.saturating_sub(renewed.elapsed());
            tokio::time::sleep(left.min(self.validity / 3)).await;
            let began = Instant::now();
            let left = self.validity.saturating_sub(renewed.elapsed());
            let renewal = renewal(self.holder, self.validity);
            let renewing = self.collection.update_one(self.own(), renewal).into_future();
            match tokio::time::timeout(left, renewing).await {
                Ok(Ok(result)) if result.matched_count == 1 => renewed = began,
                Ok(Err(_)) if renewed.elapsed() < self.validity => {}
                Ok(_) | Err(_) => return SchemaError::LeaseLost,
            }
        }
    }
}
