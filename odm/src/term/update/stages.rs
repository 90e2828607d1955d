//! Updates by the stages of a pipeline, whose values are expressions over the stored document.

use std::fmt;
use std::marker::PhantomData;

use crate::{
    ast::{
        part::RawPart,
        path::is_within,
        update::{Change, Operator},
    },
    base::{
        bson::{Bson, Document, doc},
        error::{Error, Result},
    },
    path::{AsPath, RawPath, Types, check_path, field::Field, marker::Writable, to_value_path},
    term::{
        expr::{IntoExpr, Raw, Single, lit, reference},
        update::{Body, IntoUpdate, Update, variant},
    },
    values::value::IntoValue,
};

/// Stages of an update, in which the new value of a field is an [expression](crate::expr) over the document: a
/// pipeline of `$set`, `$unset` and `$replaceWith` (MongoDB 4.2+). Created by [`Update::stages`].
///
/// Each method adds a stage, which reads the fields as the stages before it leave them. It is an update as those
/// by operators are, of every call that takes one, but is not combined with operators.
///
/// The version and the times that a model maintains change as by operators. The stages themselves cannot change
/// them, nor `_id` and the schema version of such a model, nor a field that the kind of the model or the scope of
/// the handle fixes, nor an encrypted field: the call fails with [`Error::InvalidUpdate`]. An update without
/// stages is empty; see [`allow_empty`](crate::collection::UpdateOne::allow_empty).
///
/// A change of a field of an enum variant applies only to documents with a value of this variant, as for
/// [operators](Update).
///
/// `Display` prints the stages as Extended JSON, as they will be sent.
///
/// ```
/// # use marula_guide::*; run(async |Shop { server, client, db, orders, customers }| {
/// use marula::expr::size;
/// let update = |o: marula::Fields<Order>| Update::stages().set(o.total(), o.total() + size(o.lines())).unset(o.note());
/// assert_eq!(
///     update(Order::fields()).to_string(),
///     r#"[{"$set": {"total": {"$add": ["$total", {"$size": "$lines"}]}}}, {"$unset": "note"}]"#
/// );
/// assert_eq!(orders.update_many(|o| o.total().gt(100), update).await?.modified_count, 2);
/// # Ok(()) });
/// ```
#[doc(alias = "pipeline")]
#[must_use = "an update does nothing until it is given to a call"]
pub struct UpdateStages<R> {
    stages: std::result::Result<Vec<Document>, Box<Error>>,
    /// The fields that are changed, with the enum variants that they are in.
    changes: Vec<Change>,
    root: Types<R>,
}

impl<R> Update<R> {
    /// An update by the stages of a pipeline, in which the new value of a field is an expression over the document
    /// (MongoDB 4.2+); see [`UpdateStages`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::expr::if_null;
    /// let o = Order::fields();
    /// let update = Update::stages().set(o.note(), if_null(o.note(), "none")).set(o.total(), o.total() * 2);
    /// assert_eq!(
    ///     update.to_string(),
    ///     r#"[{"$set": {"note": {"$ifNull": ["$note", "none"]}}}, {"$set": {"total": {"$multiply": ["$total", 2]}}}]"#
    /// );
    /// ```
    pub fn stages() -> UpdateStages<R> {
        UpdateStages {
            stages: Ok(Vec::new()),
            changes: Vec::new(),
            root: PhantomData,
        }
    }
}

