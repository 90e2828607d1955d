//! Inserting, finding, updating and deleting documents.

use marula_driver::{
    ErrorKind, IndexModel, IntoUpdate, WriteFailure,
    bson::{Bson, Document, ObjectId, doc},
    options::{Collation, ReturnDocument, WriteConcern},
};
use marula_driver_tests::{any_deployment, standalone};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Person {
    #[serde(rename = "_id")]
    id: uuid::Uuid,
    name: String,
    age: u32,
    tags: Vec<String>,
}

fn person(name: &str, age: u32) -> Person {
    Person {
        id: uuid::Uuid::new_v4(),
        name: name.into(),
        age,
        tags: vec!["a".into(), "b".into()],
    }
}

#[tokio::test]
async fn typed_documents_round_trip() {
    let deployment = any_deployment().await;
    let people = deployment.collection::<Person>();
    let ada = person("Ada", 36);
    let inserted = people.insert_one(&ada).await.unwrap();
    assert!(matches!(inserted.inserted_id, Bson::Binary(ref id) if id.bytes == ada.id.as_bytes()));
    assert_eq!(people.find_one(doc! { "name": "Ada" }).await.unwrap(), Some(ada));
    assert_eq!(people.find_one(doc! { "name": "Bob" }).await.unwrap(), None);
}

#[tokio::test]
async fn an_id_is_generated_for_a_document_without_id() {
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    let inserted = things.insert_one(&doc! { "x": 1 }).await.unwrap().inserted_id;
    let id: ObjectId = inserted.as_object_id().expect("an ObjectId");
    let found = things
        .find_one(doc! { "_id": id })
        .await
        .unwrap()
        .expect("the document");
    assert_eq!(found, doc! { "_id": id, "x": 1 }, "_id is the first field");
    let own = things
        .insert_one(&doc! { "x": 1, "_id": "mine" })
        .await
        .unwrap()
        .inserted_id;
    assert_eq!(own, Bson::String("mine".into()));
}

#[tokio::test]
async fn options_of_find_are_applied() {
    let deployment = any_deployment().await;
    let people = deployment.collection::<Person>();
    let all: Vec<Person> = (0..10).map(|age| person(&format!("p{age}"), age)).collect();
    let inserted = people.insert_many(&all).await.unwrap();
    assert_eq!(inserted.inserted_ids.len(), 10);
    let page = people
        .find(doc! { "age": { "$gte": 2 } })
        .sort(doc! { "age": -1 })
        .skip(1)
        .limit(3)
        .await
        .unwrap();
    let ages: Vec<u32> = page
        .try_collect()
        .await
        .unwrap()
        .into_iter()
        .map(|p| p.age)
        .collect();
    assert_eq!(ages, [8, 7, 6]);
    let names = people
        .find(doc! { "age": 3 })
        .projection(doc! { "_id": 0, "name": 1 })
        .await
        .unwrap()
        .with_type::<Document>();
    assert_eq!(names.try_collect().await.unwrap(), [doc! { "name": "p3" }]);
    let folded = people
        .find_one(doc! { "name": "P4" })
        .collation(Collation::new("en").with_strength(2))
        .await
        .unwrap();
    assert_eq!(folded.map(|p| p.age), Some(4));
}

#[tokio::test]
async fn updates_report_matched_modified_and_upserted() {
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    things
        .insert_many(&[doc! { "_id": 1, "n": 1 }, doc! { "_id": 2, "n": 1 }])
        .await
        .unwrap();
    let one = things
        .update_one(doc! { "n": 1 }, doc! { "$inc": { "n": 1 } })
        .await
        .unwrap();
    assert_eq!(
        (one.matched_count, one.modified_count, one.upserted_id),
        (1, 1, None)
    );
    let many = things
        .update_many(doc! {}, doc! { "$set": { "n": 2 } })
        .await
        .unwrap();
    assert_eq!((many.matched_count, many.modified_count), (2, 1));
    let upsert = things
        .update_one(doc! { "_id": 9 }, doc! { "$set": { "n": 0 } })
        .upsert(true)
        .await
        .unwrap();
    assert_eq!(
        (upsert.matched_count, upsert.upserted_id),
        (0, Some(Bson::Int32(9)))
    );
    let replaced = things
        .replace_one(doc! { "_id": 9 }, &doc! { "m": 1 })
        .await
        .unwrap();
    assert_eq!(replaced.modified_count, 1);
    assert_eq!(
        things.find_one(doc! { "_id": 9 }).await.unwrap(),
        Some(doc! { "_id": 9, "m": 1 })
    );
    let pipeline = vec![doc! { "$set": { "n": { "$add": ["$n", 5] } } }];
    things
        .update_one(doc! { "_id": 1 }, pipeline.into_update_check())
        .await
        .unwrap();
    assert_eq!(
        things.find_one(doc! { "_id": 1 }).await.unwrap(),
        Some(doc! { "_id": 1, "n": 7 })
    );
}

