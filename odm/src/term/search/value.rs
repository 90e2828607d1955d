//! Operators that compare the values of fields.

use std::time::Duration;

use crate::{
    base::{
        bson::{Bson, DateTime, doc},
        error::Error,
    },
    path::{AsPath, Types, marker::Readable},
    term::search::{Operator, Searchable, invalid, kinds, name_of, value_of},
    values::{
        geo::{Geometry, Point},
        search_field::{Dates, Filters, Numbers, Ranges, Shapes},
        value::IntoValue,
    },
};

kinds! {
    /// The kind of [`equals`].
    EqualsOperator;
    /// The kind of [`is_in`].
    InOperator;
    /// The kind of [`exists`].
    ExistsOperator;
    /// The kind of [`near`], [`near_date`] and [`near_point`].
    NearOperator;
}

/// The kind of [`range`] over a field of type `T`.
#[derive(Debug)]
pub struct RangeOperator<T>(Types<T>);

/// Finds documents whose field has a value: a Boolean, a date, a number, an ObjectId, a UUID, a string that is indexed as `token`,
/// or null.
///
/// ```
/// # use marula_guide::*;
/// use marula::search;
/// let o = Order::fields();
/// assert_eq!(
///     search::equals(o.status(), Status::Open).to_string(),
///     r#"{"equals": {"path": "status", "value": "open"}}"#
/// );
/// assert_eq!(
///     search::equals(o.tags().any(), "new").to_string(),
///     r#"{"equals": {"path": "tags", "value": "new"}}"#
/// );
/// ```
pub fn equals<R, A>(path: A, value: impl IntoValue<A::Value>) -> Operator<R, EqualsOperator>
where
    A: AsPath<Root = R, Mode: Readable, Value: Searchable<Filters>>,
{
    let argument = || {
        let path = name_of(path)?;
        let value = value_of(&path, value.into_value())?;
        Ok(doc! { "path": path, "value": value })
    };
    Operator::new("equals", argument())
}

/// Finds documents whose field has one of several values. An empty list is an error.
///
/// ```
/// # use marula_guide::*;
/// use marula::search;
/// assert_eq!(
///     search::is_in(Order::fields().customer(), [1, 2]).to_string(),
///     r#"{"in": {"path": "customer", "value": [1, 2]}}"#
/// );
/// ```
#[doc(alias = "in")]
pub fn is_in<R, A, V>(path: A, values: impl IntoIterator<Item = V>) -> Operator<R, InOperator>
where
    A: AsPath<Root = R, Mode: Readable, Value: Searchable<Filters>>,
    V: IntoValue<A::Value>,
{
    let argument = || {
        let path = name_of(path)?;
        let values = values
            .into_iter()
            .map(|value| value_of(&path, value.into_value()));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        if values.is_empty() {
            let name = path.as_str().unwrap_or_default();
            return Err(invalid(
                name,
                "the list of values is empty, which the server rejects",
            ));
        }
        Ok(doc! { "path": path, "value": values })
    };
    Operator::new("in", argument())
}

/// Finds documents that have the field.
///
/// ```
/// # use marula_guide::*;
/// use marula::search;
/// assert_eq!(search::exists(Order::fields().note()).to_string(), r#"{"exists": {"path": "note"}}"#);
/// ```
pub fn exists<R, A: AsPath<Root = R, Mode: Readable>>(path: A) -> Operator<R, ExistsOperator> {
    Operator::new("exists", name_of(path).map(|path| doc! { "path": path }))
}

/// Finds documents whose field is within limits, of which at least one must be given: a number, a date, an ObjectId, or a string
/// that is indexed as `token`.
///
/// ```
/// # use marula_guide::*;
/// use marula::search;
/// let found = search::range(Order::fields().total()).gte(100).lt(200);
/// assert_eq!(found.to_string(), r#"{"range": {"path": "total", "gte": 100, "lt": 200}}"#);
/// ```
pub fn range<R, A>(path: A) -> Operator<R, RangeOperator<A::Value>>
where
    A: AsPath<Root = R, Mode: Readable, Value: Searchable<Ranges>>,
{
    Operator::new("range", name_of(path).map(|path| doc! { "path": path }))
}

impl<R, T> Operator<R, RangeOperator<T>> {
    /// Greater than the value.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::range(Order::fields().total()).gt(100);
    /// assert!(found.to_string().contains(r#""gt": 100"#));
    /// ```
    pub fn gt(self, value: impl IntoValue<T>) -> Self {
        self.limit("gt", "gte", value)
    }

    /// Greater than or equal to the value.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::range(Order::fields().total()).gte(100);
    /// assert!(found.to_string().contains(r#""gte": 100"#));
    /// ```
    pub fn gte(self, value: impl IntoValue<T>) -> Self {
        self.limit("gte", "gt", value)
    }

