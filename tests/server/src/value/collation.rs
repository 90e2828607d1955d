//! Collation: `simple`, and locale-aware comparison of Latin text with strength 1 to 3. The byte
//! order of collation keys is the order of the collation. Options that are not implemented are
//! rejected, never ignored.

use crate::error::{Error, Result};
use bson::{Bson, Document, doc};
use std::cmp::Ordering;

/// The supported locales, in which Latin letters have the root order.
const LOCALES: [&str; 22] = [
    "en",
    "en_US",
    "en_GB",
    "en_AU",
    "en_CA",
    "en_US_POSIX",
    "fr",
    "fr_FR",
    "de",
    "de_DE",
    "it",
    "it_IT",
    "nl",
    "pt",
    "pt_BR",
    "pt_PT",
    "ga",
    "id",
    "ms",
    "root",
    "zu",
    "sw",
];

/// A collation other than `simple`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Collation {
    locale: String,
    strength: i32,
    numeric_ordering: bool,
}

impl Collation {
    /// Parses a collation document. `simple` is `None`.
    pub(crate) fn parse(spec: &Document) -> Result<Option<Collation>> {
        let locale = match spec.get("locale") {
            Some(Bson::String(locale)) => locale.clone(),
            Some(_) => {
                return Err(Error::type_mismatch(
                    "BSON field 'collation.locale' is the wrong type",
                ));
            }
            None => {
                return Err(Error::new(
                    crate::error::code::MISSING_FIELD,
                    "BSON field 'collation.locale' is missing but a required field",
                ));
            }
        };
        let mut collation = Collation {
            locale,
            strength: 3,
            numeric_ordering: false,
        };
        for (name, value) in spec {
            let refuse = || Error::not_served(format!("collation option {name}: {value}"));
            match (name.as_str(), value) {
                ("locale" | "version", _) => {}
                ("strength", value) => match crate::value::number::Number::from_bson(value)
                    .and_then(crate::value::number::Number::to_exact_i64)
                {
                    Some(strength @ 1..=5) => collation.strength = strength as i32,
                    _ => {
                        return Err(Error::bad_value(format!(
                            "Enumeration value '{value}' for field 'collation.strength' is not a valid value."
                        )));
                    }
                },
                ("numericOrdering", Bson::Boolean(on)) => collation.numeric_ordering = *on,
                ("caseLevel" | "backwards", Bson::Boolean(on)) => {
                    if *on {
                        return Err(refuse());
                    }
                }
                ("normalization", Bson::Boolean(_)) => {}
                ("caseFirst", Bson::String(text)) if text == "off" => {}
                ("alternate", Bson::String(text)) if text == "non-ignorable" => {}
                ("maxVariable", Bson::String(text)) if text == "punct" || text == "space" => {}
                ("caseFirst", Bson::String(text)) if text == "upper" || text == "lower" => {
                    return Err(refuse());
                }
                ("alternate", Bson::String(text)) if text == "shifted" => return Err(refuse()),
                (
                    "caseLevel" | "backwards" | "normalization" | "numericOrdering" | "caseFirst"
                    | "alternate" | "maxVariable",
                    _,
                ) => {
                    return Err(Error::bad_value(format!(
                        "invalid value for collation option {name}: {value}"
                    )));
                }
                _ => {
                    return Err(Error::new(
                        crate::error::code::UNKNOWN_FIELD,
                        format!("BSON field 'collation.{name}' is an unknown field."),
                    ));
                }
            }
        }
        if collation.locale == "simple" {
            return if spec.len() == 1 {
                Ok(None)
            } else {
                Err(Error::bad_value(
                    "If locale is 'simple', no other collation options may be specified",
                ))
            };
        }
        if !LOCALES.contains(&collation.locale.as_str()) {
            let known_shape = collation.locale.len() >= 2
                && collation
                    .locale
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "_@=-".contains(c));
            return Err(if known_shape && collation.locale.len() <= 12 {
                Error::not_served(format!("collation locale {}", collation.locale))
            } else {
                Error::bad_value(format!("Field 'locale' is invalid in: {spec}"))
            });
        }
        if collation.strength > 3 {
            return Err(Error::not_served(format!(
                "collation strength {}",
                collation.strength
            )));
        }
        Ok(Some(collation))
    }

    /// Parses the optional `collation` field of a command or statement.
    pub(crate) fn parse_field(spec: &Document) -> Result<Option<Collation>> {
        match spec.get("collation") {
            None => Ok(None),
            Some(Bson::Document(collation)) if collation.is_empty() => Ok(None),
            Some(Bson::Document(collation)) => Collation::parse(collation),
            Some(other) => Err(Error::type_mismatch(format!(
                "BSON field 'collation' is the wrong type '{}', expected type 'object'",
                super::type_name(other)
            ))),
        }
    }

    /// The collation with all defaults, as in index and collection listings.
    pub(crate) fn to_document(&self) -> Document {
        doc! {
            "locale": &self.locale,
            "caseLevel": false,
            "caseFirst": "off",
            "strength": self.strength,
            "numericOrdering": self.numeric_ordering,
            "alternate": "non-ignorable",
            "maxVariable": "punct",
            "normalization": false,
            "backwards": false,
            "version": "57.1",
        }
    }

    pub(crate) fn compare(&self, left: &str, right: &str) -> Ordering {
        if left == right {
            Ordering::Equal
        } else {
            self.key(left).cmp(&self.key(right))
        }
    }

    /// The collation key of a string. The order of keys is the order of the strings; equal strings
    /// have equal keys.
    pub(crate) fn key(&self, text: &str) -> String {
        let (mut primary, mut secondary, mut tertiary) = (String::new(), String::new(), String::new());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if self.numeric_ordering && c.is_ascii_digit() {
                let mut digits = String::from(c);
                while let Some(next) = chars.next_if(char::is_ascii_digit) {
                    digits.push(next);
                }
                let digits = digits.trim_start_matches('0');
                // The length precedes the digits, so that longer numbers are greater.
                primary.push('5');
                primary.push(char::from_u32(0x100 + digits.len() as u32).unwrap_or(char::MAX));
                primary.push_str(digits);
                continue;
            }
            let (bases, accent) = decompose(c);
            for base in bases.chars() {
                for lower in base.to_lowercase() {
                    primary.push(class(lower));
                    primary.push(lower);
                }
                tertiary.push(if base.is_uppercase() { '2' } else { '1' });
                secondary.push(accent.unwrap_or(' '));
            }
        }
        // Trailing marks for "no accent" and "lower case" are removed: they would make a prefix
        // greater.
        let mut key = primary;
        if self.strength >= 2 {
            key.push('\u{0}');
            key.push_str(secondary.trim_end_matches(' '));
        }
        if self.strength >= 3 {
            key.push('\u{0}');
            key.push_str(tertiary.trim_end_matches('1'));
        }
        key
    }

    /// Replaces every string in a value with its collation key, for index keys and group keys.
    pub(crate) fn fold(&self, value: &Bson) -> Bson {
        match value {
            Bson::String(text) | Bson::Symbol(text) => Bson::String(self.key(text)),
            Bson::Array(items) => Bson::Array(items.iter().map(|item| self.fold(item)).collect()),
            Bson::Document(document) => Bson::Document(
                document
                    .iter()
                    .map(|(name, item)| (name.clone(), self.fold(item)))
                    .collect(),
            ),
            other => other.clone(),
        }
    }
}

