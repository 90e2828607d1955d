//! Walking documents and arrays for serde.

use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

use super::key::KeyDeserializer;
use super::value::Value;
use super::{Context, Mode};
use crate::bson::error::DecodeError;
use crate::bson::raw_reader::RawElements;
use crate::bson::raw_value::RawValue;
use crate::bson::spec::ElementType;

type Result<T> = std::result::Result<T, DecodeError>;

/// The elements of one document or array.
pub(super) struct Access<'de, 'c> {
    context: &'c Context<'de, 'c>,
    mode: Mode,
    document: &'de [u8],
    elements: RawElements<'de>,
    /// Type and key of the element whose value is to come.
    kind: ElementType,
    key: &'de str,
    index: usize,
}

impl<'de, 'c> Access<'de, 'c> {
    /// Enters `document`; `mode` is the one outside of it.
    #[inline]
    pub(super) fn new(context: &'c Context<'de, 'c>, mode: Mode, document: &'de [u8]) -> Result<Self> {
        let mode = mode.inner()?;
        let elements = match RawElements::new(document) {
            Ok(elements) => elements,
            Err(error) => return Err(error.rebase(context.offset_of(document))),
        };
        let kind = ElementType::Null;
        Ok(Self {
            context,
            mode,
            document,
            elements,
            kind,
            key: "",
            index: 0,
        })
    }

    /// Whether all elements are read.
    pub(super) fn is_finished(&self) -> bool {
        self.elements.is_empty()
    }

    /// The key of the next element; its value is to be read before the next key.
    #[inline]
    pub(super) fn next_key(&mut self) -> Result<Option<&'de str>> {
        match self.elements.next_key() {
            Ok(Some((kind, key))) => {
                self.kind = kind;
                self.key = key;
                Ok(Some(key))
            }
            Ok(None) => Ok(None),
            Err(error) => Err(self.rebase(error)),
        }
    }

    /// The value of the element whose key was read. Errors say where it stands.
    #[inline]
    pub(super) fn read_value<T>(&mut self, read: impl FnOnce(Value<'de, 'c>) -> Result<T>) -> Result<T> {
        let kind = self.kind;
        let bytes = match self.elements.next_value(kind) {
            Ok(bytes) => bytes,
            Err(error) => return Err(self.rebase(error)),
        };
        let raw = RawValue::new(kind, bytes);
        match read(Value {
            context: self.context,
            raw,
            mode: self.mode,
        }) {
            Ok(value) => Ok(value),
            Err(error) => Err(error.locate(kind, self.context.offset_of(bytes))),
        }
    }

    #[cold]
    fn rebase(&self, error: DecodeError) -> DecodeError {
        error.rebase(self.context.offset_of(self.document))
    }

    /// The key read last.
    pub(super) fn key(&self) -> &'de str {
        self.key
    }
}

impl<'de> MapAccess<'de> for Access<'de, '_> {
    type Error = DecodeError;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Some(key) = self.next_key()? else {
            return Ok(None);
        };
        match seed.deserialize(KeyDeserializer::new(key)) {
            Ok(key) => Ok(Some(key)),
            Err(error) => {
                let offset = self.context.offset_of(key.as_bytes());
                Err(error.locate(self.kind, offset).in_field(key))
            }
        }
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        match self.read_value(|value| seed.deserialize(value)) {
            Ok(value) => Ok(value),
            Err(error) => Err(error.in_field(self.key)),
        }
    }
}

impl<'de> SeqAccess<'de> for Access<'de, '_> {
    type Error = DecodeError;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        match self.elements.next_key_bytes() {
            Ok(Some((kind, _))) => self.kind = kind,
            Ok(None) => return Ok(None),
            Err(error) => return Err(self.rebase(error)),
        }
        match self.read_value(|value| seed.deserialize(value)) {
            Ok(value) => {
                self.index += 1;
                Ok(Some(value))
            }
            Err(error) => Err(error.at_index(self.index)),
        }
    }
}
