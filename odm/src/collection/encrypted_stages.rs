//! The encrypted values in the documents between the stages of a pipeline: a filter that concerns one is an error if the
//! client does not encrypt, and a condition of a model on an encrypted field that concerns none if it does.
//!
//! A stage that is not known here keeps the paths of the documents.

use std::cell::Cell;

use crate::bson::{Bson, Document};
use crate::collection::encrypted_models::EncryptedOperand;
use crate::collection::encrypted_stages::expressions::{argument_values, operator, values};
use crate::collection::encrypted_stages::places::{
    Place, at_path, distinct, is_within, remove, remove_variable, under, variable,
};

mod conditions;
mod expressions;
mod places;

pub(super) use conditions::compares_document;

/// The other collections, with the paths of their encrypted fields.
type Joined<'a> = Vec<(&'a str, &'a [String])>;

/// The encrypted field of a model that a filter of the stages concerns. `paths`: the encrypted fields of the documents.
pub(super) fn filtered(stages: &[Document], paths: &[String], joined: Joined<'_>) -> Option<String> {
    let flow = Flow {
        joined,
        operands: None,
    };
    flow.filtered(stages, paths)
}

/// Why the filters of a pipeline are not sent by a client that encrypts.
pub(super) enum Unsendable {
    /// The encrypted field in a value that is compared as a whole.
    Compared(String),
    /// The path of a condition on an encrypted field where the documents have no encrypted value: that of another model.
    Unknown(String),
}

/// The condition that a client which encrypts would send as it is. `operands`: the conditions on encrypted fields.
/// `paths`: as in [`filtered`].
pub(super) fn unsendable(
    stages: &[Document],
    paths: &[String],
    joined: Joined<'_>,
    operands: &[EncryptedOperand],
) -> Option<Unsendable> {
    let sent = operands.iter().map(|operand| Sent {
        operand,
        is_found: Cell::new(false),
        is_unknown: Cell::new(false),
    });
    let operands = Some(sent.collect());
    let flow = Flow { joined, operands };
    if let Some(field) = flow.filtered(stages, paths) {
        return Some(Unsendable::Compared(field));
    }
    let operands = flow.operands?;
    let unknown = operands.iter().find(|sent| sent.is_unknown());
    unknown.map(|sent| Unsendable::Unknown(sent.operand.path.to_string()))
}

/// Whether a filter has a condition on the field at a path, or compares a document that contains it.
pub(super) fn is_on(filter: &Document, path: &str) -> bool {
    conditions::is_on(filter, path, &[Place::of_field(path)])
}

/// A condition on an encrypted field, in the filters of the stages.
struct Sent<'a> {
    operand: &'a EncryptedOperand,
    is_found: Cell<bool>,
    /// Whether there is no encrypted value in the documents of a filter with the condition.
    is_unknown: Cell<bool>,
}

impl Sent<'_> {
    /// Checks the condition if it is in a filter of documents with encrypted values at these places.
    fn check(&self, filter: &Document, certain: &[Place]) {
        let EncryptedOperand { path, filter: noted } = self.operand;
        if !conditions::contains(filter, noted) {
            return;
        }
        self.is_found.set(true);
        if !conditions::is_on(noted, path, certain) {
            self.is_unknown.set(true);
        }
    }

    /// Whether the value of the condition would be sent as it is. A filter that is not found is not known.
    fn is_unknown(&self) -> bool {
        self.is_unknown.get() || !self.is_found.get()
    }
}

/// The places, or the field that a filter concerns.
type Result<T> = std::result::Result<T, String>;

struct Flow<'a> {
    joined: Joined<'a>,
    /// The conditions on encrypted fields, if filters may concern encrypted values. `None` if they may not.
    operands: Option<Vec<Sent<'a>>>,
}

