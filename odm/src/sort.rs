//! Sorts: tuples of `.asc()` and `.desc()`.

use std::marker::PhantomData;

use crate::bson::{Bson, Document, doc};
use crate::path::marker::{KeysetKey, Readable};
use crate::path::{AsPath, Read, Types};

/// One key of a sort, with the root, the type and the mode of its path.
pub struct SortKey<R, T, M = Read> {
    path: String,
    direction: Bson,
    types: Types<(R, T, M)>,
}

impl<R, T, M> SortKey<R, T, M> {
    fn new(path: &str, direction: impl Into<Bson>) -> Self {
        SortKey {
            path: path.to_owned(),
            direction: direction.into(),
            types: PhantomData,
        }
    }
}

impl<R> SortKey<R, f64> {
    /// The score of a `$text` search, best first.
    #[must_use]
    pub fn text_score() -> Self {
        Self::new("score", doc! { "$meta": "textScore" })
    }
}

/// Directions of a sort.
pub trait SortOps: AsPath {
    /// Ascending.
    fn asc(&self) -> SortKey<Self::Root, Self::Value, Self::Mode>
    where
        Self::Mode: Readable,
    {
        SortKey::new(self.raw().dotted(), 1)
    }

    /// Descending.
    fn desc(&self) -> SortKey<Self::Root, Self::Value, Self::Mode>
    where
        Self::Mode: Readable,
    {
        SortKey::new(self.raw().dotted(), -1)
    }
}

impl<A: AsPath> SortOps for A {}

/// A sort of documents of type `R`: one key, a tuple of keys, a `Vec` of keys of one type, or a raw document.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a sort of `{R}`",
    label = "expected `.asc()` or `.desc()` of a field, or a tuple of these"
)]
pub trait IntoSort<R> {
    /// The sort document. Of a key that comes twice the first counts, as in SQL.
    fn into_sort(self) -> Document;
}

/// A sort by keys that are always present, so that a page can begin where the last one ended.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a keyset sort of `{R}`",
    label = "expected `.asc()` or `.desc()` of fields that are always present",
    note = "`$gt: null` matches nothing outside null, and an array has many keys: both lose rows between pages"
)]
pub trait IntoKeyset<R>: IntoSort<R> {}

impl<R, T: KeysetKey> IntoKeyset<R> for SortKey<R, T, Read> {}

fn push(sort: &mut Document, more: Document) {
    for (key, direction) in more {
        if !sort.contains_key(&key) {
            sort.insert(key, direction);
        }
    }
}

impl<R, T, M> IntoSort<R> for SortKey<R, T, M> {
    fn into_sort(self) -> Document {
        doc! { self.path: self.direction }
    }
}

impl<R> IntoSort<R> for Document {
    fn into_sort(self) -> Document {
        self
    }
}

impl<R, S: IntoSort<R>> IntoSort<R> for Vec<S> {
    fn into_sort(self) -> Document {
        let mut sort = Document::new();
        for key in self {
            push(&mut sort, key.into_sort());
        }
        sort
    }
}

macro_rules! tuples {
    ($($($name:ident)+;)*) => { $(
        impl<R, $($name: IntoSort<R>),+> IntoSort<R> for ($($name,)+) {
            fn into_sort(self) -> Document {
                #[allow(non_snake_case, reason = "the names of the type parameters serve as variables")]
                let ($($name,)+) = self;
                let mut sort = Document::new();
                $(push(&mut sort, $name.into_sort());)+
                sort
            }
        }
        impl<R, $($name: IntoKeyset<R>),+> IntoKeyset<R> for ($($name,)+) {}
    )* };
}

tuples! {
    A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H;
}
