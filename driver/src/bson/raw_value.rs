//! One encoded value: its type and bytes, with getters that validate.

use super::error::DecodeError;
use super::limits::MIN_DOCUMENT;
use super::oid::ObjectId;
use super::raw_reader::RawElements;
use super::spec::{BinarySubtype, ElementType};
use super::validate;
use super::{DateTime, Decimal128, RawBinaryRef, RawDocument, Timestamp};

/// The type and the bytes of one value.
#[derive(Clone, Copy, Debug)]
pub struct RawValue<'de> {
    kind: ElementType,
    bytes: &'de [u8],
}

/// Splits at the first zero byte, which is in neither part.
#[inline]
pub(crate) fn split_cstring(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    match bytes.split_at_checked(validate::find_zero(bytes)?)? {
        (text, [0, rest @ ..]) => Some((text, rest)),
        _ => None,
    }
}

#[inline]
fn read_len(bytes: &[u8]) -> Option<usize> {
    usize::try_from(i32::from_le_bytes(*bytes.first_chunk()?)).ok()
}

/// Length of a value at the start of `rest`. The caller checks that `rest` is long enough. `None`
/// if the length is malformed.
#[inline]
pub(super) fn value_len(kind: ElementType, rest: &[u8]) -> Option<usize> {
    match usual_len(kind, rest) {
        None => other_len(kind, rest).ok(),
        len => len,
    }
}

/// [`value_len`] for common types; `None` for the others too. Calls no other function.
#[inline]
pub(super) fn usual_len(kind: ElementType, rest: &[u8]) -> Option<usize> {
    match usize::from(*LENGTHS.get(kind as usize)?) {
        len if len < STATED => Some(len),
        UNUSUAL => None,
        rule => stated(rule, rest),
    }
}

/// The length that a value states, with the bytes that its rule adds.
#[inline]
fn stated(rule: usize, rest: &[u8]) -> Option<usize> {
    // A negative length becomes larger than any document.
    let stated = u32::from_le_bytes(*rest.first_chunk()?);
    let len = usize::try_from(stated).ok()?.checked_add(rule - STATED)?;
    (len >= MIN_DOCUMENT).then_some(len)
}

/// Length of values by type: constants below [`STATED`]; above it, the bytes to add to the length
/// that the value states. Strings, binary data and documents have at least [`MIN_DOCUMENT`] bytes.
const LENGTHS: [u8; 256] = lengths();

const STATED: usize = 0x80;
const UNUSUAL: usize = 0xff;

#[allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "evaluated by the compiler, which would refuse"
)]
const fn lengths() -> [u8; 256] {
    let mut table = [UNUSUAL as u8; 256];
    table[ElementType::Undefined as usize] = 0;
    table[ElementType::Null as usize] = 0;
    table[ElementType::MinKey as usize] = 0;
    table[ElementType::MaxKey as usize] = 0;
    table[ElementType::Boolean as usize] = 1;
    table[ElementType::Int32 as usize] = 4;
    table[ElementType::Double as usize] = 8;
    table[ElementType::DateTime as usize] = 8;
    table[ElementType::Int64 as usize] = 8;
    table[ElementType::Timestamp as usize] = 8;
    table[ElementType::ObjectId as usize] = 12;
    table[ElementType::Decimal128 as usize] = 16;
    table[ElementType::EmbeddedDocument as usize] = STATED as u8;
    table[ElementType::Array as usize] = STATED as u8;
    table[ElementType::String as usize] = STATED as u8 + 4;
    table[ElementType::JavaScriptCode as usize] = STATED as u8 + 4;
    table[ElementType::Symbol as usize] = STATED as u8 + 4;
    table[ElementType::Binary as usize] = STATED as u8 + 5;
    table
}

/// Lengths of the types that [`usual_len`] does not cover.
#[cold]
#[inline(never)]
pub(super) fn other_len(kind: ElementType, rest: &[u8]) -> Result<usize, &'static str> {
    Ok(match kind {
        ElementType::EmbeddedDocument | ElementType::Array => document_len(rest)?,
        ElementType::String | ElementType::JavaScriptCode | ElementType::Symbol => string_len(rest)?,
        ElementType::DbPointer => string_len(rest)? + 12,
        ElementType::RegularExpression => {
            let after = split_cstring(rest).and_then(|(_, options)| split_cstring(options));
            let (_, after) = after.ok_or("the regular expression has no end")?;
            rest.len() - after.len()
        }
        ElementType::JavaScriptCodeWithScope => {
            let len = stated_len(rest)?;
            if len < 4 + 5 + MIN_DOCUMENT {
                return Err("the code with scope's length is too small");
            }
            len
        }
        ElementType::Binary => stated_len(rest)? + 5,
        _ => usual_len(kind, rest).ok_or("the element's length is unknown")?,
    })
}

fn stated_len(rest: &[u8]) -> Result<usize, &'static str> {
    read_len(rest).ok_or("the element's length is cut off or negative")
}

