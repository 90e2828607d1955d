//! Evaluates the operators of `$search` on documents. Scores are those of BM25 (k1 = 1.2, b = 0.75)
//! over the documents of the collection; other operators have the score 1.

use super::invalid;
use super::mapping::Mapping;
use super::operator::{Aggregate, Compound, Operator, Path, Test};
use super::tokens::{Analyzer, Fuzzy, wildcard};
use crate::error::Result;
use crate::query::path::{self, expanded};
use crate::value::compare::{compare, equal, type_class};
use crate::value::type_name;
use bson::{Bson, Document};

/// The documents of a collection and the mapping of the index.
pub(super) struct Corpus<'c> {
    pub(super) documents: &'c [Document],
    pub(super) mapping: &'c Mapping,
}

impl Operator {
    /// The score of each document of the corpus; `None` if it does not match.
    pub(super) fn scores(&self, corpus: &Corpus<'_>) -> Result<Vec<Option<f64>>> {
        let mut scores = self.test.scores(corpus)?;
        for (score, document) in scores.iter_mut().zip(corpus.documents) {
            *score = score.map(|score| self.score.of(score, document));
        }
        Ok(scores)
    }
}

impl Test {
    fn scores(&self, corpus: &Corpus<'_>) -> Result<Vec<Option<f64>>> {
        let matching = |test: &dyn Fn(&Document) -> bool| {
            let documents = corpus.documents.iter();
            Ok(documents.map(|document| test(document).then_some(1.0)).collect())
        };
        match self {
            Test::Text(paths, queries, fuzzy, all) => Ok(best(
                corpus,
                corpus.string_paths(paths).iter().map(|(path, analyzer)| {
                    let query: Vec<String> =
                        queries.iter().flat_map(|query| analyzer.tokens(query)).collect();
                    corpus.bm25(path, *analyzer, &query, *fuzzy, *all)
                }),
            )),
            Test::Phrase(paths, queries, slop) => {
                let paths = corpus.string_paths(paths);
                let scored = paths.iter().flat_map(|(path, analyzer)| {
                    queries.iter().map(|query| {
                        let query = analyzer.tokens(query);
                        let scores = corpus.bm25(path, *analyzer, &query, Fuzzy::default(), true);
                        let documents = corpus.documents.iter().zip(scores);
                        let found = documents.map(|(document, score)| {
                            let mut texts = strings(document, path).into_iter();
                            let found = texts.any(|text| has_phrase(&analyzer.tokens(&text), &query, *slop));
                            score.filter(|_| found)
                        });
                        found.collect()
                    })
                });
                Ok(best(corpus, scored))
            }
            Test::Autocomplete(path, queries, fuzzy, sequential) => {
                if corpus.mapping.find(path, "autocomplete").is_none() {
                    return Err(invalid(format!(
                        "autocomplete index field definition not present at path {path}"
                    )));
                }
                matching(&|document| {
                    strings(document, path).iter().any(|text| {
                        let tokens = Analyzer::Standard.tokens(text);
                        queries.iter().any(|query| {
                            completes(&tokens, &Analyzer::Standard.tokens(query), *fuzzy, *sequential)
                        })
                    })
                })
            }
            Test::Wildcard(paths, queries, analyzed) => {
                let paths = corpus.patterned_paths(paths, *analyzed)?;
                let patterns: Vec<Vec<char>> = queries.iter().map(|query| query.chars().collect()).collect();
                matching(&|document| {
                    paths.iter().any(|(path, analyzer)| {
                        let texts = strings(document, path);
                        let mut tokens = texts.iter().flat_map(|text| analyzer.tokens(text));
                        tokens.any(|token| {
                            let token: Vec<char> = token.chars().collect();
                            patterns.iter().any(|pattern| wildcard(pattern, &token))
                        })
                    })
                })
            }
            Test::Compound(compound) => compound.scores(corpus),
            Test::AnyOf(paths, values) => {
                for path in paths {
                    corpus.check_types(path, values.iter())?;
                }
                matching(&|document| {
                    values_at(document, paths)
                        .any(|value| values.iter().any(|wanted| equal(&value, wanted, None)))
                })
            }
            Test::Range(paths, limits) => {
                for path in paths {
                    corpus.check_types(path, limits.iter().map(|(_, limit)| limit))?;
                }
                matching(&|document| {
                    values_at(document, paths).any(|value| {
                        limits
                            .iter()
                            .all(|(limit, bound)| is_within(&value, limit, bound))
                    })
                })
            }
            Test::Near(paths, origin, pivot) => {
                for path in paths {
                    corpus.check_mapping(path, origin.mapping())?;
                }
                let score = |document: &Document| {
                    let scores = values_at(document, paths).filter_map(|value| origin.score(&value, *pivot));
                    scores.max_by(f64::total_cmp)
                };
                Ok(corpus.documents.iter().map(score).collect())
            }
            Test::Geo(paths, shape) => {
                for path in paths {
                    corpus.check_mapping(path, "geo")?;
                }
                matching(&|document| values_at(document, paths).any(|value| shape.accepts(&value)))
            }
            Test::Regex(paths, expressions, analyzed) => {
                let paths = corpus.patterned_paths(paths, *analyzed)?;
                matching(&|document| {
                    let tokens = paths.iter().flat_map(|(path, analyzer)| {
                        let texts = strings(document, path);
                        texts
                            .iter()
                            .flat_map(|text| analyzer.tokens(text))
                            .collect::<Vec<_>>()
                    });
                    tokens.into_iter().any(|token| {
                        let mut expressions = expressions.iter();
                        expressions.any(|expression| expression.is_match(&token).unwrap_or(false))
                    })
                })
            }
            Test::MoreLikeThis(like) => Ok(best(
                corpus,
                like.iter().flat_map(|(path, texts)| {
                    let paths = corpus.string_paths(&[Path::Field(path.clone())]);
                    paths.into_iter().map(move |(path, analyzer)| {
                        let query: Vec<String> =
                            texts.iter().flat_map(|text| analyzer.tokens(text)).collect();
                        corpus.bm25(&path, analyzer, &query, Fuzzy::default(), false)
                    })
                }),
            )),
            Test::Embedded(path, operator, aggregate) => embedded(corpus, path, operator, *aggregate),
            Test::Exists(path) => matching(&|document| {
                path::get(document, path).is_some() || !strings(document, path).is_empty()
            }),
        }
    }
}

