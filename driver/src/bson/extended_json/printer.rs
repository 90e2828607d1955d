//! Writes single values in canonical or relaxed Extended JSON, and the punctuation of documents.

use std::fmt::{self, Write};

use super::date::{TEXTUAL, write_date};
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;

use crate::bson::{
    Decimal128, ObjectId, Timestamp, error::DecodeError, spec::BinarySubtype, text::Hex, validate,
};

/// The format options.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) relaxed: bool,
    pub(super) uuids_as_text: bool,
}

/// The reason why writing stopped.
pub(super) enum Fault {
    /// The formatter returned an error.
    Writer(fmt::Error),
    /// The value is malformed.
    Value(DecodeError),
}

impl From<fmt::Error> for Fault {
    fn from(error: fmt::Error) -> Self {
        Self::Writer(error)
    }
}

impl From<DecodeError> for Fault {
    fn from(error: DecodeError) -> Self {
        Self::Value(error)
    }
}

impl Fault {
    #[cold]
    pub(super) fn in_field(self, key: &str) -> Self {
        match self {
            Self::Value(error) => Self::Value(error.in_field(key)),
            writer @ Self::Writer(_) => writer,
        }
    }

    #[cold]
    pub(super) fn at_index(self, index: usize) -> Self {
        match self {
            Self::Value(error) => Self::Value(error.at_index(index)),
            writer @ Self::Writer(_) => writer,
        }
    }
}

pub(super) struct Printer<'o> {
    out: &'o mut dyn Write,
    style: Style,
}

impl<'o> Printer<'o> {
    pub(super) fn new(out: &'o mut dyn Write, style: Style) -> Self {
        Self { out, style }
    }

    /// Writes text without escaping.
    pub(super) fn verbatim(&mut self, text: &str) -> fmt::Result {
        self.out.write_str(text)
    }

    /// Writes a comma, except before the first element.
    pub(super) fn separate(&mut self, index: usize) -> fmt::Result {
        match index {
            0 => Ok(()),
            _ => self.out.write_str(", "),
        }
    }

    /// Writes a key, with a comma before it except for the first one.
    pub(super) fn key(&mut self, index: usize, key: &str) -> fmt::Result {
        self.out.write_str(if index == 0 { "\"" } else { ", \"" })?;
        self.escaped(key)?;
        self.out.write_str("\": ")
    }

    /// Writes a string with the escapes of JSON (RFC 8259, section 7).
    pub(super) fn string(&mut self, text: &str) -> fmt::Result {
        self.out.write_str("\"")?;
        self.escaped(text)?;
        self.out.write_str("\"")
    }

    fn escaped(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = validate::find_escaped(rest.as_bytes()) {
            let (clean, after) = rest.split_at_checked(at).ok_or(fmt::Error)?;
            self.out.write_str(clean)?;
            let mut after = after.chars();
            match after.next().unwrap_or_default() {
                '"' => self.out.write_str("\\\"")?,
                '\\' => self.out.write_str("\\\\")?,
                '\n' => self.out.write_str("\\n")?,
                '\r' => self.out.write_str("\\r")?,
                '\t' => self.out.write_str("\\t")?,
                control => write!(self.out, "\\u{:04x}", u32::from(control))?,
            }
            rest = after.as_str();
        }
        self.out.write_str(rest)
    }

    /// Writes `{"$name": "text"}`.
    fn wrapped(&mut self, name: &str, text: fmt::Arguments<'_>) -> fmt::Result {
        write!(self.out, "{{\"{name}\": \"{text}\"}}")
    }

    /// Writes `{"$name": "text"}` with formatted text.
    pub(super) fn wrapped_string(&mut self, name: &str, text: &str) -> fmt::Result {
        write!(self.out, "{{\"{name}\": ")?;
        self.string(text)?;
        self.out.write_char('}')
    }

    pub(super) fn boolean(&mut self, value: bool) -> fmt::Result {
        self.out.write_str(if value { "true" } else { "false" })
    }

    pub(super) fn int32(&mut self, value: i32) -> fmt::Result {
        if self.style.relaxed {
            write!(self.out, "{value}")
        } else {
            self.wrapped("$numberInt", format_args!("{value}"))
        }
    }

    pub(super) fn int64(&mut self, value: i64) -> fmt::Result {
        if self.style.relaxed {
            write!(self.out, "{value}")
        } else {
            self.wrapped("$numberLong", format_args!("{value}"))
        }
    }

