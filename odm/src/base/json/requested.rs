//! Which type of crate bson is requested or written, by its type identity.

use std::any::TypeId;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::rc::Rc;
use std::sync::Arc;

use crate::base::bson::{Binary, Bson, DateTime, Decimal128, ObjectId, RawBinaryRef, RawBson, RawBsonRef};

/// A type of crate bson that is read from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requested {
    ObjectId,
    DateTime,
    Decimal128,
    Uuid,
    Binary,
}

impl Requested {
    /// The type that is read as a `Bson` when `T` is read.
    pub(super) fn of<T: ?Sized>() -> Option<Self> {
        let id = typeid::of::<T>();
        Self::first(is::<DateTime>(id), is::<Decimal128>(id), is::<Binary>(id))
    }

    /// The type that is read as a `Bson` when `T` is read, if `T` is an `Option`.
    pub(super) fn in_option<T: ?Sized>() -> Option<Self> {
        let id = typeid::of::<T>();
        Self::first(
            is_option::<DateTime>(id),
            is_option::<Decimal128>(id),
            is_option::<Binary>(id),
        )
    }

    /// The type of a visitor's value, if the visitor reads any value: that of an ObjectId is its own, and
    /// the others are read as a `Bson`.
    pub(super) fn by_visitor<T: ?Sized>(outer: Option<Self>) -> Option<Self> {
        let id = typeid::of::<T>();
        if id == TypeId::of::<ObjectId>() {
            Some(Requested::ObjectId)
        } else if id == TypeId::of::<Bson>() {
            outer
        } else {
            None
        }
    }

    fn first(date: bool, decimal: bool, binary: bool) -> Option<Self> {
        if date {
            Some(Requested::DateTime)
        } else if decimal {
            Some(Requested::Decimal128)
        } else if binary {
            Some(Requested::Binary)
        } else {
            None
        }
    }
}

/// Whether the bytes that `T` serializes are those of a `Binary` of subtype 0.
pub(super) fn bytes_are_binary<T: ?Sized>() -> bool {
    let id = typeid::of::<T>();
    is::<Binary>(id)
        || is::<Bson>(id)
        || is::<RawBson>(id)
        || id == TypeId::of::<RawBinaryRef<'static>>()
        || id == TypeId::of::<RawBsonRef<'static>>()
}

/// Whether the type is `K`, or a type of the standard library that serde serializes as its content.
fn is<K: Clone + 'static>(id: TypeId) -> bool {
    id == TypeId::of::<K>()
        || id == TypeId::of::<&'static K>()
        || id == TypeId::of::<Box<K>>()
        || id == TypeId::of::<Rc<K>>()
        || id == TypeId::of::<Arc<K>>()
        || id == TypeId::of::<Cow<'static, K>>()
        || id == TypeId::of::<Cell<K>>()
        || id == TypeId::of::<RefCell<K>>()
        || id == TypeId::of::<Reverse<K>>()
}

fn is_option<K: Clone + 'static>(id: TypeId) -> bool {
    id == TypeId::of::<Option<K>>()
        || id == TypeId::of::<Option<Box<K>>>()
        || id == TypeId::of::<Option<Rc<K>>>()
        || id == TypeId::of::<Option<Arc<K>>>()
        || id == TypeId::of::<Option<Cow<'static, K>>>()
        || id == TypeId::of::<Option<Cell<K>>>()
        || id == TypeId::of::<Option<RefCell<K>>>()
        || id == TypeId::of::<Option<Reverse<K>>>()
}
