//! The stage that searches by location: `$geoNear`.

use crate::{
    base::{
        bson::{Bson, Document, doc},
        error::Error,
    },
    models::model::{Fields, Model},
    path::{
        AsPath, Types,
        marker::{Geo, Readable},
    },
    query::{
        aggregate::{Pipeline, nav, shape::MakeAdded},
        handle::marks::Marks,
    },
    term::{
        expr::{Expr, Raw},
        filter::Filter,
    },
    values::geo::{Geometry, Point},
};

/// The distance in the closure of [`Pipeline::geo_near`]. The stage computes it.
const DISTANCE: &str = "$$distance";

/// The options of [`Pipeline::geo_near`]. Distances are in metres.
#[must_use = "options do nothing until they are given to `geo_near`"]
pub struct GeoNear<S> {
    near: Point,
    options: Document,
    filter: Option<Result<Document, Box<Error>>>,
    /// What the filter reads of encrypted fields.
    marks: Marks,
    root: Types<S>,
}

impl<S: Model> GeoNear<S> {
    /// Documents near a point, nearest first.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::GeoNear;
    /// # #[derive(Shape)] struct Near { #[document(flatten)] store: Store, metres: f64 }
    /// let near = GeoNear::<Store>::new(geo::Point::new([8.54, 47.37]));
    /// let stores = Pipeline::<Store>::new().geo_near(near, |metres| NearAdded { metres });
    /// assert!(stores.to_string().contains(r#""near": {"type": "Point", "coordinates": [8.54, 47.37]}"#));
    /// ```
    pub fn new(near: Point) -> Self {
        GeoNear {
            near,
            options: Document::new(),
            filter: None,
            marks: Marks::default(),
            root: std::marker::PhantomData,
        }
    }

    fn set(mut self, name: &str, value: impl Into<Bson>) -> Self {
        self.options.insert(name, value);
        self
    }

    /// The field with the location. Default: the only field with a `2dsphere` index.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::GeoNear;
    /// # #[derive(Shape)] struct Near { #[document(flatten)] store: Store, metres: f64 }
    /// let near = GeoNear::<Store>::new(geo::Point::new([8.54, 47.37])).key(|s| s.place());
    /// let stores = Pipeline::<Store>::new().geo_near(near, |metres| NearAdded { metres });
    /// assert!(stores.to_string().contains(r#""key": "place""#));
    /// ```
    pub fn key<A: AsPath<Root = S, Value: Geo, Mode: Readable>>(
        self,
        field: impl FnOnce(Fields<S>) -> A,
    ) -> Self {
        let key = field(nav::<S>()).raw().dotted().to_owned();
        self.set("key", key)
    }

    /// Maximum distance in metres. Default: none.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::GeoNear;
    /// # #[derive(Shape)] struct Near { #[document(flatten)] store: Store, metres: f64 }
    /// let near = GeoNear::<Store>::new(geo::Point::new([8.54, 47.37])).max_distance(500.0);
    /// let stores = Pipeline::<Store>::new().geo_near(near, |metres| NearAdded { metres });
    /// assert!(stores.to_string().contains(r#""maxDistance": 500.0"#));
    /// ```
    pub fn max_distance(self, metres: f64) -> Self {
        self.set("maxDistance", metres)
    }

    /// Minimum distance in metres. Default: none.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::GeoNear;
    /// # #[derive(Shape)] struct Near { #[document(flatten)] store: Store, metres: f64 }
    /// let near = GeoNear::<Store>::new(geo::Point::new([8.54, 47.37])).min_distance(10.0);
    /// let stores = Pipeline::<Store>::new().geo_near(near, |metres| NearAdded { metres });
    /// assert!(stores.to_string().contains(r#""minDistance": 10.0"#));
    /// ```
    pub fn min_distance(self, metres: f64) -> Self {
        self.set("minDistance", metres)
    }

    /// A filter that the documents must match. Default: none.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::GeoNear;
    /// # #[derive(Shape)] struct Near { #[document(flatten)] store: Store, metres: f64 }
    /// let near = GeoNear::<Store>::new(geo::Point::new([8.54, 47.37]))
    ///     .filter(|s| s.name().ne(""));
    /// let stores = Pipeline::<Store>::new().geo_near(near, |metres| NearAdded { metres });
    /// assert!(stores.to_string().contains(r#""query": {"name": {"$ne": ""}}"#));
    /// ```
    pub fn filter(mut self, filter: impl FnOnce(Fields<S>) -> Filter<S>) -> Self {
        let filter = filter(nav::<S>()).into_node();
        self.marks = Marks::of_filter::<S>(&filter);
        self.filter = Some(filter.map(|filter| filter.to_document()).map_err(Box::new));
        self
    }

    fn into_argument(self, distance: Result<&'static str, Box<Error>>) -> Raw {
        let mut all = doc! {
            "near": Geometry::Point(self.near).into_document(),
            "distanceField": distance?,
            "spherical": true,
        };
        all.extend(self.options);
        if let Some(filter) = self.filter {
            all.insert("query", filter?);
        }
        Ok(all.into())
    }
}

impl<In, S: Model, C> Pipeline<In, S, C> {
    /// Finds documents near a point, nearest first (`$geoNear`): the first stage of a pipeline. It
    /// requires a `2dsphere` index. The argument of the closure is the distance in metres: put it
    /// into the only added field of the shape.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, Shape, aggregate::GeoNear, geo::Point, prelude::*};
    /// #[derive(Document)]
    /// #[document(collection = "shops", index(geo(place)))]
    /// struct Shop {
    ///     _id: i64,
    ///     place: Point,
    /// }
    /// #[derive(Shape)]
    /// struct NearShop {
    ///     #[document(flatten)]
    ///     shop: Shop,
    ///     metres: f64,
    /// }
    /// let near = Pipeline::<Shop>::new().geo_near(
    ///     GeoNear::<Shop>::new(Point::new([8.54, 47.37])).max_distance(500.0),
    ///     |metres| NearShopAdded { metres },
    /// );
    /// assert_eq!(
    ///     near.to_string(),
    ///     concat!(
    ///         r#"[{"$geoNear": {"near": {"type": "Point", "coordinates": [8.54, 47.37]}, "#,
    ///         r#""distanceField": "metres", "spherical": true, "maxDistance": 500.0}}]"#
    ///     )
    /// );
    /// ```
    #[doc(alias = "$geoNear")]
    pub fn geo_near<P: MakeAdded<S>>(
        mut self,
        mut near: GeoNear<S>,
        added: impl FnOnce(Expr<S, f64>) -> P,
    ) -> Pipeline<In, P::Shape, C> {
        let added = added(Expr::unchecked(DISTANCE))
            .into_fields()
            .checked(S::stored_names());
        let distance = added.only_name("geo_near", &Bson::from(DISTANCE));
        self.stages.marks.add(std::mem::take(&mut near.marks), None);
        self.stage("$geoNear", near.into_argument(distance)).then()
    }
}
