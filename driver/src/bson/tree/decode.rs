//! Decodes documents into trees.

use crate::bson::{
    Binary, Bson, Document, JavaScriptCodeWithScope, Regex, capacity, de,
    error::DecodeError,
    limits::MAX_DEPTH,
    raw_reader::{RawElement, RawElements},
    raw_value::{RawValue, utf8},
    spec::ElementType,
};

/// Decodes one document, which must fill `bytes` exactly, into a tree.
///
/// # Errors
/// If the bytes are malformed anywhere, or nest too deep.
pub fn decode_document(bytes: &[u8]) -> Result<Document, DecodeError> {
    let mut reader = Reader {
        input: bytes,
        elements: Vec::with_capacity(if bytes.len() > SMALL { USUAL } else { 0 }),
        has_unique_keys: false,
    };
    reader.document(bytes, MAX_DEPTH)
}

/// Decodes one value of a document into a tree.
pub(in crate::bson) fn value(raw: RawValue<'_>, input: &[u8]) -> Result<Bson, DecodeError> {
    value_within(raw, input, MAX_DEPTH - 1)
}

/// Decodes one value into a tree that nests at most `depth` levels. A key that a document has twice is an error.
pub(in crate::bson) fn value_with_unique_keys(
    raw: RawValue<'_>,
    input: &[u8],
    depth: u8,
) -> Result<Bson, DecodeError> {
    let mut reader = Reader {
        input,
        elements: Vec::new(),
        has_unique_keys: true,
    };
    reader.value(raw, depth)
}

/// Decodes one value into a tree that nests at most `depth` levels.
pub(in crate::bson) fn value_within(raw: RawValue<'_>, input: &[u8], depth: u8) -> Result<Bson, DecodeError> {
    let mut reader = Reader {
        input,
        elements: Vec::new(),
        has_unique_keys: false,
    };
    reader.value(raw, depth)
}

struct Reader<'i> {
    input: &'i [u8],
    /// The elements of the documents and arrays in progress, those of inner ones after those of
    /// outer ones. All elements of a document are found before the first is decoded, so that its
    /// capacity is known.
    elements: Vec<RawElement<'i>>,
    /// Whether a key that a document has twice is an error. Otherwise the last value counts.
    has_unique_keys: bool,
}

/// Initial capacity for elements.
const USUAL: usize = 24;

/// Maximum length of a document that is decoded without finding its elements first, in bytes.
const SMALL: usize = 32;

impl<'i> Reader<'i> {
    fn offset_of(&self, part: &[u8]) -> usize {
        part.as_ptr().addr().wrapping_sub(self.input.as_ptr().addr())
    }

    /// Finds the elements of a document or array. Returns the index of the first.
    fn find(&mut self, bytes: &'i [u8]) -> Result<usize, DecodeError> {
        let first = self.elements.len();
        let mut elements = match RawElements::new(bytes) {
            Ok(elements) => elements,
            Err(error) => return Err(error.rebase(self.offset_of(bytes))),
        };
        while !elements.is_empty() {
            let mut before = elements;
            match elements.take_element() {
                Some(element) => self.elements.push(element),
                None => return Err(before.element_error().rebase(self.offset_of(bytes))),
            }
        }
        Ok(first)
    }

    fn insert(&self, document: &mut Document, key: &str, value: Bson) -> Result<(), DecodeError> {
        match document.insert(key, value) {
            Some(_) if self.has_unique_keys => Err(DecodeError::new("duplicate field").in_field(key)),
            _ => Ok(()),
        }
    }

    fn document(&mut self, bytes: &'i [u8], depth: u8) -> Result<Document, DecodeError> {
        let inner = depth.checked_sub(1).ok_or_else(DecodeError::too_deep)?;
        if bytes.len() <= SMALL {
            return self.small_document(bytes, inner);
        }
        let first = self.find(bytes)?;
        let end = self.elements.len();
        let mut document = capacity::document_for((end - first).min(capacity::MAX_ELEMENTS));
        for index in first..end {
            let Some(RawElement { key, value }) = self.elements.get(index).copied() else {
                break;
            };
            match self.value(value, inner) {
                Ok(value) => self.insert(&mut document, key, value)?,
                Err(error) => return Err(error.in_field(key)),
            }
        }
        self.elements.truncate(first);
        Ok(document)
    }

