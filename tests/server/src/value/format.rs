//! Values in error messages, in the server's notation: `{ email: "a", n: 1 }`.

use super::date;
use bson::spec::BinarySubtype;
use bson::{Bson, Document};
use std::ops::Range;

/// Formats a document on one line.
pub(crate) fn document(value: &Document) -> String {
    if value.is_empty() {
        return "{}".to_owned();
    }
    let fields: Vec<String> = value
        .iter()
        .map(|(name, item)| format!("{name}: {}", bson(item)))
        .collect();
    format!("{{ {} }}", fields.join(", "))
}

/// Formats a value on one line.
pub(crate) fn bson(value: &Bson) -> String {
    match value {
        Bson::Document(value) => document(value),
        Bson::Array(items) if items.is_empty() => "[]".to_owned(),
        Bson::Array(items) => format!("[ {} ]", items.iter().map(bson).collect::<Vec<_>>().join(", ")),
        Bson::String(text) => format!("\"{text}\""),
        Bson::ObjectId(id) => format!("ObjectId('{id}')"),
        Bson::DateTime(at) => format!("new Date({})", at.timestamp_millis()),
        Bson::Timestamp(at) => format!("Timestamp({}, {})", at.time, at.increment),
        Bson::Null => "null".to_owned(),
        Bson::Undefined => "undefined".to_owned(),
        Bson::Double(number) => double(*number),
        Bson::Decimal128(number) => format!("{number}"),
        Bson::RegularExpression(regex) => format!("/{}/{}", regex.pattern.as_str(), regex.options.as_str()),
        Bson::Binary(binary) if binary.subtype == BinarySubtype::Uuid && binary.bytes.len() == 16 => {
            let hex = |range: Range<usize>| -> String {
                binary.bytes[range]
                    .iter()
                    .map(|byte| format!("{byte:02x}"))
                    .collect()
            };
            let groups = [hex(0..4), hex(4..6), hex(6..8), hex(8..10), hex(10..16)];
            format!("UUID(\"{}\")", groups.join("-"))
        }
        Bson::Binary(binary) => {
            let hex: String = binary.bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("BinData({}, {hex})", u8::from(binary.subtype))
        }
        other => other.to_string(),
    }
}

/// Formats a double like the server: with a decimal point, or as `inf` or `nan`.
fn double(number: f64) -> String {
    if number.is_finite() && number.fract() == 0.0 && number.abs() < 1e15 {
        format!("{number:.1}")
    } else {
        format!("{number}")
    }
}

/// Formats a double with six significant digits, like `%g` and most error messages.
pub(crate) fn short(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let rounded = format!("{number:.5e}");
    let exponent: i32 = rounded
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or(0);
    let trimmed = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if (-4..6).contains(&exponent) {
        return trimmed(&format!("{number:.*}", (5 - exponent) as usize));
    }
    let mantissa = trimmed(rounded.split('e').next().unwrap_or(""));
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Converts a value to a string as `$toString` and `$concat` do. Returns `None` for types without a
/// string form.
pub(crate) fn to_text(value: &Bson) -> Option<String> {
    Some(match value {
        Bson::String(text) | Bson::Symbol(text) => text.clone(),
        Bson::Int32(number) => number.to_string(),
        Bson::Int64(number) => number.to_string(),
        Bson::Double(number) => {
            if number.is_nan() {
                "NaN".to_owned()
            } else if number.is_infinite() {
                if *number > 0.0 {
                    "Infinity".to_owned()
                } else {
                    "-Infinity".to_owned()
                }
            } else if number.abs() >= 1e16 || (*number != 0.0 && number.abs() < 1e-5) {
                exponent_form(*number)
            } else {
                number.to_string()
            }
        }
        Bson::Decimal128(number) => number.to_string(),
        Bson::Boolean(value) => value.to_string(),
        Bson::ObjectId(id) => id.to_hex(),
        Bson::DateTime(at) => date::to_iso(at.timestamp_millis()),
        _ => return None,
    })
}

/// Formats an exponent as in `1e+20` and `1e-07`: with a sign and at least two digits.
fn exponent_form(number: f64) -> String {
    let text = format!("{number:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent
        .strip_prefix('-')
        .map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    #[test]
    fn formats_in_shell_notation() {
        assert_eq!(
            document(&doc! {"email": "a", "n": 1, "d": 2.0}),
            "{ email: \"a\", n: 1, d: 2.0 }"
        );
        assert_eq!(document(&doc! {"a": [1, {}]}), "{ a: [ 1, {} ] }");
    }

    #[test]
    fn formats_binary_data() {
        let id = bson::Uuid::parse_str("00112233-4455-6677-8899-aabbccddeeff").unwrap();
        assert_eq!(
            bson(&Bson::from(id)),
            "UUID(\"00112233-4455-6677-8899-aabbccddeeff\")"
        );
        let other = bson::Binary {
            subtype: BinarySubtype::Generic,
            bytes: vec![0, 0xAB],
        };
        assert_eq!(bson(&Bson::Binary(other)), "BinData(0, 00AB)");
    }

    #[test]
    fn short_doubles_have_six_digits() {
        let texts = [
            0.0,
            2.7,
            1e300,
            1_099_511_627_776.0,
            -0.000_012_5,
            100_000.0,
            f64::NAN,
        ]
        .map(short);
        assert_eq!(
            texts,
            ["0", "2.7", "1e+300", "1.09951e+12", "-1.25e-05", "100000", "nan"]
        );
    }

    #[test]
    fn text_of_numbers() {
        assert_eq!(to_text(&Bson::Double(1.5)).unwrap(), "1.5");
        assert_eq!(to_text(&Bson::Double(1e20)).unwrap(), "1e+20");
        assert_eq!(to_text(&Bson::Double(1e-7)).unwrap(), "1e-07");
        assert!(to_text(&Bson::Null).is_none());
    }
}
