//! The collector `facet`: numbers of documents by the values of fields.

use super::evaluate::values_at;
use super::invalid;
use super::mapping::Mapping;
use super::operator::Operator;
use crate::error::Result;
use crate::value::compare::compare;
use crate::value::number::Number;
use bson::{Bson, Document, doc};

/// The argument of `facet`.
#[derive(Debug, Clone)]
pub(crate) struct Collector {
    /// `None` finds all documents.
    pub(crate) operator: Option<Operator>,
    facets: Vec<(String, Facet)>,
}

#[derive(Debug, Clone)]
struct Facet {
    path: String,
    buckets: Buckets,
}

#[derive(Debug, Clone)]
enum Buckets {
    /// The most frequent strings, at most this number.
    Strings(usize),
    /// Boundaries, and the name of the bucket of other values.
    Intervals(&'static str, Vec<Bson>, Option<String>),
}

impl Collector {
    pub(crate) fn parse(argument: &Bson) -> Result<Collector> {
        let fields = argument
            .as_document()
            .ok_or_else(|| invalid("\"facet\" must be a document"))?;
        if let Some(other) = fields
            .keys()
            .find(|name| !matches!(name.as_str(), "operator" | "facets"))
        {
            return Err(invalid(format!("\"facet\": unrecognized field \"{other}\"")));
        }
        let operator = match fields.get("operator") {
            None => None,
            Some(Bson::Document(operator)) => Some(Operator::of_stage(operator, &[])?),
            Some(_) => return Err(invalid("\"facet.operator\" must be a document")),
        };
        let facets = match fields.get_document("facets") {
            Ok(facets) if !facets.is_empty() => facets,
            _ => return Err(invalid("\"facet.facets\" is required and cannot be empty")),
        };
        let facets = facets.iter().map(|(name, facet)| {
            let facet = facet
                .as_document()
                .ok_or_else(|| invalid(format!("\"facet.facets.{name}\" must be a document")))?;
            Ok((name.clone(), Facet::parse(name, facet)?))
        });
        Ok(Collector {
            operator,
            facets: facets.collect::<Result<_>>()?,
        })
    }

    /// The facets of the found documents.
    pub(crate) fn collect(&self, found: &[&Document], mapping: &Mapping) -> Result<Document> {
        let mut all = Document::new();
        for (name, facet) in &self.facets {
            all.insert(name, doc! { "buckets": facet.collect(found, mapping)? });
        }
        Ok(all)
    }
}

impl Facet {
    fn parse(name: &str, facet: &Document) -> Result<Facet> {
        let error = |reason: &str| invalid(format!("\"facet.facets.{name}\" {reason}"));
        let path = facet
            .get_str("path")
            .map_err(|_| error("requires \"path\""))?
            .to_owned();
        let buckets = match facet.get_str("type") {
            Ok("string") => {
                let count = facet.get("numBuckets").map_or(Some(10), |count| {
                    let count = Number::from_bson(count).and_then(Number::to_exact_i64)?;
                    usize::try_from(count).ok()
                });
                let count = count.filter(|count| (1..=1000).contains(count));
                Buckets::Strings(
                    count.ok_or_else(|| error("\"numBuckets\" must be within bounds [1, 1000]"))?,
                )
            }
            Ok(kind @ ("number" | "date")) => {
                let boundaries = facet.get_array("boundaries").cloned().unwrap_or_default();
                let is_ascending = boundaries.is_sorted_by(|a, b| compare(a, b, None).is_lt());
                if boundaries.len() < 2 || boundaries.len() > 1000 || !is_ascending {
                    return Err(error(
                        "\"boundaries\" must be 2 to 1000 values in ascending order",
                    ));
                }
                let kind = if kind == "number" { "number" } else { "date" };
                Buckets::Intervals(kind, boundaries, facet.get_str("default").ok().map(str::to_owned))
            }
            _ => return Err(error("\"type\" must be one of [date, number, string]")),
        };
        Ok(Facet { path, buckets })
    }

    fn collect(&self, found: &[&Document], mapping: &Mapping) -> Result<Vec<Bson>> {
        let kinds: &[&str] = match self.buckets {
            Buckets::Strings(_) => &["token", "stringFacet"],
            Buckets::Intervals("number", ..) => &["number", "numberFacet"],
            Buckets::Intervals(..) => &["date", "dateFacet"],
        };
        if !kinds.iter().any(|kind| mapping.find(&self.path, kind).is_some()) {
            return Err(invalid(format!(
                "Cannot facet on field \"{}\" because it was not indexed as a {} field.",
                self.path, kinds[0]
            )));
        }
        let paths = [self.path.clone()];
        let mut counts: Vec<(Bson, i64)> = match &self.buckets {
            Buckets::Strings(_) => Vec::new(),
            Buckets::Intervals(_, boundaries, other) => {
                let lower = boundaries.iter().take(boundaries.len() - 1);
                let other = other.iter().map(|name| Bson::from(name.as_str()));
                lower.cloned().chain(other).map(|id| (id, 0)).collect()
            }
        };
        for document in found {
            let mut own: Vec<Bson> = values_at(document, &paths)
                .filter_map(|value| self.bucket(value))
                .collect();
            own.sort_by(|a, b| compare(a, b, None));
            own.dedup();
            for id in own {
                match counts.iter_mut().find(|(known, _)| *known == id) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((id, 1)),
                }
            }
        }
        if let Buckets::Strings(most) = self.buckets {
            counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| compare(&a.0, &b.0, None)));
            counts.truncate(most);
        }
        let buckets = counts.into_iter();
        Ok(buckets
            .map(|(id, count)| doc! { "_id": id, "count": count }.into())
            .collect())
    }

    fn bucket(&self, value: Bson) -> Option<Bson> {
        match &self.buckets {
            Buckets::Strings(_) => value.as_str().is_some().then_some(value),
            Buckets::Intervals(kind, boundaries, other) => {
                let is_date = matches!(value, Bson::DateTime(_));
                let fits = if *kind == "date" {
                    is_date
                } else {
                    crate::value::is_number(&value)
                };
                if !fits {
                    return None;
                }
                let interval = boundaries.windows(2).find(|limits| {
                    compare(&value, &limits[0], None).is_ge() && compare(&value, &limits[1], None).is_lt()
                });
                interval
                    .map(|limits| limits[0].clone())
                    .or_else(|| other.as_deref().map(Bson::from))
            }
        }
    }
}
