//! Search indexes and vector search indexes: declarations, plans, and deployments without search.

use std::time::Duration;

use crate::common::Env;
use marula::bson::doc;
use marula::index::SearchIndexKind;
use marula::schema::{Apply, Schema, SearchMode, Step, SyncMode};
use marula::{Document, Embedded, Error, Model, SchemaError};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
#[serde(rename_all = "camelCase")]
struct Studio {
    home_town: String,
    size: i32,
}

#[derive(Serialize, Deserialize, Embedded)]
enum Genre {
    Comedy,
    Drama,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Title(String);

#[derive(Serialize, Deserialize, Document)]
#[serde(rename_all = "camelCase")]
#[document(
    collection = "films",
    search_index(
        name = "titles",
        analyzer = "lucene.english",
        string(title, analyzer = "lucene.simple"),
        autocomplete(title, min_grams = 3),
        token(genres),
        number(studio.size),
        document(studio, dynamic),
        embedded_documents(partners),
        string(partners.home_town),
        date(released_on),
        boolean(is_silent),
        geo(place)
    ),
    search_index(dynamic),
    vector_search_index(
        name = "plots",
        vector(plot, dimensions = 3, similarity = "dot_product", quantization = "scalar"),
        filter(genres),
        filter(studio.size)
    )
)]
struct Film {
    #[serde(rename = "_id")]
    id: i64,
    title: Title,
    genres: Vec<Genre>,
    studio: Option<Studio>,
    partners: Vec<Studio>,
    released_on: Option<marula::bson::DateTime>,
    is_silent: bool,
    place: marula::bson::Document,
    plot: [f32; 3],
}

/// The same collection with the mappings that the test server implements.
#[derive(Serialize, Deserialize, Document)]
#[document(
    collection = "films",
    search_index(name = "titles", string(title), token(genre), number(year)),
    search_index(dynamic),
    vector_search_index(
        name = "plots",
        vector(plot, dimensions = 3, similarity = "cosine"),
        filter(year)
    )
)]
struct PlainFilm {
    _id: i64,
    title: String,
    genre: Genre,
    year: i32,
    plot: Vec<f32>,
}

/// The same collection with another definition of one index and without the others.
#[derive(Serialize, Deserialize, Document)]
#[document(collection = "films", search_index(name = "titles", string(title)))]
struct LaterFilm {
    _id: i64,
    title: String,
}

