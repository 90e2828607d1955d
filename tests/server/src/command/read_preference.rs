//! Validation of `$readPreference`, a generic field of all commands.

use crate::error::{Error, Result, code};
use crate::value::number::Number;
use crate::value::type_name;
use crate::violation::ViolationKind;
use bson::{Bson, Document};

const MODES: [&str; 5] = [
    "primary",
    "primaryPreferred",
    "secondary",
    "secondaryPreferred",
    "nearest",
];
/// The minimum of `maxStalenessSeconds`, except for 0, which means no limit.
const MIN_STALENESS_SECONDS: i64 = 90;

/// Fails if the read preference is invalid.
pub(super) fn check(body: &Document) -> Result<()> {
    match body.get("$readPreference") {
        None => Ok(()),
        Some(Bson::Document(preference)) => check_document(preference),
        Some(other) => Err(Error::type_mismatch(format!(
            "$readPreference has incorrect type: expected object but got {}",
            type_name(other)
        ))),
    }
    .map_err(|error| error.violating(ViolationKind::ReadPreference))
}

fn check_document(preference: &Document) -> Result<()> {
    let wrong_type = |field: &str, value: &Bson, expected: &str| {
        Err(Error::type_mismatch(format!(
            "BSON field 'readPreference.{field}' is the wrong type '{}', expected {expected}",
            type_name(value)
        )))
    };
    let mode = match preference.get("mode") {
        Some(Bson::String(mode)) if MODES.contains(&mode.as_str()) => mode.as_str(),
        Some(Bson::String(mode)) => {
            return Err(Error::bad_value(format!(
                "Enumeration value '{mode}' for field 'readPreference.mode' is not a valid value."
            )));
        }
        Some(other) => return wrong_type("mode", other, "type 'string'"),
        None => {
            return Err(Error::new(
                code::MISSING_FIELD,
                "BSON field 'readPreference.mode' is missing but a required field",
            ));
        }
    };
    match preference.get("tags") {
        None => {}
        Some(Bson::Array(tags)) => {
            let empty = |tag: &Bson| matches!(tag, Bson::Document(tag) if tag.is_empty());
            if mode == "primary" && !tags.iter().all(empty) {
                return Err(Error::bad_value(
                    "Only empty tags are allowed with primary read preference",
                ));
            }
        }
        Some(other) => return wrong_type("tags", other, "type 'array'"),
    }
    match preference.get("maxStalenessSeconds") {
        None => Ok(()),
        Some(value) => match Number::from_bson(value).and_then(Number::to_exact_i64) {
            Some(0) => Ok(()),
            Some(seconds) if seconds < 0 => Err(Error::bad_value(
                "$readPreference.maxStalenessSeconds must be a non-negative integer",
            )),
            Some(_) if mode == "primary" => Err(Error::bad_value(
                "maxStalenessSeconds can not be set for the primary mode",
            )),
            Some(seconds) if seconds < MIN_STALENESS_SECONDS => Err(Error::new(
                code::MAX_STALENESS_OUT_OF_RANGE,
                format!(
                    "$readPreference.maxStalenessSeconds value can not be less than {MIN_STALENESS_SECONDS}"
                ),
            )),
            Some(_) => Ok(()),
            None => wrong_type(
                "maxStalenessSeconds",
                value,
                "types '[long, int, decimal, double]'",
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::doc;

    #[test]
    fn read_preferences() {
        let code = |preference: Bson| {
            check(&doc! { "$readPreference": preference })
                .err()
                .map_or(0, |e| e.code)
        };
        for (preference, expected) in [
            (doc! { "mode": "primary", "tags": [{}] }, 0),
            (
                doc! { "mode": "nearest", "tags": [{ "a": "b" }], "maxStalenessSeconds": 90_i64 },
                0,
            ),
            (doc! { "mode": "bogus" }, 2),
            (doc! { "mode": 1 }, 14),
            (doc! {}, 40414),
            (doc! { "mode": "primary", "tags": [{ "a": "b" }] }, 2),
            (doc! { "mode": "primary", "maxStalenessSeconds": 120 }, 2),
            (doc! { "mode": "nearest", "maxStalenessSeconds": 10 }, 160),
            (doc! { "mode": "nearest", "maxStalenessSeconds": -1 }, 2),
            (doc! { "mode": "nearest", "maxStalenessSeconds": "1" }, 14),
            (doc! { "mode": "nearest", "tags": {} }, 14),
        ] {
            assert_eq!(code(preference.clone().into()), expected, "{preference}");
        }
        assert_eq!(code("nearest".into()), 14);
        assert!(check(&doc! {}).is_ok());
    }
}
