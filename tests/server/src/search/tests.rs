//! Tests of the search operators and of index definitions.
#![expect(
    clippy::needless_pass_by_value,
    reason = "documents are written where they are passed"
)]

use super::index::{Kind, SearchIndex, Similarity};
use super::operator::Operator;
use super::*;
use bson::{Bson, doc};

fn index(definition: Document) -> SearchIndex {
    SearchIndex::parse(&doc! { "definition": definition }).unwrap()
}

fn movies() -> Vec<Document> {
    vec![
        doc! { "title": "The Big Short", "year": 2015, "genres": ["Drama"], "kind": "film" },
        doc! { "title": "Big Fish", "year": 2003, "genres": ["Fantasy", "Drama"], "kind": "film" },
        doc! { "title": "Short Circuit", "year": 1986, "plot": "a robot with a short story", "kind": "film" },
        doc! { "title": "Big Big World", "year": 2016, "kind": "series" },
    ]
}

fn search_in(definition: Document, operator: Document) -> Result<Vec<(usize, f64)>> {
    let Kind::Search(mapping) = index(definition).kind else {
        panic!("not a search index");
    };
    ranked(&Operator::of_stage(&operator, &[])?, &movies(), &mapping)
}

fn found(operator: Document) -> Vec<usize> {
    let definition = doc! { "mappings": { "dynamic": true, "fields": {
        "kind": { "type": "token" },
        "title": [{ "type": "string" }, { "type": "autocomplete" }],
    } } };
    let mut positions: Vec<usize> = search_in(definition, operator)
        .unwrap()
        .into_iter()
        .map(|(at, _)| at)
        .collect();
    positions.sort_unstable();
    positions
}

#[test]
fn text_is_ranked_by_frequency_rarity_and_length() {
    let dynamic = || doc! { "mappings": { "dynamic": true } };
    let ranked = search_in(dynamic(), doc! { "text": { "query": "big", "path": "title" } }).unwrap();
    let order: Vec<usize> = ranked.iter().map(|(at, _)| *at).collect();
    assert_eq!(order, [3, 1, 0]);
    // By hand for "Big Fish": ln(1 + (4 - 3 + 0.5) / (3 + 0.5)) * 1 / (1 + 1.2 * (0.25 + 0.75 * 2 / 2.5)).
    let expected = (1.0_f64 + 1.5 / 3.5).ln() / (1.0 + 1.2 * (0.25 + 0.75 * 0.8));
    assert!((ranked[1].1 - expected).abs() < 1e-12);
    let constant =
        doc! { "text": { "query": "big", "path": "title", "score": { "constant": { "value": 5 } } } };
    assert_eq!(search_in(dynamic(), constant).unwrap()[0].1, 5.0);
    assert_eq!(
        found(doc! { "text": { "query": "big short", "path": "title", "matchCriteria": "all" } }),
        [0]
    );
    assert_eq!(
        found(doc! { "text": { "query": "short", "path": { "wildcard": "*" } } }),
        [0, 2]
    );
    assert_eq!(
        found(doc! { "text": { "query": "circit", "path": "title", "fuzzy": { "maxEdits": 1 } } }),
        [2]
    );
}

#[test]
fn other_operators() {
    assert_eq!(
        found(doc! { "phrase": { "query": "big short", "path": "title" } }),
        [0]
    );
    assert_eq!(
        found(doc! { "phrase": { "query": "big world", "path": "title" } }),
        [3]
    );
    assert_eq!(
        found(doc! { "phrase": { "query": "robot short", "path": "plot", "slop": 2 } }),
        [2]
    );
    assert_eq!(
        found(doc! { "phrase": { "query": "robot short", "path": "plot" } }),
        Vec::<usize>::new()
    );
    assert_eq!(
        found(doc! { "autocomplete": { "query": "big f", "path": "title" } }),
        [1]
    );
    assert_eq!(
        found(doc! { "equals": { "path": "kind", "value": "series" } }),
        [3]
    );
    assert_eq!(
        found(doc! { "in": { "path": "year", "value": [2003, 1986] } }),
        [1, 2]
    );
    assert_eq!(
        found(doc! { "range": { "path": "year", "gte": 2003, "lt": 2016 } }),
        [0, 1]
    );
    assert_eq!(found(doc! { "exists": { "path": "plot" } }), [2]);
    assert_eq!(
        found(doc! { "wildcard": { "query": "s?ort*", "path": "title", "allowAnalyzedField": true } }),
        [0, 2]
    );
    let compound = doc! { "compound": {
        "must": [{ "text": { "query": "big", "path": "title" } }],
        "mustNot": [{ "equals": { "path": "kind", "value": "series" } }],
        "should": [{ "text": { "query": "fish", "path": "title" } }],
        "filter": { "range": { "path": "year", "gt": 2000 } },
    } };
    assert_eq!(found(compound), [0, 1]);
}

