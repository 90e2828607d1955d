//! The operators of `$search`, parsed.

use super::invalid;
use super::place::{Origin, Shape};
use super::score::Score;
use super::tokens::Fuzzy;
use crate::error::{Error, Result};
use crate::query::regex::Regex;
use crate::value::number::Number;
use bson::{Bson, Document};

/// An operator with the modification of its score.
#[derive(Debug, Clone)]
pub(crate) struct Operator {
    pub(super) test: Test,
    pub(super) score: Score,
}

#[derive(Debug, Clone)]
pub(super) enum Test {
    /// Whether all terms must match.
    Text(Vec<Path>, Vec<String>, Fuzzy, bool),
    /// `slop`: the number of positions that words may be moved.
    Phrase(Vec<Path>, Vec<String>, usize),
    /// Whether the tokens must be in the order of the query.
    Autocomplete(String, Vec<String>, Fuzzy, bool),
    /// `allowAnalyzedField`
    Wildcard(Vec<Path>, Vec<String>, bool),
    Compound(Box<Compound>),
    /// `equals` and `in`.
    AnyOf(Vec<String>, Vec<Bson>),
    /// Limits with the operator's name.
    Range(Vec<String>, Vec<(String, Bson)>),
    Exists(String),
    /// Origin and pivot.
    Near(Vec<String>, Origin, f64),
    Geo(Vec<String>, Shape),
    /// Expressions that must match a whole term, and `allowAnalyzedField`.
    Regex(Vec<Path>, Vec<Regex>, bool),
    /// Texts by their paths.
    MoreLikeThis(Vec<(String, Vec<String>)>),
    Embedded(String, Box<Operator>, Aggregate),
}

/// How the scores of matching elements of an array are one score.
#[derive(Debug, Clone, Copy)]
pub(super) enum Aggregate {
    Sum,
    Maximum,
    Minimum,
    Mean,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Compound {
    pub(super) must: Vec<Operator>,
    pub(super) must_not: Vec<Operator>,
    pub(super) should: Vec<Operator>,
    pub(super) filter: Vec<Operator>,
    pub(super) minimum: usize,
}

/// A path of strings.
#[derive(Debug, Clone)]
pub(super) enum Path {
    Field(String),
    /// A pattern with `*`.
    Pattern(String),
}

/// The operators of Atlas Search that are not implemented.
const MISSING: [&str; 7] = [
    "hasAncestor",
    "hasRoot",
    "knnBeta",
    "queryString",
    "span",
    "term",
    "vectorSearch",
];

const NAMES: [&str; 15] = [
    "autocomplete",
    "compound",
    "embeddedDocument",
    "equals",
    "exists",
    "geoShape",
    "geoWithin",
    "in",
    "moreLikeThis",
    "near",
    "phrase",
    "range",
    "regex",
    "text",
    "wildcard",
];

impl Operator {
    /// Finds the operator in the specification of a stage. `options` are the other fields.
    pub(crate) fn of_stage(spec: &Document, options: &[&str]) -> Result<Operator> {
        let mut found = None;
        for (name, argument) in spec {
            if options.contains(&name.as_str()) {
                continue;
            }
            if found.is_some() {
                return Err(invalid("only one operator or collector may be present"));
            }
            found = Some(Operator::parse(name, argument)?);
        }
        found.ok_or_else(|| invalid("one of the operators or collectors must be present"))
    }

    /// Parses a clause of `compound`, which is a document with one operator.
    fn parse_clause(clause: &Bson) -> Result<Operator> {
        match clause {
            Bson::Document(clause) => Operator::of_stage(clause, &[]),
            _ => Err(invalid("a clause of \"compound\" must be a document")),
        }
    }

