//! Sorts: typed keys, type-erased keys, and an allow list of sorts that requests select by name.

use std::fmt;
use std::marker::PhantomData;

use crate::{
    base::{
        bson::{Bson, Document, doc},
        error::{Error, Result},
    },
    path::{
        AsPath, Read, Types,
        marker::{KeysetKey, KeysetMode, Readable},
    },
};

/// One sort key, with the root, the type and the [mode](crate::path::Mode) of its path. Created by
/// [`asc`](SortOps::asc), [`desc`](SortOps::desc) and [`by`](SortOps::by); a tuple or a `Vec` of
/// keys sorts by several.
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

impl<R, T, M> SortKey<R, T, M> {
    /// Erases the type of the field, so that keys of different fields can be used in one `match` or
    /// `Vec`.
    ///
    /// ```
    /// # use marula::{Document, Sort, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, name: String, age: i32 }
    /// # let by = "age";
    /// let p = Person::fields();
    /// let sort: Sort<Person> = match by {
    ///     "age" => p.age().desc().erased(),
    ///     _ => p.name().asc().erased(),
    /// };
    /// ```
    #[must_use]
    pub fn erased(self) -> Sort<R> {
        Sort {
            path: self.path,
            direction: self.direction,
            root: PhantomData,
        }
    }
}

impl<R, T: KeysetKey, M: KeysetMode> SortKey<R, T, M> {
    /// Erases the type of the field, for a key of a [keyset](crate::collection::Find::keyset) page.
    /// It does not compile for a field inside an array or an enum variant.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let key: KeysetSort<Order> = if cfg!(unix) {
    ///     o.total().desc().erased_keyset()
    /// } else {
    ///     o.created_at().desc().erased_keyset()
    /// };
    /// # drop(key);
    /// ```
    #[must_use]
    pub fn erased_keyset(self) -> KeysetSort<R> {
        KeysetSort {
            is_nullable: T::IS_NULLABLE || M::IS_NULLABLE,
            sort: self.erased(),
        }
    }
}

impl<R, T, M> From<SortKey<R, T, M>> for Sort<R> {
    fn from(key: SortKey<R, T, M>) -> Self {
        key.erased()
    }
}

impl<R, T: KeysetKey, M: KeysetMode> From<SortKey<R, T, M>> for KeysetSort<R> {
    fn from(key: SortKey<R, T, M>) -> Self {
        key.erased_keyset()
    }
}

/// A type-erased sort key of documents of type `R`, from [`SortKey::erased`]. A `Vec` of them is a
/// sort.
pub struct Sort<R> {
    path: String,
    direction: Bson,
    root: Types<R>,
}

/// A type-erased keyset key of documents of type `R`, from [`SortKey::erased_keyset`]. A `Vec` of
/// them is a keyset sort.
pub struct KeysetSort<R> {
    sort: Sort<R>,
    is_nullable: bool,
}

impl<R> KeysetSort<R> {
    pub(crate) fn path(&self) -> &str {
        &self.sort.path
    }

    /// Whether a document can have null at the path, or no value.
    pub(crate) fn is_nullable(&self) -> bool {
        self.is_nullable
    }

    pub(crate) fn is_descending(&self) -> bool {
        matches!(self.sort.direction, Bson::Int32(..0))
    }
}

impl<R> Clone for Sort<R> {
    fn clone(&self) -> Self {
        Sort {
            path: self.path.clone(),
            direction: self.direction.clone(),
            root: PhantomData,
        }
    }
}

impl<R> Clone for KeysetSort<R> {
    fn clone(&self) -> Self {
        KeysetSort {
            sort: self.sort.clone(),
            is_nullable: self.is_nullable,
        }
    }
}

impl<R> fmt::Debug for Sort<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sort")
            .field("path", &self.path)
            .field("direction", &self.direction)
            .finish()
    }
}

impl<R> fmt::Debug for KeysetSort<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sort.fmt(f)
    }
}

/// The direction of a sort key, for [`SortOps::by`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Smallest value first (`1`).
    #[default]
    Ascending,
    /// Greatest value first (`-1`).
    Descending,
}

impl From<Direction> for Bson {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Ascending => Bson::Int32(1),
            Direction::Descending => Bson::Int32(-1),
        }
    }
}

/// A type-erased key whose direction can be set: [`Sort`] and [`KeysetSort`].
pub trait ErasedKey: Clone + sealed::Sealed {
    /// The same key in another direction. A sort by [`text_score`](SortKey::text_score) has one
    /// direction only and is returned unchanged.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::sort::ErasedKey;
    /// let newest: Sort<Order> = Order::fields().created_at().asc().erased().by(Direction::Descending);
    /// assert_eq!(newest.into_sort(), doc! { "created_at": -1 });
    /// ```
    #[must_use]
    fn by(self, direction: Direction) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl<R> Sealed for super::Sort<R> {}
    impl<R> Sealed for super::KeysetSort<R> {}
}

