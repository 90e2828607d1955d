//! Operators on GeoJSON values.

use crate::{
    base::bson::{Document, doc},
    path::{AsPath, marker::Readable},
    term::search::{Operator, Searchable, invalid, kinds, name_of},
    values::{
        geo::{Geometry, MultiPolygon, Point, Polygon, Position},
        search_field::Shapes,
    },
};

kinds! {
    /// The kind of [`geo_within`].
    GeoWithinOperator;
    /// The kind of [`geo_shape`].
    GeoShapeOperator;
}

/// The area of [`geo_within`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Area {
    /// The points at most this many metres from the center.
    Circle {
        /// The center.
        center: Point,
        /// The radius in metres.
        radius: f64,
    },
    /// The points between two corners.
    #[doc(alias = "box")]
    Rectangle {
        /// The corner in the south west: longitude, latitude.
        bottom_left: Position,
        /// The corner in the north east: longitude, latitude.
        top_right: Position,
    },
    /// The points in a polygon.
    Polygon(Polygon),
    /// The points in one of several polygons.
    MultiPolygon(MultiPolygon),
}

impl From<Polygon> for Area {
    fn from(polygon: Polygon) -> Self {
        Area::Polygon(polygon)
    }
}

impl From<MultiPolygon> for Area {
    fn from(polygons: MultiPolygon) -> Self {
        Area::MultiPolygon(polygons)
    }
}

/// How the shape of a document lies to that of [`geo_shape`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ShapeRelation {
    /// The shape of the document contains the given one.
    #[doc(alias = "contains")]
    Covers,
    /// The shapes have no point in common.
    Disjoint,
    /// The shapes have a point in common.
    Intersects,
    /// The shape of the document is within the given one, which is a polygon.
    Within,
}

impl ShapeRelation {
    fn name(self) -> &'static str {
        match self {
            ShapeRelation::Covers => "contains",
            ShapeRelation::Disjoint => "disjoint",
            ShapeRelation::Intersects => "intersects",
            ShapeRelation::Within => "within",
        }
    }
}

fn point(position: Position) -> Document {
    Geometry::Point(Point::new(position)).into_document()
}

/// Finds points in an area.
///
/// ```
/// # use marula_guide::*;
/// use marula::search::{self, Area};
/// let center = geo::Point::new([8.5, 47.4]);
/// let found = search::geo_within(Store::fields().place(), Area::Circle { center, radius: 500.0 });
/// assert_eq!(
///     found.to_string(),
///     concat!(
///         r#"{"geoWithin": {"path": "place", "circle": {"#,
///         r#""center": {"type": "Point", "coordinates": [8.5, 47.4]}, "radius": 500.0}}}"#
///     )
/// );
/// ```
#[doc(alias = "geoWithin")]
pub fn geo_within<R, A>(path: A, area: impl Into<Area>) -> Operator<R, GeoWithinOperator>
where
    A: AsPath<Root = R, Mode: Readable, Value: Searchable<Shapes>>,
{
    let operator = Operator::new("geoWithin", name_of(path).map(|path| doc! { "path": path }));
    match area.into() {
        Area::Circle { center, radius } => operator.set_if(
            radius >= 0.0 && radius.is_finite(),
            "circle",
            doc! { "center": Geometry::Point(center).into_document(), "radius": radius },
            "the radius of a circle is a number of metres that is not negative",
        ),
        Area::Rectangle {
            bottom_left,
            top_right,
        } => operator.set(
            "box",
            doc! { "bottomLeft": point(bottom_left), "topRight": point(top_right) },
        ),
        Area::Polygon(polygon) => operator.set("geometry", Geometry::Polygon(polygon).into_document()),
        Area::MultiPolygon(polygons) => {
            operator.set("geometry", Geometry::MultiPolygon(polygons).into_document())
        }
    }
}

/// Finds shapes by their relation to a shape. The index needs `indexShapes` for the field. [`ShapeRelation::Within`] needs a polygon.
///
/// ```
/// # use marula_guide::*;
/// use marula::search::{self, ShapeRelation};
/// let at = geo::Point::new([8.5, 47.4]);
/// let found = search::geo_shape(Store::fields().place(), ShapeRelation::Intersects, at);
/// assert!(found.to_string().starts_with(r#"{"geoShape": {"path": "place", "relation": "intersects""#));
/// ```
#[doc(alias = "geoShape")]
pub fn geo_shape<R, A>(
    path: A,
    relation: ShapeRelation,
    shape: impl Into<Geometry>,
) -> Operator<R, GeoShapeOperator>
where
    A: AsPath<Root = R, Mode: Readable, Value: Searchable<Shapes>>,
{
    let shape = shape.into();
    let is_area = matches!(shape, Geometry::Polygon(_) | Geometry::MultiPolygon(_));
    let argument = name_of(path).and_then(|path| {
        if relation == ShapeRelation::Within && !is_area {
            let path = path.as_str().unwrap_or_default();
            return Err(invalid(
                path,
                "a shape is within a polygon or several polygons only",
            ));
        }
        Ok(doc! { "path": path, "relation": relation.name(), "geometry": shape.into_document() })
    });
    Operator::new("geoShape", argument)
}
