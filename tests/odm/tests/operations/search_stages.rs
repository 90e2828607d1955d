//! Searches on a deployment: operators, highlights, counts, pages, facets, vectors and fusions.

use std::time::Duration;

use crate::common::Env;
use marula::aggregate::{Normalization, VectorSearch};
use marula::bson::DateTime;
use marula::expr::search_score;
use marula::geo::Point;
use marula::schema::Apply;
use marula::search::{
    self, Area, Highlight, Search, SearchMeta, compound, facets, fusion_score, search_highlights,
    search_meta, search_sequence_token, text,
};
use marula::{Collection, Document, Embedded, Error, Shape, prelude::*};

#[derive(Clone, Debug, PartialEq, Embedded)]
struct Review {
    body: String,
    stars: i32,
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(
    collection = "books",
    soft_delete = deleted_at,
    search_index(
        name = "books",
        string(title),
        autocomplete(title),
        token(genre),
        number(year),
        date(printed_on),
        boolean(is_lent),
        geo(place),
        embedded_documents(reviews),
        string(reviews.body),
        number(reviews.stars)
    ),
    vector_search_index(name = "plots", vector(plot, dimensions = 2, similarity = "cosine"), filter(year))
)]
struct Book {
    _id: i64,
    title: String,
    genre: String,
    year: i32,
    printed_on: DateTime,
    is_lent: bool,
    place: Point,
    reviews: Vec<Review>,
    plot: Vec<f32>,
    #[document(skip_none)]
    deleted_at: Option<DateTime>,
}

fn book(id: i64, title: &str, genre: &str, year: i32) -> Book {
    let review = |body: &str, stars| Review {
        body: body.to_owned(),
        stars,
    };
    Book {
        _id: id,
        title: title.to_owned(),
        genre: genre.to_owned(),
        year,
        printed_on: DateTime::from_millis(i64::from(year - 1970) * 31_556_952_000),
        is_lent: id == 2,
        place: Point::new([8.0 + id as f64 / 10.0, 47.0]),
        reviews: vec![review("good story", (id % 5) as i32), review("bad paper", 5)],
        plot: vec![id as f32, 1.0],
        deleted_at: None,
    }
}

/// The books with their indexes; `None` on a deployment without search.
async fn books(env: &Env) -> Option<Collection<Book>> {
    if !env.is_own() {
        eprintln!("skipped: the deployment has no search");
        return None;
    }
    let books = env.db.collection::<Book>();
    let all = [
        book(1, "The copper road", "novel", 1985),
        book(2, "Copper and tin", "history", 1995),
        book(3, "The tin road", "novel", 2005),
        book(4, "A silver song", "poem", 2015),
    ];
    books.insert_many(&all).await.expect("the books are stored");
    let plan = env.db.schema().register::<Book>().plan().await.expect("a plan");
    let apply = Apply::additive().wait_for_search(Duration::from_secs(60));
    plan.apply(apply).await.expect("the indexes are created");
    Some(books)
}

