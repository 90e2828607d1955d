//! Operators of dates. Dates are in UTC unless a time zone is given.

use crate::{
    base::bson::{Bson, DateTime, doc},
    term::expr::{Expr, IntoExpr, Operand, call, named},
};

/// Types of dates: [`DateTime`], and `Option`s of it.
#[diagnostic::on_unimplemented(
    message = "this needs a date, found `{Self}`",
    label = "`{Self}` is not a date"
)]
pub trait DatePart {
    /// `T`, in an `Option` if the date is in one.
    type With<T>;
}

impl DatePart for DateTime {
    type With<T> = T;
}

impl<D: DatePart> DatePart for Option<D> {
    type With<T> = Option<T>;
}

macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident $operator:literal;)*) => { $(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("# use marula::expr::{now, ", stringify!($name), "};")]
        #[doc = concat!("let part = ", stringify!($name), "(now::<()>());")]
        #[doc = concat!("assert_eq!(part.to_string(), r#\"{\"", $operator, "\": \"$$NOW\"}\"#);")]
        /// ```
        #[doc(alias = $operator)]
        pub fn $name<R, A: Operand<R, Value: DatePart>>(date: A) -> Expr<R, <A::Value as DatePart>::With<i32>> {
            call($operator, [date.into_operand().into_raw()])
        }
    )* };
}
parts! {
    /// The year of a date (`$year`).
    year "$year";
    /// The month of a date, from 1 to 12 (`$month`).
    month "$month";
    /// The day of the month, from 1 to 31 (`$dayOfMonth`).
    day_of_month "$dayOfMonth";
    /// The day of the week, from 1 (Sunday) to 7 (`$dayOfWeek`).
    day_of_week "$dayOfWeek";
    /// The day of the year, from 1 to 366 (`$dayOfYear`).
    day_of_year "$dayOfYear";
    /// The week of the year, from 0 to 53; weeks start on Sunday, and days before the first Sunday are in week 0
    /// (`$week`).
    week "$week";
    /// The week of the year in ISO 8601, from 1 to 53; weeks start on Monday (`$isoWeek`).
    iso_week "$isoWeek";
    /// The year of the week in ISO 8601 (`$isoWeekYear`), which differs from [`year`] on some days around the new year.
    iso_week_year "$isoWeekYear";
    /// The day of the week in ISO 8601, from 1 (Monday) to 7 (`$isoDayOfWeek`).
    iso_day_of_week "$isoDayOfWeek";
    /// The hour, from 0 to 23 (`$hour`).
    hour "$hour";
    /// The minute, from 0 to 59 (`$minute`).
    minute "$minute";
    /// The second, from 0 to 60 (`$second`).
    second "$second";
    /// The millisecond, from 0 to 999 (`$millisecond`).
    millisecond "$millisecond";
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Calendar years.
    Year,
    /// Three calendar months.
    Quarter,
    /// Calendar months.
    Month,
    /// Weeks, which start on Sunday.
    Week,
    /// Days.
    Day,
    /// Hours.
    Hour,
    /// Minutes.
    Minute,
    /// Seconds.
    Second,
    /// Milliseconds.
    Millisecond,
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Year => "year",
            Unit::Quarter => "quarter",
            Unit::Month => "month",
            Unit::Week => "week",
            Unit::Day => "day",
            Unit::Hour => "hour",
            Unit::Minute => "minute",
            Unit::Second => "second",
            Unit::Millisecond => "millisecond",
        }
    }
}

fn unit(unit: Unit) -> Option<crate::term::expr::Raw> {
    Some(Ok(Bson::from(unit.name())))
}

/// The start of the unit of time that contains a date (`$dateTrunc`, MongoDB 5.0+).
///
/// ```
/// # use marula::expr::{Unit, date_trunc, now};
/// let today = date_trunc(now::<()>(), Unit::Day);
/// assert_eq!(today.to_string(), r#"{"$dateTrunc": {"date": "$$NOW", "unit": "day"}}"#);
/// ```
#[doc(alias = "$dateTrunc")]
pub fn date_trunc<R, A: Operand<R, Value: DatePart>>(date: A, to: Unit) -> Expr<R, A::Value> {
    named(
        "$dateTrunc",
        [("date", Some(date.into_operand().into_raw())), ("unit", unit(to))],
    )
}

/// The same as [`date_trunc`], in a time zone: an Olson identifier such as `Europe/Zurich`, or an
/// offset such as `+02:00`.
///
/// ```
/// # use marula::expr::{Unit, date_trunc_in, now};
/// let today = date_trunc_in(now::<()>(), Unit::Day, "Europe/Zurich");
/// assert_eq!(
///     today.to_string(),
///     r#"{"$dateTrunc": {"date": "$$NOW", "unit": "day", "timezone": "Europe/Zurich"}}"#
/// );
/// ```
pub fn date_trunc_in<R, A: Operand<R, Value: DatePart>>(
    date: A,
    to: Unit,
    time_zone: &str,
) -> Expr<R, A::Value> {
    named(
        "$dateTrunc",
        [
            ("date", Some(date.into_operand().into_raw())),
            ("unit", unit(to)),
            (
                "timezone",
                Some(crate::term::expr::literal(Ok(Bson::from(time_zone)))),
            ),
        ],
    )
}

