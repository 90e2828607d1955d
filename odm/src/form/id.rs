//! Sources of ids, declared by `#[document(id = …)]`: [`Model::new_id`](crate::Model::new_id) and
//! the insert of a document whose id is `None` generate ids by the source of the model.
//!
//! | `#[document(id = …)]` | source | type of the id |
//! |---|---|---|
//! | none, or `id` | [`Auto`] | `ObjectId`, `uuid::Uuid` or `bson::Uuid`; others as `manual` |
//! | `object_id` | [`ObjectIds`] | `ObjectId` |
//! | `uuid_v7` | [`UuidV7`] | `uuid::Uuid` or `bson::Uuid` |
//! | `uuid_v4` | [`UuidV4`] | `uuid::Uuid` or `bson::Uuid` |
//! | `manual` | [`Manual`] | any type |
//!
//! Each type can be in an `Option`, and in a newtype that derives [`Embedded`](derive@crate::Embedded).

use crate::base::bson::{ObjectId, Uuid as BsonUuid};

/// A source of ids of type `I`.
#[diagnostic::on_unimplemented(
    message = "the id source `{Self}` does not generate ids of type `{I}`",
    label = "no id source for this type",
    note = "for generated ids use a `uuid::Uuid` or an `ObjectId`; otherwise declare `#[document(id = manual)]` \
            and set the id in the application"
)]
pub trait IdSource<I> {
    /// Generates an id that no other call returns.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::id::IdSource;
    ///
    /// struct Random; // a source of the application
    ///
    /// impl IdSource<u64> for Random {
    ///     fn new_id() -> u64 {
    ///         4 // by a die
    ///     }
    /// }
    /// let id: u64 = Random::new_id();
    /// assert_eq!(id, 4);
    /// ```
    fn new_id() -> I;
}

/// The default: an `ObjectId` for ids of that type, a UUID of version 7 for UUIDs. For ids of other
/// types it generates none: the application sets them.
#[derive(Debug)]
pub struct Auto(());
/// `id = object_id`: 4 bytes of time in seconds, 5 random bytes of the process, and a counter.
#[derive(Debug)]
pub struct ObjectIds(());
/// `id = uuid_v7`: ordered by time in milliseconds, so that inserts into an index are at its end.
#[derive(Debug)]
pub struct UuidV7(());
/// `id = uuid_v4`: random.
#[derive(Debug)]
pub struct UuidV4(());
/// `id = manual`: the application sets every id, and `new_id` does not compile.
#[derive(Debug)]
pub struct Manual(());

/// For documents whose id is generated when they are inserted: `id: Option<…>`.
impl<I, S: IdSource<I>> IdSource<Option<I>> for S {
    fn new_id() -> Option<I> {
        Some(S::new_id())
    }
}

macro_rules! sources {
    ($($source:ident: $id:ty = $new:expr;)*) => { $(
        impl IdSource<$id> for $source {
            fn new_id() -> $id {
                $new
            }
        }
    )* };
}

sources! {
    Auto: ObjectId = ObjectId::new();
    Auto: uuid::Uuid = uuid::Uuid::now_v7();
    Auto: BsonUuid = BsonUuid::from_bytes(uuid::Uuid::now_v7().into_bytes());
    ObjectIds: ObjectId = ObjectId::new();
    UuidV7: uuid::Uuid = uuid::Uuid::now_v7();
    UuidV7: BsonUuid = BsonUuid::from_bytes(uuid::Uuid::now_v7().into_bytes());
    UuidV4: uuid::Uuid = uuid::Uuid::new_v4();
    UuidV4: BsonUuid = BsonUuid::from_bytes(uuid::Uuid::new_v4().into_bytes());
}
