//! The deserializer: reads any serde type from BSON bytes and borrows from them where it can.
//!
//! The input format is specified at <https://bsonspec.org/spec.html>.

mod access;
mod call_sites;
mod error;
mod extended_json_shapes;
mod key;
mod parsed;
mod parsed_value;
mod stored_parts;
mod value;
mod variant;

use std::cell::Cell;

use serde::Deserialize;

use super::error::DecodeError;
use super::limits::{MAX_DEPTH, MAX_DEPTH_OF_ANY};
use super::raw_value::RawValue;
use super::spec::ElementType;
use super::{RawBsonRef, RawDocument};

use parsed::Parsed;
use parsed_value::ParsedValue;
pub(super) use stored_parts::read as read_stored_parts;
use value::{Element, Value};

/// Decodes one document, which must fill `bytes` exactly.
///
/// Strings and bytes can be borrowed from `bytes`. Fields that the type does not have are skipped
/// without being validated.
///
/// # Errors
/// If the bytes are malformed, or do not have the form of `T`.
#[inline]
pub fn from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, DecodeError> {
    from_raw_value(RawValue::of_document(bytes), bytes)
}

/// Decodes one raw document.
///
/// # Errors
/// If the document's elements are malformed, or do not have the form of `T`.
#[inline]
pub fn from_raw<'de, T: Deserialize<'de>>(document: &'de RawDocument) -> Result<T, DecodeError> {
    from_slice(document.as_bytes())
}

/// Decodes one value of a document. Offsets in errors count from the start of `input`.
#[inline]
pub(super) fn from_raw_value<'de, T: Deserialize<'de>>(
    raw: RawValue<'de>,
    input: &'de [u8],
) -> Result<T, DecodeError> {
    let context = Context::new(input);
    let element = Element {
        context: &context,
        raw,
        mode: Mode::TOP,
    };
    match T::deserialize(Value(&element)) {
        Ok(value) => Ok(value),
        Err(error) => Err(context.locate(error, raw)),
    }
}

/// Decodes one value that is nested in `depth` documents and arrays. Offsets in errors count from its first byte.
pub(super) fn from_nested_value<'de, T: Deserialize<'de>>(
    raw: RawValue<'de>,
    depth: u8,
) -> Result<T, DecodeError> {
    let context = Context::new(raw.bytes());
    let mode = Mode {
        depth: MAX_DEPTH.saturating_sub(depth),
        ..Mode::TOP
    };
    let element = Element {
        context: &context,
        raw,
        mode,
    };
    T::deserialize(Value(&element)).map_err(|error| context.locate(error, raw))
}

/// Decodes any value of a raw document or array.
///
/// # Errors
/// If the value is malformed, or does not have the form of `T`.
pub fn from_raw_bson<'de, T: Deserialize<'de>>(value: RawBsonRef<'de>) -> Result<T, DecodeError> {
    let document = match value {
        RawBsonRef::Document(document) => Some(document.as_bytes()),
        RawBsonRef::Array(array) => Some(array.as_bytes()),
        _ => None,
    };
    if let Some(bytes) = document {
        return from_raw_value(RawValue::new(value.element_type(), bytes), bytes);
    }
    let Some(parsed) = Parsed::of_raw_bson(value) else {
        // A DbPointer: crate bson does not expose its parts, but deserializes them.
        let owned = super::Bson::try_from(value)
            .map_err(|_| DecodeError::mismatch("a BSON value", value.element_type()))?;
        return T::deserialize(::bson::Deserializer::new(owned))
            .map_err(|_| DecodeError::mismatch("another type", ElementType::DbPointer));
    };
    let context = Context::new(&[]);
    context.passed_on.set(PassedOn::EVERYTHING);
    T::deserialize(ParsedValue::new(&context, parsed))
        .map_err(|error| context.locate(error, RawValue::new(value.element_type(), &[])))
}

/// State of one decoding.
pub(super) struct Context<'de> {
    /// All bytes, from whose start offsets are counted.
    input: &'de [u8],
    passed_on: Cell<PassedOn>,
}

