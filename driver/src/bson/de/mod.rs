//! The deserializer: any serde type straight from BSON bytes, borrowing from them where it can.

mod access;
mod buffered;
mod error;
mod key;
mod parsed;
mod parsed_value;
mod value;
mod variant;
mod vocabulary;

use serde::Deserialize;

use super::error::DecodeError;
use super::limits::MAX_DEPTH;
use super::raw_value::RawValue;
use super::spec::ElementType;
use super::{RawBsonRef, RawDocument};

use buffered::Plan;
use parsed::Parsed;
use parsed_value::ParsedValue;
use value::{Element, Value};

/// Decodes one document, which must fill `bytes` exactly.
///
/// Strings and bytes can be borrowed from `bytes`. Fields that the type leaves out are skipped
/// without looking inside them.
///
/// # Errors
/// When the bytes are malformed, or do not have the form of `T`.
#[inline]
pub fn from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, DecodeError> {
    from_raw_value(RawValue::of_document(bytes), bytes)
}

/// Decodes one document that is known to be well formed on the outside.
///
/// # Errors
/// When the document's elements are malformed, or do not have the form of `T`.
#[inline]
pub fn from_raw<'de, T: Deserialize<'de>>(document: &'de RawDocument) -> Result<T, DecodeError> {
    from_slice(document.as_bytes())
}

/// Decodes one value of a document; offsets in errors count from the start of `input`.
#[inline]
pub(super) fn from_raw_value<'de, T: Deserialize<'de>>(
    raw: RawValue<'de>,
    input: &'de [u8],
) -> Result<T, DecodeError> {
    buffered::decode(input, |context| {
        let element = Element {
            context,
            raw,
            mode: Mode::TOP,
        };
        match T::deserialize(Value(&element)) {
            Ok(value) => Ok(value),
            Err(error) => Err(error.locate(raw.kind(), context.offset_of(raw.bytes()))),
        }
    })
}

/// Decodes any value that a raw document or array holds.
///
/// # Errors
/// When the value is malformed, or does not have the form of `T`.
pub fn from_raw_bson<'de, T: Deserialize<'de>>(value: RawBsonRef<'de>) -> Result<T, DecodeError> {
    let Some(parsed) = Parsed::of_raw_bson(value) else {
        // Only a DbPointer, whose parts crate bson keeps to itself: ask it to take the value apart.
        let owned = super::Bson::try_from(value)
            .map_err(|_| DecodeError::mismatch("a BSON value", value.element_type()))?;
        return T::deserialize(::bson::Deserializer::new(owned))
            .map_err(|_| DecodeError::mismatch("another type", ElementType::DbPointer));
    };
    let input = parsed.container().unwrap_or_default();
    buffered::decode(input, |context| {
        T::deserialize(ParsedValue::new(context, parsed))
            .map_err(|error| error.locate(value.element_type(), 0))
    })
}

/// What one decoding shares.
pub(super) struct Context<'de, 'p> {
    /// All of the bytes, from which offsets are counted.
    input: &'de [u8],
    /// How binary data is given to serde's buffer of not yet understood content.
    plan: &'p Plan,
}

impl Context<'_, '_> {
    /// Where a part of the input starts.
    fn offset_of(&self, part: &[u8]) -> usize {
        let distance = part.as_ptr().addr().wrapping_sub(self.input.as_ptr().addr());
        if distance <= self.input.len() { distance } else { 0 }
    }
}

/// How deep the value may still nest, and wishes of the wrappers around it. Aligned so that it is copied as a whole.
#[derive(Clone, Copy)]
#[repr(align(4))]
struct Mode {
    depth: u8,
    human_readable: bool,
    lossy: bool,
}

impl Mode {
    const TOP: Self = Self {
        depth: MAX_DEPTH,
        human_readable: false,
        lossy: false,
    };

    /// The mode one level further in.
    #[inline]
    fn inner(self) -> Result<Self, DecodeError> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(Self { depth, ..self }),
            None => Err(too_deep()),
        }
    }
}

#[cold]
fn too_deep() -> DecodeError {
    DecodeError::new(format!("documents nest deeper than {MAX_DEPTH} levels"))
}
