//! Checks documents before the library reads them.
//!
//! The library does not check them: it ends the process for some malformed documents, overflows the stack for deeply nested
//! ones, and takes an element that its iterator finds corrupt for the end of the document, so that the values behind it would not
//! be encrypted, or be lost.

use std::fmt;

/// The maximum nesting depth. The server accepts 200 levels, and the library's stack suffices for thousands.
const MAX_DEPTH: usize = 500;
/// The subtype of encrypted values.
const ENCRYPTED: u8 = 6;
/// The old subtype of generic values, which contains its length a second time.
const OLD_GENERIC: u8 = 2;

/// Why a document is malformed. It contains names of fields, and no values.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// The names from the innermost field to the outermost.
    names: Vec<String>,
    reason: &'static str,
}

impl Malformed {
    fn at(mut self, name: &[u8]) -> Self {
        self.names.push(String::from_utf8_lossy(name).into_owned());
        self
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("malformed BSON")?;
        // Those of a document that is nested too deeply are not shown all.
        const SHOWN: usize = 20;
        for (i, name) in self.names.iter().rev().take(SHOWN).enumerate() {
            write!(f, "{}{name}", if i == 0 { " at " } else { "." })?;
        }
        if self.names.len() > SHOWN {
            f.write_str("…")?;
        }
        write!(f, ": {}", self.reason)
    }
}

type Checked<T = ()> = Result<T, Malformed>;

fn malformed<T>(reason: &'static str) -> Checked<T> {
    Err(Malformed {
        names: Vec::new(),
        reason,
    })
}

/// Checks a document at all depths, by the rules of the library's iterator. Calls `on_encrypted` with the bytes of each encrypted
/// value.
pub(crate) fn check(bytes: &[u8], on_encrypted: &mut dyn FnMut(&[u8])) -> Checked {
    document(bytes, MAX_DEPTH, on_encrypted)
}

fn document(bytes: &[u8], depth: usize, on_encrypted: &mut dyn FnMut(&[u8])) -> Checked {
    if bytes.len() < 5 || length(bytes)? != bytes.len() {
        return malformed("the length of the document is wrong");
    }
    let Some((0, mut rest)) = bytes.get(4..).and_then(<[u8]>::split_last) else {
        return malformed("the document does not end with a zero byte");
    };
    while let Some((&kind, named)) = rest.split_first() {
        let Some(end) = named.iter().position(|byte| *byte == 0) else {
            return malformed("the name of a field does not end");
        };
        let (name, value) = named.split_at(end);
        let value = value.get(1..).unwrap_or_default();
        let length = value_length(kind, value).map_err(|error| error.at(name))?;
        let Some((value, after)) = value.split_at_checked(length) else {
            return malformed("the value is cut off").map_err(|error| error.at(name));
        };
        check_value(kind, value, depth, on_encrypted).map_err(|error| error.at(name))?;
        rest = after;
    }
    Ok(())
}

/// The length at the beginning of a value.
fn length(bytes: &[u8]) -> Checked<usize> {
    let length = bytes.first_chunk().map(|length| i32::from_le_bytes(*length));
    match length.and_then(|length| usize::try_from(length).ok()) {
        Some(length) => Ok(length),
        None => malformed("a length is missing or negative"),
    }
}

/// The bytes of a value. They may be more than there are.
fn value_length(kind: u8, value: &[u8]) -> Checked<usize> {
    Ok(match kind {
        // Undefined, null, the least and the greatest key.
        0x06 | 0x0a | 0x7f | 0xff => 0,
        0x08 => 1,
        0x10 => 4,
        // Double, date, timestamp, 64-bit integer.
        0x01 | 0x09 | 0x11 | 0x12 => 8,
        0x07 => 12,
        0x13 => 16,
        0x02 | 0x0d | 0x0e => length(value)?.saturating_add(4),
        0x03 | 0x04 | 0x0f => length(value)?,
        0x05 => length(value)?.saturating_add(5),
        // A string and an ObjectId.
        0x0c => length(value)?.saturating_add(16),
        // Two names, of which the second ends at the second zero byte.
        0x0b => match value.iter().enumerate().filter(|(_, byte)| **byte == 0).nth(1) {
            Some((end, _)) => end + 1,
            None => return malformed("the regular expression does not end"),
        },
        _ => return malformed("the type is unknown"),
    })
}

