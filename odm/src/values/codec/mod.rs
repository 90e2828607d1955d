//! How values are stored: the traits [`Encode`] and [`Decode`].
//!
//! `#[derive(Document)]` and `#[derive(Embedded)]` implement the traits, by the attributes of serde. The
//! [list of types](crate::path::field) has the forms of all others.
//!
//! A field is stored in another form by `#[document(as = …)]` with a type of [`forms`](crate::forms), or with one of the
//! application that implements [`StoredAs`].

mod containers;
#[doc(hidden)]
pub mod probe;
#[doc(hidden)]
pub mod read;
mod scalars;
#[doc(hidden)]
pub mod serde;
#[doc(hidden)]
pub mod write;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

pub use crate::base::bson::codec::{Elements, Fields, Names, Value, Writer};
use crate::base::{
    bson::{
        Bson, DecodeError, EncodeError, RawDocumentBuf,
        codec::{self as driver, AppendedBy},
    },
    error::{Error, ValueError},
};
pub use crate::form::map_key::MapKey;

/// A type with a stored form.
///
/// A wrapper of another type, as it is written by the derive for a newtype:
///
/// ```
/// use marula::bson::{DecodeError, EncodeError};
/// use marula::codec::{Decode, Encode, Value, Writer};
///
/// struct Cents(i64);
///
/// impl Encode for Cents {
///     fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
///         self.0.encode(out)
///     }
/// }
///
/// impl<'de> Decode<'de> for Cents {
///     fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
///         i64::decode(value).map(Cents)
///     }
/// }
/// # let _ = Cents(5);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no stored form",
    label = "`{Self}` does not implement `marula::codec::Encode`",
    note = "for your own type, derive `marula::Embedded`",
    note = "for a type of another crate, `#[document(opaque)]` stores what its `Serialize` implementation writes, and \
            `#[document(as = Type)]` what it is converted to"
)]
pub trait Encode {
    /// Writes the value, after its key.
    ///
    /// # Errors
    /// The value has no stored form.
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError>;

    /// Writes a field of a document, whose name is in the source. Default: the key, and then the value by
    /// [`encode`](Self::encode). The types of this crate with one BSON type write both at once, which costs less.
    ///
    /// # Errors
    /// The value has no stored form; the error has the name.
    #[inline(always)]
    fn encode_field(&self, name: &'static str, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        out.field(name, |out| self.encode(out))
    }

    /// Writes a list of values. Default: an array. The list of `u8` is Binary.
    ///
    /// # Errors
    /// One of the values has no stored form; the error has its index.
    fn encode_slice(items: &[Self], out: &mut Writer<'_>) -> Result<(), EncodeError>
    where
        Self: Sized,
    {
        write::array(out, items)
    }
}

/// A type that is read from its stored form. The value may borrow from the document, which has the lifetime `'de`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from its stored form",
    label = "`{Self}` does not implement `marula::codec::Decode`",
    note = "for your own type, derive `marula::Embedded`",
    note = "for a type of another crate, `#[document(opaque)]` reads what its `Deserialize` implementation reads, and \
            `#[document(as = Type)]` what it is converted from"
)]
pub trait Decode<'de>: Sized {
    /// Reads the value.
    ///
    /// # Errors
    /// The stored value has another form. The enclosing document adds the place of the value.
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError>;

    /// The value of a field that a document does not have, if there is one: `None` for an `Option`.
    #[inline]
    #[must_use]
    fn missing() -> Option<Self> {
        None
    }

    /// Reads the value of the field that was found last into `slot`, and returns `true`. The derives call it.
    ///
    /// # Errors
    /// `slot` is filled: the field is there twice. Or the value has another form. The error has the place of the field.
    #[inline(always)]
    fn read_field(field: &Fields<'de>, slot: &mut Option<Self>) -> Result<bool, DecodeError> {
        field.read(slot, Self::decode)
    }

    /// The value of a field at the end of the document: that of `slot`, or [`missing`](Self::missing). The derives call it.
    ///
    /// # Errors
    /// There is none.
    #[inline(always)]
    fn required(slot: Option<Self>, name: &'static str) -> Result<Self, DecodeError> {
        read::required(slot, name, Self::missing)
    }

    /// Reads a list of values.
    ///
    /// # Errors
    /// The stored value is not an array, or one of its elements has another form; the error has its index.
    fn decode_vec(value: &Value<'de>) -> Result<Vec<Self>, DecodeError> {
        read::list(value)
    }

    /// Reads a list of `N` values.
    ///
    /// # Errors
    /// The stored value is not an array, has another number of elements, or one of them has another form; the error has its
    /// index.
    fn decode_array<const N: usize>(value: &Value<'de>) -> Result<[Self; N], DecodeError> {
        read::array(value)
    }
}

