//! Walking documents and arrays for serde.

use serde::de::{DeserializeSeed, MapAccess, SeqAccess};

use super::key::KeyDeserializer;
use super::value::Value;
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
    context: &'c Context<'de, 'c>,
    mode: Mode,
    elements: RawElements<'de>,
    /// Names of fields that are to come, if the reader is a struct.
    expected: &'static [&'static str],
    /// Type and key of the element whose value is to come.
    kind: ElementType,
    key: &'de str,
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
        let kind = ElementType::Null;
        Ok(Self {
            context,
            mode,
            elements,
            expected,
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
        match self.take_expected() {
            true => Ok(Some(self.key)),
            false => self.next_other_key(),
        }
    }

    /// Takes the next key if it is the one expected, and short.
    ///
    /// Documents mostly have the fields of their struct, in its order: then the key's end need not be searched, and its
    /// text is the name, which is UTF-8 already.
    #[inline(never)]
    fn take_expected(&mut self) -> bool {
        if let [name, rest @ ..] = self.expected
            && let Some(kind) = self.elements.take_named(name)
        {
            self.expected = rest;
            self.kind = kind;
            self.key = name;
            return true;
        }
        false
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
        self.kind = kind;
        self.key = key;
        Ok(Some(key))
    }

    /// The name expected next if it is the key, or one soon after: then the document lacks those between.
    #[inline]
    fn skip_to(&mut self, key: &[u8]) -> Option<&'static str> {
        let near = self.expected.iter().take(NEAR);
        let at = near.enumerate().find(|(_, name)| name.as_bytes() == key)?.0;
        let [name, rest @ ..] = self.expected.get(at..)? else {
            return None;
        };
        self.expected = rest;
        Some(name)
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
        error.rebase(self.context.offset_of(self.elements.rest()) - self.elements.offset())
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
        if !self.take_expected() && self.next_other_key()?.is_none() {
            return Ok(None);
        }
        let key = self.key;
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