    fn parse(name: &str, argument: &Bson) -> Result<Operator> {
        if MISSING.contains(&name) {
            return Err(Error::not_served(format!("the search operator {name}")));
        }
        if !NAMES.contains(&name) {
            return Err(invalid(format!("Unrecognized field \"{name}\"")));
        }
        let Bson::Document(fields) = argument else {
            return Err(invalid(format!("\"{name}\" must be a document")));
        };
        let reader = Reader { name, fields };
        let known: &[&str] = match name {
            "text" => &["query", "path", "fuzzy", "matchCriteria"],
            "phrase" => &["query", "path", "slop"],
            "autocomplete" => &["query", "path", "fuzzy", "tokenOrder"],
            "wildcard" | "regex" => &["query", "path", "allowAnalyzedField"],
            "near" => &["path", "origin", "pivot"],
            "geoWithin" => &["path", "box", "circle", "geometry"],
            "geoShape" => &["path", "relation", "geometry"],
            "moreLikeThis" => &["like"],
            "embeddedDocument" => &["path", "operator"],
            "compound" => &["must", "mustNot", "should", "filter", "minimumShouldMatch"],
            "equals" | "in" => &["path", "value"],
            "range" => &["path", "gt", "gte", "lt", "lte"],
            _ => &["path"],
        };
        reader.only(known)?;
        let test = match name {
            "text" => Test::Text(
                reader.paths()?,
                reader.queries()?,
                reader.fuzzy()?,
                match fields.get_str("matchCriteria") {
                    Ok("all") => true,
                    Ok("any") | Err(_) => false,
                    Ok(_) => return Err(reader.invalid("matchCriteria", "must be one of [all, any]")),
                },
            ),
            "phrase" => Test::Phrase(reader.paths()?, reader.queries()?, reader.count("slop", 0)?),
            "autocomplete" => Test::Autocomplete(
                reader.path()?,
                reader.queries()?,
                reader.fuzzy()?,
                match fields.get_str("tokenOrder") {
                    Ok("sequential") => true,
                    Ok("any") | Err(_) => false,
                    Ok(_) => return Err(reader.invalid("tokenOrder", "must be one of [any, sequential]")),
                },
            ),
            "wildcard" => Test::Wildcard(
                reader.paths()?,
                reader.queries()?,
                matches!(fields.get("allowAnalyzedField"), Some(Bson::Boolean(true))),
            ),
            "compound" => Test::Compound(Box::new(reader.compound()?)),
            "near" => {
                let pivot = Number::from_bson(reader.required("pivot")?).map(Number::to_f64);
                let pivot = pivot.filter(|pivot| *pivot > 0.0);
                Test::Near(
                    reader.plain_paths()?,
                    Origin::parse(reader.required("origin")?)?,
                    pivot.ok_or_else(|| reader.invalid("pivot", "must be positive"))?,
                )
            }
            "geoWithin" => Test::Geo(reader.plain_paths()?, Shape::within(fields)?),
            "geoShape" => Test::Geo(reader.plain_paths()?, Shape::related(fields)?),
            "regex" => {
                let expressions = reader.queries()?.into_iter();
                let expressions = expressions.map(|query| Regex::new(&format!("^(?:{query})$"), "s"));
                Test::Regex(
                    reader.paths()?,
                    expressions.collect::<Result<_>>()?,
                    matches!(fields.get("allowAnalyzedField"), Some(Bson::Boolean(true))),
                )
            }
            "moreLikeThis" => Test::MoreLikeThis(reader.like()?),
            "embeddedDocument" => Test::Embedded(
                reader.path()?,
                Box::new(Operator::parse_clause(reader.required("operator")?)?),
                reader.aggregate()?,
            ),
            "equals" => Test::AnyOf(reader.plain_paths()?, vec![reader.required("value")?.clone()]),
            "in" => Test::AnyOf(
                reader.plain_paths()?,
                match reader.required("value")? {
                    Bson::Array(values) => values.clone(),
                    value => vec![value.clone()],
                },
            ),
            "range" => {
                let limits = fields
                    .iter()
                    .filter(|(limit, _)| !matches!(limit.as_str(), "path" | "score"));
                let limits: Vec<_> = limits
                    .map(|(limit, value)| (limit.clone(), value.clone()))
                    .collect();
                if limits.is_empty() {
                    return Err(invalid("\"range\" requires one of [gt, gte, lt, lte]"));
                }
                Test::Range(reader.plain_paths()?, limits)
            }
            _ => Test::Exists(reader.path()?),
        };
        Ok(Operator {
            test,
            score: reader.score()?,
        })
    }
}

/// The fields of an operator.
struct Reader<'r> {
    name: &'r str,
    fields: &'r Document,
}

