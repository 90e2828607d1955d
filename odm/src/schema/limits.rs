//! The values of collection options that servers refuse. No I/O.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::{
    base::bson::{Bson, Document},
    models::index::normal::number,
};

/// The largest size of a capped collection, in bytes: 1 PiB.
const LARGEST_SIZE: i64 = 1 << 50;
/// The documents of a capped collection are fewer than this number.
const DOCUMENTS_LIMIT: i64 = 1 << 31;

/// Checks the options of a collection as the server would. The error is the reason.
pub(super) fn check(options: &Document) -> Result<(), String> {
    let integer = |name: &str| options.get(name).and_then(|value| number(value).as_i64());
    if let Some(size) = integer("size").filter(|size| !(1..=LARGEST_SIZE).contains(size)) {
        return Err(format!(
            "the size of a capped collection is 1 to {LARGEST_SIZE} bytes, found {size}"
        ));
    }
    if let Some(max) = integer("max").filter(|max| *max >= DOCUMENTS_LIMIT) {
        return Err(format!(
            "the number of documents of a capped collection must be less than {DOCUMENTS_LIMIT}, found {max}"
        ));
    }
    if let Some(seconds) = integer("expireAfterSeconds") {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let most = i64::try_from(since_epoch.as_secs()).unwrap_or(i64::MAX);
        if seconds < 0 || seconds > most {
            return Err(format!(
                "documents must expire after at most the seconds since 1970, which are {most}, found {seconds}"
            ));
        }
    }
    match options.get("timeseries") {
        Some(Bson::Document(series)) => check_series(series),
        _ => Ok(()),
    }
}

fn check_series(series: &Document) -> Result<(), String> {
    let time = series.get_str("timeField").unwrap_or_default();
    let meta = series.get_str("metaField").ok();
    for (what, field) in [("time", Some(time)), ("meta", meta)] {
        if let Some(field) = field.filter(|field| field.contains('.')) {
            return Err(format!(
                "the {what} field of a time series must be a field of the document, found `{field}`, a field of an embedded document"
            ));
        }
    }
    match meta {
        Some("_id") => Err("the meta field of a time series cannot be `_id`".to_owned()),
        Some(meta) if meta == time => Err(format!(
            "the meta field of a time series cannot be its time field, `{time}`"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bson::doc;

    #[test]
    fn values_out_of_range_have_a_reason() {
        let series = |time: &str, meta: &str| doc! { "timeseries": { "timeField": time, "metaField": meta } };
        let refused = [
            (doc! { "capped": true, "size": 0_i64 }, "1 to"),
            (doc! { "capped": true, "size": LARGEST_SIZE + 1 }, "1 to"),
            (
                doc! { "capped": true, "size": 1_i64, "max": DOCUMENTS_LIMIT },
                "less than 2147483648",
            ),
            (doc! { "expireAfterSeconds": i64::from(u32::MAX) }, "since 1970"),
            (doc! { "expireAfterSeconds": -1 }, "since 1970"),
            (series("at", "at"), "cannot be its time field"),
            (series("at", "_id"), "cannot be `_id`"),
            (series("at", "a.b"), "the meta field"),
            (series("a.at", "b"), "the time field"),
        ];
        for (options, reason) in refused {
            let error = check(&options).expect_err("a reason");
            assert!(error.contains(reason), "{error}");
        }
        let permitted = [
            doc! { "capped": true, "size": LARGEST_SIZE, "max": DOCUMENTS_LIMIT - 1 },
            doc! { "expireAfterSeconds": 1_700_000_000_i64 },
            series("at", "sensor"),
        ];
        for options in permitted {
            assert_eq!(check(&options), Ok(()), "{options}");
        }
    }
}
