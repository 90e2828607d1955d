//! Stages for series of documents: `$setWindowFields`, `$densify` and `$fill`.

use std::marker::PhantomData;

use crate::{
    base::{
        bson::{Bson, Document, doc},
        error::Error,
    },
    models::model::Fields,
    path::{
        AsPath, RawPath, Read, Types,
        field::Field,
        marker::{Nullable, Ordered},
    },
    query::aggregate::{Pipeline, nav, shape::MakeAdded},
    term::{
        expr::{IntoExpr, Operand, Raw, Single, Unit, field_name, parts},
        sort::IntoSort,
    },
};

impl<In, S: Field, C> Pipeline<In, S, C> {
    /// Adds fields computed over the documents around each document (`$setWindowFields`, MongoDB
    /// 5.0+): within the documents of equal `partition`, in the order of `sort`. The result is a
    /// shape that flattens the documents; its values are [`over`](crate::expr::over),
    /// [`rank`](crate::expr::rank) and the like.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, expr::*, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, customer: i64, total: i64 }
    /// #[derive(Shape)]
    /// struct Running {
    ///     #[document(flatten)]
    ///     order: Order,
    ///     so_far: i64,
    /// }
    /// let running = Pipeline::<Order>::new().window(
    ///     |o| o.customer(),
    ///     |o| o._id().asc(),
    ///     |o| RunningAdded { so_far: over(sum(o.total()), None, Some(0)) },
    /// );
    /// assert_eq!(
    ///     running.to_string(),
    ///     concat!(
    ///         r#"[{"$setWindowFields": {"partitionBy": "$customer", "sortBy": {"_id": 1}, "#,
    ///         r#""output": {"so_far": {"$sum": "$total", "#,
    ///         r#""window": {"documents": ["unbounded", 0]}}}}}]"#
    ///     )
    /// );
    /// ```
    #[doc(alias = "$setWindowFields")]
    pub fn window<K: Operand<S>, O: IntoSort<S>, P: MakeAdded<S>>(
        self,
        partition: impl FnOnce(Fields<S>) -> K,
        sort: impl FnOnce(Fields<S>) -> O,
        added: impl FnOnce(Fields<S>) -> P,
    ) -> Pipeline<In, P::Shape, C> {
        let partition = partition(nav::<S>()).into_operand().into_raw();
        self.windows(Some(partition), sort, added)
    }

    /// The same as [`window`](Pipeline::window), with all documents in one partition.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, expr::*, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, total: i64 }
    /// # #[derive(Shape)]
    /// # struct Ranked { #[document(flatten)] order: Order, rank: i64 }
    /// let ranked = Pipeline::<Order>::new()
    ///     .window_all(|o| o.total().desc(), |_| RankedAdded { rank: rank() });
    /// assert_eq!(
    ///     ranked.to_string(),
    ///     r#"[{"$setWindowFields": {"sortBy": {"total": -1}, "output": {"rank": {"$rank": {}}}}}]"#
    /// );
    /// ```
    pub fn window_all<O: IntoSort<S>, P: MakeAdded<S>>(
        self,
        sort: impl FnOnce(Fields<S>) -> O,
        added: impl FnOnce(Fields<S>) -> P,
    ) -> Pipeline<In, P::Shape, C> {
        self.windows(None, sort, added)
    }

    fn windows<O: IntoSort<S>, P: MakeAdded<S>>(
        self,
        partition: Option<Raw>,
        sort: impl FnOnce(Fields<S>) -> O,
        added: impl FnOnce(Fields<S>) -> P,
    ) -> Pipeline<In, P::Shape, C> {
        let sort = sort(nav::<S>()).into_sort();
        let added = added(nav::<S>()).into_fields().checked(S::stored_names());
        let all = [
            ("partitionBy", partition),
            ("sortBy", Some(Ok(Bson::Document(sort)))),
            ("output", Some(added.into_document())),
        ];
        let argument = parts(&mut all.into_iter()).map(Bson::Document);
        self.stage("$setWindowFields", argument).then()
    }