    /// Less than the value.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::range(Order::fields().total()).lt(100);
    /// assert!(found.to_string().contains(r#""lt": 100"#));
    /// ```
    pub fn lt(self, value: impl IntoValue<T>) -> Self {
        self.limit("lt", "lte", value)
    }

    /// Less than or equal to the value.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let found = search::range(Order::fields().total()).lte(100);
    /// assert!(found.to_string().contains(r#""lte": 100"#));
    /// ```
    pub fn lte(self, value: impl IntoValue<T>) -> Self {
        self.limit("lte", "lt", value)
    }

    fn limit(self, name: &str, other: &str, value: impl IntoValue<T>) -> Self {
        if self.has(other) {
            return self.fail("a range has one lower and one upper limit: `gt` or `gte`, `lt` or `lte`");
        }
        let path = self
            .argument
            .as_ref()
            .ok()
            .and_then(|argument| argument.get("path"));
        let value = value_of(path.unwrap_or(&Bson::Null), value.into_value());
        match value {
            Ok(Bson::Null) => self.fail("a limit of a range cannot be null"),
            value => self.try_set(name, value),
        }
    }
}

const PIVOT: &str = "the pivot is the distance at which the score is one half: it must be greater than 0, and the origin finite";

fn near_argument<R, A: AsPath<Root = R>>(
    path: A,
    origin: Bson,
    pivot: Bson,
    is_valid: bool,
) -> Operator<R, NearOperator> {
    let argument = name_of(path).and_then(|path| {
        if is_valid {
            Ok(doc! { "path": path, "origin": origin, "pivot": pivot })
        } else {
            Err(invalid(path.as_str().unwrap_or_default(), PIVOT))
        }
    });
    Operator::new("near", argument)
}

/// Scores documents by the distance of a number from `origin`: 1 at the origin, one half at the distance `pivot`, which must be
/// greater than 0.
///
/// ```
/// # use marula_guide::*;
/// use marula::search;
/// let found = search::near(Order::fields().total(), 100, 25);
/// assert_eq!(
///     found.to_string(),
///     r#"{"near": {"path": "total", "origin": 100.0, "pivot": 25.0}}"#
/// );
/// ```
pub fn near<R, A>(path: A, origin: impl Into<f64>, pivot: impl Into<f64>) -> Operator<R, NearOperator>
where
    A: AsPath<Root = R, Mode: Readable, Value: Searchable<Numbers>>,
{
    let (origin, pivot) = (origin.into(), pivot.into());
    let is_valid = pivot > 0.0 && pivot.is_finite() && origin.is_finite();
    near_argument(path, origin.into(), pivot.into(), is_valid)
}

/// Scores documents by the distance of a date from `origin`: 1 at the origin, one half at the distance `pivot`, which is at least
/// one millisecond.
///
/// ```
/// # use marula_guide::*;
/// use marula::search;
/// let day = std::time::Duration::from_secs(24 * 60 * 60);
/// let found = search::near_date(Order::fields().created_at(), DateTime::from_millis(0), day);
/// assert!(found.to_string().contains(r#""pivot": 86400000"#));
/// ```
pub fn near_date<R, A>(
    path: A,
    origin: impl IntoValue<DateTime>,
    pivot: Duration,
) -> Operator<R, NearOperator>
where
    A: AsPath<Root = R, Mode: Readable, Value: Searchable<Dates>>,
{
    let pivot = i64::try_from(pivot.as_millis()).unwrap_or(i64::MAX);
    let name = path.raw().dotted().to_owned();
    match origin.into_value() {
        Ok(origin) => near_argument(path, origin, pivot.into(), pivot > 0),
        Err(error) => Operator::new("near", Err(Box::new(Error::encode(name, error)))),
    }
}

/// Scores documents by the distance of a point from `origin`: 1 at the origin, one half at the distance `pivot` in metres, which
/// must be greater than 0.
///
/// ```
/// # use marula_guide::*;
/// use marula::search;
/// let found = search::near_point(Store::fields().place(), geo::Point::new([8.5, 47.4]), 500);
/// assert!(found.to_string().contains(r#""pivot": 500.0"#));
/// ```
pub fn near_point<R, A>(path: A, origin: Point, pivot: impl Into<f64>) -> Operator<R, NearOperator>
where
    A: AsPath<Root = R, Mode: Readable, Value: Searchable<Shapes>>,
{
    let pivot = pivot.into();
    let origin = Geometry::Point(origin).into_document();
    near_argument(
        path,
        origin.into(),
        pivot.into(),
        pivot > 0.0 && pivot.is_finite(),
    )
}
