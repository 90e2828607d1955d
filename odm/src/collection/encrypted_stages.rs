//! The encrypted values in the documents between the stages of a pipeline: a filter that concerns one is an error if the
//! client does not encrypt.
//!
//! A stage that is not known here keeps the paths of the documents.

use crate::bson::{Bson, Document};
use crate::collection::encrypted_models::JoinedModel;
use crate::collection::encrypted_stages::conditions::check;
use crate::collection::encrypted_stages::expressions::{argument_values, operator, values};
use crate::collection::encrypted_stages::places::{Place, at_path, is_within, under, variable};
use crate::collection::pipeline::is_false;

mod conditions;
mod expressions;
mod places;

/// The encrypted field of a model that a filter of the stages concerns. `paths`: the encrypted fields of the documents.
pub(super) fn filtered(stages: &[Document], paths: &[String], joined: &[JoinedModel]) -> Option<String> {
    let joined = joined.iter().map(|model| (model.collection(), model.paths()));
    let joined = joined.collect();
    Flow { joined }.filtered(stages, paths)
}

/// The places, or the field that a filter concerns.
type Result<T> = std::result::Result<T, String>;

struct Flow<'a> {
    /// The other collections, with the paths of their encrypted fields.
    joined: Vec<(&'a str, &'a [String])>,
}

impl Flow<'_> {
    fn filtered(&self, stages: &[Document], paths: &[String]) -> Option<String> {
        let places = paths.iter().map(|path| Place::of_field(path)).collect();
        self.stages(stages.iter(), places).err()
    }

    /// The places in the documents after the stages, without those of variables, which the stages only read.
    fn stages<'s>(
        &self,
        stages: impl Iterator<Item = &'s Document>,
        mut places: Vec<Place>,
    ) -> Result<Vec<Place>> {
        let is_variable = |place: &Place| place.is_variable();
        let variables: Vec<Place> = places
            .iter()
            .filter(|place| is_variable(place))
            .cloned()
            .collect();
        for (name, argument) in stages.flatten() {
            places = self.stage(name, argument, places)?;
            places.retain(|place| !is_variable(place));
            places.extend_from_slice(&variables);
        }
        places.retain(|place| !is_variable(place));
        Ok(places)
    }

    fn stage(&self, name: &str, argument: &Bson, mut places: Vec<Place>) -> Result<Vec<Place>> {
        let options = argument.as_document();
        let filter = match name {
            "$match" => options,
            "$geoNear" => options.and_then(|options| options.get_document("query").ok()),
            "$vectorSearch" => options.and_then(|options| options.get_document("filter").ok()),
            _ => None,
        };
        check(filter, &places)?;
        Ok(match (name, argument) {
            ("$project", Bson::Document(fields)) => projected(fields, &places),
            ("$set" | "$addFields", Bson::Document(_)) => {
                places.extend(values(argument, &places));
                places
            }
            ("$setWindowFields" | "$fill", Bson::Document(options)) => {
                let output = options.get_document("output").into_iter().flatten();
                let added = output.flat_map(|(name, output)| under(name, argument_values(output, &places)));
                let added: Vec<Place> = added.collect();
                places.extend(added);
                places
            }
            ("$replaceWith", root) => values(root, &places),
            ("$replaceRoot", Bson::Document(options)) => options
                .get("newRoot")
                .map(|root| values(root, &places))
                .unwrap_or_default(),
            ("$group", fields) => values(fields, &places),
            ("$bucket" | "$bucketAuto", Bson::Document(options)) => {
                let key = options.get("groupBy").map(|key| values(key, &places));
                let output = options.get("output").map(|output| values(output, &places));
                let key = under("_id", key.unwrap_or_default());
                key.into_iter().chain(output.unwrap_or_default()).collect()
            }
            ("$sortByCount", key) => under("_id", values(key, &places)),
            ("$count", _) => Vec::new(),
            ("$facet", Bson::Document(facets)) => {
                let mut all = Vec::new();
                for (name, stages) in facets {
                    let found = self.stages(documents(Some(stages)), places.clone())?;
                    all.extend(under(name, found));
                }
                all
            }
            ("$unionWith", Bson::String(collection)) => {
                places.extend(self.of_collection(collection));
                places
            }
            ("$unionWith", Bson::Document(options)) => {
                places.extend(self.read("coll", options, &places)?);
                places
            }
            ("$lookup", Bson::Document(options)) => {
                let found = self.read("from", options, &places)?;
                places.extend(under(options.get_str("as").unwrap_or_default(), found));
                places
            }
            ("$graphLookup", Bson::Document(options)) => {
                let found = self.of_collection(options.get_str("from").unwrap_or_default());
                let variables = places.iter().filter(|place| place.is_variable()).cloned();
                let read: Vec<Place> = found.iter().cloned().chain(variables).collect();
                check(options.get_document("restrictSearchWithMatch").ok(), &read)?;
                places.extend(under(options.get_str("as").unwrap_or_default(), found));
                places
            }
            _ => places,
        })
    }

    /// The places in the documents that the pipeline of a lookup or a union returns. `outer`: those of its `let`.
    fn read(&self, from: &str, options: &Document, outer: &[Place]) -> Result<Vec<Place>> {
        let mut places = self.of_collection(options.get_str(from).unwrap_or_default());
        let declared = || options.get_document("let").into_iter().flatten();
        let is_hidden = |place: &Place| declared().any(|(name, _)| is_within(&place.at, &format!("${name}")));
        let variables = outer.iter().filter(|place| place.is_variable());
        places.extend(variables.filter(|place| !is_hidden(place)).cloned());
        for (name, value) in declared() {
            places.extend(variable(name, values(value, outer)));
        }
        self.stages(documents(options.get("pipeline")), places)
    }

    fn of_collection(&self, name: &str) -> Vec<Place> {
        let joined = self.joined.iter().filter(|(collection, _)| *collection == name);
        let paths = joined.flat_map(|(_, paths)| *paths);
        paths.map(|path| Place::of_field(path)).collect()
    }
}