impl<R> UpdateStages<R> {
    /// Sets a field to the value of an expression (`$set`). If the value is missing, the field is removed; a field
    /// with `#[document(skip_none)]` also if it is null.
    ///
    /// The server creates what the path goes through and is missing, as for [`set`](crate::UpdateOps::set); where
    /// that is null or another value that is not a document, it is replaced by a document.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let o = Order::fields();
    /// let update = Update::stages().set(o.total(), o.total() * 2 + 1);
    /// let sent = r#"[{"$set": {"total": {"$add": [{"$multiply": ["$total", 2]}, 1]}}}]"#;
    /// assert_eq!(update.to_string(), sent);
    /// // Values are never read as expressions.
    /// let update = Update::stages().set(o.note(), "$total");
    /// assert_eq!(update.to_string(), r#"[{"$set": {"note": {"$literal": "$total"}}}]"#);
    /// ```
    #[doc(alias = "$set")]
    #[doc(alias = "$addFields")]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the accessors return paths by value"
    )]
    pub fn set<A>(self, field: A, value: impl IntoExpr<R, A::Value>) -> Self
    where
        A: AsPath<Root = R, Mode: Single + Writable>,
    {
        let path = to_value_path(&field);
        let value = value.into_expr().into_raw();
        self.change(&path, |path| {
            if path.skips_null() && matches!(value, Ok(Bson::Null)) {
                return Ok(doc! { "$unset": path.dotted() });
            }
            Ok(doc! { "$set": { path.dotted(): stored(path, value)? } })
        })
    }

    /// Sets a field to a value of any type that the field accepts (`$set`), such as a document, an array or `None`.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Update::stages().set_value(Order::fields().tags(), ["new", "$gift"]);
    /// assert_eq!(update.to_string(), r#"[{"$set": {"tags": {"$literal": ["new", "$gift"]}}}]"#);
    /// ```
    ///
    /// # Errors
    /// The call fails with [`Error::InvalidPipeline`] if the value has encrypted fields, see [`lit`].
    #[doc(alias = "$set")]
    pub fn set_value<A>(self, field: A, value: impl IntoValue<A::Value>) -> Self
    where
        A: AsPath<Root = R, Mode: Single + Writable, Value: Field>,
    {
        self.set(field, lit::<R, A::Value>(value))
    }

    /// Sets a field to the value of an expression in documents for which a condition is true (`$set` with `$cond`).
    /// Other documents keep the field as it is, also if it is missing.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::expr::gt;
    /// let o = Order::fields();
    /// let update = Update::stages().set_if(gt(o.total(), 100), o.status(), Status::Paid);
    /// assert_eq!(
    ///     update.to_string(),
    ///     r#"[{"$set": {"status": {"$cond": [{"$gt": ["$total", 100]}, "paid", "$status"]}}}]"#
    /// );
    /// ```
    #[doc(alias = "$cond")]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the accessors return paths by value"
    )]
    pub fn set_if<A>(
        self,
        condition: impl IntoExpr<R, bool>,
        field: A,
        value: impl IntoExpr<R, A::Value>,
    ) -> Self
    where
        A: AsPath<Root = R, Mode: Single + Writable>,
    {
        let path = to_value_path(&field);
        let (condition, value) = (condition.into_expr().into_raw(), value.into_expr().into_raw());
        self.change(&path, |path| {
            let is_in_optional = <A::Mode as Single>::MAY_BE_MISSING && path.dotted().contains('.');
            let (field, value) = if is_in_optional {
                merged(path, value?)?
            } else {
                (path.dotted(), stored(path, value)?)
            };
            let kept = reference(field);
            Ok(doc! { "$set": { field: { "$cond": [condition?, value, kept] } } })
        })
    }

    /// Removes a field (`$unset`). A document without it can be read only if the field is an `Option` or has
    /// `#[serde(default)]`.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let update = Update::stages().unset(Order::fields().note());
    /// assert_eq!(update.to_string(), r#"[{"$unset": "note"}]"#);
    /// ```
    #[doc(alias = "$unset")]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the accessors return paths by value"
    )]
    pub fn unset<A>(self, field: A) -> Self
    where
        A: AsPath<Root = R, Mode: Single + Writable>,
    {
        self.change(&to_value_path(&field), |path| {
            Ok(doc! { "$unset": path.dotted() })
        })
    }

    /// Replaces the document by the value of an expression (`$replaceWith`). The server keeps its `_id`. The call
    /// fails with [`Error::InvalidUpdate`] if the model has a version, a creation time, a schema version or
    /// encrypted fields, or if its kind or the scope of the handle fixes a field: the value could lack or change
    /// it.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let defaults = doc! { "$mergeObjects": [{ "note": "none" }, "$$ROOT"] };
    /// let update = Update::stages().replace_with(Expr::<Order, Order>::raw(defaults));
    /// assert_eq!(
    ///     update.to_string(),
    ///     r#"[{"$replaceWith": {"$mergeObjects": [{"note": "none"}, "$$ROOT"]}}]"#
    /// );
    /// ```
    #[doc(alias = "$replaceWith")]
    #[doc(alias = "$replaceRoot")]
    pub fn replace_with(mut self, value: impl IntoExpr<R, R>) -> Self {
        let value = value.into_expr().into_raw();
        self.add(|| {
            Ok((
                Change::new(Operator::Set, "", Bson::Null),
                doc! { "$replaceWith": value? },
            ))
        });
        self
    }

    /// Whether the update has no stages. A call rejects such an update; see [`Update::is_empty`].
    ///
    /// ```
    /// # use marula_guide::*;
    /// assert!(Update::<Order>::stages().is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(&self.stages, Ok(stages) if stages.is_empty())
    }

    /// Adds a stage that changes a field.
    fn change(
        mut self,
        path: &RawPath,
        stage: impl FnOnce(&RawPath) -> std::result::Result<Document, Box<Error>>,
    ) -> Self {
        let known = std::mem::take(&mut self.changes);
        self.add(|| {
            let invalid = |reason: String| Error::update(path.dotted().replace('\0', ""), reason);
            check_path(path).map_err(invalid)?;
            if path.dotted().is_empty() {
                return Err(Box::new(invalid(
                    "the whole document is not a field: use `replace_with`".to_owned(),
                )));
            }
            let change = variant::change(Operator::Set, path, Bson::Null)?;
            // A condition in the filter is about the stored document.
            let replaced = change.variants.iter().find(|variant| {
                known.iter().any(|earlier| {
                    earlier.path.is_empty() || is_within(&variant.path, &earlier.path)
                })
            });
            if replaced.is_some() {
                return Err(Box::new(invalid(
                    "a stage before sets the enum that this field is in, so that it can be of another variant; set the whole \
                     value once"
                        .to_owned(),
                )));
            }
            Ok((change, stage(path)?))
        });
        self.changes.splice(0..0, known);
        self
    }

    fn add(&mut self, stage: impl FnOnce() -> std::result::Result<(Change, Document), Box<Error>>) {
        if let Ok(stages) = &mut self.stages {
            match stage() {
                Ok((change, stage)) => {
                    stages.push(stage);
                    self.changes.push(change);
                }
                Err(e) => self.stages = Err(e),
            }
        }
    }

    fn into_body(mut self) -> Result<Body> {
        let stages = self.stages.map_err(|e| *e)?;
        if stages.is_empty() {
            return Ok(Body::Operators(Vec::new()));
        }
        let variants = variant::all(&mut self.changes)?;
        // Encrypted fields have no expressions, and `lit` refuses values that contain them.
        let part = |document| RawPart {
            document,
            is_unchecked: true,
        };
        Ok(Body::Pipeline(stages.into_iter().map(part).collect(), variants))
    }
}

