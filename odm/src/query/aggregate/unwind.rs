//! `$unwind`: one document for each element of an array.

use crate::{
    base::bson::{Bson, doc},
    models::model::Fields,
    path::{AsPath, Maybe, Mode, Path, RawPath, Read, Types, field::Field, marker::Array, to_value_path},
    query::aggregate::{
        Pipeline, nav,
        shape::{Count, Counted, MakeGroup, MakeShape, MakeTotal},
    },
    term::{
        expr::{Expr, Operand, Raw, Single, field_name, reference},
        filter::Filter,
        sort::IntoSort,
    },
};

/// A pipeline after [`unwind`](Pipeline::unwind), in which the field of the array contains one
/// element. Its closures take the accessors of the document and of the element.
///
/// The type of the documents still has the array: a stage that creates a shape ends this state.
#[must_use = "continue with `match_`, `project` or `group`"]
pub struct Unwound<In, S, T, C, M = Read> {
    pipeline: Pipeline<In, S, C>,
    path: RawPath,
    element: Types<(T, M)>,
}

impl<In, S: Field, C> Pipeline<In, S, C> {
    /// One document for each element of an array (`$unwind`). Documents with an empty, null or
    /// missing array are left out; see [`unwind_optional`](Pipeline::unwind_optional).
    ///
    /// ```
    /// # use marula::{Document, Embedded, Pipeline, Shape, expr::*, prelude::*};
    /// # #[derive(Embedded)]
    /// # struct Line { sku: String, quantity: i32 }
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, lines: Vec<Line> }
    /// #[derive(Shape)]
    /// struct Sold {
    ///     #[serde(rename = "_id")]
    ///     sku: String,
    ///     quantity: i64,
    /// }
    /// let sold = Pipeline::<Order>::new()
    ///     .unwind(|o| o.lines())
    ///     .match_(|_, line| line.quantity().gt(0))
    ///     .group(|_, line| SoldGroup { sku: expr(line.sku()), quantity: sum(line.quantity()) });
    /// assert_eq!(
    ///     sold.to_string(),
    ///     concat!(
    ///         r#"[{"$unwind": "$lines"}, {"$match": {"lines.quantity": {"$gt": 0}}}, "#,
    ///         r#"{"$group": {"_id": "$lines.sku", "quantity": {"$sum": "$lines.quantity"}}}]"#
    ///     )
    /// );
    /// ```
    #[doc(alias = "$unwind")]
    pub fn unwind<A>(
        self,
        array: impl FnOnce(Fields<S>) -> A,
    ) -> Unwound<In, S, <A::Value as Array>::Element, C>
    where
        A: AsPath<Root = S, Value: Array<Element: Field>, Mode: Single>,
    {
        let path = to_value_path(&array(nav::<S>()));
        let pipeline = self.stage("$unwind", array_path(&path));
        Unwound::new(pipeline, path)
    }

    /// One document for each element of an array, and one for each document with an empty, null or
    /// missing array (`$unwind` with `preserveNullAndEmptyArrays`). The fields of the element are
    /// `Option`s in expressions.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, expr::*, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, tags: Vec<String> }
    /// # #[derive(Shape)]
    /// # struct Tag { tag: Option<String> }
    /// let tags = Pipeline::<Order>::new()
    ///     .unwind_optional(|o| o.tags())
    ///     .project(|_, tag| TagExpr { tag: expr(tag) });
    /// assert_eq!(
    ///     tags.to_string(),
    ///     concat!(
    ///         r#"[{"$unwind": {"path": "$tags", "preserveNullAndEmptyArrays": true}}, "#,
    ///         r#"{"$project": {"_id": 0, "tag": "$tags"}}]"#
    ///     )
    /// );
    /// ```
    #[doc(alias = "$unwind")]
    pub fn unwind_optional<A>(
        self,
        array: impl FnOnce(Fields<S>) -> A,
    ) -> Unwound<In, S, <A::Value as Array>::Element, C, Maybe>
    where
        A: AsPath<Root = S, Value: Array<Element: Field>, Mode: Single>,
    {
        let path = to_value_path(&array(nav::<S>()));
        let argument =
            array_path(&path).map(|p| Bson::from(doc! { "path": p, "preserveNullAndEmptyArrays": true }));
        let pipeline = self.stage("$unwind", argument);
        Unwound::new(pipeline, path)
    }
}

