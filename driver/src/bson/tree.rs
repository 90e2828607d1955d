//! Documents as trees, to bytes and back without serde.

use super::error::{DecodeError, EncodeError};
use super::limits::MAX_DEPTH;
use super::raw_reader::RawElements;
use super::raw_value::{RawValue, utf8};
use super::spec::ElementType;
use super::writer::DocumentWriter;
use super::{Binary, Bson, Document, IndexKey, JavaScriptCodeWithScope, Regex, de, roomy};

/// Appends `document` to `out`; after an error `out` is as it was.
///
/// # Errors
/// When a key holds a zero byte, the document nests too deep or is too large.
pub fn append_document(document: &Document, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let mut writer = DocumentWriter::new(out);
    let start = writer.begin();
    write_fields(&mut writer, document, MAX_DEPTH - 1);
    writer.end(start);
    writer.finish()
}

/// Appends one element to a document that the caller has begun in `out`.
///
/// # Errors
/// When a key holds a zero byte, the value nests too deep or is too large.
pub fn append_bson(key: &str, value: &Bson, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let mut writer = DocumentWriter::new(out);
    write_value(&mut writer, key, value, MAX_DEPTH - 1);
    writer.finish()
}

fn write_fields(writer: &mut DocumentWriter<'_>, document: &Document, depth: u8) {
    for (key, value) in document {
        let clean = writer.is_clean();
        write_value(writer, key, value, depth);
        writer.within(clean, |error| error.in_field(key));
    }
}

/// Writes one element; `depth` is how many levels may still be opened.
pub(super) fn write_value(writer: &mut DocumentWriter<'_>, key: &str, value: &Bson, depth: u8) {
    match value {
        Bson::Double(value) => writer.f64(key, *value),
        Bson::String(value) => writer.str(key, value),
        Bson::Array(values) => {
            let Some(inner) = enter(writer, depth) else {
                return;
            };
            let start = writer.begin_array(key);
            for (index, value) in values.iter().enumerate() {
                let clean = writer.is_clean();
                write_value(writer, IndexKey::new(index).as_str(), value, inner);
                writer.within(clean, |error| error.at_index(index));
            }
            writer.end(start);
        }
        Bson::Document(document) => {
            let Some(inner) = enter(writer, depth) else {
                return;
            };
            let start = writer.begin_document(key);
            write_fields(writer, document, inner);
            writer.end(start);
        }
        Bson::Boolean(value) => writer.bool(key, *value),
        Bson::Null => writer.null(key),
        Bson::RegularExpression(regex) => {
            writer.regex(key, regex.pattern.as_str(), regex.options.as_str());
        }
        Bson::JavaScriptCode(code) => writer.text(key, ElementType::JavaScriptCode, code),
        Bson::JavaScriptCodeWithScope(code) => {
            let Some(inner) = enter(writer, depth) else {
                return;
            };
            let start = writer.begin_code_with_scope(key, &code.code);
            let scope = writer.begin();
            write_fields(writer, &code.scope, inner);
            writer.end(scope);
            writer.end_code_with_scope(start);
        }
        Bson::Int32(value) => writer.i32(key, *value),
        Bson::Int64(value) => writer.i64(key, *value),
        Bson::Timestamp(value) => writer.timestamp(key, *value),
        Bson::Binary(binary) => writer.binary(key, binary.subtype, &binary.bytes),
        Bson::ObjectId(id) => writer.object_id(key, *id),
        Bson::DateTime(time) => writer.date_time(key, *time),
        Bson::Symbol(symbol) => writer.text(key, ElementType::Symbol, symbol),
        Bson::Decimal128(value) => writer.decimal128(key, *value),
        Bson::Undefined => writer.empty(key, ElementType::Undefined),
        Bson::MaxKey => writer.empty(key, ElementType::MaxKey),
        Bson::MinKey => writer.empty(key, ElementType::MinKey),
        // Crate bson keeps its parts to itself but shows them to serde.
        Bson::DbPointer(pointer) => writer.serialize(key, pointer),
    }
}