impl Reader<'_> {
    fn invalid(&self, field: &str, reason: &str) -> Error {
        invalid(format!("\"{}.{field}\" {reason}", self.name))
    }

    fn only(&self, known: &[&str]) -> Result<()> {
        match self
            .fields
            .keys()
            .find(|field| *field != "score" && !known.contains(&field.as_str()))
        {
            None => Ok(()),
            Some(field) if matches!(field.as_str(), "synonyms" | "doesNotAffect") => {
                Err(Error::not_served(format!("the option {field} of {}", self.name)))
            }
            Some(field) => Err(invalid(format!(
                "\"{}\": unrecognized field \"{field}\"",
                self.name
            ))),
        }
    }

    fn required(&self, field: &str) -> Result<&Bson> {
        self.fields
            .get(field)
            .ok_or_else(|| self.invalid(field, "is required"))
    }

    fn path(&self) -> Result<String> {
        match self.required("path")? {
            Bson::String(path) => Ok(path.clone()),
            _ => Err(self.invalid("path", "must be a string")),
        }
    }

    fn plain_paths(&self) -> Result<Vec<String>> {
        let paths = self.paths()?.into_iter().map(|path| match path {
            Path::Field(path) => Ok(path),
            Path::Pattern(_) => Err(self.invalid("path", "must be a string")),
        });
        paths.collect()
    }

    fn paths(&self) -> Result<Vec<Path>> {
        paths_of(self.name, self.fields.get("path"))
    }

    /// The texts of `moreLikeThis` by their paths.
    fn like(&self) -> Result<Vec<(String, Vec<String>)>> {
        let mut found = Vec::new();
        let documents = match self.required("like")? {
            Bson::Array(documents) => documents.iter().filter_map(Bson::as_document).collect(),
            Bson::Document(document) => vec![document],
            _ => return Err(self.invalid("like", "must be a document or an array of documents")),
        };
        for document in documents {
            let mut names = Vec::new();
            super::evaluate::string_names(document, "", &mut names);
            names.dedup();
            for name in names {
                let texts = super::evaluate::strings(document, &name);
                found.push((name, texts));
            }
        }
        Ok(found)
    }

    /// The aggregate of the scores of `embeddedDocument`.
    fn aggregate(&self) -> Result<Aggregate> {
        let score = self.fields.get_document("score");
        let embedded = score.and_then(|score| score.get_document("embedded"));
        match embedded.and_then(|embedded| embedded.get_str("aggregate")) {
            Ok("maximum") => Ok(Aggregate::Maximum),
            Ok("minimum") => Ok(Aggregate::Minimum),
            Ok("mean") => Ok(Aggregate::Mean),
            Ok("sum") | Err(_) => Ok(Aggregate::Sum),
            Ok(_) => Err(self.invalid(
                "score.embedded.aggregate",
                "must be one of [maximum, mean, minimum, sum]",
            )),
        }
    }

    fn queries(&self) -> Result<Vec<String>> {
        let one = |value: &Bson| match value {
            Bson::String(text) if !text.is_empty() => Ok(text.clone()),
            Bson::String(_) => Err(self.invalid("query", "cannot be empty")),
            _ => Err(self.invalid("query", "must be a string or an array of strings")),
        };
        match self.required("query")? {
            Bson::Array(queries) if queries.is_empty() => Err(self.invalid("query", "cannot be empty")),
            Bson::Array(queries) => queries.iter().map(one).collect(),
            query => one(query).map(|query| vec![query]),
        }
    }

    fn count(&self, field: &str, default: usize) -> Result<usize> {
        match self.fields.get(field) {
            None => Ok(default),
            Some(value) => Number::from_bson(value)
                .and_then(Number::to_exact_i64)
                .and_then(|count| usize::try_from(count).ok())
                .ok_or_else(|| self.invalid(field, "must be a non-negative integer")),
        }
    }

    fn fuzzy(&self) -> Result<Fuzzy> {
        match self.fields.get("fuzzy") {
            None => Ok(Fuzzy::default()),
            Some(Bson::Document(fields)) => {
                let reader = Reader {
                    name: "fuzzy",
                    fields,
                };
                reader.only(&["maxEdits", "prefixLength", "maxExpansions"])?;
                let edits = reader.count("maxEdits", 2)?;
                if !(1..=2).contains(&edits) {
                    return Err(reader.invalid("maxEdits", "must be within bounds [1, 2]"));
                }
                Ok(Fuzzy {
                    edits,
                    prefix: reader.count("prefixLength", 0)?,
                })
            }
            Some(_) => Err(self.invalid("fuzzy", "must be a document")),
        }
    }

    fn compound(&self) -> Result<Compound> {
        let clauses = |field: &str| match self.fields.get(field) {
            None => Ok(Vec::new()),
            Some(Bson::Array(clauses)) => clauses.iter().map(Operator::parse_clause).collect(),
            Some(clause) => Operator::parse_clause(clause).map(|clause| vec![clause]),
        };
        let compound = Compound {
            must: clauses("must")?,
            must_not: clauses("mustNot")?,
            should: clauses("should")?,
            filter: clauses("filter")?,
            minimum: self.count("minimumShouldMatch", 0)?,
        };
        if compound.minimum > compound.should.len() {
            return Err(self.invalid(
                "minimumShouldMatch",
                "cannot be greater than the number of should clauses",
            ));
        }
        let all = [
            &compound.must,
            &compound.must_not,
            &compound.should,
            &compound.filter,
        ];
        if all.iter().all(|clauses| clauses.is_empty()) {
            return Err(invalid("\"compound\" must have at least one clause"));
        }
        Ok(compound)
    }

    fn score(&self) -> Result<Score> {
        match self.fields.get("score") {
            None => Ok(Score::Boost(1.0)),
            Some(Bson::Document(fields))
                if self.name == "embeddedDocument" && fields.contains_key("embedded") =>
            {
                Ok(Score::Boost(1.0))
            }
            Some(Bson::Document(fields)) => Score::parse(fields),
            Some(_) => Err(self.invalid("score", "must be a document")),
        }
    }
}

/// The paths of strings of an operator or an option.
pub(super) fn paths_of(name: &str, path: Option<&Bson>) -> Result<Vec<Path>> {
    let invalid = |reason: &str| invalid(format!("\"{name}.path\" {reason}"));
    let one = |value: &Bson| match value {
        Bson::String(path) => Ok(Path::Field(path.clone())),
        Bson::Document(spec) => match (spec.get("wildcard"), spec.get("value")) {
            (Some(Bson::String(pattern)), None) => Ok(Path::Pattern(pattern.clone())),
            (None, Some(Bson::String(_))) => Err(Error::not_served("multi analyzers of a search path")),
            _ => Err(invalid("must be a string or a document with \"wildcard\"")),
        },
        _ => Err(invalid("must be a string, a document or an array")),
    };
    match path {
        None => Err(invalid("is required")),
        Some(Bson::Array(paths)) => paths.iter().map(one).collect(),
        Some(path) => one(path).map(|path| vec![path]),
    }
}