    fn small_document(&mut self, bytes: &'i [u8], inner: u8) -> Result<Document, DecodeError> {
        let mut elements = RawElements::new(bytes).map_err(|error| error.rebase(self.offset_of(bytes)))?;
        if elements.is_empty() {
            return Ok(Document::new());
        }
        let mut document = capacity::document_for_few();
        while !elements.is_empty() {
            let mut before = elements;
            let Some(RawElement { key, value }) = elements.take_element() else {
                return Err(before.element_error().rebase(self.offset_of(bytes)));
            };
            match self.value(value, inner) {
                Ok(value) => self.insert(&mut document, key, value)?,
                Err(error) => return Err(error.in_field(key)),
            }
        }
        Ok(document)
    }

    fn array(&mut self, bytes: &'i [u8], depth: u8) -> Result<Vec<Bson>, DecodeError> {
        let inner = depth.checked_sub(1).ok_or_else(DecodeError::too_deep)?;
        let first = self.find(bytes)?;
        let end = self.elements.len();
        let mut values = Vec::with_capacity(end - first);
        for index in first..end {
            let Some(RawElement { value, .. }) = self.elements.get(index).copied() else {
                break;
            };
            match self.value(value, inner) {
                Ok(value) => values.push(value),
                Err(error) => return Err(error.at_index(index - first)),
            }
        }
        self.elements.truncate(first);
        Ok(values)
    }

    fn value(&mut self, raw: RawValue<'i>, depth: u8) -> Result<Bson, DecodeError> {
        self.read(raw, depth)
            .map_err(|error| error.locate(raw.kind(), self.offset_of(raw.bytes())))
    }

    /// Only documents and arrays recur: the frame of this function is small.
    fn read(&mut self, raw: RawValue<'i>, depth: u8) -> Result<Bson, DecodeError> {
        match raw.kind() {
            ElementType::EmbeddedDocument => self.document(raw.bytes(), depth).map(Bson::Document),
            ElementType::Array => self.array(raw.bytes(), depth).map(Bson::Array),
            _ => self.leaf(raw, depth),
        }
    }

    #[inline(never)]
    fn leaf(&mut self, raw: RawValue<'i>, depth: u8) -> Result<Bson, DecodeError> {
        Ok(match raw.kind() {
            ElementType::EmbeddedDocument | ElementType::Array => return self.read(raw, depth),
            ElementType::Double => Bson::Double(raw.f64()?),
            ElementType::String => Bson::String(raw.str()?.to_owned()),
            ElementType::Binary => {
                let binary = raw.binary()?;
                Bson::Binary(Binary {
                    subtype: binary.subtype,
                    bytes: binary.bytes.to_vec(),
                })
            }
            ElementType::Undefined => Bson::Undefined,
            ElementType::ObjectId => Bson::ObjectId(raw.object_id()?),
            ElementType::Boolean => Bson::Boolean(raw.bool()?),
            ElementType::DateTime => Bson::DateTime(raw.date_time()?),
            ElementType::Null => Bson::Null,
            ElementType::RegularExpression => {
                let (pattern, options) = raw.regex()?;
                Bson::RegularExpression(regex(pattern, options)?)
            }
            // Crate bson has no constructor, but deserializes it.
            ElementType::DbPointer => de::from_raw_value(raw, raw.bytes())?,
            ElementType::JavaScriptCode => Bson::JavaScriptCode(utf8(raw.text()?)?.to_owned()),
            ElementType::Symbol => Bson::Symbol(utf8(raw.text()?)?.to_owned()),
            ElementType::JavaScriptCodeWithScope => {
                let (code, scope) = raw.code_with_scope()?;
                Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope {
                    code: utf8(code)?.to_owned(),
                    scope: self.document(scope, depth)?,
                })
            }
            ElementType::Int32 => Bson::Int32(raw.i32()?),
            ElementType::Timestamp => Bson::Timestamp(raw.timestamp()?),
            ElementType::Int64 => Bson::Int64(raw.i64()?),
            ElementType::Decimal128 => Bson::Decimal128(raw.decimal128()?),
            ElementType::MaxKey => Bson::MaxKey,
            ElementType::MinKey => Bson::MinKey,
        })
    }
}

/// A regular expression with its options in alphabetical order, as the format requires.
fn regex(pattern: &str, options: &str) -> Result<Regex, DecodeError> {
    let mut letters: Vec<char> = options.chars().collect();
    letters.sort_unstable();
    let sorted: String = letters.into_iter().collect();
    match (pattern.try_into(), sorted.try_into()) {
        (Ok(pattern), Ok(options)) => Ok(Regex { pattern, options }),
        _ => Err(DecodeError::new("the regular expression contains a zero byte")),
    }
}
