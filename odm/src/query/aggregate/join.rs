//! Stages that read a second collection: `$lookup` and `$unionWith`.

use std::marker::PhantomData;

use crate::{
    base::bson::{Bson, doc},
    models::{
        hooks::SoftDelete,
        model::{Fields, Model},
    },
    path::{AsPath, Types, Variable, field::Field, marker::Readable, value_path},
    query::{
        aggregate::{Pipeline, nav, shape::Joined, stages::replaced},
        handle::{Collection, soft_delete::Scope, source::Source},
    },
    term::expr::{Raw, field_name, parts, variable, with_variable},
};

/// Types of two fields that a lookup can compare: the same type, in an array or an `Option` on
/// either side. A [`Ref`](crate::Ref) is compared with the ids of its model. An id that is an
/// `Option` of a newtype is not compared with one: for `id: Option<CustomerId>` state the type by
/// `retype` of the path.
#[diagnostic::on_unimplemented(
    message = "a lookup compares a `{Self}` with a `{F}`",
    label = "the local field is a `{Self}`, the foreign field a `{F}`",
    note = "the server finds nothing if the stored types differ, and reports no error; if they are equal, \
            state the type by `retype` of the path"
)]
pub trait Joins<F> {}
impl<T> Joins<T> for T {}
impl<T> Joins<T> for Option<T> {}
impl<T> Joins<T> for Vec<T> {}
impl<T> Joins<Vec<T>> for T {}
impl<T> Joins<Option<T>> for T {}

/// The name of the array of a lookup.
pub(super) fn array_name<S: Field, J: Joined<S>>() -> Raw {
    if S::stored_names().contains(&J::AS) {
        return Err(replaced(J::AS));
    }
    Ok(Bson::from(J::AS))
}

/// The name of a field in a stage.
pub(super) fn name<A: AsPath>(path: &A) -> Raw {
    Ok(field_name(&value_path(path))?.into())
}

impl<In, S: Field, C> Pipeline<In, S, C> {
    /// Reads documents of another collection into an array (`$lookup`): the result is the shape
    /// `J`, which flattens the documents and has one array. Continue with [`on`](Lookup::on) or
    /// [`pipeline`](Lookup::pipeline).
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "customers")]
    /// # struct Customer { _id: i64, name: String }
    /// # #[derive(Document)]
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
    #[doc(alias = "$lookup")]
    pub fn lookup<J: Joined<S>>(self) -> Lookup<In, S, J, C> {
        Lookup {
            pipeline: self,
            from: None,
            source: Source::default(),
            joined: PhantomData,
        }
    }

    /// Adds the documents of another collection (`$unionWith`, MongoDB 4.4+), from a pipeline that
    /// returns the same type. The collection is that of the model `F`; for another one see
    /// [`union_with_collection`](Pipeline::union_with_collection). Soft-deleted documents are left out, unless
    /// the inner pipeline starts with [`with_deleted`](Pipeline::with_deleted).
    ///
    /// ```
    /// # use marula::{Document, Pipeline, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, total: i64 }
    /// let twice = Pipeline::<Order>::new().union_with::<Order>(|o| o.match_(|o| o.total().gt(5)));
    /// assert_eq!(
    ///     twice.to_string(),
    ///     r#"[{"$unionWith": {"coll": "orders", "pipeline": [{"$match": {"total": {"$gt": 5}}}]}}]"#
    /// );
    /// ```
    #[doc(alias = "$unionWith")]
    pub fn union_with<F: Model>(self, pipeline: impl FnOnce(Pipeline<F>) -> Pipeline<F, S>) -> Self {
        self.union(None, pipeline)
    }

    /// The same as [`union_with`](Pipeline::union_with), with a collection of another name than the
    /// model's, for example one for each tenant.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, prelude::*};
    /// # #[derive(Document)]
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
        self.union(Some(collection.into()), pipeline)
    }

    /// `collection`: `None` is that of the handle, or of the model.
    fn union<F: Model>(
        mut self,
        collection: Option<String>,
        pipeline: impl FnOnce(Pipeline<F>) -> Pipeline<F, S>,
    ) -> Self {
        let mut inner = pipeline(Pipeline::new()).into_stages();
        let own = || {
            inner
                .namespace()
                .map_or(F::COLLECTION, |own| own.collection.as_str())
        };
        let collection = collection.unwrap_or_else(|| own().to_owned());
        self.stages.marks.note_handle(inner.namespace());
        self.stages.marks.note_joined::<F>(&collection);
        self.stages
            .marks
            .add_joined(std::mem::take(&mut inner.marks), None);
        let inner = inner.joined::<F>(&collection, Source::default());
        let argument = inner.map(|inner| doc! { "coll": collection, "pipeline": inner }.into());
        self.stage("$unionWith", argument)
    }
}

