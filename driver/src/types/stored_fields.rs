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
}

/// A Boolean, or a number, of which each but zero is true.
pub(crate) fn boolean(value: &Bson) -> Option<bool> {
    match value {
        Bson::Boolean(value) => Some(*value),
        _ => float(value).map(|number| number != 0.0),
    }
}

/// A number without a fraction in the range of an Int32.
pub(crate) fn int32(value: &Bson) -> Option<i32> {
    match value {
        Bson::Int32(number) => Some(*number),
        Bson::Int64(number) => i32::try_from(*number).ok(),
        Bson::Double(number) => {
            let whole = *number as i32;
            (f64::from(whole) == *number).then_some(whole)
        }
        _ => None,
    }
}

/// A number.
pub(crate) fn float(value: &Bson) -> Option<f64> {
    match value {
        Bson::Int32(number) => Some(f64::from(*number)),
        Bson::Int64(number) => Some(*number as f64),
        Bson::Double(number) => Some(*number),
        _ => None,
    }
}

/// A string.
pub(crate) fn text(value: &Bson) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// A document.
pub(crate) fn document(value: &Bson) -> Option<Document> {
    value.as_document().cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::doc;

    #[test]
    fn numbers_are_true_unless_zero() {
        for (value, expected) in [
            (Bson::Boolean(true), Some(true)),
            (Bson::Int32(0), Some(false)),
            (Bson::Int64(2), Some(true)),
            (Bson::Double(1.0), Some(true)),
            (Bson::Double(-0.0), Some(false)),
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
