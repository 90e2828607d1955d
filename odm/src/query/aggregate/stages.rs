//! The untyped form of a pipeline, and of the fields that a stage creates.

use crate::{
    ast::document_item::{DocumentItem, raw_part},
    base::{
        bson::{Bson, Document, doc},
        error::{Error, Result},
    },
    driver::Namespace,
    models::model::Model,
    query::handle::{marks::Marks, soft_delete::Scope, source::Source},
    term::expr::{Acc, Expr, Raw, parts},
};

/// The stages of a pipeline, or its first error. See
/// [`Pipeline::into_stages`](crate::Pipeline::into_stages).
#[derive(Clone, Debug)]
pub struct Stages {
    all: std::result::Result<Vec<Document>, Box<Error>>,
    /// Which documents the pipeline reads in a lookup or a union.
    source: Source,
    /// What the stages read of encrypted fields.
    pub(super) marks: Marks,
}

impl Stages {
    pub(super) fn new() -> Self {
        Stages {
            all: Ok(Vec::new()),
            source: Source::default(),
            marks: Marks::default(),
        }
    }

    pub(super) fn push(&mut self, stage: &'static str, argument: Raw) {
        self.marks.note_stage(stage);
        self.push_unmarked(stage, argument);
    }

    /// Adds a stage whose marks are noted by its method.
    pub(super) fn push_unmarked(&mut self, stage: &'static str, argument: Raw) {
        if let Ok(stages) = &mut self.all {
            match argument {
                Ok(argument) => stages.push(doc! { stage: argument }),
                Err(e) => self.all = Err(e),
            }
        }
    }

    pub(super) fn push_raw(&mut self, stage: impl DocumentItem) {
        let stage = raw_part(stage);
        self.marks.note_raw_stage(&stage);
        if let Ok(stages) = &mut self.all {
            stages.push(stage.document);
        }
    }

    /// The stages in the form in which they are sent.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let stages = Pipeline::<Order>::new().match_(|o| o.total().gt(100)).into_stages();
    /// assert_eq!(stages.into_documents()?, [doc! { "$match": { "total": { "$gt": 100_i64 } } }]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Encode`] for a value that cannot be encoded as BSON; [`Error::InvalidPipeline`] or
    /// [`Error::InvalidFilter`] for a stage that the server would reject.
    pub fn into_documents(self) -> Result<Vec<Document>> {
        self.all.map_err(|e| *e)
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(&self.all, Ok(stages) if stages.is_empty())
    }

    /// The stages as the value of a field of another stage.
    pub(super) fn nested(self) -> Raw {
        Ok(array(self.all?))
    }

    pub(super) fn in_scope(mut self, scope: Scope) -> Self {
        self.source.set_scope(scope);
        self
    }

    /// Reads the documents of a handle in a lookup or a union.
    pub(super) fn within(mut self, source: Source) -> Self {
        self.source = source;
        self
    }

    /// The stages, and what they read of encrypted fields.
    pub(super) fn into_parts(self) -> (Result<Vec<Document>>, Marks) {
        (self.all.map_err(|e| *e), self.marks)
    }

    /// The stages of a pipeline over another collection, whose model is `F`. `outer`: what the stage around it reads.
    pub(super) fn joined<F: Model>(mut self, collection: &str, outer: Source) -> Raw {
        self.source.or(outer);
        self.source.check(collection)?;
        Ok(array(self.source.of_stages::<F>(self.all?)?))
    }

    /// The collection of the handle whose documents it reads.
    pub(super) fn namespace(&self) -> Option<&Namespace> {
        self.source.namespace()
    }

    /// The stages of a pipeline over the collection of the surrounding one.
    pub(super) fn fused(self, stage: &str) -> std::result::Result<Vec<Document>, Box<Error>> {
        if !self.source.is_default() {
            return Err(Box::new(Error::pipeline(
                stage,
                "the pipelines read the documents of the collection; call `with_deleted` or `only_deleted` on the collection",
            )));
        }
        self.all
    }

    /// The stages of a pipeline over the documents of the surrounding one.
    pub(super) fn facet(self) -> Raw {
        if !self.source.is_default() {
            return Err(Box::new(Error::pipeline(
                "$facet",
                "a facet reads the documents of its pipeline; call `with_deleted`, `only_deleted` or `scoped` on the collection",
            )));
        }
        self.nested()
    }
}

fn array(stages: Vec<Document>) -> Bson {
    Bson::Array(stages.into_iter().map(Bson::Document).collect())
}

