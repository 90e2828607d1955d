//! Stages that read a second collection: `$lookup`, `$graphLookup` and `$unionWith`.

use std::marker::PhantomData;

use crate::aggregate::shape::Joined;
use crate::aggregate::stages::replaced;
use crate::aggregate::{Pipeline, nav};
use crate::bson::{Bson, Document, doc};
use crate::expr::{Operand, Raw, field_name, parts, variable, with_variable};
use crate::filter::Filter;
use crate::model::{Fields, Model};
use crate::path::field::Field;
use crate::path::marker::Readable;
use crate::path::{AsPath, Types, Variable, value_path};

/// Types of two fields that a lookup can compare: the same type, in an array or an `Option` on
/// either side.
#[diagnostic::on_unimplemented(
    message = "a lookup compares a `{Self}` with a `{F}`",
    label = "the local field is a `{Self}`, the foreign field a `{F}`",
    note = "the server would find nothing, and report no error"
)]
pub trait Joins<F> {}
impl<T> Joins<T> for T {}
impl<T> Joins<T> for Option<T> {}
impl<T> Joins<T> for Vec<T> {}
impl<T> Joins<Vec<T>> for T {}
impl<T> Joins<Option<T>> for T {}

/// The name of the array of a lookup.
fn array_name<S: Field, J: Joined<S>>() -> Raw {
    if S::stored_names().contains(&J::AS) {
        return Err(replaced(J::AS));
    }
    Ok(Bson::from(J::AS))
}

/// The name of a field in a stage.
fn name<A: AsPath>(path: &A) -> Raw {
    Ok(field_name(&value_path(path))?.into())
}

impl<In, S: Field, C> Pipeline<In, S, C> {
    /// Reads documents of another collection into an array (`$lookup`): the result is the shape
    /// `J`, which flattens the documents and has one array. Continue with [`on`](Lookup::on) or
    /// [`pipeline`](Lookup::pipeline).
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, prelude::*};
    /// # #[derive(serde::Serialize, serde::Deserialize, Document)]
    /// # #[document(collection = "customers")]
    /// # struct Customer { _id: i64, name: String }
    /// # #[derive(serde::Serialize, serde::Deserialize, Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, customer: i64 }
    /// #[derive(Shape)]
    /// struct WithCustomer {
    ///     #[document(flatten)]
    ///     order: Order,
    ///     customers: Vec<Customer>,
    /// }
    /// let joined = Pipeline::<Order>::new()
    ///     .lookup::<WithCustomer>()
    ///     .on(|o| o.customer(), |c| c._id())
    ///     .match_(|w| w.customers().name().ne(""));
    /// assert_eq!(
    ///     joined.to_string(),
    ///     concat!(
    ///         r#"[{"$lookup": {"from": "customers", "localField": "customer", "foreignField": "_id", "#,
    ///         r#""as": "customers"}}, {"$match": {"customers.name": {"$ne": ""}}}]"#
    ///     )
    /// );
    /// ```
    pub fn lookup<J: Joined<S>>(self) -> Lookup<In, S, J, C> {
        Lookup {
            pipeline: self,
            from: None,
            joined: PhantomData,
        }
    }

    /// Reads documents of another collection recursively into an array (`$graphLookup`): the result
    /// is the shape `J`, as for [`lookup`](Pipeline::lookup). Continue with
    /// [`on`](GraphLookup::on).
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, prelude::*};
    /// #[derive(serde::Serialize, serde::Deserialize, Document)]
    /// #[document(collection = "employees")]
    /// struct Employee {
    ///     _id: i64,
    ///     manager: Option<i64>,
    /// }
    /// #[derive(Shape)]
    /// struct WithManagers {
    ///     #[document(flatten)]
    ///     employee: Employee,
    ///     managers: Vec<Employee>,
    /// }
    /// let chains = Pipeline::<Employee>::new()
    ///     .graph_lookup::<WithManagers>()
    ///     .max_depth(5)
    ///     .on(|e| e.manager(), |m| m.manager(), |m| m._id());
    /// assert_eq!(
    ///     chains.to_string(),
    ///     concat!(
    ///         r#"[{"$graphLookup": {"from": "employees", "startWith": "$manager", "#,
    ///         r#""connectFromField": "manager", "connectToField": "_id", "as": "managers", "#,
    ///         r#""maxDepth": 5}}]"#
    ///     )
    /// );
    /// ```
    pub fn graph_lookup<J: Joined<S>>(self) -> GraphLookup<In, S, J, C> {
        GraphLookup {
            pipeline: self,
            from: None,
            max_depth: None,
            restrict: None,
            joined: PhantomData,
        }
    }

    /// Adds the documents of another collection (`$unionWith`, MongoDB 4.4+), from a pipeline that
    /// returns the same type. The collection is that of the model `F`; for another one see
    /// [`union_with_collection`](Pipeline::union_with_collection).
    ///
    /// ```
    /// # use marula::{Document, Pipeline, prelude::*};
    /// # #[derive(serde::Serialize, serde::Deserialize, Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, total: i64 }
    /// let twice = Pipeline::<Order>::new().union_with::<Order>(|o| o.match_(|o| o.total().gt(5)));
    /// assert_eq!(
    ///     twice.to_string(),
    ///     r#"[{"$unionWith": {"coll": "orders", "pipeline": [{"$match": {"total": {"$gt": 5}}}]}}]"#
    /// );
    /// ```
    pub fn union_with<F: Model>(self, pipeline: impl FnOnce(Pipeline<F>) -> Pipeline<F, S>) -> Self {
        self.union_with_collection(F::COLLECTION, pipeline)
    }

    /// The same as [`union_with`](Pipeline::union_with), with a collection of another name than the
    /// model's, for example one for each tenant.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, prelude::*};
    /// # #[derive(serde::Serialize, serde::Deserialize, Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64 }
    /// let both = Pipeline::<Order>::new().union_with_collection::<Order>("old_orders", |o| o);
    /// assert_eq!(
    ///     both.to_string(),
    ///     r#"[{"$unionWith": {"coll": "old_orders", "pipeline": []}}]"#
    /// );
    /// ```
    pub fn union_with_collection<F: Model>(
        self,
        collection: impl Into<String>,
        pipeline: impl FnOnce(Pipeline<F>) -> Pipeline<F, S>,
    ) -> Self {
        let inner = pipeline(Pipeline::new()).into_stages().nested();
        let collection = collection.into();
        let argument = inner.map(|inner| doc! { "coll": collection, "pipeline": inner }.into());
        self.stage("$unionWith", argument)
    }
}

