//! Typed updates: operators on fields, joined in tuples, checked for overlap before they are sent.

use std::fmt;
use std::marker::PhantomData;

use crate::bson::{Bson, Document};
use crate::error::{Error, Result};
use crate::json::relaxed;
use crate::path::{RawPath, check_path};

mod array;
mod build;
mod join;
mod ops;

pub use array::{ArrayUpdateOps, PushEach};
pub use build::Compiled;
pub use join::IntoUpdate;
pub use ops::UpdateOps;

/// One operator on one path.
#[derive(Clone, Debug)]
struct Operation {
    operator: String,
    path: String,
    value: Bson,
    /// The conditions of `$[f0]`, `$[f1]` … in this path.
    array_filters: Vec<Document>,
}

#[derive(Clone, Debug)]
enum Body {
    Operations(Vec<Operation>),
    Pipeline(Vec<Document>),
}

/// A change to documents of type `R`.
///
/// Made by the operators of [`UpdateOps`] and [`ArrayUpdateOps`]; several are joined in a tuple. `Display` prints what
/// will be sent, as Extended JSON.
#[must_use = "an update does nothing until it is given to a call"]
pub struct Update<R> {
    body: Result<Body, Box<Error>>,
    root: PhantomData<fn() -> R>,
}

impl<R> Update<R> {
    fn new(body: Result<Body, Error>) -> Self {
        Update {
            body: body.map_err(Box::new),
            root: PhantomData,
        }
    }

    fn one(operator: &str, path: &RawPath, value: Result<Bson, Error>) -> Self {
        let build = || {
            let value = value?;
            check_path(path).map_err(|reason| Error::update(path.dotted().replace('\0', ""), reason))?;
            Ok(Body::Operations(vec![Operation {
                operator: operator.to_owned(),
                path: path.dotted().to_owned(),
                value,
                array_filters: path.array_filters().to_vec(),
            }]))
        };
        Self::new(build())
    }

    /// No change yet: the start of an update that is put together in steps.
    pub fn empty() -> Self {
        Self::new(Ok(Body::Operations(Vec::new())))
    }

    /// A document of operators as it is (`{$set: {…}, $inc: {…}}`). Its paths still take part in the check for overlap.
    pub fn raw(update: Document) -> Self {
        Self::new(build::parse(update).map(Body::Operations))
    }

    /// An aggregation pipeline. It cannot be joined with operators.
    pub fn pipeline(stages: impl IntoIterator<Item = Document>) -> Self {
        Self::new(Ok(Body::Pipeline(stages.into_iter().collect())))
    }

    /// Adds another change.
    pub fn and(self, other: impl IntoUpdate<R>) -> Self {
        let join = |a: Body, b: Body| match (a, b) {
            (Body::Operations(mut a), Body::Operations(b)) => {
                a.extend(b);
                Ok(Body::Operations(a))
            }
            (Body::Operations(a), b) if a.is_empty() => Ok(b),
            (a, Body::Operations(b)) if b.is_empty() => Ok(a),
            _ => Err(Error::update(
                "",
                "a pipeline cannot be joined with another update",
            )),
        };
        match (self.body, other.into_update().body) {
            (Ok(a), Ok(b)) => Self::new(join(a, b)),
            (Err(e), _) | (_, Err(e)) => Self::new(Err(*e)),
        }
    }

    /// What will be sent: the operators grouped, the array filters numbered.
    ///
    /// # Errors
    /// [`Error::InvalidUpdate`] when two operators change the same field, or one changes a part of what the other
    /// changes, or nothing is changed at all; [`Error::Encode`] for a value without a BSON form.
    pub fn compile(self) -> Result<Compiled> {
        match self.body.map_err(|e| *e)? {
            Body::Operations(operations) => build::compile(operations),
            Body::Pipeline(stages) => Ok(Compiled::Pipeline(stages)),
        }
    }
}

impl<R> Clone for Update<R> {
    fn clone(&self) -> Self {
        Update {
            body: self.body.clone(),
            root: PhantomData,
        }
    }
}

impl<R> fmt::Display for Update<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.clone().compile() {
            Ok(Compiled::Operators {
                update,
                array_filters,
            }) => {
                relaxed(&update).fmt(f)?;
                if array_filters.is_empty() {
                    return Ok(());
                }
                let filters = Bson::Array(array_filters.into_iter().map(Bson::Document).collect());
                write!(f, " arrayFilters {}", relaxed(&filters))
            }
            Ok(Compiled::Pipeline(stages)) => {
                let stages = Bson::Array(stages.into_iter().map(Bson::Document).collect());
                relaxed(&stages).fmt(f)
            }
            Err(e) => write!(f, "<{e}>"),
        }
    }
}

impl<R> fmt::Debug for Update<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Update({self})")
    }
}
