//! Errors of encoding and decoding, with the field's path and the byte offset.

use std::borrow::Cow;
use std::fmt;

use super::limits::MAX_DEPTH;
use super::spec::ElementType;

/// Maximum length of one key in a path, in bytes. Keys may come from untrusted input.
const MAX_KEY_IN_PATH: usize = 128;

/// A value that cannot be represented as BSON.
///
/// The message states the field and the reason, never the value, which may be confidential.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodeError {
    inner: Box<EncodeDetails>,
}

#[derive(Clone, PartialEq, Eq)]
struct EncodeDetails {
    path: String,
    message: Cow<'static, str>,
}

impl EncodeError {
    /// An error with this message, which should not contain the value. The enclosing document adds the path.
    #[cold]
    #[must_use]
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            inner: Box::new(EncodeDetails {
                path: String::new(),
                message: message.into(),
            }),
        }
    }

    /// The error of documents that nest deeper than a reader of trees accepts.
    #[cold]
    pub(super) fn too_deep() -> Self {
        Self::new(format!("documents nest deeper than {MAX_DEPTH} levels"))
    }

    /// The error of a key that is not a C string.
    #[cold]
    pub(super) fn zero_in_key() -> Self {
        Self::new("the key contains a zero byte")
    }

    /// The error of a value in the field of a document with this key.
    #[cold]
    #[must_use]
    pub fn in_field(mut self, key: &str) -> Self {
        prepend_key(&mut self.inner.path, key);
        self
    }

    /// The error of a value at this index of an array.
    #[cold]
    #[must_use]
    pub fn at_index(mut self, index: usize) -> Self {
        prepend_index(&mut self.inner.path, index);
        self
    }

    /// Removes the empty key of a helper document from the path.
    #[cold]
    pub(crate) fn without_first_key(mut self) -> Self {
        if let Some(path) = self.inner.path.strip_prefix('.') {
            self.inner.path = path.to_owned();
        }
        self
    }

    /// Path of the field, such as `lines[2].sku`. Empty if the error is about the whole value.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.inner.path
    }

    /// Reason, without the path.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.inner.message
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_path(f, &self.inner.path)?;
        f.write_str(&self.inner.message)
    }
}

impl fmt::Debug for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EncodeError({self})")
    }
}

impl std::error::Error for EncodeError {}

impl serde::ser::Error for EncodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }
}

/// Bytes that are not BSON, or BSON that does not have the form of the requested type.
///
/// The message states the field, the types and the byte offset, never the value, which may be
/// confidential. The message of an application's own `Deserialize`, or of the error of its
/// `TryFrom`, is kept as it is, up to 1024 bytes.
///
/// Messages of crate bson that contain the value are replaced. Those of its
/// [`serde_helpers`](super::serde_helpers) are kept.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeError {
    inner: Box<DecodeDetails>,
}

#[derive(Clone, PartialEq, Eq)]
struct DecodeDetails {
    path: String,
    message: Cow<'static, str>,
    /// Whether the message is an error of crate bson, which may contain a value.
    is_of_crate_bson: bool,
    found: Option<Found>,
    offset: Option<usize>,
}

/// The type a reader found: the name in the serde data model, until the element it was read from is
/// known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Serde(&'static str),
    /// The name in the serde data model of a value in serde's buffer, whose element is not known.
    Buffered(&'static str),
    Element(ElementType),
    /// Not stated: a value read by crate bson, until the element it was read from is known.
    Unnamed,
}

impl DecodeError {
    /// The error of documents that nest too deep.
    #[cold]
    pub(super) fn too_deep() -> Self {
        Self::new(format!("documents nest deeper than {MAX_DEPTH} levels"))
    }