fn check_value(kind: u8, value: &[u8], depth: usize, on_encrypted: &mut dyn FnMut(&[u8])) -> Checked {
    match kind {
        0x08 if !matches!(value, [0 | 1]) => malformed("a Boolean is neither 0 nor 1"),
        0x02 | 0x0d | 0x0e => string(value),
        0x0c => string(value.split_at(value.len() - 12).0),
        0x03 | 0x04 if depth == 0 => malformed("the document is nested too deeply"),
        0x03 | 0x04 => document(value, depth - 1, on_encrypted),
        0x05 => binary(value, on_encrypted),
        0x0f => code_with_scope(value, depth, on_encrypted),
        _ => Ok(()),
    }
}

/// A string with its length.
fn string(bytes: &[u8]) -> Checked {
    match bytes.get(4..) {
        Some([.., 0]) if length(bytes)? + 4 == bytes.len() => Ok(()),
        _ => malformed("a string does not end with a zero byte"),
    }
}

fn binary(value: &[u8], on_encrypted: &mut dyn FnMut(&[u8])) -> Checked {
    let Some((subtype, bytes)) = value.get(4..).and_then(<[u8]>::split_first) else {
        return malformed("a binary value has no subtype");
    };
    match *subtype {
        OLD_GENERIC if length(bytes)?.saturating_add(4) != bytes.len() => {
            malformed("the lengths of a binary value of subtype 2 differ")
        }
        ENCRYPTED => {
            on_encrypted(bytes);
            Ok(())
        }
        _ => Ok(()),
    }
}

fn code_with_scope(value: &[u8], depth: usize, on_encrypted: &mut dyn FnMut(&[u8])) -> Checked {
    let wrong = || malformed("the lengths of code with scope differ");
    let Some(parts) = value.get(4..) else {
        return wrong();
    };
    let Some((code, scope)) = parts.split_at_checked(length(parts)?.saturating_add(4)) else {
        return wrong();
    };
    string(code)?;
    if depth == 0 {
        return malformed("the document is nested too deeply");
    }
    document(scope, depth - 1, on_encrypted)
}

#[cfg(test)]
mod tests {
    use bson::{Bson, doc};

    use super::*;

    fn text_of(bytes: &[u8]) -> Option<String> {
        check(bytes, &mut |_| {}).err().map(|error| error.to_string())
    }

    /// A document of one field.
    fn field(kind: u8, value: &[u8]) -> Vec<u8> {
        let length = i32::try_from(value.len() + 8).unwrap();
        [&length.to_le_bytes(), &[kind, b'a', 0][..], value, &[0]].concat()
    }

    #[test]
    fn well_formed_documents_pass() {
        let all = doc! {
            "double": 1.5, "string": "a\u{0}b", "document": { "a": [1, { "b": "c" }] }, "binary": Bson::Binary(bson::Binary {
                subtype: bson::spec::BinarySubtype::BinaryOld, bytes: vec![1, 2],
            }),
            "undefined": Bson::Undefined, "id": bson::oid::ObjectId::new(), "boolean": true, "date": bson::DateTime::now(),
            "null": null, "expression": bson::Regex { pattern: "a".try_into().unwrap(), options: "i".try_into().unwrap() },
            "code": Bson::JavaScriptCode("x".into()), "symbol": Bson::Symbol("s".into()),
            "scope": bson::JavaScriptCodeWithScope { code: "x".into(), scope: doc! { "a": 1 } }, "integer": 1,
            "timestamp": bson::Timestamp { time: 1, increment: 2 }, "long": 1_i64,
            "decimal": "1.5".parse::<bson::Decimal128>().unwrap(), "min": Bson::MinKey, "max": Bson::MaxKey,
        };
        assert_eq!(text_of(&all.to_vec().unwrap()), None);
        assert_eq!(text_of(&[5, 0, 0, 0, 0]), None);
        let pointer = [&2_i32.to_le_bytes(), &b"x\0"[..], &[7; 12]].concat();
        assert_eq!(text_of(&field(0x0c, &pointer)), None);
    }

