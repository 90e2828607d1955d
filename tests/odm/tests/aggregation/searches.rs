//! The stages of searches: what is sent, and what is refused before.

use std::time::Duration;

use marula::aggregate::{Normalization, RankFusion, VectorSearch};
use marula::bson::{Binary, DateTime, PackedBits, Vector, doc};
use marula::geo::{LineString, Point, Polygon};
use marula::search::{
    self, Area, ElementScores, ScoreFunction, Search, ShapeRelation, compound, facets, text,
};
use marula::{Direction, Document, Embedded, Error, Pipeline, SortKey, prelude::*};

#[derive(Embedded)]
#[serde(rename_all = "camelCase")]
struct Review {
    body: String,
    star_count: i32,
}

#[derive(Embedded)]
#[serde(tag = "kind")]
enum Format {
    Print { pages: i32 },
    Audio { minutes: i32 },
}

#[derive(Clone, Copy, Embedded)]
enum Genre {
    Novel,
    Poem,
}

#[derive(Embedded)]
struct Title(String);

#[derive(Document)]
#[serde(rename_all = "camelCase")]
#[document(collection = "books")]
struct Book {
    #[serde(rename = "_id")]
    id: marula::bson::ObjectId,
    title: Title,
    subtitle: Option<String>,
    tags: Vec<String>,
    genre: Genre,
    year: i32,
    price: Option<f64>,
    sold: i64,
    printed_on: DateTime,
    is_lent: bool,
    place: Point,
    reviews: Vec<Review>,
    format: Format,
    plot: Vec<f32>,
    cover: [f32; 3],
    bits: Binary,
    labels: std::collections::HashMap<String, String>,
}

fn printed<Q: Into<Search<Book>>>(search: impl FnOnce(marula::Fields<Book>) -> Q) -> String {
    Pipeline::<Book>::new().search(search).to_string()
}

fn operator(operator: impl std::fmt::Display) -> String {
    operator.to_string()
}