    /// An error with this message, which should not contain the value. The enclosing document adds the path.
    #[cold]
    #[must_use]
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        let message = message.into();
        Self {
            inner: Box::new(DecodeDetails {
                path: String::new(),
                message,
                is_of_crate_bson: false,
                found: None,
                offset: None,
            }),
        }
    }

    #[cold]
    pub(crate) fn mismatch(expected: &str, found: ElementType) -> Self {
        Self::found(format!("expected {expected}").into(), Found::Element(found))
    }

    #[cold]
    pub(crate) fn found(message: Cow<'static, str>, found: Found) -> Self {
        let mut error = Self::new(message);
        error.inner.found = Some(found);
        error
    }

    #[cold]
    pub(crate) fn malformed(message: &'static str, offset: usize) -> Self {
        let mut error = Self::new(message);
        error.inner.offset = Some(offset);
        error
    }

    /// Marks that the message is an error of crate bson, which may contain a value.
    #[cold]
    pub(crate) fn of_crate_bson(mut self) -> Self {
        self.inner.is_of_crate_bson = true;
        self
    }

    /// Whether the message is an error of crate bson and not located.
    pub(crate) fn is_of_crate_bson(&self) -> bool {
        self.inner.is_of_crate_bson && self.inner.offset.is_none()
    }

    /// Marks that the error is about a value in serde's buffer.
    #[cold]
    pub(crate) fn in_buffer(mut self) -> Self {
        if let Some(Found::Serde(name)) = self.inner.found {
            self.inner.found = Some(Found::Buffered(name));
        }
        self
    }

    /// Adds the type of the element that crate bson has read, if the error is not located.
    #[cold]
    pub(crate) fn read_by_crate_bson(mut self, kind: ElementType) -> Self {
        if self.inner.offset.is_none() && self.inner.found == Some(Found::Unnamed) {
            self.inner.found = Some(Found::Element(kind));
        }
        self
    }

    /// Replaces a message that may contain the value.
    #[cold]
    pub(crate) fn without_text(mut self, found: ElementType) -> Self {
        self.inner.message = "expected another type or value".into();
        self.inner.found = Some(Found::Element(found));
        self
    }

    /// Adds the element that the error is about, unless an inner element is in it already.
    #[cold]
    pub(crate) fn locate(mut self, kind: ElementType, offset: usize) -> Self {
        let inner = &mut self.inner;
        if inner.offset.is_none() {
            inner.offset = Some(offset);
            if let Some(Found::Serde(name)) = inner.found
                && serde_names(kind).contains(&name)
            {
                inner.found = Some(Found::Element(kind));
            }
        }
        self
    }

    /// Adds the element that encloses the error: its type and offset if the error is about the whole value, otherwise only
    /// the offset.
    #[cold]
    pub(crate) fn within(self, kind: ElementType, offset: usize) -> Self {
        if self.inner.offset.is_none() {
            self.locate(kind, offset)
        } else {
            self.rebase(offset)
        }
    }

    /// Converts an offset in a part of the input, which starts at `base`, to one in the whole
    /// input.
    #[cold]
    pub(crate) fn rebase(mut self, base: usize) -> Self {
        if let Some(offset) = &mut self.inner.offset {
            *offset += base;
        }
        self
    }

    /// The error of a value in the field of a document with this key.
    #[cold]
    #[must_use]
    pub fn in_field(mut self, key: &str) -> Self {
        prepend_key(&mut self.inner.path, key);
        self
    }

    /// The error of a value at this index of an array.
    #[cold]
    #[must_use]
    pub fn at_index(mut self, index: usize) -> Self {
        prepend_index(&mut self.inner.path, index);
        self
    }

    /// Path of the field, such as `lines[2].sku`. Empty if the error is about the whole document.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.inner.path
    }

    /// Reason, without path, type found and offset.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.inner.message
    }

    /// The type found instead of the expected one, if a type was: that of BSON, such as `Int32`, or, if the
    /// element is not known, that of the serde data model, such as `an integer`.
    ///
    /// ```
    /// use marula_driver::bson::{doc, from_slice, to_vec};
    ///
    /// #[derive(Debug, serde::Deserialize)]
    /// struct Item {
    ///     #[allow(dead_code)]
    ///     left: i32,
    /// }
    /// let bytes = to_vec(&doc! { "left": "two" }).unwrap();
    /// let error = from_slice::<Item>(&bytes).unwrap_err();
    /// assert_eq!((error.path(), error.type_found()), ("left", Some("String")));
    /// ```
    #[must_use]
    pub fn type_found(&self) -> Option<&'static str> {
        match self.inner.found? {
            Found::Serde(name) | Found::Buffered(name) => Some(name),
            Found::Element(kind) => Some(kind_name(kind)),
            Found::Unnamed => None,
        }
    }

    /// Offset in the input of the first byte of the element's value, if known.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        self.inner.offset
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_path(f, self.path())?;
        f.write_str(self.message())?;
        if let Some(found) = self.type_found() {
            write!(f, ", found {found}")?;
        }
        if let Some(Found::Buffered(_)) = self.inner.found {
            f.write_str(" in a field of a flattened, tagged or untagged type, which serde does not name,")?;
        }
        match self.inner.offset {
            Some(offset) => write!(f, " at byte {offset}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecodeError({self})")
    }
}

impl std::error::Error for DecodeError {}

