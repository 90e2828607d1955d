//! The fields that the ODM maintains: version, timestamps, soft deletion.

use crate::{
    base::bson::{Bson, DateTime},
    form::schema_version::SchemaVersion,
};

pub use crate::base::error::BoxedError;

/// The maintained fields of a model by their stored names, and whether it has hooks.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Behavior {
    /// The field that every write increments.
    pub version: Option<&'static str>,
    /// The field with the time of the insert.
    pub created_at: Option<&'static str>,
    /// The field with the time of the last write.
    pub updated_at: Option<&'static str>,
    /// The field with the time of the soft deletion.
    pub soft_delete: Option<&'static str>,
    /// Whether the model implements [`Hooks`](crate::Hooks).
    pub hooks: bool,
    /// The version of the documents.
    pub schema: Option<SchemaVersion>,
    /// The kind of collection that the model declares.
    pub kind: CollectionKind,
    /// The field whose value only the documents of the model have.
    pub discriminator: Option<Discriminator>,
    /// Whether the model declares a shard key.
    pub is_sharded: bool,
}

/// A field that has one value in all documents of a model: `#[document(kind = "…")]`.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Discriminator {
    pub field: &'static str,
    pub value: &'static str,
}

/// The kinds of collections that MongoDB restricts in what can be written.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CollectionKind {
    #[default]
    Ordinary,
    TimeSeries,
    Capped,
}

impl Behavior {
    /// A model without maintained fields and hooks.
    pub const NONE: Behavior = Behavior {
        version: None,
        created_at: None,
        updated_at: None,
        soft_delete: None,
        hooks: false,
        schema: None,
        kind: CollectionKind::Ordinary,
        discriminator: None,
        is_sharded: false,
    };

    /// Whether the stored form of a document can differ from that of its struct.
    #[must_use]
    pub(crate) const fn changes_documents(&self) -> bool {
        self.version.is_some()
            || self.created_at.is_some()
            || self.updated_at.is_some()
            || self.hooks
            || self.schema.is_some()
    }
}

/// The values that a write has stored instead of those of the struct.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The generated id of a document whose id was `None`.
    pub id: Option<Bson>,
    /// The new version.
    pub version: Option<i64>,
    /// The time of the insert.
    pub created_at: Option<DateTime>,
    /// The time of the write.
    pub updated_at: Option<DateTime>,
}

/// The kind of a write of a whole document.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// An insert.
    Insert,
    /// A replacement, or a save.
    Replace,
}

/// Types of the field of `#[document(version)]`: `i32`, `i64` and `u32`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`version` needs a field of type `i64`, `i32` or `u32`, found `{Self}`",
    label = "`{Self}` cannot be a version"
)]
pub trait VersionField {
    /// Sets the version. A value that the type cannot have is not set.
    fn set_version(&mut self, version: i64);
}

impl VersionField for i64 {
    fn set_version(&mut self, version: i64) {
        *self = version;
    }
}

macro_rules! versions {
    ($($t:ty)*) => { $(
        impl VersionField for $t {
            fn set_version(&mut self, version: i64) {
                if let Ok(version) = version.try_into() {
                    *self = version;
                }
            }
        }
    )* };
}
versions!(i32 u32);

/// Types of the fields of `#[document(created_at)]` and `#[document(updated_at)]`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`created_at` and `updated_at` need a field of type `DateTime` or `Option<DateTime>`, found `{Self}`",
    label = "`{Self}` is not stored as a date",
    note = "for a date of another crate, enable the feature `chrono`, `time` or `jiff` of marula, or convert the field with `#[serde(with = \"…\")]` \
            and `#[document(as = marula::bson::DateTime)]`"
)]
pub trait ManagedDate: Sized {
    /// The value of the field for a date.
    fn from_date(date: DateTime) -> Option<Self>;
}

impl ManagedDate for DateTime {
    fn from_date(date: DateTime) -> Option<Self> {
        Some(date)
    }
}

impl<T: ManagedDate> ManagedDate for Option<T> {
    fn from_date(date: DateTime) -> Option<Self> {
        T::from_date(date).map(Some)
    }
}

/// Types of the field of `#[document(soft_delete = field)]`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`soft_delete` needs a field of type `Option<DateTime>`, found `{Self}`",
    label = "`{Self}` cannot be null and a date"
)]
pub trait SoftDeleteField {}
impl<T: ManagedDate> SoftDeleteField for Option<T> {}
