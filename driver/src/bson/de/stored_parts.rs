//! The stored form of a value: its type, the levels that it may nest, and its bytes, as a sequence.

use serde::de::value::{BorrowedBytesDeserializer, U8Deserializer};
use serde::de::{DeserializeSeed, Error, IntoDeserializer, SeqAccess};

use crate::bson::{Bson, error::DecodeError, raw_value::RawValue, tree, validate};

/// The stored form of a value that is not deserialized through the serde data model, which has
/// neither BSON types nor documents whose keys have no meaning.
pub(super) struct StoredParts<'de> {
    raw: RawValue<'de>,
    depth: u8,
    next: u8,
}

impl<'de> StoredParts<'de> {
    pub(super) fn new(raw: RawValue<'de>, depth: u8) -> Self {
        Self { raw, depth, next: 0 }
    }
}

impl<'de> SeqAccess<'de> for StoredParts<'de> {
    type Error = DecodeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DecodeError> {
        let number = |number: u8| -> U8Deserializer<DecodeError> { number.into_deserializer() };
        self.next += 1;
        match self.next {
            1 => seed.deserialize(number(self.raw.kind() as u8)).map(Some),
            2 => seed.deserialize(number(self.depth)).map(Some),
            3 => seed
                .deserialize(BorrowedBytesDeserializer::new(self.raw.bytes()))
                .map(Some),
            _ => Ok(None),
        }
    }
}

/// Decodes the value whose stored form is `parts`.
pub(in crate::bson) fn read<'de, A: SeqAccess<'de>>(mut parts: A) -> Result<Bson, A::Error> {
    let incomplete = || A::Error::custom("the stored form of a value is incomplete");
    let tag: u8 = parts.next_element()?.ok_or_else(incomplete)?;
    let depth: u8 = parts.next_element()?.ok_or_else(incomplete)?;
    let bytes: &'de [u8] = parts.next_element()?.ok_or_else(incomplete)?;
    let kind = validate::element_type(tag).ok_or_else(incomplete)?;
    tree::value_within(RawValue::new(kind, bytes), bytes, depth).map_err(DecodeError::into_serde)
}
