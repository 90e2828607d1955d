//! `explain` of `update`, `delete` and `findAndModify`. Nothing is written.

use super::execution::Executed;
use super::planner::{Access, Query};
use super::reply::{Explained, Verbosity, explained};
use super::stages::{Stage, count};
use crate::command::args::Args;
use crate::command::update::statement_env;
use crate::command::{Call, view};
use crate::error::{Error, Result};
use crate::query::projection::Projection;
use crate::query::sort::Sort;
use crate::query::{Env, Filter};
use crate::storage::Collection;
use crate::update::{Target, Update};
use crate::value::identical_documents;
use bson::{Bson, Document, doc};

/// Returns the statement of a write. `explain` requires exactly one.
fn only_statement<'c>(call: &Call<'c>, field: &str) -> Result<&'c Document> {
    let statements = call.args().documents(field)?.unwrap_or_default();
    match statements.as_slice() {
        [only] => Ok(only),
        _ => Err(Error::new(16, "explained write batches must be of size 1")),
    }
}

/// The write to explain.
struct Write<'w> {
    call: &'w Call<'w>,
    filter: &'w Document,
    sort: Option<&'w Document>,
    hint: Option<&'w Bson>,
    /// `None` for a delete.
    update: Option<Update>,
    multi: bool,
    upsert: bool,
    /// The projection of the returned document; `None` if no document is returned.
    returned: Option<Option<&'w Document>>,
}

impl Write<'_> {
    fn explain(&self, verbosity: Verbosity, collection: Option<&Collection>, env: &Env) -> Result<Explained> {
        let parsed = Filter::of_query(self.filter, env)?;
        if let Some(sort) = self.sort {
            Sort::parse(sort)?;
        }
        let query = Query {
            collection,
            filter: self.filter,
            parsed: &parsed,
            sort: self.sort,
            projection: None,
            skip: 0,
            limit: (!self.multi).then_some(1),
            hint: self.hint,
            env,
            express: false,
        };
        let choice = query.choose()?;
        let express = matches!(choice.winner.0.access, Access::Id(_))
            && !self.multi
            && !self.upsert
            && self.returned.is_none()
            && self.call.deployment.version.at_least(8, 0);
        let wrap = |stage: Stage, executed: &Executed| {
            let stage = match stage.name {
                "LIMIT" => stage.inputs.into_iter().next().unwrap_or_default(),
                _ => stage,
            };
            self.over(stage, executed, &query, express)
        };
        let namespace = self.call.namespace()?.to_string();
        let (planner, stats) = explained(self.call, verbosity, &namespace, &query, &choice, &wrap)?;
        Ok(Explained::Query { planner, stats })
    }

    /// Adds the write stage above the stages of the query.
    fn over(&self, input: Stage, executed: &Executed, query: &Query<'_>, express: bool) -> Result<Stage> {
        if input.name == "EOF" && !self.upsert {
            return Ok(input);
        }
        let matched = executed.ids.len() as u64;
        let batched = self.multi && self.call.deployment.version.at_least(6, 1);
        let (name, counted) = match &self.update {
            None => (
                match (express, batched) {
                    (true, _) => "EXPRESS_DELETE",
                    (_, true) => "BATCHED_DELETE",
                    _ => "DELETE",
                },
                doc! { "nWouldDelete": count(matched) },
            ),
            Some(update) => {
                let modified = self.would_modify(update, executed, query)?;
                let upserted = i32::from(self.upsert && matched == 0);
                (
                    if express { "EXPRESS_UPDATE" } else { "UPDATE" },
                    doc! { "nMatched": count(matched), "nWouldModify": count(modified), "nWouldUpsert": upserted },
                )
            }
        };
        let returned = if self.returned.is_some() { matched } else { 0 };
        let mut stage = if express {
            let index = query.collection.and_then(|collection| collection.indexes.first());
            let parameters = index.map_or_else(Document::new, |index| {
                doc! { "keyPattern": "{ _id: 1 }", "indexName": &index.name }
            });
            Stage {
                name,
                parameters,
                inputs: Vec::new(),
                ..input
            }
        } else {
            Stage::over(name, Document::new(), input)
        };
        stage.counted.extend(counted);
        stage.returned = returned;
        if let Some(Some(projection)) = self.returned {
            let name = if super::is_simple(projection) {
                "PROJECTION_SIMPLE"
            } else {
                "PROJECTION_DEFAULT"
            };
            stage = Stage::over(name, doc! { "transformBy": projection.clone() }, stage);
        }
        Ok(stage)
    }

    /// Counts the documents that the update would change.
    fn would_modify(&self, update: &Update, executed: &Executed, query: &Query<'_>) -> Result<u64> {
        let mut modified = 0;
        for id in &executed.ids {
            let Some(old) = query.collection.and_then(|collection| collection.record(*id)) else {
                continue;
            };
            let (_, position) = query.parsed.matches_with_position(old, query.env)?;
            let target = Target {
                position,
                env: query.env,
                insert: false,
                timestamp: self.call.deployment.operation_time(),
            };
            modified += u64::from(!identical_documents(old, &update.apply(old, target)?));
        }
        Ok(modified)
    }
}

