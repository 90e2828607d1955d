//! Executes a plan without writes and builds the tree of its stages with their counters.

use super::clauses::to_document;
use super::planner::{Access, Plan, Query};
use super::scan::{IndexScan, Scanned};
use super::stages::{Stage, count};
use crate::command::find::sorted;
use crate::error::Result;
use crate::query::Filter;
use crate::query::sort::Sort;
use crate::storage::{Collection, RecordId};
use crate::value::document_size;
use bson::{Document, doc};
use std::collections::BTreeSet;

/// The result of a plan and its counters.
#[derive(Debug, Default)]
pub(super) struct Executed {
    pub(super) ids: Vec<RecordId>,
    pub(super) keys_examined: u64,
    pub(super) documents_examined: u64,
    /// The number of works at which each result was produced.
    pub(super) result_works: Vec<u64>,
    pub(super) works: u64,
    pub(super) stage: Stage,
}

/// The progress of the execution of a plan.
struct Reader<'r> {
    query: &'r Query<'r>,
    collection: &'r Collection,
    /// The number of matches after which reading stops.
    enough: usize,
    seen: BTreeSet<RecordId>,
    found: Vec<RecordId>,
    found_at: Vec<u64>,
    works: u64,
    examined: u64,
}

impl Reader<'_> {
    fn is_done(&self) -> bool {
        self.found.len() >= self.enough
    }

    /// Reads a document and records it if it matches the filter. Returns whether it matches.
    fn read(&mut self, id: RecordId, fetch: bool) -> Result<bool> {
        let Some(document) = self.collection.record(id) else {
            return Ok(false);
        };
        self.examined += u64::from(fetch);
        let matches = self.query.parsed.matches(document, self.query.env)?;
        if matches {
            self.found.push(id);
            self.found_at.push(self.works);
        }
        Ok(matches)
    }
}

/// The counters of an index scan.
#[derive(Default)]
struct ScanCounters {
    keys: u64,
    passed: u64,
    dropped: u64,
    works: u64,
    ended: bool,
}

/// Executes a plan.
pub(super) fn execute(query: &Query<'_>, plan: &Plan<'_>) -> Result<Executed> {
    let Some(collection) = query.collection else {
        let stage = Stage {
            name: "EOF",
            works: 1,
            is_eof: true,
            ..Stage::default()
        };
        return Ok(Executed {
            works: 1,
            stage,
            ..Executed::default()
        });
    };
    let enough = match (query.limit, plan.sorts) {
        (Some(limit), false) => limit.saturating_add(query.skip),
        _ => usize::MAX,
    };
    let mut reader = Reader {
        query,
        collection,
        enough,
        seen: BTreeSet::new(),
        found: Vec::new(),
        found_at: Vec::new(),
        works: 0,
        examined: 0,
    };
    let (mut stage, keys_examined) = match &plan.access {
        Access::Missing => (Stage::default(), 0),
        Access::Records { forward } => (records(&mut reader, *forward)?, 0),
        Access::Id(scan) => by_id(&mut reader, scan)?,
        Access::Index(scan) => index(&mut reader, scan, plan.covered)?,
        Access::Union(scans, rest) => union(&mut reader, scans, &to_document(rest))?,
    };
    let mut executed = Executed {
        keys_examined,
        documents_examined: reader.examined,
        result_works: reader.found_at,
        ids: reader.found,
        ..Executed::default()
    };
    if plan.sorts
        && let Some(pattern) = query.key_sort()
    {
        stage = sort(query, collection, pattern, &mut executed, stage)?;
    }
    if query.skip > 0 {
        let skipped = query.skip.min(executed.ids.len());
        executed.ids.drain(..skipped);
        executed
            .result_works
            .drain(..skipped.min(executed.result_works.len()));
        stage = Stage::over("SKIP", doc! { "skipAmount": query.skip as i64 }, stage);
        stage.returned = executed.ids.len() as u64;
    }
    if let Some(projection) = query.projection {
        let name = match (plan.covered, super::is_simple(projection)) {
            (true, true) => "PROJECTION_COVERED",
            (false, true) => "PROJECTION_SIMPLE",
            _ => "PROJECTION_DEFAULT",
        };
        stage = Stage::over(name, doc! { "transformBy": projection.clone() }, stage);
    }
    if let Some(limit) = query.limit.filter(|_| !plan.sorts) {
        stage = Stage::over("LIMIT", doc! { "limitAmount": limit as i64 }, stage);
        stage.is_eof = true;
    }
    executed.works = stage.works;
    executed.stage = stage;
    Ok(executed)
}

