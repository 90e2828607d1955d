//! `Pipeline::join`: several joins, counts and flags at once, each of which is a field of a shape.

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
            join::{Joins, name},
            nav,
            shape::Shape,
            stages::{Stages, replaced},
        },
        handle::{Collection, marks::Marks, soft_delete::Scope, source::Source},
    },
    term::expr::{Raw, parts},
};

/// A struct of joins of documents of type `S`: the generated `…Joins<S>` of a shape with a flattened field of type `S`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not contain joins of `{S}`",
    label = "expected the `…Joins` struct of a shape with `#[document(flatten)]` on a field of type `{S}`"
)]
pub trait MakeJoins<S> {
    /// The shape.
    type Shape: Shape;
    /// The joins.
    fn into_joins(self) -> JoinFields<S>;
}

/// The fields that [`Pipeline::join`] creates. The derive of a [`Shape`](derive@crate::Shape) fills it.
#[derive(Clone, Debug)]
pub struct JoinFields<R>(Vec<(&'static str, Join<R, ()>)>);

impl<R> Default for JoinFields<R> {
    fn default() -> Self {
        JoinFields(Vec::new())
    }
}

impl<R> JoinFields<R> {
    /// Adds a field.
    #[doc(hidden)]
    #[must_use]
    pub fn join<T>(mut self, name: &'static str, join: Join<R, T>) -> Self {
        self.0.push((name, join.erased()));
        self
    }
}

/// Starts to join the documents of the model `F`, for a field of a shape; see [`Pipeline::join`]. Reads all live documents of the
/// model's collection, unless [`within`](JoinOf::within) or [`from`](JoinOf::from) says another one.
pub fn join<F: Model>() -> JoinOf<F> {
    JoinOf {
        from: None,
        source: Source::default(),
        model: PhantomData,
    }
}

/// A join without its condition; see [`join`].
#[must_use = "continue with `on`"]
pub struct JoinOf<F> {
    from: Option<String>,
    source: Source,
    model: Types<F>,
}

impl<F: Model> JoinOf<F> {
    /// The collection to read, if it has another name than the model's. See [`Lookup::from`](crate::aggregate::Lookup::from).
    pub fn from(mut self, collection: impl Into<String>) -> Self {
        self.from = Some(collection.into());
        self
    }

    /// Joins the documents that a handle finds: those of its [scope](crate::Collection::scoped), live or soft-deleted ones, in the
    /// collection with its name. See [`Lookup::within`](crate::aggregate::Lookup::within), also for the errors.
    pub fn within(mut self, handle: &Collection<F>) -> Self {
        self.from = Some(handle.name().to_owned());
        self.source = Source::of(handle);
        self
    }

    /// Also joins documents that were soft-deleted. Default: live documents only.
    pub fn with_deleted(mut self) -> Self
    where
        F: SoftDelete,
    {
        self.source.set_scope(Scope::All);
        self
    }

    /// Joins only documents that were soft-deleted.
    pub fn only_deleted(mut self) -> Self
    where
        F: SoftDelete,
    {
        self.source.set_scope(Scope::Deleted);
        self
    }

    /// The documents whose field is equal to a field of this document. The types of the fields must agree, except for an array, an
    /// `Option`, or a [`Ref`](crate::Ref). The condition of a scope or of soft deletion needs MongoDB 5.0+.
    ///
    /// The server compares null and missing values too: a document without the local field is joined with all documents whose
    /// foreign field is null or missing.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "what an accessor returns is passed without `&`, as to expressions"
    )]
    pub fn on<L, K>(self, local: L, foreign: impl FnOnce(Fields<F>) -> K) -> JoinOn<L::Root, F, F>
    where
        L: AsPath<Value: Joins<K::Value>, Mode: Readable>,
        K: AsPath<Root = F, Mode: Readable>,
    {
        JoinOn {
            from: self.from,
            source: self.source,
            fields: [name(&local), name(&foreign(nav::<F>()))],
            inner: Stages::new(),
            types: PhantomData,
        }
    }
}

/// The joined documents, or what a pipeline makes of them; see [`join`].
#[must_use = "continue with `one`, `many`, `count` or `exists`"]
pub struct JoinOn<R, F, T> {
    from: Option<String>,
    source: Source,
    /// The names of the local and the foreign field.
    fields: [Raw; 2],
    inner: Stages,
    types: Types<(R, F, T)>,
}

