//! Conversion of dates from and to strings and parts.

use super::{at, error, eval};
use bson::{Bson, Document, doc};

fn parsed(text: &str, format: &str) -> Bson {
    eval(
        doc! {"$dateFromString": {"dateString": text, "format": format, "onError": "bad"}},
        doc! {},
    )
}

#[test]
fn date_strings_need_at_least_a_month() {
    let read = |text: &str| {
        eval(
            doc! {"$dateFromString": {"dateString": text, "onError": "bad"}},
            doc! {},
        )
    };
    assert_eq!(read("2017-05"), at("2017-05-01T00:00:00Z"));
    assert_eq!(
        read("2017-05-06T07:08:09.1234+01:00"),
        at("2017-05-06T06:08:09.123Z")
    );
    assert_eq!(read("2017"), "bad".into());
    assert_eq!(read("20170506"), at("2017-05-06T00:00:00Z"));
    assert_eq!(error(doc! {"$dateFromString": {"dateString": "2017"}}), 241);
    // The server parses this date; it must not be reported as a conversion failure.
    assert_eq!(
        error(doc! {"$dateFromString": {"dateString": "July 4, 2017", "onError": "bad"}}),
        238
    );
    assert_eq!(error(doc! {"$toDate": "7/4/2017"}), 238);
    assert_eq!(error(doc! {"$toDate": "x"}), 241);
}

#[test]
fn time_zone_is_given_at_most_once() {
    let read = |text: &str| {
        eval(
            doc! {"$dateFromString": {"dateString": text, "timezone": "+02:00", "onError": "bad"}},
            doc! {},
        )
    };
    assert_eq!(read("2017-05-06T07:00:00"), at("2017-05-06T05:00:00Z"));
    assert_eq!(read("2017-05-06T07:00:00Z"), "bad".into());
}

#[test]
fn strings_are_parsed_by_format() {
    assert_eq!(parsed("06/05/2017", "%d/%m/%Y"), at("2017-05-06T00:00:00Z"));
    assert_eq!(
        parsed("2017-May-06 07:08:09.5 +0100", "%Y-%b-%d %H:%M:%S.%L %z"),
        at("2017-05-06T06:08:09.500Z")
    );
    assert_eq!(parsed("6 december 2017", "%d %B %Y"), at("2017-12-06T00:00:00Z"));
    assert_eq!(parsed("2017-060", "%Y-%j"), at("2017-03-01T00:00:00Z"));
    assert_eq!(parsed("2020-W53-7", "%G-W%V-%u"), at("2021-01-03T00:00:00Z"));
    assert_eq!(
        parsed("2017-05-06T07 -90 %", "%Y-%m-%dT%H %Z %%"),
        at("2017-05-06T08:30:00Z")
    );
    for (text, format) in [
        ("2017-05-06x", "%Y-%m-%d"),
        ("2017-05", "%Y-%m"),
        ("2017-02-30", "%Y-%m-%d"),
        ("x", "%Y"),
        ("07:08", "%H:%M"),
    ] {
        assert_eq!(parsed(text, format), "bad".into(), "{text}");
    }
    let malformed =
        |format: Bson| error(doc! {"$dateFromString": {"dateString": "2017-05-06", "format": format}});
    assert_eq!(malformed("%q".into()), 18536);
    assert_eq!(malformed("%".into()), 18535);
    assert_eq!(malformed(5.into()), 40684);
    assert_eq!(
        eval(
            doc! {"$dateFromString": {"dateString": null, "format": "%Y", "onNull": 1}},
            doc! {}
        ),
        1.into()
    );
}

#[test]
fn week_date_parts() {
    let document = doc! {"d": at("2021-01-03T04:05:06.007Z")};
    let on = |expression: Document| eval(expression, document.clone());
    let parts = on(doc! {"$dateToParts": {"date": "$d", "iso8601": true}});
    assert_eq!(
        parts,
        doc! {"isoWeekYear": 2020, "isoWeek": 53, "isoDayOfWeek": 7, "hour": 4, "minute": 5, "second": 6, "millisecond": 7}
            .into()
    );
    assert_eq!(
        on(doc! {"$dateFromParts": {"isoWeekYear": 2020, "isoWeek": 53, "isoDayOfWeek": 7, "hour": 4}}),
        at("2021-01-03T04:00:00Z")
    );
    assert_eq!(
        on(doc! {"$dateFromParts": {"isoWeekYear": 2021}}),
        at("2021-01-04T00:00:00Z")
    );
    assert_eq!(
        on(doc! {"$dateFromParts": {"year": 2021, "timezone": null}}),
        Bson::Null
    );
    assert_eq!(
        error(doc! {"$dateToParts": {"date": at("2021-01-03T00:00:00Z"), "iso8601": 1}}),
        40521
    );
    assert_eq!(error(doc! {"$dateFromParts": {"year": 1, "isoWeek": 1}}), 40489);
    assert_eq!(error(doc! {"$dateFromParts": {"month": 1}}), 40516);
    assert_eq!(error(doc! {"$dateFromParts": {"year": 0}}), 40523);
    assert_eq!(error(doc! {"$dateFromParts": 1}), 40519);
}