/// A type that is read without borrowing from the document.
pub trait DecodeOwned: for<'de> Decode<'de> {}
impl<T: for<'de> Decode<'de>> DecodeOwned for T {}

/// A type that is stored as a document, and whose fields can also be written into the document of another type: a struct, an
/// enum with a tag, a map. `#[serde(flatten)]` requires it.
#[diagnostic::on_unimplemented(
    message = "the fields of `{Self}` cannot be those of another document",
    label = "`{Self}` is not stored as a document"
)]
pub trait EncodeFields {
    /// The names of the fields.
    const NAMES: Names;

    /// Writes the fields.
    ///
    /// # Errors
    /// One of the values has no stored form; the error has its path.
    fn encode_fields(&self, out: &mut Writer<'_>) -> Result<(), EncodeError>;
}

/// A type that is read field by field, which needs no buffer: each field of a document is offered to the types whose fields it
/// could be. `#[serde(flatten)]` requires it.
#[diagnostic::on_unimplemented(
    message = "the fields of `{Self}` cannot be those of another document",
    label = "`{Self}` is not stored as a document"
)]
pub trait DecodeFields<'de> {
    /// The value of the fields: `Self`, except for the variants of an enum.
    type Out;
    /// The fields read so far.
    type Partial;
    /// The keys that [`take`](Self::take) knows by their index.
    const KEYS: &'static [&'static str];
    /// Whether other keys are errors.
    const DENY_UNKNOWN: bool = false;
    /// Whether the type takes all keys. It is offered those that no other takes.
    const IS_MAP: bool = false;
    /// Whether the type is read from all keys, also those of fields beside it, so that it cannot be flattened.
    const READS_ALL: bool = false;

    /// Begins to read a document, whose elements contain the tags of enums.
    ///
    /// # Errors
    /// The document has no tag, or an unknown one.
    fn begin(elements: Elements<'de>) -> Result<Self::Partial, DecodeError>;

    /// [`begin`](Self::begin) for an `Option`: `None` if the document has nothing of the type, as far as it shows.
    ///
    /// # Errors
    /// The document has an unknown tag, or a field of the type and no tag.
    fn begin_optional(elements: Elements<'de>) -> Result<Option<Self::Partial>, DecodeError> {
        match Self::begin(elements) {
            Ok(partial) => Ok(Some(partial)),
            Err(error) if read::has_any(elements, Self::KEYS)? => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Reads the current field if it is one of this type. Returns whether it is. `index`: that of its key in `KEYS`, or
    /// [`OTHER`](crate::bson::codec::OTHER).
    ///
    /// # Errors
    /// The value has another form, or the field is there twice.
    fn take(partial: &mut Self::Partial, index: usize, field: &Fields<'de>) -> Result<bool, DecodeError>;

    /// Makes the value.
    ///
    /// # Errors
    /// A field is missing.
    fn finish(partial: Self::Partial) -> Result<Self::Out, DecodeError>;
}

/// A type that is stored in place of `T`, as `#[document(as = Self)]` states. The stored type implements it, so that an
/// application can do so for a type of its own and a field's type of another crate.
///
/// ```
/// use std::time::Duration;
///
/// use marula::bson::{DecodeError, EncodeError};
/// use marula::codec::StoredAs;
///
/// #[derive(marula::Embedded)]
/// struct Seconds(i64);
///
/// impl StoredAs<Duration> for Seconds {
///     fn store(value: &Duration) -> Result<Self, EncodeError> {
///         let seconds = i64::try_from(value.as_secs());
///         seconds.map(Seconds).map_err(|_| EncodeError::new("the duration has more seconds than an Int64"))
///     }
///     fn load(self) -> Result<Duration, DecodeError> {
///         let seconds = u64::try_from(self.0);
///         seconds.map(Duration::from_secs).map_err(|_| DecodeError::new("a duration is not negative"))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{T}` is not stored as `{Self}`",
    label = "`{Self}` does not implement `marula::codec::StoredAs<{T}>`"
)]
pub trait StoredAs<T>: Sized {
    /// The stored value.
    ///
    /// # Errors
    /// It cannot represent the value.
    fn store(value: &T) -> Result<Self, EncodeError>;

    /// The value of a stored one.
    ///
    /// # Errors
    /// The type cannot represent it.
    fn load(self) -> Result<T, DecodeError>;
}

impl<T, S: StoredAs<T>> StoredAs<Option<T>> for Option<S> {
    fn store(value: &Option<T>) -> Result<Self, EncodeError> {
        value.as_ref().map(S::store).transpose()
    }

    fn load(self) -> Result<Option<T>, DecodeError> {
        self.map(S::load).transpose()
    }
}

/// Bytes as an array of numbers: `as = Vec<i32>`.
impl StoredAs<u8> for i32 {
    fn store(value: &u8) -> Result<Self, EncodeError> {
        Ok(i32::from(*value))
    }

    fn load(self) -> Result<u8, DecodeError> {
        u8::try_from(self).map_err(|_| DecodeError::new("expected u8, found an integer out of its range"))
    }
}

impl<T, S: StoredAs<T>> StoredAs<Box<T>> for Box<S> {
    fn store(value: &Box<T>) -> Result<Self, EncodeError> {
        S::store(value).map(Box::new)
    }

    fn load(self) -> Result<Box<T>, DecodeError> {
        S::load(*self).map(Box::new)
    }
}

macro_rules! stored_maps {
    ($($map:ident [$($key:tt)*] [$($hasher:ident: $($bound:tt)*)?];)*) => { $(
        impl<K: MapKey + Clone $($key)*, T, S: StoredAs<T> $(, $hasher: $($bound)*)?> StoredAs<$map<K, T $(, $hasher)?>>
            for $map<K, S $(, $hasher)?>
        {
            fn store(value: &$map<K, T $(, $hasher)?>) -> Result<Self, EncodeError> {
                let stored = value.iter().map(|(key, value)| match S::store(value) {
                    Ok(value) => Ok((key.clone(), value)),
                    Err(error) => Err(error.in_field(&key.key())),
                });
                stored.collect()
            }

            fn load(self) -> Result<$map<K, T $(, $hasher)?>, DecodeError> {
                let loaded = self.into_iter().map(|(key, value)| match S::load(value) {
                    Ok(value) => Ok((key, value)),
                    Err(error) => Err(error.in_field(&key.key())),
                });
                loaded.collect()
            }
        }
    )* };
}
stored_maps! {
    BTreeMap [+ Ord] [];
    HashMap [+ Eq + Hash] [H: BuildHasher + Default];
}

macro_rules! stored_sets {
    ($($set:ident [$($item:tt)*] [$($hasher:ident: $($bound:tt)*)?];)*) => { $(
        impl<T: $($item)*, S: StoredAs<T> + $($item)* $(, $hasher: $($bound)*)?> StoredAs<$set<T $(, $hasher)?>>
            for $set<S $(, $hasher)?>
        {
            fn store(value: &$set<T $(, $hasher)?>) -> Result<Self, EncodeError> {
                let stored: Self = value.iter().map(S::store).collect::<Result<_, _>>()?;
                if stored.len() < value.len() {
                    return Err(EncodeError::new("two items of the set are stored as the same one"));
                }
                Ok(stored)
            }

            fn load(self) -> Result<$set<T $(, $hasher)?>, DecodeError> {
                self.into_iter().map(S::load).collect()
            }
        }
    )* };
}
stored_sets! {
    BTreeSet [Ord] [];
    HashSet [Eq + Hash] [H: BuildHasher + Default];
}

impl<T, S: StoredAs<T>, const N: usize> StoredAs<[T; N]> for Vec<S> {
    fn store(value: &[T; N]) -> Result<Self, EncodeError> {
        let stored = value.iter().enumerate();
        stored
            .map(|(index, value)| S::store(value).map_err(|error| error.at_index(index)))
            .collect()
    }

    fn load(self) -> Result<[T; N], DecodeError> {
        let loaded: Vec<T> = self.load()?;
        let length = loaded.len();
        loaded
            .try_into()
            .map_err(|_| DecodeError::new(format!("expected an array of {N} elements, found {length}")))
    }
}

impl<T, S: StoredAs<T>> StoredAs<Vec<T>> for Vec<S> {
    fn store(value: &Vec<T>) -> Result<Self, EncodeError> {
        let stored = value.iter().enumerate();
        stored
            .map(|(index, value)| S::store(value).map_err(|error| error.at_index(index)))
            .collect()
    }

    fn load(self) -> Result<Vec<T>, DecodeError> {
        let loaded = self.into_iter().enumerate();
        loaded
            .map(|(index, value)| S::load(value).map_err(|error| error.at_index(index)))
            .collect()
    }
}

/// The bytes of a value that is stored as a document.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use marula::codec::{from_slice, to_vec};
///
/// let counts = BTreeMap::from([(2_024_u32, 5_i64), (2_025, 7)]);
/// let bytes = to_vec(&counts)?;
/// assert_eq!(from_slice::<BTreeMap<u32, i64>>(&bytes)?, counts);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The value is not stored as a document, or a part of it has no stored form.
pub fn to_vec<T: Encode + ?Sized>(value: &T) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    Writer::write(&mut out, |out| value.encode(out))?;
    Ok(out)
}

