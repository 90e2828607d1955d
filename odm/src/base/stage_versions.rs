//! The MongoDB version that the stages and operators of pipelines, projections and sorts need, so that
//! an older server is named before anything is sent.

use crate::{
    base::bson::{Bson, Document},
    driver::options::ServerRequirement,
};

/// Stages, expressions, accumulators and window functions that MongoDB 4.2 does not have, by name, with
/// the first release that has them (the manual's page of each).
const SINCE: [(&str, (u32, u32)); 59] = [
    ("$binarySize", (4, 4)),
    ("$bitAnd", (6, 3)),
    ("$bitNot", (6, 3)),
    ("$bitOr", (6, 3)),
    ("$bitXor", (6, 3)),
    ("$bottom", (5, 2)),
    ("$bottomN", (5, 2)),
    ("$bsonSize", (4, 4)),
    ("$covariancePop", (5, 0)),
    ("$covarianceSamp", (5, 0)),
    ("$currentDate", (8, 2)),
    ("$dateAdd", (5, 0)),
    ("$dateDiff", (5, 0)),
    ("$dateSubtract", (5, 0)),
    ("$dateTrunc", (5, 0)),
    ("$denseRank", (5, 0)),
    ("$densify", (5, 1)),
    ("$derivative", (5, 0)),
    ("$documentNumber", (5, 0)),
    ("$documents", (5, 1)),
    ("$expMovingAvg", (5, 0)),
    ("$fill", (5, 3)),
    ("$first", (4, 4)),
    ("$firstN", (5, 2)),
    ("$function", (4, 4)),
    ("$getField", (5, 0)),
    ("$integral", (5, 0)),
    ("$isNumber", (4, 4)),
    ("$last", (4, 4)),
    ("$lastN", (5, 2)),
    ("$linearFill", (5, 3)),
    ("$locf", (5, 2)),
    ("$maxN", (5, 2)),
    ("$median", (7, 0)),
    ("$minMaxScaler", (8, 2)),
    ("$minN", (5, 2)),
    ("$percentile", (7, 0)),
    ("$rand", (4, 4)),
    ("$rank", (5, 0)),
    ("$rankFusion", (8, 0)),
    ("$replaceAll", (4, 4)),
    ("$replaceOne", (4, 4)),
    ("$sampleRate", (4, 4)),
    ("$scoreFusion", (8, 2)),
    ("$searchMeta", (4, 4)),
    ("$setField", (5, 0)),
    ("$setWindowFields", (5, 0)),
    ("$shift", (5, 0)),
    ("$sigmoid", (8, 1)),
    ("$sortArray", (5, 2)),
    ("$toHashedIndexKey", (4, 4)),
    ("$toUUID", (8, 0)),
    ("$top", (5, 2)),
    ("$topN", (5, 2)),
    ("$tsIncrement", (5, 1)),
    ("$tsSecond", (5, 1)),
    ("$unionWith", (4, 4)),
    ("$unsetField", (5, 0)),
    ("$vectorSearch", (6, 0)),
];

/// What the stages need, if MongoDB 4.2 does not have all of it. `collection`: the one that the
/// pipeline reads.
pub(crate) fn of_pipeline(stages: &[Document], collection: &str) -> Option<ServerRequirement> {
    let mut found = None;
    for (name, argument) in stages.iter().flatten() {
        note_name(name, &mut found);
        match (name.as_str(), argument) {
            ("$match", Bson::Document(filter)) => of_filter(filter, &mut found),
            ("$merge", Bson::Document(merge))
                if merge.get_str("into").is_ok_and(|into| into == collection) =>
            {
                note(
                    4,
                    4,
                    "`$merge` into the collection that the pipeline reads",
                    &mut found,
                );
            }
            ("$lookup" | "$unionWith" | "$facet", Bson::Document(argument)) => {
                of_inner(name, argument, &mut found);
            }
            // Their arguments are values and filters.
            ("$search" | "$searchMeta" | "$vectorSearch", _) => {}
            ("$rankFusion" | "$scoreFusion", Bson::Document(argument)) => {
                let pipelines =
                    (argument.get_document("input")).and_then(|input| input.get_document("pipelines"));
                for stages in pipelines.into_iter().flat_map(Document::values) {
                    let stages = stages.as_array().into_iter().flatten();
                    let stages: Vec<Document> = stages.filter_map(Bson::as_document).cloned().collect();
                    if let Some(inner) = of_pipeline(&stages, collection) {
                        keep(inner, &mut found);
                    }
                }
            }
            ("$group", Bson::Document(group)) => of_outputs(group, &mut found),
            ("$bucket" | "$bucketAuto" | "$setWindowFields", Bson::Document(argument)) => {
                for (name, value) in argument {
                    match value {
                        Bson::Document(outputs) if name == "output" => of_outputs(outputs, &mut found),
                        value => of_expression(value, &mut found),
                    }
                }
            }
            (_, argument) => of_expression(argument, &mut found),
        }
    }
    found
}

