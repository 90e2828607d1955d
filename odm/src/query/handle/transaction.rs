//! Handles that are bound to a transaction.

use crate::{
    driver::{self, Bind, BoundTransaction},
    query::handle::{Collection, action::Session},
};

/// `tx.bind(&orders)`: the same handle, with its scope, its view of soft-deleted documents and its options, whose calls take
/// part in the transaction. See [`ClientSession::bind`](driver::ClientSession::bind).
///
/// ```
/// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
/// client
///     .transaction()
///     .run(async |tx| {
///         let (orders, customers) = tx.bind((&orders, &customers));
///         customers.find_by_id(1).required().await?;
///         orders.insert_one(&order(10)).await
///     })
///     .await?;
/// # Ok(()) });
/// ```
impl<D> Bind for &Collection<D> {
    type Bound = Collection<D>;

    fn bind_to(self, transaction: &BoundTransaction) -> Collection<D> {
        self.with_inner(self.inner.bind_to(transaction))
    }
}

impl<D> Collection<D> {
    /// The transaction that the handle is [bound](driver::ClientSession::bind) to. A function that is given a bound handle
    /// binds others to the same transaction:
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// use marula::driver::Bind;
    ///
    /// async fn cancel(orders: &Collection<Order>, id: i64) -> Result<()> {
    ///     let mut customers = orders.database().collection::<Customer>();
    ///     if let Some(transaction) = orders.transaction() {
    ///         customers = customers.bind_to(transaction);
    ///     }
    ///     let cancelled = orders.find_one_and_delete(|o| o.id().eq(id)).required().await?;
    ///     customers.find_by_id(cancelled.customer).required().await?;
    ///     Ok(())
    /// }
    ///
    /// client.transaction().run(async |tx| cancel(&tx.bind(&orders), 1).await).await?;
    /// assert!(orders.find_by_id(1).await?.is_none());
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn transaction(&self) -> Option<&BoundTransaction> {
        self.inner.transaction()
    }
}

/// Whether a call is part of a transaction: of that of its session, or else of that of its handle.
pub(in crate::query) fn is_in_transaction(session: &Session<'_>, bound: Option<&BoundTransaction>) -> bool {
    match session {
        Some(session) => session.in_transaction(),
        None => bound.is_some_and(BoundTransaction::is_in_progress),
    }
}

/// The handle of a collection of the driver in the transaction that another handle is bound to.
pub(in crate::query) fn bound_as<T>(
    bound: Option<&BoundTransaction>,
    collection: driver::Collection<T>,
) -> driver::Collection<T> {
    match bound {
        Some(transaction) => collection.bind_to(transaction),
        None => collection,
    }
}