fn enter(writer: &mut DocumentWriter<'_>, depth: u8) -> Option<u8> {
    let inner = depth.checked_sub(1);
    if inner.is_none() {
        writer.fail(EncodeError::new(format!(
            "documents nest deeper than {MAX_DEPTH} levels"
        )));
    }
    inner
}

/// Decodes one document, which must fill `bytes` exactly, into a tree.
///
/// # Errors
/// When the bytes are malformed anywhere, or nest too deep.
pub fn decode_document(bytes: &[u8]) -> Result<Document, DecodeError> {
    Reader { input: bytes }.document(bytes, MAX_DEPTH)
}

/// Decodes one value of a document into a tree.
pub(super) fn value(raw: RawValue<'_>, input: &[u8]) -> Result<Bson, DecodeError> {
    Reader { input }.value(raw, MAX_DEPTH - 1)
}

struct Reader<'i> {
    input: &'i [u8],
}

impl<'i> Reader<'i> {
    fn offset_of(&self, part: &[u8]) -> usize {
        part.as_ptr().addr().wrapping_sub(self.input.as_ptr().addr())
    }

    fn elements(&self, bytes: &'i [u8]) -> Result<RawElements<'i>, DecodeError> {
        RawElements::new(bytes).map_err(|error| error.rebase(self.offset_of(bytes)))
    }

    fn document(&self, bytes: &'i [u8], depth: u8) -> Result<Document, DecodeError> {
        let inner = depth.checked_sub(1).ok_or_else(too_deep)?;
        let mut elements = self.elements(bytes)?;
        let mut document = roomy::document_for(elements.count_up_to(roomy::MOST));
        loop {
            let before = elements;
            let Some(element) = elements.take_element() else {
                elements = before;
                break;
            };
            match self.value(element.value, inner) {
                Ok(value) => drop(document.insert(element.key, value)),
                Err(error) => return Err(error.in_field(element.key)),
            }
        }
        if elements.is_empty() {
            Ok(document)
        } else {
            Err(elements.element_error().rebase(self.offset_of(bytes)))
        }
    }

    fn array(&self, bytes: &'i [u8], depth: u8) -> Result<Vec<Bson>, DecodeError> {
        let inner = depth.checked_sub(1).ok_or_else(too_deep)?;
        let mut elements = self.elements(bytes)?;
        let mut values = Vec::with_capacity(elements.count_up_to(roomy::MOST));
        while let Some(element) = elements
            .next_element()
            .map_err(|error| error.rebase(self.offset_of(bytes)))?
        {
            let index = values.len();
            let value = self
                .value(element.value, inner)
                .map_err(|error| error.at_index(index))?;
            values.push(value);
        }
        Ok(values)
    }

    fn value(&self, raw: RawValue<'i>, depth: u8) -> Result<Bson, DecodeError> {
        self.read(raw, depth)
            .map_err(|error| error.locate(raw.kind(), self.offset_of(raw.bytes())))
    }

    fn read(&self, raw: RawValue<'i>, depth: u8) -> Result<Bson, DecodeError> {
        Ok(match raw.kind() {
            ElementType::Double => Bson::Double(raw.f64()?),
            ElementType::String => Bson::String(raw.str()?.to_owned()),
            ElementType::EmbeddedDocument => Bson::Document(self.document(raw.bytes(), depth)?),
            ElementType::Array => Bson::Array(self.array(raw.bytes(), depth)?),
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
            // Crate bson lets nobody make one but serde.
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

/// A regular expression with its options in alphabetical order, as the format wants them.
fn regex(pattern: &str, options: &str) -> Result<Regex, DecodeError> {
    let mut letters: Vec<char> = options.chars().collect();
    letters.sort_unstable();
    let sorted: String = letters.into_iter().collect();
    match (pattern.try_into(), sorted.try_into()) {
        (Ok(pattern), Ok(options)) => Ok(Regex { pattern, options }),
        _ => Err(DecodeError::new("the regular expression holds a zero byte")),
    }
}

#[cold]
fn too_deep() -> DecodeError {
    DecodeError::new(format!("documents nest deeper than {MAX_DEPTH} levels"))
}
