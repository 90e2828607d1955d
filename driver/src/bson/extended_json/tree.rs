//! Writes trees.

use super::printer::{Fault, Printer};
use super::raw;
use crate::bson::{
    Bson, Document, append_bson, error::DecodeError, limits::MAX_DEPTH, raw_reader::RawElements,
};

/// The depth one level further in.
pub(super) fn enter(depth: u8) -> Result<u8, DecodeError> {
    depth
        .checked_sub(1)
        .ok_or_else(|| DecodeError::new(format!("documents nest deeper than {MAX_DEPTH} levels")))
}

/// Writes a document. `depth`: number of levels that may be nested, including this one.
pub(super) fn write_document(printer: &mut Printer<'_>, document: &Document, depth: u8) -> Result<(), Fault> {
    let inner = enter(depth)?;
    printer.verbatim("{")?;
    for (index, (key, value)) in document.iter().enumerate() {
        printer.key(index, key)?;
        write_value(printer, value, inner).map_err(|fault| fault.in_field(key))?;
    }
    Ok(printer.verbatim("}")?)
}

fn write_array(printer: &mut Printer<'_>, values: &[Bson], depth: u8) -> Result<(), Fault> {
    let inner = enter(depth)?;
    printer.verbatim("[")?;
    for (index, value) in values.iter().enumerate() {
        printer.separate(index)?;
        write_value(printer, value, inner).map_err(|fault| fault.at_index(index))?;
    }
    Ok(printer.verbatim("]")?)
}

/// Writes a value. `depth`: number of levels that may be nested.
pub(super) fn write_value(printer: &mut Printer<'_>, value: &Bson, depth: u8) -> Result<(), Fault> {
    match value {
        Bson::Array(values) => return write_array(printer, values, depth),
        Bson::Document(document) => return write_document(printer, document, depth),
        Bson::JavaScriptCodeWithScope(code) => {
            printer.code_before_scope(&code.code)?;
            write_document(printer, &code.scope, depth)?;
            printer.verbatim("}")
        }
        // Crate bson has no accessors of its parts: they are read from its encoded form.
        Bson::DbPointer(_) => return write_encoded(printer, value),
        Bson::Double(value) => printer.double(*value),
        Bson::String(value) => printer.string(value),
        Bson::Boolean(value) => printer.boolean(*value),
        Bson::Null => printer.verbatim("null"),
        Bson::RegularExpression(regex) => printer.regex(regex.pattern.as_str(), regex.options.as_str()),
        Bson::JavaScriptCode(code) => printer.wrapped_string("$code", code),
        Bson::Int32(value) => printer.int32(*value),
        Bson::Int64(value) => printer.int64(*value),
        Bson::Timestamp(value) => printer.timestamp(*value),
        Bson::Binary(binary) => printer.binary(binary.subtype, &binary.bytes),
        Bson::ObjectId(id) => printer.object_id(*id),
        Bson::DateTime(time) => printer.date_time(time.timestamp_millis()),
        Bson::Symbol(symbol) => printer.wrapped_string("$symbol", symbol),
        Bson::Decimal128(value) => printer.decimal128(*value),
        Bson::Undefined => printer.verbatim("{\"$undefined\": true}"),
        Bson::MaxKey => printer.verbatim("{\"$maxKey\": 1}"),
        Bson::MinKey => printer.verbatim("{\"$minKey\": 1}"),
    }
    .map_err(Fault::from)
}

fn write_encoded(printer: &mut Printer<'_>, value: &Bson) -> Result<(), Fault> {
    let mut bytes = Vec::new();
    append_bson("", value, &mut bytes).map_err(|error| DecodeError::new(error.message().to_owned()))?;
    match RawElements::unframed(&bytes).next_element()? {
        Some(element) => raw::write_value(printer, element.value, MAX_DEPTH, &bytes),
        None => Ok(()),
    }
}