impl<R> ErasedKey for Sort<R> {
    fn by(mut self, direction: Direction) -> Self {
        if !matches!(self.direction, Bson::Document(_)) {
            self.direction = direction.into();
        }
        self
    }
}

impl<R> ErasedKey for KeysetSort<R> {
    fn by(self, direction: Direction) -> Self {
        KeysetSort {
            sort: self.sort.by(direction),
            is_nullable: self.is_nullable,
        }
    }
}

/// An allow list of the sort keys that a request may select by name. Other names are rejected, so
/// that a request cannot sort by a field without an index or by a field that is not exposed.
///
/// ```
/// # use marula::{Document, Error, Sort, SortNames, prelude::*};
/// # #[derive(Document)]
/// # #[document(collection = "people")]
/// # struct Person { _id: i64, name: String, age: i32 }
/// # fn run() -> marula::Result<()> {
/// let p = Person::fields();
/// let names = SortNames::<Sort<Person>>::new()
///     .allow("name", p.name().asc())
///     .allow("age", p.age().asc());
/// let sort: Vec<Sort<Person>> = names.parse("-age,name")?; // as in ?sort=-age,name
/// assert!(matches!(names.parse("password"), Err(Error::UnknownSort { .. })));
/// # drop(sort); Ok(()) }
/// # run().unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct SortNames<K> {
    names: Vec<(String, K)>,
}

impl<K> Default for SortNames<K> {
    fn default() -> Self {
        SortNames { names: Vec::new() }
    }
}

impl<K: ErasedKey> SortNames<K> {
    /// An empty list.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let names = SortNames::<Sort<Order>>::new().allow("total", Order::fields().total().asc());
    /// assert!(names.parse("total").is_ok());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows a name for a key. The direction of the key is ignored. If a name is added twice, the
    /// first key applies.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let names = SortNames::<KeysetSort<Order>>::new().allow("total", o.total().asc());
    /// assert_eq!(names.parse("-total")?.into_sort(), doc! { "total": -1 });
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn allow(mut self, name: impl Into<String>, key: impl Into<K>) -> Self {
        self.names.push((name.into(), key.into()));
        self
    }

    /// The key of a name, with a direction.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let names = SortNames::<Sort<Order>>::new().allow("total", Order::fields().total().asc());
    /// assert_eq!(names.by("total", Direction::Descending)?.into_sort(), doc! { "total": -1 });
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownSort`] for a name that is not allowed.
    pub fn by(&self, name: &str, direction: Direction) -> Result<K> {
        match self.names.iter().find(|(known, _)| known == name) {
            Some((_, key)) => Ok(key.clone().by(direction)),
            None => Err(Error::UnknownSort {
                name: name.chars().take(64).collect(),
                allowed: self.names.iter().map(|(name, _)| name.clone()).collect(),
            }),
        }
    }

    /// Parses a comma-separated list of names, such as `-created,number`. A `-` before a name means
    /// descending. An empty string gives no keys. A name that was listed before is left out: the documents
    /// are already ordered by its key.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let names = SortNames::<Sort<Order>>::new()
    ///     .allow("created", o.created_at().asc())
    ///     .allow("total", o.total().asc());
    /// assert_eq!(
    ///     names.parse("-created,total")?.into_sort(),
    ///     doc! { "created_at": -1, "total": 1 }
    /// );
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownSort`] for the first name that is not allowed.
    pub fn parse(&self, list: &str) -> Result<Vec<K>> {
        let names = list.split(',').map(str::trim).filter(|_| !list.trim().is_empty());
        let mut listed = Vec::new();
        let mut keys = Vec::new();
        for name in names {
            let (name, direction) = match name.strip_prefix('-') {
                Some(name) => (name, Direction::Descending),
                None => (name, Direction::Ascending),
            };
            let key = self.by(name, direction)?;
            if !listed.contains(&name) {
                listed.push(name);
                keys.push(key);
            }
        }
        Ok(keys)
    }
}

impl<R> SortKey<R, f64> {
    /// The score of a [`$text` search](crate::Filter::text), highest first. An error of the server
    /// if the filter contains no `$text`.
    ///
    /// ```no_run
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let found = orders.find(|_| Filter::text("copper")).sort(|_| SortKey::text_score()).await?;
    /// # drop(found);
    /// # Ok(()) });
    /// ```
    #[must_use]
    pub fn text_score() -> Self {
        Self::new("score", doc! { "$meta": "textScore" })
    }
}

