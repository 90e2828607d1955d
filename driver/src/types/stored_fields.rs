//! Reads documents whose fields may have other types than today's servers store: options of
//! collections and indexes that old servers and shells have stored, which servers return as they are.

use crate::bson::{Bson, Document};

/// The fields of a document, and those of them that cannot be used.
pub(crate) struct StoredFields {
    document: Document,
    /// The fields that [`take`](Self::take) could not convert, as they are stored.
    pub(crate) unusable: Document,
}

impl StoredFields {
    pub(crate) fn new(document: Document) -> Self {
        Self {
            document,
            unusable: Document::new(),
        }
    }

    /// Removes a field. `None` if it is missing, null, or cannot be converted.
    pub(crate) fn take<T>(&mut self, name: &str, convert: impl FnOnce(&Bson) -> Option<T>) -> Option<T> {
        let value = self.document.remove(name)?;
        let converted = convert(&value);
        if converted.is_none() && value != Bson::Null {
            self.unusable.insert(name, value);
        }
        converted
    }

    /// The fields that could not be converted, then those that have not been taken, as they are
    /// stored, without the `ignored` ones.
    pub(crate) fn others(mut self, ignored: &[&str]) -> Document {
        let rest = self.document.into_iter();
        self.unusable
            .extend(rest.filter(|(name, _)| !ignored.contains(&name.as_str())));
        self.unusable
    }
}

/// Reads a Boolean, or a number: zero is false, and other numbers are true.
pub(crate) fn boolean(value: &Bson) -> Option<bool> {
    match value {
        Bson::Boolean(value) => Some(*value),
        _ => float(value).map(|number| number != 0.0),
    }
}

/// Reads a number of any type without a fraction, in the range of an Int32.
pub(crate) fn int32(value: &Bson) -> Option<i32> {
    match value {
        Bson::Int32(number) => Some(*number),
        Bson::Int64(number) => i32::try_from(*number).ok(),
        _ => {
            let number = float(value)?;
            let whole = number as i32;
            (f64::from(whole) == number).then_some(whole)
        }
    }
}

/// Reads a number of any type.
pub(crate) fn float(value: &Bson) -> Option<f64> {
    match value {
        Bson::Int32(number) => Some(f64::from(*number)),
        Bson::Int64(number) => Some(*number as f64),
        Bson::Double(number) => Some(*number),
        Bson::Decimal128(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

/// Reads a string.
pub(crate) fn text(value: &Bson) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Reads a document.
pub(crate) fn document(value: &Bson) -> Option<Document> {
    value.as_document().cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::{Decimal128, doc};

    fn decimal(text: &str) -> Bson {
        Bson::Decimal128(text.parse::<Decimal128>().unwrap())
    }

    #[test]
    fn numbers_are_true_unless_zero() {
        for (value, expected) in [
            (Bson::Boolean(true), Some(true)),
            (Bson::Int32(0), Some(false)),
            (Bson::Int64(2), Some(true)),
            (Bson::Double(1.0), Some(true)),
            (Bson::Double(-0.0), Some(false)),
            (decimal("1"), Some(true)),
            (decimal("0E+3"), Some(false)),
            (decimal("NaN"), Some(true)),
            (Bson::String("true".into()), None),
            (Bson::Null, None),
        ] {
            assert_eq!(boolean(&value), expected, "{value}");
        }
    }

    #[test]
    fn whole_numbers_of_every_type_are_read() {
        for (value, expected) in [
            (Bson::Int64(7), Some(7)),
            (Bson::Double(2.0), Some(2)),
            (Bson::Double(2.5), None),
            (Bson::Double(f64::NAN), None),
            (Bson::Double(1e12), None),
            (Bson::Int64(i64::MAX), None),
            (decimal("2E+2"), Some(200)),
            (decimal("-3.0"), Some(-3)),
            (decimal("0.5"), None),
            (decimal("NaN"), None),
            (decimal("-Infinity"), None),
            (decimal("1E+400"), None),
        ] {
            assert_eq!(int32(&value), expected, "{value}");
        }
    }

    #[test]
    fn fields_that_cannot_be_used_are_kept() {
        let mut fields = StoredFields::new(doc! { "a": "x", "b": Bson::Null, "c": 1 });
        let taken = ["a", "b", "c", "d"].map(|name| fields.take(name, boolean));
        assert_eq!(taken, [None, None, Some(true), None]);
        assert_eq!(fields.unusable, doc! { "a": "x" });
    }
}