    /// Adds documents where a field has gaps (`$densify`, MongoDB 5.1+). The new documents have
    /// only this field and those of the partition: read them as a type whose other fields are
    /// optional, or continue with [`fill`](Pipeline::fill).
    ///
    /// ```
    /// # use marula::{Document, Pipeline, aggregate::Densify, bson::DateTime, expr::Unit, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "readings")]
    /// # struct Reading { _id: i64, at: DateTime, sensor: i64 }
    /// let hourly = Pipeline::<Reading>::new().densify(
    ///     |r| r.at(),
    ///     Densify::<Reading>::every(1, Unit::Hour).partition_by(|r| r.sensor()),
    /// );
    /// assert_eq!(
    ///     hourly.to_string(),
    ///     concat!(
    ///         r#"[{"$densify": {"field": "at", "partitionByFields": ["sensor"], "#,
    ///         r#""range": {"step": 1, "unit": "hour", "bounds": "full"}}}]"#
    ///     )
    /// );
    /// ```
    #[doc(alias = "$densify")]
    pub fn densify<A>(self, field: impl FnOnce(Fields<S>) -> A, densify: Densify<S>) -> Self
    where
        A: AsPath<Root = S, Mode: Single, Value: Ordered>,
    {
        let field = name(field(nav::<S>()).raw());
        self.stage("$densify", densify.into_argument(field))
    }

    /// Replaces null and missing values (`$fill`, MongoDB 5.3+).
    ///
    /// ```
    /// # use marula::{Document, Pipeline, aggregate::Fill, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "readings")]
    /// # struct Reading { _id: i64, at: i64, sensor: i64, value: Option<f64>, note: Option<String> }
    /// let filled = Pipeline::<Reading>::new().fill(
    ///     Fill::<Reading>::new()
    ///         .partition_by(|r| r.sensor())
    ///         .sort(|r| r.at().asc())
    ///         .linear(|r| r.value())
    ///         .value(|r| r.note(), "none"),
    /// );
    /// assert_eq!(
    ///     filled.to_string(),
    ///     concat!(
    ///         r#"[{"$fill": {"partitionByFields": ["sensor"], "sortBy": {"at": 1}, "#,
    ///         r#""output": {"value": {"method": "linear"}, "note": {"value": "none"}}}}]"#
    ///     )
    /// );
    /// ```
    #[doc(alias = "$fill")]
    pub fn fill(self, fill: Fill<S>) -> Self {
        self.stage("$fill", fill.into_argument())
    }
}

/// The name of a field in a stage.
fn name(path: &RawPath) -> Result<String, Box<Error>> {
    field_name(path).map(str::to_owned)
}

/// Adds a name to a list, and keeps the first error.
fn push(all: &mut Result<Vec<Bson>, Box<Error>>, path: &RawPath) {
    if let Ok(names) = all {
        match name(path) {
            Ok(name) => names.push(name.into()),
            Err(e) => *all = Err(e),
        }
    }
}

/// The options of [`Pipeline::densify`].
#[must_use = "options do nothing until they are given to `densify`"]
pub struct Densify<S> {
    step: Document,
    bounds: Bson,
    partition: Result<Vec<Bson>, Box<Error>>,
    root: Types<S>,
}

impl<S: Field> Densify<S> {
    fn new(step: Document) -> Self {
        Densify {
            step,
            bounds: Bson::from("full"),
            partition: Ok(Vec::new()),
            root: PhantomData,
        }
    }

    /// Steps of a number, for a field of numbers.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::Densify;
    /// use marula::expr::Unit;
    /// let dense = Densify::<Order>::step(100);
    /// let orders = Pipeline::<Order>::new().densify(|o| o.total(), dense);
    /// assert!(orders.to_string().contains(r#""step": 100"#));
    /// ```
    pub fn step(step: impl Into<Bson>) -> Self {
        Self::new(doc! { "step": step.into() })
    }

