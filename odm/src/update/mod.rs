//! Typed updates: operators on fields, combined in tuples, and checked for conflicts before they
//! are sent.

use std::fmt;
use std::marker::PhantomData;

use crate::bson::{Bson, Document, doc};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::path::{ArrayFilter, RawPath, check_path};
use crate::relaxed_json::relaxed;

mod array;
mod build;
mod join;
mod ops;
pub(crate) mod variant;

pub use array::{ArrayUpdateOps, PushEach};
pub use build::Compiled;
pub use join::{DocumentItem, IntoUpdate};
pub use ops::UpdateOps;
use variant::Variant;

/// One operator on one path.
#[derive(Clone, Debug)]
struct Operation {
    operator: String,
    path: String,
    value: Bson,
    /// The conditions of `$[f0]`, `$[f1]` … in `path`.
    array_filters: Vec<ArrayFilter>,
    /// The enum variants that the path goes through, except those inside elements that have an
    /// array filter.
    variants: Vec<Variant>,
}

#[derive(Clone, Debug)]
enum Body {
    Operations(Vec<Operation>),
    Pipeline(Vec<Document>),
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

    fn one(operator: &str, path: &RawPath, value: Result<Bson, Error>) -> Self {
        let build = || {
            let value = value?;
            check_path(path).map_err(|reason| Error::update(path.dotted().replace('\0', ""), reason))?;
            let target = variant::target(path)?;
            Ok(Body::Operations(vec![Operation {
                operator: operator.to_owned(),
                path: target.path,
                value,
                array_filters: target.array_filters,
                variants: target.variants,
            }]))
        };
        Self::new(build())
    }

    /// Adds the variants of a second path that the operator changes.
    fn also_within(mut self, path: &RawPath) -> Self {
        match (&mut self.body, variant::target(path)) {
            (Ok(Body::Operations(operations)), Ok(target)) => {
                if let [operation] = &mut operations[..] {
                    operation.variants.extend(target.variants);
                }
                self
            }
            (Ok(_), Err(error)) => Self::new(Err(error)),
            _ => self,
        }
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
            Ok(Body::Operations(operations)) => operations.is_empty(),
            Ok(Body::Pipeline(stages)) => stages.is_empty(),
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
        Self::new(Ok(Body::Operations(Vec::new())))
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
        Self::new(build::parse(update).map(Body::Operations))
    }

    /// An aggregation pipeline of `$set`, `$unset`, `$replaceWith` and their aliases, sent
    /// unchecked (MongoDB 4.2+). It cannot be combined with operators.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let stages = [doc! { "$set": { "total": { "$multiply": ["$total", 2] } } }];
    /// let update = Update::<Order>::pipeline(stages);
    /// assert_eq!(update.to_string(), r#"[{"$set": {"total": {"$multiply": ["$total", 2]}}}]"#);
    /// ```
    pub fn pipeline(stages: impl IntoIterator<Item: DocumentItem>) -> Self {
        let stages = stages.into_iter().map(DocumentItem::into_document);
        Self::new(Ok(Body::Pipeline(stages.collect())))
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
            (Body::Operations(mut a), Body::Operations(b)) => {
                a.extend(b);
                Ok(Body::Operations(a))
            }
            (Body::Operations(a), b) if a.is_empty() => Ok(b),
            (a, Body::Operations(b)) if b.is_empty() => Ok(a),
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
        let (condition, compiled) = self.parts()?;
        match condition.first() {
            None => Ok(compiled),
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
        let (variants, compiled) = self.parts()?;
        let condition = if variants.is_empty() {
            Filter::default()
        } else {
            Filter::new(Ok(variant::conditions(variants)))
        };
        Ok((condition, compiled))
    }

    pub(crate) fn parts(self) -> Result<(Vec<Variant>, Compiled)> {
        match self.body.map_err(|e| *e)? {
            Body::Operations(mut operations) => {
                let variants = variant::all(&mut operations)?;
                Ok((variants, build::compile(operations)?))
            }
            Body::Pipeline(stages) => Ok((Vec::new(), Compiled::Pipeline(stages))),
            // The server changes nothing, because it does not insert. Before MongoDB 5.0 it rejects
            // an operator without fields.
            Body::Unchanged => Ok((
                Vec::new(),
                Compiled::Operators {
                    update: doc! { "$setOnInsert": { "_id": Bson::Null } },
                    array_filters: Vec::new(),
                },
            )),
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
            Ok((
                variants,
                Compiled::Operators {
                    update,
                    array_filters,
                },
            )) => {
                relaxed(&update).fmt(f)?;
                if !array_filters.is_empty() {
                    let filters = Bson::Array(array_filters.into_iter().map(Bson::Document).collect());
                    write!(f, " arrayFilters {}", relaxed(&filters))?;
                }
                if !variants.is_empty() {
                    let condition = variant::conditions(variants).to_document();
                    write!(f, " where {}", relaxed(&condition))?;
                }
                Ok(())
            }
            Ok((_, Compiled::Pipeline(stages))) => {
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