impl<In: Model, S> Pipeline<In, S> {
    /// Reads the documents that a handle finds, in a [lookup](Lookup::pipeline) or a [union](Pipeline::union_with): those of its
    /// [scope](crate::Collection::scoped), live or soft-deleted ones, in the collection with its name.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// let own = orders.scoped(|o| o.customer().eq(1));
    /// let old = orders.named("old_orders").scoped(|o| o.customer().eq(1));
    /// let both = own.aggregate().union_with::<Order>(|o| o.within(&old));
    /// assert_eq!(both.all().await?.len(), 1);
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// The pipeline fails with [`Error::InvalidPipeline`](crate::Error::InvalidPipeline) if it runs in another database than that of the
    /// handle.
    pub fn within(mut self, handle: &Collection<In>) -> Self {
        self.stages = self.stages.within(Source::of(handle));
        self
    }
}

impl<In, S> Pipeline<In, S> {
    /// Also reads documents that were soft-deleted, in a [lookup](Lookup::pipeline) or a
    /// [union](Pipeline::union_with). Default: live documents only. A pipeline that is run reads what its
    /// collection finds: see [`Collection::with_deleted`](crate::Collection::with_deleted).
    ///
    /// ```
    /// # use marula::{Document, Pipeline, bson::DateTime, prelude::*};
    /// #[derive(Document)]
    /// #[document(collection = "notes", soft_delete = deleted_at)]
    /// struct Note {
    ///     _id: i64,
    ///     deleted_at: Option<DateTime>,
    /// }
    /// let live = Pipeline::<Note>::new().union_with_collection::<Note>("old_notes", |n| n);
    /// let all = Pipeline::<Note>::new()
    ///     .union_with_collection::<Note>("old_notes", |n| n.with_deleted());
    /// assert!(live.to_string().contains("deleted_at"));
    /// assert!(!all.to_string().contains("deleted_at"));
    /// ```
    pub fn with_deleted(mut self) -> Self
    where
        In: SoftDelete,
    {
        self.stages = self.stages.in_scope(Scope::All);
        self
    }

    /// Reads only documents that were soft-deleted, in a [lookup](Lookup::pipeline) or a
    /// [union](Pipeline::union_with).
    ///
    /// ```
    /// # use marula::{Document, Pipeline, bson::DateTime, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "notes", soft_delete = deleted_at)]
    /// # struct Note { _id: i64, deleted_at: Option<DateTime> }
    /// let deleted = Pipeline::<Note>::new()
    ///     .union_with_collection::<Note>("old_notes", |n| n.only_deleted());
    /// assert!(deleted.to_string().contains(r#"{"$match": {"deleted_at": {"$ne": null}}}"#));
    /// ```
    pub fn only_deleted(mut self) -> Self
    where
        In: SoftDelete,
    {
        self.stages = self.stages.in_scope(Scope::Deleted);
        self
    }
}

/// A lookup without its condition; see [`Pipeline::lookup`].
#[must_use = "continue with `on` or `pipeline`"]
pub struct Lookup<In, S, J, C> {
    pipeline: Pipeline<In, S, C>,
    from: Option<String>,
    source: Source,
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

    /// Joins the documents that a handle finds: those of its [scope](crate::Collection::scoped), live or soft-deleted ones, in the
    /// collection with its name. Without it, a lookup reads all live documents of the model's collection, also from a scoped handle.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// # #[derive(Debug, Shape)] struct WithOrders { #[document(flatten)] customer: Customer, orders: Vec<Order> }
    /// let own = orders.scoped(|o| o.customer().eq(2));
    /// let joined = customers.aggregate().lookup::<WithOrders>().within(&own).on(|c| c.id(), |o| o.customer());
    /// let found = joined.all().await?;
    /// assert_eq!(found.iter().map(|c| c.orders.len()).collect::<Vec<_>>(), [0, 1, 0]);
    /// # Ok(()) });
    /// ```
    ///
    /// # Errors
    /// The pipeline fails with [`Error::InvalidPipeline`](crate::Error::InvalidPipeline) if it runs in another database than that of the
    /// handle, or if the model of the handle is not that of the stage.
    pub fn within<F: Model>(mut self, handle: &Collection<F>) -> Self {
        self.from = Some(handle.name().to_owned());
        self.source = Source::of(handle);
        self
    }

