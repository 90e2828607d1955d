//! Which cases have short time limits.

use marula_driver::bson::{Bson, Document};

/// The longest time limit in milliseconds that a busy machine can exceed.
const SHORT_MS: f64 = 1_000.0;

/// Whether a part of a test has short time limits: fail points that delay commands, options such as
/// `timeoutMS`, and the operation `wait`.
pub(crate) fn is_timed(part: &Document) -> bool {
    part.iter()
        .any(|(name, value)| is_time(name, value) || is_timed_value(value))
}

/// [`is_timed`] for a value of any type.
pub(crate) fn is_timed_value(value: &Bson) -> bool {
    match value {
        Bson::Document(document) => is_timed(document),
        Bson::Array(values) => values.iter().any(is_timed_value),
        _ => false,
    }
}

fn is_time(name: &str, value: &Bson) -> bool {
    match name {
        "blockTimeMS" => true,
        "name" => value.as_str() == Some("wait"),
        _ if name == "timeoutMS" || name.ends_with("TimeoutMS") => is_short(value),
        _ => false,
    }
}

/// The value 0 stands for an unlimited time.
fn is_short(value: &Bson) -> bool {
    let millis = match value {
        Bson::Int32(millis) => f64::from(*millis),
        Bson::Int64(millis) => *millis as f64,
        Bson::Double(millis) => *millis,
        _ => return false,
    };
    millis > 0.0 && millis <= SHORT_MS
}

#[cfg(test)]
mod tests {
    use marula_driver::bson::doc;

    use super::*;

    #[test]
    fn delays_short_limits_and_waits_are_timed() {
        for part in [
            doc! { "failPoint": { "data": { "failCommands": ["find"], "blockTimeMS": 2_000 } } },
            doc! { "createEntities": [{ "client": { "uriOptions": { "connectTimeoutMS": 250 } } }] },
            doc! { "arguments": { "filter": {}, "timeoutMS": 1_000_i64 } },
            doc! { "poolOptions": { "waitQueueTimeoutMS": 50.0 } },
            doc! { "operations": [{ "name": "start" }, { "name": "wait", "ms": 100 }] },
        ] {
            assert!(is_timed(&part), "{part}");
        }
        for part in [
            doc! { "uriOptions": { "connectTimeoutMS": 20_000, "timeoutMS": 0 } },
            doc! { "arguments": { "timeoutMS": { "$$unsetOrMatches": "x" }, "maxTimeMS": 5 } },
            doc! { "operations": [{ "name": "waitForEvent" }, { "name": "find" }] },
        ] {
            assert!(!is_timed(&part), "{part}");
        }
    }
}