    /// Steps of a number of units of time, for a field of dates.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::Densify;
    /// use marula::expr::Unit;
    /// let dense = Densify::<Order>::every(1, Unit::Day);
    /// let orders = Pipeline::<Order>::new().densify(|o| o.created_at(), dense);
    /// assert!(orders.to_string().contains(r#""step": 1, "unit": "day""#));
    /// ```
    pub fn every(count: u32, unit: Unit) -> Self {
        Self::new(doc! { "step": i64::from(count), "unit": unit.name() })
    }

    /// Fill each partition between its own least and greatest value. Default: between those of all
    /// documents.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::Densify;
    /// use marula::expr::Unit;
    /// let dense = Densify::<Order>::every(1, Unit::Day)
    ///     .partition_by(|o| o.customer())
    ///     .within_partitions();
    /// let orders = Pipeline::<Order>::new().densify(|o| o.created_at(), dense);
    /// assert!(orders.to_string().contains(r#""bounds": "partition""#));
    /// ```
    pub fn within_partitions(mut self) -> Self {
        self.bounds = Bson::from("partition");
        self
    }

    /// Fill between two values, the second exclusive: numbers or dates, as the field has. Default:
    /// between the least and the greatest value of all documents.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::Densify;
    /// use marula::expr::Unit;
    /// let dense = Densify::<Order>::step(100).between(0, 1_000);
    /// let orders = Pipeline::<Order>::new().densify(|o| o.total(), dense);
    /// assert!(orders.to_string().contains(r#""bounds": [0, 1000]"#));
    /// ```
    pub fn between(mut self, from: impl Into<Bson>, to: impl Into<Bson>) -> Self {
        self.bounds = Bson::Array(vec![from.into(), to.into()]);
        self
    }

    /// Fill the documents of each value of a field separately. Can be repeated.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::Densify;
    /// use marula::expr::Unit;
    /// let dense = Densify::<Order>::step(100).partition_by(|o| o.customer());
    /// let orders = Pipeline::<Order>::new().densify(|o| o.total(), dense);
    /// assert!(orders.to_string().contains(r#""partitionByFields": ["customer"]"#));
    /// ```
    pub fn partition_by<A: AsPath<Root = S, Mode: Single>>(
        mut self,
        field: impl FnOnce(Fields<S>) -> A,
    ) -> Self {
        push(&mut self.partition, field(nav::<S>()).raw());
        self
    }

    fn into_argument(self, field: Result<String, Box<Error>>) -> Raw {
        let partition = self.partition?;
        let mut all = doc! { "field": field? };
        if !partition.is_empty() {
            all.insert("partitionByFields", partition);
        }
        let mut range = self.step;
        range.insert("bounds", self.bounds);
        all.insert("range", range);
        Ok(all.into())
    }
}

/// The options of [`Pipeline::fill`].
#[must_use = "options do nothing until they are given to `fill`"]
pub struct Fill<S> {
    partition: Result<Vec<Bson>, Box<Error>>,
    sort: Option<Document>,
    output: Result<Document, Box<Error>>,
    root: Types<S>,
}

impl<S: Field> Default for Fill<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Field> Fill<S> {
    /// No fields.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::Fill;
    /// # #[derive(Document)] #[document(collection = "readings")]
    /// # struct Reading { _id: i64, sensor: i64, value: Option<f64> }
    /// let fill = Fill::<Reading>::new().value(|r| r.value(), 0.0);
    /// let readings = Pipeline::<Reading>::new().fill(fill);
    /// assert!(readings.to_string().contains(r#""output": {"value": {"value": 0.0}}"#));
    /// ```
    pub fn new() -> Self {
        Fill {
            partition: Ok(Vec::new()),
            sort: None,
            output: Ok(Document::new()),
            root: PhantomData,
        }
    }

    /// Fill the documents of each value of a field separately. Can be repeated.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::Fill;
    /// # #[derive(Document)] #[document(collection = "readings")]
    /// # struct Reading { _id: i64, sensor: i64, value: Option<f64> }
    /// let fill = Fill::<Reading>::new().partition_by(|r| r.sensor()).value(|r| r.value(), 0.0);
    /// let readings = Pipeline::<Reading>::new().fill(fill);
    /// assert!(readings.to_string().contains(r#""partitionByFields": ["sensor"]"#));
    /// ```
    pub fn partition_by<A: AsPath<Root = S, Mode: Single>>(
        mut self,
        field: impl FnOnce(Fields<S>) -> A,
    ) -> Self {
        push(&mut self.partition, field(nav::<S>()).raw());
        self
    }

