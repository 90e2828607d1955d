//! `$geoNear`: the documents of the collection in the order of their distance from a point.

use super::Source;
use super::shape::set_path;
use crate::error::{Error, Result, code};
use crate::geo::{Position, parse};
use crate::query::geo::{Measure, Near};
use crate::query::path::{Path, check_field_path};
use crate::query::{Env, Filter};
use crate::storage::index::Index;
use crate::storage::{Collection, Namespace};
use crate::value::metadata;
use crate::value::number::Number;
use crate::value::type_name;
use bson::{Bson, Document};

/// A `$geoNear` stage.
#[derive(Debug, Clone)]
pub(crate) struct GeoNear {
    center: Position,
    geojson: bool,
    spherical: bool,
    key: Option<String>,
    distance_field: Option<String>,
    include_locations: Option<String>,
    multiplier: f64,
    query: Filter,
    limits: [Option<Bson>; 2],
}

impl GeoNear {
    pub(super) fn parse(spec: &Document, env: &Env) -> Result<GeoNear> {
        let mut center = None;
        let mut stage = GeoNear {
            center: (0.0, 0.0),
            geojson: false,
            spherical: false,
            key: None,
            distance_field: None,
            include_locations: None,
            multiplier: 1.0,
            query: Filter::Constant(true),
            limits: [None, None],
        };
        for (name, value) in spec {
            match (name.as_str(), value) {
                ("near", Bson::Document(point)) if point.contains_key("type") => {
                    let point = parse::geometry(point)?;
                    center = point.position;
                    stage.geojson = true;
                    if center.is_none() {
                        return Err(Error::bad_value(
                            "$geoNear requires the 'near' argument to be a point",
                        ));
                    }
                }
                ("near", value) => {
                    center = parse::legacy(value);
                    if center.is_none() {
                        return Err(Error::bad_value(format!(
                            "$geoNear requires a GeoJSON point or a coordinate pair in 'near', found {}",
                            type_name(value)
                        )));
                    }
                }
                ("distanceField" | "includeLocs", Bson::String(path)) => {
                    check_field_path(path)?;
                    if name == "distanceField" {
                        stage.distance_field = Some(path.clone());
                    } else {
                        stage.include_locations = Some(path.clone());
                    }
                }
                ("key", Bson::String(key)) if !key.is_empty() => stage.key = Some(key.clone()),
                ("key", Bson::String(_)) => {
                    return Err(Error::bad_value(
                        "$geoNear parameter 'key' cannot be the empty string",
                    ));
                }
                ("spherical", value) => stage.spherical = crate::value::truthy(value),
                ("query", Bson::Document(filter)) => {
                    stage.query = Filter::parse(filter, env)?;
                    if stage.query.near().is_some() {
                        return Err(Error::bad_value("$near is not allowed inside of a $geoNear"));
                    }
                }
                ("minDistance", value) => stage.limits[0] = Some(distance(name, value, env)?),
                ("maxDistance", value) => stage.limits[1] = Some(distance(name, value, env)?),
                ("distanceMultiplier", value) => {
                    stage.multiplier = Number::from_bson(value)
                        .map(Number::to_f64)
                        .filter(|number| *number >= 0.0)
                        .ok_or_else(|| {
                            Error::bad_value(
                                "$geoNear parameter 'distanceMultiplier' must be a non-negative number",
                            )
                        })?;
                }
                ("limit", _) => return Err(removed("limit", 50858)),
                ("num", _) => return Err(removed("num", 50857)),
                ("start", _) => return Err(removed("start", 50856)),
                ("uniqueDocs", _) => {}
                ("distanceField" | "includeLocs" | "key" | "query", other) => {
                    return Err(Error::type_mismatch(format!(
                        "$geoNear parameter '{name}' has the wrong type {}",
                        type_name(other)
                    )));
                }
                (other, _) => {
                    return Err(Error::new(
                        code::UNKNOWN_FIELD,
                        format!("BSON field '$geoNear.{other}' is an unknown field."),
                    ));
                }
            }
        }
        stage.center = center.ok_or_else(|| Error::new(5_860_400, "$geoNear requires a 'near' argument"))?;
        Ok(stage)
    }

