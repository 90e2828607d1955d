//! The prefixes of messages of errors that occur while a query is executed.

use super::Call;
use crate::error::{Error, Phase, code};

/// Adds the prefix to an error of `find`.
pub(super) fn of_find(call: &Call<'_>, error: Error) -> Error {
    match error.phase {
        Phase::Executing => executing(call, "Executor error during find command", ": ", error),
        Phase::Parsing | Phase::Optimizing => error,
    }
}

/// Adds the prefix to an error of `aggregate`.
pub(super) fn of_aggregate(call: &Call<'_>, error: Error) -> Error {
    match error.phase {
        Phase::Parsing => error,
        Phase::Optimizing if error.code == code::NOT_IMPLEMENTED => error,
        Phase::Optimizing => error.caused("Failed to optimize pipeline"),
        Phase::Executing if call.deployment.version.at_least(8, 0) => executing(
            call,
            "Executor error during aggregate command",
            " on namespace: ",
            error,
        ),
        Phase::Executing => executing(call, "PlanExecutor error during aggregation", "", error),
    }
}

/// Adds the prefix `what`, since 8.0 with the namespace. 238 NotImplemented is not changed.
fn executing(call: &Call<'_>, what: &str, before_namespace: &str, error: Error) -> Error {
    if error.code == code::NOT_IMPLEMENTED {
        return error;
    }
    if !call.deployment.version.at_least(8, 0) {
        return error.caused(what);
    }
    let namespace = call.namespace().map_or_else(
        |_| format!("{}.$cmd.aggregate", call.db),
        |namespace| namespace.to_string(),
    );
    error.caused(&format!("{what}{before_namespace}{namespace}"))
}