fn array_path(path: &RawPath) -> Raw {
    Ok(Bson::String(reference(field_name(path)?)))
}

impl<In, S: Field, T: Field, C, M: Mode> Unwound<In, S, T, C, M> {
    fn new(pipeline: Pipeline<In, S, C>, path: RawPath) -> Self {
        Unwound {
            pipeline,
            path,
            element: std::marker::PhantomData,
        }
    }

    fn element(&self) -> T::Nav<S, M> {
        T::nav(Path::from_raw(self.path.clone()))
    }

    fn map(self, stage: impl FnOnce(Pipeline<In, S, C>, T::Nav<S, M>) -> Pipeline<In, S, C>) -> Self {
        let element = self.element();
        Unwound {
            pipeline: stage(self.pipeline, element),
            ..self
        }
    }

    /// See [`Pipeline::match_`]. Conditions on the element concern one element at a time.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let lines = Pipeline::<Order>::new()
    ///     .unwind(|o| o.lines())
    ///     .match_(|_, line| line.qty().gt(1))
    ///     .assume::<bson::Document>();
    /// assert!(lines.to_string().contains(r#"{"$match": {"lines.qty": {"$gt": 1}}}"#));
    /// ```
    pub fn match_(self, filter: impl FnOnce(Fields<S>, T::Nav<S, M>) -> Filter<S>) -> Self {
        self.map(|pipeline, element| pipeline.match_(|document| filter(document, element)))
    }

    /// See [`Pipeline::filter`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// let open: Filter<Order> = Order::fields().status().eq(Status::Open);
    /// let lines = Pipeline::<Order>::new().unwind(|o| o.lines()).filter(open).count();
    /// assert!(lines.to_string().contains(r#"{"$match": {"status": {"$eq": "open"}}}"#));
    /// ```
    pub fn filter(self, filter: Filter<S>) -> Self {
        self.map(|pipeline, _| pipeline.filter(filter))
    }

    /// See [`Pipeline::match_expr`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::expr::gt;
    /// let lines = Pipeline::<Order>::new()
    ///     .unwind(|o| o.lines())
    ///     .match_expr(|o, line| gt(o.total(), line.qty()))
    ///     .assume::<bson::Document>();
    /// assert!(lines.to_string().contains(r#"{"$expr": {"$gt": ["$total", "$lines.qty"]}}"#));
    /// ```
    pub fn match_expr(self, condition: impl FnOnce(Fields<S>, T::Nav<S, M>) -> Expr<S, bool>) -> Self {
        self.map(|pipeline, element| pipeline.match_expr(|document| condition(document, element)))
    }

    /// See [`Pipeline::sort`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// let lines = Pipeline::<Order>::new()
    ///     .unwind(|o| o.lines())
    ///     .sort(|_, line| line.qty().desc())
    ///     .assume::<bson::Document>();
    /// assert!(lines.to_string().contains(r#"{"$sort": {"lines.qty": -1}}"#));
    /// ```
    pub fn sort<K: IntoSort<S>>(self, keys: impl FnOnce(Fields<S>, T::Nav<S, M>) -> K) -> Self {
        self.map(|pipeline, element| pipeline.sort(|document| keys(document, element)))
    }

    /// See [`Pipeline::limit`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// let lines = Pipeline::<Order>::new()
    ///     .unwind(|o| o.lines())
    ///     .limit(9)
    ///     .assume::<bson::Document>();
    /// assert!(lines.to_string().contains(r#"{"$limit": 9}"#));
    /// ```
    pub fn limit(self, count: u32) -> Self {
        self.map(|pipeline, _| pipeline.limit(count))
    }

    /// See [`Pipeline::skip`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// let lines = Pipeline::<Order>::new().unwind(|o| o.lines()).skip(9).count();
    /// assert!(lines.to_string().contains(r#"{"$skip": 9}"#));
    /// ```
    pub fn skip(self, count: u32) -> Self {
        self.map(|pipeline, _| pipeline.skip(count))
    }