#[test]
fn days_of_named_zones_can_have_23_hours() {
    if let Err(error) = crate::value::zone::Zone::parse("America/New_York") {
        // The system has no time zone database.
        assert_eq!(error.code, 238);
        return;
    }
    // Clocks change from 2:00 to 3:00 on 2026-03-08.
    let document = doc! {"d": at("2026-03-07T17:00:00Z")};
    let on = |expression: Document| eval(expression, document.clone());
    let zone = "America/New_York";
    assert_eq!(on(doc! {"$hour": {"date": "$d", "timezone": zone}}), 12.into());
    let add = |unit: &str, amount: i32| {
        on(doc! {"$dateAdd": {"startDate": "$d", "unit": unit, "amount": amount, "timezone": zone}})
    };
    assert_eq!(add("day", 1), at("2026-03-08T16:00:00Z"));
    assert_eq!(add("hour", 24), at("2026-03-08T17:00:00Z"));
    assert_eq!(add("month", 1), at("2026-04-07T16:00:00Z"));
    let truncated =
        |unit: &str| on(doc! {"$dateTrunc": {"date": add("month", 1), "unit": unit, "timezone": zone}});
    assert_eq!(truncated("day"), at("2026-04-07T04:00:00Z"));
    assert_eq!(truncated("year"), at("2026-01-01T05:00:00Z"));
    assert_eq!(truncated("hour"), at("2026-04-07T16:00:00Z"));
    assert_eq!(
        on(
            doc! {"$dateDiff": {"startDate": "$d", "endDate": at("2026-03-08T04:30:00Z"), "unit": "day", "timezone": zone}}
        ),
        0_i64.into()
    );
    assert_eq!(
        on(doc! {"$dateToString": {"date": "$d", "timezone": zone}}),
        "2026-03-07T12:00:00.000".into()
    );
    assert_eq!(
        on(doc! {"$dateToString": {"date": "$d", "timezone": zone, "format": "%H:%M %z %Z"}}),
        "12:00 -0500 -300".into()
    );
    assert_eq!(
        on(doc! {"$dateFromString": {"dateString": "2026-07-01T12:00:00", "timezone": zone}}),
        at("2026-07-01T16:00:00Z")
    );
    assert_eq!(
        on(doc! {"$dateFromParts": {"year": 2026, "month": 7, "hour": 12, "timezone": zone}}),
        at("2026-07-01T16:00:00Z")
    );
    assert_eq!(
        error(doc! {"$hour": {"date": at("2026-01-01T00:00:00Z"), "timezone": "Nowhere/Else"}}),
        40485
    );
}

#[test]
fn extreme_dates_do_not_overflow() {
    let first = Bson::DateTime(bson::DateTime::from_millis(i64::MIN));
    for unit in ["year", "week", "day", "hour"] {
        let trunc = doc! {"$dateTrunc": {"date": first.clone(), "unit": unit, "binSize": 1_000_000}};
        assert_eq!(error(trunc), 5_166_406, "{unit}");
    }
    let week = doc! {"$dateFromParts": {"isoWeekYear": 2020, "isoWeek": i64::MAX / 7}};
    assert_eq!(error(week), 31034);
    let days = doc! {"$dateFromParts": {"isoWeekYear": 2020, "isoDayOfWeek": i64::MAX}};
    assert_eq!(error(days), 31034);
}

#[test]
fn parts_of_timestamps() {
    let stamp = Bson::Timestamp(bson::Timestamp {
        time: 1_622_731_060,
        increment: 7,
    });
    let document = doc! { "t": stamp };
    assert_eq!(
        eval(doc! { "$tsSecond": "$t" }, document.clone()),
        Bson::Int64(1_622_731_060)
    );
    assert_eq!(eval(doc! { "$tsIncrement": "$t" }, document), Bson::Int64(7));
    assert_eq!(eval(doc! { "$tsSecond": null }, doc! {}), Bson::Null);
    assert_eq!(error(doc! { "$tsSecond": 1 }), 5_687_301);
    assert_eq!(error(doc! { "$tsIncrement": "x" }), 5_687_302);
}

#[test]
fn sigmoids() {
    assert_eq!(eval(doc! { "$sigmoid": 0 }, doc! {}), Bson::Double(0.5));
    assert_eq!(eval(doc! { "$sigmoid": "$none" }, doc! {}), Bson::Null);
}
