//! Typed paths: the dotted name of a field, with the types of its root and its value, and a mode
//! that limits its use.

pub(crate) mod encrypted;
pub mod field;
pub mod marker;
mod raw;

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

pub use crate::path::raw::RawPath;
pub(crate) use crate::path::raw::{Implied, check_path};
use crate::path::{
    field::Field,
    marker::{Array, EntryKey, Map, Nullable, Writable},
};

/// A `PhantomData` that is always `Send + Sync`.
pub(crate) type Types<T> = PhantomData<fn() -> T>;

mod sealed {
    pub trait Sealed {}
}

/// The uses that a path allows. The accessors determine the mode:
///
/// | mode | example | filter, sort, index | update | keyset | expression |
/// |---|---|---|---|---|---|
/// | [`Read`] | `o.customer_id()` | yes | yes | yes | yes |
/// | [`Maybe`] | `o.address().city()`, the fields of an `Option` | yes | yes | yes | an `Option` |
/// | [`InVariant`] | `o.payment().card().last4()`, the fields of an enum variant | yes | yes | no | an `Option` |
/// | [`Indexed`] | `o.lines().nth(0).sku()` | yes | yes | no | no |
/// | [`Through`] | `o.lines().sku()`, `o.lines().any().sku()` | yes | no | no | no |
/// | [`Write`] | `o.lines().all_positional().sku()` | no | yes | no | no |
/// | [`Variable`] | `l.sku()` for the element `l` of an array in an expression | no | no | no | yes |
/// | [`MaybeVariable`] | the fields of an `Option` in `l` | no | no | no | an `Option` |
/// | [`Unpositioned`] | `o.lines().all_positional().parts().qty()` | no | no | no | no |
///
/// A [`Through`] path can be updated after an element is selected by
/// [`nth`](PathOps::nth), [`positional`](PathOps::positional),
/// [`all_positional`](PathOps::all_positional) or
/// [`filtered_positional`](crate::ArrayUpdateOps::filtered_positional).
pub trait Mode: sealed::Sealed {
    /// The mode of a path that continues into an array without selecting an element.
    type Element: Mode;
    /// The mode of a path that continues into a value that may be absent: the value of an `Option`,
    /// or an entry of a map.
    type Optional: Mode;
    /// The mode of a path that continues into a variant of an enum.
    type Variant: Mode;
    /// The mode of a path that continues into the element of an array at an index.
    type Nth: Mode;
}

/// A path to a value that is always present: for filters, sorts, indexes and updates.
#[derive(Debug)]
pub struct Read(());
/// A path to a value that may be absent: for filters, sorts, indexes and updates.
#[derive(Debug)]
pub struct Maybe(());
/// A path into a variant of an enum: for filters, sorts, indexes and updates. Not for keyset
/// pagination, because another variant can have a field of the same name with values of another type.
#[derive(Debug)]
pub struct InVariant(());
/// A path to an element at an index (`lines.0.sku`): for filters, sorts, indexes and updates. Not
/// for keyset pagination, because the element may be absent, and not for expressions, in which `0`
/// would be the name of a field.
#[derive(Debug)]
pub struct Indexed(());
/// A path that goes through an array (`lines.sku`): for filters, sorts and indexes only.
#[derive(Debug)]
pub struct Through(());
/// A path with a positional segment (`lines.$[].sku`): for updates only.
#[derive(Debug)]
pub struct Write(());
/// A path that goes through an array after a positional segment (`orders.$[].lines.sku`). It has no
/// operators: the elements of that array must be selected by a positional segment or an index, too.
#[derive(Debug)]
pub struct Unpositioned(());
/// A path from a variable of an expression (`$$v0.sku`): for expressions only.
#[derive(Debug)]
pub struct Variable(());
/// A path from a variable of an expression to a value that may be absent: for expressions only.
#[derive(Debug)]
pub struct MaybeVariable(());

macro_rules! modes {
    ($($mode:ident -> $element:ident, $optional:ident, $variant:ident, $nth:ident;)*) => { $(
        impl sealed::Sealed for $mode {}
        impl Mode for $mode {
            type Element = $element;
            type Optional = $optional;
            type Variant = $variant;
            type Nth = $nth;
        }
    )* };
}
modes! {
    Read -> Through, Maybe, InVariant, Indexed;
    Maybe -> Through, Maybe, InVariant, Indexed;
    InVariant -> Through, InVariant, InVariant, Indexed;
    Indexed -> Through, Indexed, Indexed, Indexed;
    Through -> Through, Through, Through, Through;
    Write -> Unpositioned, Write, Write, Write;
    Unpositioned -> Unpositioned, Unpositioned, Unpositioned, Unpositioned;
    Variable -> Unpositioned, MaybeVariable, MaybeVariable, Unpositioned;
    MaybeVariable -> Unpositioned, MaybeVariable, MaybeVariable, Unpositioned;
}

