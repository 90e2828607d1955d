//! The `explain` command. Plans are made from the existing indexes and data; the statistics come
//! from executing the plan without its writes.

mod aggregate;
mod clauses;
mod execution;
mod intervals;
mod planner;
mod reads;
mod reply;
mod scan;
mod stages;
mod writes;

pub(crate) use aggregate::explain as explain_aggregate;
pub(crate) use reply::Verbosity;

use crate::command::{Call, generic, table};
use crate::error::{Error, Result, code};
use bson::{Bson, Document};
use reply::Explained;

/// Runs the `explain` command.
pub(crate) fn run(call: &Call<'_>) -> Result<Document> {
    let Some(Bson::Document(body)) = call.body.get(call.key) else {
        return Err(Error::failed_to_parse("explain command requires a nested object"));
    };
    let verbosity = Verbosity::parse(call.args().string("verbosity")?)?;
    let key = body.keys().next().map_or("", String::as_str);
    if let Some(Bson::String(db)) = body.get("$db")
        && db != call.db
    {
        return Err(Error::new(
            code::INVALID_NAMESPACE,
            format!(
                "Mismatched $db in explain command. Expected {} but got {db}",
                call.db
            ),
        ));
    }
    let command = table::find(key, call.deployment).ok_or_else(|| {
        Error::new(
            code::COMMAND_NOT_FOUND,
            format!("Explain failed due to unknown command: {key}"),
        )
    })?;
    generic::check_fields(command, call.deployment, body)?;
    let inner = Call {
        name: command.name,
        key,
        body,
        ..*call
    };
    explain(&inner, verbosity)
}

fn explain(call: &Call<'_>, verbosity: Verbosity) -> Result<Document> {
    let explained = match call.name {
        "find" => reads::find(call, verbosity),
        "count" => reads::count(call, verbosity),
        "distinct" => reads::distinct(call, verbosity),
        "aggregate" => return explain_aggregate(call, verbosity),
        "update" => writes::update(call, verbosity),
        "delete" => writes::delete(call, verbosity),
        "findAndModify" => writes::find_and_modify(call, verbosity),
        "mapReduce" => return Err(Error::not_served("explain of mapReduce")),
        name => {
            return Err(Error::new(
                code::ILLEGAL_OPERATION,
                format!("Cannot explain cmd: {name}"),
            ));
        }
    }?;
    Ok(match explained {
        Explained::Query { planner, stats } => reply::of_query(call, verbosity, planner, stats),
        Explained::Reply(reply) => reply,
    })
}

/// Returns the fields of a simple inclusion projection, or `None` for any other projection.
fn projected_fields(projection: &Document) -> Option<Vec<String>> {
    if !is_simple(projection) {
        return None;
    }
    let with_id = projection.get("_id").is_none_or(crate::value::truthy);
    let mut fields: Vec<String> = Vec::new();
    for (field, value) in projection.iter().filter(|(field, _)| *field != "_id") {
        if !crate::value::truthy(value) {
            return None;
        }
        fields.push(field.clone());
    }
    if with_id {
        fields.push("_id".to_owned());
    }
    Some(fields)
}

/// Returns whether a projection only includes or excludes top-level fields.
fn is_simple(projection: &Document) -> bool {
    projection.iter().all(|(field, value)| {
        let plain = matches!(value, Bson::Boolean(_)) || crate::value::is_number(value);
        plain && !field.contains(['.', '$'])
    })
}
