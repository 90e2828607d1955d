//! `$search`, `$searchMeta`, `$vectorSearch` and `$listSearchIndexes`.

use super::Source;
use crate::error::{Error, Result, code};
use crate::query::sort::Sort;
use crate::query::{Env, Filter};
use crate::refusal::aggregation as rows;
use crate::search::collect::Collector;
use crate::search::highlight::Highlight;
use crate::search::index::{Kind, SearchIndex};
use crate::search::operator::Operator;
use crate::search::{invalid, ranked, vector};
use crate::storage::Namespace;
use crate::value::metadata;
use crate::value::number::Number;
use crate::version::Version;
use bson::{Bson, Document, doc};

/// The options of `$search` besides the operator.
const OPTIONS: [&str; 10] = [
    "concurrent",
    "count",
    "highlight",
    "index",
    "returnStoredSource",
    "scoreDetails",
    "searchAfter",
    "searchBefore",
    "sort",
    "tracking",
];

/// The error of a deployment without Atlas Search.
fn check_enabled(env: &Env) -> Result<()> {
    if env.search {
        return Ok(());
    }
    Err(Error::new(
        31082,
        "Using $search and $vectorSearch aggregation stages requires additional configuration. Please connect to Atlas or an \
         AtlasCLI local deployment to enable. For more information on how to connect, see \
         https://dochub.mongodb.org/core/atlas-cli-deploy-local-reqs.",
    ))
}

/// The indexes of the collection that the pipeline reads.
fn indexes<'s>(source: Source<'s>) -> Result<&'s [SearchIndex]> {
    let Some(collection) = source.collection else {
        return Ok(&[]);
    };
    let namespace = Namespace::new(source.database, collection)?;
    Ok(source
        .catalog
        .get(&namespace)
        .map_or(&[], |collection| collection.search_indexes.as_slice()))
}

/// The index of this name if it can be searched.
fn ready<'s>(source: Source<'s>, name: &str) -> Result<Option<&'s SearchIndex>> {
    let mut indexes = indexes(source)?.iter();
    Ok(indexes.find(|index| index.name == name && index.search()))
}

/// A `$search` or `$searchMeta` stage.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    index: String,
    /// `None` finds all documents.
    operator: Option<Operator>,
    collector: Option<Collector>,
    sort: Option<Sort>,
    /// Whether the number of documents is exact.
    total: bool,
    highlight: Option<Highlight>,
    score_details: bool,
    /// The position after or before which documents are returned.
    after: Option<usize>,
    before: Option<usize>,
    /// `$searchMeta`
    only_metadata: bool,
}

impl Search {
    pub(super) fn parse(name: &str, spec: &Document, env: &Env) -> Result<Search> {
        check_enabled(env)?;
        if matches!(spec.get("returnStoredSource"), Some(Bson::Boolean(true))) {
            return Err(Error::not_served(format!(
                "the option returnStoredSource of {name}"
            )));
        }
        let index = match spec.get("index") {
            None => "default",
            Some(Bson::String(index)) => index,
            Some(_) => return Err(invalid("\"index\" must be a string")),
        };
        let total = match spec.get("count") {
            None => false,
            Some(Bson::Document(count)) => matches!(count.get_str("type"), Ok("total")),
            Some(_) => return Err(invalid("\"count\" must be a document")),
        };
        let collector = spec.get("facet").map(Collector::parse).transpose()?;
        let operator = match &collector {
            Some(collector) => {
                let mut rest = spec.clone();
                rest.remove("facet");
                if rest.keys().any(|field| !OPTIONS.contains(&field.as_str())) {
                    return Err(invalid("only one operator or collector may be present"));
                }
                collector.operator.clone()
            }
            None => Some(Operator::of_stage(spec, &OPTIONS)?),
        };
        let (after, before) = (token(spec, "searchAfter")?, token(spec, "searchBefore")?);
        if after.is_some() && before.is_some() {
            return Err(invalid("only one of [searchAfter, searchBefore] may be present"));
        }
        Ok(Search {
            index: index.to_owned(),
            operator,
            collector,
            sort: sort(name, spec)?,
            total,
            highlight: spec.get("highlight").map(Highlight::parse).transpose()?,
            score_details: matches!(spec.get("scoreDetails"), Some(Bson::Boolean(true))),
            after,
            before,
            only_metadata: name == "$searchMeta",
        })
    }