/// The root order of character classes: whitespace, punctuation, symbols, digits, letters.
fn class(c: char) -> char {
    if c.is_whitespace() {
        '1'
    } else if c.is_ascii_punctuation() && !"$+<=>^`|~".contains(c) {
        '2'
    } else if c.is_ascii_digit() {
        '5'
    } else if c.is_alphabetic() {
        '6'
    } else {
        '3'
    }
}

/// Replaces letters with diacritics by their base letters.
pub(crate) fn without_diacritics(text: &str) -> String {
    text.chars()
        .filter(|c| !('\u{300}'..='\u{36f}').contains(c))
        .map(|c| decompose(c).0)
        .collect()
}

/// Splits a Latin letter with diacritics into base letters and an accent mark.
fn decompose(c: char) -> (String, Option<char>) {
    const TABLE: [(&str, &str); 30] = [
        ("A", "ÀÁÂÃÄÅĀĂĄ"),
        ("a", "àáâãäåāăą"),
        ("C", "ÇĆĈĊČ"),
        ("c", "çćĉċč"),
        ("D", "ĎĐ"),
        ("d", "ďđ"),
        ("E", "ÈÉÊËĒĔĖĘĚ"),
        ("e", "èéêëēĕėęě"),
        ("G", "ĜĞĠĢ"),
        ("g", "ĝğġģ"),
        ("I", "ÌÍÎÏĨĪĬĮ"),
        ("i", "ìíîïĩīĭį"),
        ("L", "ĹĻĽŁ"),
        ("l", "ĺļľł"),
        ("N", "ÑŃŅŇ"),
        ("n", "ñńņň"),
        ("O", "ÒÓÔÕÖØŌŎŐ"),
        ("o", "òóôõöøōŏő"),
        ("R", "ŔŖŘ"),
        ("r", "ŕŗř"),
        ("S", "ŚŜŞŠ"),
        ("s", "śŝşš"),
        ("T", "ŢŤŦ"),
        ("t", "ţťŧ"),
        ("U", "ÙÚÛÜŨŪŬŮŰŲ"),
        ("u", "ùúûüũūŭůűų"),
        ("Y", "ÝŶŸ"),
        ("y", "ýÿŷ"),
        ("Z", "ŹŻŽ"),
        ("z", "źżž"),
    ];
    if c.is_ascii() {
        return (c.to_string(), None);
    }
    match c {
        'ß' => return ("ss".into(), Some('!')),
        'æ' => return ("ae".into(), Some('!')),
        'Æ' => return ("AE".into(), Some('!')),
        _ => {}
    }
    for (base, accented) in TABLE {
        if let Some(position) = accented.chars().position(|other| other == c) {
            return (base.into(), char::from_u32('!' as u32 + position as u32));
        }
    }
    (c.to_string(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn en(strength: i32) -> Collation {
        Collation::parse(&doc! {"locale": "en", "strength": strength})
            .unwrap()
            .unwrap()
    }

    #[test]
    fn strength_determines_equality() {
        assert_eq!(en(1).compare("résumé", "RESUME"), Ordering::Equal);
        assert_eq!(en(2).compare("ping", "PING"), Ordering::Equal);
        assert_eq!(en(2).compare("resume", "résumé"), Ordering::Less);
        assert_eq!(en(3).compare("ping", "PING"), Ordering::Less);
        assert_eq!(en(3).compare("ping", "ping"), Ordering::Equal);
    }

    #[test]
    fn letters_sort_before_case() {
        let mut words = ["b", "A", "B", "a"];
        words.sort_by(|a, b| en(3).compare(a, b));
        assert_eq!(words, ["a", "A", "b", "B"]);
        assert_eq!(en(3).compare("ab", "a"), Ordering::Greater);
        assert_eq!(en(3).compare("9", "a"), Ordering::Less);
    }

    #[test]
    fn numeric_ordering() {
        let collation = Collation::parse(&doc! {"locale": "en", "numericOrdering": true})
            .unwrap()
            .unwrap();
        assert_eq!(collation.compare("item 9", "item 10"), Ordering::Less);
    }

    #[test]
    fn unsupported_options_are_rejected() {
        assert!(Collation::parse(&doc! {"locale": "simple"}).unwrap().is_none());
        let code = |spec: Document| Collation::parse(&spec).unwrap_err().code;
        assert_eq!(code(doc! {"locale": "en", "caseLevel": true}), 238);
        assert_eq!(code(doc! {"locale": "sv"}), 238);
        assert_eq!(code(doc! {"locale": "en", "strength": 9}), 2);
        assert_eq!(code(doc! {"locale": "en", "foo": 9}), 40415);
        assert_eq!(code(doc! {"strength": 2}), 40414);
    }
}
