//! `mapReduce`. The server has no JavaScript interpreter; it recognizes a single program: the sum
//! of `x + 1` over all documents.

use super::Call;
use super::plan::{Scan, select};
use crate::error::{Error, Result};
use crate::query::Filter;
use crate::query::path;
use crate::value::number::Number;
use bson::{Bson, Document, doc};

const MAP: &str = "function inc() { return emit(0, this.x + 1) }";
const REDUCE: &str = "function sum(key, values) { return values.reduce((acc, x) => acc + x); }";

pub(crate) fn run(call: &Call<'_>) -> Result<Document> {
    let namespace = call.namespace()?;
    let args = call.args();
    for (name, program) in [("map", MAP), ("reduce", REDUCE)] {
        match args.get(name) {
            Some(Bson::JavaScriptCode(text) | Bson::String(text)) if text == program => {}
            _ => {
                return Err(Error::not_served(format!("mapReduce with this {name} function")));
            }
        }
    }
    for refused in ["finalize", "scope", "sort", "limit"] {
        if args.get(refused).is_some() {
            return Err(Error::not_served(format!("mapReduce with {refused}")));
        }
    }
    let out = args.get("out").and_then(Bson::as_document);
    if !out.is_some_and(|out| out.contains_key("inline")) {
        return Err(Error::not_served("mapReduce to a collection"));
    }
    let empty = Document::new();
    let catalog = call.catalog();
    let collection = catalog.get(&namespace);
    let env = call.env(collection)?;
    let filter = Filter::of_query(args.document("query")?.unwrap_or(&empty), &env)?;
    let mut results = Vec::new();
    if let Some(collection) = collection {
        let ids = select(collection, &filter, Scan::default(), &env)?;
        let mut sum = 0.0;
        for document in ids.iter().filter_map(|id| collection.record(*id)) {
            let x = path::get(document, "x").and_then(Number::from_bson);
            sum += x.map_or(f64::NAN, |x| x.to_f64() + 1.0);
        }
        if !ids.is_empty() {
            results.push(Bson::Document(doc! { "_id": 0.0, "value": sum }));
        }
    }
    Ok(doc! { "results": results })
}
