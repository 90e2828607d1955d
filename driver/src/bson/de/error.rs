//! How readers' complaints become decode errors: types and field names stay, values are left out.

use std::fmt::{self, Write};

use serde::de::{self, Expected, Unexpected};

use super::buffered::probe;
use crate::bson::error::{DecodeError, Found};

/// Longest message taken over from a reader.
const MAX_MESSAGE: usize = 1024;

impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        if probe::is_quiet() {
            return Self::silent();
        }
        let mut text = Limited(String::new());
        // Failing to write means the limit is reached, and what fits is kept.
        let _ = write!(text, "{message}");
        probe::note_message(&text.0);
        Self::new(without_value(text.0))
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        if probe::is_quiet() {
            return Self::silent();
        }
        let expected = expected.to_string();
        if matches!(unexpected, Unexpected::Map) {
            probe::note_map_refused(&expected);
        }
        Self::found(
            format!("expected {expected}").into(),
            Found::Serde(word(&unexpected)),
        )
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        if probe::is_quiet() {
            return Self::silent();
        }
        let message = format!(
            "expected {expected}, found {} out of its range",
            word(&unexpected)
        );
        Self::new(message)
    }

    fn invalid_length(len: usize, expected: &dyn Expected) -> Self {
        if probe::is_quiet() {
            return Self::silent();
        }
        probe::note_length(len);
        Self::new(format!("expected {expected}, found length {len}"))
    }

    fn unknown_variant(_variant: &str, expected: &'static [&'static str]) -> Self {
        if probe::is_quiet() {
            return Self::silent();
        }
        Self::new(format!("unknown variant, expected {}", OneOf(expected)))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        if probe::is_quiet() {
            return Self::silent();
        }
        let field: String = field.chars().take(64).collect();
        Self::new(format!("unknown field `{field}`, expected {}", OneOf(expected)))
    }

    fn missing_field(field: &'static str) -> Self {
        if probe::is_quiet() {
            return Self::silent();
        }
        Self::new(format!("missing field `{field}`"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format!("duplicate field `{field}`"))
    }
}

/// Crate bson prints the value it met after these words.
const BEFORE_VALUE: [&str; 5] = [
    ", but got ",
    " but got ",
    ", got ",
    ", instead got ",
    " instead found ",
];

/// Cuts the value off messages in which crate bson prints one.
fn without_value(mut message: String) -> String {
    const OPENINGS: [&str; 6] = [
        "expecting Binary but",
        "expecting Decimal128, got",
        "expected raw ",
        "expected borrowed raw ",
        "expected map containing extended-JSON",
        "expected document, found extended JSON",
    ];
    let of_crate_bson = OPENINGS.iter().any(|opening| message.starts_with(opening))
        || message.contains("must be deserialized from borrowed content, instead got")
        || ["Regex", "CodeWithScope", "DbPointer", "binary"]
            .iter()
            .any(|name| message.starts_with(&format!("expected {name}, but got ")));
    if of_crate_bson {
        let cut = BEFORE_VALUE
            .iter()
            .filter_map(|words| message.find(words))
            .chain(message.find(", found extended JSON"))
            .chain(message.find(", instead found "))
            .min();
        if let Some(cut) = cut {
            message.truncate(cut);
        }
    }
    message
}

fn word(unexpected: &Unexpected<'_>) -> &'static str {
    match unexpected {
        Unexpected::Bool(_) => "a boolean",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "an integer",
        Unexpected::Float(_) => "a float",
        Unexpected::Char(_) => "a character",
        Unexpected::Str(_) => "a string",
        Unexpected::Bytes(_) => "bytes",
        Unexpected::Unit | Unexpected::Option => "null",
        Unexpected::NewtypeStruct => "a newtype",
        Unexpected::Seq => "a sequence",
        Unexpected::Map => "a map",
        Unexpected::Enum => "an enum",
        Unexpected::UnitVariant => "a variant without data",
        Unexpected::NewtypeVariant | Unexpected::TupleVariant | Unexpected::StructVariant => {
            "a variant with data"
        }
        Unexpected::Other(_) => "another type",
    }
}

/// A list of names for a message.
struct OneOf(&'static [&'static str]);

impl fmt::Display for OneOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = self.0.iter();
        let Some(first) = names.next() else {
            return f.write_str("none");
        };
        write!(f, "`{first}`")?;
        names.try_for_each(|name| write!(f, ", `{name}`"))
    }
}

/// A message that stops growing.
struct Limited(String);

impl Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut room = MAX_MESSAGE.saturating_sub(self.0.len()).min(text.len());
        while !text.is_char_boundary(room) {
            room -= 1;
        }
        self.0.push_str(text.get(..room).unwrap_or_default());
        if room < text.len() {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}