/// Checks that a pipeline implements `IntoUpdate`.
trait Check: IntoUpdate + Sized {
    fn into_update_check(self) -> Self {
        self
    }
}
impl<T: IntoUpdate> Check for T {}

#[tokio::test]
async fn array_filters_select_elements() {
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    things
        .insert_one(&doc! { "_id": 1, "lines": [{ "sku": "a", "qty": 1 }, { "sku": "b", "qty": 1 }] })
        .await
        .unwrap();
    things
        .update_one(doc! { "_id": 1 }, doc! { "$inc": { "lines.$[l].qty": 4 } })
        .array_filters([doc! { "l.sku": "b" }])
        .await
        .unwrap();
    let found = things.find_one(doc! {}).await.unwrap().unwrap();
    assert_eq!(
        found,
        doc! { "_id": 1, "lines": [{ "sku": "a", "qty": 1 }, { "sku": "b", "qty": 5 }] }
    );
}

#[tokio::test]
async fn find_and_modify_returns_the_document() {
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    things.insert_one(&doc! { "_id": 1, "n": 1 }).await.unwrap();
    let inc = doc! { "$inc": { "n": 1 } };
    let before = things.find_one_and_update(doc! { "_id": 1 }, &inc).await.unwrap();
    assert_eq!(before, Some(doc! { "_id": 1, "n": 1 }));
    let after = things
        .find_one_and_update(doc! { "_id": 1 }, &inc)
        .return_document(ReturnDocument::After)
        .await
        .unwrap();
    assert_eq!(after, Some(doc! { "_id": 1, "n": 3 }));
    let replaced = things
        .find_one_and_replace(doc! { "_id": 1 }, &doc! { "m": 1 })
        .return_document(ReturnDocument::After)
        .await
        .unwrap();
    assert_eq!(replaced, Some(doc! { "_id": 1, "m": 1 }));
    assert_eq!(
        things.find_one_and_delete(doc! { "_id": 1 }).await.unwrap(),
        Some(doc! { "_id": 1, "m": 1 })
    );
    assert_eq!(things.find_one_and_delete(doc! { "_id": 1 }).await.unwrap(), None);
    assert_eq!(
        things.find_one_and_update(doc! { "_id": 7 }, inc).await.unwrap(),
        None
    );
}

#[tokio::test]
async fn deletes_counts_and_distinct_values() {
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    let all: Vec<Document> = (0..10)
        .map(|n| doc! { "_id": n, "even": n % 2 == 0, "third": n % 3 })
        .collect();
    things.insert_many(&all).await.unwrap();
    assert_eq!(things.count_documents(doc! { "even": true }).await.unwrap(), 5);
    assert_eq!(things.count_documents(doc! {}).skip(2).limit(5).await.unwrap(), 5);
    assert_eq!(things.count_documents(doc! { "none": 1 }).await.unwrap(), 0);
    assert_eq!(things.estimated_document_count().await.unwrap(), 10);
    let mut thirds: Vec<i32> = things
        .distinct("third", doc! {})
        .await
        .unwrap()
        .iter()
        .filter_map(Bson::as_i32)
        .collect();
    thirds.sort_unstable();
    assert_eq!(thirds, [0, 1, 2]);
    assert_eq!(
        things
            .delete_one(doc! { "even": true })
            .await
            .unwrap()
            .deleted_count,
        1
    );
    assert_eq!(
        things
            .delete_many(doc! { "even": true })
            .await
            .unwrap()
            .deleted_count,
        4
    );
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), 5);
}

