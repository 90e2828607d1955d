//! Points, geodesic edges and polygons on the unit sphere.

use super::Position;
use std::f64::consts::{PI, TAU};

/// The angle in radians up to which a point is on an edge: less than 0.1 mm on the earth.
pub(super) const TOLERANCE: f64 = 1e-11;

/// A point on the unit sphere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Vector {
    x: f64,
    y: f64,
    z: f64,
}

impl Vector {
    pub(crate) fn of_degrees((longitude, latitude): Position) -> Vector {
        let (longitude, latitude) = (longitude.to_radians(), latitude.to_radians());
        Vector {
            x: latitude.cos() * longitude.cos(),
            y: latitude.cos() * longitude.sin(),
            z: latitude.sin(),
        }
    }

    fn dot(self, other: Vector) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    fn cross(self, other: Vector) -> Vector {
        Vector {
            x: self.y * other.z - self.z * other.y,
            y: self.z * other.x - self.x * other.z,
            z: self.x * other.y - self.y * other.x,
        }
    }

    fn minus(self, other: Vector) -> Vector {
        Vector {
            x: self.x - other.x,
            y: self.y - other.y,
            z: self.z - other.z,
        }
    }

    fn scaled(self, factor: f64) -> Vector {
        Vector {
            x: self.x * factor,
            y: self.y * factor,
            z: self.z * factor,
        }
    }

    fn length(self) -> f64 {
        self.dot(self).sqrt()
    }

    /// The point in the middle of an edge.
    pub(super) fn middle(self, other: Vector) -> Vector {
        let sum = self.minus(other.scaled(-1.0));
        sum.scaled(1.0 / sum.length())
    }

    /// The angle between two points, in radians.
    pub(crate) fn angle(self, other: Vector) -> f64 {
        self.cross(other).length().atan2(self.dot(other))
    }

    /// The angle to the nearest point of an edge.
    pub(super) fn angle_to_edge(self, from: Vector, to: Vector) -> f64 {
        let ends = self.angle(from).min(self.angle(to));
        let normal = from.cross(to);
        if normal.length() == 0.0 {
            return ends;
        }
        let normal = normal.scaled(1.0 / normal.length());
        // Whether the nearest point of the great circle is between the ends.
        let beside = normal.cross(self);
        if from.dot(beside.cross(normal)) > 0.0
            && normal.cross(from).dot(self) >= 0.0
            && to.cross(normal).dot(self) >= 0.0
        {
            self.dot(normal).abs().min(1.0).asin().min(ends)
        } else {
            ends
        }
    }

    /// The change of the direction from this point to the other, from one end of an edge to the
    /// other.
    fn turn(self, from: Vector, to: Vector) -> f64 {
        let flat = |point: Vector| point.minus(self.scaled(self.dot(point)));
        let (from, to) = (flat(from), flat(to));
        self.dot(from.cross(to)).atan2(from.dot(to))
    }
}

/// Whether two edges cross at a point inside both.
pub(super) fn cross(a: Vector, b: Vector, c: Vector, d: Vector) -> bool {
    let (ab, cd) = (a.cross(b), c.cross(d));
    let sides = [-ab.dot(c), ab.dot(d), -cd.dot(b), cd.dot(a)];
    sides.iter().all(|side| *side > 0.0) || sides.iter().all(|side| *side < 0.0)
}

/// Whether two edges cross or touch.
pub(super) fn meet(a: Vector, b: Vector, c: Vector, d: Vector) -> bool {
    let touching = |point: Vector, from: Vector, to: Vector| point.angle_to_edge(from, to) <= TOLERANCE;
    cross(a, b, c, d) || touching(a, c, d) || touching(b, c, d) || touching(c, a, b) || touching(d, a, b)
}

/// A closed ring; the first vertex is not repeated at the end. The interior is the side with the
/// smaller area, on the left of the edges.
#[derive(Debug, Clone)]
pub(crate) struct Ring(Vec<Vector>);

impl Ring {
    pub(super) fn new(mut vertices: Vec<Vector>) -> Ring {
        let area = signed_area(&vertices);
        if area > TAU {
            vertices.reverse();
        }
        Ring(vertices)
    }

    pub(super) fn edges(&self) -> impl Iterator<Item = (Vector, Vector)> {
        let next = self.0.iter().cycle().skip(1);
        self.0.iter().copied().zip(next.copied())
    }

    pub(super) fn vertices(&self) -> &[Vector] {
        &self.0
    }

    fn is_on_boundary(&self, point: Vector) -> bool {
        self.edges()
            .any(|(from, to)| point.angle_to_edge(from, to) <= TOLERANCE)
    }

    /// Whether the point is inside or on the boundary.
    fn contains(&self, point: Vector) -> bool {
        self.is_on_boundary(point) || self.surrounds(point)
    }

    /// Whether the ring winds around the point counterclockwise.
    fn surrounds(&self, point: Vector) -> bool {
        self.edges().map(|(from, to)| point.turn(from, to)).sum::<f64>() > PI
    }

    /// The indexes of two edges that cross.
    pub(super) fn crossing(&self) -> Option<(usize, usize)> {
        let edges: Vec<_> = self.edges().collect();
        for (one, (a, b)) in edges.iter().enumerate() {
            for (other, (c, d)) in edges.iter().enumerate().skip(one + 2) {
                if cross(*a, *b, *c, *d) {
                    return Some((one, other));
                }
            }
        }
        None
    }
}

/// The area on the left of a ring, from 0 to 4π.
fn signed_area(vertices: &[Vector]) -> f64 {
    let Some((first, rest)) = vertices.split_first() else {
        return 0.0;
    };
    let area: f64 = rest
        .windows(2)
        .map(|pair| {
            let [a, b, c] = [*first, pair[0], pair[1]];
            2.0 * a.dot(b.cross(c)).atan2(1.0 + a.dot(b) + b.dot(c) + c.dot(a))
        })
        .sum();
    area.rem_euclid(2.0 * TAU)
}

/// A polygon: the outer ring and its holes.
#[derive(Debug, Clone)]
pub(crate) struct Polygon {
    pub(super) outer: Ring,
    pub(super) holes: Vec<Ring>,
}

impl Polygon {
    /// Whether the polygon contains the point. Its boundary belongs to it.
    pub(super) fn contains(&self, point: Vector) -> bool {
        self.outer.contains(point)
            && !self
                .holes
                .iter()
                .any(|hole| hole.surrounds(point) && !hole.is_on_boundary(point))
    }

    pub(super) fn outer_contains(&self, point: Vector) -> bool {
        self.outer.contains(point)
    }

    pub(super) fn rings(&self) -> impl Iterator<Item = &Ring> {
        std::iter::once(&self.outer).chain(&self.holes)
    }

    pub(super) fn edges(&self) -> impl Iterator<Item = (Vector, Vector)> {
        self.rings().flat_map(Ring::edges)
    }

    /// The angle to the nearest point of the polygon.
    pub(super) fn angle_to(&self, point: Vector) -> f64 {
        if self.contains(point) {
            return 0.0;
        }
        self.edges()
            .map(|(from, to)| point.angle_to_edge(from, to))
            .fold(f64::INFINITY, f64::min)
    }
}
