//! The Stable API: `apiVersion`, `apiStrict` and `apiDeprecationErrors`, and the commands, stages
//! and fields of each version.

use super::table::Command;
use crate::deployment::Deployment;
use crate::error::{Error, Result, code};
use bson::{Bson, Document};

/// Commands of version 2 only, and commands deprecated in version 2.
const ONLY_IN_2: [&str; 1] = ["testVersion2"];
const DEPRECATED_IN_2: [&str; 1] = ["testDeprecationInVersion2"];
const DEPRECATED_IN_1: [&str; 1] = ["testDeprecation"];

/// Stages that are not in version 1.
const UNSTABLE_STAGES: [&str; 9] = [
    "$changeStreamSplitLargeEvent",
    "$currentOp",
    "$indexStats",
    "$listLocalSessions",
    "$listSessions",
    "$planCacheStats",
    "$search",
    "$searchMeta",
    "$listSearchIndexes",
];

/// Fields of `find` that are not in version 1.
const UNSTABLE_FIND: [&str; 8] = [
    "awaitData",
    "max",
    "min",
    "noCursorTimeout",
    "oplogReplay",
    "returnKey",
    "showRecordId",
    "tailable",
];

/// Whether the command declares an API version with `apiStrict`.
pub(super) fn is_strict(body: &Document) -> bool {
    body.contains_key("apiVersion") && body.get("apiStrict").is_some_and(crate::value::truthy)
}

/// Fails if the command is not in the declared version, or `requireApiVersion` is set and no
/// version is declared.
pub(super) fn check(command: &Command, deployment: &Deployment, body: &Document) -> Result<()> {
    let on = |name: &str| body.get(name).is_some_and(crate::value::truthy);
    let version = match body.get("apiVersion") {
        None if body.contains_key("apiStrict") || body.contains_key("apiDeprecationErrors") => {
            return Err(Error::new(
                code::INVALID_OPTIONS,
                "Provided apiStrict and/or apiDeprecationErrors without passing apiVersion",
            ));
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
        check_strict(command, body, second, version)?;
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

fn check_strict(command: &Command, body: &Document, second: bool, version: &str) -> Result<()> {
    let strict = |what: String| {
        Err(Error::new(
            code::API_STRICT_ERROR,
            format!("Provided apiStrict:true, but {what} is not in API Version {version}"),
        ))
    };
    let known = command.api_v1 || (second && ONLY_IN_2.contains(&command.name));
    if !known {
        return strict(format!("the command {}", command.name));
    }
    if command.name == "find"
        && let Some(field) = UNSTABLE_FIND.iter().find(|field| body.contains_key(*field))
    {
        return strict(format!("the field {field} of find"));
    }
    if command.name == "aggregate"
        && let Ok(stages) = body.get_array("pipeline")
    {
        for name in stages
            .iter()
            .filter_map(|stage| stage.as_document()?.keys().next())
        {
            if UNSTABLE_STAGES.contains(&name.as_str()) {
                return strict(format!("stage {name}"));
            }
        }
    }
    Ok(())
}
