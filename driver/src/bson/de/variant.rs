//! Externally tagged variants: a string alone, or a document with one field.

use serde::Deserializer;
use serde::de::{DeserializeSeed, EnumAccess, VariantAccess, Visitor};

use super::access::Access;
use super::key::KeyDeserializer;
use super::value::Value;
use crate::bson::error::DecodeError;

type Result<T> = std::result::Result<T, DecodeError>;

/// A variant with data: a document whose only field has the variant's name as key and the data as
/// value.
pub(super) struct Variant<'de, 'c> {
    access: Access<'de, 'c>,
}

impl<'de, 'c> Variant<'de, 'c> {
    pub(super) fn new(mut access: Access<'de, 'c>) -> Result<Self> {
        match access.next_key()? {
            Some(_) => Ok(Self { access }),
            None => Err(not_one_field()),
        }
    }

    fn read<T>(self, read: impl FnOnce(Value<'_, 'de, 'c>) -> Result<T>) -> Result<T> {
        let value = self
            .access
            .read_value(read)
            .map_err(|error| error.in_field(self.access.key()))?;
        if self.access.is_finished() {
            Ok(value)
        } else {
            Err(not_one_field())
        }
    }
}

#[cold]
fn not_one_field() -> DecodeError {
    DecodeError::new("expected a document with one field, the variant's name")
}

impl<'de, 'c> EnumAccess<'de> for Variant<'de, 'c> {
    type Error = DecodeError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self)> {
        let name = seed.deserialize(KeyDeserializer::new(self.access.key()))?;
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
