//! Tests of distances and relations.

use super::*;
use crate::query::{Env, Filter};
use bson::{Bson, Document, doc};

fn geometry(document: &Document) -> Geometry {
    parse::geometry(document).unwrap()
}

fn point(longitude: f64, latitude: f64) -> Document {
    doc! { "type": "Point", "coordinates": [longitude, latitude] }
}

fn square(from: f64, to: f64) -> Vec<[f64; 2]> {
    vec![[from, from], [to, from], [to, to], [from, to], [from, from]]
}

fn polygon(rings: &[Vec<[f64; 2]>]) -> Document {
    let rings = rings
        .iter()
        .map(|ring| Bson::Array(ring.iter().map(|point| Bson::from(point.to_vec())).collect()));
    doc! { "type": "Polygon", "coordinates": rings.collect::<Vec<_>>() }
}

fn matches(value: impl Into<Bson>, operators: Document) -> bool {
    let env = Env::default();
    Filter::parse(&doc! { "l": operators }, &env)
        .unwrap()
        .matches(&doc! { "l": value.into() }, &env)
        .unwrap()
}

fn code(operators: Document) -> i32 {
    let filter = doc! { "l": operators };
    Filter::parse(&filter, &Env::default()).unwrap_err().code
}

#[test]
fn distances_on_the_sphere() {
    let meters = |a: Position, b: Position| Vector::of_degrees(a).angle(Vector::of_degrees(b)) * EARTH_RADIUS;
    // The result of the example of $geoNear in MongoDB's documentation.
    let park = meters((-73.99279, 40.719296), (-73.9928, 40.7193));
    assert!((park - 0.953_993_167_636_599_2).abs() < 1e-6, "{park}");
    let degree = meters((0.0, 0.0), (0.0, 1.0));
    assert!((degree - EARTH_RADIUS.to_radians()).abs() < 1e-6);
    let antipodes = meters((10.0, 20.0), (-170.0, -20.0));
    assert!((antipodes - EARTH_RADIUS * std::f64::consts::PI).abs() < 1e-3);
    let line = geometry(&doc! { "type": "LineString", "coordinates": [[0, 0], [10, 0]] });
    let angle = line.angle_to(Vector::of_degrees((5.0, 1.0)));
    assert!((angle.to_degrees() - 1.0).abs() < 1e-9);
    let beyond = line.angle_to(Vector::of_degrees((12.0, 0.0)));
    assert!((beyond.to_degrees() - 2.0).abs() < 1e-9);
    let area = geometry(&polygon(&[square(0.0, 10.0)]));
    assert_eq!(area.angle_to(Vector::of_degrees((5.0, 5.0))), 0.0);
}

#[test]
fn within_polygons() {
    let within = |value: Document, rings: &[Vec<[f64; 2]>]| {
        matches(value, doc! { "$geoWithin": { "$geometry": polygon(rings) } })
    };
    assert!(within(point(5.0, 5.0), &[square(0.0, 10.0)]));
    assert!(!within(point(11.0, 5.0), &[square(0.0, 10.0)]));
    assert!(!within(point(-175.0, -5.0), &[square(0.0, 10.0)]));
    let mut clockwise = square(0.0, 10.0);
    clockwise.reverse();
    assert!(within(point(5.0, 5.0), &[clockwise]));
    let ring = [square(0.0, 10.0), square(4.0, 6.0)];
    assert!(!within(point(5.0, 5.0), &ring));
    assert!(within(point(2.0, 2.0), &ring));
    // Edges are geodesics: that along 60° north reaches beyond that latitude.
    let north = [vec![
        [-40.0, 50.0],
        [40.0, 50.0],
        [40.0, 60.0],
        [-40.0, 60.0],
        [-40.0, 50.0],
    ]];
    assert!(within(point(0.0, 62.0), &north));
    assert!(!within(point(0.0, 51.0), &north));
    let line = |points: Vec<[i32; 2]>| {
        let points = points.into_iter().map(|point| Bson::from(point.to_vec()));
        doc! { "type": "LineString", "coordinates": points.collect::<Vec<_>>() }
    };
    assert!(within(line(vec![[1, 1], [9, 9]]), &[square(0.0, 10.0)]));
    assert!(!within(line(vec![[1, 1], [11, 9]]), &[square(0.0, 10.0)]));
    assert!(!within(line(vec![[1, 5], [9, 5]]), &ring));
    assert!(within(polygon(&[square(1.0, 3.0)]), &ring));
    assert!(!within(polygon(&[square(1.0, 9.0)]), &ring));
}