fn filtered(filter: &Document) -> Document {
    if filter.is_empty() {
        Document::new()
    } else {
        doc! { "filter": filter.clone() }
    }
}

/// Scans the collection in record order.
fn records(reader: &mut Reader<'_>, forward: bool) -> Result<Stage> {
    let mut ids: Vec<RecordId> = reader.collection.records().map(|(id, _)| id).collect();
    if !forward {
        ids.reverse();
    }
    let mut ended = true;
    for id in ids {
        if reader.is_done() {
            ended = false;
            break;
        }
        reader.works += 1;
        reader.read(id, true)?;
    }
    reader.works += u64::from(ended);
    let filter = to_document(&super::clauses::clauses(reader.query.filter));
    let mut parameters = filtered(&filter);
    parameters.insert("direction", if forward { "forward" } else { "backward" });
    Ok(Stage {
        name: "COLLSCAN",
        parameters,
        counted: doc! { "docsExamined": count(reader.examined) },
        returned: reader.found.len() as u64,
        works: reader.works,
        is_eof: ended,
        inputs: Vec::new(),
    })
}

/// Reads one record through a point of the `_id` index.
fn by_id(reader: &mut Reader<'_>, scan: &IndexScan<'_>) -> Result<(Stage, u64)> {
    let scanned = scan.run();
    for step in &scanned.steps {
        reader.works += 1;
        reader.read(step.id, true)?;
    }
    let keys = scanned.keys_examined;
    let clustered = scan.index.spec.contains_key("clustered");
    let pattern = scan.index.key_pattern();
    let (name, parameters) = match (reader.query.express, clustered) {
        (true, true) => ("EXPRESS_CLUSTERED_IXSCAN", Document::new()),
        (true, false) => (
            "EXPRESS_IXSCAN",
            doc! { "keyPattern": crate::value::format::document(&pattern).replace(".0", ""), "indexName": &scan.index.name },
        ),
        (false, _) => ("IDHACK", Document::new()),
    };
    reader.works += 1;
    let stage = Stage {
        name,
        parameters,
        counted: doc! { "keysExamined": count(keys), "docsExamined": count(reader.examined) },
        returned: reader.found.len() as u64,
        works: reader.works,
        is_eof: true,
        inputs: Vec::new(),
    };
    Ok((stage, keys))
}

/// Reads the records of an index scan until enough of them match.
fn read_index(
    reader: &mut Reader<'_>,
    scan: &IndexScan<'_>,
    covered: bool,
) -> Result<(ScanCounters, Scanned)> {
    let scanned = scan.run();
    let on_key = Filter::parse(&to_document(&scan.on_key), reader.query.env)?;
    let mut counted = ScanCounters {
        ended: true,
        ..ScanCounters::default()
    };
    for step in &scanned.steps {
        if reader.is_done() {
            counted.ended = false;
            break;
        }
        counted.keys = step.examined;
        counted.works += 1;
        reader.works += 1;
        if !reader.seen.insert(step.id) {
            counted.dropped += 1;
            continue;
        }
        let Some(document) = reader.collection.record(step.id) else {
            continue;
        };
        if on_key.matches(document, reader.query.env)? {
            counted.passed += 1;
            reader.read(step.id, !covered)?;
        }
    }
    if counted.ended {
        counted.works += 1 + scanned.keys_examined - counted.keys;
        reader.works += 1 + scanned.keys_examined - counted.keys;
        counted.keys = scanned.keys_examined;
    }
    Ok((counted, scanned))
}

