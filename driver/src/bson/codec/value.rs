//! One encoded value that is read by the form of a Rust type.

use super::elements::Elements;
use crate::bson::{
    Bson, de,
    error::DecodeError,
    raw_value::{RawValue, integral},
    spec::ElementType,
    tree,
};

/// One encoded value, and how deep it is nested.
#[derive(Clone, Copy, Debug)]
pub struct Value<'de> {
    bytes: &'de [u8],
    kind: ElementType,
    pub(super) depth: u8,
    pub(super) is_exact: bool,
}

impl<'de> Value<'de> {
    /// A whole document, not validated.
    #[inline]
    #[must_use]
    pub fn of_document(bytes: &'de [u8]) -> Self {
        Self::of(RawValue::of_document(bytes))
    }

    /// A value that is not nested.
    #[inline]
    #[must_use]
    pub fn of(raw: RawValue<'de>) -> Self {
        Self {
            bytes: raw.bytes(),
            kind: raw.kind(),
            depth: 0,
            is_exact: false,
        }
    }

    #[inline]
    pub(super) fn nested(raw: RawValue<'de>, depth: u8, is_exact: bool) -> Self {
        Self {
            bytes: raw.bytes(),
            kind: raw.kind(),
            depth,
            is_exact,
        }
    }

    /// Replaces the value by another one of the same document.
    #[inline]
    pub(super) fn set(&mut self, raw: RawValue<'de>) {
        self.kind = raw.kind();
        self.bytes = raw.bytes();
    }

    /// The type and the bytes, with getters for each BSON type.
    #[inline]
    #[must_use]
    pub fn raw(&self) -> RawValue<'de> {
        RawValue::new(self.kind, self.bytes)
    }

    /// The BSON type.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> ElementType {
        self.kind
    }

    /// The encoded value.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &'de [u8] {
        self.bytes
    }

    /// Whether the value is Null.
    #[inline]
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.kind == ElementType::Null
    }

    /// Whether a type reads only the BSON type that it is written as: for the first attempt at the variants of an
    /// untagged enum.
    #[inline]
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// The value, to be read [exactly](Self::is_exact) or not. The values in it are read like it.
    #[inline]
    #[must_use]
    pub fn exactly(self, is_exact: bool) -> Self {
        Self { is_exact, ..self }
    }

    /// A whole number: an Int32, an Int64, or a Double without a fraction. `written`: the BSON type that the Rust type
    /// is written as, the only one of an [exact](Self::is_exact) value.
    ///
    /// # Errors
    /// If the value is of another type, has a fraction, or is out of range.
    #[inline(never)]
    pub fn integer(&self, written: ElementType) -> Result<i64, DecodeError> {
        if self.is_exact && self.kind != written {
            return Err(self.mismatch("another type of number"));
        }
        match self.kind {
            ElementType::Int32 => self.raw().i32().map(i64::from),
            ElementType::Int64 => self.raw().i64(),
            _ => self.integral(),
        }
    }

    #[cold]
    fn integral(&self) -> Result<i64, DecodeError> {
        let number = self.raw().f64().map_err(|_| self.mismatch("an integer"))?;
        integral(number).ok_or_else(|| {
            DecodeError::new("expected an integer, found a Double with a fraction or out of range")
        })
    }

    /// The elements of a document.
    ///
    /// # Errors
    /// If the value is of another type, its length or terminator is malformed, or documents nest too deep.
    #[inline]
    pub fn document(&self) -> Result<Elements<'de>, DecodeError> {
        match self.kind {
            ElementType::EmbeddedDocument => Elements::new(self),
            _ => Err(self.mismatch("a document")),
        }
    }

    /// The bytes of a document, not validated.
    ///
    /// # Errors
    /// If the value is of another type.
    #[inline]
    pub fn document_bytes(&self) -> Result<&'de [u8], DecodeError> {
        match self.kind {
            ElementType::EmbeddedDocument => Ok(self.bytes),
            _ => Err(self.mismatch("a document")),
        }
    }

    /// The items of an array.
    ///
    /// # Errors
    /// If the value is of another type, its length or terminator is malformed, or documents nest too deep.
    #[inline]
    pub fn array(&self) -> Result<Elements<'de>, DecodeError> {
        match self.kind {
            ElementType::Array => Elements::new(self),
            _ => Err(self.mismatch("an array")),
        }
    }

    /// The value as a tree, as it is stored.
    ///
    /// # Errors
    /// If the value is malformed, or a document in it has a key twice.
    pub fn to_bson(&self) -> Result<Bson, DecodeError> {
        tree::value_with_unique_keys(
            self.raw(),
            self.bytes,
            crate::bson::limits::MAX_DEPTH.saturating_sub(self.depth),
        )
    }

    /// Reads the value by its `Deserialize`.
    ///
    /// # Errors
    /// If the value is malformed, or does not have the form of `T`.
    pub fn deserialize<T: serde::Deserialize<'de>>(&self) -> Result<T, DecodeError> {
        de::from_nested_value(self.raw(), self.depth)
    }

    /// The error of a value of an unexpected type. `expected` begins with an article: `a date`.
    #[cold]
    #[must_use]
    pub fn mismatch(&self, expected: &str) -> DecodeError {
        DecodeError::mismatch(expected, self.kind)
    }

    /// Locates an error of a value that is not nested.
    #[cold]
    #[must_use]
    pub fn locate(&self, error: DecodeError) -> DecodeError {
        error.within(self.kind, 0)
    }
}
