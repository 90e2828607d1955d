//! Versions of documents: older documents are upgraded when they are read.

use crate::common::Env;
use marula::bson::{Bson, Document as BsonDocument, doc};
use marula::driver::options::FullDocument;
use marula::managed::BoxedError;
use marula::prelude::*;
use marula::{Collection, Document, Error, Pipeline, Projection, Versioned};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "people", schema_version(3, upgrade = Person::upgrade))]
pub(crate) struct Person {
    pub(crate) _id: i64,
    first: String,
    last: String,
    tags: Vec<String>,
}

impl Person {
    fn upgrade(from: u32, document: &mut BsonDocument) -> Result<(), BoxedError> {
        match from {
            1 => {
                let name = document.remove("name");
                let name = name.as_ref().and_then(Bson::as_str).ok_or("no name")?;
                let (first, last) = name.split_once(' ').ok_or("no last name")?;
                document.insert("first", first);
                document.insert("last", last);
            }
            _ => {
                document.insert("tags", Vec::<Bson>::new());
            }
        }
        Ok(())
    }
}

pub(crate) fn ada(id: i64) -> Person {
    Person {
        _id: id,
        first: "Ada".to_owned(),
        last: "Lovelace".to_owned(),
        tags: Vec::new(),
    }
}

/// A document of version 1, before the models had versions.
pub(crate) fn one(id: i64) -> BsonDocument {
    doc! { "_id": id, "name": "Ada Lovelace" }
}

/// A document of version 2.
pub(crate) fn two(id: i64) -> BsonDocument {
    doc! { "_id": id, "first": "Ada", "last": "Lovelace", "schema_version": 2 }
}

/// The present form.
pub(crate) fn three(id: i64) -> BsonDocument {
    doc! { "_id": id, "first": "Ada", "last": "Lovelace", "tags": [], "schema_version": 3 }
}

/// The collection without the model.
pub(crate) fn raw<D: Versioned>(people: &Collection<D>) -> marula::driver::Collection<BsonDocument> {
    people.driver().clone_with_type()
}

pub(crate) async fn stored(people: &Collection<Person>) -> Vec<BsonDocument> {
    let found = raw(people).find(doc! {}).sort(doc! { "_id": 1 }).await;
    let mut found = found.expect("a cursor").try_collect().await.expect("documents");
    for document in &mut found {
        let sorted: std::collections::BTreeMap<String, Bson> = std::mem::take(document).into_iter().collect();
        *document = sorted.into_iter().collect();
    }
    found
}

pub(crate) fn sorted(documents: impl IntoIterator<Item = BsonDocument>) -> Vec<BsonDocument> {
    let of = |document: BsonDocument| {
        let sorted: std::collections::BTreeMap<String, Bson> = document.into_iter().collect();
        sorted.into_iter().collect()
    };
    documents.into_iter().map(of).collect()
}

pub(crate) async fn start(documents: impl IntoIterator<Item = BsonDocument>) -> (Env, Collection<Person>) {
    let env = Env::start().await;
    let people = env.db.collection::<Person>();
    let documents: Vec<BsonDocument> = documents.into_iter().collect();
    raw(&people).insert_many(&documents).await.expect("inserted");
    (env, people)
}