    /// The order of the documents, for [`linear`](Fill::linear) and [`last`](Fill::last).
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::Fill;
    /// # #[derive(Document)] #[document(collection = "readings")]
    /// # struct Reading { _id: i64, sensor: i64, value: Option<f64> }
    /// let fill = Fill::<Reading>::new().sort(|r| r._id().asc()).last(|r| r.value());
    /// let readings = Pipeline::<Reading>::new().fill(fill);
    /// assert!(readings.to_string().contains(r#""sortBy": {"_id": 1}"#));
    /// ```
    pub fn sort<K: IntoSort<S>>(mut self, keys: impl FnOnce(Fields<S>) -> K) -> Self {
        self.sort = Some(keys(nav::<S>()).into_sort());
        self
    }

    fn set(mut self, path: &RawPath, how: Result<Document, Box<Error>>) -> Self {
        self.output = self.output.and_then(|mut output| {
            output.insert(name(path)?, how?);
            Ok(output)
        });
        self
    }

    /// Fill a field by a value.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::Fill;
    /// # #[derive(Document)] #[document(collection = "readings")]
    /// # struct Reading { _id: i64, sensor: i64, value: Option<f64> }
    /// let fill = Fill::<Reading>::new().value(|r| r.value(), 0.0);
    /// let readings = Pipeline::<Reading>::new().fill(fill);
    /// assert!(readings.to_string().contains(r#""value": {"value": 0.0}"#));
    /// ```
    pub fn value<A, V>(self, field: impl FnOnce(Fields<S>) -> A, value: V) -> Self
    where
        A: AsPath<Root = S, Mode = Read, Value: Nullable>,
        V: IntoExpr<S, A::Value>,
    {
        let value = value.into_expr().into_raw().map(|value| doc! { "value": value });
        self.set(field(nav::<S>()).raw(), value)
    }

    /// Fill a field by linear interpolation between the documents before and after.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::Fill;
    /// # #[derive(Document)] #[document(collection = "readings")]
    /// # struct Reading { _id: i64, sensor: i64, value: Option<f64> }
    /// let fill = Fill::<Reading>::new().sort(|r| r._id().asc()).linear(|r| r.value());
    /// let readings = Pipeline::<Reading>::new().fill(fill);
    /// assert!(readings.to_string().contains(r#""value": {"method": "linear"}"#));
    /// ```
    pub fn linear<A>(self, field: impl FnOnce(Fields<S>) -> A) -> Self
    where
        A: AsPath<Root = S, Mode = Read, Value: Nullable<Inner: crate::term::expr::Number>>,
    {
        self.set(field(nav::<S>()).raw(), Ok(doc! { "method": "linear" }))
    }

    /// Fill a field by its value in the last document before that has one.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::Fill;
    /// # #[derive(Document)] #[document(collection = "readings")]
    /// # struct Reading { _id: i64, sensor: i64, value: Option<f64> }
    /// let fill = Fill::<Reading>::new().sort(|r| r._id().asc()).last(|r| r.value());
    /// let readings = Pipeline::<Reading>::new().fill(fill);
    /// assert!(readings.to_string().contains(r#""value": {"method": "locf"}"#));
    /// ```
    pub fn last<A>(self, field: impl FnOnce(Fields<S>) -> A) -> Self
    where
        A: AsPath<Root = S, Mode = Read, Value: Nullable>,
    {
        self.set(field(nav::<S>()).raw(), Ok(doc! { "method": "locf" }))
    }

    fn into_argument(self) -> Raw {
        let mut all = Document::new();
        let partition = self.partition?;
        if !partition.is_empty() {
            all.insert("partitionByFields", partition);
        }
        if let Some(sort) = self.sort {
            all.insert("sortBy", sort);
        }
        all.insert("output", self.output?);
        Ok(all.into())
    }
}