#[test]
fn intersections() {
    let meets = |one: Document, other: Document| {
        let forward = matches(
            one.clone(),
            doc! { "$geoIntersects": { "$geometry": other.clone() } },
        );
        let backward = matches(other, doc! { "$geoIntersects": { "$geometry": one } });
        assert_eq!(forward, backward);
        forward
    };
    let line = |a: [i32; 2], b: [i32; 2]| {
        doc! { "type": "LineString", "coordinates": [a.to_vec(), b.to_vec()] }
    };
    assert!(meets(line([0, 0], [10, 10]), line([0, 10], [10, 0])));
    assert!(!meets(line([0, 0], [10, 10]), line([20, 0], [20, 10])));
    assert!(meets(point(5.0, 0.0), line([0, 0], [10, 0])));
    assert!(!meets(point(5.0, 0.1), line([0, 0], [10, 0])));
    assert!(meets(line([-5, 5], [15, 5]), polygon(&[square(0.0, 10.0)])));
    assert!(meets(polygon(&[square(2.0, 3.0)]), polygon(&[square(0.0, 10.0)])));
    assert!(meets(
        polygon(&[square(5.0, 15.0)]),
        polygon(&[square(0.0, 10.0)])
    ));
    assert!(!meets(
        polygon(&[square(11.0, 15.0)]),
        polygon(&[square(0.0, 10.0)])
    ));
    let many = doc! { "type": "GeometryCollection", "geometries": [point(50.0, 50.0), point(5.0, 5.0)] };
    assert!(meets(many, polygon(&[square(0.0, 10.0)])));
}

#[test]
fn regions_of_the_plane_and_caps() {
    let within = |value: Bson, shape: Document| matches(value, doc! { "$geoWithin": shape });
    let pair = |x: i32, y: i32| Bson::from(vec![x, y]);
    let corners = || doc! { "$box": [[0, 0], [10, 10]] };
    assert!(within(pair(10, 10), corners()));
    assert!(within(Bson::Document(doc! { "x": 1, "y": 1 }), corners()));
    assert!(within(Bson::Document(point(1.0, 1.0)), corners()));
    assert!(!within(pair(11, 10), corners()));
    assert!(!within(Bson::from("x"), corners()));
    assert!(within(Bson::Array(vec![pair(50, 50), pair(1, 1)]), corners()));
    let triangle = || doc! { "$polygon": [[0, 0], [3, 6], [6, 0]] };
    assert!(within(pair(3, 3), triangle()) && !within(pair(0, 3), triangle()));
    let circle = || doc! { "$center": [[0, 0], 5] };
    assert!(within(pair(3, 4), circle()) && !within(pair(4, 4), circle()));
    let cap = || doc! { "$centerSphere": [[-88, 30], 10.0 / 3963.2] };
    assert!(within(Bson::from(vec![-88.1, 30.0]), cap()));
    assert!(!within(Bson::from(vec![-88.2, 30.1]), cap()));
}

#[test]
fn near_limits_distances() {
    let near = |value: Bson, operators: Document| matches(value, operators);
    let place = || Bson::Document(point(0.0, 0.01));
    let meters = |max: f64| doc! { "$near": { "$geometry": point(0.0, 0.0), "$maxDistance": max } };
    assert!(near(place(), meters(1114.0)) && !near(place(), meters(1113.0)));
    let radians = |max: f64| doc! { "$nearSphere": [0, 0], "$maxDistance": max };
    assert!(near(place(), radians(0.000175)) && !near(place(), radians(0.000174)));
    let plane = doc! { "$near": [0, 0], "$minDistance": 0.02 };
    assert!(!near(place(), plane));
}

#[test]
fn malformed_geometries() {
    let geometry = |document: Document| code(doc! { "$geoIntersects": { "$geometry": document } });
    assert_eq!(geometry(doc! { "type": "Sphere", "coordinates": [] }), 2);
    assert_eq!(geometry(point(181.0, 0.0)), 2);
    assert_eq!(geometry(doc! { "type": "Point", "coordinates": ["a", 1] }), 2);
    assert_eq!(
        geometry(doc! { "type": "LineString", "coordinates": [[0, 0]] }),
        2
    );
    let open = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]];
    assert_eq!(geometry(polygon(&[open])), 2);
    let crossed = vec![[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]];
    assert_eq!(geometry(polygon(&[crossed])), 2);
    assert_eq!(geometry(polygon(&[square(0.0, 1.0), square(5.0, 6.0)])), 2);
    let mut strict = polygon(&[square(0.0, 1.0)]);
    strict.insert(
        "crs",
        doc! { "type": "name", "properties": { "name": "urn:x-mongodb:crs:strictwinding:EPSG:4326" } },
    );
    assert_eq!(geometry(strict), 238);
    assert_eq!(code(doc! { "$geoWithin": { "$geometry": point(0.0, 0.0) } }), 2);
    assert_eq!(code(doc! { "$geoWithin": { "$shape": 1 } }), 2);
    assert_eq!(code(doc! { "$geoIntersects": { "$box": [[0, 0], [1, 1]] } }), 2);
    assert_eq!(
        code(doc! { "$near": { "$geometry": polygon(&[square(0.0, 1.0)]) } }),
        2
    );
    assert_eq!(code(doc! { "$near": [0, 0], "$maxDistance": -1 }), 2);
    let nested = doc! { "$or": [{ "l": { "$near": [0, 0] } }] };
    assert_eq!(Filter::parse(&nested, &Env::default()).unwrap_err().code, 2);
}
