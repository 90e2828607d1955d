//! What declared collections and indexes need of the deployment. It is checked before anything is sent that changes the
//! database. No I/O.

use crate::bson::{Bson, Document};
use crate::error::{Requirement, SchemaError};
use crate::index::normal::number;
use crate::schema::Step;
use crate::schema::declared::{Declared, DeclaredCollection};
use crate::schema::deployment::{Deployment, Feature};

/// Checks the encrypted fields of a collection, and its options if it does not exist.
///
/// # Errors
/// [`SchemaError::Unsupported`] for the first thing that the deployment does not support.
pub(super) fn check(
    namespace: &str,
    declared: &DeclaredCollection,
    exists: bool,
    deployment: &Deployment,
) -> Result<(), SchemaError> {
    if let Some(model) = declared.encrypted_by()
        && let Some(requirement) = deployment.lacks_encryption()
    {
        let feature = format!("the collection with the encrypted fields of model `{model}`");
        return Err(unsupported(namespace, feature, requirement));
    }
    for (name, value) in declared.options().into_iter().flatten().filter(|_| !exists) {
        let needed = feature_of_option(name, value);
        if let Some(requirement) = needed.and_then(|feature| deployment.lacks(feature)) {
            let feature = format!("the option `{name}` of the collection");
            return Err(unsupported(namespace, feature, requirement));
        }
    }
    Ok(())
}

/// Checks the indexes that the steps build. The first steps are those of the indexes, in their order.
///
/// # Errors
/// [`SchemaError::Unsupported`] for the first index that the deployment cannot have.
pub(super) fn check_indexes(
    namespace: &str,
    indexes: &[Declared],
    steps: &[Step],
    deployment: &Deployment,
) -> Result<(), SchemaError> {
    let is_built = |step: &Step| matches!(step, Step::Create { .. } | Step::Conflict { .. });
    for (index, _) in indexes.iter().zip(steps).filter(|(_, step)| is_built(step)) {
        for (what, feature) in features_of_index(index) {
            if let Some(requirement) = deployment.lacks(feature) {
                let feature = format!("{what} of index `{}` (model `{}`)", index.name, index.model);
                return Err(unsupported(namespace, feature, requirement));
            }
        }
    }
    Ok(())
}

fn unsupported(namespace: &str, feature: String, requirement: Requirement) -> SchemaError {
    SchemaError::Unsupported {
        namespace: namespace.to_owned(),
        feature,
        requirement,
    }
}

/// What an option of `create` needs.
fn feature_of_option(name: &str, value: &Bson) -> Option<Feature> {
    match (name, value) {
        ("capped", Bson::Boolean(true)) => Some(Feature::CAPPED),
        ("timeseries", _) => Some(Feature::TIME_SERIES),
        ("clusteredIndex", _) => Some(Feature::CLUSTERED),
        ("changeStreamPreAndPostImages", _) => Some(Feature::IMAGES),
        ("validationAction", Bson::String(action)) if action == "errorAndLog" => Some(Feature::ERROR_AND_LOG),
        _ => None,
    }
}

/// What a change of an option by `collMod` needs.
pub(super) fn feature_of_change(name: &str, declared: &Document) -> Option<Feature> {
    match name {
        "size" | "max" => Some(Feature::CHANGE_OF_CAPPED),
        "changeStreamPreAndPostImages" => Some(Feature::CHANGE_OF_IMAGES),
        name => feature_of_option(name, declared.get(name)?),
    }
}

/// What an index needs, each with the part of its specification.
fn features_of_index(index: &Declared) -> Vec<(&'static str, Feature)> {
    let mut features = Vec::new();
    let empty = Document::new();
    let keys = index.specification.get_document("key").unwrap_or(&empty);
    let is_compound = keys.len() > 1;
    for (key, value) in keys {
        let is_wildcard = key == "$**" || key.ends_with(".$**");
        match value.as_str() {
            Some("text") => features.push(("a text key", Feature::TEXT)),
            Some("hashed") if is_compound => {
                features.push(("a hashed key beside other keys", Feature::COMPOUND_HASHED));
            }
            None if is_wildcard && is_compound => {
                features.push(("a wildcard key beside other keys", Feature::COMPOUND_WILDCARD));
            }
            None if is_wildcard && number(value).as_i64().is_some_and(|order| order < 0) => {
                features.push(("a descending wildcard key", Feature::COMPOUND_WILDCARD));
            }
            _ => {}
        }
    }
    let options = &index.specification;
    if options.contains_key("hidden") {
        features.push(("the option `hidden`", Feature::HIDDEN));
    }
    if options.contains_key("prepareUnique") {
        features.push(("the option `prepareUnique`", Feature::PREPARE_UNIQUE));
    }
    features
}