impl Flow<'_> {
    /// Checks a filter of documents with encrypted values at these places.
    fn check(&self, filter: Option<&Document>, places: &[Place]) -> Result<()> {
        let Some(filter) = filter else { return Ok(()) };
        let Some(operands) = &self.operands else {
            return conditions::concerned(filter, places).map_or(Ok(()), Err);
        };
        if !operands.is_empty() {
            let certain = places.iter().filter(|place| place.is_certain);
            let certain: Vec<Place> = certain.cloned().collect();
            operands.iter().for_each(|sent| sent.check(filter, &certain));
        }
        conditions::comparison(filter, places).map_or(Ok(()), Err)
    }

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
            distinct(&mut places);
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
        self.check(filter, &places)?;
        Ok(match (name, argument) {
            ("$project", Bson::Document(fields)) => projected(fields, &places),
            ("$set" | "$addFields", Bson::Document(fields)) => {
                let added = values(argument, &places);
                remove_fields("", fields, |_| true, &mut places);
                places.extend(added);
                places
            }
            ("$unset", Bson::String(name)) => {
                remove(name, &mut places);
                places
            }
            ("$unset", Bson::Array(names)) => {
                let names = names.iter().filter_map(Bson::as_str);
                names.for_each(|name| remove(name, &mut places));
                places
            }
            ("$unwind" | "$geoNear", Bson::Document(options)) => {
                let added = ["includeArrayIndex", "distanceField", "includeLocs"];
                let names = added.iter().filter_map(|name| options.get_str(name).ok());
                names.for_each(|name| remove(name, &mut places));
                places
            }
            ("$setWindowFields" | "$fill", Bson::Document(options)) => {
                let output = || options.get_document("output").into_iter().flatten();
                let added = output().flat_map(|(name, output)| under(name, argument_values(output, &places)));
                let added: Vec<Place> = added.collect();
                for (field, output) in output() {
                    match output.as_document() {
                        _ if name == "$setWindowFields" => remove(field, &mut places),
                        // The value is that of the documents without the field.
                        Some(output) if output.contains_key("value") => {
                            for place in places.iter_mut().filter(|place| is_within(&place.at, field)) {
                                place.is_certain = false;
                            }
                        }
                        _ => {}
                    }
                }
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
                let name = options.get_str("as").unwrap_or_default();
                remove(name, &mut places);
                places.extend(under(name, found));
                places
            }
            ("$graphLookup", Bson::Document(options)) => {
                let found = self.of_collection(options.get_str("from").unwrap_or_default());
                let variables = places.iter().filter(|place| place.is_variable()).cloned();
                let read: Vec<Place> = found.iter().cloned().chain(variables).collect();
                self.check(options.get_document("restrictSearchWithMatch").ok(), &read)?;
                let name = options.get_str("as").unwrap_or_default();
                remove(name, &mut places);
                places.extend(under(name, found));
                places
            }
            _ => places,
        })
    }

    /// The places in the documents that the pipeline of a lookup or a union returns. `outer`: those of its `let`.
    fn read(&self, from: &str, options: &Document, outer: &[Place]) -> Result<Vec<Place>> {
        let mut places = self.of_collection(options.get_str(from).unwrap_or_default());
        let declared = || options.get_document("let").into_iter().flatten();
        places.extend(outer.iter().filter(|place| place.is_variable()).cloned());
        for (name, _) in declared() {
            remove_variable(name, &mut places);
        }
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
        let mut places = places.to_vec();
        remove_fields("", fields, is_false, &mut places);
        return places;
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

fn joined(prefix: &str, name: &str) -> String {
    let dot = if prefix.is_empty() { "" } else { "." };
    format!("{prefix}{dot}{name}")
}

/// Removes the places in the fields of a stage whose values are meant. A document has the values of the fields in it.
fn remove_fields(prefix: &str, fields: &Document, is_meant: fn(&Bson) -> bool, places: &mut Vec<Place>) {
    for (name, value) in fields {
        let path = joined(prefix, name);
        match value {
            Bson::Document(inner) if operator(inner).is_none() => {
                remove_fields(&path, inner, is_meant, places);
            }
            value if is_meant(value) => remove(&path, places),
            _ => {}
        }
    }
}

fn included(prefix: &str, fields: &Document, places: &[Place]) -> Vec<Place> {
    let all = fields.iter().flat_map(|(name, value)| {
        let path = joined(prefix, name);
        match value {
            Bson::Document(inner) if operator(inner).is_none() => included(&path, inner, places),
            Bson::String(_) | Bson::Document(_) | Bson::Array(_) => under(&path, values(value, places)),
            value if is_false(value) => Vec::new(),
            _ => under(&path, at_path(&path, places)),
        }
    });
    all.collect()
}

/// Whether the value of a field in `$project` excludes the field.
fn is_false(value: &Bson) -> bool {
    match value {
        Bson::Boolean(value) => !value,
        Bson::Int32(value) => *value == 0,
        Bson::Int64(value) => *value == 0,
        Bson::Double(value) => *value == 0.0,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