    pub(super) fn run(
        &self,
        mut documents: Vec<Document>,
        source: Source<'_>,
        env: &Env,
    ) -> Result<Vec<Document>> {
        let mut facets = None;
        let found = match ready(source, &self.index)?.map(|index| &index.kind) {
            None => Vec::new(),
            Some(Kind::Vector(..)) => {
                return Err(invalid(format!(
                    "index '{}' is a vectorSearch index and cannot be used by $search",
                    self.index
                )));
            }
            Some(Kind::Search(mapping)) => {
                let found = match &self.operator {
                    Some(operator) => ranked(operator, &documents, mapping)?,
                    None => (0..documents.len()).map(|at| (at, 1.0)).collect(),
                };
                if let Some(collector) = &self.collector {
                    let found: Vec<&Document> = found.iter().map(|(at, _)| &documents[*at]).collect();
                    facets = Some(collector.collect(&found, mapping)?);
                }
                found
            }
        };
        let count = i64::try_from(found.len()).unwrap_or(i64::MAX);
        let name = if self.total { "total" } else { "lowerBound" };
        let mut meta = doc! { "count": { name: count } };
        if let Some(facets) = facets {
            meta.insert("facet", facets);
        }
        if self.only_metadata {
            return Ok(vec![meta]);
        }
        let rows = found.into_iter().map(|(at, score)| {
            let document = std::mem::take(&mut documents[at]);
            let highlights = self.highlights(&document);
            let mut row = scored(document, "searchScore", score);
            if let Some(highlights) = highlights {
                metadata::set(&mut row, "searchHighlights", highlights.into());
            }
            if self.score_details {
                let details =
                    doc! { "value": score, "description": "score of the test server", "details": [] };
                metadata::set(&mut row, "searchScoreDetails", details.into());
            }
            metadata::set(&mut row, metadata::SEARCH_META, meta.clone().into());
            row
        });
        let mut rows: Vec<Document> = rows.collect();
        if let Some(sort) = &self.sort {
            sort.sort(&mut rows, env)?;
        }
        for (at, row) in rows.iter_mut().enumerate() {
            metadata::set(row, "searchSequenceToken", format!("{at:08x}").into());
        }
        Ok(self.page(rows))
    }

    fn highlights(&self, document: &Document) -> Option<Vec<Bson>> {
        let highlight = self.highlight.as_ref()?;
        Some(match &self.operator {
            Some(operator) => highlight.of(document, operator),
            None => Vec::new(),
        })
    }

    /// The documents after one, or those before it, the nearest first.
    fn page(&self, mut rows: Vec<Document>) -> Vec<Document> {
        match (self.after, self.before) {
            (Some(after), _) => rows.into_iter().skip(after + 1).collect(),
            (None, Some(before)) => {
                rows.truncate(before);
                rows.reverse();
                rows
            }
            (None, None) => rows,
        }
    }
}

/// The position in a token of `searchSequenceToken`.
fn token(spec: &Document, option: &str) -> Result<Option<usize>> {
    match spec.get(option) {
        None => Ok(None),
        Some(Bson::String(token)) => match usize::from_str_radix(token, 16) {
            Ok(at) if at < usize::MAX => Ok(Some(at)),
            _ => Err(invalid(format!("\"{option}\" is not a valid token"))),
        },
        Some(_) => Err(invalid(format!("\"{option}\" must be a string"))),
    }
}

/// The sort: by fields, and by the score.
fn sort(name: &str, spec: &Document) -> Result<Option<Sort>> {
    let pattern = match spec.get("sort") {
        None => return Ok(None),
        Some(Bson::Document(pattern)) => pattern,
        Some(_) => return Err(invalid("\"sort\" must be a document")),
    };
    let mut keys = Document::new();
    for (field, direction) in pattern {
        match direction {
            Bson::Document(by) if by.get_str("$meta").is_ok_and(|kind| kind == "searchScore") => {
                let order = by
                    .get("order")
                    .and_then(Number::from_bson)
                    .and_then(Number::to_exact_i64);
                keys.insert(
                    format!("{}.searchScore", metadata::FIELD),
                    if order == Some(1) { 1 } else { -1 },
                );
            }
            direction if crate::value::is_number(direction) => {
                keys.insert(field, direction.clone());
            }
            _ => return Err(Error::not_served(format!("this sort of {name}"))),
        }
    }
    Sort::parse(&keys).map(Some)
}

fn scored(mut document: Document, kind: &str, score: f64) -> Document {
    metadata::set(&mut document, kind, score.into());
    document
}

/// A `$vectorSearch` stage. The search is always exact.
#[derive(Debug, Clone)]
pub(crate) struct VectorSearch {
    index: String,
    path: String,
    vector: Vec<f64>,
    filter: Filter,
    /// The fields of the filter.
    filtered: Vec<String>,
    limit: usize,
}

