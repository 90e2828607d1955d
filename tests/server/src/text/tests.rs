//! Tests of `$text`, with the data of MongoDB's documentation.

use super::index::TextIndex;
use super::query::TextQuery;
use super::terms::{Language, Sensitivity, terms};
use crate::storage::Collection;
use crate::storage::index_spec;
use bson::{Bson, Document, doc};

/// The collection `articles` of the documentation.
fn articles() -> Vec<Document> {
    let subjects = [
        "coffee",
        "Coffee Shopping",
        "Baking a cake",
        "baking",
        "Café Con Leche",
        "Сырники",
        "coffee and cream",
        "Cafe con Leche",
    ];
    (1..)
        .zip(subjects)
        .map(|(id, subject)| doc! { "_id": id, "subject": subject })
        .collect()
}

fn index(options: Document) -> TextIndex {
    let mut spec = doc! { "key": { "subject": "text" }, "name": "t" };
    spec.extend(options);
    let mut collection = Collection::new(None);
    collection
        .indexes
        .push(index_spec::parse(&spec, crate::refusal::ServerProfile::default(), None).unwrap());
    TextIndex::of(&collection).unwrap()
}

fn scores(query: Document, options: Document) -> Vec<(i32, f64)> {
    let index = index(options);
    let query = TextQuery::parse(&Bson::Document(query)).unwrap();
    let scored = articles().into_iter().filter_map(|document| {
        let score = query.score(&document, &index).unwrap()?;
        Some((document.get_i32("_id").unwrap(), score))
    });
    scored.collect()
}

fn found(search: &str) -> Vec<i32> {
    let all = scores(doc! { "$search": search }, doc! {});
    all.into_iter().map(|(id, _)| id).collect()
}

#[test]
fn terms_are_folded_and_stemmed() {
    let of = |text: &str, language| terms(text, language, Sensitivity::default());
    assert_eq!(of("The Baking of cakes!", Language::English), ["bake", "cake"]);
    assert_eq!(of("The Baking", Language::None), ["the", "baking"]);
    assert_eq!(of("Café l'eau", Language::None), ["cafe", "l", "eau"]);
    assert_eq!(of("it's John's", Language::English), ["john"]);
}

#[test]
fn words_phrases_and_negations() {
    assert_eq!(found("coffee"), [1, 2, 7]);
    assert_eq!(found("bake coffee cake"), [1, 2, 3, 4, 7]);
    assert_eq!(found("\"coffee shop\""), [2]);
    assert_eq!(found("coffee -shop"), [1, 7]);
    assert_eq!(found("coffee -\"coffee shop\""), [1, 7]);
    assert_eq!(found("\"coffee\" \"cream\""), [7]);
    assert_eq!(found("CAFÉ"), [5, 8]);
    assert_eq!(found("сырники"), [6]);
    assert_eq!(found("-coffee"), Vec::<i32>::new());
    assert_eq!(found("coffee-shop"), [1, 2, 7]);
}

#[test]
fn sensitivity() {
    let ids = |query: Document| {
        let all = scores(query, doc! {});
        all.into_iter().map(|(id, _)| id).collect::<Vec<_>>()
    };
    assert_eq!(ids(doc! { "$search": "Coffee", "$caseSensitive": true }), [2]);
    assert_eq!(ids(doc! { "$search": "CAFÉ", "$diacriticSensitive": true }), [5]);
    assert_eq!(
        ids(doc! { "$search": "leche", "$language": "none" }),
        Vec::<i32>::new(),
        "the terms of the documents are English: lech"
    );
}

#[test]
fn scores_of_the_documentation() {
    assert_eq!(
        scores(doc! { "$search": "coffee" }, doc! {}),
        [(1, 1.0), (2, 0.75), (7, 0.75)]
    );
    assert_eq!(
        scores(doc! { "$search": "coffee" }, doc! { "weights": { "subject": 4 } }),
        [(1, 4.0), (2, 3.0), (7, 3.0)]
    );
    // A term that is the whole string.
    assert_eq!(
        scores(doc! { "$search": "baking" }, doc! { "default_language": "none" }),
        [(3, 2.0 / 3.0), (4, 1.1)]
    );
}

#[test]
fn all_strings() {
    let index = index(doc! { "key": { "$**": "text" } });
    let query = TextQuery::parse(&doc! { "$search": "deep" }.into()).unwrap();
    let document = doc! { "a": { "b": [{ "c": "deep" }] } };
    assert!(query.score(&document, &index).unwrap().is_some());
    let spanish = doc! { "a": "deep", "language": "spanish" };
    assert_eq!(query.score(&spanish, &index).unwrap_err().code, 238);
}

#[test]
fn malformed_queries() {
    let code = |query: Bson| TextQuery::parse(&query).unwrap_err().code;
    assert_eq!(code(1.into()), 2);
    assert_eq!(code(doc! {}.into()), 4);
    assert_eq!(code(doc! { "$search": 1 }.into()), 14);
    assert_eq!(code(doc! { "$search": "x", "$caseSensitive": 1 }.into()), 14);
    assert_eq!(code(doc! { "$search": "x", "y": 1 }.into()), 2);
    assert_eq!(code(doc! { "$search": "x", "$language": "klingon" }.into()), 2);
    assert_eq!(code(doc! { "$search": "x", "$language": "french" }.into()), 238);
}
