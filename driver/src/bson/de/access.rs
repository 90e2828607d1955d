//! Walking documents and arrays for serde.

use std::slice::Iter;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

use super::key::KeyDeserializer;
use super::value::{Element, Value};
use super::{Context, Mode};
use crate::bson::error::DecodeError;
use crate::bson::raw_reader::RawElements;
use crate::bson::raw_value::RawValue;
use crate::bson::scan;
use crate::bson::spec::ElementType;

/// How many of the expected names an unexpected key is compared with.
const NEAR: usize = 12;

type Result<T> = std::result::Result<T, DecodeError>;

/// The elements of one document or array.
pub(super) struct Access<'de, 'c> {
    elements: RawElements<'de>,
    /// Names of fields that are to come, if the reader is a struct.
    expected: Iter<'static, &'static str>,
    /// Key and value of the element that was read last.
    key: &'de str,
    current: Element<'de, 'c>,
    index: usize,
}

impl<'de, 'c> Access<'de, 'c> {
    /// Enters `document`; `mode` is the one outside of it. The `expected` names need not be there, nor in this order.
    #[inline]
    pub(super) fn new(
        context: &'c Context<'de, 'c>,
        mode: Mode,
        document: &'de [u8],
        expected: &'static [&'static str],
    ) -> Result<Self> {
        let mode = mode.inner()?;
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

    /// Whether all elements are read.
    pub(super) fn is_finished(&self) -> bool {
        self.elements.is_empty()
    }

    /// Takes the next element and gives its key.
    #[inline]
    pub(super) fn next_key(&mut self) -> Result<Option<&'de str>> {
        match self.take_expected() {
            Some(name) => Ok(Some(name)),
            None => self.next_other_key(),
        }
    }

    /// Takes the next element if its key is the one expected, and short.
    ///
    /// Documents mostly have the fields of their struct, in its order: then the key's end need not be searched, and its
    /// text is the name, which is UTF-8 already. It is never inlined, so that this is there once and not for each type.
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

    /// As [`next_key`](Self::next_key), where the key is not the one expected.
    #[inline(never)]
    fn next_other_key(&mut self) -> Result<Option<&'de str>> {
        let (kind, bytes) = match self.elements.next_key_bytes() {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(None),
            Err(error) => return Err(self.rebase(error)),
        };
        let key = match self.skip_to(bytes) {
            Some(name) => name,
            None => match scan::utf8(bytes) {
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

    /// The name expected next if it is the key, or one soon after: then the document lacks those between.
    #[inline]
    fn skip_to(&mut self, key: &[u8]) -> Option<&'static str> {
        let mut expected = self.expected.clone();
        let name = expected.by_ref().take(NEAR).find(|name| name.as_bytes() == key)?;
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

    /// Gives the value to its reader. Errors say where it stands.
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
        error.locate(raw.kind(), context.offset_of(raw.bytes()))
    }

    #[cold]
    fn rebase(&self, error: DecodeError) -> DecodeError {
        let context = self.current.context;
        error.rebase(context.offset_of(self.elements.rest()) - self.elements.offset())
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