/// The name of a BSON type in messages.
pub(crate) fn kind_name(kind: ElementType) -> &'static str {
    match kind {
        ElementType::Double => "Double",
        ElementType::String => "String",
        ElementType::EmbeddedDocument => "Document",
        ElementType::Array => "Array",
        ElementType::Binary => "Binary",
        ElementType::Undefined => "Undefined",
        ElementType::ObjectId => "ObjectId",
        ElementType::Boolean => "Boolean",
        ElementType::DateTime => "DateTime",
        ElementType::Null => "Null",
        ElementType::RegularExpression => "RegularExpression",
        ElementType::DbPointer => "DbPointer",
        ElementType::JavaScriptCode => "JavaScriptCode",
        ElementType::Symbol => "Symbol",
        ElementType::JavaScriptCodeWithScope => "JavaScriptCodeWithScope",
        ElementType::Int32 => "Int32",
        ElementType::Timestamp => "Timestamp",
        ElementType::Int64 => "Int64",
        ElementType::Decimal128 => "Decimal128",
        ElementType::MaxKey => "MaxKey",
        ElementType::MinKey => "MinKey",
    }
}

/// The serde data model's names of the types that an element is deserialized as.
fn serde_names(kind: ElementType) -> &'static [&'static str] {
    match kind {
        ElementType::Int32 | ElementType::Int64 => &["an integer"],
        ElementType::Double => &["a float", "an integer"],
        ElementType::String => &["a string", "a variant without data"],
        ElementType::Boolean => &["a boolean"],
        ElementType::Null => &["null"],
        ElementType::Array => &["a sequence"],
        ElementType::Binary => &["bytes", "a map"],
        _ => &["a map"],
    }
}

pub(super) fn write_path(f: &mut fmt::Formatter<'_>, path: &str) -> fmt::Result {
    if path.is_empty() {
        Ok(())
    } else {
        write!(f, "{path}: ")
    }
}

pub(super) fn prepend_key(path: &mut String, key: &str) {
    let joint = if path.is_empty() || path.starts_with('[') {
        ""
    } else {
        "."
    };
    let shown = shorten(key);
    let mark = if shown.len() < key.len() { "…" } else { "" };
    let shown = without_controls(shown);
    *path = format!("{shown}{mark}{joint}{path}");
}

pub(super) fn prepend_index(path: &mut String, index: usize) {
    let joint = if path.is_empty() || path.starts_with('[') {
        ""
    } else {
        "."
    };
    *path = format!("[{index}]{joint}{path}");
}

/// The key with control characters as escapes, such as `\0`, so that messages can be printed.
fn without_controls(key: &str) -> Cow<'_, str> {
    if !key.contains(char::is_control) {
        return Cow::Borrowed(key);
    }
    let mut escaped = String::with_capacity(key.len() + 8);
    for character in key.chars() {
        if character.is_control() {
            escaped.extend(character.escape_debug());
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

fn shorten(key: &str) -> &str {
    let mut end = key.len().min(MAX_KEY_IN_PATH);
    while !key.is_char_boundary(end) {
        end -= 1;
    }
    key.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_like_code() {
        let error = EncodeError::new("no")
            .in_field("sku")
            .at_index(2)
            .in_field("lines");
        assert_eq!(error.path(), "lines[2].sku");
        assert_eq!(error.to_string(), "lines[2].sku: no");
        let error = EncodeError::new("no")
            .at_index(1)
            .at_index(0)
            .in_field("m")
            .in_field("a");
        assert_eq!(error.path(), "a.m[0][1]");
        assert_eq!(EncodeError::new("no").to_string(), "no");
    }

    #[test]
    fn control_characters_in_keys_are_escaped() {
        let error = EncodeError::new("no").in_field("b\0\n\u{1b}é\"").in_field("a");
        assert_eq!(error.path(), "a.b\\0\\n\\u{1b}é\"");
        assert!(!error.to_string().contains(char::is_control));
    }

    #[test]
    fn long_keys_are_cut_at_a_character() {
        let key = "é".repeat(1000);
        let path = EncodeError::new("no").in_field(&key).path().to_owned();
        assert!(path.len() < 140 && path.ends_with("é…"), "{path}");
    }

    #[test]
    fn the_element_type_replaces_the_serde_type_if_they_correspond() {
        let error = DecodeError::found("expected a string".into(), Found::Serde("an integer"));
        let fits = error.clone().locate(ElementType::Int32, 81).in_field("sku");
        assert_eq!(fits.to_string(), "sku: expected a string, found Int32 at byte 81");
        let other = error.locate(ElementType::EmbeddedDocument, 0);
        assert_eq!(other.to_string(), "expected a string, found an integer at byte 0");
        assert_eq!(fits.locate(ElementType::Array, 3).offset(), Some(81));
    }

    #[test]
    fn errors_are_small() {
        assert!(size_of::<EncodeError>() <= 8 && size_of::<DecodeError>() <= 8);
    }
}
