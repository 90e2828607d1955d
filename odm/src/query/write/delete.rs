//! `delete_one`, `delete_by_id` and `delete_many`.

use std::pin::Pin;

use crate::{
    ast::filter::Node,
    base::{error::Result, stage_versions::requiring},
    document::kind,
    driver::{self, UpdateResult, action, options::DeleteOptions},
    models::model::{Fields, Model},
    query::{
        handle::{
            Collection, NULL_ARGUMENT,
            action::{Session, forward_options, in_session},
            filter_of,
            gate::{How, Targets},
            sharded::explained,
            soft_delete::deletion,
        },
        observe::Call,
    },
    term::filter::Filter,
    values::value::IntoValue,
};

impl<D: Model> Collection<D> {
    /// Deletes one document that matches. The output of the action is the number of deleted
    /// documents, 0 or 1; see [`required`](Delete::required). A filter that was combined from no
    /// conditions is rejected with [`Error::InvalidFilter`](crate::Error::InvalidFilter).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// assert_eq!(orders.delete_one(|o| o.status().eq(Status::Open)).await?, 1);
    /// # Ok(()) });
    /// ```
    pub fn delete_one(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Delete<'_, D> {
        Delete::new(self, filter_of(filter), false)
    }

    /// Deletes the document with this id. It is not an error if there is none; see
    /// [`required`](Delete::required). The call fails with [`Error::MissingId`](crate::Error::MissingId) if the id is
    /// `None`.
    /// If the collection is sharded by another field than `_id`, MongoDB sends the deletion to all shards.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// orders.delete_by_id(1).required().await?;
    /// assert_eq!(orders.delete_by_id(1).await?, 0);
    /// # Ok(()) });
    /// ```
    pub fn delete_by_id(&self, id: impl IntoValue<D::Id>) -> Delete<'_, D> {
        Delete::new(self, self.id_filter(id.into_value(), NULL_ARGUMENT), false)
    }

    /// Deletes all documents that match. For a [`Filter`] value use
    /// [`collection.filter(f).delete_many()`](Collection::filter).
    ///
    /// To delete all documents of the collection use [`Filter::everything`]: a filter that was
    /// combined from no conditions is rejected with [`Error::InvalidFilter`](crate::Error::InvalidFilter).
    ///
    /// ```no_run
    /// # use marula::{Document, Error, Filter, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, age: i32 }
    /// # async fn run(people: marula::Collection<Person>, age: Option<i32>) -> marula::Result<()> {
    /// let deleted = people.delete_many(|p| Filter::all_some([age.map(|a| p.age().eq(a))])).await;
    /// if age.is_none() {
    ///     assert!(matches!(deleted, Err(Error::InvalidFilter { .. })));
    /// }
    /// people.delete_many(|_| Filter::everything()).await?;
    /// # Ok(()) }
    /// ```
    pub fn delete_many(&self, filter: impl FnOnce(Fields<D>) -> Filter<D>) -> Delete<'_, D> {
        Delete::new(self, filter_of(filter), true)
    }
}

/// Deletes one document, or all that match. Output: the number of deleted documents. See
/// [`Collection::delete_one`] and [`Collection::delete_many`].
///
/// If the model has `#[document(soft_delete = field)]`, the documents stay in the collection: the time
/// of the deletion is written to the field. [`Collection::delete_permanently`] removes documents.
#[must_use = "nothing is sent before the action is awaited"]
pub struct Delete<'a, D> {
    collection: &'a Collection<D>,
    filter: Result<Node>,
    many: bool,
    permanently: bool,
    options: DeleteOptions,
    session: Session<'a>,
}

impl<'a, D: Model> Delete<'a, D> {
    pub(in crate::query) fn new(collection: &'a Collection<D>, filter: Result<Node>, many: bool) -> Self {
        Delete {
            collection,
            filter,
            many,
            permanently: false,
            options: DeleteOptions::default(),
            session: None,
        }
    }

    pub(in crate::query) fn permanently(mut self) -> Self {
        self.permanently = true;
        self
    }

    crate::driver::__delete_options! { forward_options { options: DeleteOptions } }

