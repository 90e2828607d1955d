//! [`Collection::count_documents`], which runs `aggregate` ([CRUD specification], "Count API
//! Details").
//!
//! [CRUD specification]: https://github.com/mongodb/specifications/blob/master/source/crud/crud.md

use super::shown::{FieldNames, debug_without_values};
use super::{
    Deferred, InSession,
    aggregate::{Aggregate, AggregateOptions},
    awaitable,
    declare::{define_options, option_setters},
    explain::{Explain, explain_method},
    session_setter,
};
use crate::{
    Collection, Result,
    api::collection::CollectionInner,
    bson::{Document, IntoDocument, RawDocumentBuf, doc, find_element, rawdoc},
    options::FindOptions,
    proto::command::{count, invalid_count},
};

/// The options of `count_documents`. See `api/command/declare.rs`.
#[doc(hidden)]
#[macro_export]
macro_rules! __count_documents_options {
    ($then:path { $($arguments:tt)* }) => {
        $crate::__query_options! { $then { $($arguments)* }
            /// The number of matching documents to skip. Default: 0.
            skip: plain u64;
            /// The maximum number of documents to count. Default: 0, no limit.
            limit: plain u64;
            /// Variables for expressions, e.g. `doc! { "least": 5 }`, used as `$$least` in `$expr`
            /// (MongoDB 5.0+). Default: none.
            let_vars: boxed_document [needs (5, 0)];
        }
    };
}

crate::__count_documents_options! { define_options {
    /// Options of [`Collection::count_documents`].
    pub struct CountDocumentsOptions;
} }

/// Copies the options that `find` and `count_documents` share, all but `skip` and `limit`.
impl From<&FindOptions> for CountDocumentsOptions {
    fn from(options: &FindOptions) -> Self {
        Self {
            skip: None,
            limit: None,
            hint: options.hint.clone(),
            collation: options.collation.clone(),
            comment: options.comment.clone(),
            max_time: options.max_time,
            timeout: options.timeout,
            let_vars: options.let_vars.clone(),
            raw_data: options.raw_data,
            read_concern: options.read_concern.clone(),
            read_preference: options.read_preference.clone(),
            requires: options.requires.clone(),
            deferred: options.deferred.clone(),
        }
    }
}

impl<T> Collection<T> {
    /// The exact number of documents that match the filter; 0 if the collection does not exist. It
    /// runs an aggregation, which reads all matching documents or an index, so the filter cannot
    /// contain `$where`, `$near` and `$nearSphere`: use `$expr`, and `$geoWithin` with `$center` or
    /// `$centerSphere`.
    pub fn count_documents(&self, filter: impl IntoDocument) -> CountDocuments<'_> {
        let mut deferred = Deferred::default();
        CountDocuments {
            collection: self.inner(),
            filter: deferred.document("filter", filter),
            deferred,
            options: CountDocumentsOptions::default(),
            session: self.inner().session(),
        }
    }
}

/// Counts documents exactly. Await it for the number; see [`Collection::count_documents`].
#[must_use = "nothing is sent before the action is awaited"]
pub struct CountDocuments<'a> {
    collection: &'a CollectionInner,
    filter: RawDocumentBuf,
    deferred: Deferred,
    options: CountDocumentsOptions,
    session: InSession<'a>,
}

debug_without_values! {
    [] CountDocuments<'_>, "CountDocuments", |it|
    namespace: it.collection.namespace(), filter: FieldNames(&it.filter), options: it.options
}

impl<'a> CountDocuments<'a> {
    crate::__count_documents_options! { option_setters { CountDocumentsOptions } }

    session_setter!();

    explain_method! {
        pub fn explain(self) -> Explain<'a> {
            let collection = self.collection;
            match self.into_aggregate() {
                Ok(aggregate) => aggregate.explain(),
                Err(error) => {
                    let mut deferred = Deferred::default();
                    deferred.check(Err(error));
                    Aggregate::of_collection(collection, [] as [Document; 0]).explain().with_error(deferred)
                }
            }
        }
    }

    /// `$match`, `$skip`, `$limit` and `$group` (CRUD, "countDocuments").
    fn into_aggregate(self) -> Result<Aggregate<'a>> {
        self.deferred.into_result()?;
        let options = self.options;
        options.deferred.into_result()?;
        let mut pipeline = vec![rawdoc! { "$match": self.filter }];
        for (stage, value) in [("$skip", options.skip), ("$limit", options.limit)] {
            // The server rejects `$limit: 0`.
            if let Some(value) = value.filter(|value| *value > 0) {
                let value = i64::try_from(value).unwrap_or(i64::MAX);
                pipeline.push(stage_document(stage, value)?);
            }
        }
        pipeline.push((&doc! { "$group": { "_id": 1, "n": { "$sum": 1 } } }).into_raw_document()?);
        let aggregate = Aggregate::of_collection(self.collection, pipeline)
            .with_options(AggregateOptions {
                hint: options.hint,
                collation: options.collation,
                comment: options.comment,
                max_time: options.max_time,
                timeout: options.timeout,
                let_vars: options.let_vars,
                raw_data: options.raw_data,
                read_concern: options.read_concern,
                read_preference: options.read_preference,
                requires: options.requires,
                ..AggregateOptions::default()
            })
            .in_session(self.session);
        Ok(aggregate)
    }

    async fn run(self) -> Result<u64> {
        let mut cursor = self.into_aggregate()?.with_type::<RawDocumentBuf>().await?;
        // If no document matches, the pipeline returns no group.
        let Some(counted) = cursor.try_next().await? else {
            return Ok(0);
        };
        match find_element(counted.as_bytes(), "n") {
            Ok(Some(n)) => count(n.value, "n"),
            _ => Err(invalid_count("n")),
        }
    }
}

awaitable!(['a] CountDocuments<'a> => u64);

fn stage_document(stage: &str, value: i64) -> Result<RawDocumentBuf> {
    let mut document = Document::new();
    document.insert(stage, value);
    Ok(document.into_raw_document()?)
}