impl<R, F: Model, T: Field> JoinOn<R, F, T> {
    /// Continues with stages over the joined documents of each document, for example to filter, sort and limit them, or to join
    /// further ones. Needs MongoDB 5.0+.
    pub fn pipeline<U>(self, stages: impl FnOnce(Pipeline<F, T>) -> Pipeline<F, U>) -> JoinOn<R, F, U> {
        let inner = Pipeline {
            stages: self.inner,
            on: (),
            types: PhantomData,
        };
        JoinOn {
            from: self.from,
            source: self.source,
            fields: self.fields,
            inner: stages(inner).stages,
            types: PhantomData,
        }
    }

    /// All of them, in an array. The server refuses arrays of more than 16 MiB: limit them by a [`pipeline`](Self::pipeline).
    pub fn many(self) -> Join<R, Vec<T>> {
        self.finished(Finish::Array)
    }

    /// The first of them, or `None` if there is none. Needs MongoDB 5.0+, unless the foreign field is `_id`, which finds one.
    pub fn one(mut self) -> Join<R, Option<T>> {
        let is_by_id = matches!(&self.fields[1], Ok(Bson::String(name)) if name == "_id");
        if !is_by_id || !self.inner.is_empty() {
            self.inner.push("$limit", Ok(Bson::Int64(1)));
        }
        self.finished(Finish::First)
    }

    /// Their number. Needs MongoDB 5.0+.
    pub fn count(mut self) -> Join<R, i64> {
        self.inner.push_unmarked("$count", Ok(Bson::from(COUNTED)));
        self.inner.marks.note_no_values();
        self.finished(Finish::Count)
    }

    /// Whether there is one. Needs MongoDB 5.0+.
    pub fn exists(mut self) -> Join<R, bool> {
        self.inner.push_unmarked("$limit", Ok(Bson::Int64(1)));
        self.inner.push_unmarked("$project", Ok(doc! { "_id": 1 }.into()));
        self.inner.marks.note_no_values();
        self.finished(Finish::Exists)
    }

    fn finished<V>(mut self, finish: Finish) -> Join<R, V> {
        let mut marks = std::mem::take(&mut self.inner.marks);
        marks.note_handle(self.source.namespace());
        marks.note_handle(self.inner.namespace());
        let of_pipeline = || self.inner.namespace().map(|own| own.collection.clone());
        let from = self.from.or_else(of_pipeline);
        let from = from.unwrap_or_else(|| F::COLLECTION.to_owned());
        marks.note_joined::<F>(&from);
        let pipeline = self
            .inner
            .joined::<F>(&from, self.source)
            .map(|stages| match stages {
                Bson::Array(stages) if stages.is_empty() => None,
                stages => Some(stages),
            })
            .transpose();
        let [local, foreign] = self.fields;
        let stage = [
            ("from", Some(Ok(Bson::from(from)))),
            ("localField", Some(local)),
            ("foreignField", Some(foreign)),
            ("pipeline", pipeline),
        ];
        Join {
            stage: parts(&mut stage.into_iter()),
            finish,
            marks,
            types: PhantomData,
        }
    }
}

/// The field of the stage that counts.
const COUNTED: &str = "n";

/// The value that a field has in place of the array of a lookup.
#[derive(Clone, Copy, Debug)]
enum Finish {
    Array,
    First,
    Count,
    Exists,
}

impl Finish {
    /// The value of the field. `None`: the array.
    fn value(self, name: &str) -> Option<Bson> {
        let first = |path: String, or: Bson| -> Bson {
            // `$first` needs MongoDB 4.4.
            doc! { "$ifNull": [{ "$arrayElemAt": [path, 0] }, or] }.into()
        };
        match self {
            Finish::Array => None,
            Finish::First => Some(first(format!("${name}"), Bson::Null)),
            Finish::Count => Some(first(format!("${name}.{COUNTED}"), Bson::Int64(0))),
            Finish::Exists => Some(doc! { "$ne": [format!("${name}"), []] }.into()),
        }
    }
}

/// A field with a value of type `T` that a join creates in documents of type `R`; see [`join`].
#[must_use = "a join is a field of the `…Joins` struct of a shape"]
pub struct Join<R, T> {
    /// The argument of `$lookup`, without `as`.
    stage: Result<Document, Box<crate::Error>>,
    finish: Finish,
    marks: Marks,
    types: Types<(R, T)>,
}

impl<R, T> Join<R, T> {
    fn erased(self) -> Join<R, ()> {
        Join {
            stage: self.stage,
            finish: self.finish,
            marks: self.marks,
            types: PhantomData,
        }
    }
}

impl<R, T> Clone for Join<R, T> {
    fn clone(&self) -> Self {
        Join {
            stage: self.stage.clone(),
            finish: self.finish,
            marks: self.marks.clone(),
            types: PhantomData,
        }
    }
}

