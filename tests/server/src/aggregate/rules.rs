//! Rules on the stages of a pipeline and of the pipelines in it, which MongoDB checks before it
//! parses the arguments of the stages (`LiteParsedPipeline`).

use crate::error::{Error, Result};
use crate::refusal::{ServerProfile, aggregation, transactions};
use crate::value::format;
use bson::{Bson, Document};

/// The stages that read statistics of a server or collection: only with read concern `local`, and
/// not in transactions.
const STATISTICS: [&str; 6] = [
    "$collStats",
    "$currentOp",
    "$indexStats",
    "$listLocalSessions",
    "$listSessions",
    "$planCacheStats",
];

/// The names and arguments of the stages, also those of the pipelines in `$lookup`, `$unionWith` and
/// `$facet`.
pub(crate) fn all_stages(stages: &[Bson]) -> Vec<(&str, &Bson)> {
    let mut found = Vec::new();
    collect(stages, &mut found);
    found
}

fn collect<'s>(stages: &'s [Bson], found: &mut Vec<(&'s str, &'s Bson)>) {
    for (name, argument) in stages.iter().filter_map(Bson::as_document).flatten() {
        found.push((name, argument));
        match (name.as_str(), argument) {
            ("$lookup" | "$unionWith", Bson::Document(spec)) => {
                collect(spec.get_array("pipeline").map_or(&[][..], Vec::as_slice), found);
            }
            ("$facet", Bson::Document(facets)) => {
                for stages in facets.values().filter_map(Bson::as_array) {
                    collect(stages, found);
                }
            }
            _ => {}
        }
    }
}

/// Fails on a stage that a transaction may not have.
pub(crate) fn check_transaction(
    profile: ServerProfile,
    stages: &[Bson],
    explain: bool,
    concern: Option<&Document>,
) -> Result<()> {
    let concern = concern.map_or_else(|| "{}".to_owned(), format::document);
    let message = |error: Error, end: String| {
        Err(Error {
            message: format!("{}{end}", error.message),
            ..error
        })
    };
    if explain {
        let end = if profile.version.at_least(5, 0) {
            "in a multi-document transaction".to_owned()
        } else {
            format!(
                " a readConcern other than 'local', or in a multi-document transaction. Current readConcern: {concern}"
            )
        };
        return message(transactions::EXPLAIN.error(&[]), end);
    }
    for (name, _) in all_stages(stages) {
        let refused = STATISTICS.contains(&name)
            || matches!(
                name,
                "$out" | "$merge" | "$changeStream" | "$search" | "$searchMeta" | "$vectorSearch"
            );
        transactions::STAGE.check(profile, refused, &[&name])?;
        transactions::STAGE_OLD.check(profile, refused, &[&name, &concern])?;
        transactions::WINDOW_FIELDS.check(profile, name == "$setWindowFields", &[&name])?;
    }
    Ok(())
}

/// Fails on a stage that does not support the read concern of a command outside of transactions.
pub(crate) fn check_read_concern(
    profile: ServerProfile,
    stages: &[Bson],
    concern: Option<&Document>,
) -> Result<()> {
    let Some(concern) = concern else { return Ok(()) };
    let Ok(level) = concern.get_str("level") else {
        return Ok(());
    };
    for (name, _) in all_stages(stages) {
        let output = matches!(name, "$out" | "$merge");
        aggregation::OUTPUT_LINEARIZABLE.check(profile, output && level == "linearizable", &[&name])?;
        let (between, shown) = if profile.version.at_least(5, 0) {
            (".", level.to_owned())
        } else {
            (", or in a multi-document transaction.", format::document(concern))
        };
        let refused = STATISTICS.contains(&name) && level != "local";
        aggregation::STAGE_READ_CONCERN.check(profile, refused, &[&name, &between, &shown])?;
    }
    Ok(())
}

/// Fails on a stage that the definition of a view may not have.
pub(crate) fn check_view(profile: ServerProfile, stages: &[Bson], namespace: &str) -> Result<()> {
    let prefixed = |error: Error| {
        let between = if profile.version.at_least(4, 4) {
            " :: caused by ::"
        } else {
            ";"
        };
        Error {
            message: format!("Invalid pipeline for view {namespace}{between} {}", error.message),
            ..error
        }
    };
    for (location, stage) in stages.iter().filter_map(Bson::as_document).enumerate() {
        let Some(name) = stage.keys().next() else { continue };
        let output = matches!(name.as_str(), "$out" | "$merge");
        let collectionless = matches!(
            name.as_str(),
            "$currentOp" | "$documents" | "$listLocalSessions" | "$listSessions"
        ) && crate::features::Feature::Stage.is_in(name, profile.version);
        aggregation::OUTPUT_IN_VIEW
            .check(profile, output, &[name, &location, &namespace])
            .and(aggregation::STREAM_IN_VIEW.check(profile, name == "$changeStream", &[]))
            .and(aggregation::COLLECTIONLESS_IN_VIEW.check(profile, collectionless, &[name]))
            .map_err(prefixed)?;
    }
    Ok(())
}