#[test]
fn attributes_declare_definitions() {
    let [titles, all, plots] = &Film::search_indexes()[..] else {
        panic!("three indexes");
    };
    assert_eq!(
        (titles.index_name(), titles.kind()),
        ("titles", SearchIndexKind::Search)
    );
    assert_eq!(
        titles.definition(),
        &doc! {
            "analyzer": "lucene.english",
            "mappings": { "dynamic": false, "fields": {
                "title": [
                    { "type": "string", "analyzer": "lucene.simple" },
                    { "type": "autocomplete", "minGrams": 3 },
                ],
                "genres": { "type": "token" },
                "studio": { "type": "document", "dynamic": true, "fields": { "size": { "type": "number" } } },
                "partners": {
                    "type": "embeddedDocuments", "dynamic": false, "fields": { "homeTown": { "type": "string" } },
                },
                "releasedOn": { "type": "date" },
                "isSilent": { "type": "boolean" },
                "place": { "type": "geo" },
            } },
        }
    );
    assert_eq!(all.index_name(), "default");
    assert_eq!(all.to_string(), r#"{"mappings": {"dynamic": true}}"#);
    assert_eq!(
        (plots.index_name(), plots.kind()),
        ("plots", SearchIndexKind::VectorSearch)
    );
    assert_eq!(
        plots.definition(),
        &doc! { "fields": [
            { "type": "vector", "path": "plot", "numDimensions": 3_i64, "similarity": "dotProduct", "quantization": "scalar" },
            { "type": "filter", "path": "genres" },
            { "type": "filter", "path": "studio.size" },
        ] }
    );
}

impl Env {
    fn films(&self) -> Schema {
        self.db.schema().register::<Film>()
    }

    fn plain_films(&self) -> Schema {
        self.db.schema().register::<PlainFilm>()
    }

    /// Whether the deployment has no search.
    async fn lacks_search(&self) -> bool {
        let planned = self.films().plan().await;
        match planned {
            Ok(_) => false,
            Err(Error::Schema(SchemaError::SearchUnsupported { .. })) => true,
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_deployment_without_search_is_an_error_unless_permitted() {
    let env = Env::start().await;
    if !env.lacks_search().await {
        return;
    }
    let error = env.films().sync(SyncMode::Additive).await.unwrap_err();
    let Error::Schema(SchemaError::SearchUnsupported {
        namespace, indexes, ..
    }) = &error
    else {
        panic!("{error}");
    };
    assert_eq!(namespace, &format!("{}.films", env.db.name()));
    assert_eq!(indexes, &["titles", "default", "plots"]);
    assert!(
        error.to_string().contains("mongot") && error.driver().is_some(),
        "{error}"
    );

    let optional = || env.films().search(SearchMode::Optional);
    let plan = optional().plan().await.unwrap();
    assert!(plan.is_empty(), "{plan}");
    assert!(
        plan.to_string()
            .contains("= skip     search index plots: the deployment has no search"),
        "{plan}"
    );
    let waiting = Apply::full().wait_for_search(Duration::from_secs(60));
    assert!(plan.apply(waiting).await.unwrap().is_empty());
    assert!(optional().sync(SyncMode::Verify).await.unwrap().is_empty());

    let off = env.films().search(SearchMode::Off).plan().await.unwrap();
    assert_eq!(off.steps().count(), 0, "{off}");
    env.stop().await;
}

#[tokio::test]
async fn conflicting_declarations_are_rejected() {
    let env = Env::start().await;
    let error = env.films().register::<LaterFilm>().plan().await.unwrap_err();
    let Error::Schema(SchemaError::ConflictingDeclarations { index, models, .. }) = &error else {
        panic!("{error}");
    };
    assert_eq!((index.as_str(), models), ("titles", &["Film", "LaterFilm"]));
    env.stop().await;
}

#[tokio::test]
async fn search_indexes_are_created_updated_and_dropped() {
    let env = Env::start_with_search().await;
    if !env.is_own() && env.lacks_search().await {
        eprintln!("skipped: the deployment has no search");
        return;
    }
    let wait = Duration::from_secs(120);
    let applied = env
        .plain_films()
        .plan()
        .await
        .unwrap()
        .apply(Apply::additive().wait_for_search(wait))
        .await
        .unwrap();
    assert_eq!(applied.created_search.len(), 3, "{applied}");
    let plan = env.plain_films().plan().await.unwrap();
    assert!(plan.is_empty(), "{plan}");
    let is_ready = |(_, step): (_, &Step)| matches!(step, Step::KeepSearchIndex { queryable: true, .. });
    assert!(plan.steps().all(is_ready), "{plan}");

    let later = || env.db.schema().register::<LaterFilm>();
    let plan = later().plan().await.unwrap();
    assert!(!plan.is_empty(), "{plan}");
    let refused = plan.apply(Apply::additive()).await.unwrap_err();
    assert!(
        matches!(
            refused,
            Error::Schema(SchemaError::SearchIndexConflict { can_change: true, .. })
        ),
        "{refused}"
    );
    let full = Apply::additive()
        .coll_mod(true)
        .drop_obsolete(Duration::ZERO)
        .wait_for_search(wait);
    let applied = plan.apply(full).await.unwrap();
    assert_eq!(applied.updated_search.len(), 1, "{applied}");
    assert_eq!(applied.dropped_search.len(), 2, "{applied}");
    env.stop().await;
}

/// The instances of an application create each index once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_that_create_the_same_search_indexes_do_not_fail() {
    let env = Env::start_with_search().await;
    if !env.is_own() && env.lacks_search().await {
        eprintln!("skipped: the deployment has no search");
        return;
    }
    let instances: Vec<_> = (0..20)
        .map(|_| {
            let schema = env.plain_films();
            tokio::spawn(schema.sync(SyncMode::Additive))
        })
        .collect();
    for instance in instances {
        instance.await.unwrap().unwrap();
    }
    assert!(env.plain_films().plan().await.unwrap().is_empty());
    env.stop().await;
}