/// Reads a document, which must fill `bytes` exactly.
///
/// # Errors
/// The bytes are malformed, or the document does not have the form of `T`.
#[inline]
pub fn from_slice<'de, T: Decode<'de>>(bytes: &'de [u8]) -> Result<T, DecodeError> {
    let value = Value::of_document(bytes);
    T::decode(&value).map_err(|error| value.locate(error))
}

/// The stored document of a value.
///
/// # Errors
/// The error of the part that has no stored form, with its path.
pub(crate) fn to_raw<T: Encode>(value: &T) -> crate::Result<RawDocumentBuf> {
    let bytes = to_vec(value).map_err(|error| {
        let path = error.path().to_owned();
        Error::encode(path, ValueError::new(error.message()))
    })?;
    RawDocumentBuf::from_bytes(bytes).map_err(|error| Error::encode("", ValueError::new(error.to_string())))
}

/// A document that the driver appends to the buffer of a command.
pub(crate) fn appended<'a, T: Encode>(
    document: &'a T,
) -> AppendedBy<impl Fn(&mut Vec<u8>) -> Result<(), EncodeError> + 'a> {
    AppendedBy(move |out: &mut Vec<u8>| Writer::write(out, |out| document.encode(out)))
}

/// The stored value of a value.
///
/// # Errors
/// A part of it has no stored form.
pub(crate) fn to_bson<T: Encode + ?Sized>(value: &T) -> Result<Bson, ValueError> {
    driver::to_bson(|out| value.encode(out)).map_err(ValueError::from)
}

/// The value that the `Serialize` of a value writes.
///
/// # Errors
/// The value cannot be represented as BSON.
pub(crate) fn serialized<T: ::serde::Serialize + ?Sized>(value: &T) -> Result<Bson, ValueError> {
    driver::to_bson(|out| out.serialize(value)).map_err(ValueError::from)
}

/// Reads a stored value.
///
/// # Errors
/// It does not have the form of `T`.
pub(crate) fn from_bson<T: DecodeOwned>(value: &Bson) -> Result<T, DecodeError> {
    driver::from_bson(value, |value| T::decode(value))
}
