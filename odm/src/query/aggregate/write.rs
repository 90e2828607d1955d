//! Stages that write the results: `$merge` and `$out`.

use crate::{
    base::{
        bson::{Bson, DecodeError, Document, doc},
        error::Error,
    },
    models::model::Model,
    path::{Mode, Path, field::Field},
    query::{aggregate::Pipeline, handle::protection::first_encrypted},
    term::expr::Raw,
    values::codec::{Decode, Value},
};

/// The type of the documents after [`merge_into`](Pipeline::merge_into) and [`out`](Pipeline::out):
/// there are none. Run the pipeline by [`execute`](Pipeline::execute).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written(());

impl Field for Written {
    type Nav<R, M: Mode> = Path<R, Written, M>;
    fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Self::Nav<R, M> {
        path
    }
}

/// What `$merge` does with a document that exists, and where MongoDB has a choice, with one that does not.
/// It has no other combinations: with [`KeepExisting`](WhenMatched::KeepExisting) and
/// [`Fail`](WhenMatched::Fail), a document that does not exist is inserted.
///
/// ```
/// use marula::aggregate::{Merge, WhenMatched, WhenNotMatched};
/// let known = Merge::new().when_matched(WhenMatched::Replace(WhenNotMatched::Discard));
/// let new = Merge::new().when_matched(WhenMatched::KeepExisting);
/// # drop((known, new));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WhenMatched {
    /// Replace it.
    Replace(WhenNotMatched),
    /// Replace the fields that the new document has.
    Merge(WhenNotMatched),
    /// Keep it as it is, and insert documents that do not exist.
    KeepExisting,
    /// Fail, and insert documents that do not exist. Documents that were written before stay.
    Fail,
}

/// Replace, and insert documents that do not exist.
impl Default for WhenMatched {
    fn default() -> Self {
        WhenMatched::Replace(WhenNotMatched::Insert)
    }
}

/// What `$merge` does with a document that does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenNotMatched {
    /// Insert it.
    #[default]
    Insert,
    /// Leave it out.
    Discard,
    /// Fail. Documents that were written before stay.
    Fail,
}

/// The options of [`merge_into`](Pipeline::merge_into).
///
/// ```
/// use marula::aggregate::{Merge, WhenMatched};
/// let merge = Merge::new().collection("archive").when_matched(WhenMatched::KeepExisting);
/// # drop(merge);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Merge {
    collection: Option<String>,
    on: Vec<String>,
    when_matched: WhenMatched,
}

impl Merge {
    /// The default options.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::Merge;
    /// let merge = Merge::new();
    /// let stored = Pipeline::<Order>::new().merge_into(merge);
    /// assert!(stored.to_string().contains(r#""into": "orders""#));
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The collection to write to. Default: that of the model.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::Merge;
    /// let merge = Merge::new().collection("archive");
    /// let stored = Pipeline::<Order>::new().merge_into(merge);
    /// assert!(stored.to_string().contains(r#""into": "archive""#));
    /// ```
    #[must_use]
    pub fn collection(mut self, name: impl Into<String>) -> Self {
        self.collection = Some(name.into());
        self
    }

    /// The stored names of the fields that identify a document. They need a unique index. Default:
    /// `_id`.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::Merge;
    /// let merge = Merge::new().on(["customer", "total"]);
    /// let stored = Pipeline::<Order>::new().merge_into(merge);
    /// assert!(stored.to_string().contains(r#""on": ["customer", "total"]"#));
    /// ```
    #[must_use]
    pub fn on<N: Into<String>>(mut self, fields: impl IntoIterator<Item = N>) -> Self {
        self.on = fields.into_iter().map(Into::into).collect();
        self
    }

    /// What to do with a document that exists, and with one that does not. Default: replace it, and
    /// insert it.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::{Merge, WhenMatched, WhenNotMatched};
    /// let merge = Merge::new().when_matched(WhenMatched::Merge(WhenNotMatched::Discard));
    /// let stored = Pipeline::<Order>::new().merge_into(merge).to_string();
    /// assert!(stored.contains(r#""whenMatched": "merge", "whenNotMatched": "discard""#));
    /// ```
    #[must_use]
    pub fn when_matched(mut self, action: WhenMatched) -> Self {
        self.when_matched = action;
        self
    }

    fn into_document<S: Model>(self) -> Document {
        let mut merge = doc! { "into": self.collection.as_deref().unwrap_or(S::COLLECTION) };
        if !self.on.is_empty() {
            merge.insert("on", self.on);
        }
        let (matched, not_matched) = match self.when_matched {
            WhenMatched::Replace(not_matched) => ("replace", not_matched),
            WhenMatched::Merge(not_matched) => ("merge", not_matched),
            WhenMatched::KeepExisting => ("keepExisting", WhenNotMatched::Insert),
            WhenMatched::Fail => ("fail", WhenNotMatched::Insert),
        };
        let with_kind = S::BEHAVIOR.discriminator.and_then(|kind| {
            let merged = match matched {
                "replace" => Bson::from("$$new"),
                "merge" => doc! { "$mergeObjects": ["$$ROOT", "$$new"] }.into(),
                _ => return None,
            };
            let is_own = doc! { "$eq": [format!("${}", kind.field), { "$literal": kind.value }] };
            // A document of another kind stays as it is.
            Some(Bson::Array(vec![
                doc! { "$replaceWith": { "$cond": [is_own, merged, "$$ROOT"] } }.into(),
            ]))
        });
        merge.insert("whenMatched", with_kind.unwrap_or_else(|| matched.into()));
        merge.insert(
            "whenNotMatched",
            match not_matched {
                WhenNotMatched::Insert => "insert",
                WhenNotMatched::Discard => "discard",
                WhenNotMatched::Fail => "fail",
            },
        );
        merge
    }
}