    /// Also joins documents that were soft-deleted. Default: live documents only. For a lookup by
    /// [`pipeline`](Lookup::pipeline) call [`Pipeline::with_deleted`] on the inner pipeline.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, bson::DateTime, prelude::*};
    /// #[derive(Document)]
    /// #[document(collection = "notes", soft_delete = deleted_at)]
    /// struct Note {
    ///     _id: i64,
    ///     author: i64,
    ///     deleted_at: Option<DateTime>,
    /// }
    /// # #[derive(Document)]
    /// # #[document(collection = "authors")]
    /// # struct Author { _id: i64 }
    /// # #[derive(Shape)]
    /// # struct WithNotes { #[document(flatten)] author: Author, notes: Vec<Note> }
    /// let authors = Pipeline::<Author>::new().lookup::<WithNotes>();
    /// let joined = authors.with_deleted().on(|a| a._id(), |n| n.author());
    /// assert!(!joined.to_string().contains("deleted_at"));
    /// ```
    pub fn with_deleted(mut self) -> Self
    where
        J::Foreign: SoftDelete,
    {
        self.source.set_scope(Scope::All);
        self
    }

    /// Joins only documents that were soft-deleted.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, bson::DateTime, prelude::*};
    /// #[derive(Document)]
    /// #[document(collection = "notes", soft_delete = deleted_at)]
    /// struct Note {
    ///     _id: i64,
    ///     author: i64,
    ///     deleted_at: Option<DateTime>,
    /// }
    /// # #[derive(Document)]
    /// # #[document(collection = "authors")]
    /// # struct Author { _id: i64 }
    /// # #[derive(Shape)]
    /// # struct WithNotes { #[document(flatten)] author: Author, notes: Vec<Note> }
    /// let authors = Pipeline::<Author>::new().lookup::<WithNotes>();
    /// let joined = authors.only_deleted().on(|a| a._id(), |n| n.author());
    /// assert!(joined.to_string().contains("deleted_at"));
    /// ```
    pub fn only_deleted(mut self) -> Self
    where
        J::Foreign: SoftDelete,
    {
        self.source.set_scope(Scope::Deleted);
        self
    }

    /// The stage, which reads the model `F`.
    fn stage<F: Model>(self, how: [(&'static str, Option<Raw>); 3]) -> Pipeline<In, J, C> {
        let from = self.from.unwrap_or_else(|| F::COLLECTION.to_owned());
        let mut pipeline = self.pipeline;
        pipeline.stages.marks.note_handle(self.source.namespace());
        pipeline.stages.marks.note_joined::<F>(&from);
        let [first, second, third] = how;
        let all = [
            ("from", Some(Ok(Bson::from(from)))),
            first,
            second,
            third,
            ("as", Some(array_name::<S, J>())),
        ];
        let argument = parts(&mut all.into_iter()).map(Bson::Document);
        pipeline.stage("$lookup", argument).then()
    }

    /// The documents whose field is equal to a field of this document. The types of the fields must
    /// agree, except for an array or an `Option`.
    ///
    /// The server compares null and missing values too: a document without the local field is joined with
    /// all documents whose foreign field is null or missing. If both can be, exclude one of them by
    /// [`match_`](Pipeline::match_), or use [`pipeline`](Lookup::pipeline).
    ///
    /// Soft-deleted documents of the other collection are left out, by a `pipeline` beside the fields, which
    /// needs MongoDB 5.0+; for older servers use [`with_deleted`](Lookup::with_deleted), or
    /// [`pipeline`](Lookup::pipeline) alone.
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
        let from = self.from.as_deref().unwrap_or(J::Foreign::COLLECTION);
        let condition = self
            .source
            .check(from)
            .and_then(|()| self.source.condition::<J::Foreign>());
        let scope = match condition {
            Ok(condition) => {
                condition.map(|condition| Ok(Bson::Array(vec![doc! { "$match": condition }.into()])))
            }
            Err(error) => Some(Err(Box::new(error))),
        };
        self.stage::<J::Foreign>([
            ("localField", Some(local)),
            ("foreignField", Some(foreign)),
            ("pipeline", scope),
        ])
    }

    /// The results of a pipeline over the documents of the model `F`. The first argument of the
    /// closure is the document of this pipeline, for expressions. Soft-deleted documents are left out,
    /// unless the inner pipeline starts with [`with_deleted`](Pipeline::with_deleted).
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, expr::*, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "customers")]
    /// # struct Customer { _id: i64, name: String }
    /// # #[derive(Document)]
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
        let mut this = self;
        let (root, marks, inner) = with_variable("outer", |name| {
            let mut inner = pipeline(variable::<F, S>(name), Pipeline::new()).into_stages();
            let marks = std::mem::take(&mut inner.marks);
            if this.from.is_none() {
                this.from = inner.namespace().map(|own| own.collection.clone());
            }
            this.pipeline.stages.marks.note_handle(inner.namespace());
            let from = this.from.as_deref().unwrap_or(F::COLLECTION);
            (
                doc! { name: "$$ROOT" },
                marks,
                inner.joined::<F>(from, this.source.clone()),
            )
        });
        let mut joined = this.stage::<F>([
            ("let", Some(Ok(root.into()))),
            ("pipeline", Some(inner)),
            ("", None),
        ]);
        joined.stages.marks.add_joined(marks, Some(J::AS));
        joined
    }
}
