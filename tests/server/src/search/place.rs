//! The operators of `$search` that measure: `near`, `geoWithin` and `geoShape`.

use super::invalid;
use crate::error::Result;
use crate::geo::sphere::{Polygon, Vector};
use crate::geo::{EARTH_RADIUS, Geometry, Position, parse};
use crate::value::number::Number;
use bson::{Bson, Document, doc};

/// The origin of `near`.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    Number(f64),
    /// Milliseconds since 1970.
    Date(i64),
    Point(Vector),
}

impl Origin {
    pub(super) fn parse(value: &Bson) -> Result<Origin> {
        match value {
            Bson::DateTime(date) => Ok(Origin::Date(date.timestamp_millis())),
            Bson::Document(point) => Ok(Origin::Point(point_of(point)?)),
            number => Number::from_bson(number)
                .map(|number| Origin::Number(number.to_f64()))
                .ok_or_else(|| invalid("\"near.origin\" must be a number, a date or a point")),
        }
    }

    /// The type of the mapping that the operator needs.
    pub(super) fn mapping(&self) -> &'static str {
        match self {
            Origin::Number(_) => "number",
            Origin::Date(_) => "date",
            Origin::Point(_) => "geo",
        }
    }

    /// The score of a value: 1 at the origin, one half at the distance `pivot`.
    pub(super) fn score(&self, value: &Bson, pivot: f64) -> Option<f64> {
        let distance = match (self, value) {
            (Origin::Date(origin), Bson::DateTime(date)) => (date.timestamp_millis() - origin).abs() as f64,
            (Origin::Point(origin), value) => parse::stored(value)?.angle_to(*origin) * EARTH_RADIUS,
            (Origin::Number(origin), number) => (Number::from_bson(number)?.to_f64() - origin).abs(),
            _ => return None,
        };
        Some(pivot / (pivot + distance))
    }
}

fn point_of(point: &Document) -> Result<Vector> {
    let position: Option<Position> = parse::geometry(point)?.position;
    position
        .map(Vector::of_degrees)
        .ok_or_else(|| invalid("a GeoJSON point is required"))
}

/// The test of `geoWithin` and `geoShape`.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    Within(Vec<Polygon>),
    /// A center and an angle in radians.
    Circle(Vector, f64),
    Intersects(Geometry),
    Disjoint(Geometry),
    /// The stored shape contains the given one.
    Contains(Geometry),
}

impl Shape {
    /// Parses the fields of `geoWithin`.
    pub(super) fn within(fields: &Document) -> Result<Shape> {
        if let Ok(circle) = fields.get_document("circle") {
            let center = circle
                .get_document("center")
                .map_err(|_| invalid("\"geoWithin.circle.center\" is required"))?;
            let radius = circle
                .get("radius")
                .and_then(Number::from_bson)
                .map(Number::to_f64);
            let radius = radius
                .filter(|radius| *radius >= 0.0)
                .ok_or_else(|| invalid("\"geoWithin.circle.radius\" must be a non-negative number"))?;
            return Ok(Shape::Circle(point_of(center)?, radius / EARTH_RADIUS));
        }
        if let Ok(corners) = fields.get_document("box") {
            let corner = |name: &str| {
                let point = corners.get_document(name).ok();
                let position = point
                    .map(parse::geometry)
                    .transpose()?
                    .and_then(|point| point.position);
                position.ok_or_else(|| invalid(format!("\"geoWithin.box.{name}\" must be a point")))
            };
            let ((left, bottom), (right, top)) = (corner("bottomLeft")?, corner("topRight")?);
            let ring = [
                [left, bottom],
                [right, bottom],
                [right, top],
                [left, top],
                [left, bottom],
            ];
            let ring: Vec<Bson> = ring.iter().map(|point| Bson::from(point.to_vec())).collect();
            let polygon = doc! { "type": "Polygon", "coordinates": [ring] };
            return Ok(Shape::Within(parse::geometry(&polygon)?.polygons));
        }
        let Ok(geometry) = fields.get_document("geometry") else {
            return Err(invalid("\"geoWithin\" requires one of [box, circle, geometry]"));
        };
        let geometry = parse::geometry(geometry)?;
        if geometry.polygons.is_empty() {
            return Err(invalid(
                "\"geoWithin.geometry\" must be a Polygon or a MultiPolygon",
            ));
        }
        Ok(Shape::Within(geometry.polygons))
    }

    /// Parses the fields of `geoShape`.
    pub(super) fn related(fields: &Document) -> Result<Shape> {
        let geometry = fields
            .get_document("geometry")
            .map_err(|_| invalid("\"geoShape.geometry\" is required"))?;
        let geometry = parse::geometry(geometry)?;
        match fields.get_str("relation") {
            Ok("within") if geometry.polygons.is_empty() => Err(invalid(
                "\"geoShape.geometry\" must be a polygon for the relation within",
            )),
            Ok("within") => Ok(Shape::Within(geometry.polygons)),
            Ok("intersects") => Ok(Shape::Intersects(geometry)),
            Ok("disjoint") => Ok(Shape::Disjoint(geometry)),
            Ok("contains") => Ok(Shape::Contains(geometry)),
            _ => Err(invalid(
                "\"geoShape.relation\" must be one of [contains, disjoint, intersects, within]",
            )),
        }
    }

    pub(super) fn accepts(&self, value: &Bson) -> bool {
        let Some(stored) = parse::stored(value) else {
            return false;
        };
        match self {
            Shape::Within(polygons) => stored.is_within(polygons),
            Shape::Circle(center, angle) => stored.is_within_cap(*center, *angle),
            Shape::Intersects(other) => stored.intersects(other),
            Shape::Disjoint(other) => !stored.intersects(other),
            Shape::Contains(other) => other.is_within(&stored.polygons),
        }
    }
}
