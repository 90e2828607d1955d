//! Walking documents and arrays for serde.

use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

use super::key::KeyDeserializer;
use super::parsed::Parsed;
use super::value::Value;
use super::{Context, Mode};
use crate::bson::error::DecodeError;
use crate::bson::raw_reader::{RawElement, RawElements};

type Result<T> = std::result::Result<T, DecodeError>;

/// The elements of one document or array.
pub(super) struct Access<'de, 'c> {
    context: &'c Context<'de, 'c>,
    mode: Mode,
    document: &'de [u8],
    elements: RawElements<'de>,
    /// The element whose key is read and whose value is to come.
    pending: Option<RawElement<'de>>,
    index: usize,
}

impl<'de, 'c> Access<'de, 'c> {
    /// Enters `document`; `mode` is the one outside of it.
    #[inline]
    pub(super) fn new(context: &'c Context<'de, 'c>, mode: Mode, document: &'de [u8]) -> Result<Self> {
        let mode = mode.inner()?;
        let elements =
            RawElements::new(document).map_err(|error| error.rebase(context.offset_of(document)))?;
        Ok(Self {
            context,
            mode,
            document,
            elements,
            pending: None,
            index: 0,
        })
    }

    /// Whether all elements are read.
    pub(super) fn is_finished(&self) -> bool {
        self.elements.is_empty()
    }

    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<RawElement<'de>>> {
        self.elements
            .next_element()
            .map_err(|error| error.rebase(self.context.offset_of(self.document)))
    }

    /// Reads an element's value; errors say where it stands.
    #[inline]
    pub(super) fn read<T>(
        &self,
        element: RawElement<'de>,
        read: impl FnOnce(Value<'de, 'c>) -> Result<T>,
    ) -> Result<T> {
        let raw = element.value;
        Parsed::read(raw)
            .and_then(|parsed| {
                read(Value {
                    context: self.context,
                    parsed,
                    mode: self.mode,
                })
            })
            .map_err(|error| error.locate(raw.kind(), self.context.offset_of(raw.bytes())))
    }

    #[inline]
    pub(super) fn key(&self, element: &RawElement<'de>) -> KeyDeserializer<'de> {
        KeyDeserializer::new(element.key)
    }
}

impl<'de> MapAccess<'de> for Access<'de, '_> {
    type Error = DecodeError;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Some(element) = self.next()? else {
            return Ok(None);
        };
        self.pending = Some(element);
        match seed.deserialize(KeyDeserializer::new(element.key)) {
            Ok(key) => Ok(Some(key)),
            Err(error) => Err(error
                .locate(element.kind(), self.context.offset_of(element.key.as_bytes()))
                .in_field(element.key)),
        }
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        let Some(element) = self.pending.take() else {
            return Err(DecodeError::new("a map's value is asked for before its key"));
        };
        self.read(element, |value| seed.deserialize(value))
            .map_err(|error| error.in_field(element.key))
    }
}

impl<'de> SeqAccess<'de> for Access<'de, '_> {
    type Error = DecodeError;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Some(element) = self.next()? else {
            return Ok(None);
        };
        let index = self.index;
        self.index += 1;
        self.read(element, |value| seed.deserialize(value))
            .map(Some)
            .map_err(|error| error.at_index(index))
    }
}