/// A value that represents a path: a [`Path`], the fields of an embedded document, an array.
#[diagnostic::on_unimplemented(
    message = "this needs the path of a field that is not encrypted, found `{Self}`",
    note = "an encrypted field has only the operators of its queries, `set` and `unset`; see `marula::encryption`"
)]
pub trait AsPath {
    /// The type of the document at which the path starts.
    type Root;
    /// The Rust type of the value at the path.
    type Value;
    /// The uses that the path allows.
    type Mode: Mode;
    /// The untyped path.
    ///
    /// ```
    /// # use marula_guide::*;
    /// assert_eq!(Order::fields().lines().sku().raw().dotted(), "lines.sku");
    /// ```
    fn raw(&self) -> &RawPath;
    /// Number of array levels of the value itself: 0 if it is not an array, 2 if it is an array of
    /// arrays. [`raw`](AsPath::raw) contains these levels, because it is the path of the elements.
    ///
    /// An associated function, because a method would hide a field of the same name.
    #[doc(hidden)]
    #[must_use]
    fn own_arrays(_path: &Self) -> usize {
        0
    }
}

/// The untyped path of the value: [`AsPath::raw`] without the value's own array levels.
pub(crate) fn to_value_path<A: AsPath>(path: &A) -> RawPath {
    path.raw().clone().without_arrays(A::own_arrays(path))
}

/// The same as [`to_value_path`], without a copy if the value is not an array.
pub(crate) fn value_path<A: AsPath>(path: &A) -> Cow<'_, RawPath> {
    if A::own_arrays(path) == 0 {
        Cow::Borrowed(path.raw())
    } else {
        Cow::Owned(to_value_path(path))
    }
}

/// A path from `R` to a value of type `T`. Created by the accessors of [`Model::fields`].
///
/// The operators are methods of the traits [`FilterOps`], [`UpdateOps`], [`ArrayUpdateOps`],
/// [`SortOps`] and [`PathOps`], which [`prelude`](crate::prelude) exports.
///
/// [`Model::fields`]: crate::Model::fields
/// [`FilterOps`]: crate::FilterOps
/// [`UpdateOps`]: crate::UpdateOps
/// [`ArrayUpdateOps`]: crate::ArrayUpdateOps
/// [`SortOps`]: crate::SortOps
pub struct Path<R, T, M = Read> {
    raw: RawPath,
    types: Types<(R, T, M)>,
}

impl<R, T, M> Path<R, T, M> {
    /// The path of the root document itself.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let index = index::IndexDeclaration::new().wildcard(&Path::<Order, Order>::root());
    /// assert_eq!(index.index_name(), "$**_1");
    /// ```
    #[must_use]
    pub fn root() -> Self {
        Self::from_raw(RawPath::default())
    }

    pub(crate) fn from_raw(raw: RawPath) -> Self {
        Path {
            raw,
            types: PhantomData,
        }
    }

    /// The path of a field by its stored name. Called by the derives; the caller guarantees the type.
    #[must_use]
    #[inline]
    pub fn step<U>(&self, name: &'static str) -> Path<R, U, M> {
        Path::from_raw(self.raw.step(name))
    }

    /// [`step`](Self::step) to a field with `#[document(skip_none)]`: an update to `None` removes the field.
    #[must_use]
    #[inline]
    pub fn step_without_null<U>(&self, name: &'static str) -> Path<R, U, M> {
        Path::from_raw(self.raw.step_without_null(name))
    }

    /// The same path with another value type. Called by the derives; the caller guarantees the
    /// type.
    #[must_use]
    pub fn retype<U>(&self) -> Path<R, U, M> {
        Path::from_raw(self.raw.clone())
    }

    /// The path of an encrypted field.
    pub(crate) fn encrypted(self) -> Self {
        Path::from_raw(self.raw.encrypted())
    }

    /// The same path inside an enum variant that is stored with a tag: filters on it also require
    /// the tag, and updates change only values that have it.
    #[must_use]
    pub fn implying<U>(&self, tag_name: &'static str, tag: &'static str) -> Path<R, U, M::Variant>
    where
        M: Mode,
    {
        Path::from_raw(self.raw.implying(tag_name, Some(tag)))
    }