/// Sort keys from paths.
pub trait SortOps: AsPath {
    /// Smallest value first; documents without the field come before all others.
    /// [`erased`](SortKey::erased) gives keys of different fields one type, for a `match` or a
    /// `Vec`.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let sort = IntoSort::<Order>::into_sort((o.customer().asc(), o.total().desc()));
    /// assert_eq!(sort, doc! { "customer": 1, "total": -1 });
    /// ```
    fn asc(&self) -> SortKey<Self::Root, Self::Value, Self::Mode>
    where
        Self::Mode: Readable,
    {
        SortKey::new(self.raw().dotted(), 1)
    }

    /// Greatest value first; documents without the field come after all others.
    /// [`erased`](SortKey::erased) gives keys of different fields one type, for a `match` or a
    /// `Vec`.
    ///
    /// ```
    /// # use marula_guide::*;
    /// assert_eq!(
    ///     IntoSort::<Order>::into_sort(Order::fields().total().desc()),
    ///     doc! { "total": -1 }
    /// );
    /// ```
    fn desc(&self) -> SortKey<Self::Root, Self::Value, Self::Mode>
    where
        Self::Mode: Readable,
    {
        SortKey::new(self.raw().dotted(), -1)
    }

    /// In a direction that is chosen at run time.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let key = Order::fields().total().by(Direction::Descending);
    /// assert_eq!(IntoSort::<Order>::into_sort(key), doc! { "total": -1 });
    /// ```
    fn by(&self, direction: Direction) -> SortKey<Self::Root, Self::Value, Self::Mode>
    where
        Self::Mode: Readable,
    {
        SortKey::new(self.raw().dotted(), direction)
    }
}

impl<A: AsPath> SortOps for A {}

/// A sort of documents of type `R`: one key, a tuple of keys, a `Vec` of [`Sort`]s or of keys of
/// one type, or a raw document.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a sort of `{R}`",
    label = "expected `.asc()` or `.desc()` of a field, or a tuple of these"
)]
pub trait IntoSort<R> {
    /// The sort document. If a key occurs twice, the first one applies.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let keys: Vec<Sort<Order>> = vec![o.total().desc().erased(), o.customer().asc().erased()];
    /// assert_eq!(keys.into_sort(), doc! { "total": -1, "customer": 1 });
    /// ```
    fn into_sort(self) -> Document;
}

/// A sort by keys that have at most one value in a document, so that a page can start after the last
/// document of the page before it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a keyset sort of `{R}`",
    label = "expected `.asc()` or `.desc()` of fields outside of arrays and enum variants",
    note = "a field in an array or an enum variant has several values, or values of several types: pages sorted by it would skip \
            documents",
    note = "for keys that are chosen at run time use `KeysetSort`: call `.erased_keyset()` instead of `.erased()`"
)]
pub trait IntoKeyset<R>: IntoSort<R> {
    /// The keys, in their order. If a key occurs twice, the first one applies.
    ///
    /// ```
    /// # use marula_guide::*; use marula::IntoKeyset;
    /// let o = Order::fields();
    /// let keys: Vec<KeysetSort<Order>> = (o.note().asc(), o.total().desc()).into_keyset();
    /// assert_eq!(keys.into_sort(), doc! { "note": 1, "total": -1 });
    /// ```
    fn into_keyset(self) -> Vec<KeysetSort<R>>;
}

impl<R, T: KeysetKey, M: KeysetMode> IntoKeyset<R> for SortKey<R, T, M> {
    fn into_keyset(self) -> Vec<KeysetSort<R>> {
        vec![self.erased_keyset()]
    }
}

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

impl<R> IntoSort<R> for Sort<R> {
    fn into_sort(self) -> Document {
        doc! { self.path: self.direction }
    }
}

impl<R> IntoSort<R> for KeysetSort<R> {
    fn into_sort(self) -> Document {
        self.sort.into_sort()
    }
}

impl<R> IntoKeyset<R> for KeysetSort<R> {
    fn into_keyset(self) -> Vec<KeysetSort<R>> {
        vec![self]
    }
}

impl<R, S: IntoKeyset<R>> IntoKeyset<R> for Vec<S> {
    fn into_keyset(self) -> Vec<KeysetSort<R>> {
        self.into_iter().flat_map(S::into_keyset).collect()
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
        impl<R, $($name: IntoKeyset<R>),+> IntoKeyset<R> for ($($name,)+) {
            fn into_keyset(self) -> Vec<KeysetSort<R>> {
                #[allow(non_snake_case, reason = "the names of the type parameters serve as variables")]
                let ($($name,)+) = self;
                let mut keys = Vec::new();
                $(keys.extend($name.into_keyset());)+
                keys
            }
        }
    )* };
}

tuples! {
    A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H;
}
