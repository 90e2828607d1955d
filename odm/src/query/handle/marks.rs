//! The encrypted fields that the stages of a pipeline compare, noted where a stage is added.
//!
//! A condition on an encrypted field is encrypted only where the documents are those that are stored: any stage but the few that leave
//! them as they are can replace a value by another one. So a pipeline needs no interpretation of its stages: a condition on
//! an encrypted field after such a stage is an error.

use crate::{
    ast::{filter::Node, part::RawPart},
    base::error::{Error, Result},
    driver::Namespace,
    models::model::Model,
    path::{encrypted::encrypted_paths, field::Field},
    query::handle::{
        Collection,
        protection::{self, EncryptedFields, Protection, RAW_PART, encrypted_fields},
    },
};

/// The documents between two stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Form {
    /// The documents are those of the collection.
    #[default]
    Stored,
    /// A stage has changed the documents, or the application states their type.
    Changed,
}

/// The stages that leave the documents as they are.
const UNCHANGING: [&str; 5] = ["$match", "$sort", "$limit", "$skip", "$sample"];

/// The stages that create documents of other fields.
const CREATING: [&str; 11] = [
    "$project",
    "$group",
    "$replaceWith",
    "$replaceRoot",
    "$bucket",
    "$bucketAuto",
    "$sortByCount",
    "$count",
    "$searchMeta",
    "$collStats",
    "$indexStats",
];

/// The stages that add fields to the documents, or move their values.
const COPYING: [&str; 4] = ["$set", "$setWindowFields", "$fill", "$facet"];

/// The encrypted fields that a pipeline compares, and the collections that it reads beside its own. Contains no values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    form: Form,
    /// The first condition on an encrypted field of stored documents.
    encrypted: Option<String>,
    /// The first condition on an encrypted field of changed documents.
    misplaced: Option<String>,
    /// The first comparison of a document that contains an encrypted field.
    compared: Option<String>,
    /// Whether a stage or a filter is a document of the application.
    has_raw_part: bool,
    /// Whether such a filter is one of documents with encrypted fields.
    has_raw_filter: bool,
    joined: Vec<JoinedModel>,
    /// The databases of the handles whose documents it joins.
    databases: Vec<String>,
    /// The encrypted fields that projections have kept, whose types do not show that they are encrypted.
    kept: Vec<String>,
    /// Whether a stage can have copied the value of such a field to any other.
    is_copied: bool,
    /// Whether the pipeline has a condition.
    has_condition: bool,
}

/// A collection whose model has encrypted fields, which a pipeline reads beside its own.
#[derive(Clone, Debug)]
struct JoinedModel {
    collection: String,
    model: &'static str,
    fields: &'static EncryptedFields,
}

fn set(mark: &mut Option<String>, path: Option<String>) {
    if mark.is_none() {
        *mark = path;
    }
}

impl Marks {
    /// Notes a stage.
    pub(crate) fn note_stage(&mut self, name: &str) {
        if !UNCHANGING.contains(&name) {
            self.form = Form::Changed;
        }
        let is_copying = CREATING.contains(&name) || COPYING.contains(&name);
        self.is_copied |= is_copying && !self.kept.is_empty();
    }

    /// Notes a projection of documents of type `S`, whose types do not show which fields are encrypted. `is_renaming`: whether it
    /// gives fields other names, or computes fields.
    pub(crate) fn note_projection<S: Field>(&mut self, is_renaming: bool) {
        self.form = Form::Changed;
        self.kept.extend_from_slice(encrypted_paths::<S>());
        self.is_copied |= is_renaming && !self.kept.is_empty();
    }

    /// Notes a condition by an expression.
    pub(crate) fn note_expression(&mut self) {
        self.has_condition = true;
        if !self.kept.is_empty() {
            set(&mut self.misplaced, self.kept.first().cloned());
        }
    }

    /// Notes that the results contain no value of the documents.
    pub(crate) fn note_no_values(&mut self) {
        self.form = Form::Changed;
        self.kept.clear();
        self.is_copied = false;
    }

    /// Notes that the application states the type of the documents.
    pub(crate) fn note_stated_type(&mut self) {
        self.form = Form::Changed;
    }

    /// Notes a stage of the application.
    pub(crate) fn note_raw_stage(&mut self, stage: &RawPart) {
        self.form = Form::Changed;
        self.has_raw_part |= !stage.is_unchecked;
    }