/// The scores of the documents by those of the elements of an array, each of which is searched as a document of its own.
fn embedded(
    corpus: &Corpus<'_>,
    path: &str,
    operator: &Operator,
    aggregate: Aggregate,
) -> Result<Vec<Option<f64>>> {
    if !corpus.mapping.has_embedded(path) {
        return Err(invalid(format!(
            "Path '{path}' needs to be indexed as embeddedDocuments"
        )));
    }
    let mut owners = Vec::new();
    let mut elements = Vec::new();
    for (at, document) in corpus.documents.iter().enumerate() {
        for element in path::get(document, path)
            .and_then(Bson::as_array)
            .into_iter()
            .flatten()
        {
            let mut own = Document::new();
            path::set(&mut own, path, element.clone());
            owners.push(at);
            elements.push(own);
        }
    }
    let scores = operator.scores(&Corpus {
        documents: &elements,
        mapping: corpus.mapping,
    })?;
    let of = |at: usize| {
        let own = owners.iter().zip(&scores).filter(|(owner, _)| **owner == at);
        let own: Vec<f64> = own.filter_map(|(_, score)| *score).collect();
        let sum: f64 = own.iter().sum();
        (!own.is_empty()).then(|| match aggregate {
            Aggregate::Sum => sum,
            Aggregate::Mean => sum / own.len() as f64,
            Aggregate::Maximum => own.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Aggregate::Minimum => own.iter().copied().fold(f64::INFINITY, f64::min),
        })
    };
    Ok((0..corpus.documents.len()).map(of).collect())
}

/// The sum of the scores of several fields.
fn best(corpus: &Corpus<'_>, scored: impl Iterator<Item = Vec<Option<f64>>>) -> Vec<Option<f64>> {
    let mut sums = vec![None; corpus.documents.len()];
    for scores in scored {
        for (sum, score) in sums.iter_mut().zip(scores) {
            if let Some(score) = score {
                *sum = Some(sum.unwrap_or(0.0) + score);
            }
        }
    }
    sums
}

