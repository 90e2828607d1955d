//! What goes wrong while encoding or decoding, and where: the field's path and the byte offset.

use std::borrow::Cow;
use std::fmt;

use super::spec::ElementType;

/// Longest part of one key that a path repeats; keys may come from untrusted bytes.
const MAX_KEY_IN_PATH: usize = 128;

/// A value that cannot be written as BSON.
///
/// The message names the field and the reason, never the value, which may be a secret.
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
    #[cold]
    pub(crate) fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            inner: Box::new(EncodeDetails {
                path: String::new(),
                message: message.into(),
            }),
        }
    }

    #[cold]
    pub(crate) fn in_field(mut self, key: &str) -> Self {
        prepend_key(&mut self.inner.path, key);
        self
    }

    #[cold]
    pub(crate) fn at_index(mut self, index: usize) -> Self {
        prepend_index(&mut self.inner.path, index);
        self
    }

    /// Takes the empty key of a helper document off the path.
    #[cold]
    pub(crate) fn without_first_key(mut self) -> Self {
        if let Some(path) = self.inner.path.strip_prefix('.') {
            self.inner.path = path.to_owned();
        }
        self
    }

    /// The field that failed, like `lines[2].sku`; empty when it is the whole value.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.inner.path
    }

    /// What is wrong, without the path.
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

/// Bytes that are not BSON, or BSON that does not have the form of the type asked for.
///
/// The message names the field, the types and the byte offset, never the value, which may be a
/// secret.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeError {
    // `None` is the silent error of an attempt whose failure is expected and thrown away.
    inner: Option<Box<DecodeDetails>>,
}

#[derive(Clone, PartialEq, Eq)]
struct DecodeDetails {
    path: String,
    message: Cow<'static, str>,
    found: Option<Found>,
    offset: Option<usize>,
}

/// The type a reader met: what serde calls it, until the element it was read from is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Serde(&'static str),
    Element(ElementType),
}

impl DecodeError {
    #[cold]
    pub(crate) fn new(message: impl Into<Cow<'static, str>>) -> Self {
        let message = message.into();
        Self {
            inner: Some(Box::new(DecodeDetails {
                path: String::new(),
                message,
                found: None,
                offset: None,
            })),
        }
    }

    /// An error that carries nothing and costs nothing.
    pub(crate) fn silent() -> Self {
        Self { inner: None }
    }

    #[cold]
    pub(crate) fn mismatch(expected: &str, found: ElementType) -> Self {
        Self::found(format!("expected {expected}").into(), Found::Element(found))
    }

    #[cold]
    pub(crate) fn found(message: Cow<'static, str>, found: Found) -> Self {
        let mut error = Self::new(message);
        if let Some(inner) = &mut error.inner {
            inner.found = Some(found);
        }
        error
    }

    #[cold]
    pub(crate) fn malformed(message: &'static str, offset: usize) -> Self {
        let mut error = Self::new(message);
        if let Some(inner) = &mut error.inner {
            inner.offset = Some(offset);
        }
        error
    }

    /// States the element the error came from, unless an inner element is already named.
    #[cold]
    pub(crate) fn locate(mut self, kind: ElementType, offset: usize) -> Self {
        if let Some(inner) = &mut self.inner
            && inner.offset.is_none()
        {
            inner.offset = Some(offset);
            if let Some(Found::Serde(name)) = inner.found
                && serde_names(kind).contains(&name)
            {
                inner.found = Some(Found::Element(kind));
            }
        }
        self
    }

    /// Moves an offset that counts from a part of the input to the whole input.
    #[cold]
    pub(crate) fn rebase(mut self, base: usize) -> Self {
        if let Some(inner) = &mut self.inner
            && let Some(offset) = &mut inner.offset
        {
            *offset += base;
        }
        self
    }

    #[cold]
    pub(crate) fn in_field(mut self, key: &str) -> Self {
        if let Some(inner) = &mut self.inner {
            prepend_key(&mut inner.path, key);
        }
        self
    }

    #[cold]
    pub(crate) fn at_index(mut self, index: usize) -> Self {
        if let Some(inner) = &mut self.inner {
            prepend_index(&mut inner.path, index);
        }
        self
    }

    /// The field that failed, like `lines[2].sku`; empty when it is the whole document.
    #[must_use]
    pub fn path(&self) -> &str {
        self.inner.as_ref().map_or("", |inner| &inner.path)
    }

    /// What is wrong, without path, type found and offset.
    #[must_use]
    pub fn message(&self) -> &str {
        self.inner
            .as_ref()
            .map_or("the value has another form", |inner| &inner.message)
    }

    /// Where in the input the failing element's value starts, where that is known.
    #[must_use]
    pub fn offset(&self) -> Option<usize> {
        self.inner.as_ref().and_then(|inner| inner.offset)
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_path(f, self.path())?;
        f.write_str(self.message())?;
        let Some(inner) = &self.inner else { return Ok(()) };
        match inner.found {
            Some(Found::Serde(name)) => write!(f, ", found {name}")?,
            Some(Found::Element(kind)) => write!(f, ", found {}", kind_name(kind))?,
            None => {}
        }
        match inner.offset {
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

/// The serde data model's names for what an element of this type is shown as.
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
    fn long_keys_are_cut_at_a_character() {
        let key = "é".repeat(1000);
        let path = EncodeError::new("no").in_field(&key).path().to_owned();
        assert!(path.len() < 140 && path.ends_with("é…"), "{path}");
    }

    #[test]
    fn the_element_replaces_serdes_word_only_when_it_fits() {
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