#[tokio::test]
async fn each_read_upgrades_older_documents() {
    let (env, people) = start([one(1), two(2), three(3)]).await;
    let all = [ada(1), ada(2), ada(3)];
    assert_eq!(people.find_all().sort(|p| p._id().asc()).await.unwrap(), all);
    let page = people
        .find_all()
        .sort(|p| p._id().asc())
        .page(0, 2)
        .await
        .unwrap();
    assert_eq!(page.items, all[..2]);
    let first = people
        .find_all()
        .keyset(|p| p._id().asc(), None, 2)
        .await
        .unwrap();
    assert_eq!(first.items, all[..2]);
    let second = people
        .find_all()
        .keyset(|p| p._id().asc(), first.next.as_deref(), 2);
    assert_eq!(second.await.unwrap().items, all[2..]);
    assert_eq!(people.find_by_id(1).required().await.unwrap(), ada(1));
    assert_eq!(
        people.find_by_id(2).select::<Person>().await.unwrap(),
        Some(ada(2))
    );
    assert_eq!(people.load([1_i64, 3]).await.unwrap().len(), 2);
    let mut streamed = people
        .find(|p| p._id().lte(2))
        .sort(|p| p._id().desc())
        .stream()
        .await
        .unwrap();
    assert_eq!(streamed.try_next().await.unwrap(), Some(ada(2)));
    assert_eq!(streamed.next_if_any().await.unwrap(), Some(ada(1)));
    let before = people.find_one_and_update(|p| p._id().eq(2), |p| p.last().set("Byron"));
    assert_eq!(before.await.unwrap(), Some(ada(2)));
    let deleted = people.find_one_and_delete(|p| p._id().eq(1)).await.unwrap();
    assert_eq!(deleted, Some(ada(1)));
    // An update by operators upgrades the document.
    let byron = doc! { "_id": 2_i64, "first": "Ada", "last": "Byron", "tags": [], "schema_version": 3 };
    assert_eq!(stored(&people).await, sorted([byron, three(3)]));
    env.stop().await;
}

#[tokio::test]
async fn results_of_aggregations_are_upgraded_by_the_field() {
    #[derive(Debug, PartialEq, Serialize, Deserialize, Projection)]
    #[document(of = Person)]
    struct First {
        first: String,
    }
    let (env, people) = start([two(2), three(3)]).await;
    let sorted = people.aggregate().sort(|p| p._id().asc());
    assert_eq!(sorted.all().await.unwrap(), [ada(2), ada(3)]);
    let names = people.aggregate().select::<First>().all().await.unwrap();
    assert_eq!(names.len(), 2);
    people
        .aggregate()
        .sort(|p| p._id().asc())
        .out_to("copies")
        .execute()
        .await
        .unwrap();
    let copies = people.named("copies");
    assert_eq!(copies.find_by_id(2).await.unwrap(), Some(ada(2)));
    let merged = Pipeline::<Person>::new().merge_into(marula::aggregate::Merge::new());
    assert!(
        merged
            .to_string()
            .contains(r#"{"$ifNull": ["$schema_version", 3]}"#),
        "{merged}"
    );
    env.stop().await;
}

#[tokio::test]
async fn each_write_of_a_document_stores_the_present_version() {
    let (env, people) = start([one(1), one(2), one(3)]).await;
    let versions = async || {
        let stored = stored(&people).await;
        let versions = stored.iter().map(|d| d.get_i32("schema_version").unwrap_or(0));
        versions.collect::<Vec<_>>()
    };
    people.replace(&ada(1)).await.unwrap();
    people.save(&ada(2)).await.unwrap();
    people
        .find_one_and_replace(|p| p._id().eq(3), &ada(3))
        .await
        .unwrap();
    people.insert_one(&ada(4)).await.unwrap();
    people.insert_many([ada(5), ada(6)]).await.unwrap();
    people.save(&ada(7)).await.unwrap();
    people.replace(&ada(8)).upsert(true).await.unwrap();
    people
        .bulk()
        .insert(&ada(9))
        .save(&ada(10))
        .replace(&ada(4))
        .await
        .unwrap();
    people
        .upsert_with(|p| p._id().eq(11), |p| p.first().set("Ada"), &ada(11))
        .await
        .unwrap();
    let values = |p: marula::Fields<Person>| {
        (
            p.first().set("Ada"),
            p.last().set("Lovelace"),
            p.tags().set(Vec::<String>::new()),
        )
    };
    people.update_by_id(12, values).upsert(true).await.unwrap();
    let bulk = people.bulk().upsert_one(|p| p._id().eq(13), values);
    bulk.await.unwrap();
    let inserted = people
        .find_one_and_update(|p| p._id().eq(14), values)
        .upsert(true)
        .returning_new()
        .required();
    assert_eq!(inserted.await.unwrap(), ada(14));
    assert_eq!(versions().await, [3; 14]);
    assert_eq!(people.find_all().await.unwrap().len(), 14);
    // An inserted document could have no version.
    let pipeline = || marula::Update::<Person>::pipeline([doc! { "$set": { "first": "Ada" } }]);
    let error = people
        .update_by_id(15, |_| pipeline())
        .upsert(true)
        .await
        .unwrap_err();
    assert!(
        matches!(&error, Error::InvalidUpdate { path, .. } if path == "schema_version"),
        "{error}"
    );
    assert_eq!(
        people
            .update_by_id(14, |_| pipeline())
            .await
            .unwrap()
            .matched_count,
        1
    );
    env.stop().await;
}

#[tokio::test]
async fn documents_that_cannot_be_upgraded_are_errors() {
    let newer = doc! { "_id": 2_i64, "schema_version": 4 };
    let (env, people) = start([doc! { "_id": 1_i64, "name": "Ada" }, newer]).await;
    let namespace = people.namespace().to_string();
    let failed = people.find_by_id(1).await.unwrap_err();
    let Error::Upgrade {
        model,
        collection,
        id,
        from: 1,
        ..
    } = &failed
    else {
        panic!("{failed}");
    };
    assert_eq!(
        (*model, collection, id.as_deref()),
        ("Person", &namespace, Some(&Bson::Int64(1)))
    );
    assert_eq!(
        std::error::Error::source(&failed).unwrap().to_string(),
        "no last name"
    );
    for error in [
        people.find_by_id(2).await.unwrap_err(),
        people.find(|p| p._id().eq(2)).await.unwrap_err(),
    ] {
        assert_eq!(
            error.to_string(),
            format!(
                "document 2 of {namespace} has the schema version 4, and the model `Person` supports versions up to 3; deploy a \
                 release of the application whose model has version 4"
            )
        );
        let is_typed = matches!(
            error,
            Error::NewerSchema {
                model: "Person",
                stored: 4,
                supported: 3,
                ..
            }
        );
        assert!(is_typed, "{error:?}");
    }
    let other = doc! { "_id": 3_i64, "schema_version": "two" };
    raw(&people).insert_one(&other).await.unwrap();
    let error = people.find_by_id(3).await.unwrap_err();
    assert!(
        matches!(&error, Error::Decode { path, .. } if path == "schema_version"),
        "{error}"
    );
    env.stop().await;
}

#[tokio::test]
async fn change_events_contain_upgraded_documents() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let people = env.db.collection::<Person>();
    let watching = people.watch().full_document(FullDocument::UpdateLookup);
    let mut changes = watching.await.unwrap();
    raw(&people).insert_one(&one(1)).await.unwrap();
    raw(&people)
        .insert_one(&doc! { "_id": 2_i64, "schema_version": 9 })
        .await
        .unwrap();
    let event = changes.try_next().await.unwrap().expect("an event");
    assert_eq!(event.full_document, Some(ada(1)));
    let error = changes.try_next().await.unwrap_err();
    assert!(matches!(error, Error::NewerSchema { stored: 9, .. }), "{error}");
    env.stop().await;
}