/// A lookup without its condition; see [`Pipeline::lookup`].
#[must_use = "continue with `on` or `pipeline`"]
pub struct Lookup<In, S, J, C> {
    pipeline: Pipeline<In, S, C>,
    from: Option<String>,
    joined: Types<J>,
}

impl<In, S: Field, J: Joined<S>, C> Lookup<In, S, J, C> {
    /// The collection to read, if it has another name than the model's, for example one for each
    /// tenant.
    ///
    /// ```
    /// # use marula_guide::*;
    /// # #[derive(Shape)] struct Joined { #[document(flatten)] order: Order, customers: Vec<Customer> }
    /// let joined = Pipeline::<Order>::new()
    ///     .lookup::<Joined>()
    ///     .from("old_customers")
    ///     .on(|o| o.customer(), |c| c.id());
    /// assert_eq!(
    ///     joined.to_string(),
    ///     concat!(
    ///         r#"[{"$lookup": {"from": "old_customers", "localField": "customer", "foreignField": "_id", "#,
    ///         r#""as": "customers"}}]"#
    ///     )
    /// );
    /// ```
    pub fn from(mut self, collection: impl Into<String>) -> Self {
        self.from = Some(collection.into());
        self
    }

    fn stage(self, own: &str, how: [(&'static str, Option<Raw>); 2]) -> Pipeline<In, J, C> {
        let from = Bson::from(self.from.unwrap_or_else(|| own.to_owned()));
        let [first, second] = how;
        let all = [
            ("from", Some(Ok(from))),
            first,
            second,
            ("as", Some(array_name::<S, J>())),
        ];
        let argument = parts(&mut all.into_iter()).map(Bson::Document);
        self.pipeline.stage("$lookup", argument).then()
    }

    /// The documents whose field is equal to a field of this document. The types of the fields must
    /// agree, except for an array or an `Option`.
    ///
    /// The server compares null and missing values too: a document without the local field is joined with
    /// all documents whose foreign field is null or missing. If both can be, exclude one of them by
    /// [`match_`](Pipeline::match_), or use [`pipeline`](Lookup::pipeline). Soft-deleted documents of the
    /// other collection are joined.
    ///
    /// ```
    /// # use marula_guide::*;
    /// # #[derive(Shape)] struct Joined { #[document(flatten)] order: Order, customers: Vec<Customer> }
    /// let joined = Pipeline::<Order>::new()
    ///     .lookup::<Joined>()
    ///     .on(|o| o.customer(), |c| c.id());
    /// assert_eq!(
    ///     joined.to_string(),
    ///     concat!(
    ///         r#"[{"$lookup": {"from": "customers", "localField": "customer", "foreignField": "_id", "#,
    ///         r#""as": "customers"}}]"#
    ///     )
    /// );
    /// ```
    pub fn on<L, F>(
        self,
        local: impl FnOnce(Fields<S>) -> L,
        foreign: impl FnOnce(Fields<J::Foreign>) -> F,
    ) -> Pipeline<In, J, C>
    where
        J::Foreign: Model,
        L: AsPath<Root = S, Value: Joins<F::Value>, Mode: Readable>,
        F: AsPath<Root = J::Foreign, Mode: Readable>,
    {
        let local = name(&local(nav::<S>()));
        let foreign = name(&foreign(nav::<J::Foreign>()));
        self.stage(
            J::Foreign::COLLECTION,
            [("localField", Some(local)), ("foreignField", Some(foreign))],
        )
    }

    /// The results of a pipeline over the documents of the model `F`. The first argument of the
    /// closure is the document of this pipeline, for expressions.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, expr::*, prelude::*};
    /// # #[derive(serde::Serialize, serde::Deserialize, Document)]
    /// # #[document(collection = "customers")]
    /// # struct Customer { _id: i64, name: String }
    /// # #[derive(serde::Serialize, serde::Deserialize, Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, customer: i64 }
    /// #[derive(Shape)]
    /// struct WithRecent {
    ///     #[document(flatten)]
    ///     customer: Customer,
    ///     recent: Vec<Order>,
    /// }
    /// let recent = Pipeline::<Customer>::new()
    ///     .lookup::<WithRecent>()
    ///     .pipeline::<Order>(|customer, orders| {
    ///         orders.match_expr(|o| eq(o.customer(), customer._id())).limit(3)
    ///     });
    /// assert_eq!(
    ///     recent.to_string(),
    ///     concat!(
    ///         r#"[{"$lookup": {"from": "orders", "let": {"outer0": "$$ROOT"}, "#,
    ///         r#""pipeline": [{"$match": {"$expr": {"$eq": ["$customer", "$$outer0._id"]}}}, "#,
    ///         r#"{"$limit": 3}], "as": "recent"}}]"#
    ///     )
    /// );
    /// ```
    pub fn pipeline<F: Model>(
        self,
        pipeline: impl FnOnce(S::Nav<F, Variable>, Pipeline<F>) -> Pipeline<F, J::Foreign>,
    ) -> Pipeline<In, J, C> {
        let (root, inner) = with_variable("outer", |name| {
            let inner = pipeline(variable::<F, S>(name), Pipeline::new());
            (doc! { name: "$$ROOT" }, inner.into_stages().nested())
        });
        self.stage(
            F::COLLECTION,
            [("let", Some(Ok(root.into()))), ("pipeline", Some(inner))],
        )
    }
}

/// A recursive lookup without its fields; see [`Pipeline::graph_lookup`].
#[must_use = "continue with `on`"]
pub struct GraphLookup<In, S, J: Joined<S>, C> {
    pipeline: Pipeline<In, S, C>,
    from: Option<String>,
    max_depth: Option<u32>,
    restrict: Option<std::result::Result<Document, Box<crate::Error>>>,
    joined: Types<J>,
}

impl<In, S: Field, J: Joined<S, Foreign: Model>, C> GraphLookup<In, S, J, C> {
    /// The collection to read, if it has another name than the model's.
    ///
    /// ```
    /// # use marula_guide::*;
    /// # #[derive(Serialize, Deserialize, Document)] #[document(collection = "staff")]
    /// # struct Person { _id: i64, boss: Option<i64>, active: bool }
    /// # #[derive(Shape)] struct Chain { #[document(flatten)] person: Person, bosses: Vec<Person> }
    /// let chains = Pipeline::<Person>::new()
    ///     .graph_lookup::<Chain>()
    ///     .from("old_staff")
    ///     .on(|p| p.boss(), |p| p.boss(), |p| p._id());
    /// assert!(chains.to_string().contains(r#""from": "old_staff""#));
    /// ```
    pub fn from(mut self, collection: impl Into<String>) -> Self {
        self.from = Some(collection.into());
        self
    }

    /// Maximum number of recursions; 0 for one query. Default: no limit.
    ///
    /// ```
    /// # use marula_guide::*;
    /// # #[derive(Serialize, Deserialize, Document)] #[document(collection = "staff")]
    /// # struct Person { _id: i64, boss: Option<i64>, active: bool }
    /// # #[derive(Shape)] struct Chain { #[document(flatten)] person: Person, bosses: Vec<Person> }
    /// let chains = Pipeline::<Person>::new()
    ///     .graph_lookup::<Chain>()
    ///     .max_depth(3)
    ///     .on(|p| p.boss(), |p| p.boss(), |p| p._id());
    /// assert!(chains.to_string().contains(r#""maxDepth": 3"#));
    /// ```
    pub fn max_depth(mut self, depth: u32) -> Self {
        self.max_depth = Some(depth);
        self
    }

    /// A filter that all documents must match. Default: none.
    ///
    /// ```
    /// # use marula_guide::*;
    /// # #[derive(Serialize, Deserialize, Document)] #[document(collection = "staff")]
    /// # struct Person { _id: i64, boss: Option<i64>, active: bool }
    /// # #[derive(Shape)] struct Chain { #[document(flatten)] person: Person, bosses: Vec<Person> }
    /// let chains = Pipeline::<Person>::new()
    ///     .graph_lookup::<Chain>()
    ///     .restrict(|p| p.active().eq(true))
    ///     .on(|p| p.boss(), |p| p.boss(), |p| p._id());
    /// assert!(chains.to_string().contains(r#""restrictSearchWithMatch": {"active": {"$eq": true}}"#));
    /// ```
    pub fn restrict(mut self, filter: impl FnOnce(Fields<J::Foreign>) -> Filter<J::Foreign>) -> Self {
        self.restrict = Some(filter(nav::<J::Foreign>()).into_document().map_err(Box::new));
        self
    }

    /// Starts with a value, and reads the documents whose field `to` is equal to it, then those
    /// whose field `to` is equal to the field `from` of a document that was read, and so on.
    ///
    /// ```
    /// # use marula_guide::*;
    /// # #[derive(Serialize, Deserialize, Document)] #[document(collection = "staff")]
    /// # struct Person { _id: i64, boss: Option<i64>, active: bool }
    /// # #[derive(Shape)] struct Chain { #[document(flatten)] person: Person, bosses: Vec<Person> }
    /// let chains = Pipeline::<Person>::new()
    ///     .graph_lookup::<Chain>()
    ///     .on(|p| p.boss(), |p| p.boss(), |p| p._id());
    /// assert!(chains.to_string().contains(r#""connectFromField": "boss", "connectToField": "_id""#));
    /// ```
    pub fn on<E, A, B>(
        self,
        start: impl FnOnce(Fields<S>) -> E,
        from: impl FnOnce(Fields<J::Foreign>) -> A,
        to: impl FnOnce(Fields<J::Foreign>) -> B,
    ) -> Pipeline<In, J, C>
    where
        E: Operand<S, Value: Joins<B::Value>>,
        A: AsPath<Root = J::Foreign, Value: Joins<B::Value>, Mode: Readable>,
        B: AsPath<Root = J::Foreign, Mode: Readable>,
    {
        let collection = self.from.unwrap_or_else(|| J::Foreign::COLLECTION.to_owned());
        let all = [
            ("from", Some(Ok(Bson::from(collection)))),
            ("startWith", Some(start(nav::<S>()).into_operand().into_raw())),
            ("connectFromField", Some(name(&from(nav::<J::Foreign>())))),
            ("connectToField", Some(name(&to(nav::<J::Foreign>())))),
            ("as", Some(array_name::<S, J>())),
            (
                "maxDepth",
                self.max_depth.map(|depth| Ok(Bson::Int64(depth.into()))),
            ),
            (
                "restrictSearchWithMatch",
                self.restrict.map(|filter| filter.map(Bson::Document)),
            ),
        ];
        let argument = parts(&mut all.into_iter()).map(Bson::Document);
        self.pipeline.stage("$graphLookup", argument).then()
    }
}