impl VectorSearch {
    pub(super) fn parse(spec: &Document, env: &Env) -> Result<VectorSearch> {
        check_enabled(env)?;
        let known = [
            "index",
            "path",
            "queryVector",
            "numCandidates",
            "limit",
            "filter",
            "exact",
        ];
        if let Some(other) = spec.keys().find(|field| !known.contains(&field.as_str())) {
            return Err(
                if matches!(other.as_str(), "query" | "model" | "explainOptions") {
                    Error::not_served(format!("the option {other} of $vectorSearch"))
                } else {
                    invalid(format!("unrecognized field \"{other}\""))
                },
            );
        }
        let text = |field: &str| match spec.get(field) {
            Some(Bson::String(text)) => Ok(text.clone()),
            Some(_) => Err(invalid(format!("\"{field}\" must be a string"))),
            None => Err(invalid(format!("\"{field}\" is required"))),
        };
        let count = |field: &str| match spec.get(field) {
            None => Ok(None),
            Some(value) => Number::from_bson(value)
                .and_then(Number::to_exact_i64)
                .and_then(|count| usize::try_from(count).ok())
                .filter(|count| *count > 0)
                .map(Some)
                .ok_or_else(|| invalid(format!("\"{field}\" must be a positive integer"))),
        };
        let limit = count("limit")?.ok_or_else(|| invalid("\"limit\" is required"))?;
        let exact = matches!(spec.get("exact"), Some(Bson::Boolean(true)));
        match count("numCandidates")? {
            Some(_) if exact => {
                return Err(invalid(
                    "\"numCandidates\" must be omitted for exact vector search",
                ));
            }
            Some(candidates) if candidates > 10_000 => {
                return Err(invalid("\"numCandidates\" must be within bounds [1, 10000]"));
            }
            Some(candidates) if candidates < limit => {
                return Err(invalid(
                    "\"limit\" should be less than or equal to \"numCandidates\"",
                ));
            }
            None if !exact => {
                return Err(invalid(
                    "\"numCandidates\" is required for approximate vector search",
                ));
            }
            _ => {}
        }
        let vector = spec
            .get("queryVector")
            .ok_or_else(|| invalid("\"queryVector\" is required"))?;
        let vector = vector::parse(vector)
            .filter(|vector| !vector.is_empty())
            .ok_or_else(|| invalid("\"queryVector\" must be an array of numbers or a vector"))?;
        let mut filtered = Vec::new();
        let filter = match spec.get("filter") {
            None => Filter::Constant(true),
            Some(Bson::Document(filter)) => {
                if mongod_checks_filters(env.profile.version) {
                    check_filter_of_mongod(filter)?;
                }
                check_filter(filter, &mut filtered)?;
                Filter::parse(filter, env)?
            }
            Some(_) => return Err(invalid("\"filter\" must be a document")),
        };
        Ok(VectorSearch {
            index: text("index")?,
            path: text("path")?,
            vector,
            filter,
            filtered,
            limit,
        })
    }

