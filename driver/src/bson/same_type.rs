//! Type identity without a `'static` bound.

use std::any::TypeId;

/// Whether `T` is the type `U`. Decided at compile time in optimized builds.
///
/// Serde's traits do not require `'static` of the types they are called with, so
/// `TypeId::of::<T>()` is not available for them. Crate typeid returns the same id with all
/// lifetimes erased. The comparison is exact for a `U` without lifetime parameters.
#[inline(always)]
pub(super) fn is<T: ?Sized, U: ?Sized + 'static>() -> bool {
    typeid::of::<T>() == TypeId::of::<U>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::{DateTime, ObjectId};

    struct Imitation;

    fn is_object_id<T: ?Sized>(_: &T) -> bool {
        is::<T, ObjectId>()
    }

    #[test]
    fn only_the_type_itself_matches() {
        let id = ObjectId::from_bytes([0; 12]);
        assert!(is_object_id(&id));
        assert!(!is_object_id(&&id) && !is_object_id(&Some(id)) && !is_object_id(&[id][..]));
        assert!(!is_object_id(&DateTime::MAX) && !is_object_id(&Imitation));
    }

    #[test]
    fn lifetimes_are_ignored() {
        let text = String::from("text");
        fn check<'a>(_: &'a str) -> bool {
            is::<&'a str, &'static str>()
        }
        assert!(check(&text));
    }
}
