//! Options of collections that every server refuses: they are errors of the plan.

use crate::common::{Env, Observed};
use marula::bson;
use marula::schema::{Schema, SyncMode};
use marula::{Document, Embedded, Error, SchemaError};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "log", capped(size = 4096, max = 2_147_483_648))]
struct LogEntry {
    _id: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "events", clustered(ttl = "24000d"))]
struct Event {
    _id: bson::DateTime,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "readings", timeseries(time = at, ttl = "24000d"))]
struct Reading {
    _id: i64,
    at: bson::DateTime,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "readings", timeseries(time = at, meta = origin.source.sensor))]
struct NestedReading {
    _id: i64,
    at: bson::DateTime,
    #[serde(flatten)]
    origin: Origin,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Origin {
    source: Source,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Source {
    sensor: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "readings", timeseries(time = at, meta = _id))]
struct IdentifiedReading {
    _id: i64,
    at: bson::DateTime,
}

#[tokio::test]
async fn options_out_of_range_are_errors_of_the_plan() {
    let env = Env::start().await;
    let observed = Observed::of(&env);
    let schema = || observed.db.schema();
    let cases: [(Schema, &str, &str); 5] = [
        (
            schema().register::<LogEntry>(),
            "LogEntry",
            "must be less than 2147483648, found 2147483648",
        ),
        (
            schema().register::<Event>(),
            "Event",
            "at most the seconds since 1970",
        ),
        (
            schema().register::<Reading>(),
            "Reading",
            "at most the seconds since 1970",
        ),
        (
            schema().register::<NestedReading>(),
            "NestedReading",
            "found `source.sensor`",
        ),
        (
            schema().register::<IdentifiedReading>(),
            "IdentifiedReading",
            "cannot be `_id`",
        ),
    ];
    for (schema, of, expected) in cases {
        let error = schema.sync(SyncMode::Additive).await.unwrap_err();
        let Error::Schema(SchemaError::InvalidCollection { model, reason, .. }) = &error else {
            panic!("another error: {error}");
        };
        assert!(*model == of && reason.contains(expected), "{error}");
    }
    assert!(observed.take("create").is_empty() && observed.take("find").is_empty());
    env.stop().await;
}
