//! Values that can be found in any form in bytes and texts.

use base64::{
    Engine, engine::GeneralPurpose, prelude::BASE64_STANDARD_NO_PAD, prelude::BASE64_URL_SAFE_NO_PAD,
};

/// A value to search for.
#[derive(Debug)]
pub(crate) struct Mark {
    name: String,
    forms: Vec<Vec<u8>>,
}

impl Mark {
    /// A text of at least 8 bytes.
    pub(crate) fn text(text: &str) -> Self {
        Self::of(text, text.as_bytes())
    }

    /// A number of at least 15 digits, in 8 bytes.
    pub(crate) fn number(number: i64) -> Self {
        let mut mark = Self::of(&number.to_string(), &number.to_le_bytes());
        let digits = number.to_string().into_bytes();
        mark.forms.extend(encoded(&digits));
        mark.forms.push(digits);
        mark
    }

    fn of(name: &str, bytes: &[u8]) -> Self {
        let mut forms = encoded(bytes);
        forms.push(bytes.to_vec());
        Self {
            name: name.to_owned(),
            forms,
        }
    }

    /// The raw bytes.
    pub(crate) fn raw(&self) -> &[u8] {
        self.forms.last().expect("a form")
    }
}

/// The texts that contain the bytes: hexadecimal, lists of numbers, and base64 at each offset.
fn encoded(bytes: &[u8]) -> Vec<Vec<u8>> {
    let list = |separator: &str| {
        let numbers: Vec<String> = bytes.iter().map(ToString::to_string).collect();
        numbers.join(separator)
    };
    let mut texts = vec![
        hex::encode(bytes),
        hex::encode_upper(bytes),
        list(", "),
        list(","),
        list(",\n    "),
    ];
    for engine in [&BASE64_STANDARD_NO_PAD, &BASE64_URL_SAFE_NO_PAD] {
        texts.extend((0..3).map(|offset| base64_at(engine, offset, bytes)));
    }
    texts.into_iter().map(String::into_bytes).collect()
}

/// The characters that are the same whatever the bytes before and after are.
fn base64_at(engine: &GeneralPurpose, offset: usize, bytes: &[u8]) -> String {
    let text = engine.encode([&vec![0; offset], bytes].concat());
    let first = (offset * 8).div_ceil(6);
    let last = (offset + bytes.len()) * 8 / 6;
    text[first..last].to_owned()
}

/// The names of the marks in these bytes.
pub(crate) fn found_in<'a>(marks: &'a [Mark], bytes: &[u8]) -> Vec<&'a str> {
    let contains = |form: &Vec<u8>| {
        // Most positions are skipped by their first byte.
        let first = form[0];
        bytes
            .iter()
            .enumerate()
            .any(|(position, byte)| *byte == first && bytes[position..].starts_with(form))
    };
    marks
        .iter()
        .filter(|mark| mark.forms.iter().any(contains))
        .map(|mark| mark.name.as_str())
        .collect()
}

/// Every form is found in a text that contains it.
pub(crate) fn check() {
    let marks = [
        Mark::text("zq-plain-text-WMQ"),
        Mark::number(7_182_818_284_590_452),
    ];
    let bytes: [&[u8]; 2] = [b"zq-plain-text-WMQ", &7_182_818_284_590_452_i64.to_le_bytes()];
    for (mark, bytes) in marks.iter().zip(bytes) {
        let name = mark.name.as_str();
        for before in 0..3_usize {
            let around = [&vec![7; before], bytes, b"more"].concat();
            let texts = [
                around.clone(),
                hex::encode(&around).into_bytes(),
                format!("{around:?}").into_bytes(),
                BASE64_STANDARD_NO_PAD.encode(&around).into_bytes(),
                BASE64_URL_SAFE_NO_PAD.encode(&around).into_bytes(),
            ];
            for text in texts {
                assert_eq!(
                    found_in(&marks, &text),
                    [name],
                    "{}",
                    String::from_utf8_lossy(&text)
                );
            }
        }
        assert_eq!(found_in(&marks, name.as_bytes()), [name]);
    }
    assert!(found_in(&marks, b"another text").is_empty());
}