/// The fields that a stage creates. The derive of a [`Shape`](derive@crate::Shape) fills it.
#[derive(Clone, Debug, Default)]
pub struct ShapeFields(Vec<(&'static str, Raw)>);

impl ShapeFields {
    /// Adds a computed field.
    #[doc(hidden)]
    #[must_use]
    pub fn expr<R, T>(mut self, name: &'static str, value: Expr<R, T>) -> Self {
        self.0.push((name, value.into_raw()));
        self
    }

    /// Adds an accumulated field.
    #[doc(hidden)]
    #[must_use]
    pub fn acc<R, T>(mut self, name: &'static str, value: Acc<R, T>) -> Self {
        self.0.push((name, value.into_raw()));
        self
    }

    /// The fields as an expression.
    pub(super) fn into_document(self) -> Raw {
        parts(&mut self.0.into_iter().map(|(name, value)| (name, Some(value)))).map(Bson::Document)
    }

    /// The fields, which must not have the names of fields of the documents: the shape would read
    /// their values in both places.
    pub(super) fn checked(mut self, existing: &[&'static str]) -> Self {
        for (name, value) in &mut self.0 {
            if existing.contains(name) {
                *value = Err(replaced(name));
            }
        }
        self
    }

    /// The argument of `$project`, without the `_id` unless it is a field.
    pub(super) fn into_projection(self) -> Raw {
        let excludes_id = !self.0.iter().any(|(name, _)| *name == "_id");
        let fields = self.into_added()?;
        Ok(match fields {
            Bson::Document(fields) if excludes_id => {
                let mut all = doc! { "_id": 0 };
                all.extend(fields);
                all.into()
            }
            fields => fields,
        })
    }

    /// The argument of `$set`.
    pub(super) fn into_added(self) -> Raw {
        let fields = self
            .0
            .into_iter()
            .map(|(name, value)| (name, Some(unambiguous(value))));
        parts(&mut { fields }).map(Bson::Document)
    }

    /// The key of a group, and the other fields.
    pub(super) fn into_group(self, key: Option<Raw>) -> Raw {
        let mut group = Document::new();
        if let Some(key) = key {
            group.insert("_id", key?);
        }
        if let Bson::Document(fields) = self.into_document()? {
            group.extend(fields);
        }
        Ok(group.into())
    }

    /// The fields without the key of a bucket stage, which must be the value that the closure
    /// received.
    pub(super) fn without_key(mut self, stage: &str, key: &Bson) -> std::result::Result<Bson, Box<Error>> {
        let found = self.0.iter().position(|(name, _)| *name == "_id");
        let is_key = found.is_some_and(|at| matches!(&self.0[at].1, Ok(value) if value == key));
        match found {
            Some(at) if is_key => {
                drop(self.0.remove(at));
                self.into_document()
            }
            _ => Err(Box::new(Error::pipeline(
                "_id",
                format!("the key of `{stage}` must be the value that its closure receives"),
            ))),
        }
    }

    /// The name of the only field, which must be the value that the closure received.
    pub(super) fn only_name(
        self,
        stage: &str,
        value: &Bson,
    ) -> std::result::Result<&'static str, Box<Error>> {
        match &self.0[..] {
            [(name, Ok(only))] if only == value => Ok(name),
            [(_, Err(e))] => Err(e.clone()),
            _ => Err(Box::new(Error::pipeline(
                "",
                format!("`{stage}` adds one field, which must be the value that its closure receives"),
            ))),
        }
    }
}

/// The error of an added field with the name of an existing one.
pub(super) fn replaced(name: &str) -> Box<Error> {
    Box::new(Error::pipeline(
        name,
        "the documents have a field of this name, which the added field would replace; rename it in the shape",
    ))
}

/// The value of a field of `$project` and `$set`. There a number or a Boolean includes or excludes
/// the field, and the fields of a document are added to those of an existing one.
fn unambiguous(value: Raw) -> Raw {
    Ok(match value? {
        plain @ (Bson::Int32(_)
        | Bson::Int64(_)
        | Bson::Double(_)
        | Bson::Decimal128(_)
        | Bson::Boolean(_)
        | Bson::Null) => doc! { "$literal": plain }.into(),
        Bson::Document(fields) if !fields.keys().next().is_some_and(|key| key.starts_with('$')) => {
            doc! { "$mergeObjects": [fields] }.into()
        }
        value => value,
    })
}