    /// The path of the content of an externally tagged enum variant: `{Variant: content}`. Updates
    /// change only values that have this key; filters that match a missing field also require it.
    #[must_use]
    pub fn keyed<U>(&self, variant: &'static str) -> Path<R, U, M::Variant>
    where
        M: Mode,
    {
        Path::from_raw(self.raw.implying(variant, None).step(variant))
    }

    /// The same path inside a variant of an untagged enum. Updates and filters inside it are
    /// rejected, because a stored value does not show which variant it is.
    #[must_use]
    pub fn untagged<U>(&self) -> Path<R, U, M::Variant>
    where
        M: Mode,
    {
        Path::from_raw(self.raw.untagged())
    }

    /// The same path, for a value whose fields are those of the document (`#[serde(flatten)]`),
    /// beside the fields with the names in these lists.
    #[must_use]
    pub fn flat<U>(&self, names: &'static [&'static [&'static str]]) -> Path<R, U, M> {
        Path::from_raw(self.raw.flattened(names))
    }

    pub(crate) fn into_element<U>(self) -> Path<R, U, M::Element>
    where
        M: Mode,
    {
        Path::from_raw(self.raw.mark_array())
    }

    pub(crate) fn into_optional<U>(self) -> Path<R, U, M::Optional>
    where
        M: Mode,
    {
        Path::from_raw(self.raw)
    }

    pub(crate) fn into_type<U>(self) -> Path<R, U, M> {
        Path::from_raw(self.raw)
    }
}

impl<R, T, M> Clone for Path<R, T, M> {
    fn clone(&self) -> Self {
        Self::from_raw(self.raw.clone())
    }
}

impl<R, T, M> fmt::Debug for Path<R, T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Path").field(&self.raw.dotted()).finish()
    }
}

impl<R, T, M: Mode> AsPath for Path<R, T, M> {
    type Root = R;
    type Value = T;
    type Mode = M;
    fn raw(&self) -> &RawPath {
        &self.raw
    }
}

/// A path whose value wraps another one: an array, an `Option`, a newtype. It dereferences to the
/// accessors of the wrapped value, so that `order.lines().sku()` and `order.address().city()`
/// follow the structure of the documents.
///
/// An operator has precedence over a field of the same name here: with a field `size` in the
/// elements, write `lines().any().size()`; in an `Option`, write `part().some().size()`.
pub struct Wrapped<V, N, M> {
    inner: N,
    /// Number of array levels of the value.
    arrays: usize,
    types: Types<(V, M)>,
}

impl<V, N: AsPath, M> Wrapped<V, N, M> {
    /// Wraps the accessors of the inner value.
    #[doc(hidden)]
    pub fn new(inner: N) -> Self {
        Wrapped {
            arrays: N::own_arrays(&inner),
            inner,
            types: PhantomData,
        }
    }

    /// Wraps the accessors of the elements of an array.
    pub(crate) fn array(elements: N) -> Self {
        Wrapped {
            arrays: N::own_arrays(&elements) + 1,
            inner: elements,
            types: PhantomData,
        }
    }
}

impl<V, N: Clone, M> Clone for Wrapped<V, N, M> {
    fn clone(&self) -> Self {
        Wrapped {
            inner: self.inner.clone(),
            arrays: self.arrays,
            types: PhantomData,
        }
    }
}

impl<V, N: AsPath, M> fmt::Debug for Wrapped<V, N, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Path").field(&self.inner.raw().dotted()).finish()
    }
}

impl<V, N: AsPath, M: Mode> AsPath for Wrapped<V, N, M> {
    type Root = N::Root;
    type Value = V;
    type Mode = M;
    fn raw(&self) -> &RawPath {
        self.inner.raw()
    }
    fn own_arrays(path: &Self) -> usize {
        path.arrays
    }
}

impl<V, N, M> Deref for Wrapped<V, N, M> {
    type Target = N;
    fn deref(&self) -> &N {
        &self.inner
    }
}

/// The innermost accessors of a path. The derives use them, so that no operator hides a field of
/// the same name.
#[doc(hidden)]
pub trait Inner {
    /// The innermost accessors.
    type Accessors;
    /// The innermost accessors, through all arrays, options and newtypes.
    fn inner(&self) -> &Self::Accessors;
}

impl<R, T, M> Inner for Path<R, T, M> {
    type Accessors = Self;
    fn inner(&self) -> &Self {
        self
    }
}

impl<V, N: Inner, M> Inner for Wrapped<V, N, M> {
    type Accessors = N::Accessors;
    fn inner(&self) -> &N::Accessors {
        self.inner.inner()
    }
}

/// The accessors of the elements of `A`.
pub type ElementNav<A, R, M> = <<A as Array>::Element as Field>::Nav<R, M>;

/// The accessors of the elements of `A` at an untyped path.
pub(crate) fn element<A: Array<Element: Field>, R, M: Mode>(raw: RawPath) -> ElementNav<A, R, M> {
    <A::Element as Field>::nav(Path::from_raw(raw))
}