/// A date plus a number of units, which can be negative (`$dateAdd`, MongoDB 5.0+).
///
/// ```
/// # use marula::expr::{Unit, date_add, now};
/// let yesterday = date_add(now::<()>(), Unit::Day, -1);
/// assert_eq!(
///     yesterday.to_string(),
///     r#"{"$dateAdd": {"startDate": "$$NOW", "unit": "day", "amount": -1}}"#
/// );
/// ```
#[doc(alias = "$dateAdd")]
pub fn date_add<R, A: Operand<R, Value: DatePart>>(
    date: A,
    units: Unit,
    amount: impl IntoExpr<R, i64>,
) -> Expr<R, A::Value> {
    named(
        "$dateAdd",
        [
            ("startDate", Some(date.into_operand().into_raw())),
            ("unit", unit(units)),
            ("amount", Some(amount.into_expr().into_raw())),
        ],
    )
}

/// A date minus a number of units, which can be negative (`$dateSubtract`, MongoDB 5.0+).
///
/// ```
/// # use marula::expr::{Unit, date_subtract, now};
/// let yesterday = date_subtract(now::<()>(), Unit::Day, 1);
/// assert_eq!(
///     yesterday.to_string(),
///     r#"{"$dateSubtract": {"startDate": "$$NOW", "unit": "day", "amount": 1}}"#
/// );
/// ```
#[doc(alias = "$dateSubtract")]
pub fn date_subtract<R, A: Operand<R, Value: DatePart>>(
    date: A,
    units: Unit,
    amount: impl IntoExpr<R, i64>,
) -> Expr<R, A::Value> {
    named(
        "$dateSubtract",
        [
            ("startDate", Some(date.into_operand().into_raw())),
            ("unit", unit(units)),
            ("amount", Some(amount.into_expr().into_raw())),
        ],
    )
}

/// The number of unit boundaries between two dates, negative if `end` is earlier (`$dateDiff`,
/// MongoDB 5.0+).
///
/// ```
/// # use marula::expr::{Unit, date_diff, lit, now};
/// # use marula::bson::DateTime;
/// let age = date_diff(lit::<(), DateTime>(DateTime::from_millis(0)), now(), Unit::Day);
/// assert_eq!(
///     age.to_string(),
///     concat!(
///         r#"{"$dateDiff": {"startDate": {"$date": "1970-01-01T00:00:00Z"}, "endDate": "$$NOW", "#,
///         r#""unit": "day"}}"#
///     )
/// );
/// ```
#[doc(alias = "$dateDiff")]
pub fn date_diff<R, A: Operand<R, Value: DatePart>>(
    start: A,
    end: impl IntoExpr<R, DateTime>,
    units: Unit,
) -> Expr<R, <A::Value as DatePart>::With<i64>> {
    named(
        "$dateDiff",
        [
            ("startDate", Some(start.into_operand().into_raw())),
            ("endDate", Some(end.into_expr().into_raw())),
            ("unit", unit(units)),
        ],
    )
}

/// A date as text, by a format such as `%Y-%m-%d` (`$dateToString`).
///
/// ```
/// # use marula::expr::{format_date, now};
/// let day = format_date(now::<()>(), "%Y-%m-%d");
/// assert_eq!(
///     day.to_string(),
///     r#"{"$dateToString": {"date": "$$NOW", "format": "%Y-%m-%d"}}"#
/// );
/// ```
#[doc(alias = "$dateToString")]
pub fn format_date<R, A: Operand<R, Value: DatePart>>(
    date: A,
    format: &str,
) -> Expr<R, <A::Value as DatePart>::With<String>> {
    named(
        "$dateToString",
        [
            ("date", Some(date.into_operand().into_raw())),
            ("format", Some(crate::term::expr::literal(Ok(Bson::from(format))))),
        ],
    )
}

/// The time of the server at the start of the aggregation (`$$NOW`).
///
/// ```
/// assert_eq!(marula::expr::now::<()>().to_string(), r#""$$NOW""#);
/// ```
pub fn now<R>() -> Expr<R, DateTime> {
    Expr::unchecked("$$NOW")
}

/// The time of the server when the expression is computed, another one for each document (`$currentDate`, MongoDB 8.2+);
/// see [`now`].
///
/// ```
/// assert_eq!(marula::expr::current_date::<()>().to_string(), r#"{"$currentDate": {}}"#);
/// ```
#[doc(alias = "$currentDate")]
pub fn current_date<R>() -> Expr<R, DateTime> {
    Expr::unchecked(doc! { "$currentDate": {} })
}
