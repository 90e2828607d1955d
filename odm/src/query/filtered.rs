//! The methods of a collection that take a filter, for a [`Filter`] value in place of a closure.

use crate::{
    models::model::{Fields, Model},
    path::{AsPath, marker::Readable},
    query::{
        aggregate::{On, Pipeline},
        handle::Collection,
        read::{
            distinct::Distinct,
            find::Find,
            one::{Count, Exists, FindOne},
        },
        write::{
            delete::Delete,
            find_and_modify::{FindOneAndDelete, FindOneAndReplace, FindOneAndUpdate},
            replace::Replace,
            update::{UpdateMany, UpdateOne},
        },
    },
    term::{filter::Filter, update::IntoUpdate},
};

impl<D: Model> Collection<D> {
    /// The operations with a [`Filter`] value in place of a closure.
    ///
    /// ```no_run
    /// # use marula::{Document, Filter, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, age: i32 }
    /// # async fn run(people: marula::Collection<Person>) -> marula::Result<()> {
    /// let minors: Filter<Person> = Person::fields().age().lt(18);
    /// let count = people.filter(minors.clone()).count().await?;
    /// let deleted = people.filter(minors).delete_many().await?;
    /// # drop((count, deleted)); Ok(()) }
    /// ```
    pub fn filter(&self, filter: Filter<D>) -> Filtered<'_, D> {
        Filtered::new(self, filter)
    }
}

/// The methods of a collection that take a filter, for a [`Filter`] value. See
/// [`Collection::filter`].
#[must_use = "nothing is sent before one of the calls is awaited"]
#[derive(Debug)]
pub struct Filtered<'a, D> {
    collection: &'a Collection<D>,
    filter: Filter<D>,
}

impl<'a, D: Model> Filtered<'a, D> {
    pub(in crate::query) fn new(collection: &'a Collection<D>, filter: Filter<D>) -> Self {
        Filtered { collection, filter }
    }

