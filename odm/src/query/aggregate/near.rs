//! Stages that search by location or by an index of Atlas Search: `$geoNear`, `$search`,
//! `$vectorSearch`.

use crate::{
    ast::document_item::{DocumentItem, raw_part},
    base::{
        bson::{Bson, Document, doc},
        error::Error,
    },
    models::model::{Fields, Model},
    path::{
        AsPath, Types,
        marker::{Geo, Readable},
        value_path,
    },
    query::{
        aggregate::{Pipeline, nav, shape::MakeAdded},
        handle::marks::Marks,
    },
    term::{
        expr::{Expr, Raw, field_name},
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

    /// A full-text search in an index of Atlas Search (`$search`): the first stage of a pipeline.
    /// The argument is sent unchecked. The score is [`search_score`](crate::expr::search_score).
    /// For a model with [encrypted fields](crate::encryption) it must be an
    /// [`Unchecked`](crate::encryption::Unchecked) document.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, bson::doc, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "books")]
    /// # struct Book { _id: i64, title: String }
    /// let found = Pipeline::<Book>::new()
    ///     .search(doc! { "text": { "query": "copper", "path": "title" } })
    ///     .limit(10);
    /// assert_eq!(
    ///     found.to_string(),
    ///     r#"[{"$search": {"text": {"query": "copper", "path": "title"}}}, {"$limit": 10}]"#
    /// );
    /// ```
    #[doc(alias = "$search")]
    pub fn search(mut self, search: impl DocumentItem) -> Self {
        let search = raw_part(search);
        self.stages.marks.note_raw_stage(&search);
        self.stage("$search", Ok(search.document.into()))
    }

    /// A search for the nearest vectors in an index of Atlas Vector Search (`$vectorSearch`): the
    /// first stage of a pipeline. The score is
    /// [`vector_search_score`](crate::expr::vector_search_score).
    ///
    /// Soft-deleted documents are left out after the limit is applied, by a `$match` stage, because the `filter` of the
    /// stage cannot find documents without a field: the search can return fewer documents than its limit. If a
    /// certain number is needed, search for more and [limit](Pipeline::limit) the results, or delete the vectors of
    /// deleted documents. With [`only_deleted`](crate::Collection::only_deleted) the condition is in the `filter`: the
    /// field of `soft_delete` must be indexed as a filter field; declared
    /// [vector search indexes](derive@crate::Document#search-indexes) contain it.
    ///
    /// ```
    /// # use marula::{Document, Pipeline, aggregate::VectorSearch, prelude::*};
    /// # #[derive(Document)]
    /// # #[document(collection = "books")]
    /// # struct Book { _id: i64, embedding: Vec<f32>, year: i32 }
    /// let near = Pipeline::<Book>::new().vector_search(
    ///     VectorSearch::<Book>::new("by_meaning", |b| b.embedding(), [0.5, 0.25], 10)
    ///         .candidates(100)
    ///         .filter(|b| b.year().gte(2000)),
    /// );
    /// assert_eq!(
    ///     near.to_string(),
    ///     concat!(
    ///         r#"[{"$vectorSearch": {"index": "by_meaning", "path": "embedding", "#,
    ///         r#""queryVector": [0.5, 0.25], "limit": 10, "numCandidates": 100, "#,
    ///         r#""filter": {"year": {"$gte": 2000}}}}]"#
    ///     )
    /// );
    /// ```
    #[doc(alias = "$vectorSearch")]
    pub fn vector_search(mut self, mut search: VectorSearch<S>) -> Self {
        self.stages.marks.add(std::mem::take(&mut search.marks), None);
        self.stage("$vectorSearch", search.into_argument())
    }
}

/// The options of [`Pipeline::vector_search`].
#[must_use = "options do nothing until they are given to `vector_search`"]
pub struct VectorSearch<S> {
    argument: Result<Document, Box<Error>>,
    filter: Option<Result<Document, Box<Error>>>,
    /// What the filter reads of encrypted fields.
    marks: Marks,
    root: Types<S>,
}

impl<S: Model> VectorSearch<S> {
    /// The `limit` documents whose vector is nearest to `vector`, by an index and its field. An
    /// approximate search also needs [`candidates`](VectorSearch::candidates).
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::VectorSearch;
    /// # #[derive(Document)] #[document(collection = "books")]
    /// # struct Book { _id: i64, meaning: Vec<f64>, year: i32 }
    /// let search = VectorSearch::<Book>::new("vectors", |b| b.meaning(), [0.5, 0.25], 10).exact();
    /// let books = Pipeline::<Book>::new().vector_search(search);
    /// assert!(books.to_string().contains(r#""index": "vectors", "path": "meaning""#));
    /// ```
    pub fn new<A: AsPath<Root = S>>(
        index: &str,
        field: impl FnOnce(Fields<S>) -> A,
        vector: impl IntoIterator<Item = f64>,
        limit: u32,
    ) -> Self {
        let field = field(nav::<S>());
        let path = value_path(&field);
        let vector: Vec<Bson> = vector.into_iter().map(Bson::Double).collect();
        let argument = field_name(&path).map(
            |path| doc! { "index": index, "path": path, "queryVector": vector, "limit": i64::from(limit) },
        );
        VectorSearch {
            argument,
            filter: None,
            marks: Marks::default(),
            root: std::marker::PhantomData,
        }
    }

    fn set(mut self, name: &str, value: impl Into<Bson>) -> Self {
        if let Ok(argument) = &mut self.argument {
            argument.insert(name, value);
        }
        self
    }

    /// Number of vectors that an approximate search compares, at most 10,000. Recommended are 20
    /// times the limit.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::VectorSearch;
    /// # #[derive(Document)] #[document(collection = "books")]
    /// # struct Book { _id: i64, meaning: Vec<f64>, year: i32 }
    /// let search = VectorSearch::<Book>::new("vectors", |b| b.meaning(), [0.5, 0.25], 10)
    ///     .candidates(200);
    /// let books = Pipeline::<Book>::new().vector_search(search);
    /// assert!(books.to_string().contains(r#""numCandidates": 200"#));
    /// ```
    pub fn candidates(self, count: u32) -> Self {
        self.set("numCandidates", i64::from(count))
    }

    /// Compare all vectors. Default: an approximate search.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::VectorSearch;
    /// # #[derive(Document)] #[document(collection = "books")]
    /// # struct Book { _id: i64, meaning: Vec<f64>, year: i32 }
    /// let search = VectorSearch::<Book>::new("vectors", |b| b.meaning(), [0.5, 0.25], 10).exact();
    /// let books = Pipeline::<Book>::new().vector_search(search);
    /// assert!(books.to_string().contains(r#""exact": true"#));
    /// ```
    pub fn exact(self) -> Self {
        self.set("exact", true)
    }

    /// A filter on fields of the index. Default: none.
    ///
    /// ```
    /// # use marula_guide::*;
    /// use marula::aggregate::VectorSearch;
    /// # #[derive(Document)] #[document(collection = "books")]
    /// # struct Book { _id: i64, meaning: Vec<f64>, year: i32 }
    /// let search = VectorSearch::<Book>::new("vectors", |b| b.meaning(), [0.5, 0.25], 10)
    ///     .exact()
    ///     .filter(|b| b.year().gte(2000));
    /// let books = Pipeline::<Book>::new().vector_search(search);
    /// assert!(books.to_string().contains(r#""filter": {"year": {"$gte": 2000}}"#));
    /// ```
    pub fn filter(mut self, filter: impl FnOnce(Fields<S>) -> Filter<S>) -> Self {
        let filter = filter(nav::<S>()).into_node();
        self.marks = Marks::of_filter::<S>(&filter);
        self.filter = Some(filter.map(|filter| filter.to_document()).map_err(Box::new));
        self
    }

    fn into_argument(self) -> Raw {
        let mut argument = self.argument?;
        if let Some(filter) = self.filter {
            argument.insert("filter", filter?);
        }
        Ok(argument.into())
    }
}
