//! Whether a type contains a `uuid::Uuid`, which serde cannot read from its buffer: computed at
//! compile time for the derives.
//!
//! For flattened fields and for internally tagged and untagged enums serde copies values into a
//! buffer before it reads them. The buffer has no form for Binary subtype 4 that `uuid::Uuid`
//! reads. A flattened `Option` whose value cannot be read is `None`, and the next replacement of
//! the document would delete the stored value. The derives therefore reject such types.
//!
//! The constants of recursive types would depend on themselves, so each has a [`Depth`], which is
//! one less for the fields of a struct or an enum. The checks use increasing depths: the constants
//! of one depth are known when those of the next depth are computed, so that the compiler does not
//! exceed its recursion limit. A UUID below 32 nested structs is not found.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::Arc;

use crate::bson::{
    Binary, Bson, DateTime, Decimal128, Document, ObjectId, Regex, Timestamp, Uuid as BsonUuid,
};

/// A type of which is known whether it contains a `uuid::Uuid`, within `N` nested structs and
/// enums.
pub trait ContainsUuid<N: Depth> {
    /// Whether a value can contain a `uuid::Uuid`.
    const FOUND: bool;
    /// Whether a field of a struct or an enum can contain one, within `N` nested types.
    const IN_FIELDS: bool = false;
}

/// A number of nested structs and enums.
pub trait Depth {
    /// The depth of the fields of a struct or an enum at this depth.
    type OfFields: Depth;
    /// The constant of a struct or an enum at this depth.
    type Of<T: ContainsUuid<Self::OfFields>>: Flag;
}

/// A Boolean constant.
pub trait Flag {
    /// Its value.
    const SET: bool;
}

/// The depth 0.
#[derive(Debug)]
pub struct Bottom(());

/// The depth `N + 1`.
#[derive(Debug)]
pub struct Level<N>(PhantomData<fn() -> N>);

type FourLevels<N> = Level<Level<Level<Level<N>>>>;

/// The first depth of the checks.
pub type Depth4 = FourLevels<Bottom>;
/// The depth after [`Depth4`].
pub type Depth8 = FourLevels<Depth4>;
/// The depth after [`Depth8`].
pub type Depth12 = FourLevels<Depth8>;
/// The depth after [`Depth12`].
pub type Depth16 = FourLevels<Depth12>;
/// The depth after [`Depth16`].
pub type Depth20 = FourLevels<Depth16>;
/// The depth after [`Depth20`].
pub type Depth24 = FourLevels<Depth20>;
/// The depth after [`Depth24`].
pub type Depth28 = FourLevels<Depth24>;
/// The last depth of the checks.
pub type Depth32 = FourLevels<Depth28>;

/// `false`.
#[derive(Debug)]
pub struct Unset(());

impl Flag for Unset {
    const SET: bool = false;
}

/// The constant of the fields of `T` at the depth `N`.
#[derive(Debug)]
pub struct InFields<T, N>(PhantomData<fn() -> (T, N)>);

impl<T: ContainsUuid<N>, N: Depth> Flag for InFields<T, N> {
    const SET: bool = T::IN_FIELDS;
}

impl Depth for Bottom {
    type OfFields = Bottom;
    type Of<T: ContainsUuid<Bottom>> = Unset;
}

impl<N: Depth> Depth for Level<N> {
    type OfFields = N;
    type Of<T: ContainsUuid<N>> = InFields<T, N>;
}

impl<N: Depth> ContainsUuid<N> for uuid::Uuid {
    const FOUND: bool = true;
}

macro_rules! without_uuids {
    ($($t:ty)*) => { $(
        impl<N: Depth> ContainsUuid<N> for $t {
            const FOUND: bool = false;
        }
    )* };
}

without_uuids! {
    i8 i16 i32 i64 u8 u16 u32 u64 usize f32 f64 bool char str String
    ObjectId DateTime Decimal128 Timestamp Binary Regex BsonUuid Bson Document
}

macro_rules! of_contents {
    ($([$($generics:tt)*] $t:ty;)*) => { $(
        impl<N: Depth, T: ContainsUuid<N>, $($generics)*> ContainsUuid<N> for $t {
            const FOUND: bool = T::FOUND;
        }
    )* };
}

// The keys of maps are stored as text, which is read from the buffer.
of_contents! {
    [] Option<T>;
    [] Vec<T>;
    [] VecDeque<T>;
    [] LinkedList<T>;
    [] BTreeSet<T>;
    [] BinaryHeap<T>;
    [S] HashSet<T, S>;
    [] [T];
    [const LEN: usize] [T; LEN];
    [K] BTreeMap<K, T>;
    [K, S] HashMap<K, T, S>;
}

macro_rules! of_pointers {
    ($($t:ident)*) => { $(
        impl<N: Depth, T: ContainsUuid<N> + ?Sized> ContainsUuid<N> for $t<T> {
            const FOUND: bool = T::FOUND;
        }
    )* };
}

of_pointers! { Box Rc Arc }

impl<N: Depth, T: ToOwned<Owned: ContainsUuid<N>> + ?Sized> ContainsUuid<N> for Cow<'_, T> {
    const FOUND: bool = <T::Owned as ContainsUuid<N>>::FOUND;
}

/// The constant of any type: that of [`ContainsUuid`], or that of [`NoUuids`] where it is not
/// implemented, since an inherent constant is found before that of a trait.
#[derive(Debug)]
pub struct Uuids<T, N>(PhantomData<fn() -> (T, N)>);

impl<T: ContainsUuid<N>, N: Depth> Uuids<T, N> {
    /// See [`ContainsUuid::FOUND`].
    pub const FOUND: bool = T::FOUND;
}

/// Used for types of other crates, whose content is not known.
pub trait NoUuids {
    /// `false`.
    const FOUND: bool = false;
}

impl<T, N> NoUuids for Uuids<T, N> {}
