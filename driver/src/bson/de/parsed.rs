//! One value parsed by its BSON type. Strings and containers are not validated yet.

use crate::bson::{
    RawBsonRef, Timestamp,
    error::DecodeError,
    raw_value::RawValue,
    spec::{BinarySubtype, ElementType},
};

/// A value by type. Text is validated when it is read, not when it is skipped.
#[derive(Clone, Copy)]
pub(super) enum Parsed<'de> {
    Double(f64),
    String(&'de [u8]),
    Document(&'de [u8]),
    Array(&'de [u8]),
    Binary {
        subtype: BinarySubtype,
        bytes: &'de [u8],
    },
    Undefined,
    ObjectId([u8; 12]),
    Boolean(bool),
    DateTime(i64),
    Null,
    Regex {
        pattern: &'de str,
        options: &'de str,
    },
    DbPointer {
        namespace: &'de str,
        id: [u8; 12],
    },
    Code(&'de [u8]),
    Symbol(&'de [u8]),
    CodeWithScope {
        code: &'de [u8],
        scope: &'de [u8],
    },
    Int32(i32),
    Timestamp(Timestamp),
    Int64(i64),
    Decimal128([u8; 16]),
    MaxKey,
    MinKey,
}

impl<'de> Parsed<'de> {
    #[inline]
    pub(super) fn read(raw: RawValue<'de>) -> Result<Self, DecodeError> {
        Ok(match raw.kind() {
            ElementType::Double => Self::Double(raw.f64()?),
            ElementType::String => Self::String(raw.text()?),
            ElementType::EmbeddedDocument => Self::Document(raw.bytes()),
            ElementType::Array => Self::Array(raw.bytes()),
            ElementType::Binary => {
                let binary = raw.binary()?;
                Self::Binary {
                    subtype: binary.subtype,
                    bytes: binary.bytes,
                }
            }
            ElementType::Undefined => Self::Undefined,
            ElementType::ObjectId => Self::ObjectId(raw.object_id()?.bytes()),
            ElementType::Boolean => Self::Boolean(raw.bool()?),
            ElementType::DateTime => Self::DateTime(raw.date_time()?.timestamp_millis()),
            ElementType::Null => Self::Null,
            ElementType::RegularExpression => {
                let (pattern, options) = raw.regex()?;
                Self::Regex { pattern, options }
            }
            ElementType::DbPointer => {
                let (namespace, id) = raw.db_pointer()?;
                Self::DbPointer { namespace, id }
            }
            ElementType::JavaScriptCode => Self::Code(raw.text()?),
            ElementType::Symbol => Self::Symbol(raw.text()?),
            ElementType::JavaScriptCodeWithScope => {
                let (code, scope) = raw.code_with_scope()?;
                Self::CodeWithScope { code, scope }
            }
            ElementType::Int32 => Self::Int32(raw.i32()?),
            ElementType::Timestamp => Self::Timestamp(raw.timestamp()?),
            ElementType::Int64 => Self::Int64(raw.i64()?),
            ElementType::Decimal128 => Self::Decimal128(raw.decimal128()?.bytes()),
            ElementType::MaxKey => Self::MaxKey,
            ElementType::MinKey => Self::MinKey,
        })
    }

    /// Converts crate bson's borrowed value. `None` for a DbPointer, whose parts are private.
    pub(super) fn of_raw_bson(value: RawBsonRef<'de>) -> Option<Self> {
        Some(match value {
            RawBsonRef::Double(number) => Self::Double(number),
            RawBsonRef::String(text) => Self::String(text.as_bytes()),
            RawBsonRef::Array(array) => Self::Array(array.as_bytes()),
            RawBsonRef::Document(document) => Self::Document(document.as_bytes()),
            RawBsonRef::Boolean(value) => Self::Boolean(value),
            RawBsonRef::Null => Self::Null,
            RawBsonRef::RegularExpression(regex) => Self::Regex {
                pattern: regex.pattern.as_str(),
                options: regex.options.as_str(),
            },
            RawBsonRef::JavaScriptCode(code) => Self::Code(code.as_bytes()),
            RawBsonRef::JavaScriptCodeWithScope(code) => Self::CodeWithScope {
                code: code.code.as_bytes(),
                scope: code.scope.as_bytes(),
            },
            RawBsonRef::Int32(number) => Self::Int32(number),
            RawBsonRef::Int64(number) => Self::Int64(number),
            RawBsonRef::Timestamp(timestamp) => Self::Timestamp(timestamp),
            RawBsonRef::Binary(binary) => Self::Binary {
                subtype: binary.subtype,
                bytes: binary.bytes,
            },
            RawBsonRef::ObjectId(id) => Self::ObjectId(id.bytes()),
            RawBsonRef::DateTime(time) => Self::DateTime(time.timestamp_millis()),
            RawBsonRef::Symbol(text) => Self::Symbol(text.as_bytes()),
            RawBsonRef::Decimal128(number) => Self::Decimal128(number.bytes()),
            RawBsonRef::Undefined => Self::Undefined,
            RawBsonRef::MaxKey => Self::MaxKey,
            RawBsonRef::MinKey => Self::MinKey,
            RawBsonRef::DbPointer(_) => return None,
        })
    }

    pub(super) fn kind(&self) -> ElementType {
        match self {
            Self::Double(_) => ElementType::Double,
            Self::String(_) => ElementType::String,
            Self::Document(_) => ElementType::EmbeddedDocument,
            Self::Array(_) => ElementType::Array,
            Self::Binary { .. } => ElementType::Binary,
            Self::Undefined => ElementType::Undefined,
            Self::ObjectId(_) => ElementType::ObjectId,
            Self::Boolean(_) => ElementType::Boolean,
            Self::DateTime(_) => ElementType::DateTime,
            Self::Null => ElementType::Null,
            Self::Regex { .. } => ElementType::RegularExpression,
            Self::DbPointer { .. } => ElementType::DbPointer,
            Self::Code(_) => ElementType::JavaScriptCode,
            Self::Symbol(_) => ElementType::Symbol,
            Self::CodeWithScope { .. } => ElementType::JavaScriptCodeWithScope,
            Self::Int32(_) => ElementType::Int32,
            Self::Timestamp(_) => ElementType::Timestamp,
            Self::Int64(_) => ElementType::Int64,
            Self::Decimal128(_) => ElementType::Decimal128,
            Self::MaxKey => ElementType::MaxKey,
            Self::MinKey => ElementType::MinKey,
        }
    }
}
