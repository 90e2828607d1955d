//! The operators of each date type.

use crate::database::Env;
use marula::bson::{Bson, DateTime, doc};
use marula::expr::{date_diff, day_of_year, expr, gt, now, year};
use marula::{Document, Pipeline, Projection, Shape, prelude::*};
use serde::{Deserialize, Serialize};

/// Milliseconds of the second of January 2024, at 3:04:05.678.
const AT: i64 = 1_704_164_645_678;
const HOUR: i64 = 3_600_000;

macro_rules! dates {
    ($($name:ident: $t:ty, $from_millis:expr;)*) => { $(
        mod $name {
            use super::*;

            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
            #[document(collection = "events", index(at, ttl = "1h"))]
            struct Event {
                _id: i64,
                at: $t,
                ended: Option<$t>,
                history: Vec<$t>,
            }

            #[derive(Debug, PartialEq, Serialize, Deserialize, Projection)]
            #[document(of = Event)]
            struct Times {
                at: $t,
                #[document(expr = |e| year(e.at()))]
                year: i32,
            }

            #[derive(Debug, PartialEq, Serialize, Deserialize, Shape)]
            struct Last {
                #[serde(rename = "_id")]
                day: i32,
                last: $t,
                all: Vec<$t>,
            }

            fn date(millis: i64) -> $t {
                ($from_millis)(millis)
            }

            fn event(id: i64) -> Event {
                Event {
                    _id: id,
                    at: date(AT + id * HOUR),
                    ended: None,
                    history: vec![date(AT), date(AT + id)],
                }
            }

            #[tokio::test]
            async fn are_stored_as_bson_dates_and_used_by_every_operator() {
                let env = Env::open().await;
                let events = env.collection::<Event>();
                events.insert_many(&[event(1), event(2), event(3)]).await.unwrap();

                let raw = events.driver().clone_with_type::<marula::bson::Document>().find_one(doc! { "_id": 1 }).await.unwrap().unwrap();
                let stored = |millis| Bson::from(DateTime::from_millis(millis));
                assert_eq!(
                    raw,
                    doc! {
                        "_id": 1_i64, "at": stored(AT + HOUR), "ended": null, "history": [stored(AT), stored(AT + 1)],
                    }
                );

                assert_eq!(events.find_by_id(2).await.unwrap(), Some(event(2)));
                let two = date(AT + 2 * HOUR);
                let after = events.find(|e| e.at().gt(two.clone())).await.unwrap();
                assert_eq!(after, [event(3)]);
                let of_bson = events.find(|e| e.at().lt(DateTime::from_millis(AT + 2 * HOUR))).await.unwrap();
                assert_eq!(of_bson, [event(1)]);
                let with = events.count(|e| e.history().contains(date(AT + 3))).await.unwrap();
                assert_eq!(with, 1);

                events
                    .update_one(|e| e._id().eq(1), |e| (e.ended().set(date(AT)), e.history().push(date(AT + 9))))
                    .await
                    .unwrap();
                let changed = events.find_by_id(1).required().await.unwrap();
                assert_eq!(changed.ended, Some(date(AT)));
                assert_eq!(changed.history.last(), Some(&date(AT + 9)));
                events.update_one(|e| e._id().eq(2), |e| e.ended().current_date()).await.unwrap();
                assert!(events.find_by_id(2).required().await.unwrap().ended.is_some());

                let mut distinct = events.distinct(|e| e.at(), |e| e._id().gt(1)).await.unwrap();
                distinct.sort();
                assert_eq!(distinct, [event(2).at, event(3).at]);

                let times = events.find(|e| e._id().eq(3)).select::<Times>().one().await.unwrap();
                assert_eq!(times, Times { at: event(3).at, year: 2024 });

                let page = events.find_all().keyset(|e| (e.at().asc(), e._id().asc()), None, 2).await.unwrap();
                let next = page.next.clone();
                let rest = events
                    .find_all()
                    .keyset(|e| (e.at().asc(), e._id().asc()), next.as_deref(), 2)
                    .await
                    .unwrap();
                assert_eq!(rest.items, [event(3)]);

                let last = events
                    .aggregate()
                    .match_expr(|e| gt(e.at(), date(AT)) & gt(now(), e.at()))
                    .group(|e| LastGroup {
                        day: expr(day_of_year(e.at())),
                        last: marula::expr::max(e.at()),
                        all: marula::expr::push(e.at()),
                    })
                    .all()
                    .await
                    .unwrap();
                assert_eq!(last.len(), 1);
                assert_eq!((last[0].day, &last[0].last, last[0].all.len()), (2, &event(3).at, 3));

                let by_time = events.load_by(|e| e.at(), [date(AT + HOUR)]).await.unwrap();
                assert_eq!(by_time[&date(AT + HOUR)].len(), 1);
                env.close().await;
            }

            #[test]
            fn are_expressions() {
                let old = Pipeline::<Event>::new()
                    .match_expr(|e| gt(date_diff(e.at(), now(), marula::expr::Unit::Day), 30_i64));
                assert!(old.to_string().contains(r#""startDate": "$at""#), "{old}");
            }
        }
    )* };
}

dates! {
    chrono_utc: chrono::DateTime<chrono::Utc>, |ms| chrono::DateTime::from_timestamp_millis(ms).unwrap();
    time_offset: time::OffsetDateTime,
        |ms: i64| time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000).unwrap();
    jiff_timestamp: jiff::Timestamp, |ms| jiff::Timestamp::from_millisecond(ms).unwrap();
    system_time: std::time::SystemTime,
        |ms: i64| std::time::UNIX_EPOCH + std::time::Duration::from_millis(ms.unsigned_abs());
}

macro_rules! days {
    ($($name:ident: $t:ty, $from_ymd:expr;)*) => { $(
        mod $name {
            use super::*;

            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
            #[document(collection = "holidays")]
            struct Holiday {
                _id: i64,
                day: $t,
            }

            #[tokio::test]
            async fn are_stored_as_midnight_in_utc() {
                let env = Env::open().await;
                let holidays = env.collection::<Holiday>();
                let holiday = Holiday { _id: 1, day: ($from_ymd)(2024, 2, 29) };
                holidays.insert_one(&holiday).await.unwrap();
                let midnight = DateTime::parse_rfc3339_str("2024-02-29T00:00:00Z").unwrap();
                assert_eq!(holidays.find(|h| h.day().eq(midnight)).await.unwrap(), std::slice::from_ref(&holiday));
                assert_eq!(holidays.find(|h| h.day().gte(holiday.day)).await.unwrap(), [holiday]);

                let noon = DateTime::from_millis(midnight.timestamp_millis() + 12 * HOUR);
                holidays.driver().clone_with_type::<marula::bson::Document>().insert_one(&doc! { "_id": 2_i64, "day": noon }).await.unwrap();
                let error = holidays.find_by_id(2).await.unwrap_err();
                assert!(error.to_string().contains("day") && error.to_string().contains("not at midnight"), "{error}");
                env.close().await;
            }
        }
    )* };
}

days! {
    chrono_day: chrono::NaiveDate, |y, m, d| chrono::NaiveDate::from_ymd_opt(y, m, d).unwrap();
    time_day: time::Date,
        |y, m: u8, d| time::Date::from_calendar_date(y, time::Month::try_from(m).unwrap(), d).unwrap();
    jiff_day: jiff::civil::Date, jiff::civil::date;
}
