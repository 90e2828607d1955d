//! Writes raw documents and values, without a tree.

use super::printer::{Fault, Printer};
use super::tree::enter;
use crate::bson::{
    error::DecodeError,
    raw_reader::RawElements,
    raw_value::{RawValue, utf8},
    spec::ElementType,
};

/// Offset of `part` in `input`.
fn offset_of(part: &[u8], input: &[u8]) -> usize {
    part.as_ptr().addr().wrapping_sub(input.as_ptr().addr())
}

/// Writes a document. `depth`: number of levels that may be nested, including this one. Offsets in
/// errors count from the start of `input`.
pub(super) fn write_document(
    printer: &mut Printer<'_>,
    bytes: &[u8],
    depth: u8,
    input: &[u8],
) -> Result<(), Fault> {
    let inner = enter(depth)?;
    let base = offset_of(bytes, input);
    let mut elements = RawElements::new(bytes).map_err(|error| error.rebase(base))?;
    let mut index = 0;
    printer.verbatim("{")?;
    while let Some(element) = elements.next_element().map_err(|error| error.rebase(base))? {
        printer.key(index, element.key)?;
        write_value(printer, element.value, inner, input).map_err(|fault| fault.in_field(element.key))?;
        index += 1;
    }
    Ok(printer.verbatim("}")?)
}

fn write_array(printer: &mut Printer<'_>, bytes: &[u8], depth: u8, input: &[u8]) -> Result<(), Fault> {
    let inner = enter(depth)?;
    let base = offset_of(bytes, input);
    let mut elements = RawElements::new(bytes).map_err(|error| error.rebase(base))?;
    let mut index = 0;
    printer.verbatim("[")?;
    while let Some(element) = elements.next_element().map_err(|error| error.rebase(base))? {
        printer.separate(index)?;
        write_value(printer, element.value, inner, input).map_err(|fault| fault.at_index(index))?;
        index += 1;
    }
    Ok(printer.verbatim("]")?)
}

/// Writes a value. `depth`: number of levels that may be nested. Offsets in errors count from the
/// start of `input`.
pub(super) fn write_value(
    printer: &mut Printer<'_>,
    raw: RawValue<'_>,
    depth: u8,
    input: &[u8],
) -> Result<(), Fault> {
    write_kind(printer, raw, depth, input).map_err(|fault| match fault {
        Fault::Value(error) => Fault::Value(error.locate(raw.kind(), offset_of(raw.bytes(), input))),
        writer @ Fault::Writer(_) => writer,
    })
}

fn write_kind(printer: &mut Printer<'_>, raw: RawValue<'_>, depth: u8, input: &[u8]) -> Result<(), Fault> {
    let text = || -> Result<&str, DecodeError> { utf8(raw.text()?) };
    match raw.kind() {
        ElementType::EmbeddedDocument => return write_document(printer, raw.bytes(), depth, input),
        ElementType::Array => return write_array(printer, raw.bytes(), depth, input),
        ElementType::JavaScriptCodeWithScope => {
            let (code, scope) = raw.code_with_scope()?;
            printer.code_before_scope(utf8(code)?)?;
            write_document(printer, scope, depth, input)?;
            printer.verbatim("}")
        }
        ElementType::DbPointer => {
            let (namespace, id) = raw.db_pointer()?;
            printer.db_pointer(namespace, id)
        }
        ElementType::Double => printer.double(raw.f64()?),
        ElementType::String => printer.string(raw.str()?),
        ElementType::Boolean => printer.boolean(raw.bool()?),
        ElementType::Null => printer.verbatim("null"),
        ElementType::RegularExpression => {
            let (pattern, options) = raw.regex()?;
            printer.regex(pattern, options)
        }
        ElementType::JavaScriptCode => printer.wrapped_string("$code", text()?),
        ElementType::Symbol => printer.wrapped_string("$symbol", text()?),
        ElementType::Int32 => printer.int32(raw.i32()?),
        ElementType::Int64 => printer.int64(raw.i64()?),
        ElementType::Timestamp => printer.timestamp(raw.timestamp()?),
        ElementType::Binary => {
            let binary = raw.binary()?;
            printer.binary(binary.subtype, binary.bytes)
        }
        ElementType::ObjectId => printer.object_id(raw.object_id()?),
        ElementType::DateTime => printer.date_time(raw.date_time()?.timestamp_millis()),
        ElementType::Decimal128 => printer.decimal128(raw.decimal128()?),
        ElementType::Undefined => printer.verbatim("{\"$undefined\": true}"),
        ElementType::MaxKey => printer.verbatim("{\"$maxKey\": 1}"),
        ElementType::MinKey => printer.verbatim("{\"$minKey\": 1}"),
    }
    .map_err(Fault::from)
}
