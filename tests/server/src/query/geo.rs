//! Geospatial query operators: `$geoWithin`, `$geoIntersects`, `$near` and `$nearSphere`.

use super::path::{Path, walk};
use crate::error::{Error, Result};
use crate::geo::plane::{Region, distance};
use crate::geo::sphere::{Polygon, Vector};
use crate::geo::{EARTH_RADIUS, Geometry, Position, parse};
use crate::value::format;
use crate::value::number::Number;
use bson::{Bson, Document};

/// A test of a stored geometry.
#[derive(Debug, Clone)]
pub(crate) enum GeoTest {
    /// `$geoWithin` a polygon or one of several.
    Within(Vec<Polygon>),
    /// `$geoWithin` with `$centerSphere`: center and angle in radians.
    WithinCap(Vector, f64),
    /// `$geoWithin` a region of the plane.
    WithinRegion(Region),
    /// `$geoIntersects`
    Intersects(Box<Geometry>),
}

impl GeoTest {
    /// Parses the operand of `$geoWithin` or `$geoIntersects`.
    pub(super) fn parse(operator: &str, value: &Bson) -> Result<GeoTest> {
        let Bson::Document(fields) = value else {
            return Err(Error::bad_value(format!(
                "geometry must be an object: {operator}: {}",
                format::bson(value)
            )));
        };
        let intersects = operator == "$geoIntersects";
        let mut test = None;
        for (name, argument) in fields {
            match name.as_str() {
                "$uniqueDocs" => {}
                "$geometry" => {
                    let Bson::Document(geometry) = argument else {
                        return Err(Error::bad_value(format!(
                            "geometry must be an object: {}",
                            format::bson(argument)
                        )));
                    };
                    let geometry = parse::geometry(geometry)?;
                    test = Some(if intersects {
                        GeoTest::Intersects(Box::new(geometry))
                    } else if geometry.points.is_empty() && geometry.lines.is_empty() {
                        GeoTest::Within(geometry.polygons)
                    } else {
                        return Err(Error::bad_value(format!(
                            "$geoWithin not supported with provided geometry: {}",
                            format::document(fields)
                        )));
                    });
                }
                "$box" | "$polygon" | "$center" | "$centerSphere" if intersects => {
                    return Err(Error::bad_value(format!(
                        "$geoIntersects not supported with provided geometry: {}",
                        format::document(fields)
                    )));
                }
                "$box" => test = Some(GeoTest::WithinRegion(rectangle(argument)?)),
                "$polygon" => {
                    let vertices = pairs(argument)?;
                    if vertices.len() < 3 {
                        return Err(Error::bad_value("Polygon must have at least 3 points"));
                    }
                    test = Some(GeoTest::WithinRegion(Region::Polygon(vertices)));
                }
                "$center" => {
                    let (center, radius) = circle(argument)?;
                    test = Some(GeoTest::WithinRegion(Region::Circle(center, radius)));
                }
                "$centerSphere" => {
                    let (center, angle) = circle(argument)?;
                    let center = parse::position(&Bson::from(vec![center.0, center.1]))?;
                    test = Some(GeoTest::WithinCap(Vector::of_degrees(center), angle));
                }
                other => {
                    return Err(Error::bad_value(format!(
                        "unknown geo specifier: {other}: {}",
                        format::bson(argument)
                    )));
                }
            }
        }
        test.ok_or_else(|| Error::bad_value(format!("{operator} requires a geometry")))
    }

    /// Whether a stored value is a geometry that passes the test.
    pub(super) fn accepts(&self, value: &Bson) -> bool {
        let Some(geometry) = parse::stored(value) else {
            return false;
        };
        let on_sphere = !(geometry.points.is_empty() && geometry.position.is_some());
        match self {
            GeoTest::Within(polygons) => on_sphere && geometry.is_within(polygons),
            GeoTest::WithinCap(center, angle) => on_sphere && geometry.is_within_cap(*center, *angle),
            GeoTest::WithinRegion(region) => geometry
                .position
                .is_some_and(|position| region.contains(position)),
            GeoTest::Intersects(other) => on_sphere && geometry.intersects(other),
        }
    }
}

/// The values of an array, or of a document that is written in its place.
fn values(value: &Bson) -> Option<Vec<&Bson>> {
    match value {
        Bson::Array(items) => Some(items.iter().collect()),
        Bson::Document(fields) => Some(fields.values().collect()),
        _ => None,
    }
}

fn pair(value: &Bson) -> Result<Position> {
    parse::legacy(value).ok_or_else(|| {
        Error::bad_value(format!(
            "Point must be an array or object of two numbers: {}",
            format::bson(value)
        ))
    })
}

fn pairs(value: &Bson) -> Result<Vec<Position>> {
    let points = values(value).ok_or_else(|| Error::bad_value("Polygon must be an array or object"))?;
    points.into_iter().map(pair).collect()
}

fn rectangle(value: &Bson) -> Result<Region> {
    match values(value).as_deref() {
        Some([a, b]) => {
            let (a, b) = (pair(a)?, pair(b)?);
            let (low, high) = ((a.0.min(b.0), a.1.min(b.1)), (a.0.max(b.0), a.1.max(b.1)));
            Ok(Region::Box(low, high))
        }
        _ => Err(Error::bad_value(
            "Point must be an array or object: $box needs two corners",
        )),
    }
}

fn circle(value: &Bson) -> Result<(Position, f64)> {
    match values(value).as_deref() {
        Some([center, radius]) => {
            let radius = Number::from_bson(radius)
                .map(Number::to_f64)
                .filter(|radius| *radius >= 0.0)
                .ok_or_else(|| Error::bad_value("radius must be a non-negative number"))?;
            Ok((pair(center)?, radius))
        }
        _ => Err(Error::bad_value("Only 2 fields allowed for circular region")),
    }
}

