//! Externally tagged variants: a string alone, or a document with one field.

use serde::Deserializer;
use serde::de::{DeserializeSeed, EnumAccess, VariantAccess, Visitor};

use super::access::Access;
use super::value::Value;
use crate::bson::error::DecodeError;
use crate::bson::raw_reader::RawElement;

type Result<T> = std::result::Result<T, DecodeError>;

/// A variant with data: the document's only field names it and holds the data.
pub(super) struct Variant<'de, 'c> {
    access: Access<'de, 'c>,
    element: RawElement<'de>,
}

impl<'de, 'c> Variant<'de, 'c> {
    pub(super) fn new(mut access: Access<'de, 'c>) -> Result<Self> {
        match access.next()? {
            Some(element) if access.is_finished() => Ok(Self { access, element }),
            _ => Err(DecodeError::new(
                "expected a document with one field, the variant's name",
            )),
        }
    }

    fn read<T>(self, read: impl FnOnce(Value<'de, 'c>) -> Result<T>) -> Result<T> {
        self.access
            .read(self.element, read)
            .map_err(|error| error.in_field(self.element.key))
    }
}

impl<'de, 'c> EnumAccess<'de> for Variant<'de, 'c> {
    type Error = DecodeError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self)> {
        let name = seed.deserialize(self.access.key(&self.element))?;
        Ok((name, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de, '_> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<()> {
        self.read(|value| serde::Deserialize::deserialize(value))
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value> {
        self.read(|value| seed.deserialize(value))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value> {
        self.read(|value| value.deserialize_tuple(len, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.read(|value| value.deserialize_struct("", fields, visitor))
    }
}
