//! What declared collections and indexes need of the deployment. It is checked before anything is
//! sent that changes the database. No I/O.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::{
    base::{
        bson::{Bson, Document},
        error::{IndexChange, Requirement},
    },
    models::index::normal::number,
    schema::{
        Step,
        declared::{Declared, DeclaredCollection},
        deployment::{Deployment, Feature},
        encryption,
    },
};

/// What the deployment does not support.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unsupported {
    /// The subject of the sentence, such as "the option `hidden` of index `a_1` (model `A`)".
    pub(super) feature: String,
    pub(super) requirement: Requirement,
}

/// The unsupported parts of the encrypted fields of a collection, and of its options if it does not
/// exist.
pub(super) fn of_collection(
    declared: &DeclaredCollection,
    exists: bool,
    deployment: &Deployment,
) -> Vec<Unsupported> {
    let mut found = of_encryption(declared, deployment);
    for (name, value) in declared.options().into_iter().flatten().filter(|_| !exists) {
        let needed = feature_of_option(name, value);
        if let Some(requirement) = needed.and_then(|feature| deployment.lacks(feature)) {
            let feature = format!("the option `{name}` of the collection");
            found.push(Unsupported { feature, requirement });
        }
    }
    found
}

/// The unsupported encryption: Queryable Encryption as a whole, or some of its query types.
fn of_encryption(declared: &DeclaredCollection, deployment: &Deployment) -> Vec<Unsupported> {
    let (Some(model), Some(fields)) = (declared.encrypted_by(), declared.encrypted_fields()) else {
        return Vec::new();
    };
    if let Some(requirement) = deployment.lacks_encryption() {
        let feature = format!("the collection with the encrypted fields of model `{model}`");
        return vec![Unsupported { feature, requirement }];
    }
    let mut found = Vec::new();
    for (path, query_type) in encryption::query_types(fields) {
        if let Some(requirement) = deployment.lacks(feature_of_query_type(query_type)) {
            let feature =
                format!("the query type `{query_type}` of the encrypted field `{path}` (model `{model}`)");
            found.push(Unsupported { feature, requirement });
        }
    }
    found
}

/// The feature that a query type of Queryable Encryption needs.
fn feature_of_query_type(query_type: &str) -> Feature {
    match query_type {
        "range" => Feature::ENCRYPTED_RANGES,
        query_type if query_type.starts_with("prefix") => Feature::ENCRYPTED_TEXT,
        query_type if query_type.starts_with("suffix") => Feature::ENCRYPTED_TEXT,
        query_type if query_type.starts_with("substring") => Feature::ENCRYPTED_TEXT,
        _ => Feature::ENCRYPTION,
    }
}

/// The unsupported parts of the indexes that the steps build or change. The first steps are those
/// of the indexes, in their order.
pub(super) fn of_indexes(
    indexes: &[Declared],
    steps: &[Step],
    is_capped: bool,
    deployment: &Deployment,
) -> Vec<Unsupported> {
    let mut found = equal_keys(indexes, deployment);
    if is_capped {
        found.extend(expirations_in_capped(indexes, steps, deployment));
    }
    for index in built(indexes, steps) {
        for (what, feature) in features_of_index(index) {
            if let Some(requirement) = deployment.lacks(feature) {
                found.push(of_index(what, index, requirement));
            }
        }
    }
    found
}

/// The indexes that the steps build.
pub(super) fn built<'a>(indexes: &'a [Declared], steps: &'a [Step]) -> impl Iterator<Item = &'a Declared> {
    let is_built = |step: &Step| matches!(step, Step::Create { .. } | Step::Conflict { .. });
    let indexes = indexes.iter().zip(steps);
    indexes
        .filter(move |(_, step)| is_built(step))
        .map(|(index, _)| index)
}

/// A part of an index that is not supported.
pub(super) fn of_index(what: &str, index: &Declared, requirement: Requirement) -> Unsupported {
    Unsupported {
        feature: format!("{what} of index `{}` (model `{}`)", index.name, index.model),
        requirement,
    }
}

/// The indexes with the keys and the collation of another index. Indexes of one model can differ in
/// their partial filters.
fn equal_keys(indexes: &[Declared], deployment: &Deployment) -> Vec<Unsupported> {
    let Some(requirement) = deployment.lacks(Feature::SAME_KEYS) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (position, index) in indexes.iter().enumerate() {
        let is_same = |other: &&Declared| {
            other.normal.same_keys(&index.normal) && other.has_comparable_collation(index)
        };
        if let Some(other) = indexes.iter().take(position).find(is_same) {
            let feature = format!(
                "index `{}` (model `{}`) with the keys of index `{}`",
                index.name, index.model, other.name
            );
            found.push(Unsupported { feature, requirement });
        }
    }
    found
}