    /// See [`Collection::find`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let open: Filter<Order> = Order::fields().status().eq(Status::Open);
    /// assert_eq!(orders.filter(open).find().limit(2).await?.len(), 2);
    /// # Ok(()) });
    /// ```
    pub fn find(self) -> Find<'a, D> {
        self.collection.find(|_| self.filter)
    }

    /// A pipeline that starts with the filter; see [`Collection::aggregate`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let open: Filter<Order> = Order::fields().status().eq(Status::Open);
    /// assert_eq!(orders.filter(open).aggregate().sort(|o| o.total().desc()).limit(2).await?.len(), 2);
    /// # Ok(()) });
    /// ```
    pub fn aggregate(self) -> Pipeline<D, D, On<'a, D>> {
        self.collection.aggregate().filter(self.filter)
    }

    /// See [`Collection::find_one`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let open: Filter<Order> = Order::fields().status().eq(Status::Open);
    /// assert!(orders.filter(open).find_one().await?.is_some());
    /// # Ok(()) });
    /// ```
    pub fn find_one(self) -> FindOne<'a, D> {
        self.collection.find_one(|_| self.filter)
    }

    /// See [`Collection::count`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let open: Filter<Order> = Order::fields().status().eq(Status::Open);
    /// assert_eq!(orders.filter(open).count().await?, 3);
    /// # Ok(()) });
    /// ```
    pub fn count(self) -> Count<'a, D> {
        self.collection.count(|_| self.filter)
    }

    /// See [`Collection::exists`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let open: Filter<Order> = Order::fields().status().eq(Status::Open);
    /// assert!(orders.filter(open).exists().await?);
    /// # Ok(()) });
    /// ```
    pub fn exists(self) -> Exists<'a, D> {
        self.collection.exists(|_| self.filter)
    }

    /// See [`Collection::distinct`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let open: Filter<Order> = Order::fields().status().eq(Status::Open);
    /// assert_eq!(orders.filter(open).distinct(|o| o.customer()).await?, [1, 2, 3]);
    /// # Ok(()) });
    /// ```
    pub fn distinct<A: AsPath<Root = D, Mode: Readable>>(
        self,
        field: impl FnOnce(Fields<D>) -> A,
    ) -> Distinct<'a, D, A::Value> {
        self.collection.distinct(field, |_| self.filter)
    }

    /// See [`Collection::update_one`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let open: Filter<Order> = Order::fields().status().eq(Status::Open);
    /// orders.filter(open).update_one(|o| o.status().set(Status::Paid)).required().await?;
    /// # Ok(()) });
    /// ```
    pub fn update_one<U: IntoUpdate<D>>(self, update: impl FnOnce(Fields<D>) -> U) -> UpdateOne<'a, D> {
        self.collection.update_one(|_| self.filter, update)
    }

    /// See [`Collection::update_many`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let open: Filter<Order> = Order::fields().status().eq(Status::Open);
    /// assert_eq!(orders.filter(open).update_many(|o| o.tags().push("new")).await?.modified_count, 3);
    /// # Ok(()) });
    /// ```
    pub fn update_many<U: IntoUpdate<D>>(self, update: impl FnOnce(Fields<D>) -> U) -> UpdateMany<'a, D> {
        self.collection.update_many(|_| self.filter, update)
    }

    /// See [`Collection::replace_one`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let open: Filter<Order> = Order::fields().status().eq(Status::Open);
    /// orders.filter(open & Order::fields().id().eq(1)).replace_one(&order(1)).required().await?;
    /// # Ok(()) });
    /// ```
    pub fn replace_one(self, document: &'a D) -> Replace<'a, D> {
        self.collection.replace_one(|_| self.filter, document)
    }

    /// See [`Collection::delete_one`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let open: Filter<Order> = Order::fields().status().eq(Status::Open);
    /// orders.filter(open).delete_one().required().await?;
    /// # Ok(()) });
    /// ```
    pub fn delete_one(self) -> Delete<'a, D> {
        self.collection.delete_one(|_| self.filter)
    }

    /// See [`Collection::delete_many`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let open: Filter<Order> = Order::fields().status().eq(Status::Open);
    /// assert_eq!(orders.filter(open).delete_many().await?, 3);
    /// # Ok(()) });
    /// ```
    pub fn delete_many(self) -> Delete<'a, D> {
        self.collection.delete_many(|_| self.filter)
    }

    /// See [`Collection::find_one_and_update`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let open: Filter<Order> = Order::fields().status().eq(Status::Open);
    /// let before = orders.filter(open).find_one_and_update(|o| o.total().inc(1)).required().await?;
    /// # drop(before);
    /// # Ok(()) });
    /// ```
    pub fn find_one_and_update<U: IntoUpdate<D>>(
        self,
        update: impl FnOnce(Fields<D>) -> U,
    ) -> FindOneAndUpdate<'a, D> {
        self.collection.find_one_and_update(|_| self.filter, update)
    }

    /// See [`Collection::find_one_and_replace`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let open: Filter<Order> = Order::fields().status().eq(Status::Open);
    /// let filter = open & Order::fields().id().eq(1);
    /// let before = orders.filter(filter).find_one_and_replace(&order(1)).required().await?;
    /// # drop(before);
    /// # Ok(()) });
    /// ```
    pub fn find_one_and_replace(self, document: &D) -> FindOneAndReplace<'a, D> {
        self.collection.find_one_and_replace(|_| self.filter, document)
    }

    /// See [`Collection::find_one_and_delete`].
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let open: Filter<Order> = Order::fields().status().eq(Status::Open);
    /// let deleted = orders.filter(open).find_one_and_delete().required().await?;
    /// # drop(deleted);
    /// # Ok(()) });
    /// ```
    pub fn find_one_and_delete(self) -> FindOneAndDelete<'a, D> {
        self.collection.find_one_and_delete(|_| self.filter)
    }
}