pub(super) fn update(call: &Call<'_>, verbosity: Verbosity) -> Result<Explained> {
    let namespace = call.namespace()?;
    let statement = only_statement(call, "updates")?;
    let catalog = call.catalog();
    view::refuse(&catalog, &namespace)?;
    let collection = catalog.get(&namespace);
    let args = Args::new("update.updates", statement);
    let mut env = statement_env(call, statement, collection)?;
    crate::expression::define_let(args.document("c")?, &mut env)?;
    let filters = args.array("arrayFilters")?.map(Vec::as_slice);
    let write = Write {
        call,
        filter: args.required_document("q")?,
        sort: args.document("sort")?,
        hint: args.get("hint"),
        update: Some(Update::parse(
            args.get("u").unwrap_or(&Bson::Null),
            filters,
            &env,
        )?),
        multi: args.flag("multi", false)?,
        upsert: args.flag("upsert", false)?,
        returned: None,
    };
    write.explain(verbosity, collection, &env)
}

pub(super) fn delete(call: &Call<'_>, verbosity: Verbosity) -> Result<Explained> {
    let namespace = call.namespace()?;
    let statement = only_statement(call, "deletes")?;
    let catalog = call.catalog();
    view::refuse(&catalog, &namespace)?;
    let collection = catalog.get(&namespace);
    let args = Args::new("delete.deletes", statement);
    let env = statement_env(call, statement, collection)?;
    let write = Write {
        call,
        filter: args.required_document("q")?,
        sort: None,
        hint: args.get("hint"),
        update: None,
        multi: args.required_integer("limit")? == 0,
        upsert: false,
        returned: None,
    };
    write.explain(verbosity, collection, &env)
}

pub(super) fn find_and_modify(call: &Call<'_>, verbosity: Verbosity) -> Result<Explained> {
    let namespace = call.namespace()?;
    let args = call.args();
    let catalog = call.catalog();
    view::refuse(&catalog, &namespace)?;
    let collection = catalog.get(&namespace);
    let env = call.env(collection)?;
    let update = match (args.flag("remove", false)?, args.get("update")) {
        (true, None) => None,
        (false, Some(update)) => {
            let filters = args.array("arrayFilters")?.map(Vec::as_slice);
            Some(Update::parse(update, filters, &env)?)
        }
        _ => {
            return Err(Error::failed_to_parse(
                "Either an update or remove=true must be specified",
            ));
        }
    };
    let empty = Document::new();
    let fields = args.document("fields")?.filter(|fields| !fields.is_empty());
    fields
        .map(|fields| Projection::parse_find(fields, &env))
        .transpose()?;
    let write = Write {
        call,
        filter: args.document("query")?.unwrap_or(&empty),
        sort: args.document("sort")?.filter(|sort| !sort.is_empty()),
        hint: args.get("hint"),
        update,
        multi: false,
        upsert: args.flag("upsert", false)?,
        returned: Some(fields),
    };
    write.explain(verbosity, collection, &env)
}