/// The unsupported expirations of the indexes of a capped collection.
fn expirations_in_capped(indexes: &[Declared], steps: &[Step], deployment: &Deployment) -> Vec<Unsupported> {
    let is_expiration = |change: &IndexChange| matches!(change, IndexChange::ExpireAfter { .. });
    let expiring = |index: &Declared| index.specification.contains_key("expireAfterSeconds");
    let mut found = Vec::new();
    for (index, step) in indexes.iter().zip(steps).filter(|(index, _)| expiring(index)) {
        let lacking = match step {
            Step::Create { .. } | Step::Conflict { .. } => deployment.lacks_expiration_in_capped(false),
            Step::Modify { changes, .. } if changes.iter().any(is_expiration) => {
                deployment.lacks_expiration_in_capped(true)
            }
            _ => None,
        };
        if let Some(requirement) = lacking {
            let feature = format!(
                "the option `expireAfterSeconds` of index `{}` (model `{}`) in a capped collection",
                index.name, index.model
            );
            found.push(Unsupported { feature, requirement });
        }
    }
    found
}

/// The feature that an option of `create` needs.
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

/// The feature that a change of an option by `collMod` needs.
pub(super) fn feature_of_change(name: &str, declared: &Document) -> Option<Feature> {
    match name {
        "size" | "max" => Some(Feature::CHANGE_OF_CAPPED),
        name => feature_of_option(name, declared.get(name)?),
    }
}

/// The features that an index needs, each with the part of its specification.
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
    if expires_before_1970(options) {
        features.push((
            "the option `expireAfterSeconds`, with more seconds than have passed since 1970,",
            Feature::LATE_EXPIRATION,
        ));
    }
    if let Ok(filter) = options.get_document("partialFilterExpression") {
        features.extend(later_operator(filter, true).map(|what| (what, Feature::PARTIAL_OPERATORS)));
    }
    if options.contains_key("prepareUnique") {
        features.push(("the option `prepareUnique`", Feature::PREPARE_UNIQUE));
    }
    features
}

/// Whether `expireAfterSeconds` is more than the seconds since 1970.
fn expires_before_1970(options: &Document) -> bool {
    let seconds = options
        .get("expireAfterSeconds")
        .and_then(|value| number(value).as_i64());
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    seconds.is_some_and(|seconds| u64::try_from(seconds).is_ok_and(|seconds| seconds > since_1970.as_secs()))
}

/// The part of a partial filter that servers before MongoDB 6.0 refuse: they permit one conjunction
/// of comparisons, `$exists: true` and `$type`.
fn later_operator(filter: &Document, is_top: bool) -> Option<&'static str> {
    const NESTED: &str = "an `$and` below the top level of the partial filter";
    let conditions = conditions(filter);
    let is_alone = is_top && conditions.len() == 1;
    if !is_top && conditions.len() > 1 {
        return Some(NESTED);
    }
    conditions
        .into_iter()
        .find_map(|(operator, operand)| match (operator, operand) {
            ("$or", _) => Some("the operator `$or` in the partial filter"),
            ("$in", _) => Some("the operator `$in` in the partial filter"),
            ("$geoWithin", _) => Some("the operator `$geoWithin` in the partial filter"),
            ("$geoIntersects", _) => Some("the operator `$geoIntersects` in the partial filter"),
            ("$all", _) if !is_alone => {
                Some("the operator `$all` beside other conditions of the partial filter")
            }
            ("$and", _) if !is_alone => Some(NESTED),
            ("$and", Bson::Array(clauses)) => clauses
                .iter()
                .filter_map(Bson::as_document)
                .find_map(|clause| later_operator(clause, false)),
            _ => None,
        })
}

/// The conditions of a filter: operators with their operands.
fn conditions(filter: &Document) -> Vec<(&str, &Bson)> {
    let mut conditions = Vec::new();
    for (name, value) in filter {
        match value {
            _ if name.starts_with('$') => conditions.push((name.as_str(), value)),
            Bson::Document(operators) if operators.keys().next().is_some_and(|key| key.starts_with('$')) => {
                conditions.extend(
                    operators
                        .iter()
                        .map(|(operator, operand)| (operator.as_str(), operand)),
                );
            }
            _ => conditions.push(("$eq", value)),
        }
    }
    conditions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bson::doc;

    #[test]
    fn a_partial_filter_of_older_servers_is_one_conjunction() {
        let permitted = [
            doc! { "a": 1, "b": { "$gt": 1, "$lt": 5 } },
            doc! { "a": { "b": 1, "c": 2 } },
            doc! { "$and": [{ "a": 1 }, { "b": { "$exists": true } }] },
            doc! { "a": { "$all": [1, 2] } },
        ];
        for filter in permitted {
            assert_eq!(later_operator(&filter, true), None, "{filter}");
        }
        let refused = [
            (doc! { "$or": [{ "a": 1 }, { "b": 2 }] }, "`$or`"),
            (doc! { "a": { "$in": [1, 2] } }, "`$in`"),
            (doc! { "$and": [{ "a": 1 }, { "b": { "$in": [1, 2] } }] }, "`$in`"),
            (doc! { "x": 1, "$and": [{ "a": 1 }, { "b": 2 }] }, "`$and`"),
            (doc! { "$and": [{ "$and": [{ "a": 1 }, { "b": 2 }] }] }, "`$and`"),
            (
                doc! { "$and": [{ "a": { "$gt": 1, "$lt": 5 } }, { "b": 2 }] },
                "`$and`",
            ),
            (doc! { "x": 1, "a": { "$all": [1, 2] } }, "`$all`"),
        ];
        for (filter, operator) in refused {
            let what = later_operator(&filter, true).expect("an operator");
            assert!(what.contains(operator), "{filter}: {what}");
        }
    }
}
