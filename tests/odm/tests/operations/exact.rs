//! Fields that are read as they are stored: `#[serde(with = "marula::bson::exact")]`.

use std::collections::BTreeMap;

use crate::common::Env;
use marula::bson::{Bson, Document as Doc, bson, doc};
use marula::prelude::*;
use marula::{Document, Embedded, Projection};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Any(#[serde(with = "marula::bson::exact")] Bson);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Part {
    #[serde(with = "::marula::bson::exact")]
    value: Bson,
    free: Any,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "answers", index(value))]
struct Answer {
    _id: i64,
    #[serde(with = "marula::bson::exact")]
    value: Bson,
    #[serde(with = "marula::bson::exact", default)]
    rules: Option<Doc>,
    #[serde(with = "marula::bson::exact")]
    list: Vec<Bson>,
    #[serde(with = "marula::bson::exact")]
    map: BTreeMap<String, Bson>,
    parts: Vec<Part>,
    // The dates of the document are converted.
    at: std::time::SystemTime,
}

#[derive(Debug, PartialEq, Deserialize, Projection)]
#[document(of = Answer)]
struct Value {
    #[serde(with = "marula::bson::exact")]
    value: Bson,
}

#[tokio::test]
async fn documents_with_keys_of_extended_json_are_kept() {
    let env = Env::start().await;
    if env.is_before(5, 0).await {
        return env.stop().await;
    }
    let answers = env.db.collection::<Answer>();
    let raw = answers.driver().clone_with_type::<Doc>();
    let values = [
        doc! { "$date": 5 },
        doc! { "$oid": "zz" },
        doc! { "$uuid": "no" },
        doc! { "$numberLong": "7" },
        doc! { "$binary": { "base64": "", "subType": "00" } },
    ];
    for value in values {
        let value = || value.clone();
        let stored = doc! {
            "_id": 1_i64,
            "value": value(),
            "rules": value(),
            "list": [value(), 7],
            "map": { "k": value() },
            "parts": [{ "value": value(), "free": value() }],
            "at": marula::bson::DateTime::from_millis(5),
        };
        raw.delete_many(doc! {}).await.unwrap();
        raw.insert_one(&stored).await.unwrap();
        let found = answers.find(|a| a.value().eq(value())).one().await.unwrap();
        let any = Bson::Document(value());
        assert_eq!((&found.value, &found.rules), (&any, &Some(value())));
        assert_eq!(found.list, [any.clone(), bson!(7)]);
        assert_eq!(found.map, BTreeMap::from([("k".to_owned(), any.clone())]));
        let part = Part {
            value: any.clone(),
            free: Any(any.clone()),
        };
        assert_eq!(found.parts, [part]);
        answers.save(&found).await.unwrap();
        assert_eq!(raw.find_one(doc! {}).await.unwrap(), Some(stored));
        let selected = answers.find_by_id(1).select::<Value>().required().await.unwrap();
        assert_eq!(selected.value, any);
        let by_path = answers.find(|a| {
            a.list().contains(value()) & a.map().entry("k").eq(value()) & a.parts().value().eq(value())
        });
        assert_eq!(by_path.await.unwrap().len(), 1);
        answers
            .update_by_id(1, |a| a.value().set(7))
            .required()
            .await
            .unwrap();
        assert_eq!(answers.find_by_id(1).required().await.unwrap().value, bson!(7));
    }
    env.stop().await;
}

#[test]
fn a_field_that_is_read_exactly_has_the_paths_of_its_type() {
    let a = Answer::fields();
    assert_eq!(a.list().contains("x").to_string(), r#"{"list": {"$eq": "x"}}"#);
    assert_eq!(
        a.parts().free().eq(bson!(5)).to_string(),
        r#"{"parts.free": {"$eq": 5}}"#
    );
    let schema = Answer::json_schema();
    assert!(schema.to_string().contains("rules"), "{schema}");
}