#[tokio::test]
async fn a_duplicate_key_error_has_code_pattern_and_value() {
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    things.insert_one(&doc! { "_id": 1 }).await.unwrap();
    let error = things
        .insert_one(&doc! { "_id": 1 })
        .await
        .expect_err("a duplicate _id");
    assert!(error.is_duplicate_key());
    assert_eq!(error.code(), Some(11000));
    let ErrorKind::Write(WriteFailure {
        write_error: Some(write),
        ..
    }) = error.kind()
    else {
        panic!("{error}")
    };
    if !deployment.is_in_process() && write.key_pattern.is_none() {
        return deployment.skip("it does not report the pattern of a duplicate key");
    }
    assert_eq!(
        (write.index, write.key_pattern.clone(), write.key_value.clone()),
        (0, Some(doc! { "_id": 1 }), Some(doc! { "_id": 1 }))
    );
    assert!(error.server_response().is_some() && error.address().is_some());
}

/// BSON gives the keys of Extended JSON no meaning.
#[tokio::test]
async fn stored_documents_with_the_keys_of_extended_json_are_documents() {
    let deployment = standalone().await;
    let things = deployment.collection::<Document>();
    let key = doc! { "q": { "$date": "soon" } };
    let index = IndexModel::new(doc! { "k": 1 }).unique(true).sparse(true);
    things.create_index(index).await.unwrap();
    things.insert_one(&doc! { "_id": 1, "k": &key }).await.unwrap();
    let error = things
        .insert_one(&doc! { "_id": 2, "k": &key })
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(11000), "{error:?}");
    let [write] = error.write_errors() else {
        panic!("{error:?}");
    };
    assert_eq!(write.key_value, Some(doc! { "k": &key }));

    // The documents that were inserted are known.
    let documents = [doc! { "_id": 3 }, doc! { "_id": 4, "k": &key }, doc! { "_id": 5 }];
    let error = things.insert_many(&documents).ordered(false).await.unwrap_err();
    let ErrorKind::BulkWrite(failures) = error.kind() else {
        panic!("{error:?}");
    };
    let ids: Vec<&Bson> = failures.inserted_ids.values().collect();
    assert_eq!(ids, [&Bson::from(3), &Bson::from(5)]);
    assert_eq!(failures.write_errors[0].key_value, Some(doc! { "k": &key }));

    let client = things.database().client();
    let models = [things.insert_one_model(&documents[1])];
    let error = client.bulk_write(models).await.unwrap_err();
    let ErrorKind::ClientBulkWrite(failures) = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!(failures.write_errors[0].key_value, Some(doc! { "k": &key }));

    let values = things.distinct("k", doc! {}).await.unwrap();
    assert_eq!(values, [Bson::from(key.clone())]);
    let found = things.find_one(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(found, Some(doc! { "_id": 1, "k": key }));
}

#[tokio::test]
async fn arrays_and_slices_are_pipelines() {
    let deployment = standalone().await;
    let things = deployment.collection::<Document>();
    things.insert_one(&doc! { "_id": 1, "n": 0 }).await.unwrap();
    let stages = vec![doc! { "$set": { "n": { "$add": ["$n", 1] } } }];
    let one = [stages[0].clone()];
    things.update_one(doc! {}, &stages).await.unwrap();
    things.update_one(doc! {}, &stages[..]).await.unwrap();
    things.update_one(doc! {}, &one).await.unwrap();
    things.update_one(doc! {}, one).await.unwrap();
    let found = things.find_one_and_update(doc! {}, stages);
    let found = found.return_document(ReturnDocument::After).await.unwrap();
    assert_eq!(found, Some(doc! { "_id": 1, "n": 5 }));
}

#[tokio::test]
async fn errors_of_a_single_write_do_not_name_a_statement_index() {
    #[derive(serde::Serialize)]
    struct Large {
        big: u64,
    }
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    let ids = [doc! { "_id": 1 }, doc! { "_id": 2 }];
    things.insert_many(&ids).await.unwrap();
    for error in [
        things.insert_one(&doc! { "_id": 1 }).await.unwrap_err(),
        things
            .update_one(doc! { "_id": 1 }, doc! { "$set": { "_id": 2 } })
            .await
            .unwrap_err(),
    ] {
        let text = error.to_string();
        let code = error.code().unwrap();
        assert!(text.starts_with(&format!("write error {code}: ")), "{text}");
    }
    let large = deployment.collection::<Large>();
    let path = |error: marula_driver::Error| match error.kind() {
        ErrorKind::Encode(error) => error.path().to_owned(),
        _ => panic!("{error}"),
    };
    let documents = [Large { big: 1 }, Large { big: u64::MAX }];
    assert_eq!(path(large.insert_one(&documents[1]).await.unwrap_err()), "big");
    assert_eq!(
        path(large.insert_many(&documents).await.unwrap_err()),
        "documents[1].big"
    );
}