/// A document without its version would be upgraded a second time.
#[tokio::test]
async fn pipelines_that_can_remove_the_version_are_rejected() {
    let env = Env::start().await;
    let people = env.db.collection::<Person>();
    people.insert_one(&ada(1)).await.unwrap();
    for (stage, reason) in [
        (
            doc! { "$replaceWith": { "first": "Ada", "last": "Lovelace", "tags": [] } },
            "the stage `$replaceWith`",
        ),
        (doc! { "$project": { "first": 1 } }, "the stage `$project`"),
        (doc! { "$set": { "schema_version": 9 } }, "`schema_version`"),
        (doc! { "$unset": "schema_version" }, "`schema_version`"),
    ] {
        let update = marula::Update::<Person>::pipeline([stage]);
        let error = people.update_by_id(1, |_| update).await.unwrap_err();
        assert!(matches!(error, Error::InvalidUpdate { .. }), "{error:?}");
        assert!(error.to_string().contains(reason), "{error}");
    }
    let stages = [
        doc! { "$addFields": { "first": "Ida" } },
        doc! { "$unset": ["other"] },
    ];
    let update = marula::Update::<Person>::pipeline(stages);
    people.update_by_id(1, |_| update).required().await.unwrap();
    assert_eq!(people.find_by_id(1).required().await.unwrap().first, "Ida");
    env.stop().await;
}