    /// Runs the action, which must delete a document. Output: the number of deleted documents, at
    /// least 1.
    ///
    /// Requires an acknowledged write concern. With `w: 0` the server returns no counts, and the
    /// call always fails with [`Error::NotFound`](crate::Error::NotFound), even if documents were
    /// deleted.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let missing = orders.delete_by_id(99).required().await;
    /// assert!(matches!(missing, Err(Error::NotFound { .. })));
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) if no document matches,
    /// [`Error::InvalidFilter`](crate::Error::InvalidFilter), and
    /// [`Error::Driver`](crate::Error::Driver) for errors of the driver.
    pub fn required(self) -> impl Future<Output = Result<u64>> + Send + use<'a, D> {
        let collection = self.collection;
        let deleting = self.into_future();
        async move {
            match deleting.await? {
                0 => Err(collection.not_found()),
                deleted => Ok(deleted),
            }
        }
    }

    /// How the server would run the delete, instead of running it: awaiting the returned action returns the
    /// reply to `explain`. Nothing is written. For its options see
    /// [`Explain`](crate::driver::action::Explain).
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let reply = orders.delete_many(|o| o.total().gt(100)).explain()?.await?;
    /// println!("{reply}");
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidFilter`](crate::Error::InvalidFilter) and [`Error::Encode`](crate::Error::Encode) for an
    /// invalid filter.
    pub fn explain(self) -> Result<action::Explain<'a>> {
        Ok(match self.action()? {
            Deleting::Delete(deleting) => deleting.explain(),
            Deleting::UpdateOne(updating) => updating.explain(),
            Deleting::UpdateMany(updating) => updating.explain(),
        })
    }

    /// The driver's action with all options.
    fn action(self) -> Result<Deleting<'a>> {
        let gate = self.collection.gate()?;
        let inner = &self.collection.inner;
        let targets = if self.many {
            Targets::Many("delete_many")
        } else {
            Targets::One
        };
        if !self.permanently
            && let Some(change) = deletion::<D>()
        {
            let how = How {
                targets,
                upsert: false,
                scope: self.collection.scope,
            };
            let prepared = gate.update(self.filter, change, how)?;
            let (filter, update) = (prepared.filter, prepared.update);
            let options = requiring!(self.options, kind::of_soft_delete::<D>());
            return Ok(if self.many {
                let updating = inner.update_many(filter, update).with_options(options.into());
                Deleting::UpdateMany(in_session!(self.session, updating))
            } else {
                let updating = inner.update_one(filter, update).with_options(options.into());
                Deleting::UpdateOne(in_session!(self.session, updating))
            });
        }
        let filter = gate.write(self.filter, targets)?;
        let deleting = if self.many {
            inner.delete_many(filter)
        } else {
            inner.delete_one(filter)
        };
        let deleting = deleting.with_options(requiring!(self.options, kind::of_delete::<D>(self.many)));
        Ok(Deleting::Delete(in_session!(self.session, deleting)))
    }

    /// The driver's future, and the count.
    fn sending(self) -> Result<Counting<'a>> {
        let (collection, many) = (&self.collection.inner, self.many);
        Ok(match self.action()? {
            Deleting::Delete(deleting) => {
                let sending = deleting.into_future();
                Box::pin(async move {
                    let deleted = sending.await.map_err(Into::into);
                    let deleted = if many {
                        deleted
                    } else {
                        explained(collection, "delete_one", false, deleted).await
                    };
                    Ok(deleted?.deleted_count)
                })
            }
            Deleting::UpdateOne(updating) => {
                let updating = updating.into_future();
                Box::pin(async move {
                    let updated = explained(
                        collection,
                        "delete_one",
                        false,
                        updating.await.map_err(Into::into),
                    )
                    .await?;
                    Ok(updated.matched_count)
                })
            }
            Deleting::UpdateMany(updating) => matched(updating.into_future()),
        })
    }
}

/// The action of a delete: a soft deletion is an update.
enum Deleting<'a> {
    Delete(action::Delete<'a>),
    UpdateOne(action::UpdateOne<'a>),
    UpdateMany(action::UpdateMany<'a>),
}

fn matched<'a>(updating: impl Future<Output = driver::Result<UpdateResult>> + Send + 'a) -> Counting<'a> {
    Box::pin(async move { Ok(updating.await?.matched_count) })
}

/// A delete that is sent, and its count.
type Counting<'a> = Pin<Box<dyn Future<Output = Result<u64>> + Send + 'a>>;

impl<'a, D: Model> IntoFuture for Delete<'a, D> {
    type Output = Result<u64>;
    type IntoFuture = Counting<'a>;

    fn into_future(self) -> Self::IntoFuture {
        let operation = if self.many { "delete_many" } else { "delete_one" };
        let call = Call::new::<D>(self.collection.namespace(), operation).query(self.filter.as_ref().ok());
        call.observe_boxed(match self.sending() {
            Ok(sending) => sending,
            Err(error) => Box::pin(async move { Err(error) }),
        })
    }
}
