//! Dates from their parts and from text, and the parts of times.

use serde::{Deserialize, Serialize};

use crate::{
    base::bson::{Bson, DateTime, DecodeError, Timestamp},
    path::{
        AsPath, Inner, Mode, Path, RawPath,
        field::{DerivedDocument, Field},
    },
    term::expr::{Expr, IntoExpr, Raw, call, literal, named},
    values::{
        codec::{Decode, Value, read},
        record::result_types,
    },
};

result_types! {
    /// The parts of a date: the result of [`date_to_parts`].
    [Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize] DateParts<> DatePartsFields {
        /// The year.
        year: i32;
        /// The month, from 1 to 12.
        month: i32;
        /// The day of the month, from 1 to 31.
        day: i32;
        /// The hour, from 0 to 23.
        hour: i32;
        /// The minute, from 0 to 59.
        minute: i32;
        /// The second, from 0 to 60.
        second: i32;
        /// The millisecond, from 0 to 999.
        millisecond: i32;
    }
}

/// Midnight in UTC of a day (`$dateFromParts`). A month or a day outside of its range is counted on: month 13 is January
/// of the next year.
///
/// ```
/// # use marula::expr::{date_of, lit};
/// let day = date_of(lit::<(), i32>(2026), 11, 30);
/// assert_eq!(day.to_string(), r#"{"$dateFromParts": {"year": 2026, "month": 11, "day": 30}}"#);
/// ```
#[doc(alias = "$dateFromParts")]
pub fn date_of<R>(
    year: impl IntoExpr<R, i32>,
    month: impl IntoExpr<R, i32>,
    day: impl IntoExpr<R, i32>,
) -> Expr<R, DateTime> {
    named(
        "$dateFromParts",
        [
            ("year", Some(year.into_expr().into_raw())),
            ("month", Some(month.into_expr().into_raw())),
            ("day", Some(day.into_expr().into_raw())),
        ],
    )
}

/// The date of parts in UTC (`$dateFromParts`). A part outside of its range is counted on, as by [`date_of`].
///
/// ```
/// # use marula::expr::{date_from_parts, date_to_parts, now};
/// let same = date_from_parts(date_to_parts(now::<()>()));
/// assert!(same.to_string().starts_with(r#"{"$let": {"vars": {"v0": {"$dateToParts": "#));
/// ```
#[doc(alias = "$dateFromParts")]
pub fn date_from_parts<R>(parts: impl IntoExpr<R, DateParts>) -> Expr<R, DateTime> {
    super::let_in(parts.into_expr(), |parts| {
        let part = |name: &'static str| {
            let value = parts.clone().into_raw().map(|variable| match variable {
                Bson::String(variable) => Bson::from(format!("{variable}.{name}")),
                other => other,
            });
            (name, Some(value))
        };
        named::<R, DateTime, 7>(
            "$dateFromParts",
            ["year", "month", "day", "hour", "minute", "second", "millisecond"].map(part),
        )
    })
}

/// Midnight in UTC of a day of a week in ISO 8601 (`$dateFromParts`): day 1 is Monday.
///
/// ```
/// # use marula::expr::{date_of_iso_week, lit};
/// let monday = date_of_iso_week(lit::<(), i32>(2026), 49, 1);
/// assert_eq!(
///     monday.to_string(),
///     r#"{"$dateFromParts": {"isoWeekYear": 2026, "isoWeek": 49, "isoDayOfWeek": 1}}"#
/// );
/// ```
#[doc(alias = "$dateFromParts")]
pub fn date_of_iso_week<R>(
    year: impl IntoExpr<R, i32>,
    week: impl IntoExpr<R, i32>,
    day: impl IntoExpr<R, i32>,
) -> Expr<R, DateTime> {
    named(
        "$dateFromParts",
        [
            ("isoWeekYear", Some(year.into_expr().into_raw())),
            ("isoWeek", Some(week.into_expr().into_raw())),
            ("isoDayOfWeek", Some(day.into_expr().into_raw())),
        ],
    )
}

/// The parts of a date in UTC (`$dateToParts`).
///
/// ```
/// # use marula::expr::{date_to_parts, now};
/// assert_eq!(date_to_parts(now::<()>()).to_string(), r#"{"$dateToParts": {"date": "$$NOW"}}"#);
/// ```
#[doc(alias = "$dateToParts")]
pub fn date_to_parts<R>(date: impl IntoExpr<R, DateTime>) -> Expr<R, DateParts> {
    named("$dateToParts", [("date", Some(date.into_expr().into_raw()))])
}

fn text(text: &str) -> Raw {
    literal(Ok(Bson::from(text)))
}

/// The date that a string contains (`$dateFromString`), by a format such as `%Y-%m-%d`, or in ISO 8601 without a
/// format. Fails on the server for another string; see [`try_parse_date`].
///
/// ```
/// # use marula::expr::{lit, parse_date};
/// let day = parse_date(lit::<(), String>("30.11.2026"), Some("%d.%m.%Y"));
/// assert_eq!(
///     day.to_string(),
///     r#"{"$dateFromString": {"dateString": "30.11.2026", "format": "%d.%m.%Y"}}"#
/// );
/// ```
#[doc(alias = "$dateFromString")]
pub fn parse_date<R>(date: impl IntoExpr<R, String>, format: Option<&str>) -> Expr<R, DateTime> {
    named(
        "$dateFromString",
        [
            ("dateString", Some(date.into_expr().into_raw())),
            ("format", format.map(text)),
        ],
    )
}

/// The same as [`parse_date`]; `None` if the string has another form, or is null or missing.
///
/// ```
/// # use marula::expr::{lit, try_parse_date};
/// let day = try_parse_date(lit::<(), String>("30.11.2026"), None);
/// assert_eq!(
///     day.to_string(),
///     r#"{"$dateFromString": {"dateString": "30.11.2026", "onError": null, "onNull": null}}"#
/// );
/// ```
#[doc(alias = "$dateFromString")]
pub fn try_parse_date<R>(
    date: impl IntoExpr<R, Option<String>>,
    format: Option<&str>,
) -> Expr<R, Option<DateTime>> {
    named(
        "$dateFromString",
        [
            ("dateString", Some(date.into_expr().into_raw())),
            ("format", format.map(text)),
            ("onError", Some(Ok(Bson::Null))),
            ("onNull", Some(Ok(Bson::Null))),
        ],
    )
}

macro_rules! timestamps {
    ($($(#[$doc:meta])* $name:ident $operator:literal;)*) => { $(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("# use marula::{bson::Timestamp, expr::{lit, ", stringify!($name), "}};")]
        /// let time = Timestamp { time: 5, increment: 1 };
        #[doc = concat!("let part = ", stringify!($name), "(lit::<(), Timestamp>(time));")]
        #[doc = concat!("assert!(part.to_string().starts_with(r#\"{\"", $operator, "\": \"#));")]
        /// ```
        #[doc(alias = $operator)]
        pub fn $name<R>(timestamp: impl IntoExpr<R, Timestamp>) -> Expr<R, i64> {
            call($operator, [timestamp.into_expr().into_raw()])
        }
    )* };
}
timestamps! {
    /// The seconds of a timestamp since 1970 (`$tsSecond`, MongoDB 5.1+).
    timestamp_seconds "$tsSecond";
    /// The increment of a timestamp within its second (`$tsIncrement`, MongoDB 5.1+).
    timestamp_increment "$tsIncrement";
}
