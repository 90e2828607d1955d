//! Declared collections: the builder behind `#[document(capped(…))]` and the other attributes for
//! options of `create`.

use crate::{
    base::bson::{Bson, Document, doc},
    path::{
        AsPath,
        marker::{ClusterTime, IndexKey, Readable, SeriesTime},
    },
};

/// The options that a model declares for its collection: those of the server's command `create`.
///
/// The derive makes it from attributes. Options that are not declared are not compared with those of
/// an existing collection.
///
/// ```
/// # use marula::{Document, prelude::*, schema::{CollectionDeclaration, TimeSeries, Granularity}};
/// # #[derive(Document)]
/// # #[document(collection = "readings")]
/// # struct Reading { _id: i64, at: marula::bson::DateTime, sensor: String }
/// let r = Reading::fields();
/// let series = TimeSeries::new(&r.at()).meta(&r.sensor()).granularity(Granularity::Minutes);
/// let declared = CollectionDeclaration::new().time_series(series).expire_after(3600);
/// assert_eq!(
///     declared.to_string(),
///     concat!(
///         r#"{"timeseries": {"timeField": "at", "metaField": "sensor", "granularity": "minutes"}, "#,
///         r#""expireAfterSeconds": 3600}"#
///     )
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct CollectionDeclaration {
    options: Document,
}

impl CollectionDeclaration {
    /// No options: the collection is created by its first insert or index.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::*;
    /// let declared = CollectionDeclaration::new();
    /// assert_eq!(declared.to_string(), r#"{}"#);
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn option(mut self, name: &str, value: impl Into<Bson>) -> Self {
        self.options.insert(name, value.into());
        self
    }

    /// A capped collection: if it is larger than `size` bytes (1 to 2^50), the oldest documents are removed. The size of an
    /// existing collection can be changed by MongoDB 6.0+. The strict Stable API has no capped collections.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::*;
    /// let declared = CollectionDeclaration::new().capped(1_048_576);
    /// assert_eq!(declared.to_string(), r#"{"capped": true, "size": 1048576}"#);
    /// ```
    pub fn capped(self, size: u64) -> Self {
        self.option("capped", true).option("size", integer(size))
    }

    /// The largest number of documents of a capped collection, less than 2^31.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::*;
    /// let declared = CollectionDeclaration::new().capped(1_048_576).max_documents(100);
    /// assert_eq!(declared.to_string(), r#"{"capped": true, "size": 1048576, "max": 100}"#);
    /// ```
    pub fn max_documents(self, max: u64) -> Self {
        self.option("max", integer(max))
    }

    /// A time series collection (MongoDB 5.0+).
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::*;
    /// let declared = CollectionDeclaration::new()
    ///     .time_series(TimeSeries::new(&Order::fields().created_at()));
    /// assert_eq!(declared.to_string(), r#"{"timeseries": {"timeField": "created_at"}}"#);
    /// ```
    pub fn time_series(self, series: TimeSeries) -> Self {
        self.option("timeseries", series.options)
    }

    /// A collection whose documents are stored in the order of `_id` (MongoDB 5.3+).
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::*;
    /// let declared = CollectionDeclaration::new().clustered();
    /// assert_eq!(
    ///     declared.to_string(),
    ///     r#"{"clusteredIndex": {"key": {"_id": 1}, "unique": true, "name": "_id_"}}"#
    /// );
    /// ```
    pub fn clustered(self) -> Self {
        self.option(
            "clusteredIndex",
            doc! { "key": { "_id": 1 }, "unique": true, "name": "_id_" },
        )
    }

    /// The documents of a time series expire this number of seconds after their time, those of a
    /// clustered collection after the date in `_id`, and not if `_id` is of another type. For other
    /// collections declare an index with `ttl`. Servers reject more seconds than have passed since
    /// 1970.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::*;
    /// let declared = CollectionDeclaration::new().clustered().expire_after(3600);
    /// assert!(declared.to_string().ends_with(r#""expireAfterSeconds": 3600}"#));
    /// ```
    pub fn expire_after(self, seconds: u32) -> Self {
        self.option("expireAfterSeconds", i64::from(seconds))
    }

    /// Sets [`expire_after`](Self::expire_after) of a clustered collection with this id.
    #[doc(hidden)]
    pub fn expire_after_id<A: AsPath<Mode: Readable, Value: ClusterTime>>(
        self,
        _id: &A,
        seconds: u32,
    ) -> Self {
        self.expire_after(seconds)
    }

    /// The collation of the queries and indexes that have none of their own, in the form of the server's
    /// command.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::*;
    /// let declared = CollectionDeclaration::new().collation(doc! { "locale": "en" });
    /// assert_eq!(declared.to_string(), r#"{"collation": {"locale": "en"}}"#);
    /// ```
    pub fn collation(self, collation: Document) -> Self {
        self.option("collation", collation)
    }

    /// Whether change streams can contain the document before and after a change (MongoDB 6.0+). With the strict Stable API
    /// it cannot be changed for an existing collection.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::*;
    /// let declared = CollectionDeclaration::new().pre_and_post_images(true);
    /// assert_eq!(declared.to_string(), r#"{"changeStreamPreAndPostImages": {"enabled": true}}"#);
    /// ```
    pub fn pre_and_post_images(self, yes: bool) -> Self {
        self.option("changeStreamPreAndPostImages", doc! { "enabled": yes })
    }

    /// The conditions that written documents must satisfy: a filter, usually
    /// `{$jsonSchema: Model::json_schema()}`.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::*;
    /// let declared = CollectionDeclaration::new().validator(doc! { "total": { "$gte": 0 } });
    /// assert_eq!(declared.to_string(), r#"{"validator": {"total": {"$gte": 0}}}"#);
    /// ```
    pub fn validator(self, validator: Document) -> Self {
        self.option("validator", validator)
    }