    /// See [`Pipeline::sample`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// let lines = Pipeline::<Order>::new().unwind(|o| o.lines()).sample(9).count();
    /// assert!(lines.to_string().contains(r#"{"$sample": {"size": 9}}"#));
    /// ```
    pub fn sample(self, size: u32) -> Self {
        self.map(|pipeline, _| pipeline.sample(size))
    }

    /// See [`Pipeline::count_by`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// let skus = Pipeline::<Order>::new().unwind(|o| o.lines()).count_by(|_, line| line.sku());
    /// assert_eq!(skus.to_string(), r#"[{"$unwind": "$lines"}, {"$sortByCount": "$lines.sku"}]"#);
    /// ```
    pub fn count_by<K: Operand<S, Value: Field>>(
        self,
        key: impl FnOnce(Fields<S>, T::Nav<S, M>) -> K,
    ) -> Pipeline<In, Counted<K::Value>, C> {
        let element = self.element();
        self.pipeline.count_by(|document| key(document, element))
    }

    /// See [`Pipeline::count`]: the number of elements.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let lines = Pipeline::<Order>::new().unwind(|o| o.lines()).count();
    /// assert_eq!(lines.to_string(), r#"[{"$unwind": "$lines"}, {"$count": "count"}]"#);
    /// ```
    pub fn count(self) -> Pipeline<In, Count, C> {
        self.pipeline.count()
    }

    /// See [`Pipeline::project`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::expr::expr;
    /// # #[derive(Shape)] struct Sku { sku: String }
    /// let lines = Pipeline::<Order>::new()
    ///     .unwind(|o| o.lines())
    ///     .project(|_, line| SkuExpr { sku: expr(line.sku()) });
    /// assert!(lines.to_string().contains(r#"{"$project": {"_id": 0, "sku": "$lines.sku"}}"#));
    /// ```
    pub fn project<P: MakeShape<S>>(
        self,
        fields: impl FnOnce(Fields<S>, T::Nav<S, M>) -> P,
    ) -> Pipeline<In, P::Shape, C> {
        let element = self.element();
        self.pipeline.project(|document| fields(document, element))
    }

    /// See [`Pipeline::group`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::expr::{expr, sum};
    /// # #[derive(Shape)]
    /// # struct Sold { #[serde(rename = "_id")] sku: String, pieces: i64 }
    /// let lines = Pipeline::<Order>::new()
    ///     .unwind(|o| o.lines())
    ///     .group(|_, l| SoldGroup { sku: expr(l.sku()), pieces: sum(l.qty()) });
    /// let group = r#"{"$group": {"_id": "$lines.sku", "pieces": {"$sum": "$lines.qty"}}}"#;
    /// assert!(lines.to_string().contains(group));
    /// ```
    pub fn group<G: MakeGroup<S>>(
        self,
        group: impl FnOnce(Fields<S>, T::Nav<S, M>) -> G,
    ) -> Pipeline<In, G::Shape, C> {
        let element = self.element();
        self.pipeline.group(|document| group(document, element))
    }

    /// See [`Pipeline::group_all`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::expr::sum;
    /// # #[derive(Shape)] struct All { pieces: i64 }
    /// let lines = Pipeline::<Order>::new()
    ///     .unwind(|o| o.lines())
    ///     .group_all(|_, l| AllGroup { pieces: sum(l.qty()) });
    /// let group = r#"{"$group": {"_id": null, "pieces": {"$sum": "$lines.qty"}}}"#;
    /// assert!(lines.to_string().contains(group));
    /// ```
    pub fn group_all<G: MakeTotal<S>>(
        self,
        group: impl FnOnce(Fields<S>, T::Nav<S, M>) -> G,
    ) -> Pipeline<In, G::Shape, C> {
        let element = self.element();
        self.pipeline.group_all(|document| group(document, element))
    }

    /// The pipeline with a type for its documents, unchecked; see [`Pipeline::assume`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// // A stage without a method follows, and `assume` states the type of its documents.
    /// let lines = Pipeline::<Order>::new().unwind(|o| o.lines()).assume::<bson::Document>();
    /// assert_eq!(lines.to_string(), r#"[{"$unwind": "$lines"}]"#);
    /// ```
    pub fn assume<U: Field>(self) -> Pipeline<In, U, C> {
        self.pipeline.assume()
    }
}
