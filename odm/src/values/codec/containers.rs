//! Options, pointers, lists and maps.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::rc::Rc;
use std::sync::Arc;

use crate::{
    base::{
        bson::{DecodeError, Document, EncodeError},
        tuples::each_tuple,
    },
    values::codec::{
        Decode, DecodeFields, Elements, Encode, EncodeFields, Fields, MapKey, Names, Value, Writer, read,
        write,
    },
};

impl<T: Encode> Encode for Option<T> {
    #[inline]
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        match self {
            Some(value) => value.encode(out),
            None => ().encode(out),
        }
    }
    #[inline(always)]
    fn encode_field(&self, name: &'static str, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        match self {
            Some(value) => value.encode_field(name, out),
            None => ().encode_field(name, out),
        }
    }
}

impl<'de, T: Decode<'de>> Decode<'de> for Option<T> {
    #[inline]
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
        if value.is_null() {
            Ok(None)
        } else {
            T::decode(value).map(Some)
        }
    }
    #[inline]
    fn missing() -> Option<Self> {
        Some(None)
    }
}

/// Flattened: the fields, or none of them.
impl<T: EncodeFields> EncodeFields for Option<T> {
    const NAMES: Names = T::NAMES;

    fn encode_fields(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        self.as_ref().map_or(Ok(()), |value| value.encode_fields(out))
    }
}

/// Flattened: `None` if the document has none of the fields. A value of which none was written is `None`, too.
impl<'de, T: DecodeFields<'de>> DecodeFields<'de> for Option<T> {
    type Out = Option<T::Out>;
    /// With whether there was a field.
    type Partial = (Option<T::Partial>, bool);
    const KEYS: &'static [&'static str] = T::KEYS;
    const DENY_UNKNOWN: bool = T::DENY_UNKNOWN;
    const IS_MAP: bool = T::IS_MAP;
    const READS_ALL: bool = T::READS_ALL;

    fn begin(elements: Elements<'de>) -> Result<Self::Partial, DecodeError> {
        // A map is there even without entries.
        let is_there = T::IS_MAP && T::KEYS.is_empty();
        Ok((T::begin_optional(elements)?, is_there))
    }
    fn take(
        (partial, is_there): &mut Self::Partial,
        index: usize,
        field: &Fields<'de>,
    ) -> Result<bool, DecodeError> {
        let Some(partial) = partial else {
            return Ok(false);
        };
        let is_taken = T::take(partial, index, field)?;
        *is_there |= is_taken;
        Ok(is_taken)
    }
    fn finish((partial, is_there): Self::Partial) -> Result<Self::Out, DecodeError> {
        match partial {
            Some(partial) if is_there => T::finish(partial).map(Some),
            _ => Ok(None),
        }
    }
}

macro_rules! pointers {
    ($($t:ident)*) => { $(
        impl<T: Encode + ?Sized> Encode for $t<T> {
            #[inline]
            fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
                T::encode(self, out)
            }
            #[inline(always)]
            fn encode_field(&self, name: &'static str, out: &mut Writer<'_>) -> Result<(), EncodeError> {
                T::encode_field(self, name, out)
            }
        }
        impl<'de, T: Decode<'de>> Decode<'de> for $t<T> {
            #[inline]
            fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
                T::decode(value).map($t::new)
            }
            #[inline]
            fn missing() -> Option<Self> {
                T::missing().map($t::new)
            }
        }
        impl<'de> Decode<'de> for $t<str> {
            fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
                value.raw().str().map(Into::into)
            }
        }
        impl<'de, T: Decode<'de>> Decode<'de> for $t<[T]> {
            fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
                T::decode_vec(value).map(Into::into)
            }
        }
        impl<T: EncodeFields> EncodeFields for $t<T> {
            const NAMES: Names = T::NAMES;

            fn encode_fields(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
                T::encode_fields(self, out)
            }
        }
        impl<'de, T: DecodeFields<'de>> DecodeFields<'de> for $t<T> {
            type Out = $t<T::Out>;
            type Partial = T::Partial;
            const KEYS: &'static [&'static str] = T::KEYS;
            const DENY_UNKNOWN: bool = T::DENY_UNKNOWN;
            const IS_MAP: bool = T::IS_MAP;
            const READS_ALL: bool = T::READS_ALL;

            fn begin(elements: Elements<'de>) -> Result<Self::Partial, DecodeError> {
                T::begin(elements)
            }
            fn begin_optional(elements: Elements<'de>) -> Result<Option<Self::Partial>, DecodeError> {
                T::begin_optional(elements)
            }
            fn take(partial: &mut Self::Partial, index: usize, field: &Fields<'de>) -> Result<bool, DecodeError> {
                T::take(partial, index, field)
            }
            fn finish(partial: Self::Partial) -> Result<Self::Out, DecodeError> {
                T::finish(partial).map($t::new)
            }
        }
    )* };
}
pointers! { Box Rc Arc }

impl<T: Encode + ?Sized> Encode for &T {
    #[inline]
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        T::encode(self, out)
    }
    #[inline(always)]
    fn encode_field(&self, name: &'static str, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        T::encode_field(self, name, out)
    }
}

impl<'de: 'a, 'a> Decode<'de> for &'a str {
    #[inline]
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
        value.raw().str()
    }
}

impl<T: Encode + ToOwned + ?Sized> Encode for Cow<'_, T> {
    #[inline]
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        T::encode(self, out)
    }
    #[inline(always)]
    fn encode_field(&self, name: &'static str, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        T::encode_field(self, name, out)
    }
}

