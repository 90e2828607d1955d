//! Which documents of another collection a stage reads: those that a handle of it finds.

use std::any::TypeId;

use crate::{
    base::{
        bson::{Document, doc},
        error::{Error, Result},
    },
    driver::Namespace,
    models::model::Model,
    query::handle::{
        Collection,
        rows::{Rows, ScopedRows},
        soft_delete::{Scope, restricted},
    },
};

/// The documents that a stage reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    scope: Scope,
    handle: Option<Handle>,
}

/// The collection and the rows of a handle.
#[derive(Clone, Debug)]
struct Handle {
    model: (TypeId, &'static str),
    namespace: Namespace,
    rows: ScopedRows,
}

impl From<Scope> for Source {
    fn from(scope: Scope) -> Self {
        Source { scope, handle: None }
    }
}

impl Source {
    /// The documents that the handle finds.
    pub(in crate::query) fn of<D: Model>(handle: &Collection<D>) -> Self {
        Source {
            scope: handle.scope,
            handle: Some(Handle {
                model: (TypeId::of::<D>(), D::NAME),
                namespace: handle.namespace().clone(),
                rows: handle.rows.clone(),
            }),
        }
    }

    /// Sets which documents of a model with soft deletion are read.
    pub(in crate::query) fn set_scope(&mut self, scope: Scope) {
        self.scope = scope;
    }

    /// Whether it is that of a stage without settings.
    pub(in crate::query) fn is_default(&self) -> bool {
        self.scope == Scope::default() && self.handle.is_none()
    }

    /// The collection of the handle.
    pub(in crate::query) fn namespace(&self) -> Option<&Namespace> {
        self.handle.as_ref().map(|handle| &handle.namespace)
    }

    /// The documents of the handle of another source, unless there is one here.
    pub(in crate::query) fn or(&mut self, other: Self) {
        if self.handle.is_none() {
            self.handle = other.handle;
            if self.scope == Scope::default() {
                self.scope = other.scope;
            }
        }
    }

    /// Rejects a stage that reads another collection than that of the handle.
    pub(in crate::query) fn check(&self, collection: &str) -> Result<()> {
        match self.namespace() {
            Some(own) if own.collection != collection => Err(Error::pipeline(
                "",
                format!(
                    "the handle given to `within` is one of the collection `{}`, and the stage reads `{collection}`",
                    own.collection
                ),
            )),
            _ => Ok(()),
        }
    }

    /// The condition of the documents of `D`. `None` if there is none.
    pub(in crate::query) fn condition<D: Model>(&self) -> Result<Option<Document>> {
        let own = self.scope.condition::<D>();
        Ok(match (own, self.rows::<D>()?) {
            (Some(own), Some(rows)) => Some(doc! { "$and": [own, rows.condition().to_document()] }),
            (own, rows) => own.or_else(|| rows.map(|rows| rows.condition().to_document())),
        })
    }

    /// Adds the condition to the stages of a pipeline that reads documents of `D`.
    pub(in crate::query) fn of_stages<D: Model>(&self, stages: Vec<Document>) -> Result<Vec<Document>> {
        let stages = self.scope.of_stages::<D>(stages);
        Ok(match self.rows::<D>()? {
            None => stages,
            Some(rows) => restricted(stages, rows.condition().to_document(), rows.indexed_condition()),
        })
    }

    /// The rows of the handle.
    fn rows<D: Model>(&self) -> Result<Option<&Rows>> {
        let Some(handle) = &self.handle else {
            return Ok(None);
        };
        let (model, name) = handle.model;
        if model != TypeId::of::<D>() {
            return Err(Error::pipeline(
                "",
                format!(
                    "the handle given to `within` is one of the model `{name}`, and the stage reads documents of `{}`",
                    D::NAME
                ),
            ));
        }
        match handle.rows.as_deref() {
            None => Ok(None),
            Some(Ok(rows)) => Ok(Some(rows)),
            Some(Err(error)) => Err(error.clone()),
        }
    }
}