impl<R, T> std::fmt::Debug for Join<R, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Join").finish_non_exhaustive()
    }
}

impl<In, S: Field, C> Pipeline<In, S, C> {
    /// Reads documents of other collections into the fields of a shape, in one command (`$lookup` for each field): the result is
    /// the shape, which flattens the documents. A field is the joined document, an array of them, their number, or whether there is
    /// one, and each [`join`] can filter, sort and limit the documents of its collection, or join further ones, by a
    /// [`pipeline`](JoinOn::pipeline).
    ///
    /// ```
    /// use marula::aggregate::join;
    /// use marula::{Document, Ref, Shape, prelude::*};
    ///
    /// #[derive(Document)]
    /// #[document(collection = "users")]
    /// struct User {
    ///     _id: i64,
    ///     name: String,
    /// }
    ///
    /// #[derive(Document)]
    /// #[document(collection = "articles")]
    /// struct Article {
    ///     _id: i64,
    ///     author: Ref<User>,
    /// }
    ///
    /// #[derive(Document)]
    /// #[document(collection = "favorites", index(article, user, unique))]
    /// struct Favorite {
    ///     _id: i64,
    ///     article: i64,
    ///     user: i64,
    /// }
    ///
    /// #[derive(Shape)]
    /// struct FeedItem {
    ///     #[document(flatten)]
    ///     article: Article,
    ///     author_of: Option<User>,
    ///     favorites: i64,
    ///     is_favorite: bool,
    /// }
    ///
    /// # let me = 7_i64;
    /// let feed = marula::Pipeline::<Article>::new().join(|a| FeedItemJoins {
    ///     author_of: join::<User>().on(a.author(), |u| u._id()).one(),
    ///     favorites: join::<Favorite>().on(a._id(), |f| f.article()).count(),
    ///     is_favorite: join::<Favorite>()
    ///         .on(a._id(), |f| f.article())
    ///         .pipeline(|of_article| of_article.match_(|f| f.user().eq(me)))
    ///         .exists(),
    /// });
    /// assert_eq!(
    ///     feed.to_string(),
    ///     concat!(
    ///         r#"[{"$lookup": {"from": "users", "localField": "author", "foreignField": "_id", "as": "author_of"}}, "#,
    ///         r#"{"$lookup": {"from": "favorites", "localField": "_id", "foreignField": "article", "#,
    ///         r#""pipeline": [{"$count": "n"}], "as": "favorites"}}, "#,
    ///         r#"{"$lookup": {"from": "favorites", "localField": "_id", "foreignField": "article", "#,
    ///         r#""pipeline": [{"$match": {"user": {"$eq": 7}}}, {"$limit": 1}, {"$project": {"_id": 1}}], "#,
    ///         r#""as": "is_favorite"}}, "#,
    ///         r#"{"$set": {"author_of": {"$ifNull": [{"$arrayElemAt": ["$author_of", 0]}, null]}, "#,
    ///         r#""favorites": {"$ifNull": [{"$arrayElemAt": ["$favorites.n", 0]}, 0]}, "#,
    ///         r#""is_favorite": {"$ne": ["$is_favorite", []]}}}]"#
    ///     )
    /// );
    /// ```
    ///
    /// Filter, sort and limit the documents before, so that only those of the result are joined.
    ///
    /// # Errors
    /// The call that runs the pipeline fails with [`Error::InvalidPipeline`](crate::Error::InvalidPipeline) if the documents have a
    /// field with the name of a joined one. The keys of a flattened map are not known: such a key is replaced, and the map has it no
    /// more.
    #[doc(alias = "$lookup")]
    pub fn join<J: MakeJoins<S>>(self, joins: impl FnOnce(Fields<S>) -> J) -> Pipeline<In, J::Shape, C> {
        let joins = joins(nav::<S>()).into_joins().0;
        let existing = S::stored_names();
        let mut pipeline = self;
        let mut finished = Document::new();
        for (name, join) in joins {
            let argument = match join.stage {
                Ok(_) if existing.contains(&name) => Err(replaced(name)),
                Ok(mut stage) => {
                    stage.insert("as", name);
                    Ok(stage.into())
                }
                Err(error) => Err(error),
            };
            pipeline = pipeline.stage("$lookup", argument);
            pipeline.stages.marks.add_joined(join.marks, Some(name));
            if let Some(value) = join.finish.value(name) {
                finished.insert(name, value);
            }
        }
        if !finished.is_empty() {
            // No value is copied to another field, so that conditions on encrypted fields are what they were.
            pipeline.stages.push_unmarked("$set", Ok(finished.into()));
        }
        pipeline.then()
    }
}
