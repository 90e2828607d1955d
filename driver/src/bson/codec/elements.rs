//! The elements of a document or an array, with their depth.

use super::value::Value;
use crate::bson::{error::DecodeError, limits::MAX_DEPTH, raw_reader::RawElements, raw_value::RawValue};

/// The elements of one document or array that have not been read.
#[derive(Clone, Copy, Debug)]
pub struct Elements<'de> {
    raw: RawElements<'de>,
    depth: u8,
    is_exact: bool,
}

impl<'de> Elements<'de> {
    #[inline]
    pub(super) fn new(value: &Value<'de>) -> Result<Self, DecodeError> {
        if value.depth >= MAX_DEPTH {
            return Err(DecodeError::too_deep());
        }
        Ok(Self {
            raw: RawElements::new(value.bytes())?,
            depth: value.depth + 1,
            is_exact: value.is_exact,
        })
    }

    /// Whether the values are read [exactly](Value::is_exact).
    #[inline]
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// The elements, whose values are read [exactly](Value::is_exact) or not.
    #[inline]
    #[must_use]
    pub fn exactly(self, is_exact: bool) -> Self {
        Self { is_exact, ..self }
    }

    /// Whether all elements have been read.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// A value of these elements.
    #[inline]
    pub(super) fn value(&self, raw: RawValue<'de>) -> Value<'de> {
        Value::nested(raw, self.depth, self.is_exact)
    }

    /// The value of the element that is expected next, if its key is `name`, which contains no zero byte. Otherwise
    /// nothing is read.
    #[inline(always)]
    pub(super) fn take_named(&mut self, name: &str) -> Option<RawValue<'de>> {
        let (kind, bytes) = self.raw.take_plain_named(name)?;
        Some(RawValue::new(kind, bytes))
    }

    /// The key and the value of the next element. `None` at the end.
    ///
    /// # Errors
    /// If the element is malformed. The iteration is finished then.
    #[inline]
    pub fn next_entry(&mut self) -> Result<Option<(&'de str, Value<'de>)>, DecodeError> {
        let element = self.raw.next_element()?;
        Ok(element.map(|element| (element.key, self.value(element.value))))
    }

    /// The value of the next element of an array, whose keys have no meaning. `None` at the end.
    ///
    /// # Errors
    /// If the element is malformed. The iteration cannot be continued.
    #[inline]
    pub fn next_item(&mut self) -> Result<Option<Value<'de>>, DecodeError> {
        let item = self.raw.next_item()?;
        Ok(item.map(|raw| self.value(raw)))
    }

    /// The value of the first element with this key, of those that have not been read, and the elements after it.
    ///
    /// # Errors
    /// If an element before it is malformed.
    pub fn find(mut self, key: &str) -> Result<Option<(Value<'de>, Self)>, DecodeError> {
        while let Some((found, value)) = self.next_entry()? {
            if found == key {
                return Ok(Some((value, self)));
            }
        }
        Ok(None)
    }

    /// Adds the key and the offset of `value`, which was read last, to its error.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub fn locate(&self, key: &str, value: &Value<'de>, error: DecodeError) -> DecodeError {
        error.within(value.kind(), self.offset_of(value)).in_field(key)
    }

    /// Adds the index and the offset of `value`, which was read last, to its error.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub fn locate_item(&self, index: usize, value: &Value<'de>, error: DecodeError) -> DecodeError {
        error.within(value.kind(), self.offset_of(value)).at_index(index)
    }

    /// The offset in the document of the value that was read last.
    fn offset_of(&self, value: &Value<'de>) -> usize {
        self.raw.offset().saturating_sub(value.bytes().len())
    }
}
