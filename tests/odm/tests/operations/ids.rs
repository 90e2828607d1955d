//! Ids of inserted, upserted and replaced documents: the model can deserialize them, and they are
//! not null.

use crate::common::Env;
use marula::bson::{Bson, Document as Doc, ObjectId, doc};
use marula::driver::options::ReturnDocument;
use marula::prelude::*;
use marula::{Collection, Document, Embedded, Error, Filter, Update};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Defines a model with a type and a source of ids.
macro_rules! model {
    ($name:ident, $id:ty, #[$source:meta] $(, #[$serde:meta])?) => {
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
        #[document(collection = "things")]
        struct $name {
            #[serde(rename = "_id")]
            $(#[$serde])?
            #[$source]
            id: $id,
            number: i64,
        }

        impl $name {
            #[allow(dead_code, reason = "not every model of this form needs it")]
            fn new(id: $id, number: i64) -> Self {
                $name { id, number }
            }
        }
    };
}

model!(Auto, Uuid, #[document(id)]);
model!(Random, Uuid, #[document(id = uuid_v4)]);
model!(Object, ObjectId, #[document(id = object_id)]);
model!(Manual, i64, #[document(id = manual)]);
model!(Nullable, Option<ObjectId>, #[document(id)]);
model!(NullableUuid, Option<Uuid>, #[document(id = uuid_v7)], #[serde(skip_serializing_if = "Option::is_none")]);
model!(NullableText, Option<String>, #[document(id)]);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Key(String);

model!(Newtype, Key, #[document(id)]);

async fn raw<D: Model>(things: &Collection<D>) -> Vec<Doc> {
    let all = things.driver().clone_with_type::<Doc>();
    let found = all.find(doc! {}).await.expect("a cursor");
    found.try_collect().await.expect("documents")
}

fn missing(error: Error) -> &'static str {
    match error {
        Error::MissingId { collection, reason } => {
            assert!(collection.ends_with(".things"), "{collection}");
            reason
        }
        other => panic!("{other}"),
    }
}

/// All forms of upserts that insert a document with an id.
macro_rules! upserts {
    ($things:expr, $new:ident) => {{
        let things: &Collection<$new> = $things;
        let result = things
            .update_one(|t| t.number().eq(1), |t| t.number().set(1))
            .upsert(true)
            .await
            .unwrap();
        assert!(result.upserted_id.is_some());
        let set = things
            .update_many(|t| t.number().eq(2), |t| t.number().set_on_insert(2))
            .upsert(true)
            .await;
        assert!(set.unwrap().upserted_id.is_some());
        let piped = things
            .update_one(
                |_| Filter::raw(doc! { "number": 3_i64 }),
                |_| Update::pipeline([doc! { "$set": { "number": { "$add": ["$number", 0_i64] } } }]),
            )
            .upsert(true)
            .await;
        assert!(piped.unwrap().upserted_id.is_some());
        let found = things
            .find_one_and_update(|t| t.number().eq(4), |t| t.number().max(4))
            .upsert(true)
            .return_document(ReturnDocument::After)
            .required()
            .await
            .unwrap();
        assert_eq!(found.number, 4);
        let again = things
            .update_one(|t| t.number().eq(4), |t| t.number().inc(10))
            .upsert(true)
            .required()
            .await
            .unwrap();
        assert_eq!((again.matched_count, again.upserted_id), (1, None));
        let piped = things
            .update_one(
                |t| t.number().eq(14),
                |_| Update::pipeline([doc! { "$set": { "number": 15_i64 } }]),
            )
            .upsert(true)
            .required()
            .await
            .unwrap();
        assert_eq!((piped.matched_count, piped.upserted_id), (1, None));
        let read = things.find_all().sort(|t| t.number().asc()).await.unwrap();
        assert_eq!(read.iter().map(|t| t.number).collect::<Vec<_>>(), [1, 2, 3, 15]);
        read
    }};
}

#[tokio::test]
async fn upserted_documents_can_be_deserialized() {
    let env = Env::start().await;
    let read = upserts!(&env.db.collection::<Auto>().named("things1"), Auto);
    assert!(read.iter().all(|t| t.id.get_version_num() == 7));
    let read = upserts!(&env.db.collection::<Random>().named("things2"), Random);
    assert!(read.iter().all(|t| t.id.get_version_num() == 4));
    upserts!(&env.db.collection::<Object>().named("things3"), Object);
    let read = upserts!(&env.db.collection::<Nullable>().named("things4"), Nullable);
    assert!(read.iter().all(|t| t.id.is_some()));
    let read = upserts!(
        &env.db.collection::<NullableUuid>().named("things5"),
        NullableUuid
    );
    assert!(read.iter().all(|t| t.id.is_some()));
    env.stop().await;
}

#[tokio::test]
async fn an_id_of_the_filter_or_of_the_update_is_kept() {
    let env = Env::start().await;
    let things = env.db.collection::<Auto>();
    let id = |n| Uuid::from_u128(n);
    let filters = [
        Auto::fields().id().eq(id(1)),
        Auto::fields().number().eq(0) & Auto::fields().id().eq(id(2)),
        Auto::fields().id().is_in([id(3)]),
        (Auto::fields().id().eq(id(4)) & Auto::fields().number().gt(5)) & Auto::fields().number().gt(6),
    ];
    for filter in filters {
        things
            .filter(filter.clone())
            .update_one(|t| t.number().set(0))
            .upsert(true)
            .required()
            .await
            .unwrap_or_else(|e| panic!("{filter}: {e}"));
    }
    things
        .update_one(|t| t.number().eq(5), |t| t.id().set_on_insert(id(5)))
        .upsert(true)
        .await
        .unwrap();
    things
        .update_by_id(id(6), |t| t.number().set(0))
        .upsert(true)
        .await
        .unwrap();
    let mut ids: Vec<Uuid> = things.find_all().await.unwrap().iter().map(|t| t.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6].map(Uuid::from_u128));
    env.stop().await;
}

/// Pipelines with a stage that removes `_id`.
fn dropping_pipelines() -> Vec<Vec<Doc>> {
    let number = || doc! { "number": 9_i64 };
    vec![
        vec![doc! { "$replaceWith": { "number": 9_i64 } }],
        vec![doc! { "$replaceWith": { "$mergeObjects": [{ "number": 9_i64 }] } }],
        vec![doc! { "$replaceRoot": { "newRoot": number() } }],
        vec![
            doc! { "$set": number() },
            doc! { "$project": { "_id": 0, "number": 1 } },
        ],
        vec![doc! { "$project": { "_id": 0 } }, doc! { "$set": number() }],
        vec![doc! { "$set": number() }, doc! { "$unset": "_id" }],
        vec![doc! { "$unset": ["_id", "other"] }, doc! { "$set": number() }],
        vec![
            doc! { "$replaceWith": { "a": 1 } },
            doc! { "$replaceWith": number() },
        ],
    ]
}

/// Upserts with each of the pipelines.
macro_rules! upserts_that_replace {
    ($things:expr, $new:ident) => {{
        let things: Collection<$new> = $things;
        let mut results = Vec::new();
        for stages in dropping_pipelines() {
            let upsert = things
                .update_one(|t| t.number().eq(1), |_| Update::pipeline(stages))
                .upsert(true);
            results.push(upsert.await);
        }
        let read = things.find_all().await.unwrap();
        (results, read.len())
    }};
}

/// The id of an inserted document could not be distinguished from that of an existing one.
#[tokio::test]
async fn upserts_with_pipelines_that_can_remove_a_generated_id_are_rejected() {
    let env = Env::start().await;
    let generated = [
        upserts_that_replace!(env.db.collection::<Auto>().named("things1"), Auto),
        upserts_that_replace!(env.db.collection::<NullableUuid>().named("things2"), NullableUuid),
    ];
    for (results, count) in generated {
        for result in results {
            let error = result.unwrap_err();
            assert!(matches!(error, marula::Error::InvalidUpdate { .. }), "{error:?}");
        }
        assert_eq!(count, 0);
    }
    // The server itself gives a document an `ObjectId`.
    let of_the_server = [
        upserts_that_replace!(env.db.collection::<Object>().named("things3"), Object),
        upserts_that_replace!(env.db.collection::<Nullable>().named("things4"), Nullable),
    ];
    for (results, count) in of_the_server {
        assert_eq!(count, results.len());
        for result in results {
            assert!(result.unwrap().upserted_id.is_some());
        }
    }
    env.stop().await;
}

#[tokio::test]
async fn an_id_of_a_replacing_pipeline_is_kept() {
    let env = Env::start().await;
    let things = env.db.collection::<Manual>();
    let stages = [doc! { "$replaceWith": { "_id": 7_i64, "number": 9_i64 } }];
    for matched in [0, 1] {
        let result = things
            .update_one(|t| t.number().eq(9), |_| Update::pipeline(stages.clone()))
            .upsert(true)
            .await
            .unwrap();
        assert_eq!(result.matched_count, matched);
        assert_eq!(things.find_all().await.unwrap(), [Manual::new(7, 9)]);
    }
    env.stop().await;
}

#[tokio::test]
async fn upserts_without_an_id_are_rejected_if_the_application_sets_ids() {
    let env = Env::start().await;
    let things = env.db.collection::<Manual>();
    let pipeline = || Update::pipeline([doc! { "$set": { "number": 1_i64 } }]);
    let refused = [
        things
            .update_one(|t| t.number().eq(1), |t| t.number().set(1))
            .upsert(true)
            .await
            .err(),
        things
            .update_many(|t| t.number().eq(1), |t| t.number().set(1))
            .upsert(true)
            .await
            .err(),
        things
            .update_one(|t| t.number().eq(1), |_| pipeline())
            .upsert(true)
            .await
            .err(),
        things
            .update_one(|t| t.id().gt(1), |t| t.number().set(1))
            .upsert(true)
            .await
            .err(),
        things
            .find_one_and_update(|t| t.number().eq(1), |t| t.number().set(1))
            .upsert(true)
            .await
            .err(),
    ];
    for error in refused {
        assert!(missing(error.expect("refused")).contains("has no source of ids"));
    }
    let newtypes = env.db.collection::<Newtype>();
    let refused = newtypes
        .update_one(|t| t.number().eq(1), |t| t.number().set(1))
        .upsert(true)
        .await;
    missing(refused.unwrap_err());
    assert!(raw(&things).await.is_empty(), "nothing was sent");
    things
        .update_by_id(1, |t| t.number().set(1))
        .upsert(true)
        .await
        .unwrap();
    things
        .update_one(|t| t.number().eq(2), |t| t.id().set_on_insert(2))
        .upsert(true)
        .await
        .unwrap();
    things
        .update_one(
            |t| t.number().eq(3),
            |_| Update::pipeline([doc! { "$set": { "_id": { "$ifNull": ["$_id", 3_i64] } } }]),
        )
        .upsert(true)
        .await
        .unwrap();
    let replaced = Manual::new(4, 4);
    things.replace(&replaced).upsert(true).await.unwrap();
    things
        .find_one_and_replace(|t| t.number().eq(5), &Manual::new(5, 5))
        .upsert(true)
        .await
        .unwrap();
    let read = things.find_all().sort(|t| t.id().asc()).await.unwrap();
    assert_eq!(read, [1, 2, 3, 4, 5].map(|n| Manual::new(n, n)));
    env.stop().await;
}

#[tokio::test]
async fn inserts_generate_ids_for_none_and_return_them() {
    let env = Env::start().await;
    if env.is_before(4, 4).await {
        return env.stop().await;
    }
    let things = env.db.collection::<Nullable>();
    let one = things.insert_one(&Nullable::new(None, 1)).await.unwrap();
    let given = Nullable::new(Nullable::new_id(), 2);
    let many = things
        .insert_many(&[given.clone(), Nullable::new(None, 3)])
        .comment("a note")
        .await
        .unwrap();
    let read = things.find_all().sort(|t| t.number().asc()).await.unwrap();
    let ids: Vec<Bson> = read.iter().map(|t| Bson::from(t.id.expect("an id"))).collect();
    assert_eq!(one.inserted_id, ids[0]);
    assert_eq!(many.inserted_ids.into_values().collect::<Vec<_>>(), ids[1..]);
    assert_eq!(read[1], given);

    let uuids = env.db.collection::<NullableUuid>().named("uuids");
    uuids.insert_one(&NullableUuid::new(None, 1)).await.unwrap();
    uuids.insert_many(&[NullableUuid::new(None, 2)]).await.unwrap();
    let read = uuids.find_all().await.unwrap();
    assert!(
        read.iter()
            .all(|t| t.id.is_some_and(|id| id.get_version_num() == 7)),
        "{read:?}"
    );

    let texts = env.db.collection::<NullableText>();
    let none = NullableText::new(None, 1);
    for refused in [
        texts.insert_one(&none).await.unwrap_err(),
        texts.insert_many(std::slice::from_ref(&none)).await.unwrap_err(),
    ] {
        assert!(missing(refused).contains("no source"));
    }
    let own = things.insert_one(&Nullable::new(given.id, 9)).await.unwrap_err();
    assert!(matches!(own, Error::Duplicate { .. }), "{own}");
    env.stop().await;
}

#[tokio::test]
async fn a_null_id_counts_as_missing() {
    let env = Env::start().await;
    let things = env.db.collection::<Nullable>();
    // As another program may have stored it.
    let others = things.driver().clone_with_type::<Doc>();
    others
        .insert_one(&doc! { "_id": null, "number": 1_i64 })
        .await
        .unwrap();
    let unsaved = Nullable::new(None, 2);
    let nothing = None::<ObjectId>;
    for (error, advice) in [
        (things.replace(&unsaved).await.unwrap_err(), "replace_one"),
        (things.find_by_id(nothing).await.unwrap_err(), "use a filter"),
    ] {
        let text = error.to_string();
        assert!(text.contains("argument is `None`"), "{text}");
        assert!(text.contains(advice) && !text.contains("has no id"), "{text}");
    }
    for error in [
        things.replace(&unsaved).await.unwrap_err(),
        things.replace(&unsaved).upsert(true).await.unwrap_err(),
        things.find_by_id(nothing).await.unwrap_err(),
        things
            .update_by_id(nothing, |t| t.number().set(2))
            .await
            .unwrap_err(),
        things.delete_by_id(nothing).await.unwrap_err(),
        things
            .replace_one(|t| t.number().eq(7), &unsaved)
            .upsert(true)
            .await
            .unwrap_err(),
        things
            .find_one_and_replace(|t| t.number().eq(7), &unsaved)
            .upsert(true)
            .await
            .unwrap_err(),
        things
            .update_one(|t| t.id().eq(nothing), |t| t.number().set(2))
            .upsert(true)
            .await
            .unwrap_err(),
        things
            .update_one(|t| t.number().eq(7), |t| t.id().set_on_insert(nothing))
            .upsert(true)
            .await
            .unwrap_err(),
    ] {
        missing(error);
    }
    assert_eq!(raw(&things).await, [doc! { "_id": null, "number": 1_i64 }]);
    // A replacement without an id keeps the stored id.
    let id = ObjectId::new();
    things.insert_one(&Nullable::new(Some(id), 3)).await.unwrap();
    let unsaved = Nullable::new(None, 4);
    things
        .replace_one(|t| t.number().eq(3), &unsaved)
        .required()
        .await
        .unwrap();
    let before = things
        .find_one_and_replace(|t| t.number().eq(4), &Nullable::new(None, 5))
        .required()
        .await;
    assert_eq!(before.unwrap(), Nullable::new(Some(id), 4));
    things
        .replace_one(|t| t.id().eq(ObjectId::from_bytes([1; 12])), &unsaved)
        .upsert(true)
        .await
        .unwrap();
    assert_eq!(things.count(|t| t.id().is_not_null()).await.unwrap(), 2);
    env.stop().await;
}