#[track_caller]
fn refused<Q: Into<Search<Book>>>(search: impl FnOnce(marula::Fields<Book>) -> Q, expected: &str) {
    let stages = Pipeline::<Book>::new().search(search).into_stages();
    let error = stages.into_documents().expect_err("the search is refused");
    assert!(
        matches!(error, Error::InvalidPipeline { .. } | Error::Encode { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn operators_on_strings_are_sent() {
    let b = Book::fields();
    // The names that are stored, of newtypes, options and arrays.
    assert_eq!(
        operator(text(
            (b.title(), b.subtitle(), b.tags(), b.reviews().body()),
            "$tea.*"
        )),
        r#"{"text": {"query": "$tea.*", "path": ["title", "subtitle", "tags", "reviews.body"]}}"#
    );
    assert_eq!(
        operator(text(b.title(), vec!["a".to_owned(), "b".to_owned()]).synonyms("words")),
        r#"{"text": {"query": ["a", "b"], "path": "title", "synonyms": "words"}}"#
    );
    assert_eq!(
        operator(search::autocomplete(b.title(), "co").fuzzy_prefix(1).sequential()),
        concat!(
            r#"{"autocomplete": {"query": "co", "path": "title", "fuzzy": {"prefixLength": 1}, "#,
            r#""tokenOrder": "sequential"}}"#
        )
    );
    let paths = [
        search::wildcard_path("title.*"),
        search::multi(b.tags(), "english"),
    ];
    assert_eq!(
        operator(search::phrase(paths, "a b").slop(1)),
        concat!(
            r#"{"phrase": {"query": "a b", "path": [{"wildcard": "title.*"}, "#,
            r#"{"value": "tags", "multi": "english"}], "slop": 1}}"#
        )
    );
    assert_eq!(
        operator(
            search::more_like_this()
                .like(b.reviews().body(), "good")
                .like(b.title(), ["a", "b"])
        ),
        r#"{"moreLikeThis": {"like": {"reviews": {"body": "good"}, "title": ["a", "b"]}}}"#
    );
}

#[test]
fn operators_on_values_are_sent() {
    let b = Book::fields();
    assert_eq!(
        operator(search::equals(b.genre(), Genre::Poem)),
        r#"{"equals": {"path": "genre", "value": "Poem"}}"#
    );
    assert_eq!(
        operator(search::equals(b.subtitle(), None::<String>)),
        r#"{"equals": {"path": "subtitle", "value": null}}"#
    );
    assert_eq!(
        operator(search::is_in(b.tags().any(), ["$a", "b"])),
        r#"{"in": {"path": "tags", "value": ["$a", "b"]}}"#
    );
    assert_eq!(
        operator(search::range(b.printed_on()).gt(DateTime::from_millis(0))),
        r#"{"range": {"path": "printedOn", "gt": {"$date": "1970-01-01T00:00:00Z"}}}"#
    );
    assert_eq!(
        operator(search::range(b.price()).gte(1.5).lt(2)),
        r#"{"range": {"path": "price", "gte": 1.5, "lt": 2.0}}"#
    );
    assert_eq!(
        operator(
            search::near_date(b.printed_on(), DateTime::from_millis(0), Duration::from_secs(60)).boost(2)
        ),
        concat!(
            r#"{"near": {"path": "printedOn", "origin": {"$date": "1970-01-01T00:00:00Z"}, "pivot": 60000, "#,
            r#""score": {"boost": {"value": 2.0}}}}"#
        )
    );
    assert_eq!(
        operator(search::near_point(b.place(), Point::new([8.5, 47.4]), 100.0)),
        concat!(
            r#"{"near": {"path": "place", "origin": {"type": "Point", "coordinates": [8.5, 47.4]}, "#,
            r#""pivot": 100.0}}"#
        )
    );
    let area = || Polygon::new(vec![vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]]);
    assert!(operator(search::geo_within(b.place(), area())).contains(r#""geometry": {"type": "Polygon""#));
    let corners = Area::Rectangle {
        bottom_left: [0.0, 0.0],
        top_right: [1.0, 1.0],
    };
    assert_eq!(
        operator(search::geo_within(b.place(), corners)),
        concat!(
            r#"{"geoWithin": {"path": "place", "box": {"bottomLeft": {"type": "Point", "coordinates": [0.0, 0.0]}, "#,
            r#""topRight": {"type": "Point", "coordinates": [1.0, 1.0]}}}}"#
        )
    );
    assert!(
        operator(search::geo_shape(b.place(), ShapeRelation::Within, area()))
            .contains(r#""relation": "within""#)
    );
}

#[test]
fn elements_are_searched_as_a_whole() {
    let found = printed(|b| {
        let good = search::embedded_document(b.reviews(), |r| {
            compound()
                .must(text(r.body(), "good"))
                .filter(search::range(r.star_count()).gte(4))
        });
        good.element_scores(ElementScores::Mean)
    });
    assert_eq!(
        found,
        concat!(
            r#"[{"$search": {"embeddedDocument": {"path": "reviews", "operator": {"compound": {"#,
            r#""must": [{"text": {"query": "good", "path": "reviews.body"}}], "#,
            r#""filter": [{"range": {"path": "reviews.starCount", "gte": 4}}]}}, "#,
            r#""score": {"embedded": {"aggregate": "mean"}}}}}]"#
        )
    );
}

#[test]
fn options_are_sent() {
    let found = printed(|b| {
        Search::new(search::exists(b.title()))
            .index("books")
            .highlight((b.title(), b.tags()))
            .highlight_passages(2)
            .count_up_to(10)
            .score_details()
            .sort((b.year().desc(), b.title().asc()))
            .sort_by_score(Direction::Ascending)
            .search_after("CAE=")
            .track("tea")
            .concurrent()
    });
    assert_eq!(
        found,
        concat!(
            r#"[{"$search": {"index": "books", "exists": {"path": "title"}, "#,
            r#""highlight": {"path": ["title", "tags"], "maxNumPassages": 2}, "#,
            r#""count": {"type": "lowerBound", "threshold": 10}, "scoreDetails": true, "#,
            r#""sort": {"year": -1, "title": 1, "score": {"$meta": "searchScore", "order": 1}}, "#,
            r#""searchAfter": "CAE=", "tracking": {"searchTerms": "tea"}, "concurrent": true}}]"#
        )
    );
}

#[test]
fn mistakes_in_operators_are_errors() {
    refused(|b| text(b.title(), ""), "cannot be empty");
    refused(|b| text(b.title(), Vec::<String>::new()), "cannot be empty");
    refused(|b| text(b.title(), "a").fuzzy(3), "1 or 2");
    refused(
        |b| text(b.title(), "a").fuzzy(1).synonyms("x"),
        "cannot be combined",
    );
    refused(|b| text(b.title(), "a").boost(0), "greater than 0");
    refused(|b| text(b.title(), "a").boost(2).constant(1), "one modification");
    refused(|b| text(b.title(), "a").constant(f64::NAN), "must be a number");
    refused(|b| search::range(b.year()), "needs a limit");
    refused(|b| search::range(b.year()).gt(1).gte(2), "one lower");
    refused(|b| search::range(b.price()).gt(None::<f64>), "null");
    refused(|b| search::is_in(b.year(), [0_i32; 0]), "empty");
    refused(|_| compound(), "needs a clause");
    refused(
        |b| compound().should(text(b.title(), "a")).minimum_should_match(2),
        "has 1 clauses",
    );
    refused(|b| compound().must(search::range(b.year())), "needs a limit");
    refused(|b| search::near(b.year(), 1990, 0), "pivot");
    refused(
        |b| search::near_date(b.printed_on(), DateTime::from_millis(0), Duration::ZERO),
        "pivot",
    );
    refused(|_| search::more_like_this(), "needs a text");
    refused(
        |b| search::more_like_this().like(b.title(), "a").like(b.title(), "b"),
        "one list",
    );
    refused(
        |b| {
            search::geo_shape(
                b.place(),
                ShapeRelation::Within,
                LineString::new(vec![[0.0, 0.0], [1.0, 1.0]]),
            )
        },
        "polygon",
    );
    refused(
        |b| {
            search::geo_within(
                b.place(),
                Area::Circle {
                    center: Point::new([0.0, 0.0]),
                    radius: -1.0,
                },
            )
        },
        "radius",
    );
    refused(
        |b| text(b.title(), "a").score_by(ScoreFunction::add([ScoreFunction::relevance()])),
        "at least two",
    );
    // Names that are no paths, elements, and fields of one of several variants.
    refused(|b| search::exists(b.labels().entry("a.b")), "map key");
    refused(|b| text(b.tags().nth(0), "a"), "one element");
    refused(|b| search::range(b.format().print().pages()).gt(1), "variants");
    refused(|_| text(search::wildcard_path(""), "a"), "pattern of paths");
}

#[test]
fn mistakes_in_options_are_errors() {
    let tea = |b: &marula::Fields<Book>| Search::new(text(b.title(), "tea"));
    refused(|b| tea(&b).index(""), "name of a search index");
    refused(|b| tea(&b).highlight_chars(5), "`highlight`");
    refused(|b| tea(&b).search_after("a").search_before("b"), "exclude");
    refused(|b| tea(&b).sort(SortKey::text_score()), "sort_by_score");
    refused(|_| facets(), "needs a facet");
    refused(|b| facets().string("a", b.tags(), 0), "1 to 1000");
    refused(|b| facets().string("a.b", b.tags(), 5), "no dot");
    refused(
        |b| facets().string("a", b.tags(), 5).number("a", b.year(), [1, 2]),
        "two facets",
    );
    refused(|b| facets().number("a", b.year(), [2, 1]), "ascending");
    refused(|b| facets().number("a", b.year(), [1]), "ascending");
    refused(|b| facets().string("a", b.tags(), 5).others("x"), "follows");

    let meta = Pipeline::<Book>::new().search_meta(|b| tea(&b).highlight(b.title()));
    let error = meta.into_stages().into_documents().unwrap_err();
    assert!(error.to_string().contains("search_meta"), "{error}");
}

#[test]
fn facets_are_sent() {
    let days = [0, 1].map(|day| DateTime::from_millis(day * 86_400_000));
    let meta = Pipeline::<Book>::new().search_meta(|b| {
        facets()
            .of(text(b.title(), "tea"))
            .string("genres", b.genre(), 5)
            .number("years", b.year(), [1990, 2000])
            .others("other")
            .date("days", b.printed_on(), days)
            .index("books")
            .count_total()
    });
    assert_eq!(
        meta.to_string(),
        concat!(
            r#"[{"$searchMeta": {"index": "books", "facet": {"operator": {"text": {"query": "tea", "path": "title"}}, "#,
            r#""facets": {"genres": {"type": "string", "path": "genre", "numBuckets": 5}, "#,
            r#""years": {"type": "number", "path": "year", "boundaries": [1990.0, 2000.0], "default": "other"}, "#,
            r#""days": {"type": "date", "path": "printedOn", "boundaries": [{"$date": "1970-01-01T00:00:00Z"}, "#,
            r#"{"$date": "1970-01-02T00:00:00Z"}]}}}, "count": {"type": "total"}}}]"#
        )
    );
}

#[test]
fn vectors_are_sent() {
    let of = |search: VectorSearch<Book>| Pipeline::<Book>::new().vector_search(search).to_string();
    assert_eq!(
        of(VectorSearch::<Book>::new("v", |b| b.plot(), [0.5, 0.25], 3).exact()),
        r#"[{"$vectorSearch": {"index": "v", "path": "plot", "queryVector": [0.5, 0.25], "limit": 3, "exact": true}}]"#
    );
    assert!(
        of(VectorSearch::<Book>::new("v", |b| b.plot(), vec![0.5_f32; 2], 3).exact()).contains("[0.5, 0.5]")
    );
    let bytes = Vector::Int8(vec![1, -1]);
    assert!(
        of(VectorSearch::<Book>::new("v", |b| b.bits(), &bytes, 3).candidates(60))
            .contains(r#""subType": "09""#)
    );
    let bits: PackedBits = [true, false, true].into_iter().collect();
    assert!(
        of(VectorSearch::<Book>::new("v", |b| b.bits(), Vector::PackedBit(bits), 3).exact())
            .contains(r#""subType": "09""#)
    );
}

#[test]
fn mistakes_in_vector_searches_are_errors() {
    let refused = |search: VectorSearch<Book>, expected: &str| {
        let stages = Pipeline::<Book>::new().vector_search(search).into_stages();
        let error = stages.into_documents().unwrap_err();
        assert!(matches!(error, Error::InvalidPipeline { .. }), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
    };
    let of = |limit| VectorSearch::<Book>::new("v", |b| b.plot(), [0.5, 0.25], limit);
    refused(of(3), "needs `candidates`");
    refused(of(3).candidates(2), "at least the limit");
    refused(of(3).candidates(10_001), "at most 10000");
    refused(of(3).candidates(60).exact(), "remove");
    refused(of(0).exact(), "at least 1");
    refused(
        VectorSearch::<Book>::new("v", |b| b.plot(), Vec::<f64>::new(), 3).exact(),
        "empty",
    );
    refused(
        VectorSearch::<Book>::new("v", |b| b.cover(), [0.5, 0.25], 3).exact(),
        "2 dimensions",
    );
}

#[test]
fn fusions_are_sent_and_checked() {
    let found = Pipeline::<Book>::new().score_fusion(Normalization::MinMaxScaler, |f| {
        f.weighted("words", 2, |p| p.search(|b| text(b.title(), "tea")).limit(5))
            .pipeline("plots", |p| {
                p.vector_search(VectorSearch::<Book>::new("v", |b| b.plot(), [0.5], 5).exact())
            })
            .score_details()
    });
    assert_eq!(
        found.to_string(),
        concat!(
            r#"[{"$scoreFusion": {"input": {"pipelines": {"#,
            r#""words": [{"$search": {"text": {"query": "tea", "path": "title"}}}, {"$limit": 5}], "#,
            r#""plots": [{"$vectorSearch": {"index": "v", "path": "plot", "queryVector": [0.5], "limit": 5, "exact": true}}]}, "#,
            r#""normalization": "minMaxScaler"}, "combination": {"weights": {"words": 2.0}, "method": "avg"}, "#,
            r#""scoreDetails": true}}]"#
        )
    );
    type Fusion = RankFusion<Book>;
    let refused = |fusion: fn(Fusion) -> Fusion, expected: &str| {
        let stages = Pipeline::<Book>::new().rank_fusion(fusion).into_stages();
        let error = stages.into_documents().unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    fn newest(pipeline: Pipeline<Book>) -> Pipeline<Book> {
        pipeline.sort(|b| b.year().desc())
    }
    refused(|f| f, "needs a pipeline");
    refused(|f| f.pipeline("$a", newest), "begin with");
    refused(|f| f.pipeline("a", newest).pipeline("a", newest), "two pipelines");
    refused(|f| f.weighted("a", -1, newest), "not negative");
    refused(|f| f.pipeline("a", |p| p.limit(1)), "orders its documents");
    refused(
        |f| f.pipeline("a", |p| newest(p).stage_raw(doc! { "$unset": "title" })),
        "`$unset` is not a stage",
    );
    let sorted = Pipeline::<Book>::new().score_fusion(Normalization::None, |f| f.pipeline("a", newest));
    let error = sorted.into_stages().into_documents().unwrap_err();
    assert!(error.to_string().contains("begins with a search"), "{error}");
}