fn document_len(rest: &[u8]) -> Result<usize, &'static str> {
    match stated_len(rest)? {
        len if len < MIN_DOCUMENT => Err("the document's length is too small"),
        len => Ok(len),
    }
}

fn string_len(rest: &[u8]) -> Result<usize, &'static str> {
    match read_len(rest) {
        Some(0) => Err("the string's length is too small"),
        Some(len) => Ok(len + 4),
        None => Err("the string's length is cut off or negative"),
    }
}

/// The content of a length-prefixed, zero-terminated string. `bytes` was split off by that length.
#[inline]
fn string_body(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    match bytes {
        [_, _, _, _, text @ .., 0] => Ok(text),
        _ => Err(DecodeError::new(
            "the string has no terminating zero byte at its end",
        )),
    }
}

#[inline]
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, DecodeError> {
    validate::utf8(bytes).ok_or_else(|| DecodeError::new("the string is not UTF-8"))
}

macro_rules! fixed {
    ($($(#[$doc:meta])* $name:ident($kind:ident, $expected:literal) -> $out:ty = $read:expr;)*) => {
        impl<'de> RawValue<'de> {
            $(
                $(#[$doc])*
                ///
                /// # Errors
                /// If the value is of another type.
                #[inline]
                pub fn $name(&self) -> Result<$out, DecodeError> {
                    match (self.kind, self.bytes.first_chunk()) {
                        (ElementType::$kind, Some(bytes)) => Ok($read(*bytes)),
                        _ => Err(DecodeError::mismatch($expected, self.kind)),
                    }
                }
            )*
        }
    };
}

fixed! {
    /// The value of an Int32.
    i32(Int32, "an Int32") -> i32 = i32::from_le_bytes;
    /// The value of an Int64.
    i64(Int64, "an Int64") -> i64 = i64::from_le_bytes;
    /// The value of a Double.
    f64(Double, "a Double") -> f64 = f64::from_le_bytes;
    /// The value of a DateTime.
    date_time(DateTime, "a DateTime") -> DateTime = |b| DateTime::from_millis(i64::from_le_bytes(b));
    /// The value of a Timestamp, which is internal to replication.
    timestamp(Timestamp, "a Timestamp") -> Timestamp = timestamp_from;
    /// The value of an ObjectId.
    object_id(ObjectId, "an ObjectId") -> ObjectId = ObjectId::from_bytes;
    /// The value of a Decimal128.
    decimal128(Decimal128, "a Decimal128") -> Decimal128 = Decimal128::from_bytes;
}

fn timestamp_from(bytes: [u8; 8]) -> Timestamp {
    let both = u64::from_le_bytes(bytes);
    let low = u32::try_from(both & u64::from(u32::MAX)).unwrap_or_default();
    let high = u32::try_from(both >> 32).unwrap_or_default();
    Timestamp {
        time: high,
        increment: low,
    }
}

impl<'de> RawValue<'de> {
    /// Makes a value. The caller has checked its length.
    #[inline]
    pub(super) fn new(kind: ElementType, bytes: &'de [u8]) -> Self {
        Self { kind, bytes }
    }

    /// A whole document as a value, not validated.
    pub(crate) fn of_document(bytes: &'de [u8]) -> Self {
        Self {
            kind: ElementType::EmbeddedDocument,
            bytes,
        }
    }

    /// The value's BSON type.
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
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.kind == ElementType::Null
    }

    /// Decodes the value into a tree.
    pub(crate) fn to_bson(self) -> Result<super::Bson, DecodeError> {
        super::tree::value(self, self.bytes)
    }

    /// The value of an Int32, an Int64, or a Double without a fraction: servers send counts as any
    /// of them.
    ///
    /// # Errors
    /// If the value is of another type or has a fraction.
    pub fn int(&self) -> Result<i64, DecodeError> {
        match self.kind {
            ElementType::Int32 => self.i32().map(i64::from),
            ElementType::Int64 => self.i64(),
            ElementType::Double => {
                integral(self.f64()?).ok_or_else(|| DecodeError::mismatch("a whole number", self.kind))
            }
            kind => Err(DecodeError::mismatch("a whole number", kind)),
        }
    }

    /// Whether the value is true or a number other than zero, as servers state `ok`.
    #[must_use]
    pub fn is_truthy(&self) -> bool {
        self.logical().unwrap_or(false)
    }

    /// As [`is_truthy`](Self::is_truthy). `None` if the value is neither a Boolean nor a number.
    pub(crate) fn logical(&self) -> Option<bool> {
        match self.kind {
            ElementType::Boolean => self.bool().ok(),
            ElementType::Int32 => self.i32().ok().map(|number| number != 0),
            ElementType::Int64 => self.i64().ok().map(|number| number != 0),
            ElementType::Double => self.f64().ok().map(|number| number != 0.0),
            _ => None,
        }
    }

    /// The value of a Boolean.
    ///
    /// # Errors
    /// If the value is of another type, or its byte is neither 0 nor 1.
    #[inline]
    pub fn bool(&self) -> Result<bool, DecodeError> {
        match (self.kind, self.bytes) {
            (ElementType::Boolean, [0]) => Ok(false),
            (ElementType::Boolean, [1]) => Ok(true),
            (ElementType::Boolean, _) => Err(DecodeError::new("the Boolean is neither 0 nor 1")),
            (kind, _) => Err(DecodeError::mismatch("a Boolean", kind)),
        }
    }

    /// The value of a String.
    ///
    /// # Errors
    /// If the value is of another type, is not terminated, or is not UTF-8.
    #[inline]
    pub fn str(&self) -> Result<&'de str, DecodeError> {
        match self.kind {
            ElementType::String => utf8(self.text()?),
            kind => Err(DecodeError::mismatch("a string", kind)),
        }
    }

    /// The text of a String, JavaScriptCode or Symbol, not validated.
    #[inline]
    pub(crate) fn text(&self) -> Result<&'de [u8], DecodeError> {
        string_body(self.bytes)
    }

    /// The value of a document.
    ///
    /// # Errors
    /// If the value is of another type, or its length or terminator is malformed.
    pub fn document(&self) -> Result<&'de RawDocument, DecodeError> {
        match self.kind {
            ElementType::EmbeddedDocument => RawDocument::from_bytes(self.bytes)
                .map_err(|_| DecodeError::new("the document has no terminating zero byte")),
            kind => Err(DecodeError::mismatch("a document", kind)),
        }
    }

    /// The elements of a document.
    ///
    /// # Errors
    /// If the value is of another type, or its length or terminator is malformed.
    pub fn elements(&self) -> Result<RawElements<'de>, DecodeError> {
        match self.kind {
            ElementType::EmbeddedDocument => RawElements::new(self.bytes),
            kind => Err(DecodeError::mismatch("a document", kind)),
        }
    }

    /// The elements of an array.
    ///
    /// # Errors
    /// If the value is of another type, or its length or terminator is malformed.
    pub fn array(&self) -> Result<RawElements<'de>, DecodeError> {
        match self.kind {
            ElementType::Array => RawElements::new(self.bytes),
            kind => Err(DecodeError::mismatch("an array", kind)),
        }
    }

    /// The value of a Binary. The inner length of subtype 2 is validated and removed.
    ///
    /// # Errors
    /// If the value is of another type, or its inner length is wrong.
    pub fn binary(&self) -> Result<RawBinaryRef<'de>, DecodeError> {
        let (ElementType::Binary, Some((subtype, data))) =
            (self.kind, self.bytes.get(4..).and_then(<[u8]>::split_first))
        else {
            return Err(DecodeError::mismatch("binary data", self.kind));
        };
        let subtype = BinarySubtype::from(*subtype);
        let bytes = match subtype {
            BinarySubtype::BinaryOld => data
                .get(4..)
                .filter(|inner| read_len(data) == Some(inner.len()))
                .ok_or_else(|| DecodeError::new("the inner length of Binary subtype 2 is wrong"))?,
            _ => data,
        };
        Ok(RawBinaryRef { subtype, bytes })
    }

    /// Pattern and options of a regular expression.
    ///
    /// # Errors
    /// If the value is of another type or not UTF-8.
    pub fn regex(&self) -> Result<(&'de str, &'de str), DecodeError> {
        if self.kind != ElementType::RegularExpression {
            return Err(DecodeError::mismatch("a regular expression", self.kind));
        }
        let parts =
            split_cstring(self.bytes).and_then(|(pattern, rest)| Some((pattern, split_cstring(rest)?.0)));
        let (pattern, options) =
            parts.ok_or_else(|| DecodeError::new("the regular expression has no end"))?;
        Ok((utf8(pattern)?, utf8(options)?))
    }

    /// Namespace and id of a DbPointer.
    pub(crate) fn db_pointer(&self) -> Result<(&'de str, [u8; 12]), DecodeError> {
        match self.bytes.split_last_chunk::<12>() {
            Some((namespace, id)) if self.kind == ElementType::DbPointer => {
                Ok((utf8(string_body(namespace)?)?, *id))
            }
            _ => Err(DecodeError::mismatch("a DbPointer", self.kind)),
        }
    }

    /// Code and scope of a JavaScriptCodeWithScope.
    pub(crate) fn code_with_scope(&self) -> Result<(&'de [u8], &'de [u8]), DecodeError> {
        let rest = self.bytes.get(4..).unwrap_or_default();
        let split = string_len(rest).ok().and_then(|len| rest.split_at_checked(len));
        match split {
            Some((code, scope)) if self.kind == ElementType::JavaScriptCodeWithScope => {
                Ok((string_body(code)?, scope))
            }
            _ => Err(DecodeError::new("the code with scope's lengths do not add up")),
        }
    }
}

/// A Double as an integer, if it has no fraction and is in range.
pub(crate) fn integral(number: f64) -> Option<i64> {
    // 2^63 itself does not fit, -2^63 does; NaN fails both comparisons.
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "checked to fit and to have no fraction"
    )]
    (fits && number.fract() == 0.0).then_some(number as i64)
}