impl Compound {
    fn scores(&self, corpus: &Corpus<'_>) -> Result<Vec<Option<f64>>> {
        let all = |clauses: &[Operator]| {
            let scores = clauses.iter().map(|clause| clause.scores(corpus));
            scores.collect::<Result<Vec<_>>>()
        };
        let (must, filter) = (all(&self.must)?, all(&self.filter)?);
        let (must_not, should) = (all(&self.must_not)?, all(&self.should)?);
        // Without other clauses that select documents, one of `should` must match.
        let minimum = if self.must.is_empty() && self.filter.is_empty() && self.must_not.is_empty() {
            self.minimum.max(1)
        } else {
            self.minimum
        };
        let of = |at: usize| {
            let selected = must.iter().chain(&filter).all(|scores| scores[at].is_some());
            if !selected || must_not.iter().any(|scores| scores[at].is_some()) {
                return None;
            }
            let optional: Vec<f64> = should.iter().filter_map(|scores| scores[at]).collect();
            if optional.len() < minimum {
                return None;
            }
            let required = must.iter().filter_map(|scores| scores[at]);
            Some(required.sum::<f64>() + optional.iter().sum::<f64>())
        };
        Ok((0..corpus.documents.len()).map(of).collect())
    }
}

impl Corpus<'_> {
    /// The indexed fields of strings that the paths name, with their analyzers.
    fn string_paths(&self, paths: &[Path]) -> Vec<(String, Analyzer)> {
        let mut found: Vec<(String, Analyzer)> = Vec::new();
        let mut add = |path: &str| {
            if let Some(analyzer) = self.mapping.find(path, "string")
                && !found.iter().any(|(other, _)| other == path)
            {
                found.push((path.to_owned(), analyzer));
            }
        };
        for path in paths {
            match path {
                Path::Field(path) => add(path),
                Path::Pattern(pattern) => {
                    let pattern: Vec<char> = pattern.chars().collect();
                    for document in self.documents {
                        let mut names = Vec::new();
                        string_names(document, "", &mut names);
                        for name in names {
                            if wildcard(&pattern, &name.chars().collect::<Vec<_>>()) {
                                add(&name);
                            }
                        }
                    }
                }
            }
        }
        found
    }

    /// The fields that a pattern of terms searches: fields that are divided into terms must be allowed.
    fn patterned_paths(&self, paths: &[Path], analyzed: bool) -> Result<Vec<(String, Analyzer)>> {
        let paths = self.string_paths(paths);
        let mut others = paths
            .iter()
            .filter(|(_, analyzer)| *analyzer != Analyzer::Keyword);
        match others.next() {
            Some((path, _)) if !analyzed => Err(invalid(format!(
                "Field {path} is analyzed. Use a keyword analyzed field or set allowAnalyzedField to true"
            ))),
            _ => Ok(paths),
        }
    }

    fn check_mapping(&self, path: &str, kind: &str) -> Result<()> {
        match self.mapping.find(path, kind) {
            Some(_) => Ok(()),
            None => Err(invalid(format!("Path '{path}' needs to be indexed as {kind}"))),
        }
    }

    /// Fails if the path is not indexed as the types of the values.
    fn check_types<'v>(&self, path: &str, values: impl Iterator<Item = &'v Bson>) -> Result<()> {
        for value in values {
            let kind = match value {
                Bson::String(_) => "token",
                Bson::Boolean(_) => "boolean",
                Bson::DateTime(_) => "date",
                Bson::ObjectId(_) => "objectId",
                Bson::Binary(_) => "uuid",
                Bson::Null => continue,
                number if crate::value::is_number(number) => "number",
                other => {
                    return Err(invalid(format!(
                        "\"value\" of the type {} is not supported",
                        type_name(other)
                    )));
                }
            };
            self.check_mapping(path, kind)?;
        }
        Ok(())
    }

    /// The BM25 scores of the query tokens in a field.
    fn bm25(
        &self,
        path: &str,
        analyzer: Analyzer,
        query: &[String],
        fuzzy: Fuzzy,
        all: bool,
    ) -> Vec<Option<f64>> {
        const K: f64 = 1.2;
        const B: f64 = 0.75;
        let tokens: Vec<Vec<String>> = self
            .documents
            .iter()
            .map(|document| {
                let texts = strings(document, path);
                texts.iter().flat_map(|text| analyzer.tokens(text)).collect()
            })
            .collect();
        let with_field = tokens.iter().filter(|tokens| !tokens.is_empty()).count() as f64;
        let average = tokens.iter().map(Vec::len).sum::<usize>() as f64 / with_field.max(1.0);
        let mut query = query.to_vec();
        query.sort();
        query.dedup();
        let count = |tokens: &[String], wanted: &str| {
            tokens.iter().filter(|token| fuzzy.equal(wanted, token)).count() as f64
        };
        let weights: Vec<f64> = query
            .iter()
            .map(|wanted| {
                let containing = tokens.iter().filter(|tokens| count(tokens, wanted) > 0.0).count() as f64;
                (1.0 + (with_field - containing + 0.5) / (containing + 0.5)).ln()
            })
            .collect();
        let score = |tokens: &Vec<String>| {
            let mut found = 0;
            let mut sum = 0.0;
            for (wanted, weight) in query.iter().zip(&weights) {
                let frequency = count(tokens, wanted);
                if frequency > 0.0 {
                    found += 1;
                    let length = tokens.len() as f64 / average;
                    sum += weight * frequency / (frequency + K * (1.0 - B + B * length));
                }
            }
            (found > 0 && (!all || found == query.len())).then_some(sum)
        };
        tokens.iter().map(score).collect()
    }
}

