//! Parses GeoJSON (RFC 7946) and legacy coordinate pairs.

use super::sphere::{Polygon, Ring, Vector};
use super::{Geometry, Position};
use crate::error::{Error, Result};
use crate::value::format;
use crate::value::number::Number;
use bson::{Bson, Document};

/// The coordinate reference systems with longitude and latitude and without winding order.
const REFERENCE_SYSTEMS: [&str; 2] = ["urn:ogc:def:crs:OGC:1.3:CRS84", "EPSG:4326"];

fn invalid(message: impl Into<String>) -> Error {
    Error::bad_value(message)
}

/// Parses a stored value; `None` if it is not a geometry.
pub(crate) fn stored(value: &Bson) -> Option<Geometry> {
    match value {
        Bson::Document(document) if document.get("type").is_some_and(|kind| kind.as_str().is_some()) => {
            geometry(document).ok()
        }
        value => {
            let position = legacy(value)?;
            let valid = (-180.0..=180.0).contains(&position.0) && (-90.0..=90.0).contains(&position.1);
            let mut geometry = Geometry::of_point(position);
            if !valid {
                // A point of the plane only.
                geometry.points.clear();
            }
            Some(geometry)
        }
    }
}

/// Parses a legacy coordinate pair: an array or a document whose first two values are numbers.
pub(crate) fn legacy(value: &Bson) -> Option<Position> {
    let mut values = match value {
        Bson::Array(items) => items.iter().take(3).collect::<Vec<_>>(),
        Bson::Document(document) => document.values().take(3).collect(),
        _ => return None,
    }
    .into_iter()
    .map(|value| Number::from_bson(value).map(Number::to_f64));
    let (x, y) = (values.next()??, values.next()??);
    (x.is_finite() && y.is_finite()).then_some((x, y))
}

/// Parses a GeoJSON object.
pub(crate) fn geometry(document: &Document) -> Result<Geometry> {
    check_system(document)?;
    let kind = match document.get("type") {
        Some(Bson::String(kind)) => kind.as_str(),
        _ => {
            return Err(invalid(format!(
                "unknown GeoJSON type: {}",
                format::document(document)
            )));
        }
    };
    let mut geometry = Geometry {
        points: Vec::new(),
        lines: Vec::new(),
        polygons: Vec::new(),
        position: None,
    };
    if kind == "GeometryCollection" {
        let Some(Bson::Array(parts)) = document.get("geometries") else {
            return Err(invalid("GeometryCollection geometries must be an array"));
        };
        for part in parts {
            let Bson::Document(part) = part else {
                return Err(invalid("Element of \"geometries\" is not an object"));
            };
            let part = self::geometry(part)?;
            geometry.points.extend(part.points);
            geometry.lines.extend(part.lines);
            geometry.polygons.extend(part.polygons);
        }
        return Ok(geometry);
    }
    let Some(Bson::Array(coordinates)) = document.get("coordinates") else {
        return Err(invalid(format!(
            "{kind} must have an array of coordinates: {}",
            format::document(document)
        )));
    };
    match kind {
        "Point" => {
            let position = position(&Bson::Array(coordinates.clone()))?;
            geometry.points.push(Vector::of_degrees(position));
            geometry.position = Some(position);
        }
        "MultiPoint" => geometry.points = positions(coordinates)?,
        "LineString" => geometry.lines.push(line(coordinates)?),
        "MultiLineString" => {
            for part in nested(coordinates)? {
                geometry.lines.push(line(part)?);
            }
        }
        "Polygon" => geometry.polygons.push(polygon(coordinates)?),
        "MultiPolygon" => {
            for part in nested(coordinates)? {
                geometry.polygons.push(polygon(part)?);
            }
        }
        other => return Err(invalid(format!("unknown GeoJSON type: {other}"))),
    }
    if kind.starts_with("Multi") && coordinates.is_empty() {
        return Err(invalid(format!(
            "{kind} coordinates must have at least 1 element"
        )));
    }
    Ok(geometry)
}

fn check_system(document: &Document) -> Result<()> {
    let Some(system) = document.get("crs") else {
        return Ok(());
    };
    let name = system
        .as_document()
        .and_then(|system| system.get_document("properties").ok())
        .and_then(|properties| properties.get_str("name").ok());
    match name {
        Some(name) if REFERENCE_SYSTEMS.contains(&name) => Ok(()),
        Some("urn:x-mongodb:crs:strictwinding:EPSG:4326") => {
            Err(Error::not_served("a polygon with a strict winding order"))
        }
        _ => Err(invalid(format!("Unknown CRS: {}", format::bson(system)))),
    }
}

/// A position of GeoJSON in degrees.
pub(crate) fn position(value: &Bson) -> Result<Position> {
    let position = match value {
        Bson::Array(_) => legacy(value),
        _ => None,
    };
    let (longitude, latitude) =
        position.ok_or_else(|| invalid("Point must only contain numeric elements"))?;
    if !(-180.0..=180.0).contains(&longitude) || !(-90.0..=90.0).contains(&latitude) {
        return Err(invalid(format!(
            "Longitude/latitude is out of bounds, lng: {longitude} lat: {latitude}"
        )));
    }
    Ok((longitude, latitude))
}

fn positions(values: &[Bson]) -> Result<Vec<Vector>> {
    values
        .iter()
        .map(|value| position(value).map(Vector::of_degrees))
        .collect()
}

fn nested(values: &[Bson]) -> Result<impl Iterator<Item = &[Bson]>> {
    if values.iter().any(|value| !matches!(value, Bson::Array(_))) {
        return Err(invalid("coordinates must be arrays"));
    }
    Ok(values.iter().filter_map(Bson::as_array).map(Vec::as_slice))
}

fn line(coordinates: &[Bson]) -> Result<Vec<Vector>> {
    let mut vertices = positions(coordinates)?;
    vertices.dedup();
    if vertices.len() < 2 {
        return Err(invalid(format!(
            "GeoJSON LineString must have at least 2 vertices: {}",
            format::bson(&Bson::Array(coordinates.to_vec()))
        )));
    }
    Ok(vertices)
}

fn polygon(rings: &[Bson]) -> Result<Polygon> {
    let mut parsed = nested(rings)?.map(ring).collect::<Result<Vec<_>>>()?;
    if parsed.is_empty() {
        return Err(invalid("Polygon has no loops."));
    }
    let holes = parsed.split_off(1);
    let polygon = Polygon {
        outer: parsed.remove(0),
        holes,
    };
    for hole in &polygon.holes {
        if !hole
            .vertices()
            .iter()
            .all(|vertex| polygon.outer_contains(*vertex))
        {
            return Err(invalid(
                "Secondary loops not contained by first exterior loop - secondary loops must be holes",
            ));
        }
    }
    Ok(polygon)
}

fn ring(coordinates: &[Bson]) -> Result<Ring> {
    let shown = || format::bson(&Bson::Array(coordinates.to_vec()));
    let mut vertices = positions(coordinates)?;
    if vertices.len() > 1 && vertices.first() != vertices.last() {
        return Err(invalid(format!("Loop is not closed: {}", shown())));
    }
    vertices.dedup();
    vertices.pop();
    if vertices.len() < 3 {
        return Err(invalid(format!(
            "Loop must have at least 3 different vertices: {}",
            shown()
        )));
    }
    let ring = Ring::new(vertices);
    if let Some((one, other)) = ring.crossing() {
        return Err(invalid(format!(
            "Loop is not valid: {} Edges {one} and {other} cross",
            shown()
        )));
    }
    Ok(ring)
}
