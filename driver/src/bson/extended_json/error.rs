//! Errors of Extended JSON, with line, column and the field's path.

use std::borrow::Cow;
use std::fmt;

use crate::bson::error::{prepend_index, prepend_key, write_path};

/// The kind of a [`JsonError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// The text is not JSON.
    Syntax,
    /// Objects and arrays nest deeper than [`MAX_DEPTH`](crate::bson::MAX_DEPTH) levels.
    TooDeep,
    /// An object contains a key twice.
    DuplicateKey,
    /// The JSON does not represent a BSON value: a type wrapper such as `{"$oid": …}` with wrong
    /// fields, a number out of the range of its type, or a key that contains a zero byte.
    Value,
}

/// A text that is not Extended JSON.
///
/// The message states the position, the field and the expected form, never the value, which may be
/// confidential.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonError {
    inner: Box<JsonDetails>,
}

#[derive(Clone, PartialEq, Eq)]
struct JsonDetails {
    kind: JsonErrorKind,
    message: Cow<'static, str>,
    path: String,
    offset: usize,
    line: usize,
    column: usize,
}

impl JsonError {
    /// An error at a byte offset. [`place`](Self::place) converts it to line and column.
    #[cold]
    pub(super) fn new(kind: JsonErrorKind, offset: usize, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            inner: Box::new(JsonDetails {
                kind,
                message: message.into(),
                path: String::new(),
                offset,
                line: 1,
                column: 1,
            }),
        }
    }

    #[cold]
    pub(super) fn value(offset: usize, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(JsonErrorKind::Value, offset, message)
    }

    #[cold]
    pub(super) fn in_field(mut self, key: &str) -> Self {
        prepend_key(&mut self.inner.path, key);
        self
    }

    #[cold]
    pub(super) fn at_index(mut self, index: usize) -> Self {
        prepend_index(&mut self.inner.path, index);
        self
    }

    /// Sets line and column from the offset.
    #[cold]
    pub(super) fn place(mut self, text: &str) -> Self {
        let before = text.get(..self.inner.offset).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        self.inner.line = before.matches('\n').count() + 1;
        self.inner.column = line.chars().count() + 1;
        self
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> JsonErrorKind {
        self.inner.kind
    }

    /// The line, starting at 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.inner.line
    }

    /// The column in characters, starting at 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.inner.column
    }

    /// The byte offset, starting at 0.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.inner.offset
    }

    /// Path of the field, such as `lines[2].sku`. Empty if the text is not JSON, or the error is
    /// about the whole value.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.inner.path
    }

    /// Reason, without position and path.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.inner.message
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_path(f, &self.inner.path)?;
        let JsonDetails {
            message,
            line,
            column,
            ..
        } = &*self.inner;
        write!(f, "{message} at line {line}, column {column}")
    }
}

impl fmt::Debug for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JsonError({self})")
    }
}

impl std::error::Error for JsonError {}
