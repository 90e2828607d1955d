//! Typed updates: operators on fields, combined in tuples, and checked for conflicts before they
//! are sent.

use std::fmt;
use std::marker::PhantomData;

use crate::{
    ast::{
        document_item::raw_part,
        part::RawPart,
        update::{Change, Changes, Operator, Operators, Variant},
    },
    base::{
        bson::{Bson, Document},
        error::{Error, Result},
        relaxed_json::relaxed,
    },
    path::{RawPath, check_path},
    term::filter::Filter,
};

mod array;
mod build;
mod join;
mod ops;
mod stages;
mod variant;

pub use crate::ast::document_item::DocumentItem;
pub use array::{ArrayUpdateOps, PushEach};
pub use build::Compiled;
pub use join::IntoUpdate;
pub use ops::UpdateOps;
pub use stages::UpdateStages;

#[derive(Clone, Debug)]
enum Body {
    Operators(Vec<Change>),
    /// The stages of a pipeline, and the enum variants whose fields they change.
    Pipeline(Vec<RawPart>, Vec<Variant>),
    /// An empty update that is allowed.
    Unchanged,
}

const NOTHING: &str = "the update changes nothing; if it may, use `update_one`, `update_many` or `find_one_and_update` with \
                       `allow_empty()`, and without `upsert`";

