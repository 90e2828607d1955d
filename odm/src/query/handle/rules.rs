//! The rules of updates and upserts, and the ids of documents that may be inserted.

use crate::{
    ast::{
        filter::Node,
        update::{Changes, Operator, Variant},
    },
    base::{
        bson::{Bson, Document, RawDocumentBuf, decode_document, doc},
        error::{Error, Result, ValueError},
    },
    models::model::Model,
    query::handle::{Collection, stages},
    values::codec,
};

/// Rejects an upsert whose filter has an expression, as MongoDB does (224 `QueryFeatureNotAllowed`).
pub(in crate::query) fn check_upsert_filter(filter: &Node) -> Result<()> {
    if filter.has_expression() {
        return Err(Error::filter(
            "$expr",
            "MongoDB does not allow `$expr` in the filter of an upsert: compare fields with values, or update and insert in two calls",
        ));
    }
    Ok(())
}

/// Rejects the positional `$` if the filter has no condition that selects an element of the array, and in upserts: an
/// inserted document has no element.
pub(in crate::query) fn check_positional(filter: &Node, changes: &Changes, upsert: bool) -> Result<()> {
    let Changes::Operators(operators) = changes else {
        return Ok(());
    };
    for (target, at) in operators.positional() {
        let array: Vec<&str> = target.split('.').take(at).collect();
        let array = array.join(".");
        let reason = if upsert {
            "`$` selects an element of a stored document, so that an upsert cannot use it: use `filtered_positional`, or an update \
             without `upsert`"
                .to_owned()
        } else if filter.selects_element(&array) {
            continue;
        } else {
            format!(
                "`$` changes the element that the filter has matched, and the filter has no condition on `{array}` that is not \
                 negated: add one, or use `filtered_positional` or `all_positional`"
            )
        };
        return Err(Error::update(target, reason));
    }
    Ok(())
}

/// Rejects upserts that change the fields of an enum variant: a document with another variant would
/// not match, and a second document would be inserted.
pub(in crate::query) fn reject_variants(variants: &[Variant]) -> Result<()> {
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
pub(in crate::query) fn add_id<D: Model>(
    collection: &Collection<D>,
    filter: &Node,
    changes: &mut Changes,
) -> Result<()> {
    match filter.equality("_id") {
        Some(Bson::Null) => return Err(collection.missing_id(NULL)),
        Some(_) => return Ok(()),
        None => {}
    }
    match changes {
        Changes::Operators(operators) => {
            let given = operators.changes().iter().find(|change| change.path == "_id");
            match given.map(|change| &change.operand) {
                Some(Bson::Null) => return Err(collection.missing_id(NULL)),
                Some(_) => return Ok(()),
                None => {}
            }
            operators.add(Operator::SetOnInsert, "_id", generated(collection, NO_SOURCE)?);
        }
        Changes::Stages(stages) => {
            if D::generated_id().is_none() && stages.iter().any(|stage| stages::can_give_id(&stage.document))
            {
                return Ok(());
            }
            stages::add_id::<D>(stages, generated(collection, NO_SOURCE)?)?;
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
pub(in crate::query) fn with_new_id<D: Model>(
    collection: &Collection<D>,
    document: &D,
) -> Result<RawDocumentBuf> {
    const REASON: &str = "the id of the document is `None`, and the model has no source of ids of its type; set it before the insert";
    let id = generated(collection, REASON)?;
    let mut stored = doc! { "_id": id };
    stored.extend(without_id(document)?);
    codec::to_raw(&stored)
}

/// The fields of an encoded document.
pub(in crate::query) fn decoded(raw: &RawDocumentBuf) -> Result<Document> {
    decode_document(raw.as_bytes()).map_err(|e| Error::encode("", ValueError::new(e.message())))
}

/// The fields of a document without its id.
pub(in crate::query) fn without_id<D: Model>(document: &D) -> Result<Document> {
    let raw = codec::to_raw(document)?;
    let mut fields = decoded(&raw)?;
    fields.remove("_id");
    Ok(fields)
}

/// Rejects an upsert of a replacement without an id, unless its filter contains one.
pub(in crate::query) fn check_upsert_without_id<D: Model>(
    collection: &Collection<D>,
    filter: &Node,
) -> Result<()> {
    const REASON: &str = "the id of the replacement is `None`, and the filter contains no id for the document to insert; set it, or \
                          add a condition such as `.id().eq(..)`";
    match filter.equality("_id") {
        None | Some(Bson::Null) => Err(collection.missing_id(REASON)),
        Some(_) => Ok(()),
    }
}
