//! The elements of documents and arrays, for serde.

use std::slice::Iter;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

use super::key::KeyDeserializer;
use super::value::{Element, Value};
use super::{Context, Mode};
use crate::bson::{
    error::DecodeError, raw_reader::RawElements, raw_value::RawValue, spec::ElementType, validate,
};

/// Number of expected names that an unexpected key is compared with.
const LOOKAHEAD: usize = 12;

type Result<T> = std::result::Result<T, DecodeError>;

/// The elements of one document or array.
pub(super) struct Access<'de, 'c> {
    elements: RawElements<'de>,
    /// Names of the fields not read yet, if the reader is a struct.
    expected: Iter<'static, &'static str>,
    /// Key and value of the last element read.
    key: &'de str,
    current: Element<'de, 'c>,
    index: usize,
}

impl<'de, 'c> Access<'de, 'c> {
    /// Begins to read `document`; `mode` is that outside of it. `expected` names may be missing or
    /// in another order.
    #[inline]
    pub(super) fn new(
        context: &'c Context<'de>,
        mode: Mode,
        document: &'de [u8],
        expected: &'static [&'static str],
    ) -> Result<Self> {
        let mode = mode.inner(context)?;
        let elements = match RawElements::new(document) {
            Ok(elements) => elements,
            Err(error) => return Err(error.rebase(context.offset_of(document))),
        };
        Ok(Self {
            elements,
            expected: expected.iter(),
            key: "",
            current: Element {
                context,
                raw: RawValue::new(ElementType::Null, &[]),
                mode,
            },
            index: 0,
        })
    }

    /// Whether all elements have been read.
    pub(super) fn is_finished(&self) -> bool {
        self.elements.is_empty()
    }

    /// Reads the next element and returns its key.
    #[inline]
    pub(super) fn next_key(&mut self) -> Result<Option<&'de str>> {
        match self.take_expected() {
            Some(name) => Ok(Some(name)),
            None => self.next_other_key(),
        }
    }

    /// Reads the next element if its key is the expected one, and short.
    ///
    /// Documents usually have the fields of their struct in its order: then the end of the key is
    /// known, and the key is valid UTF-8. Never inlined, so that the code exists once and not per
    /// type.
    #[inline(never)]
    fn take_expected(&mut self) -> Option<&'static str> {
        let mut expected = self.expected.clone();
        let name = expected.next()?;
        let (kind, value) = self.elements.take_named(name)?;
        self.expected = expected;
        self.key = name;
        self.current.raw = RawValue::new(kind, value);
        Some(name)
    }

    /// [`next_key`](Self::next_key) for a key that is not the expected one.
    #[inline(never)]
    fn next_other_key(&mut self) -> Result<Option<&'de str>> {
        let (kind, bytes) = match self.elements.next_key_bytes() {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(None),
            Err(error) => return Err(self.rebase(error)),
        };
        let key = match self.skip_to(bytes) {
            Some(name) => name,
            None => match validate::utf8(bytes) {
                Some(key) => key,
                None => return Err(self.rebase(self.elements.key_encoding_error())),
            },
        };
        self.key = key;
        match self.take_value(kind) {
            Ok(()) => Ok(Some(key)),
            Err(error) => Err(error.in_field(key)),
        }
    }

    /// The expected name that equals the key, if it is among the next few. Names before it are
    /// missing in the document.
    #[inline]
    fn skip_to(&mut self, key: &[u8]) -> Option<&'static str> {
        let mut expected = self.expected.clone();
        let name = expected
            .by_ref()
            .take(LOOKAHEAD)
            .find(|name| name.as_bytes() == key)?;
        self.expected = expected;
        Some(name)
    }

    #[inline]
    fn take_value(&mut self, kind: ElementType) -> Result<()> {
        match self.elements.next_value(kind) {
            Ok(bytes) => {
                self.current.raw = RawValue::new(kind, bytes);
                Ok(())
            }
            Err(error) => Err(self.rebase(error)),
        }
    }

    /// Deserializes the value. Adds its place to errors.
    #[inline]
    pub(super) fn read_value<T>(&self, read: impl FnOnce(Value<'_, 'de, 'c>) -> Result<T>) -> Result<T> {
        match read(Value(&self.current)) {
            Ok(value) => Ok(value),
            Err(error) => Err(self.locate(error)),
        }
    }

    #[cold]
    #[inline(never)]
    fn locate(&self, error: DecodeError) -> DecodeError {
        let Element { context, raw, .. } = &self.current;
        context.locate(error, *raw)
    }

    #[cold]
    fn rebase(&self, error: DecodeError) -> DecodeError {
        let context = self.current.context;
        error.rebase(context.offset_of(self.elements.rest()) - self.elements.offset())
    }

    /// The last key read.
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
                let Element { context, raw, .. } = &self.current;
                let offset = context.offset_of(key.as_bytes());
                Err(error.locate(raw.kind(), offset).in_field(key))
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
            Ok(Some((kind, _))) => match self.take_value(kind) {
                Ok(()) => {}
                Err(error) => return Err(error.at_index(self.index)),
            },
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
