//! The fields of a document that a struct reads by a table of keys.

use super::elements::Elements;
use super::value::Value;
use crate::bson::{error::DecodeError, raw_value::RawValue, spec::ElementType};

/// The index of [`Fields::next`] at the end of the document, and if it is malformed.
pub const END: usize = usize::MAX;
/// The index of [`Fields::next`] for a key that is not in the table.
pub const OTHER: usize = usize::MAX - 1;

/// Reads the elements of a document by a table of keys. The key that follows the last one in the table is compared first.
#[derive(Debug)]
pub struct Fields<'de> {
    elements: Elements<'de>,
    keys: &'static [&'static str],
    /// The index of the key that is expected next.
    expected: usize,
    key: &'de str,
    value: Value<'de>,
    error: Option<DecodeError>,
}

impl<'de> Fields<'de> {
    /// The fields of a document. The keys in the table contain no zero bytes.
    #[inline]
    #[must_use]
    pub fn new(elements: Elements<'de>, keys: &'static [&'static str]) -> Self {
        Self {
            elements,
            keys,
            expected: 0,
            key: "",
            value: elements.value(RawValue::new(ElementType::Null, &[])),
            error: None,
        }
    }

    /// Reads the next element. Returns the index of its key in the table, [`OTHER`] or [`END`].
    ///
    /// The function exists once for all types, and is not inlined. The table is not a parameter, so that more registers are free.
    #[inline(never)]
    #[expect(clippy::should_implement_trait, reason = "an iterator would return an Option")]
    pub fn next(&mut self) -> usize {
        if let Some(name) = self.keys.get(self.expected)
            && let Some(value) = self.elements.take_named(name)
        {
            self.key = name;
            self.value.set(value);
            self.expected += 1;
            return self.expected - 1;
        }
        self.next_other()
    }

    #[inline(never)]
    fn next_other(&mut self) -> usize {
        if self.elements.is_empty() {
            return END;
        }
        match self.elements.next_entry() {
            Ok(Some((key, value))) => {
                (self.key, self.value) = (key, value);
                let (before, after) = self.keys.split_at(self.expected.min(self.keys.len()));
                if let Some(index) = after.iter().position(|name| *name == key) {
                    let index = before.len() + index;
                    self.expected = index + 1;
                    return index;
                }
                before.iter().position(|name| *name == key).unwrap_or(OTHER)
            }
            Ok(None) => END,
            Err(error) => {
                self.error = Some(error);
                END
            }
        }
    }

    /// Whether the document ended as it states.
    ///
    /// # Errors
    /// If an element is malformed.
    #[inline]
    pub fn end(self) -> Result<(), DecodeError> {
        self.error.map_or(Ok(()), Err)
    }

    /// The key of the element that was read last.
    #[inline]
    #[must_use]
    pub fn key(&self) -> &'de str {
        self.key
    }

    /// The value of the element that was read last.
    #[inline]
    #[must_use]
    pub fn value(&self) -> &Value<'de> {
        &self.value
    }

    /// Decodes the value of the element that was read last into `slot`, and returns `true`.
    ///
    /// # Errors
    /// If `slot` is filled: the field is there twice. Otherwise the error of `decode`, located.
    #[inline]
    pub fn read<T>(
        &self,
        slot: &mut Option<T>,
        decode: impl FnOnce(&Value<'de>) -> Result<T, DecodeError>,
    ) -> Result<bool, DecodeError> {
        if slot.is_some() {
            return Err(self.duplicate());
        }
        match decode(&self.value) {
            Ok(value) => {
                *slot = Some(value);
                Ok(true)
            }
            Err(error) => Err(self.locate(error)),
        }
    }

    /// Adds the place of the element that was read last to its error.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub fn locate(&self, error: DecodeError) -> DecodeError {
        self.elements.locate(self.key, &self.value, error)
    }

    /// The error of a field that is there twice.
    #[cold]
    #[must_use]
    pub fn duplicate(&self) -> DecodeError {
        self.locate(DecodeError::new("duplicate field"))
    }

    /// The error of a field that the type does not have.
    #[cold]
    #[must_use]
    pub fn unknown(&self) -> DecodeError {
        self.locate(DecodeError::new("unknown field"))
    }
}