    pub(super) fn double(&mut self, value: f64) -> fmt::Result {
        if value.is_nan() {
            self.wrapped("$numberDouble", format_args!("NaN"))
        } else if value.is_infinite() {
            let sign = if value < 0.0 { "-" } else { "" };
            self.wrapped("$numberDouble", format_args!("{sign}Infinity"))
        } else if self.style.relaxed {
            write!(self.out, "{}", Digits(value))
        } else {
            self.wrapped("$numberDouble", format_args!("{}", Digits(value)))
        }
    }

    pub(super) fn decimal128(&mut self, value: Decimal128) -> fmt::Result {
        self.wrapped("$numberDecimal", format_args!("{value}"))
    }

    pub(super) fn object_id(&mut self, id: ObjectId) -> fmt::Result {
        self.out.write_str("{\"$oid\": \"")?;
        self.out.write_str(Hex::<24>::new(&id.bytes()).as_str())?;
        self.out.write_str("\"}")
    }

    pub(super) fn date_time(&mut self, millis: i64) -> fmt::Result {
        self.out.write_str("{\"$date\": ")?;
        if self.style.relaxed && TEXTUAL.contains(&millis) {
            self.out.write_char('"')?;
            write_date(millis, self.out)?;
            self.out.write_str("\"}")
        } else {
            self.wrapped("$numberLong", format_args!("{millis}"))?;
            self.out.write_char('}')
        }
    }

    pub(super) fn timestamp(&mut self, value: Timestamp) -> fmt::Result {
        let Timestamp { time, increment } = value;
        write!(
            self.out,
            "{{\"$timestamp\": {{\"t\": {time}, \"i\": {increment}}}}}"
        )
    }

    pub(super) fn binary(&mut self, subtype: BinarySubtype, bytes: &[u8]) -> fmt::Result {
        if self.style.uuids_as_text
            && subtype == BinarySubtype::Uuid
            && let Ok(uuid) = <[u8; 16]>::try_from(bytes)
        {
            return self.uuid(uuid);
        }
        self.out.write_str("{\"$binary\": {\"base64\": \"")?;
        write!(self.out, "{}", Base64Display::new(bytes, &STANDARD))?;
        write!(self.out, "\", \"subType\": \"{:02x}\"}}}}", u8::from(subtype))
    }

    fn uuid(&mut self, uuid: [u8; 16]) -> fmt::Result {
        self.out.write_str("{\"$uuid\": \"")?;
        write!(self.out, "{}", ::uuid::Uuid::from_bytes(uuid))?;
        self.out.write_str("\"}")
    }

    /// Writes a regular expression with its options in alphabetical order.
    pub(super) fn regex(&mut self, pattern: &str, options: &str) -> fmt::Result {
        self.out.write_str("{\"$regularExpression\": {\"pattern\": ")?;
        self.string(pattern)?;
        self.out.write_str(", \"options\": ")?;
        if options.is_ascii() && options.as_bytes().is_sorted() {
            self.string(options)?;
        } else {
            let mut letters: Vec<char> = options.chars().collect();
            letters.sort_unstable();
            self.string(&letters.into_iter().collect::<String>())?;
        }
        self.out.write_str("}}")
    }

    pub(super) fn db_pointer(&mut self, namespace: &str, id: [u8; 12]) -> fmt::Result {
        self.out.write_str("{\"$dbPointer\": {\"$ref\": ")?;
        self.string(namespace)?;
        self.out.write_str(", \"$id\": ")?;
        self.object_id(ObjectId::from_bytes(id))?;
        self.out.write_str("}}")
    }

    /// Begins a JavaScriptCodeWithScope. The scope and a closing brace must follow.
    pub(super) fn code_before_scope(&mut self, code: &str) -> fmt::Result {
        self.out.write_str("{\"$code\": ")?;
        self.string(code)?;
        self.out.write_str(", \"$scope\": ")
    }
}

/// A finite Double with the fewest digits that parse as the same number, and the exponent in the
/// form of the specification's tests: `1.5E+20`.
struct Digits(f64);

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut exponent = Exponent { out: f, begun: false };
        write!(exponent, "{:?}", self.0)
    }
}

/// Forwards text, with `e` replaced by `E` and a sign.
struct Exponent<'a, 'f> {
    out: &'a mut fmt::Formatter<'f>,
    begun: bool,
}

impl Write for Exponent<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for letter in text.chars() {
            if std::mem::take(&mut self.begun) && letter != '-' {
                self.out.write_char('+')?;
            }
            self.begun = letter == 'e';
            self.out.write_char(if self.begun { 'E' } else { letter })?;
        }
        Ok(())
    }
}