#[tokio::test]
async fn insert_many_reports_each_error_and_the_inserted_ids() {
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    let batch = [
        doc! { "_id": 1 },
        doc! { "_id": 1 },
        doc! { "_id": 2 },
        doc! { "_id": 2 },
        doc! { "_id": 3 },
    ];
    let error = things.insert_many(&batch).await.expect_err("ordered");
    let ErrorKind::BulkWrite(bulk) = error.kind() else {
        panic!("{error}")
    };
    assert_eq!(bulk.write_errors.iter().map(|e| e.index).collect::<Vec<_>>(), [1]);
    assert_eq!(bulk.inserted_ids.keys().copied().collect::<Vec<_>>(), [0]);
    things.delete_many(doc! {}).await.unwrap();
    let error = things
        .insert_many(&batch)
        .ordered(false)
        .await
        .expect_err("unordered");
    let ErrorKind::BulkWrite(bulk) = error.kind() else {
        panic!("{error}")
    };
    assert_eq!(
        bulk.write_errors.iter().map(|e| e.index).collect::<Vec<_>>(),
        [1, 3]
    );
    assert_eq!(bulk.inserted_ids.keys().copied().collect::<Vec<_>>(), [0, 2, 4]);
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), 3);
}

#[tokio::test]
async fn unacknowledged_writes_are_executed_without_a_reply() {
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    let silent = things.with_write_concern(WriteConcern::nodes(0));
    silent.insert_one(&doc! { "_id": 1, "n": 0 }).await.unwrap();
    silent
        .update_one(doc! { "_id": 1 }, doc! { "$set": { "n": 5 } })
        .await
        .unwrap();
    assert_eq!(
        silent.delete_one(doc! { "_id": 77 }).await.unwrap().deleted_count,
        0
    );
    match deployment.in_process("an unacknowledged write executed by the server") {
        Some(server) => server.wait_for_command("delete", 1).await,
        None => return,
    }
    assert_eq!(
        things.find_one(doc! {}).await.unwrap(),
        Some(doc! { "_id": 1, "n": 5 })
    );
}

#[tokio::test]
async fn a_decode_error_names_the_field() {
    let deployment = any_deployment().await;
    let people = deployment.collection::<Person>();
    people
        .clone_with_type::<Document>()
        .insert_one(&doc! { "_id": marula_driver::bson::Uuid::new(), "name": "x", "age": "old", "tags": [] })
        .await
        .unwrap();
    let error = people
        .find_one(doc! {})
        .await
        .expect_err("the age is not a number");
    let ErrorKind::Decode(decode) = error.kind() else {
        panic!("{error}")
    };
    assert_eq!(decode.path(), "age", "{error}");
}

#[tokio::test]
async fn inserted_ids_of_every_type_are_returned_across_commands() {
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    let filler = "x".repeat(1 << 20);
    let own = ObjectId::new();
    let documents: Vec<Document> = (0..60)
        .map(|place| match place % 4 {
            0 => doc! { "_id": ObjectId::new(), "place": place, "filler": &filler },
            1 => doc! { "place": place, "filler": &filler },
            2 => doc! { "place": place, "filler": &filler, "_id": place },
            _ if place == 55 || place == 59 => doc! { "_id": own, "place": place },
            _ => doc! { "_id": format!("{place}"), "place": place, "filler": &filler },
        })
        .collect();
    let error = things
        .insert_many(&documents)
        .ordered(false)
        .await
        .expect_err("a duplicate _id");
    if let Some(server) = deployment.in_process("the number of commands") {
        assert_eq!(server.commands_seen("insert"), 2);
    }
    let ErrorKind::BulkWrite(bulk) = error.kind() else {
        panic!("{error}")
    };
    assert_eq!(
        bulk.write_errors.iter().map(|e| e.index).collect::<Vec<_>>(),
        [59]
    );
    assert!(bulk.inserted_ids.keys().copied().eq(0..59));
    for (place, id) in &bulk.inserted_ids {
        if let Some(own) = documents[*place].get("_id") {
            assert_eq!(id, own);
        }
        let unique_index = things
            .find_one(doc! { "_id": id })
            .projection(doc! { "place": 1, "_id": 0 })
            .await;
        let stored = unique_index.unwrap().expect("the document");
        assert_eq!(stored, doc! { "place": i32::try_from(*place).unwrap() });
    }
}