#[test]
fn mappings_determine_what_is_found() {
    let none = doc! { "mappings": { "dynamic": false } };
    assert_eq!(
        search_in(none, doc! { "text": { "query": "big", "path": "title" } }).unwrap(),
        []
    );
    let english =
        || doc! { "mappings": { "fields": { "title": { "type": "string", "analyzer": "lucene.english" } } } };
    let stemmed = doc! { "text": { "query": "the circuits", "path": "title" } };
    assert_eq!(search_in(english(), stemmed).unwrap().len(), 1);
    let code = |operator: Document| search_in(english(), operator).unwrap_err().code;
    assert_eq!(code(doc! { "equals": { "path": "kind", "value": "film" } }), 8);
    assert_eq!(
        code(doc! { "autocomplete": { "path": "title", "query": "b" } }),
        8
    );
    assert_eq!(code(doc! { "wildcard": { "path": "title", "query": "b*" } }), 8);
    assert_eq!(code(doc! { "queryString": {} }), 238);
    assert_eq!(code(doc! { "txt": {} }), 8);
    assert_eq!(code(doc! {}), 8);
    assert_eq!(code(doc! { "text": { "query": "", "path": "title" } }), 8);
    assert_eq!(
        code(doc! { "text": { "query": "x", "path": "title", "fuzzy": { "maxEdits": 3 } } }),
        8
    );
}

#[test]
fn vectors() {
    assert_eq!(vector::parse(&Bson::from(vec![1, 2])), Some(vec![1.0, 2.0]));
    let binary = |bytes: &[u8]| {
        Bson::Binary(bson::Binary {
            subtype: bson::spec::BinarySubtype::Vector,
            bytes: bytes.to_vec(),
        })
    };
    assert_eq!(vector::parse(&binary(&[0x03, 0, 1, 0xff])), Some(vec![1.0, -1.0]));
    assert_eq!(
        vector::parse(&binary(&[0x27, 0, 0, 0, 0x80, 0x3f])),
        Some(vec![1.0])
    );
    assert_eq!(
        vector::parse(&binary(&[0x10, 5, 0xa0])),
        Some(vec![1.0, 0.0, 1.0])
    );
    assert_eq!(vector::parse(&binary(&[0x11, 0, 1])), None);
    let (one, other) = ([1.0, 0.0], [3.0, 4.0]);
    assert!((vector::score(Similarity::Cosine, &one, &other) - 0.8).abs() < 1e-12);
    assert!((vector::score(Similarity::DotProduct, &one, &other) - 2.0).abs() < 1e-12);
    let distance = 20.0_f64.sqrt();
    assert!((vector::score(Similarity::Euclidean, &one, &other) - 1.0 / (1.0 + distance)).abs() < 1e-12);
}

#[test]
fn definitions_and_states() {
    let code = |spec: Document| SearchIndex::parse(&spec).unwrap_err().code;
    assert_eq!(code(doc! {}), 40414);
    assert_eq!(code(doc! { "definition": {} }), 8);
    assert_eq!(code(doc! { "definition": { "mappings": {} }, "type": "x" }), 8);
    let vector = |field: Document| code(doc! { "type": "vectorSearch", "definition": { "fields": [field] } });
    assert_eq!(vector(doc! { "type": "filter", "path": "a" }), 8);
    assert_eq!(
        vector(doc! { "type": "vector", "path": "a", "similarity": "cosine" }),
        8
    );
    assert_eq!(
        vector(doc! { "type": "vector", "path": "a", "numDimensions": 3, "similarity": "x" }),
        8
    );
    let unsupported = doc! { "definition": { "mappings": { "fields": { "a": { "type": "knnVector" } } } } };
    assert_eq!(code(unsupported), 238);
    let mut made = index(doc! { "mappings": { "dynamic": true } });
    let status = |index: &SearchIndex| {
        let row = index.list();
        (
            row.get_str("status").unwrap().to_owned(),
            row.get_bool("queryable").unwrap(),
        )
    };
    assert_eq!(status(&made), ("PENDING".to_owned(), false));
    assert_eq!(status(&made), ("BUILDING".to_owned(), false));
    assert_eq!(status(&made), ("READY".to_owned(), true));
    made.update(&doc! { "definition": { "mappings": { "dynamic": false } } })
        .unwrap();
    assert_eq!(status(&made), ("BUILDING".to_owned(), true));
    assert_eq!(
        made.list()
            .get_document("latestDefinitionVersion")
            .unwrap()
            .get_i64("version")
            .unwrap(),
        1
    );
}

#[test]
fn wildcards() {
    let matches = |pattern: &str, text: &str| {
        let [pattern, text] = [pattern, text].map(|text| text.chars().collect::<Vec<_>>());
        tokens::wildcard(&pattern, &text)
    };
    assert!(matches("", "") && matches("*", "") && matches("a*c?", "abbcd") && matches("\\*a", "*a"));
    assert!(!matches("", "a") && !matches("?", "") && !matches("\\*a", "ba") && !matches("a*c", "ab"));
    assert!(!matches(&format!("{}b", "*a".repeat(30)), &"a".repeat(200)));
}