    #[test]
    fn encrypted_values_are_visited_at_all_depths() {
        let value = |byte| {
            Bson::Binary(bson::Binary {
                subtype: bson::spec::BinarySubtype::Encrypted,
                bytes: vec![byte],
            })
        };
        let document = doc! {
            "a": value(1), "b": [{ "c": value(2) }], "d": Bson::Binary(bson::Binary {
                subtype: bson::spec::BinarySubtype::Generic, bytes: vec![3],
            }),
            "s": bson::JavaScriptCodeWithScope { code: "x".into(), scope: doc! { "a": value(4) } },
        };
        let mut visited = Vec::new();
        check(&document.to_vec().unwrap(), &mut |bytes| {
            visited.extend_from_slice(bytes);
        })
        .unwrap();
        assert_eq!(visited, [1, 2, 4]);
    }

    #[test]
    fn what_the_iterator_of_the_library_finds_corrupt_is_malformed() {
        let string = |text: &[u8]| [&i32::try_from(text.len()).unwrap().to_le_bytes(), text].concat();
        let binary = |subtype: u8, bytes: &[u8]| {
            let length = i32::try_from(bytes.len()).unwrap();
            [&length.to_le_bytes(), &[subtype][..], bytes].concat()
        };
        let scope = |length: i32, code: &[u8], document: &[u8]| {
            [&length.to_le_bytes(), &string(code)[..], document].concat()
        };
        for (kind, value, reason) in [
            (0x08, vec![2], "neither 0 nor 1"),
            (0x02, string(b"ab"), "does not end"),
            (0x02, string(b""), "does not end"),
            (0x0d, string(b"ab"), "does not end"),
            (0x0e, string(b"ab"), "does not end"),
            (0x0c, [string(b"ab"), vec![7; 12]].concat(), "does not end"),
            (0x02, vec![255, 255, 255, 255], "negative"),
            (0x02, vec![9, 0, 0, 0, b'a', 0], "cut off"),
            (0x05, binary(2, &[3, 0, 0, 0, 1]), "differ"),
            (0x05, binary(2, &[]), "missing"),
            (0x05, vec![1, 0, 0, 0], "cut off"),
            (0x0f, scope(17, b"a\0", &[5, 0, 0, 0, 0]), "cut off"),
            (
                0x0f,
                scope(14, b"a\0", &[5, 0, 0, 0, 0]),
                "length of the document",
            ),
            (0x0f, scope(14, b"a", &[5, 0, 0, 0, 0]), "does not end"),
            (0x0b, vec![b'a', 0, b'i'], "does not end"),
            (0x03, vec![0, 0, 0, 0], "length of the document"),
            (0x03, vec![5, 0, 0, 0, 1], "zero byte"),
            (0x04, vec![6, 0, 0, 0, 0, 0], "a: "),
            (0x06, vec![1], "does not end"),
            (0x14, vec![], "unknown"),
            (0x10, vec![1, 2], "cut off"),
        ] {
            let found = text_of(&field(kind, &value)).unwrap_or_default();
            assert!(found.contains(reason), "{kind:#x}: {found}, not {reason}");
        }
        for bytes in [
            &[][..],
            &[5, 0, 0, 0],
            &[6, 0, 0, 0, 0],
            &[5, 0, 0, 0, 1],
            &[4, 0, 0, 0, 0],
        ] {
            assert!(text_of(bytes).is_some(), "{bytes:?}");
        }
    }

    #[test]
    fn the_error_names_the_field_and_no_value() {
        let inner = field(0x08, &[7]);
        let text = text_of(&field(0x03, &inner)).unwrap();
        assert_eq!(text, "malformed BSON at a.a: a Boolean is neither 0 nor 1");
    }

    #[test]
    fn the_depth_is_limited() {
        let nested = |levels: usize| (0..levels).fold(vec![5, 0, 0, 0, 0], |inner, _| field(0x03, &inner));
        assert_eq!(text_of(&nested(MAX_DEPTH)), None);
        for levels in [MAX_DEPTH + 1, 20_000] {
            let text = text_of(&nested(levels)).unwrap();
            assert!(text.ends_with("…: the document is nested too deeply"), "{text}");
        }
    }
}
