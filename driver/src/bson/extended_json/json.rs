//! A parser of plain JSON (RFC 8259), whose tree has offsets, literal numbers and repeated keys.

use std::borrow::Cow;

use super::error::{JsonError, JsonErrorKind};
use crate::bson::{limits::MAX_DEPTH, validate};

/// One JSON value and the offset of its first byte.
#[derive(Debug, PartialEq)]
pub(super) struct Node<'t> {
    pub(super) offset: usize,
    pub(super) json: Json<'t>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Json<'t> {
    Null,
    Boolean(bool),
    /// The literal, which is valid.
    Number(&'t str),
    String(Cow<'t, str>),
    Array(Vec<Node<'t>>),
    Object(Vec<Member<'t>>),
}

/// One member of an object and the offset of its key.
#[derive(Debug, PartialEq)]
pub(super) struct Member<'t> {
    pub(super) offset: usize,
    pub(super) key: Cow<'t, str>,
    pub(super) value: Node<'t>,
}

/// Parses one JSON value surrounded by white space.
pub(super) fn read(text: &str) -> Result<Node<'_>, JsonError> {
    let mut reader = Reader { text, at: 0 };
    let node = reader.value(MAX_DEPTH)?;
    reader.skip_space();
    match reader.peek() {
        None => Ok(node),
        Some(_) => Err(reader.expected("the end of the text")),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Consumes the next byte if it equals `byte`.
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    #[cold]
    fn expected(&self, what: &str) -> JsonError {
        let end = match self.peek() {
            None => ", found the end of the text",
            Some(_) => "",
        };
        JsonError::new(JsonErrorKind::Syntax, self.at, format!("expected {what}{end}"))
    }

    #[cold]
    fn syntax(offset: usize, message: &'static str) -> JsonError {
        JsonError::new(JsonErrorKind::Syntax, offset, message)
    }

    /// Parses a value. `depth`: number of objects and arrays that may be nested in it.
    fn value(&mut self, depth: u8) -> Result<Node<'t>, JsonError> {
        self.skip_space();
        let offset = self.at;
        let json = match self.peek() {
            Some(b'{') => Json::Object(self.object(self.enter(depth)?)?),
            Some(b'[') => Json::Array(self.array(self.enter(depth)?)?),
            Some(b'"') => Json::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => Json::Number(self.number()?),
            Some(b't') => self.word("true", Json::Boolean(true))?,
            Some(b'f') => self.word("false", Json::Boolean(false))?,
            Some(b'n') => self.word("null", Json::Null)?,
            _ => return Err(self.expected("a value")),
        };
        Ok(Node { offset, json })
    }

    fn enter(&self, depth: u8) -> Result<u8, JsonError> {
        depth.checked_sub(1).ok_or_else(|| {
            let message = format!("objects and arrays nest deeper than {MAX_DEPTH} levels");
            JsonError::new(JsonErrorKind::TooDeep, self.at, message)
        })
    }

    fn word(&mut self, word: &'static str, json: Json<'t>) -> Result<Json<'t>, JsonError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word) {
            return Err(self.expected("a value"));
        }
        self.at += word.len();
        Ok(json)
    }

    fn array(&mut self, depth: u8) -> Result<Vec<Node<'t>>, JsonError> {
        self.at += 1;
        let mut nodes = Vec::new();
        self.skip_space();
        if self.take(b']') {
            return Ok(nodes);
        }
        loop {
            nodes.push(self.value(depth)?);
            self.skip_space();
            if self.take(b']') {
                return Ok(nodes);
            }
            if !self.take(b',') {
                return Err(self.expected("a comma or the array's end"));
            }
        }
    }

    fn object(&mut self, depth: u8) -> Result<Vec<Member<'t>>, JsonError> {
        self.at += 1;
        let mut members = Vec::new();
        self.skip_space();
        if self.take(b'}') {
            return Ok(members);
        }
        loop {
            self.skip_space();
            let offset = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.expected("a key in double quotes"));
            }
            let key = self.string()?;
            self.skip_space();
            if !self.take(b':') {
                return Err(self.expected("a colon"));
            }
            let value = self.value(depth)?;
            members.push(Member { offset, key, value });
            self.skip_space();
            if self.take(b'}') {
                return Ok(members);
            }
            if !self.take(b',') {
                return Err(self.expected("a comma or the object's end"));
            }
        }
    }

    fn number(&mut self) -> Result<&'t str, JsonError> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        } else if let Some(b'0'..=b'9') = self.peek() {
            return Err(Self::syntax(start, "a number begins with a superfluous zero"));
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        Ok(self.since(start))
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start {
            return Err(self.expected("a digit"));
        }
        Ok(())
    }

    /// Parses a string, borrowed from the text if it has no escapes.
    fn string(&mut self) -> Result<Cow<'t, str>, JsonError> {
        self.at += 1;
        let mut owned: Option<String> = None;
        let mut start = self.at;
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            self.at += validate::find_escaped(rest).unwrap_or(rest.len());
            match self.peek() {
                Some(b'"') => {
                    let part = self.since(start);
                    self.at += 1;
                    return Ok(match owned {
                        None => Cow::Borrowed(part),
                        Some(text) => Cow::Owned(text + part),
                    });
                }
                Some(b'\\') => {
                    let text = owned.get_or_insert_default();
                    text.push_str(self.since(start));
                    text.push(self.escape()?);
                    start = self.at;
                }
                Some(_) => return Err(Self::syntax(self.at, "a string holds a control character")),
                None => return Err(self.expected("a string's closing quote")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let start = self.at;
        self.at += 1;
        let letter = self.peek();
        self.at += 1;
        Ok(match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(start),
            _ => return Err(Self::syntax(start, "a string has an unknown escape")),
        })
    }

    /// Parses an escape after `\u`: four digits, or a surrogate pair.
    fn unicode(&mut self, start: usize) -> Result<char, JsonError> {
        let unit = self.unit(start)?;
        let code = match unit {
            0xd800..=0xdbff if self.take(b'\\') && self.take(b'u') => match self.unit(start)? {
                low @ 0xdc00..=0xdfff => 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00),
                _ => unit,
            },
            _ => unit,
        };
        // Fails only for an unpaired surrogate.
        char::from_u32(code).ok_or_else(|| Self::syntax(start, "a string contains an unpaired surrogate"))
    }

    fn unit(&mut self, start: usize) -> Result<u32, JsonError> {
        (0..4).try_fold(0, |unit, _| {
            let digit = self.peek().and_then(|digit| char::from(digit).to_digit(16));
            let digit =
                digit.ok_or_else(|| Self::syntax(start, "an escape lacks four hexadecimal digits"))?;
            self.at += 1;
            Ok(unit << 4 | digit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str) -> String {
        match read(text).unwrap().json {
            Json::String(text) => text.into_owned(),
            other => panic!("{other:?}"),
        }
    }

    fn fault(text: &str) -> String {
        read(text).unwrap_err().place(text).to_string()
    }

    #[test]
    fn strings_are_unescaped() {
        assert_eq!(string(r#" "plain é" "#), "plain é");
        assert_eq!(string(r#""\"\\\/\b\f\n\r\té""#), "\"\\/\u{8}\u{c}\n\r\té");
        assert_eq!(string(r#""a\u0000\ud83E\uDD80b""#), "a\0🦀b");
        for half in [r#""\ud800""#, r#""\udc00""#, r#""\ud800\n""#, r#""\ud800\u0041""#] {
            assert!(fault(half).contains("surrogate"), "{half}");
        }
    }

    #[test]
    fn numbers_keep_their_spelling() {
        for number in ["0", "-0", "10", "-1.50", "1e5", "1E+05", "0.1e-7"] {
            assert_eq!(read(number).unwrap().json, Json::Number(number));
        }
        for number in [
            "01", "-", "1.", ".5", "1e", "+1", "1e+", "0x1", "--1", "Infinity", "NaN",
        ] {
            assert_eq!(
                read(number).unwrap_err().kind(),
                JsonErrorKind::Syntax,
                "{number}"
            );
        }
    }

    #[test]
    fn faults_name_place_and_expectation() {
        for (text, message) in [
            (
                "",
                "expected a value, found the end of the text at line 1, column 1",
            ),
            ("{\"a\": tru}", "expected a value at line 1, column 7"),
            (
                "{\n  \"é\": 1,\n}",
                "expected a key in double quotes at line 3, column 1",
            ),
            ("{\"a\" 1}", "expected a colon at line 1, column 6"),
            (
                "[\"é\" 2]",
                "expected a comma or the array's end at line 1, column 6",
            ),
            (
                "{\"a\": 1 ",
                "expected a comma or the object's end, found the end of the text at line 1, column 9",
            ),
            ("{} {}", "expected the end of the text at line 1, column 4"),
            (
                "\"a\nb\"",
                "a string holds a control character at line 1, column 3",
            ),
            (
                "\"abc",
                "expected a string's closing quote, found the end of the text at line 1, column 5",
            ),
            ("\"\\x\"", "a string has an unknown escape at line 1, column 2"),
            (
                "\"\\u12g4\"",
                "an escape lacks four hexadecimal digits at line 1, column 2",
            ),
            ("[1,]", "expected a value at line 1, column 4"),
            ("\u{feff}{}", "expected a value at line 1, column 1"),
        ] {
            assert_eq!(fault(text), message, "{text}");
        }
    }

    #[test]
    fn cut_texts_are_faults() {
        let text = r#"{"a": [1, -2.5e3, "x\u00e9\ud83E\uDD80", {"b": null}], "c": true}"#;
        read(text).unwrap();
        for end in 0..text.len() {
            assert!(read(&text[..end]).is_err(), "{}", &text[..end]);
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(read(&nested(usize::from(MAX_DEPTH))).is_ok());
        let error = read(&nested(usize::from(MAX_DEPTH) + 1)).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (JsonErrorKind::TooDeep, 200));
        assert_eq!(
            read(&"[{\"a\":".repeat(1_000_000)).unwrap_err().kind(),
            JsonErrorKind::TooDeep
        );
    }
}
