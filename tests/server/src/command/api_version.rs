//! The Stable API: `apiVersion`, `apiStrict` and `apiDeprecationErrors`, and the commands, stages
//! and fields of each version.

use super::hello::is_hello;
use super::older_versions::unknown_option;
use super::table::Command;
use crate::aggregate::rules::all_stages;
use crate::deployment::Deployment;
use crate::error::{Error, Result, code};
use crate::query::Env;
use crate::refusal::{ServerProfile, stable_api as rows};
use crate::version::Version;
use bson::{Bson, Document};

/// Commands of version 2 only, and commands deprecated in version 2.
const ONLY_IN_2: [&str; 1] = ["testVersion2"];
const DEPRECATED_IN_2: [&str; 1] = ["testDeprecationInVersion2"];
const DEPRECATED_IN_1: [&str; 1] = ["testDeprecation"];

/// Stages that are not in version 1, besides `$collStats` with some options.
const UNSTABLE_STAGES: [&str; 18] = [
    "$changeStreamSplitLargeEvent",
    "$currentOp",
    "$indexStats",
    "$listCatalog",
    "$listClusterCatalog",
    "$listLocalSessions",
    "$listSampledQueries",
    "$listSearchIndexes",
    "$listSessions",
    "$planCacheStats",
    "$querySettings",
    "$queryStats",
    "$rankFusion",
    "$scoreFusion",
    "$search",
    "$searchMeta",
    "$shardedDataDistribution",
    "$vectorSearch",
];

/// Expression operators that are not in version 1.
const UNSTABLE_EXPRESSIONS: [&str; 2] = ["$median", "$percentile"];

/// Expression operators that are not in version 1 on servers of 5.0.
const NEW_IN_5_0: [&str; 7] = [
    "$dateAdd",
    "$dateDiff",
    "$dateSubtract",
    "$dateTrunc",
    "$getField",
    "$setField",
    "$unsetField",
];

/// Metadata that are not in version 1.
const UNSTABLE_METADATA: [&str; 6] = [
    "indexKey",
    "score",
    "searchHighlights",
    "searchScore",
    "searchScoreDetails",
    "textScore",
];

/// Fields that are not in version 1, by command. Each path of several names leads through embedded
/// documents and the documents of arrays.
const UNSTABLE_FIELDS: &[(&str, &[&str])] = &[
    ("aggregate", &["explain"]),
    (
        "collMod",
        &[
            "index.unique",
            "index.prepareUnique",
            "changeStreamPreAndPostImages",
            "dryRun",
        ],
    ),
    (
        "create",
        &[
            "size",
            "max",
            "autoIndexId",
            "storageEngine",
            "indexOptionDefaults",
            "recordPreImages",
            "changeStreamPreAndPostImages",
            "temp",
            "flags",
        ],
    ),
    ("createIndexes", &["ignoreUnknownIndexOptions"]),
    (
        "find",
        &[
            "awaitData",
            "max",
            "min",
            "noCursorTimeout",
            "oplogReplay",
            "returnKey",
            "showRecordId",
            "tailable",
        ],
    ),
    ("listCollections", &["includePendingDrops"]),
    ("update", &["updates.sort"]),
];

/// Whether the command declares an API version with `apiStrict`.
pub(super) fn is_strict(body: &Document) -> bool {
    body.contains_key("apiVersion") && body.get("apiStrict").is_some_and(crate::value::truthy)
}

/// The fields that declare an API version.
const FIELDS: [&str; 3] = ["apiVersion", "apiStrict", "apiDeprecationErrors"];

/// The commands that reject unknown fields before 5.0. The others read the fields they know.
const STRICT_BEFORE_5_0: [&str; 13] = [
    "aggregate",
    "collMod",
    "count",
    "create",
    "createIndexes",
    "delete",
    "distinct",
    "find",
    "findAndModify",
    "getMore",
    "insert",
    "renameCollection",
    "update",
];

/// Before 5.0, fails if the command declares an API version and rejects unknown fields.
fn check_unknown(command: &Command, deployment: &Deployment, body: &Document) -> Result<()> {
    let declared = body.keys().find(|name| FIELDS.contains(&name.as_str()));
    match declared {
        Some(name) if STRICT_BEFORE_5_0.contains(&command.name) => {
            Err(unknown_option(command.name, name, deployment.version, body))
        }
        _ => Ok(()),
    }
}

/// Whether the version of the server accepts every field of `hello` and its legacy names.
pub(super) fn ignores_unknown_fields(command: &Command, version: Version) -> bool {
    !version.at_least(5, 0) && is_hello(command.name)
}

