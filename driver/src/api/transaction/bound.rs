//! Handles that are bound to a transaction.

use std::{fmt, sync::Arc};

use crate::{ClientSession, Collection, Database, execution::SessionHandle};

/// The transaction that handles are [bound](ClientSession::bind) to. Clones are cheap.
///
/// It is one transaction of one session: after it has ended, calls of its handles fail, also if another transaction has been
/// started in the session.
#[derive(Clone)]
pub struct BoundTransaction(Arc<SessionHandle>);

impl BoundTransaction {
    pub(crate) fn session(&self) -> &SessionHandle {
        &self.0
    }

    /// Whether the transaction is in progress.
    #[must_use]
    pub fn is_in_progress(&self) -> bool {
        self.0.check_bound().is_ok()
    }
}

impl PartialEq for BoundTransaction {
    fn eq(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }
}

impl Eq for BoundTransaction {}

impl fmt::Debug for BoundTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundTransaction")
            .field("is_in_progress", &self.is_in_progress())
            .finish_non_exhaustive()
    }
}

/// Handles that [`ClientSession::bind`] binds to a transaction: references to collections and databases, and tuples of them.
///
/// A type that consists of handles, such as a repository, implements it by binding each of them:
///
/// ```
/// use marula_driver::{Bind, BoundTransaction, Collection, bson::Document};
///
/// struct Shop {
///     orders: Collection<Document>,
///     stock: Collection<Document>,
/// }
///
/// impl Bind for &Shop {
///     type Bound = Shop;
///
///     fn bind_to(self, transaction: &BoundTransaction) -> Shop {
///         Shop {
///             orders: self.orders.bind_to(transaction),
///             stock: self.stock.bind_to(transaction),
///         }
///     }
/// }
///
/// # async fn run(client: marula_driver::Client, shop: Shop) -> marula_driver::Result<()> {
/// use marula_driver::bson::doc;
/// client
///     .transaction()
///     .run(async |tx| {
///         let shop = tx.bind(&shop);
///         shop.stock.update_one(doc! { "_id": "tea" }, doc! { "$inc": { "left": -1 } }).await?;
///         shop.orders.insert_one(&doc! { "sku": "tea" }).await
///     })
///     .await?;
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be bound to a transaction",
    label = "expected a reference to a collection or a database, or a tuple of references",
    note = "pass a reference, as in `tx.bind(&orders)` and `tx.bind((&orders, &stock))`; for a type of your own that consists of handles, \
            implement `Bind` for a reference to it"
)]
pub trait Bind {
    /// The handles that are bound.
    type Bound;

    /// The same handles, whose calls take part in the transaction.
    fn bind_to(self, transaction: &BoundTransaction) -> Self::Bound;
}

impl<T> Bind for &Collection<T> {
    type Bound = Collection<T>;

    fn bind_to(self, transaction: &BoundTransaction) -> Collection<T> {
        self.bound_to(transaction)
    }
}

impl Bind for &Database {
    type Bound = Database;

    fn bind_to(self, transaction: &BoundTransaction) -> Database {
        self.bound_to(transaction)
    }
}

/// Implements [`Bind`] for a tuple.
macro_rules! bind_tuple {
    ($($handle:ident)+) => {
        impl<$($handle: Bind),+> Bind for ($($handle,)+) {
            type Bound = ($($handle::Bound,)+);

            fn bind_to(self, transaction: &BoundTransaction) -> Self::Bound {
                #[expect(non_snake_case, reason = "the names of the type parameters")]
                let ($($handle,)+) = self;
                ($($handle.bind_to(transaction),)+)
            }
        }
    };
}

bind_tuple!(A);
bind_tuple!(A B);
bind_tuple!(A B C);
bind_tuple!(A B C D);
bind_tuple!(A B C D E);
bind_tuple!(A B C D E F);
bind_tuple!(A B C D E F G);
bind_tuple!(A B C D E F G H);

/// The transaction of the handles of an action, which its calls take part in.
#[derive(Clone, Debug, Default)]
pub(crate) enum Membership {
    /// A call takes part in no transaction, which is reported if it is made by the body of one.
    #[default]
    Any,
    /// Each call takes part in this transaction, or fails.
    Bound(BoundTransaction),
    /// No call can take part in a transaction: those of the key vault.
    #[cfg(feature = "encryption")]
    Outside,
}

impl Membership {
    #[inline]
    pub(crate) fn transaction(&self) -> Option<&BoundTransaction> {
        match self {
            Self::Bound(transaction) => Some(transaction),
            _ => None,
        }
    }
}

impl ClientSession {
    /// Handles whose calls take part in the transaction that is in progress, without `.session(..)`: a session cannot be
    /// forgotten. The handles have the types, the options and the scopes of those that they are bound from, so a function
    /// that takes a handle works with both. They can be moved, cloned and stored.
    ///
    /// ```no_run
    /// # use marula_driver::bson::{Document, doc};
    /// # async fn run(client: marula_driver::Client) -> marula_driver::Result<()> {
    /// let shop = client.database("shop");
    /// let (orders, stock) = (shop.collection::<Document>("orders"), shop.collection::<Document>("stock"));
    /// client
    ///     .transaction()
    ///     .run(async |tx| {
    ///         let (orders, stock) = tx.bind((&orders, &stock));
    ///         stock.update_one(doc! { "_id": "tea" }, doc! { "$inc": { "left": -1 } }).await?;
    ///         orders.insert_one(&doc! { "sku": "tea" }).await
    ///     })
    ///     .await?;
    /// # Ok(()) }
    /// ```
    ///
    /// Handles that are made from a bound one are bound, too: the collections of a bound database, and those with another
    /// name or other concerns. `.session(..)` of an action replaces the transaction of its handle. Each attempt of a
    /// transaction that is [run again](crate::action::TransactionSettings::run) is a transaction of its own, so bind within
    /// the body.
    ///
    /// Two calls that run at once, e.g. in `join!`, are sent one after the other: the server runs one operation of a
    /// transaction at a time. A call that has begun and is not polled any more, e.g. after a `select!`, holds up the others until it is
    /// dropped.
    ///
    /// # Errors
    /// The calls of a bound handle fail with [`InvalidArgument`](crate::ErrorKind::InvalidArgument), and send nothing, after
    /// the transaction has ended, if none was in progress when the handle was bound, and for what cannot be part of a
    /// transaction: `explain`, estimated counts, change streams, `$out` and `$merge`, listing or dropping collections and
    /// indexes, search indexes, the writes and downloads of GridFS, and `rename`.
    pub fn bind<B: Bind>(&self, handles: B) -> B::Bound {
        handles.bind_to(&BoundTransaction(Arc::new(self.shared().bound())))
    }
}