/// A change to documents of type `R`.
///
/// Created by the operators of [`UpdateOps`] and [`ArrayUpdateOps`]; a tuple combines several.
/// `Display` prints the update as Extended JSON, as it will be sent.
///
/// A change of a field of an enum variant applies only to values of this variant: the tag is added
/// to the filter of the update, or to the array filter for a variant inside array elements. A
/// document with another variant does not match, so none of the changes of the update are made to
/// it.
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

    /// An update that a call rejects with the error.
    pub(crate) fn failed(error: Error) -> Self {
        Self::new(Err(error))
    }

    fn one(operator: Operator, path: &RawPath, operand: Result<Bson, Error>) -> Self {
        Self::with_changes(Self::change(operator, path, operand))
    }

    fn change(operator: Operator, path: &RawPath, operand: Result<Bson, Error>) -> Result<Change> {
        let operand = operand?;
        check_path(path).map_err(|reason| Error::update(path.dotted().replace('\0', ""), reason))?;
        variant::change(operator, path, operand)
    }

    fn with_changes(change: Result<Change>) -> Self {
        Self::new(change.map(|change| {
            // An update often has a second change.
            let mut changes = Vec::with_capacity(2);
            changes.push(change);
            Body::Operators(changes)
        }))
    }

    /// Whether the update has no operators: none was given, or only `Option`s that are `None`. A
    /// call rejects such an update with [`Error::InvalidUpdate`], unless it
    /// [allows](crate::collection::UpdateOne::allow_empty) it.
    ///
    /// ```
    /// # use marula::{Document, IntoUpdate, Update, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "people")]
    /// # struct Person { _id: i64, name: String }
    /// # let name = None::<String>;
    /// let patch: Update<Person> = (name.map(|n| Person::fields().name().set(n)),).into_update();
    /// assert!(patch.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.body {
            Ok(Body::Operators(operations)) => operations.is_empty(),
            Ok(Body::Pipeline(stages, _)) => stages.is_empty(),
            Ok(Body::Unchanged) => true,
            Err(_) => false,
        }
    }

    /// Whether the update is empty, and allowed to be.
    pub(crate) fn is_unchanged(&self) -> bool {
        matches!(self.body, Ok(Body::Unchanged))
    }

    /// Allows that the update is empty: then it is sent as one that changes no stored document.
    pub(crate) fn allow_empty(&mut self) {
        if self.is_empty() {
            self.body = Ok(Body::Unchanged);
        }
    }

    /// Rejects an upsert by an empty update.
    pub(crate) fn check_upsert(&self) -> Result<()> {
        match &self.body {
            Ok(Body::Unchanged) => Err(Error::update(
                "",
                "an upsert by an empty update would insert a document without fields: use an update without `upsert`, or \
                 insert the document",
            )),
            _ => Ok(()),
        }
    }

    /// An update without operators, to which others are added by [`and`](Update::and). A call
    /// rejects it with [`Error::InvalidUpdate`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// let mut update = Update::empty();
    /// for tag in ["vip"] {
    ///     update = update.and(Order::fields().tags().add_to_set(tag));
    /// }
    /// assert_eq!(update.to_string(), r#"{"$addToSet": {"tags": "vip"}}"#);
    /// ```
    pub fn empty() -> Self {
        Self::new(Ok(Body::Operators(Vec::new())))
    }

    /// A document of operators (`{$set: {…}, $inc: {…}}`), sent as it is. Its paths are checked for
    /// conflicts with the other operators of the update.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Update::raw(doc! { "$set": { "legacy": true } }).and(Order::fields().total().inc(1));
    /// assert_eq!(update.to_string(), r#"{"$set": {"legacy": true}, "$inc": {"total": 1}}"#);
    /// ```
    pub fn raw(update: Document) -> Self {
        Self::new(build::parse(update).map(Body::Operators))
    }

    /// An aggregation pipeline of `$set`, `$unset`, `$replaceWith` and their aliases (MongoDB 4.2+), sent as it is. It cannot
    /// be combined with operators. For typed stages see [`stages`](Update::stages).
    ///
    /// Models with a version, a time, a kind, a schema version or encrypted fields, and handles with a scope, accept only `$set`, `$addFields` and
    /// `$unset` of other fields, as do upserts with a generated id that is not an `ObjectId`: other stages could lose or set
    /// those fields. The call fails with [`Error::InvalidUpdate`] otherwise. With encrypted fields each stage must also be an
    /// [`Unchecked`](crate::encryption::Unchecked) document, and the client must encrypt.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let stages = [doc! { "$set": { "total": { "$multiply": ["$total", 2] } } }];
    /// let update = Update::<Order>::pipeline(stages);
    /// assert_eq!(update.to_string(), r#"[{"$set": {"total": {"$multiply": ["$total", 2]}}}]"#);
    /// ```
    pub fn pipeline(stages: impl IntoIterator<Item: DocumentItem>) -> Self {
        let stages = stages.into_iter().map(raw_part).collect();
        Self::new(Ok(Body::Pipeline(stages, Vec::new())))
    }

    /// Adds another change. A pipeline combined with operators is rejected with
    /// [`Error::InvalidUpdate`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let update = o.total().inc(1).and(o.tags().push("vip"));
    /// assert_eq!(update.to_string(), r#"{"$inc": {"total": 1}, "$push": {"tags": "vip"}}"#);
    /// ```
    pub fn and(self, other: impl IntoUpdate<R>) -> Self {
        let join = |a: Body, b: Body| match (a, b) {
            (Body::Operators(a), b) if a.is_empty() => Ok(b),
            (Body::Operators(mut a), Body::Operators(b)) => {
                a.extend(b);
                Ok(Body::Operators(a))
            }
            (a, Body::Operators(b)) if b.is_empty() => Ok(a),
            (Body::Unchanged, other) | (other, Body::Unchanged) => Ok(other),
            _ => Err(Error::update(
                "",
                "a pipeline cannot be combined with another update",
            )),
        };
        match (self.body, other.into_update().body) {
            (Ok(a), Ok(b)) => Self::new(join(a, b)),
            (Err(e), _) | (_, Err(e)) => Self::new(Err(*e)),
        }
    }

    /// The update in the form in which it is sent: operators grouped, array filters numbered.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::update::Compiled;
    /// let update = Order::fields().lines().filtered_positional(|l| l.qty().lt(1)).qty().set(1);
    /// let Compiled::Operators { update, array_filters } = update.compile()? else { unreachable!() };
    /// assert_eq!(update, doc! { "$set": { "lines.$[f0].qty": 1 } });
    /// assert_eq!(array_filters, [doc! { "f0.qty": { "$lt": 1 } }]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidUpdate`] if two operators change the same field, or a field and a part of
    /// it; if there is nothing to change; or if a field of an enum variant is changed, which needs
    /// a condition in the filter, see [`into_parts`](Update::into_parts). [`Error::Encode`] for a
    /// value that cannot be encoded as BSON.
    pub fn compile(self) -> Result<Compiled> {
        let (condition, changes) = self.parts()?;
        match condition.first() {
            None => Ok(changes.into()),
            Some(variant) => Err(Error::update(
                variant.path.clone(),
                "the update of a field of an enum variant needs a condition in the filter: use `into_parts()`",
            )),
        }
    }

    /// The update in the form in which it is sent, and the condition that must be added to its
    /// filter: that the values are of the enum variants whose fields are changed. The methods of
    /// [`Collection`](crate::Collection) add it.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::update::Compiled;
    /// # #[derive(Embedded)] #[serde(tag = "kind")]
    /// # enum Payment { Card { fee: i64 }, Cash {} }
    /// # #[derive(Document)] #[document(collection = "sales")]
    /// # struct Sale { _id: i64, payment: Payment }
    /// let (condition, update) = Sale::fields().payment().card().fee().inc(1).into_parts()?;
    /// assert_eq!(condition.to_string(), r#"{"payment.kind": {"$eq": "Card"}}"#);
    /// assert!(matches!(update, Compiled::Operators { .. }));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`compile`](Update::compile), but fields of enum variants are allowed.
    pub fn into_parts(self) -> Result<(Filter<R>, Compiled)> {
        let (variants, changes) = self.parts()?;
        let condition = if variants.is_empty() {
            Filter::default()
        } else {
            Filter::new(Ok(Variant::conditions(variants)))
        };
        Ok((condition, changes.into()))
    }

    pub(crate) fn parts(self) -> Result<(Vec<Variant>, Changes)> {
        match self.body.map_err(|e| *e)? {
            Body::Operators(changes) if changes.is_empty() => Err(Error::update("", NOTHING)),
            Body::Operators(mut changes) => {
                let variants = variant::all(&mut changes)?;
                Ok((variants, Changes::Operators(Operators::new(changes)?)))
            }
            Body::Pipeline(stages, variants) => Ok((variants, Changes::Stages(stages))),
            Body::Unchanged => Ok((Vec::new(), Changes::Operators(Operators::unchanged()))),
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
        match self.clone().parts() {
            Ok((variants, Changes::Operators(operators))) => {
                relaxed(&operators.to_document()).fmt(f)?;
                let array_filters = operators.array_filters();
                if !array_filters.is_empty() {
                    let filters = Bson::Array(array_filters.into_iter().map(Bson::Document).collect());
                    write!(f, " arrayFilters {}", relaxed(&filters))?;
                }
                print_conditions(variants, f)
            }
            Ok((variants, Changes::Stages(stages))) => {
                let stages = stages.into_iter().map(|stage| Bson::Document(stage.document));
                relaxed(&Bson::Array(stages.collect())).fmt(f)?;
                print_conditions(variants, f)
            }
            Err(e) => write!(f, "<{e}>"),
        }
    }
}

fn print_conditions(variants: Vec<Variant>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if variants.is_empty() {
        return Ok(());
    }
    let condition = Variant::conditions(variants).to_document();
    write!(f, " where {}", relaxed(&condition))
}

impl<R> fmt::Debug for Update<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Update({self})")
    }
}
