//! `serde::de::Error` for [`DecodeError`]: types and field names are kept, values are left out.

use std::cell::Cell;
use std::fmt::{self, Write};
use std::panic::Location;

use serde::de::{self, Expected, Unexpected};

use super::call_sites;
use crate::bson::{
    error::{DecodeError, Found},
    same_type,
};

/// Maximum length of a message of a type's own `Deserialize`, in bytes.
const MAX_MESSAGE: usize = 1024;

thread_local! {
    /// The error that [`DecodeError::into_serde`] passes to [`custom`](de::Error::custom).
    static CONVERTED: Cell<Option<DecodeError>> = const { Cell::new(None) };
}

/// The text of the error in [`CONVERTED`], for the errors of other formats.
struct Converted(String);

impl fmt::Display for Converted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl DecodeError {
    /// Converts the error to the one of a deserializer. The error of a BSON deserializer is the same error, with its path,
    /// type and offset, for which serde's trait has only text.
    #[cold]
    pub(crate) fn into_serde<E: de::Error>(self) -> E {
        let text = Converted(self.to_string());
        CONVERTED.set(Some(self));
        let error = E::custom(text);
        CONVERTED.take();
        error
    }
}

impl de::Error for DecodeError {
    #[track_caller]
    fn custom<T: fmt::Display>(message: T) -> Self {
        if same_type::is::<T, Converted>()
            && let Some(error) = CONVERTED.take()
        {
            return error;
        }
        let is_formatted = same_type::is::<T, String>() || same_type::is::<T, fmt::Arguments<'static>>();
        if is_formatted && let Some(expected) = call_sites::expected_at(Location::caller()) {
            return Self::found(format!("expected {expected}").into(), Found::Unnamed);
        }
        let mut text = Limited(String::new());
        // An error means that the limit is reached; the text up to it is kept.
        let _ = write!(text, "{message}");
        let error = Self::new(text.0);
        if same_type::is::<T, ::bson::error::Error>() {
            error.of_crate_bson()
        } else {
            error
        }
    }

    #[track_caller]
    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        // Crate bson's `Document` writes the value into `expected`.
        if matches!(unexpected, Unexpected::Map)
            && let Some(expected) = call_sites::expected_at(Location::caller())
        {
            return Self::found(format!("expected {expected}").into(), Found::Unnamed);
        }
        Self::found(
            format!("expected {expected}").into(),
            Found::Serde(word(&unexpected)),
        )
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let message = format!(
            "expected {expected}, found {} out of its range",
            word(&unexpected)
        );
        Self::new(message)
    }

    fn invalid_length(len: usize, expected: &dyn Expected) -> Self {
        Self::new(format!("expected {expected}, found length {len}"))
    }

    fn unknown_variant(_variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("unknown variant, expected {}", OneOf(expected)))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let field: String = field.chars().take(64).collect();
        Self::new(format!("unknown field `{field}`, expected {}", OneOf(expected)))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("missing field `{field}`"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format!("duplicate field `{field}`"))
    }
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

/// The error of an attempt whose failure is expected. Carries nothing, so that it costs no
/// allocation.
#[derive(Debug)]
pub(super) struct Discarded;

impl fmt::Display for Discarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value has another form")
    }
}

impl std::error::Error for Discarded {}

impl de::Error for Discarded {
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self
    }

    fn invalid_type(_unexpected: Unexpected<'_>, _expected: &dyn Expected) -> Self {
        Self
    }

    fn invalid_value(_unexpected: Unexpected<'_>, _expected: &dyn Expected) -> Self {
        Self
    }
}

/// Names in a message.
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

/// A message of at most [`MAX_MESSAGE`] bytes.
struct Limited(String);

impl Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut len = MAX_MESSAGE.saturating_sub(self.0.len()).min(text.len());
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        self.0.push_str(text.get(..len).unwrap_or_default());
        if len < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}
