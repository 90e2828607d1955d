//! The moving average of round trip times.

use marula_driver::internals::server_selection::RoundTripTime;
use serde_json::Value;

use super::description::millis;
use crate::fields::Fields;

pub(super) fn check(test: &Value) -> Result<(), String> {
    let test = Fields::new("test", test)?;
    let before = match test.need("avg_rtt_ms")? {
        Value::String(text) if text == "NULL" => None,
        number => Some(number.as_f64().ok_or("avg_rtt_ms must be a number")?),
    };
    let sample = test.number("new_rtt_ms")?.ok_or("new_rtt_ms is missing")?;
    let expected = test.number("new_avg_rtt")?.ok_or("new_avg_rtt is missing")?;
    test.finish()?;
    let mut times = RoundTripTime::from_average(before.map(millis).transpose()?);
    let after = times.add(millis(sample)?).as_secs_f64() * 1000.0;
    if (after - expected).abs() < 0.000_01 {
        Ok(())
    } else {
        Err(format!("average is {after} ms, expected {expected} ms"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn wrong_expectations_fail() {
        let test = |before: Value, expected: f64| {
            check(&json!({ "avg_rtt_ms": before, "new_rtt_ms": 10, "new_avg_rtt": expected }))
        };
        assert_eq!(test(json!("NULL"), 10.0), Ok(()));
        assert_eq!(test(json!(0), 2.0), Ok(()));
        assert!(test(json!("NULL"), 10.001).is_err());
        assert!(test(json!(0), 10.0).is_err());
    }
}