/// The fields of `$group`, or an `output`: the accumulators `$first` and `$last` are older than the
/// expressions of these names, `$concatArrays` and `$setUnion` newer, and `$count` is newer than the stage.
fn of_outputs(outputs: &Document, found: &mut Option<ServerRequirement>) {
    for (field, value) in outputs {
        let Bson::Document(output) = value else {
            of_expression(value, found);
            continue;
        };
        for (name, argument) in output {
            match name.as_str() {
                "$count" if field != "_id" => note(5, 0, "the accumulator `$count`", found),
                "$concatArrays" | "$setUnion" if field != "_id" => {
                    note(8, 1, format!("the accumulator `{name}`"), found);
                }
                "$first" | "$last" if field != "_id" => {}
                name => note_name(name, found),
            }
            of_expression(argument, found);
        }
    }
}

/// The field of a keyset page with the values of the sort keys, if a projection does not contain them.
pub(crate) const ADDED_KEYS: &str = "marulaKeys";

/// The version that a keyset page needs if its projection does not contain the sort keys: they are added as computed
/// fields.
pub(crate) fn of_added_keys() -> ServerRequirement {
    let feature = "a keyset page whose projection does not contain all fields of the sort and `_id`";
    ServerRequirement::new(4, 4, feature)
}

/// The version that a query with relations needs if its projection does not contain the fields that refer to others.
pub(crate) fn of_added_relations() -> ServerRequirement {
    let feature =
        "a query with relations whose projection does not contain the fields that refer to other documents";
    ServerRequirement::new(4, 4, feature)
}

/// The version that the projection of a query needs: MongoDB 4.2 computes no fields in it.
pub(crate) fn of_projection(projection: &Document) -> Option<ServerRequirement> {
    let is_computed = |value: &Bson| match value {
        Bson::Document(operator) => !operator
            .keys()
            .any(|name| matches!(name.as_str(), "$slice" | "$elemMatch" | "$meta")),
        Bson::String(_) | Bson::Array(_) => true,
        _ => false,
    };
    let is_found = |(name, value): (&String, &Bson)| name != ADDED_KEYS && is_computed(value);
    projection
        .iter()
        .any(is_found)
        .then(|| ServerRequirement::new(4, 4, "a query with computed fields in its projection"))
}

/// The version that a sort by the score of a text search needs if the projection does not have the score.
pub(crate) fn of_sort_by_score() -> ServerRequirement {
    ServerRequirement::new(4, 4, "a sort by the score of a text search that is not read")
}

/// Whether a sort has a key that is not a field.
pub(crate) fn sorts_by_score(sort: &Document) -> bool {
    sort.values().any(|key| matches!(key, Bson::Document(_)))
}

/// Whether a projection has the score of a text search.
pub(crate) fn has_score(projection: &Document) -> bool {
    let is_score = |value: &Bson| matches!(value, Bson::Document(meta) if meta.contains_key("$meta"));
    projection.values().any(is_score)
}

/// Stages with pipelines of their own.
fn of_inner(stage: &str, argument: &Document, found: &mut Option<ServerRequirement>) {
    if stage == "$lookup" && argument.contains_key("localField") && argument.contains_key("pipeline") {
        note(5, 0, "`$lookup` with both fields and a pipeline", found);
    }
    for value in argument.values() {
        match value {
            Bson::Array(stages) => {
                for stage in stages.iter().filter_map(Bson::as_document) {
                    if let Some(inner) = of_pipeline(std::slice::from_ref(stage), "") {
                        keep(inner, found);
                    }
                }
            }
            // `let`
            value => of_expression(value, found),
        }
    }
}

/// The expressions of a filter: the values that it compares with are not read as expressions.
fn of_filter(filter: &Document, found: &mut Option<ServerRequirement>) {
    for (name, value) in filter {
        match (name.as_str(), value) {
            ("$expr", expression) => of_expression(expression, found),
            ("$and" | "$or" | "$nor", Bson::Array(all)) => {
                all.iter()
                    .filter_map(Bson::as_document)
                    .for_each(|filter| of_filter(filter, found));
            }
            (name, _) => note_name(name, found),
        }
    }
}