/// Fails if the command is not in the declared version, or `requireApiVersion` is set and no
/// version is declared.
pub(super) fn check(command: &Command, deployment: &Deployment, body: &Document) -> Result<()> {
    if !deployment.version.at_least(5, 0) {
        return check_unknown(command, deployment, body);
    }
    let on = |name: &str| body.get(name).is_some_and(crate::value::truthy);
    let version = match body.get("apiVersion") {
        None if body.contains_key("apiStrict") || body.contains_key("apiDeprecationErrors") => {
            return rows::WITHOUT_VERSION.check(deployment.profile(), true, &[]);
        }
        // Commands of a transaction use the version of its first command.
        None if deployment.parameter_is_on("requireApiVersion")
            && (!body.contains_key("autocommit") || body.contains_key("startTransaction"))
            && command.name != "getMore" =>
        {
            return Err(Error::new(
                498_870,
                "The apiVersion parameter is required, please configure your MongoClient's API version",
            ));
        }
        None => return Ok(()),
        Some(Bson::String(version)) => version.as_str(),
        Some(_) => {
            return Err(Error::type_mismatch(
                "BSON field 'apiVersion' is the wrong type, expected type 'string'",
            ));
        }
    };
    let second = version == "2" && deployment.parameter_is_on("acceptApiVersion2");
    if version != "1" && !second {
        return Err(Error::new(code::API_VERSION_ERROR, "API version must be \"1\""));
    }
    if on("apiStrict") {
        check_strict(command, deployment, body, second, version)?;
    }
    let deprecated = if second {
        DEPRECATED_IN_2.contains(&command.name)
    } else {
        DEPRECATED_IN_1.contains(&command.name)
    };
    if on("apiDeprecationErrors") && deprecated {
        return Err(Error::new(
            code::API_DEPRECATION_ERROR,
            format!(
                "Provided apiDeprecationErrors:true, but the command {} is deprecated in API Version {version}",
                command.name
            ),
        ));
    }
    Ok(())
}

/// Whether the command of this server version is in API version 1.
fn is_in_v1(command: &Command, version: Version) -> bool {
    let since = match command.name {
        "count" if !version.at_least(5, 1) => (5, 0, 9),
        "renameCollection" => (8, 1, 0),
        _ => (0, 0, 0),
    };
    command.api_v1 && (version.major, version.minor, version.patch) >= since
}

fn check_strict(
    command: &Command,
    deployment: &Deployment,
    body: &Document,
    second: bool,
    version: &str,
) -> Result<()> {
    let profile = deployment.profile();
    let known = is_in_v1(command, profile.version) || (second && ONLY_IN_2.contains(&command.name));
    if !known && rows::COMMAND.applies(profile) {
        let error = rows::COMMAND.error(&[&command.name, &version]);
        return Err(Error {
            message: format!(
                "{}. Information on supported commands and migrations in API Version {version} can be found at \
                 https://dochub.mongodb.org/core/manual-versioned-api",
                error.message
            ),
            ..error
        });
    }
    let fields = UNSTABLE_FIELDS.iter().filter(|(name, _)| *name == command.name);
    for path in fields.flat_map(|(_, paths)| *paths) {
        let names: Vec<&str> = path.split('.').collect();
        let shown = format!("{}.{path}", command.name);
        rows::FIELD.check(profile, has_path(body, &names), &[&shown])?;
    }
    for name in ["sort", "projection", "fields", "pipeline"] {
        let metadata = body.get(name).and_then(unstable_metadata);
        rows::META.check(profile, metadata.is_some(), &[&metadata.unwrap_or_default()])?;
    }
    match body.get_array("pipeline") {
        Ok(stages) if matches!(command.name, "aggregate" | "create" | "collMod") => {
            check_stages(profile, stages, version)
        }
        _ => Ok(()),
    }
}

/// Whether a document has the path, also through the documents of arrays.
fn has_path(document: &Document, path: &[&str]) -> bool {
    let [first, rest @ ..] = path else { return true };
    match document.get(*first) {
        None => false,
        Some(_) if rest.is_empty() => true,
        Some(Bson::Document(inner)) => has_path(inner, rest),
        Some(Bson::Array(items)) => items
            .iter()
            .filter_map(Bson::as_document)
            .any(|inner| has_path(inner, rest)),
        Some(_) => false,
    }
}

/// The argument of the first `$meta` that is not in version 1.
fn unstable_metadata(value: &Bson) -> Option<&str> {
    match value {
        Bson::Document(fields) => fields.iter().find_map(|(name, value)| match value {
            Bson::String(kind) if name == "$meta" && UNSTABLE_METADATA.contains(&kind.as_str()) => {
                Some(kind.as_str())
            }
            _ if name == "$literal" => None,
            other => unstable_metadata(other),
        }),
        Bson::Array(items) => items.iter().find_map(unstable_metadata),
        _ => None,
    }
}

/// Fails on a stage that is not in version 1, also in the pipelines of stages.
fn check_stages(profile: ServerProfile, stages: &[Bson], version: &str) -> Result<()> {
    for (name, argument) in all_stages(stages) {
        let shows_system_events = name == "$changeStream"
            && argument
                .as_document()
                .is_some_and(|spec| spec.contains_key("showSystemEvents"));
        let unstable = UNSTABLE_STAGES.contains(&name) || shows_system_events;
        rows::STAGE.check(profile, unstable, &[&name, &version])?;
        let unstable = unstable || name == "$setWindowFields";
        rows::STAGE_OLD.check(profile, unstable, &[&name, &version])?;
        if let (Some("$collStats"), Bson::Document(spec)) = (Some(name), argument) {
            let other = spec.keys().any(|option| option != "count");
            rows::COLL_STATS.check(profile, other, &[])?;
        }
    }
    Ok(())
}

/// Fails if an expression operator is not in version 1 and the command has `apiStrict`.
pub(crate) fn check_expression(name: &str, env: &Env) -> Result<()> {
    if !env.strict {
        return Ok(());
    }
    let unstable = UNSTABLE_EXPRESSIONS.contains(&name);
    rows::EXPRESSION.check(env.profile, unstable, &[&name, &"1"])?;
    rows::EXPRESSION_OLD.check(env.profile, NEW_IN_5_0.contains(&name), &[&name, &"1"])
}