    /// Which writes are validated. Default: [`ValidationLevel::Strict`].
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::*;
    /// let declared = CollectionDeclaration::new().validation_level(ValidationLevel::Moderate);
    /// assert_eq!(declared.to_string(), r#"{"validationLevel": "moderate"}"#);
    /// ```
    pub fn validation_level(self, level: ValidationLevel) -> Self {
        self.option("validationLevel", level.name())
    }

    /// What happens to a document that is not valid. Default: [`ValidationAction::Error`].
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::*;
    /// let declared = CollectionDeclaration::new().validation_action(ValidationAction::Warn);
    /// assert_eq!(declared.to_string(), r#"{"validationAction": "warn"}"#);
    /// ```
    pub fn validation_action(self, action: ValidationAction) -> Self {
        self.option("validationAction", action.name())
    }

    /// A view: the documents that a pipeline returns for another collection. It cannot be written.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::*;
    /// let declared = CollectionDeclaration::new().view("orders", [doc! { "$limit": 5 }]);
    /// assert_eq!(declared.to_string(), r#"{"viewOn": "orders", "pipeline": [{"$limit": 5}]}"#);
    /// ```
    pub fn view(self, on: &str, pipeline: impl IntoIterator<Item = Document>) -> Self {
        let pipeline: Vec<Bson> = pipeline.into_iter().map(Bson::Document).collect();
        self.option("viewOn", on).option("pipeline", pipeline)
    }

    /// Another option of the command `create`.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::*;
    /// let declared = CollectionDeclaration::new().raw("comment", "x");
    /// assert_eq!(declared.to_string(), r#"{"comment": "x"}"#);
    /// ```
    pub fn raw(self, name: &str, value: impl Into<Bson>) -> Self {
        self.option(name, value)
    }

    /// The options, as the command `create` has them.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::*;
    /// let declared = CollectionDeclaration::new().capped(1_048_576);
    /// assert!(declared.options().get_bool("capped")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn options(&self) -> &Document {
        &self.options
    }
}

/// The options, as Extended JSON.
impl std::fmt::Display for CollectionDeclaration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        crate::base::relaxed_json::relaxed(&self.options).fmt(f)
    }
}

/// The server takes sizes as Int64.
fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The fields of a time series collection. See
/// [`CollectionDeclaration::time_series`].
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct TimeSeries {
    options: Document,
}

impl TimeSeries {
    /// A time series by the date in a field of the document. It must be neither in an embedded document nor in an array.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::*;
    /// let o = Order::fields();
    /// let series = TimeSeries::new(&o.created_at());
    /// assert_eq!(
    ///     CollectionDeclaration::new().time_series(series).to_string(),
    ///     r#"{"timeseries": {"timeField": "created_at"}}"#
    /// );
    /// ```
    pub fn new<A: AsPath<Mode: Readable, Value: SeriesTime>>(time: &A) -> Self {
        TimeSeries {
            options: doc! { "timeField": time.raw().dotted() },
        }
    }

    /// The field that names the source of a measurement, and seldom changes. It can be an embedded document, but not a field
    /// of one, and neither the time field nor `_id`.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::*;
    /// let o = Order::fields();
    /// let series = TimeSeries::new(&o.created_at()).meta(&o.customer());
    /// assert_eq!(
    ///     CollectionDeclaration::new().time_series(series).to_string(),
    ///     r#"{"timeseries": {"timeField": "created_at", "metaField": "customer"}}"#
    /// );
    /// ```
    pub fn meta<A: AsPath<Mode: Readable, Value: IndexKey>>(mut self, field: &A) -> Self {
        self.options.insert("metaField", field.raw().dotted());
        self
    }

    /// The usual time between two measurements of one source. Default: seconds. It can be increased
    /// later.
    ///
    /// ```
    /// # use marula_guide::*; use marula::schema::*;
    /// let o = Order::fields();
    /// let series = TimeSeries::new(&o.created_at()).granularity(Granularity::Hours);
    /// assert_eq!(
    ///     CollectionDeclaration::new().time_series(series).to_string(),
    ///     r#"{"timeseries": {"timeField": "created_at", "granularity": "hours"}}"#
    /// );
    /// ```
    pub fn granularity(mut self, granularity: Granularity) -> Self {
        self.options.insert("granularity", granularity.name());
        self
    }
}

/// The usual time between two measurements of one source in a time series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Granularity {
    /// Up to a minute.
    Seconds,
    /// Up to an hour.
    Minutes,
    /// More.
    Hours,
}

impl Granularity {
    fn name(self) -> &'static str {
        match self {
            Granularity::Seconds => "seconds",
            Granularity::Minutes => "minutes",
            Granularity::Hours => "hours",
        }
    }
}

/// Which writes a validator checks (`validationLevel`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ValidationLevel {
    /// None.
    Off,
    /// All inserts and updates.
    Strict,
    /// Inserts, and updates of documents that are valid already.
    Moderate,
}

impl ValidationLevel {
    fn name(self) -> &'static str {
        match self {
            ValidationLevel::Off => "off",
            ValidationLevel::Strict => "strict",
            ValidationLevel::Moderate => "moderate",
        }
    }
}

/// What the server does with a document that is not valid (`validationAction`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ValidationAction {
    /// The write fails.
    Error,
    /// The document is written, and logged by the server.
    Warn,
    /// The write fails, and is logged by the server (MongoDB 8.1+).
    ErrorAndLog,
}

impl ValidationAction {
    fn name(self) -> &'static str {
        match self {
            ValidationAction::Error => "error",
            ValidationAction::Warn => "warn",
            ValidationAction::ErrorAndLog => "errorAndLog",
        }
    }
}