/// The last value passed to a reader that accepts any type, such as `Bson` or serde's buffer for
/// tagged enums and flattened fields.
///
/// The reader's type may reject the value afterwards. The error then is not about the element that
/// was read last.
#[derive(Clone, Copy)]
struct PassedOn {
    /// Addresses of the value's first byte and of the byte after its last.
    start: usize,
    end: usize,
    /// Whether the reader was one of a `Bson`.
    to_bson: bool,
}

impl PassedOn {
    const NOTHING: Self = Self {
        start: 0,
        end: 0,
        to_bson: false,
    };
    const EVERYTHING: Self = Self {
        start: 0,
        end: usize::MAX,
        to_bson: true,
    };

    fn new(bytes: &[u8], to_bson: bool) -> Self {
        let start = bytes.as_ptr().addr();
        Self {
            start,
            end: start + bytes.len(),
            to_bson,
        }
    }

    fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether one value is inside of the other.
    fn overlaps(self, other: Self) -> bool {
        self.contains(other) || other.contains(self)
    }
}

impl<'de> Context<'de> {
    #[inline]
    fn new(input: &'de [u8]) -> Self {
        Self {
            input,
            passed_on: Cell::new(PassedOn::NOTHING),
        }
    }

    /// Index of a part of the input.
    fn offset_of(&self, part: &[u8]) -> usize {
        let distance = part.as_ptr().addr().wrapping_sub(self.input.as_ptr().addr());
        if distance <= self.input.len() { distance } else { 0 }
    }

    /// Records that a value is passed to a reader that accepts any type. Values inside of it are
    /// not recorded.
    #[inline]
    fn pass_on(&self, bytes: &[u8], to_bson: bool) {
        let value = PassedOn::new(bytes, to_bson);
        if !self.passed_on.get().contains(value) {
            self.passed_on.set(value);
        }
    }

    #[cold]
    fn too_deep(&self, mode: Mode) -> DecodeError {
        DecodeError::new(if !mode.passed_on {
            format!("documents nest deeper than {MAX_DEPTH} levels")
        } else if self.passed_on.get().to_bson {
            format!(
                "documents nest deeper than {MAX_DEPTH_OF_ANY} levels, the limit of values that crate bson \
                 reads; bson::exact reads {MAX_DEPTH}"
            )
        } else {
            format!(
                "documents nest deeper than {MAX_DEPTH_OF_ANY} levels, the limit of values that serde reads \
                 into a buffer"
            )
        })
    }

    /// Adds the element to an error, unless an inner element is in it already, and removes an error
    /// of crate bson that may contain a value.
    #[cold]
    fn locate(&self, error: DecodeError, raw: RawValue<'_>) -> DecodeError {
        let element = PassedOn::new(raw.bytes(), false);
        let passed_on = self.passed_on.get();
        let error = if error.is_of_crate_bson() && passed_on.overlaps(element) {
            error.without_text(raw.kind())
        } else if passed_on.to_bson && passed_on.contains(element) {
            error.read_by_crate_bson(raw.kind())
        } else if element.contains(passed_on) && element.start < passed_on.start {
            error.in_buffer()
        } else {
            error
        };
        error.locate(raw.kind(), self.offset_of(raw.bytes()))
    }
}

/// How deep the value may still nest, and what the wrappers around it request. Aligned so that it
/// is copied as one word.
#[derive(Clone, Copy)]
#[repr(align(4))]
struct Mode {
    depth: u8,
    human_readable: bool,
    lossy: bool,
    /// Whether the value is in one that is passed to a reader of any type.
    passed_on: bool,
}

impl Mode {
    const TOP: Self = Self {
        depth: MAX_DEPTH,
        human_readable: false,
        lossy: false,
        passed_on: false,
    };

    /// The mode of a value that is passed to a reader of any type.
    #[inline]
    fn of_any(self) -> Self {
        Self {
            depth: self.depth.min(MAX_DEPTH_OF_ANY),
            passed_on: true,
            ..self
        }
    }

    /// The mode one level further in.
    #[inline]
    fn inner(self, context: &Context<'_>) -> Result<Self, DecodeError> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(Self { depth, ..self }),
            None => Err(context.too_deep(self)),
        }
    }
}