    /// Notes a filter of documents of type `S`.
    pub(crate) fn note_filter<S: Field>(&mut self, filter: &Node) {
        if !cfg!(feature = "encryption") {
            return;
        }
        let has_condition = !filter.is_empty();
        self.has_condition |= has_condition;
        if has_condition && self.is_copied {
            set(&mut self.misplaced, self.kept.first().cloned());
        }
        let fields = [encrypted_paths::<S>(), &self.kept].concat();
        let fields = &fields;
        let mark = match self.form {
            Form::Stored => &mut self.encrypted,
            Form::Changed => &mut self.misplaced,
        };
        set(mark, filter.encrypted(fields));
        set(&mut self.encrypted, filter.named_in_raw_part(fields));
        set(&mut self.compared, filter.compares_around(fields));
        let has_raw_part = filter.has_raw_part();
        self.has_raw_part |= has_raw_part;
        self.has_raw_filter |= has_raw_part && !fields.is_empty();
    }

    /// The marks of a filter of documents of type `S`, which is the option of a stage.
    pub(crate) fn of_filter<S: Field>(filter: &Result<Node>) -> Self {
        let mut marks = Self::default();
        if let Ok(filter) = filter {
            marks.note_filter::<S>(filter);
        }
        marks
    }

    /// Notes a collection that a stage reads.
    pub(crate) fn note_joined<F: Model>(&mut self, collection: &str) {
        self.joined
            .extend(encrypted_fields::<F>().map(|fields| JoinedModel {
                collection: collection.to_owned(),
                model: F::NAME,
                fields,
            }));
    }

    /// Notes the collection of a handle whose documents a stage reads.
    pub(crate) fn note_handle(&mut self, namespace: Option<&Namespace>) {
        self.databases.extend(namespace.map(|own| own.database.clone()));
    }

    /// Adds the marks of a pipeline, or of a filter, that reads the documents of this one. `name`: the field of its results.
    pub(crate) fn add(&mut self, mut inner: Self, name: Option<&str>) {
        if self.form == Form::Changed {
            set(&mut inner.misplaced, inner.encrypted.take());
        }
        if inner.has_condition {
            set(&mut inner.misplaced, self.kept.first().cloned());
        }
        self.add_joined(inner, name);
    }

    /// Adds the marks of a pipeline, or of a filter, that reads another collection. `name`: the field of its results.
    pub(crate) fn add_joined(&mut self, inner: Self, name: Option<&str>) {
        let at = |path: String| name.map_or_else(|| path.clone(), |name| format!("{name}.{path}"));
        self.kept.extend(inner.kept.into_iter().map(at));
        set(&mut self.encrypted, inner.encrypted);
        set(&mut self.misplaced, inner.misplaced);
        set(&mut self.compared, inner.compared);
        self.is_copied |= inner.is_copied;
        self.has_condition |= inner.has_condition;
        self.has_raw_part |= inner.has_raw_part;
        self.has_raw_filter |= inner.has_raw_filter;
        self.joined.extend(inner.joined);
        self.databases.extend(inner.databases);
    }

    /// Rejects what would send the value of an encrypted field as it is. A client that encrypts is required to encrypt the fields
    /// of all collections that the pipeline reads.
    pub(in crate::query) fn check<D: Model>(
        &self,
        collection: &Collection<D>,
        protection: Protection,
    ) -> Result<()> {
        let own = &collection.namespace().database;
        if let Some(other) = self.databases.iter().find(|database| *database != own) {
            return Err(Error::pipeline(
                "",
                format!(
                    "a stage reads documents of a handle in the database `{other}`, and the pipeline runs in `{own}`: the server joins \
                     collections of one database"
                ),
            ));
        }
        for joined in &self.joined {
            joined.fields.as_ref().map_err(protection::invalid)?;
        }
        let encrypts = protection::encrypts(collection);
        let marked = [&self.encrypted, &self.misplaced, &self.compared];
        if let Some(path) = marked.into_iter().flatten().next()
            && !encrypts
        {
            return Err(protection::unencrypted(path.clone()));
        }
        let is_protected = !protection.fields().is_empty() || !self.joined.is_empty();
        if self.has_raw_filter || self.has_raw_part && is_protected {
            return Err(Error::pipeline("", RAW_PART));
        }
        if let Some(path) = &self.compared {
            return Err(protection::compared(path.clone()));
        }
        if let Some(path) = &self.misplaced {
            return Err(Error::filter(
                path,
                "the field is encrypted, and the value of the condition would be sent as it is, because a stage before can have changed \
                 the documents: compare the field before that stage, by a `match_` at the start of the pipeline",
            ));
        }
        if encrypts {
            for joined in &self.joined {
                let fields = joined.fields.as_deref().unwrap_or_default();
                protection::require(collection, &joined.collection, fields, joined.model);
            }
        }
        Ok(())
    }
}
