//! Formats documents for the `Display` of filters, updates and plans: relaxed Extended JSON, with
//! UUIDs as text.

use crate::base::bson::{ExtendedJson, JsonSource};

/// Formats a value or a document as relaxed Extended JSON.
pub(crate) fn relaxed<'a>(value: impl Into<JsonSource<'a>>) -> ExtendedJson<'a> {
    ExtendedJson::relaxed(value).uuids_as_text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bson::{Binary, Bson, DateTime, doc, spec::BinarySubtype};

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
            relaxed(&d).to_string(),
            "{\"a\\\"b\": \"line\\n\\u0001\", \"n\": [1, 2, 1.0, {\"$numberDouble\": \"NaN\"}, \
             {\"$numberDouble\": \"-Infinity\"}], \"d\": {\"$date\": \"1970-01-01T00:00:00Z\"}, \
             \"old\": {\"$date\": {\"$numberLong\": \"-1\"}}, \
             \"u\": {\"$uuid\": \"00000000-0000-0000-0000-000000001234\"}, \
             \"b\": {\"$binary\": {\"base64\": \"TWFydWxhIQ==\", \"subType\": \"00\"}}, \"x\": null}"
        );
    }
}
