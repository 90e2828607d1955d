//! [`FilterNames`]: the filters that a request may select by name.

use std::fmt;
use std::sync::Arc;

use crate::{
    base::{
        bson::{Binary, BinarySubtype, Bson, DateTime, Decimal128, ObjectId},
        error::{Error, Result},
    },
    path::{AsPath, Path, marker::Readable, to_value_path},
    term::filter::{Filter, FilterOps},
    values::codec::{DecodeOwned, Encode, from_bson, to_bson},
};

/// Maximum number of conditions of a query string, and of values of one condition.
const MAXIMUM: usize = 100;

/// A comparison of a query string: `total[gte]=100`. A name without brackets is `eq`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FilterOperator {
    /// `name=value` and `name[eq]=value`: equal to the value.
    Equal,
    /// `name[ne]=value`: not equal to the value, or missing.
    NotEqual,
    /// `name[gt]=value`: greater.
    Greater,
    /// `name[gte]=value`: greater or equal.
    GreaterOrEqual,
    /// `name[lt]=value`: less.
    Less,
    /// `name[lte]=value`: less or equal.
    LessOrEqual,
    /// `name[in]=a,b`: one of the values. Text with a comma cannot be in the list.
    In,
    /// `name[nin]=a,b`: none of the values, or missing.
    NotIn,
    /// `name[prefix]=text`: text that starts with the text.
    StartsWith,
    /// `name[exists]=true`: the field is there and not null; `false`: it is missing or null.
    Exists,
}

impl FilterOperator {
    const ALL: [FilterOperator; 10] = [
        FilterOperator::Equal,
        FilterOperator::NotEqual,
        FilterOperator::Greater,
        FilterOperator::GreaterOrEqual,
        FilterOperator::Less,
        FilterOperator::LessOrEqual,
        FilterOperator::In,
        FilterOperator::NotIn,
        FilterOperator::StartsWith,
        FilterOperator::Exists,
    ];

    fn name(self) -> &'static str {
        match self {
            FilterOperator::Equal => "eq",
            FilterOperator::NotEqual => "ne",
            FilterOperator::Greater => "gt",
            FilterOperator::GreaterOrEqual => "gte",
            FilterOperator::Less => "lt",
            FilterOperator::LessOrEqual => "lte",
            FilterOperator::In => "in",
            FilterOperator::NotIn => "nin",
            FilterOperator::StartsWith => "prefix",
            FilterOperator::Exists => "exists",
        }
    }
}

/// An allow list of the filters that a request may select: names, each for a field and its comparisons. Other names and comparisons
/// are rejected, so that a request cannot filter by a field that is not exposed or without an index.
///
/// The values are text, which is read as the type of the field: a number, `true`, a date in RFC 3339, an id, the stored name of a
/// unit variant. A value is never read as an operator.
///
/// ```
/// # use marula_guide::*;
/// use marula::filter::{FilterNames, FilterOperator::*};
/// let o = Order::fields();
/// let names = FilterNames::new()
///     .allow("status", o.status(), [Equal, In])
///     .allow("total", o.total(), [GreaterOrEqual, Less])
///     .ignore("page");
/// let filter = names.parse("status=open&total[gte]=100&page=2")?;
/// assert_eq!(filter.to_string(), r#"{"status": {"$eq": "open"}, "total": {"$gte": 100}}"#);
/// assert!(matches!(names.parse("customer=1"), Err(Error::UnknownFilter { .. })));
/// # Ok::<(), Error>(())
/// ```
pub struct FilterNames<R> {
    fields: Vec<Allowed<R>>,
    ignored: Vec<String>,
}

struct Allowed<R> {
    name: String,
    operators: Arc<[FilterOperator]>,
    path: Path<R, Bson>,
    /// The stored form of a value from its text.
    value: fn(&str) -> Option<Bson>,
}

impl<R> Default for FilterNames<R> {
    fn default() -> Self {
        FilterNames {
            fields: Vec::new(),
            ignored: Vec::new(),
        }
    }
}