    pub(super) fn run(
        &self,
        documents: Vec<Document>,
        source: Source<'_>,
        env: &Env,
    ) -> Result<Vec<Document>> {
        let Some(index) = ready(source, &self.index)? else {
            return Ok(Vec::new());
        };
        let Kind::Vector(vectors, filters) = &index.kind else {
            return Err(Error::not_served("$vectorSearch with a search index"));
        };
        let Some(field) = vectors.iter().find(|field| field.path == self.path) else {
            return Err(invalid(format!("{} is not indexed as vector", self.path)));
        };
        if field.dimensions != self.vector.len() {
            return Err(invalid(format!(
                "vector field is indexed with {} dimensions but queried with {}",
                field.dimensions,
                self.vector.len()
            )));
        }
        if let Some(path) = self.filtered.iter().find(|path| !filters.contains(path)) {
            return Err(invalid(format!("Path '{path}' needs to be indexed as filter")));
        }
        let mut found = Vec::new();
        for document in documents {
            let stored = crate::query::path::get(&document, &self.path).and_then(vector::parse);
            let Some(stored) = stored.filter(|stored| stored.len() == field.dimensions) else {
                continue;
            };
            if self.filter.matches(&document, env)? {
                found.push((vector::score(field.similarity, &self.vector, &stored), document));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        found.truncate(self.limit);
        let rows = found.into_iter();
        Ok(rows
            .map(|(score, document)| scored(document, "vectorSearchScore", score))
            .collect())
    }
}

/// Whether mongod checks the filter of `$vectorSearch`, before mongot does. Later patch releases of
/// 6.0, 7.0 and 7.3 leave the check to mongot, which allows more operators.
fn mongod_checks_filters(version: Version) -> bool {
    match (version.major, version.minor) {
        (6, 0) => version.patch < 16,
        (7, 0) => version.patch < 10,
        (7, 3) => version.patch < 2,
        (major, minor) => (major, minor) < (7, 3),
    }
}

/// Checks a filter as mongod does.
fn check_filter_of_mongod(filter: &Document) -> Result<()> {
    const OPERATORS: [&str; 8] = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin"];
    for (name, value) in filter {
        match (name.as_str(), value) {
            ("$and" | "$or", Bson::Array(clauses)) => {
                for clause in clauses.iter().filter_map(Bson::as_document) {
                    check_filter_of_mongod(clause)?;
                }
            }
            (operator, _) if operator.starts_with('$') => {
                return Err(rows::VECTOR_FILTER.error(&[&operator]));
            }
            (_, Bson::RegularExpression(_)) => return Err(rows::VECTOR_FILTER.error(&[&"$regex"])),
            (_, Bson::Document(operators)) => {
                for (operator, argument) in operators.iter().filter(|(name, _)| name.starts_with('$')) {
                    if !OPERATORS.contains(&operator.as_str()) {
                        return Err(rows::VECTOR_FILTER.error(&[operator]));
                    }
                    let listed = argument.as_array().map_or(&[][..], Vec::as_slice);
                    if listed.contains(&Bson::Null) {
                        return Err(rows::VECTOR_FILTER_NULL.error(&[]));
                    }
                    if listed
                        .iter()
                        .any(|item| matches!(item, Bson::RegularExpression(_)))
                    {
                        return Err(rows::VECTOR_FILTER_REGEX.error(&[]));
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks the operators of a filter of `$vectorSearch` and collects its fields.
fn check_filter(filter: &Document, fields: &mut Vec<String>) -> Result<()> {
    const OPERATORS: [&str; 10] = [
        "$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$not",
    ];
    for (name, value) in filter {
        match (name.as_str(), value) {
            ("$and" | "$or" | "$nor", Bson::Array(clauses)) => {
                for clause in clauses.iter().filter_map(Bson::as_document) {
                    check_filter(clause, fields)?;
                }
            }
            (operator, _) if operator.starts_with('$') => {
                return Err(invalid(format!(
                    "the operator {operator} is not supported in a filter of $vectorSearch"
                )));
            }
            (path, Bson::Document(operators)) => {
                if let Some(other) = operators
                    .keys()
                    .find(|operator| operator.starts_with('$') && !OPERATORS.contains(&operator.as_str()))
                {
                    return Err(invalid(format!(
                        "the operator {other} is not supported in a filter of $vectorSearch"
                    )));
                }
                fields.push(path.to_owned());
            }
            (path, _) => fields.push(path.to_owned()),
        }
    }
    Ok(())
}

/// A `$listSearchIndexes` stage.
#[derive(Debug, Clone)]
pub(crate) struct ListSearchIndexes {
    id: Option<String>,
    name: Option<String>,
}

impl ListSearchIndexes {
    pub(super) fn parse(spec: &Document, env: &Env) -> Result<ListSearchIndexes> {
        if !env.search {
            return Err(crate::command::search_index::atlas_only());
        }
        let mut stage = ListSearchIndexes { id: None, name: None };
        for (field, value) in spec {
            match (field.as_str(), value) {
                ("id", Bson::String(id)) => stage.id = Some(id.clone()),
                ("name", Bson::String(name)) => stage.name = Some(name.clone()),
                ("id" | "name", _) => {
                    return Err(Error::type_mismatch(format!(
                        "BSON field '$listSearchIndexes.{field}' must be a string"
                    )));
                }
                (other, _) => {
                    return Err(Error::new(
                        code::UNKNOWN_FIELD,
                        format!("BSON field '$listSearchIndexes.{other}' is an unknown field."),
                    ));
                }
            }
        }
        if stage.id.is_some() && stage.name.is_some() {
            return Err(Error::new(
                code::INVALID_OPTIONS,
                "Cannot set both 'name' and 'id' for $listSearchIndexes.",
            ));
        }
        Ok(stage)
    }

    pub(super) fn run(&self, source: Source<'_>) -> Result<Vec<Document>> {
        let selected = |index: &&SearchIndex| {
            self.id.as_ref().is_none_or(|id| *id == index.id.to_hex())
                && self.name.as_ref().is_none_or(|name| *name == index.name)
        };
        Ok(indexes(source)?
            .iter()
            .filter(selected)
            .map(SearchIndex::list)
            .collect())
    }
}