fn documents(array: Option<&Bson>) -> impl Iterator<Item = &Document> {
    let all = array.and_then(Bson::as_array).into_iter().flatten();
    all.filter_map(Bson::as_document)
}

/// The places in the documents of a `$project`.
fn projected(fields: &Document, places: &[Place]) -> Vec<Place> {
    if !is_inclusion(fields) {
        return places.to_vec();
    }
    let mut all = included("", fields, places);
    if !fields.keys().any(|name| is_within(name, "_id")) {
        all.extend(under("_id", at_path("_id", places)));
    }
    all
}

/// Whether a `$project` returns only the fields that it names: it includes or computes one. `_id` counts only if it is the
/// only field.
fn is_inclusion(fields: &Document) -> bool {
    let named = |is_id: bool| fields.iter().filter(move |(name, _)| (*name == "_id") == is_id);
    let mut all = named(false).chain(named(true));
    all.find_map(|(_, value)| includes(value)).unwrap_or(false)
}

/// Whether the first field in a value of a `$project` is included or computed. `None` without a field.
fn includes(value: &Bson) -> Option<bool> {
    match value {
        Bson::Document(inner) if operator(inner).is_none() => inner.values().find_map(includes),
        value => Some(!is_false(value)),
    }
}

fn included(prefix: &str, fields: &Document, places: &[Place]) -> Vec<Place> {
    let all = fields.iter().flat_map(|(name, value)| {
        let path = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}.{name}")
        };
        match value {
            Bson::Document(inner) if operator(inner).is_none() => included(&path, inner, places),
            Bson::String(_) | Bson::Document(_) | Bson::Array(_) => under(&path, values(value, places)),
            value if is_false(value) => Vec::new(),
            _ => under(&path, at_path(&path, places)),
        }
    });
    all.collect()
}

#[cfg(test)]
mod tests;