impl<R> Clone for FilterNames<R> {
    fn clone(&self) -> Self {
        let fields = self.fields.iter().map(|field| Allowed {
            name: field.name.clone(),
            operators: Arc::clone(&field.operators),
            path: field.path.clone(),
            value: field.value,
        });
        FilterNames {
            fields: fields.collect(),
            ignored: self.ignored.clone(),
        }
    }
}

impl<R> fmt::Debug for FilterNames<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilterNames")
            .field("allowed", &self.allowed())
            .finish()
    }
}

impl<R> FilterNames<R> {
    /// An empty list.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let names = marula::filter::FilterNames::<Order>::new();
    /// assert!(names.parse("").is_ok());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows comparisons of a field by a name. For the elements of an array use [`any`](crate::PathOps::any). If a name is added
    /// twice, the first one applies.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::filter::{FilterNames, FilterOperator::*};
    /// let names = FilterNames::new().allow("tag", Order::fields().tags().any(), [Equal]);
    /// assert_eq!(names.parse("tag=vip")?.to_string(), r#"{"tags": {"$eq": "vip"}}"#);
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "what an accessor returns is passed without `&`, as to sorts"
    )]
    pub fn allow<A>(
        mut self,
        name: impl Into<String>,
        field: A,
        operators: impl IntoIterator<Item = FilterOperator>,
    ) -> Self
    where
        A: AsPath<Root = R, Mode: Readable, Value: DecodeOwned + Encode>,
    {
        self.fields.push(Allowed {
            name: name.into(),
            operators: operators.into_iter().collect(),
            path: Path::from_raw(to_value_path(&field)),
            value: stored::<A::Value>,
        });
        self
    }

    /// A name that is not a filter, such as that of the sort or of the page. Default: such names are errors.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let names = marula::filter::FilterNames::<Order>::new().ignore("sort");
    /// assert!(names.parse("sort=-total").is_ok());
    /// ```
    #[must_use]
    pub fn ignore(mut self, name: impl Into<String>) -> Self {
        self.ignored.push(name.into());
        self
    }

    /// The filter of a query string, as in a URL after the `?`: all of its conditions. An empty one matches all documents.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// use marula::filter::{FilterNames, FilterOperator::*};
    /// let names = FilterNames::new().allow("total", Order::fields().total(), [GreaterOrEqual, Less]);
    /// let found = orders.filter(names.parse("total%5Bgte%5D=200&total[lt]=300")?).find().await?;
    /// assert_eq!(found.len(), 1);
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownFilter`] for a name or a comparison that is not allowed; [`Error::InvalidFilterValue`] for a value that is
    /// not of the type of the field, and for more than 100 conditions or values. They are errors of the client (400).
    pub fn parse(&self, query: &str) -> Result<Filter<R>> {
        self.parse_pairs(form_urlencoded::parse(query.as_bytes()))
    }

    /// The filter of the decoded pairs of a query string.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::filter::{FilterNames, FilterOperator::*};
    /// let names = FilterNames::new().allow("status", Order::fields().status(), [In]);
    /// let filter = names.parse_pairs([("status[in]", "open,paid")])?;
    /// assert_eq!(filter.to_string(), r#"{"status": {"$in": ["open", "paid"]}}"#);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`parse`](FilterNames::parse).
    pub fn parse_pairs<N: AsRef<str>, V: AsRef<str>>(
        &self,
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Filter<R>> {
        let mut filter = Filter::default();
        let mut number = 0;
        for (key, text) in pairs {
            let (key, text) = (key.as_ref(), text.as_ref());
            if self.ignored.iter().any(|ignored| ignored == key) {
                continue;
            }
            number += 1;
            if number > MAXIMUM {
                return Err(invalid(key, format!("more than {MAXIMUM} conditions")));
            }
            let (field, operator) = self.find(key)?;
            filter &= field.condition(operator, key, text)?;
        }
        Ok(filter)
    }

    /// The field and the comparison of `name` or `name[operator]`.
    fn find(&self, key: &str) -> Result<(&Allowed<R>, FilterOperator)> {
        let (name, operator) = match key.strip_suffix(']').and_then(|key| key.split_once('[')) {
            None => (key, Some(FilterOperator::Equal)),
            Some((name, operator)) => {
                let known = FilterOperator::ALL.into_iter();
                (name, known.into_iter().find(|known| known.name() == operator))
            }
        };
        let field = self.fields.iter().find(|field| field.name == name);
        match (field, operator) {
            (Some(field), Some(operator)) if field.operators.contains(&operator) => Ok((field, operator)),
            _ => Err(Error::UnknownFilter {
                name: key.chars().take(64).collect(),
                allowed: self.allowed(),
            }),
        }
    }

    /// The names, as a request writes them.
    fn allowed(&self) -> Vec<String> {
        let names = self.fields.iter().flat_map(|field| {
            field.operators.iter().map(|operator| match operator {
                FilterOperator::Equal => field.name.clone(),
                operator => format!("{}[{}]", field.name, operator.name()),
            })
        });
        names.collect()
    }
}

fn invalid(name: &str, reason: impl Into<String>) -> Error {
    Error::InvalidFilterValue {
        name: name.chars().take(64).collect(),
        reason: reason.into(),
    }
}

impl<R> Allowed<R> {
    fn condition(&self, operator: FilterOperator, key: &str, text: &str) -> Result<Filter<R>> {
        let path = &self.path;
        let one = || self.value(key, text);
        Ok(match operator {
            FilterOperator::Equal => path.eq(one()?),
            FilterOperator::NotEqual => path.ne(one()?),
            FilterOperator::Greater => path.gt(one()?),
            FilterOperator::GreaterOrEqual => path.gte(one()?),
            FilterOperator::Less => path.lt(one()?),
            FilterOperator::LessOrEqual => path.lte(one()?),
            FilterOperator::In => path.is_in(self.values(key, text)?),
            FilterOperator::NotIn => path.not_in(self.values(key, text)?),
            FilterOperator::StartsWith => match one()? {
                Bson::String(text) => path.retype::<String>().starts_with(&text),
                _ => return Err(invalid(key, "the field is not text")),
            },
            FilterOperator::Exists => match text {
                "true" => path.ne(Bson::Null),
                "false" => path.eq(Bson::Null),
                _ => return Err(invalid(key, "expected `true` or `false`")),
            },
        })
    }

    fn value(&self, key: &str, text: &str) -> Result<Bson> {
        (self.value)(text).ok_or_else(|| invalid(key, "it is not a value of the type of the field"))
    }

    fn values(&self, key: &str, text: &str) -> Result<Vec<Bson>> {
        let texts: Vec<&str> = text.split(',').take(MAXIMUM + 1).collect();
        if texts.len() > MAXIMUM {
            return Err(invalid(key, format!("more than {MAXIMUM} values")));
        }
        texts.into_iter().map(|text| self.value(key, text)).collect()
    }
}

/// The stored form of the value of a type from its text: the first form of the text that the type reads.
fn stored<T: DecodeOwned + Encode>(text: &str) -> Option<Bson> {
    let forms: [fn(&str) -> Option<Bson>; 8] = [
        |text| Some(Bson::String(text.to_owned())),
        |text| text.parse().ok().map(Bson::Int64),
        |text| text.parse().ok().map(Bson::Boolean),
        |text| {
            text.parse()
                .ok()
                .filter(|number: &f64| number.is_finite())
                .map(Bson::Double)
        },
        |text| text.parse::<Decimal128>().ok().map(Bson::Decimal128),
        |text| DateTime::parse_rfc3339_str(text).ok().map(Bson::DateTime),
        |text| ObjectId::parse_str(text).ok().map(Bson::ObjectId),
        |text| uuid::Uuid::try_parse(text).ok().map(uuid_form),
    ];
    let value = forms.iter().find_map(|form| from_bson::<T>(&form(text)?).ok())?;
    to_bson(&value).ok().filter(|value| !matches!(value, Bson::Null))
}

fn uuid_form(uuid: uuid::Uuid) -> Bson {
    Bson::Binary(Binary {
        subtype: BinarySubtype::Uuid,
        bytes: uuid.as_bytes().to_vec(),
    })
}