fn scan_stage(scan: &IndexScan<'_>, counted: &ScanCounters, scanned: &Scanned) -> Stage {
    let mut parameters = filtered(&to_document(&scan.on_key));
    parameters.extend(scan.describe(true));
    Stage {
        name: "IXSCAN",
        parameters,
        counted: doc! {
            "keysExamined": count(counted.keys),
            "seeks": count(scanned.seeks),
            "dupsTested": count(if scan.is_multikey() { counted.works } else { 0 }),
            "dupsDropped": count(counted.dropped),
        },
        returned: counted.passed,
        works: counted.works,
        is_eof: counted.ended,
        inputs: Vec::new(),
    }
}

fn fetch(filter: &Document, input: Stage, examined: u64, returned: u64) -> Stage {
    let mut stage = Stage::over("FETCH", filtered(filter), input);
    stage.counted = doc! { "docsExamined": count(examined), "alreadyHasObj": 0 };
    stage.returned = returned;
    stage
}

fn index(reader: &mut Reader<'_>, scan: &IndexScan<'_>, covered: bool) -> Result<(Stage, u64)> {
    let (counted, scanned) = read_index(reader, scan, covered)?;
    let stage = scan_stage(scan, &counted, &scanned);
    if covered {
        return Ok((stage, counted.keys));
    }
    let returned = reader.found.len() as u64;
    let stage = fetch(&to_document(&scan.on_document), stage, reader.examined, returned);
    Ok((stage, counted.keys))
}

fn union(reader: &mut Reader<'_>, scans: &[IndexScan<'_>], rest: &Document) -> Result<(Stage, u64)> {
    let (mut stages, mut keys, mut works, mut ended) = (Vec::new(), 0, 0, true);
    for scan in scans {
        let before = (reader.examined, reader.found.len() as u64);
        let (counted, scanned) = read_index(reader, scan, false)?;
        keys += counted.keys;
        works += counted.works;
        ended &= counted.ended;
        let stage = scan_stage(scan, &counted, &scanned);
        stages.push(if scan.on_document.is_empty() {
            stage
        } else {
            let (examined, found) = (reader.examined - before.0, reader.found.len() as u64 - before.1);
            fetch(&to_document(&scan.on_document), stage, examined, found)
        });
    }
    let passed = stages.iter().map(|stage| stage.returned).sum();
    let either = Stage {
        name: "OR",
        parameters: Document::new(),
        counted: doc! { "dupsTested": count(passed), "dupsDropped": 0 },
        returned: passed,
        works,
        is_eof: ended,
        inputs: stages,
    };
    let returned = reader.found.len() as u64;
    let mut stage = fetch(rest, either, reader.examined, returned);
    if rest.is_empty() {
        stage = Stage::over("SUBPLAN", Document::new(), stage);
    }
    Ok((stage, keys))
}

/// Sorts the results in memory. The input is read completely before the first result.
fn sort(
    query: &Query<'_>,
    collection: &Collection,
    pattern: &Document,
    executed: &mut Executed,
    input: Stage,
) -> Result<Stage> {
    let parsed = Sort::parse(pattern)?;
    let ids = std::mem::take(&mut executed.ids);
    let sizes = ids
        .iter()
        .filter_map(|id| collection.record(*id))
        .map(|document| document_size(document) as u64)
        .sum();
    let mut ids = sorted(collection, ids, Some(&parsed), query.env)?;
    let mut parameters = doc! { "sortPattern": pattern.clone(), "memLimit": 104_857_600 };
    if let Some(limit) = query.limit {
        let kept = limit.saturating_add(query.skip);
        parameters.insert("limitAmount", kept as i64);
        ids.truncate(kept);
    }
    parameters.insert(
        "type",
        if pattern.values().any(|by| by.as_document().is_some()) {
            "default"
        } else {
            "simple"
        },
    );
    let read = input.works;
    let mut stage = Stage::over("SORT", parameters, input);
    stage.counted = doc! { "totalDataSizeSorted": count(sizes), "usedDisk": false, "spills": 0 };
    stage.returned = ids.len() as u64;
    stage.works = read + stage.returned;
    stage.is_eof = true;
    executed.result_works = (1..=stage.returned).map(|result| read + result).collect();
    executed.ids = ids;
    Ok(stage)
}