    pub(super) fn run(
        &self,
        documents: Vec<Document>,
        source: Source<'_>,
        env: &Env,
    ) -> Result<Vec<Document>> {
        let namespace = source
            .collection
            .map(|collection| Namespace::new(source.database, collection));
        let Some(collection) = namespace
            .transpose()?
            .and_then(|namespace| source.catalog.get(&namespace))
        else {
            return Ok(Vec::new());
        };
        if collection.view.is_some() {
            return Err(Error::not_served("$geoNear on a view"));
        }
        let near = self.near(collection)?;
        let mut found = Vec::new();
        for document in documents {
            if self.query.matches(&document, env)?
                && let Some(nearest) = near.find(&document)?
            {
                found.push((nearest, document));
            }
        }
        found.sort_by(|a, b| a.0.distance.total_cmp(&b.0.distance));
        let rows = found.into_iter().map(|(nearest, mut document)| {
            let distance = Bson::Double(nearest.distance * self.multiplier);
            if let Some(path) = &self.distance_field {
                set_path(&mut document, path, &distance);
            }
            if let Some(path) = &self.include_locations {
                set_path(&mut document, path, &nearest.location);
            }
            metadata::set(&mut document, "geoNearDistance", distance);
            metadata::set(&mut document, "geoNearPoint", nearest.location);
            document
        });
        Ok(rows.collect())
    }

    /// The search with the field of the index that is used.
    fn near(&self, collection: &Collection) -> Result<Near> {
        let patterns: Vec<Document> = collection.indexes.iter().map(Index::key_pattern).collect();
        let path = match &self.key {
            Some(key) => key.clone(),
            None => indexed(&patterns)?,
        };
        let measure = match (self.geojson, self.spherical) {
            (true, _) => Measure::Meters,
            (false, true) => Measure::Radians,
            (false, false) => Measure::Plane,
        };
        let mut near = Near::new(&Path::new(&path), self.center, measure);
        near.set_limits(self.limits[0].as_ref(), self.limits[1].as_ref())?;
        near.check_index(patterns.iter())?;
        Ok(near)
    }
}

/// The field of the only geospatial index: of a 2d index, or of a 2dsphere index.
fn indexed(patterns: &[Document]) -> Result<String> {
    for kind in ["2d", "2dsphere"] {
        let fields = patterns.iter().flatten();
        let mut fields = fields.filter(|(_, value)| value.as_str() == Some(kind));
        match (fields.next(), fields.next()) {
            (Some((path, _)), None) => return Ok(path.clone()),
            (Some(_), Some(_)) => {
                return Err(Error::new(
                    code::INDEX_NOT_FOUND,
                    format!("There is more than one {kind} index; unsure which to use for $geoNear"),
                ));
            }
            (None, _) => {}
        }
    }
    Err(Error::new(
        code::INDEX_NOT_FOUND,
        "$geoNear requires a 2d or 2dsphere index, but none were found",
    ))
}

fn removed(name: &str, code: i32) -> Error {
    Error::new(
        code,
        format!("$geoNear no longer supports the '{name}' parameter. Use a $limit stage instead."),
    )
}

/// A limit of the distance, which may be a constant expression.
fn distance(name: &str, value: &Bson, env: &Env) -> Result<Bson> {
    let value = crate::expression::Expression::parse(value, env)?.evaluate(&Document::new(), env)?;
    match Number::from_bson(&value) {
        Some(number) if number.to_f64() >= 0.0 => Ok(value),
        _ => Err(Error::bad_value(format!(
            "$geoNear parameter '{name}' must be a non-negative number"
        ))),
    }
}
