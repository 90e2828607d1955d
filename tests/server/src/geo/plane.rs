//! Regions of the plane, for `$box`, `$polygon` and `$center`. Their boundaries belong to them.

use super::Position;

/// A region of the plane.
#[derive(Debug, Clone)]
pub(crate) enum Region {
    /// The lower left and the upper right corner.
    Box(Position, Position),
    Polygon(Vec<Position>),
    /// Center and radius.
    Circle(Position, f64),
}

/// The distance of two points of the plane.
pub(crate) fn distance(a: Position, b: Position) -> f64 {
    (a.0 - b.0).hypot(a.1 - b.1)
}

impl Region {
    pub(crate) fn contains(&self, point: Position) -> bool {
        match self {
            Region::Box(low, high) => {
                (low.0..=high.0).contains(&point.0) && (low.1..=high.1).contains(&point.1)
            }
            Region::Circle(center, radius) => distance(*center, point) <= *radius,
            Region::Polygon(vertices) => polygon_contains(vertices, point),
        }
    }
}

fn polygon_contains(vertices: &[Position], point: Position) -> bool {
    let next = vertices.iter().cycle().skip(1);
    let mut inside = false;
    for (a, b) in vertices.iter().zip(next) {
        let side = (b.0 - a.0) * (point.1 - a.1) - (b.1 - a.1) * (point.0 - a.0);
        let between = |p: f64, a: f64, b: f64| (a.min(b)..=a.max(b)).contains(&p);
        if side == 0.0 && between(point.0, a.0, b.0) && between(point.1, a.1, b.1) {
            return true;
        }
        // A ray to the right crosses the edge.
        if (a.1 > point.1) != (b.1 > point.1) && (side > 0.0) == (b.1 > a.1) {
            inside = !inside;
        }
    }
    inside
}