async fn found<Q: Into<Search<Book>>>(
    books: &Collection<Book>,
    search: impl FnOnce(marula::Fields<Book>) -> Q,
) -> Vec<i64> {
    let found = books.aggregate().search(search).all().await.expect("documents");
    let mut ids: Vec<i64> = found.iter().map(|book| book._id).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn operators_find_documents() {
    let env = Env::start_with_search().await;
    let Some(books) = books(&env).await else {
        return env.stop().await;
    };
    assert_eq!(
        found(&books, |b| text(b.title(), "copper").index("books")).await,
        [1, 2]
    );
    assert_eq!(
        found(&books, |b| text(b.title(), "coper").fuzzy(1).index("books")).await,
        [1, 2]
    );
    assert_eq!(
        found(&books, |b| text(b.title(), "tin copper")
            .match_all()
            .index("books"))
        .await,
        [2]
    );
    assert_eq!(
        found(&books, |b| search::phrase(b.title(), "tin road").index("books")).await,
        [3]
    );
    assert_eq!(
        found(&books, |b| search::autocomplete(b.title(), "sil").index("books")).await,
        [4]
    );
    assert_eq!(
        found(&books, |b| search::equals(b.is_lent(), true).index("books")).await,
        [2]
    );
    assert_eq!(
        found(&books, |b| search::is_in(b.genre(), ["poem", "history"])
            .index("books"))
        .await,
        [2, 4]
    );
    assert_eq!(
        found(&books, |b| search::range(b.year())
            .gte(1995)
            .lt(2015)
            .index("books"))
        .await,
        [2, 3]
    );
    assert_eq!(
        found(&books, |b| search::wildcard(b.title(), "cop*")
            .allow_analyzed_field()
            .index("books"))
        .await,
        [1, 2]
    );
    assert_eq!(
        found(&books, |b| search::regex(b.title(), "(road|song)")
            .allow_analyzed_field()
            .index("books"))
        .await,
        [1, 3, 4]
    );
    assert_eq!(
        found(&books, |b| search::more_like_this()
            .like(b.title(), "a tin road")
            .index("books"))
        .await,
        [1, 2, 3, 4]
    );
    let circle = || Area::Circle {
        center: Point::new([8.1, 47.0]),
        radius: 10_000.0,
    };
    assert_eq!(
        found(&books, |b| search::geo_within(b.place(), circle()).index("books")).await,
        [1, 2]
    );
    let all = found(&books, |b| {
        compound()
            .must(text(b.title(), ["copper", "road"]))
            .must_not(search::equals(b.is_lent(), true))
            .filter(search::range(b.year()).lt(2000))
            .index("books")
    });
    assert_eq!(all.await, [1]);
    // The clauses match the same element.
    let good = |stars| {
        found(&books, move |b| {
            search::embedded_document(b.reviews(), |r| {
                compound()
                    .must(text(r.body(), "good"))
                    .filter(search::range(r.stars()).gte(stars))
            })
            .index("books")
        })
    };
    assert_eq!(good(3).await, [3, 4]);
    assert_eq!(good(5).await, [0_i64; 0]);
    env.stop().await;
}

#[derive(Shape)]
struct Scored {
    #[document(flatten)]
    book: Book,
    score: f64,
    highlights: Vec<Highlight>,
    token: String,
    meta: SearchMeta,
}

#[tokio::test]
async fn scores_highlights_tokens_and_counts_are_read() {
    let env = Env::start_with_search().await;
    let Some(books) = books(&env).await else {
        return env.stop().await;
    };
    let page = |after: Option<String>| {
        let search = books.aggregate().search(|b| {
            let search = Search::new(text(b.title(), "road").boost_by(b.year(), 1))
                .index("books")
                .highlight(b.title())
                .count_total()
                .sort(b.year().asc());
            match after {
                Some(token) => search.search_after(token),
                None => search,
            }
        });
        search
            .add_fields(|_| ScoredAdded {
                score: search_score(),
                highlights: search_highlights(),
                token: search_sequence_token(),
                meta: search_meta(),
            })
            .limit(1)
            .all()
    };
    let first = page(None).await.unwrap().remove(0);
    assert_eq!(first.book._id, 1);
    assert!(first.score > 100.0, "{}", first.score);
    assert_eq!(first.meta.documents(), 2);
    assert_eq!(first.meta.count.total, Some(2));
    let texts = &first.highlights[0].texts;
    let marked: Vec<(&str, bool)> = texts
        .iter()
        .map(|part| (part.value.as_str(), part.is_hit()))
        .collect();
    assert_eq!(marked, [("The copper ", false), ("road", true)]);
    let second = page(Some(first.token)).await.unwrap();
    assert_eq!(second[0].book._id, 3);
    assert!(page(Some(second[0].token.clone())).await.unwrap().is_empty());
    env.stop().await;
}

#[tokio::test]
async fn near_values_have_higher_scores() {
    let env = Env::start_with_search().await;
    let Some(books) = books(&env).await else {
        return env.stop().await;
    };
    let ids = |books: Vec<Book>| books.into_iter().map(|book| book._id).collect::<Vec<_>>();
    let by_year = books
        .aggregate()
        .search(|b| search::near(b.year(), 2004, 5).index("books"));
    assert_eq!(ids(by_year.all().await.unwrap()), [3, 2, 4, 1]);
    let year = Duration::from_secs(31_556_952);
    let date = book(0, "", "", 1996).printed_on;
    let by_date = books
        .aggregate()
        .search(|b| search::near_date(b.printed_on(), date, year).index("books"));
    assert_eq!(ids(by_date.limit(2).all().await.unwrap()), [2, 3]);
    let at = Point::new([8.39, 47.0]);
    let by_place = books
        .aggregate()
        .search(|b| search::near_point(b.place(), at, 100).index("books"));
    assert_eq!(ids(by_place.limit(1).all().await.unwrap()), [4]);
    env.stop().await;
}

#[tokio::test]
async fn facets_are_counted() {
    let env = Env::start_with_search().await;
    let Some(books) = books(&env).await else {
        return env.stop().await;
    };
    let meta = books
        .aggregate()
        .search_meta(|b| {
            facets()
                .string("genres", b.genre(), 10)
                .number("years", b.year(), [1980, 1990, 2000])
                .others("later")
                .index("books")
                .count_total()
        })
        .first()
        .await
        .unwrap()
        .unwrap();
    assert_eq!(meta.documents(), 4);
    let genres: Vec<(Option<&str>, i64)> = meta
        .facet("genres")
        .iter()
        .map(|bucket| (bucket.text(), bucket.count))
        .collect();
    assert_eq!(
        genres,
        [(Some("novel"), 2), (Some("history"), 1), (Some("poem"), 1)]
    );
    let years = meta.facet("years");
    assert_eq!((years[0].number(), years[0].count), (Some(1980.0), 1));
    assert_eq!((years[1].number(), years[1].count), (Some(1990.0), 1));
    assert_eq!((years[2].text(), years[2].count), (Some("later"), 2));
    assert!(meta.facet("other").is_empty());
    env.stop().await;
}

#[tokio::test]
async fn deleted_documents_are_left_out() {
    let env = Env::start_with_search().await;
    let Some(books) = books(&env).await else {
        return env.stop().await;
    };
    books.delete_by_id(1).await.unwrap();
    assert_eq!(
        found(&books, |b| text(b.title(), "copper").index("books")).await,
        [2]
    );
    let all = books.with_deleted();
    assert_eq!(
        found(&all, |b| text(b.title(), "copper").index("books")).await,
        [1, 2]
    );
    let scoped = books.scoped(|b| b.genre().eq("novel"));
    assert_eq!(
        found(&scoped, |b| text(b.title(), "road").index("books")).await,
        [3]
    );
    let meta = scoped
        .aggregate()
        .search_meta(|b| text(b.title(), "road").index("books"));
    let error = meta.all().await.unwrap_err();
    assert!(matches!(error, Error::InvalidPipeline { .. }), "{error}");
    env.stop().await;
}

#[derive(Shape)]
struct Fused {
    #[document(flatten)]
    book: Book,
    score: f64,
}

#[tokio::test]
async fn fusions_join_the_lists() {
    let env = Env::start_with_search().await;
    let Some(books) = books(&env).await else {
        return env.stop().await;
    };
    let near = || VectorSearch::<Book>::new("plots", |b| b.plot(), [3.0, 1.0], 3).exact();
    let by_rank = books
        .aggregate()
        .rank_fusion(|f| {
            f.weighted("words", 2, |p| {
                p.search(|b| text(b.title(), "road").index("books"))
            })
            .pipeline("plots", |p| p.vector_search(near()))
        })
        .add_fields(|_| FusedAdded {
            score: fusion_score(),
        })
        .all()
        .await
        .unwrap();
    assert_eq!(by_rank[0].book._id, 3);
    assert!(by_rank[0].score > by_rank[1].score);
    assert_eq!(
        by_rank.len(),
        4,
        "{:?}",
        by_rank.iter().map(|row| row.book._id).collect::<Vec<_>>()
    );
    let by_score = books
        .aggregate()
        .score_fusion(Normalization::MinMaxScaler, |f| {
            f.pipeline("words", |p| {
                p.search(|b| text(b.title(), "tin road").index("books"))
            })
            .pipeline("plots", |p| p.vector_search(near()))
        })
        .limit(1)
        .all()
        .await
        .unwrap();
    assert_eq!(by_score[0]._id, 3);
    env.stop().await;
}

#[tokio::test]
async fn a_deployment_without_search_has_an_error_of_its_own() {
    let env = Env::start().await;
    if !env.is_own() {
        return env.stop().await;
    }
    let books = env.db.collection::<Book>();
    let error = books
        .aggregate()
        .search(|b| text(b.title(), "a"))
        .all()
        .await
        .unwrap_err();
    assert!(matches!(error, Error::SearchUnsupported { .. }), "{error:?}");
    assert_eq!(error.driver().and_then(marula::driver::Error::code), Some(31_082));
    assert!(error.to_string().contains("mongot"), "{error}");
    env.stop().await;
}