/// Paths to parts of a value: array elements, map entries, the value of an `Option`.
pub trait PathOps: AsPath + Sized {
    /// Any element of an array: `scores().any().gt(90)` matches if at least one element is greater
    /// than 90.
    ///
    /// ```
    /// # use marula_guide::*;
    /// assert_eq!(
    ///     Order::fields().tags().any().starts_with("v").to_string(),
    ///     r#"{"tags": {"$regex": "^v"}}"#
    /// );
    /// ```
    fn any(&self) -> ElementNav<Self::Value, Self::Root, <Self::Mode as Mode>::Element>
    where
        Self::Value: Array<Element: Field>,
    {
        element::<Self::Value, _, _>(to_value_path(self).mark_array())
    }

    /// The element of an array at an index, from 0. An update after the end of the array creates the element
    /// and fills those in between with null, which may not be readable; see [`set`](crate::UpdateOps::set).
    ///
    /// In a filter the server interprets the number also as a field name: `lines().nth(0).note().is_null()`
    /// also matches if an element has no field named `0`, which is nearly always the case.
    ///
    /// ```
    /// # use marula_guide::*;
    /// assert_eq!(
    ///     Order::fields().lines().nth(0).qty().gt(1).to_string(),
    ///     r#"{"lines.0.qty": {"$gt": 1}}"#
    /// );
    /// ```
    fn nth(&self, index: u32) -> ElementNav<Self::Value, Self::Root, <Self::Mode as Mode>::Nth>
    where
        Self::Value: Array<Element: Field>,
    {
        element::<Self::Value, _, _>(to_value_path(self).element(&index.to_string()))
    }

    /// `$`: the first element that the filter of the update matched. The call fails with
    /// [`Error::InvalidUpdate`](crate::Error::InvalidUpdate) if the filter has no condition on the array that is not negated,
    /// and for an upsert. A path can contain only one `$`.
    ///
    /// ```
    /// # use marula_guide::*;
    /// assert_eq!(
    ///     Order::fields().lines().positional().qty().inc(1).to_string(),
    ///     r#"{"$inc": {"lines.$.qty": 1}}"#
    /// );
    /// ```
    fn positional(&self) -> ElementNav<Self::Value, Self::Root, Write>
    where
        Self::Value: Array<Element: Field>,
        Self::Mode: Writable,
    {
        element::<Self::Value, _, _>(to_value_path(self).element("$"))
    }

    /// `$[]`: every element. For those that match a condition see
    /// [`filtered_positional`](crate::ArrayUpdateOps::filtered_positional).
    ///
    /// ```
    /// # use marula_guide::*;
    /// assert_eq!(
    ///     Order::fields().lines().all_positional().qty().set(0).to_string(),
    ///     r#"{"$set": {"lines.$[].qty": 0}}"#
    /// );
    /// ```
    fn all_positional(&self) -> ElementNav<Self::Value, Self::Root, Write>
    where
        Self::Value: Array<Element: Field>,
        Self::Mode: Writable,
    {
        element::<Self::Value, _, _>(to_value_path(self).element("$[]"))
    }

    /// The value of a map under a key. For updates of a part of a missing entry see
    /// [`set`](crate::UpdateOps::set).
    ///
    /// A key that contains a dot or a NUL, starts with `$` or is empty cannot be part of a path.
    /// A key of a flattened map cannot be the name of a field beside the map. With such a key, the
    /// call that uses it fails with [`InvalidFilter`](crate::Error::InvalidFilter) or
    /// [`InvalidUpdate`](crate::Error::InvalidUpdate).
    ///
    /// ```
    /// # use marula_guide::*;
    /// # #[derive(Document)] #[document(collection = "posts")]
    /// # struct Post { _id: i64, labels: std::collections::HashMap<String, String> }
    /// let filter = Post::fields().labels().entry("lang").eq("de");
    /// assert_eq!(filter.to_string(), r#"{"labels.lang": {"$eq": "de"}}"#);
    /// ```
    fn entry(
        &self,
        key: impl EntryKey<<Self::Value as Map>::Key>,
    ) -> <<Self::Value as Map>::Value as Field>::Nav<Self::Root, <Self::Mode as Mode>::Optional>
    where
        Self::Value: Map<Value: Field>,
    {
        <<Self::Value as Map>::Value as Field>::nav(Path::from_raw(self.raw().entry(&key.text())))
    }

    /// The value of an `Option`. Needed only if an operator hides a field of the same name.
    ///
    /// ```
    /// # use marula_guide::*;
    /// assert_eq!(Order::fields().note().some().eq("x").to_string(), r#"{"note": {"$eq": "x"}}"#);
    /// ```
    fn some(
        &self,
    ) -> <<Self::Value as Nullable>::Inner as Field>::Nav<Self::Root, <Self::Mode as Mode>::Optional>
    where
        Self::Value: Nullable<Inner: Field>,
    {
        <<Self::Value as Nullable>::Inner as Field>::nav(Path::from_raw(to_value_path(self)))
    }
}

impl<A: AsPath> PathOps for A {}