impl<In, S: Model, C> Pipeline<In, S, C> {
    /// Writes the documents into the collection of their model (`$merge`), which must be the last
    /// stage. Run it by [`execute`](Pipeline::execute). Into the collection that the pipeline reads:
    /// MongoDB 4.4+.
    ///
    /// The server writes the documents as the pipeline returns them: hooks and validations do not run, and
    /// versions for optimistic locking and times are those that the documents contain. For a model of one
    /// [kind](derive@crate::Document#kinds), a document of another kind that exists is kept.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, aggregate::Merge, expr::*, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, customer: i64, total: i64 }
    /// #[derive(Document, Shape)]
    /// #[document(collection = "revenues")]
    /// struct Revenue {
    ///     #[serde(rename = "_id")]
    ///     customer: i64,
    ///     revenue: i64,
    /// }
    /// let revenues = Pipeline::<Order>::new()
    ///     .group(|o| RevenueGroup { customer: expr(o.customer()), revenue: sum(o.total()) })
    ///     .merge_into(Merge::new());
    /// assert_eq!(
    ///     revenues.to_string(),
    ///     concat!(
    ///         r#"[{"$group": {"_id": "$customer", "revenue": {"$sum": "$total"}}}, "#,
    ///         r#"{"$merge": {"into": "revenues", "whenMatched": "replace", "#,
    ///         r#""whenNotMatched": "insert"}}]"#
    ///     )
    /// );
    /// ```
    #[doc(alias = "$merge")]
    pub fn merge_into(self, merge: Merge) -> Pipeline<In, Written, C> {
        self.with_own_fields()
            .stage(
                "$merge",
                written::<S>("$merge", merge.into_document::<S>().into()),
            )
            .then()
    }

    /// Replaces the collection of the model by the documents (`$out`), which must be the last
    /// stage. Run it by [`execute`](Pipeline::execute).
    ///
    /// All other documents of the collection are removed, also soft-deleted ones, which a pipeline does
    /// not read: start it from [`with_deleted`](crate::Collection::with_deleted) to keep them. For a model of one
    /// [kind](derive@crate::Document#kinds) the pipeline is an error.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64, total: i64 }
    /// let sorted = Pipeline::<Order>::new().sort(|o| o.total().asc()).out();
    /// assert_eq!(sorted.to_string(), r#"[{"$sort": {"total": 1}}, {"$out": "orders"}]"#);
    /// ```
    #[doc(alias = "$out")]
    pub fn out(self) -> Pipeline<In, Written, C> {
        self.out_to(S::COLLECTION)
    }

    /// The same as [`out`](Pipeline::out), with a collection of another name than the model's.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "orders")]
    /// # struct Order { _id: i64 }
    /// let copy = Pipeline::<Order>::new().out_to("copies");
    /// assert_eq!(copy.to_string(), r#"[{"$out": "copies"}]"#);
    /// ```
    pub fn out_to(self, collection: &str) -> Pipeline<In, Written, C> {
        let argument = if S::BEHAVIOR.discriminator.is_some() && collection == S::COLLECTION {
            Err(Box::new(Error::pipeline(
                "",
                format!(
                    "`$out` into `{collection}` would remove the documents of other kinds than `{}`; use `merge_into`, or `out_to` with \
                     another collection",
                    S::NAME
                ),
            )))
        } else {
            written::<S>("$out", Bson::from(collection))
        };
        self.with_own_fields().stage("$out", argument).then()
    }

    /// Sets the version of documents without one, if the documents of the model have a version, see
    /// [`Versioned`](crate::Versioned), and the kind of the model.
    fn with_own_fields(self) -> Self {
        let mut fields = Document::new();
        if let Some(schema) = S::BEHAVIOR.schema {
            let version = doc! { "$ifNull": [format!("${}", schema.field), schema.stored()] };
            fields.insert(schema.field, version);
        }
        if let Some(kind) = S::BEHAVIOR.discriminator {
            fields.insert(kind.field, doc! { "$literal": kind.value });
        }
        if fields.is_empty() {
            return self;
        }
        self.stage("$set", Ok(fields.into()))
    }
}

/// The argument of a stage that writes documents of a model, which the server does not encrypt.
fn written<S: Model>(stage: &str, argument: Bson) -> Raw {
    match first_encrypted::<S>() {
        None => Ok(argument),
        Some(path) => Err(Box::new(Error::pipeline(
            path,
            format!(
                "the field is encrypted by clients, and `{stage}` would store the value that the server has; read the documents, and \
                 insert them"
            ),
        ))),
    }
}

/// There are no documents after the stage.
impl<'de> Decode<'de> for Written {
    fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
        <()>::decode(value).map(Written)
    }
}
