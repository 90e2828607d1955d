//! The indexes of time series by server version.

use crate::common::Observed;
use crate::schema_setup::{start, unsupported};
use marula::bson;
use marula::schema::SyncMode;
use marula::{Document, Error, SchemaError};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Document)]
#[document(
    collection = "readings",
    timeseries(time = at, meta = sensor),
    index(sensor, -at),
    index(value),
    index(sensor, sparse, name = "sparse"),
    index(sensor, at, partial(sensor > 5), name = "partial"),
    index(at, ttl = "1h", partial(sensor > 5))
)]
struct Reading {
    _id: i64,
    at: bson::DateTime,
    sensor: i32,
    value: f64,
}

#[tokio::test]
async fn indexes_of_time_series_need_a_server_that_has_them() {
    for (version, created) in [("5.0", None), ("6.0", None), ("7.0", Some(5))] {
        let Some(env) = start(version).await else {
            return;
        };
        let observed = Observed::of(&env);
        let synced = observed
            .db
            .schema()
            .register::<Reading>()
            .sync(SyncMode::Additive)
            .await;
        match created {
            Some(count) => assert_eq!(synced.unwrap().created.len(), count),
            None => {
                let needs = |what: &str, index: &str, since: &str| {
                    format!(
                        "{what} of index `{index}` (model `Reading`) needs MongoDB {since} or later, the server is {version}"
                    )
                };
                let partial = "the option `partialFilterExpression` in a time series";
                let ttl = needs("the option `expireAfterSeconds` in a time series", "at_1", "6.3");
                let expected = if version == "6.0" {
                    vec![ttl]
                } else {
                    vec![
                        needs(
                            "the key `value`, a measurement of the time series,",
                            "value_1",
                            "6.0",
                        ),
                        needs("the option `sparse` in a time series", "sparse", "6.0"),
                        needs(partial, "partial", "6.0"),
                        needs(partial, "at_1", "6.0"),
                        ttl,
                    ]
                };
                assert_eq!(unsupported(&synced.unwrap_err()), expected.join("; "));
                assert!(observed.take("create").is_empty() && observed.take("createIndexes").is_empty());
            }
        }
        env.stop().await;
    }
}

/// A model of an existing time series, whose options it does not declare.
#[derive(Serialize, Deserialize, Document)]
#[document(collection = "readings", index(at, ttl = "1h"))]
struct PlainReading {
    _id: i64,
    at: bson::DateTime,
}

/// What no version accepts is an error of the plan, as the derive refuses it.
#[tokio::test]
async fn indexes_that_no_time_series_can_have_are_errors_of_the_plan() {
    let Some(env) = start("8.2").await else {
        return;
    };
    let create =
        bson::doc! { "create": "readings", "timeseries": { "timeField": "at", "metaField": "sensor" } };
    env.db.driver().run_command(create).await.unwrap();
    let error = env
        .db
        .schema()
        .register::<PlainReading>()
        .plan()
        .await
        .unwrap_err();
    let Error::Schema(SchemaError::InvalidIndex { reason, .. }) = &error else {
        panic!("{error}");
    };
    assert!(
        reason.contains("with a partial filter on the meta field"),
        "{error}"
    );
    env.stop().await;
}
