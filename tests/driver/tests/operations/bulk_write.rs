//! Bulk writes on a collection.

use std::collections::BTreeMap;

use marula_driver::{
    ErrorKind, WriteModel,
    bson::{Bson, Document, doc},
};
use marula_driver_tests::{any_deployment, replica_set};

#[tokio::test]
async fn writes_of_all_kinds_are_run_in_order() {
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    let done = things
        .bulk_write([
            WriteModel::insert_one(&doc! { "_id": 1, "n": 0 }),
            WriteModel::insert_one(&doc! { "_id": 2, "n": 0 }),
            WriteModel::update_many(doc! {}, doc! { "$inc": { "n": 1 } }),
            WriteModel::replace_one(doc! { "_id": 3 }, &doc! { "n": 7 }).upsert(true),
            WriteModel::delete_one(doc! { "_id": 1 }),
            WriteModel::delete_many(doc! { "n": { "$gt": 100 } }),
        ])
        .await
        .unwrap();
    assert_eq!(
        (
            done.inserted_count,
            done.matched_count,
            done.modified_count,
            done.deleted_count
        ),
        (2, 2, 2, 1)
    );
    assert_eq!(
        done.inserted_ids,
        BTreeMap::from([(0, Bson::Int32(1)), (1, Bson::Int32(2))])
    );
    assert_eq!(done.upserted_ids, BTreeMap::from([(3, Bson::Int32(3))]));
    let left: Vec<Document> = things
        .find(doc! {})
        .sort(doc! { "_id": 1 })
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(left, [doc! { "_id": 2, "n": 1 }, doc! { "_id": 3, "n": 7 }]);
}

#[tokio::test]
async fn an_ordered_bulk_write_stops_at_the_first_error_and_an_unordered_one_continues() {
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    let models = || {
        [
            WriteModel::insert_one(&doc! { "_id": 1 }),
            WriteModel::insert_one(&doc! { "_id": 1 }),
            WriteModel::delete_one(doc! { "_id": 1 }),
        ]
    };
    let error = things.bulk_write(models()).await.unwrap_err();
    let ErrorKind::BulkWrite(bulk) = error.kind() else {
        panic!("{error}");
    };
    assert_eq!(error.code(), Some(11000));
    assert_eq!((bulk.write_errors[0].index, bulk.deleted_count), (1, 0));
    assert_eq!(bulk.inserted_ids, BTreeMap::from([(0, Bson::Int32(1))]));
    let error = things.bulk_write(models()).ordered(false).await.unwrap_err();
    let ErrorKind::BulkWrite(bulk) = error.kind() else {
        panic!("{error}");
    };
    assert_eq!(bulk.write_errors.len(), 2);
    assert_eq!(bulk.deleted_count, 1);
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), 0);
}

#[tokio::test]
async fn many_models_are_split_into_commands() {
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    let filler = "x".repeat(1 << 20);
    let models: Vec<WriteModel> = (0..60)
        .map(|id| WriteModel::insert_one(&doc! { "_id": id, "filler": &filler }))
        .collect();
    let done = things.bulk_write(models).await.unwrap();
    assert_eq!((done.inserted_count, done.inserted_ids.len()), (60, 60));
    if let Some(server) = deployment.in_process("the number of commands") {
        assert!(server.commands_seen("insert") >= 2);
    }
}

#[tokio::test]
async fn a_command_without_multi_statements_is_retried() {
    let deployment = replica_set().await;
    let things = deployment.collection::<Document>();
    let admin = deployment.client.database("admin");
    let fail_once = doc! { "configureFailPoint": "failCommand", "mode": { "times": 1 },
    "data": { "failCommands": ["update"], "closeConnection": true } };
    admin.run_command(fail_once.clone()).await.unwrap();
    let one = WriteModel::update_one(doc! { "_id": 1 }, doc! { "$inc": { "n": 1 } }).upsert(true);
    let done = things.bulk_write([one.clone()]).await.unwrap();
    assert_eq!(done.upserted_ids.len(), 1);
    admin.run_command(fail_once).await.unwrap();
    let many = WriteModel::update_many(doc! {}, doc! { "$inc": { "n": 1 } });
    let error = things
        .bulk_write([WriteModel::insert_one(&doc! { "_id": 2 }), one, many])
        .await
        .unwrap_err();
    let ErrorKind::BulkWrite(bulk) = error.kind() else {
        panic!("{error}");
    };
    assert!(
        bulk.interrupted_by
            .as_ref()
            .is_some_and(marula_driver::Error::is_network)
    );
    assert_eq!(
        bulk.inserted_ids.len(),
        1,
        "the error contains the partial result"
    );
}

#[tokio::test]
async fn invalid_models_are_rejected() {
    let deployment = any_deployment().await;
    let things = deployment.collection::<Document>();
    let error = things.bulk_write([]).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)));
    let no_operator = WriteModel::update_one(doc! {}, doc! { "n": 1 });
    let error = things
        .bulk_write([WriteModel::insert_one(&doc! {}), no_operator])
        .await
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)));
    assert!(error.to_string().contains("models[1]: "), "{error}");
    let hinted = WriteModel::insert_one(&doc! {}).hint("a_1");
    let error = things.bulk_write([hinted]).await.unwrap_err();
    assert!(error.to_string().contains("models[0]: "), "{error}");
    #[derive(serde::Serialize)]
    struct Large {
        n: u64,
    }
    let large = WriteModel::insert_one(&Large { n: u64::MAX });
    let error = things
        .bulk_write([WriteModel::delete_one(doc! {}), large])
        .await
        .unwrap_err();
    let ErrorKind::Encode(encode) = error.kind() else {
        panic!("{error}");
    };
    assert_eq!(encode.path(), "models[1].n");
    assert_eq!(
        things.count_documents(doc! {}).await.unwrap(),
        0,
        "no command was sent"
    );
}