/// Owned, as with serde: a `Cow<'static, str>` is read too.
impl<'de> Decode<'de> for Cow<'_, str> {
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
        String::decode(value).map(Cow::Owned)
    }
}

impl<'de, T: Clone> Decode<'de> for Cow<'_, T>
where
    T: Decode<'de>,
{
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
        T::decode(value).map(Cow::Owned)
    }
    fn missing() -> Option<Self> {
        T::missing().map(Cow::Owned)
    }
}

impl<'de, T: Clone> Decode<'de> for Cow<'_, [T]>
where
    T: Decode<'de>,
{
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
        T::decode_vec(value).map(Cow::Owned)
    }
}

impl<T: Encode> Encode for [T] {
    #[inline]
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        T::encode_slice(self, out)
    }
}

impl<T: Encode> Encode for Vec<T> {
    #[inline]
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        T::encode_slice(self, out)
    }
}

impl<'de, T: Decode<'de>> Decode<'de> for Vec<T> {
    #[inline]
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
        T::decode_vec(value)
    }
}

impl<T: Encode, const N: usize> Encode for [T; N] {
    fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        T::encode_slice(self, out)
    }
}

impl<'de, T: Decode<'de>, const N: usize> Decode<'de> for [T; N] {
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
        T::decode_array(value)
    }
}

macro_rules! lists {
    ($($t:ident [$($bound:tt)*] [$($hasher:ident)?];)*) => { $(
        impl<T: Encode $(, $hasher)?> Encode for $t<T $(, $hasher)?> {
            fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
                write::array(out, self.iter())
            }
        }
        impl<'de, T: Decode<'de> $($bound)* $(, $hasher: BuildHasher + Default)?> Decode<'de> for $t<T $(, $hasher)?> {
            fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
                Ok(read::list(value)?.into_iter().collect())
            }
        }
    )* };
}
lists! {
    VecDeque [] [];
    LinkedList [] [];
    HashSet [+ Hash + Eq] [S];
    BTreeSet [+ Ord] [];
}

macro_rules! maps {
    ($($t:ident [$($bound:tt)*] [$($hasher:ident)?];)*) => { $(
        impl<K: MapKey, T: Encode $(, $hasher)?> Encode for $t<K, T $(, $hasher)?> {
            fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
                write::fields(out, &Names::NONE, |out| write::entries(self, out))
            }
        }
        impl<'de, K: MapKey $($bound)*, T: Decode<'de> $(, $hasher: BuildHasher + Default)?> Decode<'de>
            for $t<K, T $(, $hasher)?>
        {
            fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
                read::document::<Self>(value)
            }
        }
        /// Flattened: the keys that are not those of fields.
        impl<K: MapKey, T: Encode $(, $hasher)?> EncodeFields for $t<K, T $(, $hasher)?> {
            const NAMES: Names = Names::MAP;

            fn encode_fields(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
                write::entries(self, out)
            }
        }
        impl<'de, K: MapKey $($bound)*, T: Decode<'de> $(, $hasher: BuildHasher + Default)?> DecodeFields<'de>
            for $t<K, T $(, $hasher)?>
        {
            type Out = Self;
            type Partial = Self;
            const KEYS: &'static [&'static str] = &[];
            const IS_MAP: bool = true;

            fn begin(_elements: Elements<'de>) -> Result<Self, DecodeError> {
                Ok(Self::default())
            }
            fn take(map: &mut Self, _index: usize, field: &Fields<'de>) -> Result<bool, DecodeError> {
                let entry = K::from_key(field.key()).and_then(|key| Ok((key, T::decode(field.value())?)));
                let (key, value) = entry.map_err(|error| field.locate(error))?;
                match map.insert(key, value) {
                    None => Ok(true),
                    Some(_) => Err(field.duplicate()),
                }
            }
            fn finish(map: Self) -> Result<Self, DecodeError> {
                Ok(map)
            }
        }
    )* };
}
maps! {
    HashMap [+ Hash + Eq] [S];
    BTreeMap [+ Ord] [];
}

macro_rules! tuples {
    ($($len:literal: $($t:ident $at:tt),*;)*) => { $(
        impl<$($t: Encode),*> Encode for ($($t,)*) {
            fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
                write::tuple(out, &[$(&|out| self.$at.encode(out)),*])
            }
        }
        impl<'de, $($t: Decode<'de>),*> Decode<'de> for ($($t,)*) {
            fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
                let mut items = read::Items::new(value)?;
                let tuple = ($(items.next_of($len, $t::decode)?,)*);
                items.end($len)?;
                Ok(tuple)
            }
        }
    )* };
}
each_tuple!(tuples);

/// Flattened: the keys that are not those of fields.
impl EncodeFields for Document {
    const NAMES: Names = Names::MAP;

    fn encode_fields(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
        for (key, value) in self {
            out.entry(key, |out| out.bson(value))?;
        }
        Ok(())
    }
}

impl<'de> DecodeFields<'de> for Document {
    type Out = Document;
    type Partial = Document;
    const KEYS: &'static [&'static str] = &[];
    const IS_MAP: bool = true;

    fn begin(_elements: Elements<'de>) -> Result<Document, DecodeError> {
        Ok(Document::new())
    }

    fn take(document: &mut Document, _index: usize, field: &Fields<'de>) -> Result<bool, DecodeError> {
        let value = field.value().to_bson().map_err(|error| field.locate(error))?;
        match document.insert(field.key(), value) {
            None => Ok(true),
            Some(_) => Err(field.duplicate()),
        }
    }

    fn finish(document: Document) -> Result<Document, DecodeError> {
        Ok(document)
    }
}
