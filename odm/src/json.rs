//! A printer of BSON as relaxed Extended JSON, for `Display` of filters, updates and plans.

use std::fmt;

use crate::bson::{Binary, Bson, Document, spec::BinarySubtype};

/// Prints one value.
pub(crate) struct Relaxed<'a>(pub(crate) &'a Bson);

/// Prints one document.
pub(crate) struct RelaxedDocument<'a>(pub(crate) &'a Document);

impl fmt::Display for RelaxedDocument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (i, (key, value)) in self.0.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            string(key, f)?;
            write!(f, ": {}", Relaxed(value))?;
        }
        f.write_str("}")
    }
}

impl fmt::Display for Relaxed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Bson::Double(v) => double(*v, f),
            Bson::String(v) => string(v, f),
            Bson::Array(values) => {
                f.write_str("[")?;
                for (i, value) in values.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { ", " })?;
                    write!(f, "{}", Relaxed(value))?;
                }
                f.write_str("]")
            }
            Bson::Document(d) => RelaxedDocument(d).fmt(f),
            Bson::Boolean(v) => write!(f, "{v}"),
            Bson::Null => f.write_str("null"),
            Bson::RegularExpression(r) => {
                f.write_str("{\"$regularExpression\": {\"pattern\": ")?;
                string(r.pattern.as_str(), f)?;
                f.write_str(", \"options\": ")?;
                string(r.options.as_str(), f)?;
                f.write_str("}}")
            }
            Bson::JavaScriptCode(code) => {
                f.write_str("{\"$code\": ")?;
                string(code, f)?;
                f.write_str("}")
            }
            Bson::JavaScriptCodeWithScope(code) => {
                f.write_str("{\"$code\": ")?;
                string(&code.code, f)?;
                write!(f, ", \"$scope\": {}}}", RelaxedDocument(&code.scope))
            }
            Bson::Int32(v) => write!(f, "{v}"),
            Bson::Int64(v) => write!(f, "{v}"),
            Bson::Timestamp(t) => write!(
                f,
                "{{\"$timestamp\": {{\"t\": {}, \"i\": {}}}}}",
                t.time, t.increment
            ),
            Bson::Binary(b) => binary(b, f),
            Bson::ObjectId(id) => write!(f, "{{\"$oid\": \"{}\"}}", id.to_hex()),
            Bson::DateTime(d) => match d.try_to_rfc3339_string() {
                Ok(text) if (0..=253_402_300_799_999).contains(&d.timestamp_millis()) => {
                    write!(f, "{{\"$date\": \"{text}\"}}")
                }
                _ => write!(
                    f,
                    "{{\"$date\": {{\"$numberLong\": \"{}\"}}}}",
                    d.timestamp_millis()
                ),
            },
            Bson::Symbol(s) => {
                f.write_str("{\"$symbol\": ")?;
                string(s, f)?;
                f.write_str("}")
            }
            Bson::Decimal128(d) => write!(f, "{{\"$numberDecimal\": \"{d}\"}}"),
            Bson::Undefined => f.write_str("{\"$undefined\": true}"),
            Bson::MaxKey => f.write_str("{\"$maxKey\": 1}"),
            Bson::MinKey => f.write_str("{\"$minKey\": 1}"),
            other @ Bson::DbPointer(_) => write!(f, "{{\"$dbPointer\": \"{}\"}}", other.element_type() as u8),
        }
    }
}

fn double(v: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if v.is_nan() {
        f.write_str("{\"$numberDouble\": \"NaN\"}")
    } else if v.is_infinite() {
        write!(
            f,
            "{{\"$numberDouble\": \"{}Infinity\"}}",
            if v < 0.0 { "-" } else { "" }
        )
    } else {
        write!(f, "{v:?}")
    }
}

fn binary(b: &Binary, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if b.subtype == BinarySubtype::Uuid
        && let Ok(bytes) = <[u8; 16]>::try_from(b.bytes.as_slice())
    {
        return write!(f, "{{\"$uuid\": \"{}\"}}", uuid::Uuid::from_bytes(bytes));
    }
    f.write_str("{\"$binary\": {\"base64\": \"")?;
    base64(&b.bytes, f)?;
    write!(f, "\", \"subType\": \"{:02x}\"}}}}", u8::from(b.subtype))
}

fn base64(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let word = chunk
            .iter()
            .enumerate()
            .fold(0_u32, |w, (i, b)| w | u32::from(*b) << (16 - 8 * i));
        for i in 0..4 {
            let index = usize::try_from(word >> (18 - 6 * i) & 63).unwrap_or_default();
            let letter = if i > chunk.len() {
                '='
            } else {
                char::from(ALPHABET[index])
            };
            write!(f, "{letter}")?;
        }
    }
    Ok(())
}

/// A JSON string: quotes, with the escapes that JSON asks for.
fn string(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::{DateTime, doc};

    #[test]
    fn prints_relaxed_extended_json() {
        let id = uuid::Uuid::from_u128(0x1234);
        let d = doc! {
            "a\"b": "line\n\u{1}",
            "n": [1_i32, 2_i64, 1.0, f64::NAN, f64::NEG_INFINITY],
            "d": DateTime::from_millis(0),
            "old": DateTime::from_millis(-1),
            "u": Bson::Binary(Binary { subtype: BinarySubtype::Uuid, bytes: id.as_bytes().to_vec() }),
            "b": Bson::Binary(Binary { subtype: BinarySubtype::Generic, bytes: b"Marula!".to_vec() }),
            "x": Bson::Null,
        };
        assert_eq!(
            RelaxedDocument(&d).to_string(),
            "{\"a\\\"b\": \"line\\n\\u0001\", \"n\": [1, 2, 1.0, {\"$numberDouble\": \"NaN\"}, \
             {\"$numberDouble\": \"-Infinity\"}], \"d\": {\"$date\": \"1970-01-01T00:00:00Z\"}, \
             \"old\": {\"$date\": {\"$numberLong\": \"-1\"}}, \
             \"u\": {\"$uuid\": \"00000000-0000-0000-0000-000000001234\"}, \
             \"b\": {\"$binary\": {\"base64\": \"TWFydWxhIQ==\", \"subType\": \"00\"}}, \"x\": null}"
        );
    }
}
