//! Which documents of another collection a stage reads: those that a handle of it finds.

use std::any::TypeId;

use crate::{
    base::{
        bson::{Document, doc},
        error::{Error, Result},
    },
    models::model::Model,
    query::handle::{
        Collection,
        rows::ScopedRows,
        soft_delete::{Scope, restricted},
    },
};

/// The documents that a stage reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    scope: Scope,
    handle: Option<Handle>,
}

/// What a handle adds to a scope.
#[derive(Clone, Debug)]
struct Handle {
    model: (TypeId, &'static str),
    database: String,
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
                database: handle.namespace().database.clone(),
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

    /// The database of the handle.
    pub(in crate::query) fn database(&self) -> Option<&str> {
        self.handle.as_ref().map(|handle| handle.database.as_str())
    }

    /// The condition of the documents of `D`. `None` if there is none.
    pub(in crate::query) fn condition<D: Model>(&self) -> Result<Option<Document>> {
        let own = self.scope.condition::<D>();
        Ok(match (own, self.rows::<D>()?) {
            (Some(own), Some(rows)) => Some(doc! { "$and": [own, rows] }),
            (own, rows) => own.or(rows),
        })
    }

    /// Adds the condition to the stages of a pipeline that reads documents of `D`.
    pub(in crate::query) fn of_stages<D: Model>(&self, stages: Vec<Document>) -> Result<Vec<Document>> {
        let stages = self.scope.of_stages::<D>(stages);
        Ok(match self.rows::<D>()? {
            None => stages,
            Some(rows) => restricted(stages, rows.clone(), Some(rows)),
        })
    }

    /// The condition of the rows of the handle.
    fn rows<D: Model>(&self) -> Result<Option<Document>> {
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
            Some(Ok(rows)) => Ok(Some(rows.condition().to_document())),
            Some(Err(error)) => Err(error.clone()),
        }
    }
}