/// The value of a field in `$set`, where the fields of a document are added to those of an existing one.
fn stored(path: &RawPath, value: Raw) -> Raw {
    let value = match value? {
        Bson::Document(fields) if !fields.keys().next().is_some_and(|key| key.starts_with('$')) => {
            doc! { "$mergeObjects": [fields] }.into()
        }
        value => value,
    };
    Ok(if is_removed_by_null(path, &value) {
        doc! { "$ifNull": [value, "$$REMOVE"] }.into()
    } else {
        value
    })
}

/// Whether the field is left out where it is null, and the value can be null.
fn is_removed_by_null(path: &RawPath, value: &Bson) -> bool {
    let can_be_null = match value {
        Bson::Document(_) | Bson::Null => true,
        Bson::String(text) => text.starts_with('$'),
        _ => false,
    };
    path.skips_null() && can_be_null
}

/// The outermost document that a path goes through, with the value at the path: `$set` of the path itself
/// would create the documents that it goes through, also where the condition is false.
fn merged(path: &RawPath, value: Bson) -> std::result::Result<(&str, Bson), Box<Error>> {
    if is_removed_by_null(path, &value) {
        return Err(Box::new(Error::update(
            path.dotted().to_owned(),
            "the field is left out where it is null, and it is in a document that can be missing: add the condition to the filter, \
             and use `set`",
        )));
    }
    let mut value = value;
    let mut rest = path.dotted();
    while let Some((outer, name)) = rest.rsplit_once('.') {
        value = doc! { "$mergeObjects": [reference(outer), { name: value }] }.into();
        rest = outer;
    }
    Ok((rest, value))
}

impl<R> IntoUpdate<R> for UpdateStages<R> {
    fn into_update(self) -> Update<R> {
        Update::new(self.into_body())
    }
}

impl<R> Clone for UpdateStages<R> {
    fn clone(&self) -> Self {
        UpdateStages {
            stages: self.stages.clone(),
            changes: self.changes.clone(),
            root: PhantomData,
        }
    }
}

impl<R> fmt::Display for UpdateStages<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.clone().into_update().fmt(f)
    }
}

impl<R> fmt::Debug for UpdateStages<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UpdateStages({self})")
    }
}
