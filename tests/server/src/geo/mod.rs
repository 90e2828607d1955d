//! Geometry on the sphere and on the plane: shapes, distances and relations, with the conventions
//! of MongoDB: GeoJSON with longitude before latitude, geodesic edges, and a spherical earth.

pub(crate) mod parse;
pub(crate) mod plane;
pub(crate) mod relation;
pub(crate) mod sphere;

use sphere::{Polygon, Vector};

/// The radius of the earth in meters that MongoDB uses.
pub(crate) const EARTH_RADIUS: f64 = 6_378_100.0;

/// A position in degrees: longitude and latitude, or x and y.
pub(crate) type Position = (f64, f64);

/// A stored or queried geometry.
#[derive(Debug, Clone)]
pub(crate) struct Geometry {
    pub(crate) points: Vec<Vector>,
    pub(crate) lines: Vec<Vec<Vector>>,
    pub(crate) polygons: Vec<Polygon>,
    /// The coordinates of a geometry that is one point.
    pub(crate) position: Option<Position>,
}

impl Geometry {
    pub(crate) fn of_point(position: Position) -> Geometry {
        Geometry {
            points: vec![Vector::of_degrees(position)],
            lines: Vec::new(),
            polygons: Vec::new(),
            position: Some(position),
        }
    }

    /// The distance to a point as an angle in radians: 0 if a polygon contains the point.
    pub(crate) fn angle_to(&self, point: Vector) -> f64 {
        let points = self.points.iter().map(|own| own.angle(point));
        let lines = self.lines.iter().flat_map(|line| line.windows(2));
        let lines = lines.map(|edge| point.angle_to_edge(edge[0], edge[1]));
        let polygons = self.polygons.iter().map(|polygon| polygon.angle_to(point));
        points.chain(lines).chain(polygons).fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests;
