//! Whether geometries intersect or contain each other.

use super::Geometry;
use super::sphere::{Polygon, TOLERANCE, Vector, cross, meet};

impl Geometry {
    /// Whether the geometries have a point in common.
    pub(crate) fn intersects(&self, other: &Geometry) -> bool {
        let points = |one: &Geometry, other: &Geometry| {
            one.points.iter().any(|point| other.angle_to(*point) <= TOLERANCE)
        };
        let inside = |one: &Geometry, other: &Geometry| {
            one.vertices()
                .any(|vertex| other.polygons.iter().any(|polygon| polygon.contains(vertex)))
        };
        if points(self, other) || points(other, self) || inside(self, other) || inside(other, self) {
            return true;
        }
        let edges: Vec<_> = other.edges().collect();
        self.edges()
            .any(|(a, b)| edges.iter().any(|(c, d)| meet(a, b, *c, *d)))
    }

    /// Whether one of the polygons contains each part of this geometry.
    pub(crate) fn is_within(&self, polygons: &[Polygon]) -> bool {
        let any = |test: &dyn Fn(&Polygon) -> bool| polygons.iter().any(test);
        self.points
            .iter()
            .all(|point| any(&|polygon: &Polygon| polygon.contains(*point)))
            && self
                .lines
                .iter()
                .all(|line| any(&|polygon: &Polygon| contains_path(polygon, line)))
            && self
                .polygons
                .iter()
                .all(|own| any(&|polygon: &Polygon| contains_polygon(polygon, own)))
    }

    /// Whether all of this geometry is within an angle of a center.
    pub(crate) fn is_within_cap(&self, center: Vector, angle: f64) -> bool {
        let near = |point: Vector| center.angle(point) <= angle;
        self.points.iter().copied().all(near)
            && self.vertices().all(near)
            // A cap that is larger than a hemisphere does not contain all edges between its points.
            && (angle < std::f64::consts::FRAC_PI_2 || self.edges().all(|(a, b)| near(a.middle(b))))
    }

    /// The vertices of the lines and polygons.
    fn vertices(&self) -> impl Iterator<Item = Vector> {
        let rings = self.polygons.iter().flat_map(Polygon::rings);
        self.lines
            .iter()
            .map(Vec::as_slice)
            .chain(rings.map(super::sphere::Ring::vertices))
            .flatten()
            .copied()
    }

    fn edges(&self) -> impl Iterator<Item = (Vector, Vector)> {
        let lines = self.lines.iter().flat_map(|line| line.windows(2));
        lines
            .map(|edge| (edge[0], edge[1]))
            .chain(self.polygons.iter().flat_map(Polygon::edges))
    }
}

/// Whether the polygon contains all of a path.
fn contains_path(polygon: &Polygon, path: &[Vector]) -> bool {
    path.iter().all(|vertex| polygon.contains(*vertex))
        && path.windows(2).all(|edge| {
            polygon.contains(edge[0].middle(edge[1]))
                && !polygon.edges().any(|(c, d)| cross(edge[0], edge[1], c, d))
        })
}

fn contains_polygon(polygon: &Polygon, other: &Polygon) -> bool {
    let mut path = other.outer.vertices().to_vec();
    path.extend(path.first().copied());
    // A hole of the polygon lies outside of the other, or in one of its holes.
    let is_free = |hole: &super::sphere::Ring| {
        hole.vertices().iter().all(|vertex| {
            other.angle_to(*vertex) > 0.0
                || other
                    .edges()
                    .any(|(a, b)| vertex.angle_to_edge(a, b) <= TOLERANCE)
        })
    };
    contains_path(polygon, &path) && polygon.holes.iter().all(is_free)
}