/// The paths of all strings of a document.
pub(super) fn string_names(document: &Document, prefix: &str, names: &mut Vec<String>) {
    for (name, value) in document {
        let path = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}.{name}")
        };
        match value {
            Bson::String(_) => names.push(path),
            Bson::Document(inner) => string_names(inner, &path, names),
            Bson::Array(items) => {
                for item in items {
                    match item {
                        Bson::String(_) => names.push(path.clone()),
                        Bson::Document(inner) => string_names(inner, &path, names),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
}

pub(super) fn strings(document: &Document, path: &str) -> Vec<String> {
    let values = expanded(document, &path::Path::new(path)).into_iter().flatten();
    values
        .filter_map(|value| match value {
            Bson::String(text) => Some(text),
            _ => None,
        })
        .collect()
}

pub(super) fn values_at<'d>(document: &'d Document, paths: &'d [String]) -> impl Iterator<Item = Bson> + 'd {
    paths
        .iter()
        .flat_map(|path| expanded(document, &path::Path::new(path)).into_iter().flatten())
}

fn is_within(value: &Bson, limit: &str, bound: &Bson) -> bool {
    if type_class(value) != type_class(bound) {
        return false;
    }
    let order = compare(value, bound, None);
    match limit {
        "gt" => order.is_gt(),
        "gte" => order.is_ge(),
        "lt" => order.is_lt(),
        _ => order.is_le(),
    }
}

/// Whether the tokens of the phrase follow each other, with at most `slop` tokens between them.
fn has_phrase(tokens: &[String], phrase: &[String], slop: usize) -> bool {
    let Some((first, rest)) = phrase.split_first() else {
        return false;
    };
    (0..tokens.len())
        .filter(|start| tokens[*start] == *first)
        .any(|start| {
            let (mut at, mut left) = (start + 1, slop);
            rest.iter().all(|word| {
                let Some(skipped) = tokens.iter().skip(at).position(|token| token == word) else {
                    return false;
                };
                at += skipped + 1;
                let fits = skipped <= left;
                left = left.saturating_sub(skipped);
                fits
            })
        })
}

/// Whether each token of the query begins a token of the text.
fn completes(tokens: &[String], query: &[String], fuzzy: Fuzzy, sequential: bool) -> bool {
    if query.is_empty() {
        return false;
    }
    if sequential {
        return tokens.windows(query.len()).any(|window| {
            let mut pairs = query.iter().zip(window);
            pairs.all(|(part, token)| fuzzy.is_prefix(part, token))
        });
    }
    query
        .iter()
        .all(|part| tokens.iter().any(|token| fuzzy.is_prefix(part, token)))
}

/// The matching documents of a corpus with their scores, the highest first.
pub(super) fn search(
    operator: &Operator,
    documents: &[Document],
    mapping: &Mapping,
) -> Result<Vec<(usize, f64)>> {
    let scores = operator.scores(&Corpus { documents, mapping })?;
    let mut found: Vec<(usize, f64)> = scores
        .into_iter()
        .enumerate()
        .filter_map(|(at, score)| Some((at, score?)))
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok(found)
}
