//! Checks of writes before they are sent: a filter with conditions, and an id for a document that
//! may be inserted.

use crate::ast::filter::Node;
use crate::bson::{Bson, Document, RawDocumentBuf, decode_document, doc};
use crate::codec;
use crate::collection::encrypted::check_upsert;
use crate::collection::soft_delete::Scope;
use crate::collection::{Collection, kind, maintained, pipeline};
use crate::driver::options::ServerRequirement;
use crate::driver::{IntoUpdate as _, UpdateModification};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::stage_versions;
use crate::update::variant::{self, Variant};
use crate::update::{Compiled, Update};

/// Rejects the filter of a write if it was combined from no conditions.
pub(super) fn checked(filter: Node) -> Result<Node> {
    if filter.is_unnamed_everything() {
        return Err(Error::filter(
            "",
            "it has no conditions, so the write could change or delete any document; to write to all documents, use \
             `Filter::everything()`",
        ));
    }
    Ok(filter)
}

/// The filter of a delete.
pub(super) fn of_delete<D: Model>(collection: &Collection<D>, filter: Result<Node>) -> Result<Node> {
    let filter = checked(filter?)?;
    collection.check_filter(&filter)?;
    Ok(filter)
}

/// Rejects an upsert whose filter has an expression, as MongoDB does (224 `QueryFeatureNotAllowed`).
pub(super) fn check_upsert_filter(filter: &Node) -> Result<()> {
    if filter.has_expression() {
        return Err(Error::filter(
            "$expr",
            "MongoDB does not allow `$expr` in the filter of an upsert: compare fields with values, or update and insert in two calls",
        ));
    }
    Ok(())
}

/// An update that is ready to be sent.
pub(super) struct Prepared {
    pub(super) filter: Node,
    pub(super) update: UpdateModification,
    pub(super) array_filters: Vec<Document>,
    /// The server version that the expressions of a pipeline need.
    pub(super) requirement: Option<ServerRequirement>,
}

/// Checks an update. Adds conditions on the enum variants whose fields it changes to the filter,
/// and an id for the document that an upsert may insert.
pub(super) fn prepare<D: Model>(
    collection: &Collection<D>,
    scope: Scope,
    filter: Result<Node>,
    update: Update<D>,
    upsert: bool,
) -> Result<Prepared> {
    let filter = checked(filter?)?;
    collection.check_filter(&filter)?;
    kind::check_empty(&update)?;
    if upsert {
        update.check_upsert()?;
    }
    let (variants, mut compiled) = update.parts()?;
    collection.check_update(&compiled)?;
    if upsert {
        collection.check_encrypts()?;
        check_upsert::<D>(&filter)?;
        check_upsert_filter(&filter)?;
        kind::check_upsert::<D>()?;
        reject_variants(&variants)?;
        add_id(collection, &filter, &mut compiled)?;
    }
    maintained::add::<D>(&mut compiled, upsert)?;
    let filter = scope.of::<D>(filter);
    let filter = if variants.is_empty() {
        filter
    } else {
        filter.and(variant::conditions(variants))
    };
    Ok(match compiled {
        Compiled::Operators {
            update,
            array_filters,
        } => Prepared {
            filter,
            update: update.into_update(),
            array_filters,
            requirement: None,
        },
        Compiled::Pipeline(stages) => Prepared {
            filter,
            requirement: stage_versions::of_pipeline(&stages, ""),
            update: stages.into_update(),
            array_filters: Vec::new(),
        },
    })
}

/// Rejects upserts that change the fields of an enum variant: a document with another variant would
/// not match, and a second document would be inserted.
fn reject_variants(variants: &[Variant]) -> Result<()> {
    match variants.first() {
        None => Ok(()),
        Some(variant) => Err(Error::update(
            variant.path.clone(),
            "an upsert cannot change the fields of an enum variant: if the document has another variant, it would insert a \
             second document; set the whole value",
        )),
    }
}

const NO_SOURCE: &str = "the model has no source of ids, and neither the filter nor the update of the upsert contains an id; \
                         add a condition such as `.id().eq(..)`, or `.id().set_on_insert(..)`";
const NULL: &str = "null cannot be the id of a document";

/// Adds a new id for the document that an upsert may insert, unless the filter or the update
/// contains one.
fn add_id<D: Model>(collection: &Collection<D>, filter: &Node, compiled: &mut Compiled) -> Result<()> {
    match filter.equality("_id") {
        Some(Bson::Null) => return Err(collection.missing_id(NULL)),
        Some(_) => return Ok(()),
        None => {}
    }
    match compiled {
        Compiled::Operators { update, .. } => {
            let given = update
                .values()
                .filter_map(Bson::as_document)
                .find_map(|fields| fields.get("_id"));
            match given {
                Some(Bson::Null) => return Err(collection.missing_id(NULL)),
                Some(_) => return Ok(()),
                None => {}
            }
            let id = generated(collection, NO_SOURCE)?;
            match update.get_document_mut("$setOnInsert") {
                Ok(fields) => {
                    fields.insert("_id", id);
                }
                Err(_) => {
                    update.insert("$setOnInsert", doc! { "_id": id });
                }
            }
        }
        Compiled::Pipeline(stages) => {
            if D::generated_id().is_none() && stages.iter().any(pipeline::gives_id) {
                return Ok(());
            }
            pipeline::add_id(stages, generated(collection, NO_SOURCE)?);
        }
    }
    Ok(())
}

/// A new id from the source that the model declares.
fn generated<D: Model>(collection: &Collection<D>, otherwise: &'static str) -> Result<Bson> {
    match D::generated_id() {
        Some(id) => id.map_err(|e| Error::encode("_id", e)),
        None => Err(collection.missing_id(otherwise)),
    }
}

/// A document whose id is `None`, encoded with a new id.
pub(super) fn with_new_id<D: Model>(collection: &Collection<D>, document: &D) -> Result<RawDocumentBuf> {
    const REASON: &str = "the id of the document is `None`, and the model has no source of ids of its type; set it before the insert";
    let id = generated(collection, REASON)?;
    let mut stored = doc! { "_id": id };
    stored.extend(without_id(document)?);
    codec::to_raw(&stored)
}

/// The fields of a document without its id.
pub(super) fn without_id<D: Model>(document: &D) -> Result<Document> {
    let raw = codec::to_raw(document)?;
    let mut fields = decode_document(raw.as_bytes())
        .map_err(|e| Error::encode("", crate::ValueError::new(e.message())))?;
    fields.remove("_id");
    Ok(fields)
}

/// Rejects an upsert of a replacement without an id, unless its filter contains one.
pub(super) fn check_upsert_without_id<D: Model>(collection: &Collection<D>, filter: &Node) -> Result<()> {
    const REASON: &str = "the id of the replacement is `None`, and the filter contains no id for the document to insert; set it, or \
                          add a condition such as `.id().eq(..)`";
    match filter.equality("_id") {
        None | Some(Bson::Null) => Err(collection.missing_id(REASON)),
        Some(_) => Ok(()),
    }
}
