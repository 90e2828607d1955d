//! Sources of ids: `Order::new_id()` generates one by the source that the model declares.

use crate::bson::{ObjectId, Uuid as BsonUuid};

/// A source of ids of type `I`.
#[diagnostic::on_unimplemented(
    message = "the id source `{Self}` does not generate ids of type `{I}`",
    label = "no id source for this type",
    note = "use a `uuid::Uuid` or an `ObjectId`, or set ids in the application with `#[document(id = manual)]`"
)]
pub trait IdSource<I> {
    /// Generates an id.
    fn new_id() -> I;
}

/// The default: ObjectIds, and UUIDs of version 7.
#[derive(Debug)]
pub struct Auto(());
/// `id = object_id`.
#[derive(Debug)]
pub struct ObjectIds(());
/// `id = uuid_v7`: ordered by time, so that inserts into an index are at its end.
#[derive(Debug)]
pub struct UuidV7(());
/// `id = uuid_v4`: random.
#[derive(Debug)]
pub struct UuidV4(());
/// `id = manual`: the application sets every id.
#[derive(Debug)]
pub struct Manual(());

macro_rules! sources {
    ($($source:ident: $id:ty = $new:expr;)*) => { $(
        impl IdSource<$id> for $source {
            fn new_id() -> $id {
                $new
            }
        }
        /// For documents whose id is generated when they are inserted: `id: Option<…>`.
        impl IdSource<Option<$id>> for $source {
            fn new_id() -> Option<$id> {
                Some(<Self as IdSource<$id>>::new_id())
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
