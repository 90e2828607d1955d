//! GeoJSON values: points, lines and polygons as fields and as arguments of the geospatial
//! operators. See [GeoJSON objects](https://www.mongodb.com/docs/manual/reference/geojson/).
//!
//! ```
//! use marula::geo::{Point, Polygon};
//! use marula::{Document, prelude::*};
//!
//! #[derive(Document)]
//! #[document(collection = "shops", index(geo(place)))]
//! struct Shop {
//!     _id: i64,
//!     place: Point,
//! }
//!
//! // At most 500 m away, nearest first.
//! let near = Shop::fields().place().near(Point::new([18.42, -33.92]), Some(500.0));
//! let area = Polygon::new(vec![vec![[18.0, -34.0], [19.0, -34.0], [19.0, -33.0], [18.0, -34.0]]]);
//! let inside = Shop::fields().place().geo_within(area);
//! # drop((near, inside));
//! ```
//!
//! Coordinates are not checked: the server returns an error for invalid ones.

use serde::{Deserialize, Serialize};

use crate::{
    base::{
        bson::{Bson, DecodeError, Document, EncodeError, doc},
        error::ValueError,
    },
    path::{Mode, Path, field::Field, marker::Geo},
    values::{
        codec::{Decode, Encode, Names, Value, Writer, read, write},
        value::IntoValue,
    },
};

/// Longitude from -180 to 180, then latitude from -90 to 90, in degrees (WGS 84).
pub type Position = [f64; 2];

macro_rules! shapes {
    ($($(#[$doc:meta])* $name:ident($coordinates:ty);)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
            #[serde(tag = "type")]
            pub struct $name {
                /// The coordinates, longitude first.
                pub coordinates: $coordinates,
            }

            impl $name {
                /// A shape from its coordinates, which are not checked.
                ///
                /// ```
                /// # use marula_guide::*;
                /// let zurich = geo::Point::new([8.54, 47.37]); // longitude, latitude
                /// let filter = Store::fields().place().near(zurich, Some(500.0));
                /// # drop(filter);
                /// ```
                #[must_use]
                pub fn new(coordinates: $coordinates) -> Self {
                    $name { coordinates }
                }
            }

            impl From<$name> for Geometry {
                fn from(shape: $name) -> Self {
                    Geometry::$name(shape)
                }
            }

            geo_field!($name: |v| Geometry::$name(v).into_document());
        )*

        /// Any of the GeoJSON geometries.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Geometry {
            $($(#[$doc])* $name($name),)*
        }

        impl Geometry {
            /// The geometry as a GeoJSON document.
            ///
            /// ```
            /// # use marula_guide::*;
            /// let point = geo::Geometry::Point(geo::Point::new([8.5, 47.3]));
            /// assert_eq!(point.into_document(), doc! { "type": "Point", "coordinates": [8.5, 47.3] });
            /// ```
            #[must_use]
            pub fn into_document(self) -> Document {
                match self {
                    $(Geometry::$name(v) => doc! { "type": stringify!($name), "coordinates": nested(v.coordinates) },)*
                }
            }
        }
    };
}

macro_rules! geo_field {
    ($name:ident: |$v:ident| $document:expr) => {
        impl Encode for $name {
            fn encode(&self, out: &mut Writer<'_>) -> Result<(), EncodeError> {
                write::fields(out, &Names::NONE, |out| {
                    write::field(out, "type", stringify!($name))?;
                    write::field(out, "coordinates", &self.coordinates)
                })
            }
        }
        impl<'de> Decode<'de> for $name {
            fn decode(value: &Value<'de>) -> Result<Self, DecodeError> {
                let (name, coordinates) = read::tag_and_content(value, "type", "coordinates", false)?;
                if name != stringify!($name) {
                    let error = read::unknown_variant(&[stringify!($name)]);
                    return Err(read::at_tag(value.document()?, "type", error));
                }
                let coordinates = coordinates
                    .map(|content| content.read(Decode::decode))
                    .transpose()?;
                read::present(coordinates, "coordinates").map($name::new)
            }
        }
        impl Field for $name {
            type Nav<R, M: Mode> = Path<R, $name, M>;
            fn nav<R, M: Mode>(path: Path<R, Self, M>) -> Path<R, $name, M> {
                path
            }
        }
        impl Geo for $name {}
        impl IntoValue<$name> for $name {
            fn into_value(self) -> Result<Bson, ValueError> {
                let $v = self;
                Ok(Bson::Document($document))
            }
        }
        impl IntoValue<$name> for &$name {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<$name>::into_value(self.clone())
            }
        }
        impl IntoValue<Option<$name>> for $name {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<$name>::into_value(self)
            }
        }
        impl IntoValue<Option<$name>> for &$name {
            fn into_value(self) -> Result<Bson, ValueError> {
                IntoValue::<$name>::into_value(self.clone())
            }
        }
    };
}

shapes! {
    /// One position.
    Point(Position);
    /// A line through at least two positions.
    LineString(Vec<Position>);
    /// Closed rings, the exterior one first. A ring has at least four positions, of which the last
    /// is equal to the first.
    Polygon(Vec<Vec<Position>>);
    /// Several positions.
    MultiPoint(Vec<Position>);
    /// Several line strings.
    MultiLineString(Vec<Vec<Position>>);
    /// Several polygons.
    MultiPolygon(Vec<Vec<Vec<Position>>>);
}

/// Encodes coordinates of any depth as BSON arrays.
fn nested<T: Coordinates>(coordinates: T) -> Bson {
    coordinates.into_bson()
}

trait Coordinates {
    fn into_bson(self) -> Bson;
}

impl Coordinates for Position {
    fn into_bson(self) -> Bson {
        Bson::Array(self.into_iter().map(Bson::Double).collect())
    }
}

impl<T: Coordinates> Coordinates for Vec<T> {
    fn into_bson(self) -> Bson {
        Bson::Array(self.into_iter().map(Coordinates::into_bson).collect())
    }
}