fn of_expression(value: &Bson, found: &mut Option<ServerRequirement>) {
    match value {
        Bson::Array(values) => values.iter().for_each(|value| of_expression(value, found)),
        Bson::Document(document) => {
            for (name, value) in document {
                if matches!(name.as_str(), "$literal" | "$const") {
                    continue;
                }
                match (name.as_str(), value) {
                    ("$ifNull", Bson::Array(choices)) if choices.len() > 2 => {
                        note(5, 0, "`$ifNull` with more than two choices", found);
                    }
                    ("$filter", Bson::Document(filter)) if filter.contains_key("limit") => {
                        note(5, 2, "`$filter` with a limit", found);
                    }
                    (name, _) => note_name(name, found),
                }
                of_expression(value, found);
            }
        }
        _ => {}
    }
}

fn note_name(name: &str, found: &mut Option<ServerRequirement>) {
    if name.starts_with('$')
        && let Ok(at) = SINCE.binary_search_by(|(known, _)| (*known).cmp(name))
        && let Some((known, (major, minor))) = SINCE.get(at)
        && found
            .as_ref()
            .is_none_or(|found| found.version() < (*major, *minor))
    {
        note(*major, *minor, format!("`{known}`"), found);
    }
}

fn note(
    major: u32,
    minor: u32,
    feature: impl Into<std::borrow::Cow<'static, str>>,
    found: &mut Option<ServerRequirement>,
) {
    keep(ServerRequirement::new(major, minor, feature), found);
}

fn keep(requirement: ServerRequirement, found: &mut Option<ServerRequirement>) {
    *found = Some(match found.take() {
        Some(known) => known.or_later(requirement),
        None => requirement,
    });
}

/// Adds a requirement to the options of an action.
macro_rules! requiring {
    ($options:expr, $requirement:expr) => {
        match $requirement {
            Some(requirement) => $options.requires(requirement),
            None => $options,
        }
    };
}
pub(crate) use requiring;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bson::doc;

    fn version(stages: &[Document]) -> Option<(u32, u32)> {
        of_pipeline(stages, "own").map(|requirement| requirement.version())
    }

    #[test]
    fn names_are_sorted_for_the_search() {
        assert!(SINCE.is_sorted());
    }

    #[test]
    fn stages_and_operators_have_the_version_of_the_newest() {
        assert_eq!(version(&[doc! { "$match": { "a": 1 } }]), None);
        let union = doc! { "$unionWith": { "coll": "x", "pipeline": [{ "$fill": {} }] } };
        assert_eq!(version(&[union]), Some((5, 3)));
        let set = doc! { "$set": { "a": { "$add": [{ "$dateDiff": {} }, { "$isNumber": "$b" }] } } };
        assert_eq!(version(&[set]), Some((5, 0)));
        let expr = doc! { "$match": { "$or": [{ "a": 1 }, { "$expr": { "$gt": [{ "$median": {} }, 1] } }] } };
        assert_eq!(version(&[expr]), Some((7, 0)));
        let lookup = doc! { "$lookup": { "from": "c", "localField": "a", "foreignField": "b", "pipeline": [], "as": "c" } };
        assert_eq!(version(&[lookup]), Some((5, 0)));
        assert_eq!(version(&[doc! { "$merge": { "into": "own" } }]), Some((4, 4)));
        assert_eq!(version(&[doc! { "$merge": { "into": "other" } }]), None);
    }

    #[test]
    fn accumulators_and_expressions_of_one_name_differ() {
        let group = |output: Document| [doc! { "$group": { "_id": "$a", "b": output } }];
        assert_eq!(version(&group(doc! { "$first": "$a" })), None);
        assert_eq!(version(&group(doc! { "$sum": { "$first": "$a" } })), Some((4, 4)));
        assert_eq!(version(&group(doc! { "$setUnion": "$a" })), Some((8, 1)));
        assert_eq!(
            version(&[doc! { "$set": { "b": { "$setUnion": ["$a", "$c"] } } }]),
            None
        );
        assert_eq!(version(&group(doc! { "$count": {} })), Some((5, 0)));
        assert_eq!(version(&[doc! { "$count": "n" }]), None);
    }

    #[test]
    fn values_are_not_operators() {
        let stages = [
            doc! { "$match": { "a": { "$eq": { "$median": 1 } } } },
            doc! { "$set": { "a": { "$literal": { "$median": 1 } } } },
        ];
        assert_eq!(version(&stages), None);
    }
}
