//! `$graphLookup`.

use std::marker::PhantomData;

use crate::{
    base::bson::{Bson, Document, doc},
    models::{
        hooks::SoftDelete,
        model::{Fields, Model},
    },
    path::{AsPath, Types, field::Field, marker::Readable},
    query::{
        aggregate::{
            Pipeline,
            join::{Joins, array_name, name},
            nav,
            shape::Joined,
        },
        handle::{Collection, marks::Marks, soft_delete::Scope, source::Source},
    },
    term::{
        expr::{Operand, parts},
        filter::Filter,
    },
};

impl<In, S: Field, C> Pipeline<In, S, C> {
    /// Reads documents of another collection recursively into an array (`$graphLookup`): the result
    /// is the shape `J`, as for [`lookup`](Pipeline::lookup). Continue with
    /// [`on`](GraphLookup::on).
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, prelude::*};
    /// #[derive(Document)]
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
    #[doc(alias = "$graphLookup")]
    pub fn graph_lookup<J: Joined<S>>(self) -> GraphLookup<In, S, J, C> {
        GraphLookup {
            pipeline: self,
            from: None,
            max_depth: None,
            restrict: None,
            marks: Marks::default(),
            source: Source::default(),
            joined: PhantomData,
        }
    }
}

/// A recursive lookup without its fields; see [`Pipeline::graph_lookup`].
#[must_use = "continue with `on`"]
pub struct GraphLookup<In, S, J: Joined<S>, C> {
    pipeline: Pipeline<In, S, C>,
    from: Option<String>,
    max_depth: Option<u32>,
    restrict: Option<std::result::Result<Document, Box<crate::Error>>>,
    /// What the filter reads of encrypted fields.
    marks: Marks,
    source: Source,
    joined: Types<J>,
}

impl<In, S: Field, J: Joined<S, Foreign: Model>, C> GraphLookup<In, S, J, C> {
    /// The collection to read, if it has another name than the model's.
    ///
    /// ```
    /// # use marula_guide::*;
    /// # #[derive(Document)] #[document(collection = "staff")]
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
    /// # #[derive(Document)] #[document(collection = "staff")]
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
    /// # #[derive(Document)] #[document(collection = "staff")]
    /// # struct Person { _id: i64, boss: Option<i64>, active: bool }
    /// # #[derive(Shape)] struct Chain { #[document(flatten)] person: Person, bosses: Vec<Person> }
    /// let chains = Pipeline::<Person>::new()
    ///     .graph_lookup::<Chain>()
    ///     .restrict(|p| p.active().eq(true))
    ///     .on(|p| p.boss(), |p| p.boss(), |p| p._id());
    /// assert!(chains.to_string().contains(r#""restrictSearchWithMatch": {"active": {"$eq": true}}"#));
    /// ```
    pub fn restrict(mut self, filter: impl FnOnce(Fields<J::Foreign>) -> Filter<J::Foreign>) -> Self {
        let filter = filter(nav::<J::Foreign>()).into_node();
        self.marks = Marks::of_filter::<J::Foreign>(&filter);
        self.restrict = Some(filter.map(|filter| filter.to_document()).map_err(Box::new));
        self
    }

    /// Also joins documents that were soft-deleted. Default: live documents only. A deleted document
    /// ends the chain that leads through it.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, bson::DateTime, prelude::*};
    /// #[derive(Document)]
    /// #[document(collection = "parts", soft_delete = deleted_at)]
    /// struct Part {
    ///     _id: i64,
    ///     within: Option<i64>,
    ///     deleted_at: Option<DateTime>,
    /// }
    /// # #[derive(Shape)]
    /// # struct Chain { #[document(flatten)] part: Part, wholes: Vec<Part> }
    /// let parts = Pipeline::<Part>::new().graph_lookup::<Chain>();
    /// let chains = parts.with_deleted().on(|p| p.within(), |p| p.within(), |p| p._id());
    /// assert!(!chains.to_string().contains("restrictSearchWithMatch"));
    /// ```
    pub fn with_deleted(mut self) -> Self
    where
        J::Foreign: SoftDelete,
    {
        self.source.set_scope(Scope::All);
        self
    }

    /// Joins the documents that a handle finds, as [`Lookup::within`](crate::aggregate::Lookup::within) does.
    ///
    /// ```
    /// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
    /// # #[derive(Document)] #[document(collection = "staff")]
    /// # struct Person { _id: i64, boss: Option<i64>, active: bool }
    /// # #[derive(Shape)] struct Chain { #[document(flatten)] person: Person, bosses: Vec<Person> }
    /// let active = db.collection::<Person>().scoped(|p| p.active().eq(true));
    /// let chains = Pipeline::<Person>::new().graph_lookup::<Chain>().within(&active);
    /// let chains = chains.on(|p| p.boss(), |p| p.boss(), |p| p._id());
    /// assert!(chains.to_string().contains(r#""restrictSearchWithMatch": {"active": {"$eq": true}}"#));
    /// # Ok(()) });
    /// ```
    pub fn within(mut self, handle: &Collection<J::Foreign>) -> Self
    where
        J::Foreign: Model,
    {
        self.from = Some(handle.name().to_owned());
        self.source = Source::of(handle);
        self
    }

    /// Joins only documents that were soft-deleted.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, bson::DateTime, prelude::*};
    /// #[derive(Document)]
    /// #[document(collection = "parts", soft_delete = deleted_at)]
    /// struct Part {
    ///     _id: i64,
    ///     within: Option<i64>,
    ///     deleted_at: Option<DateTime>,
    /// }
    /// # #[derive(Shape)]
    /// # struct Chain { #[document(flatten)] part: Part, wholes: Vec<Part> }
    /// let parts = Pipeline::<Part>::new().graph_lookup::<Chain>();
    /// let chains = parts.only_deleted().on(|p| p.within(), |p| p.within(), |p| p._id());
    /// assert!(chains.to_string().contains("restrictSearchWithMatch"));
    /// ```
    pub fn only_deleted(mut self) -> Self
    where
        J::Foreign: SoftDelete,
    {
        self.source.set_scope(Scope::Deleted);
        self
    }

    /// Starts with a value, and reads the documents whose field `to` is equal to it, then those
    /// whose field `to` is equal to the field `from` of a document that was read, and so on. Soft-deleted
    /// documents are left out (`restrictSearchWithMatch`), unless
    /// [`with_deleted`](GraphLookup::with_deleted) is called.
    ///
    /// ```
    /// # use marula_guide::*;
    /// # #[derive(Document)] #[document(collection = "staff")]
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
        let mut pipeline = self.pipeline;
        pipeline.stages.marks.note_handle(self.source.namespace());
        pipeline.stages.marks.note_joined::<J::Foreign>(&collection);
        pipeline.stages.marks.add_joined(self.marks, None);
        let condition = self.source.check(&collection);
        let condition = condition.and_then(|()| self.source.condition::<J::Foreign>());
        let restrict = match (self.restrict, condition) {
            (_, Err(error)) => Some(Err(Box::new(error))),
            (Some(Ok(given)), Ok(Some(scope))) => Some(Ok(doc! { "$and": [given, scope] })),
            (None, Ok(scope)) => scope.map(Ok),
            (given, _) => given,
        };
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
                restrict.map(|filter| filter.map(Bson::Document)),
            ),
        ];
        let argument = parts(&mut all.into_iter()).map(Bson::Document);
        pipeline.stage("$graphLookup", argument).then()
    }
}