/// How distances are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// In meters, from a GeoJSON point.
    Meters,
    /// In radians, from a coordinate pair.
    Radians,
    /// In the unit of the coordinates.
    Plane,
}

/// A search for the geometries near a point: `$near`, `$nearSphere` and `$geoNear`.
#[derive(Debug, Clone)]
pub(crate) struct Near {
    pub(crate) path: Path,
    center: Position,
    pub(crate) measure: Measure,
    /// Whether the operator is `$nearSphere` or the center a GeoJSON point.
    pub(crate) spherical: bool,
    min: f64,
    max: f64,
}

/// A found geometry.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) distance: f64,
    pub(crate) location: Bson,
}

impl Near {
    /// Parses an operator with the others of its field, which may have the limits of the distance.
    pub(super) fn parse(path: &Path, operator: &str, value: &Bson, siblings: &Document) -> Result<Near> {
        let spherical = operator == "$nearSphere";
        let malformed = || {
            Error::bad_value(format!(
                "invalid point in geo near query {operator} argument: {}",
                format::bson(value)
            ))
        };
        let mut near = match value {
            Bson::Document(fields) if fields.contains_key("$geometry") => {
                if let Some(other) = fields
                    .keys()
                    .find(|name| !matches!(name.as_str(), "$geometry" | "$minDistance" | "$maxDistance"))
                {
                    return Err(Error::bad_value(format!(
                        "invalid argument in geo near query: {other}"
                    )));
                }
                let point = match fields.get("$geometry") {
                    Some(Bson::Document(point)) => parse::geometry(point)?,
                    _ => return Err(malformed()),
                };
                let mut near = Near::new(path, point.position.ok_or_else(malformed)?, Measure::Meters);
                near.limit(fields)?;
                near
            }
            value => {
                let measure = if spherical {
                    Measure::Radians
                } else {
                    Measure::Plane
                };
                let mut near = Near::new(path, parse::legacy(value).ok_or_else(malformed)?, measure);
                // The third value of a coordinate pair is the maximum distance.
                if let Some(max) = values(value).and_then(|values| values.get(2).copied()) {
                    near.max = distance_of("$maxDistance", max)?;
                }
                near
            }
        };
        near.limit(siblings)?;
        near.spherical |= spherical;
        Ok(near)
    }

    /// A search without limits.
    pub(crate) fn new(path: &Path, center: Position, measure: Measure) -> Near {
        Near {
            path: path.clone(),
            center,
            measure,
            spherical: measure != Measure::Plane,
            min: 0.0,
            max: f64::INFINITY,
        }
    }

    fn limit(&mut self, fields: &Document) -> Result<()> {
        self.set_limits(fields.get("$minDistance"), fields.get("$maxDistance"))
    }

    /// Sets the limits of the distance in the unit of the measure.
    pub(crate) fn set_limits(&mut self, min: Option<&Bson>, max: Option<&Bson>) -> Result<()> {
        if let Some(min) = min {
            self.min = distance_of("$minDistance", min)?;
        }
        if let Some(max) = max {
            self.max = distance_of("$maxDistance", max)?;
        }
        Ok(())
    }

    /// The nearest geometry at the path within the limits.
    pub(crate) fn find(&self, document: &Document) -> Result<Option<Found>> {
        let mut nearest: Option<Found> = None;
        let mut offer = |value: &Bson| {
            if let Some(distance) = self.distance_to(value)
                && nearest.as_ref().is_none_or(|held| distance < held.distance)
            {
                nearest = Some(Found {
                    distance,
                    location: value.clone(),
                });
            }
        };
        walk(document, &self.path.parts, None, &mut |value, _| {
            match value {
                Some(value @ Bson::Array(items)) if parse::legacy(value).is_none() => {
                    items.iter().for_each(&mut offer);
                }
                Some(value) => offer(value),
                None => {}
            }
            Ok(false)
        })?;
        Ok(nearest.filter(|found| (self.min..=self.max).contains(&found.distance)))
    }

    fn distance_to(&self, value: &Bson) -> Option<f64> {
        let geometry = parse::stored(value)?;
        if self.measure == Measure::Plane {
            return geometry.position.map(|position| distance(self.center, position));
        }
        let angle = geometry.angle_to(Vector::of_degrees(self.center));
        let unit = if self.measure == Measure::Meters {
            EARTH_RADIUS
        } else {
            1.0
        };
        angle.is_finite().then_some(angle * unit)
    }

    /// Fails unless the key pattern of an index supports the search.
    pub(crate) fn check_index<'i>(&self, patterns: impl Iterator<Item = &'i Document>) -> Result<()> {
        let suits = |pattern: &Document| match pattern.get(&self.path.text).and_then(Bson::as_str) {
            Some("2dsphere") => self.spherical,
            Some("2d") => self.measure != Measure::Meters,
            _ => false,
        };
        let mut patterns = patterns;
        if patterns.any(suits) {
            return Ok(());
        }
        Err(Error::new(
            291,
            "error processing query: planner returned error :: caused by :: unable to find index for $geoNear query",
        ))
    }
}

fn distance_of(name: &str, value: &Bson) -> Result<f64> {
    let number = Number::from_bson(value)
        .ok_or_else(|| Error::bad_value(format!("{name} must be a number")))?
        .to_f64();
    if number >= 0.0 {
        Ok(number)
    } else {
        Err(Error::bad_value(format!("{name} must be non-negative")))
    }
}
