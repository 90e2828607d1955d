//! Client bulk writes: `bulkWrite` on several collections. See also `crud_prose`.

use std::collections::BTreeMap;

use marula_driver::{
    ClientBulkWriteError, ClientWriteModel, Error, ErrorKind, Namespace, RETRYABLE_WRITE_ERROR, WriteModel,
    bson::{Bson, Document, doc},
    options::WriteConcern,
};
use marula_driver_tests::{Deployment, Target, any_deployment, recorded, replica_set, standalone};
use marula_test_server::TestServer;
use serde::Serialize;

#[derive(Serialize)]
struct Order {
    _id: i32,
    sku: &'static str,
}

/// The deployment, unless it does not support the command.
async fn with_bulk_write() -> Option<Target> {
    let target = any_deployment().await;
    let admin = target.client.database("admin");
    let hello = admin.run_command(doc! { "hello": 1 }).await.expect("a reply");
    if hello.get_i32("maxWireVersion").expect("a number") < 25 {
        target.skip("bulkWrite requires MongoDB 8.0");
        return None;
    }
    Some(target)
}

fn bulk_error(error: &Error) -> &ClientBulkWriteError {
    match error.kind() {
        ErrorKind::ClientBulkWrite(bulk) => bulk,
        _ => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn writes_of_all_kinds_to_several_collections_are_one_command() {
    let Some(target) = with_bulk_write().await else {
        return;
    };
    let recorded = recorded(target, "");
    let shop = recorded.things().database().clone();
    let orders = shop.collection::<Order>("orders");
    let stock = shop.collection::<Document>("stock");
    let done = recorded
        .client
        .bulk_write([
            orders.insert_one_model(&Order { _id: 1, sku: "a" }),
            stock
                .update_one_model(doc! { "_id": "a" }, doc! { "$inc": { "sold": 1 } })
                .upsert(true),
            orders.insert_one_model(&Order { _id: 2, sku: "b" }),
            stock.update_many_model(
                doc! {},
                vec![doc! { "$set": { "sold": { "$add": ["$sold", 1] } } }],
            ),
            orders.replace_one_model(doc! { "_id": 2 }, &Order { _id: 2, sku: "c" }),
            orders.delete_one_model(doc! { "_id": 1 }),
            stock.delete_many_model(doc! { "sold": 0 }),
        ])
        .verbose_results(true)
        .await
        .unwrap();
    assert!(done.acknowledged);
    assert_eq!((done.inserted_count, done.upserted_count), (2, 1));
    assert_eq!(
        (done.matched_count, done.modified_count, done.deleted_count),
        (2, 2, 1)
    );
    let verbose = done.verbose_results.unwrap();
    let ids: BTreeMap<usize, Bson> = verbose
        .insert_results
        .into_iter()
        .map(|(index, result)| (index, result.inserted_id))
        .collect();
    assert_eq!(ids, BTreeMap::from([(0, Bson::Int32(1)), (2, Bson::Int32(2))]));
    assert_eq!(verbose.update_results[&1].upserted_id, Some(Bson::from("a")));
    assert_eq!(verbose.update_results[&3].modified_count, 1);
    assert_eq!(
        (
            verbose.delete_results[&5].deleted_count,
            verbose.delete_results[&6].deleted_count
        ),
        (1, 0)
    );
    assert_eq!(recorded.commands.operations(), [["bulkWrite"]]);
    let orders = orders.clone_with_type::<Document>();
    assert_eq!(
        orders.find_one(doc! {}).await.unwrap(),
        Some(doc! { "_id": 2, "sku": "c" })
    );
    assert_eq!(
        stock.find_one(doc! {}).await.unwrap(),
        Some(doc! { "_id": "a", "sold": 2 })
    );
}

#[tokio::test]
async fn an_ordered_bulk_write_stops_at_the_first_error_and_an_unordered_one_continues() {
    let Some(target) = with_bulk_write().await else {
        return;
    };
    let (a, b) = (target.collection::<Document>(), target.collection::<Document>());
    let models = || {
        [
            a.insert_one_model(&doc! { "_id": 1 }),
            b.insert_one_model(&doc! { "_id": 1 }),
            a.insert_one_model(&doc! { "_id": 1 }),
            a.delete_one_model(doc! { "_id": 1 }),
        ]
    };
    let error = target.client.bulk_write(models()).await.unwrap_err();
    assert!(error.is_duplicate_key());
    assert_eq!(error.code(), Some(11000));
    let bulk = bulk_error(&error);
    assert_eq!((bulk.write_errors.len(), bulk.write_errors[0].index), (1, 2));
    assert_eq!(bulk.write_errors[0].key_value, Some(doc! { "_id": 1 }));
    let partial = bulk.partial_result.as_ref().unwrap();
    assert_eq!((partial.inserted_count, partial.deleted_count), (2, 0));
    let error = target
        .client
        .bulk_write(models())
        .ordered(false)
        .await
        .unwrap_err();
    let indexes: Vec<usize> = error.write_errors().iter().map(|error| error.index).collect();
    assert_eq!(indexes, [0, 1, 2]);
    assert_eq!(
        bulk_error(&error).partial_result.as_ref().unwrap().deleted_count,
        1
    );
}

#[tokio::test]
async fn invalid_models_are_rejected_before_anything_is_sent() {
    let recorded = recorded(standalone().await, "");
    let (client, things) = (&recorded.client, recorded.things());
    let refused = async |models: Vec<ClientWriteModel>| client.bulk_write(models).await.unwrap_err();
    let error = refused(Vec::new()).await;
    assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error:?}");
    let valid = || things.insert_one_model(&doc! {});
    let replacement = things.clone_with_type::<Document>();
    for invalid in [
        things.update_one_model(doc! {}, doc! {}),
        things.update_one_model(doc! {}, doc! { "n": 1 }),
        things.update_many_model(doc! {}, doc! { "n": 1 }),
        things
            .update_many_model(doc! {}, doc! { "$set": { "n": 1 } })
            .sort(doc! { "n": 1 }),
        replacement.replace_one_model(doc! {}, &doc! { "$set": { "n": 1 } }),
        things.delete_one_model(doc! {}).upsert(true),
        things.insert_one_model(&doc! {}).hint("n_1"),
    ] {
        let error = refused(vec![valid(), invalid]).await;
        assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error:?}");
        assert!(error.to_string().contains("models[1]: "), "{error}");
    }
    #[derive(Serialize)]
    struct Large {
        n: u64,
    }
    let larges = things.clone_with_type::<Large>();
    let models = (0..10_000).map(|index| {
        larges.insert_one_model(&Large {
            n: if index < 5000 { 0 } else { u64::MAX },
        })
    });
    let error = client.bulk_write(models).await.unwrap_err();
    let ErrorKind::Encode(encode) = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!(encode.path(), "models[5000].n");
    assert!(recorded.commands.is_empty(), "nothing was sent");
}

#[tokio::test]
async fn unacknowledged_writes_must_be_unordered_and_without_verbose_results() {
    let recorded = recorded(standalone().await, "");
    let things = recorded.things();
    let model = || [things.insert_one_model(&doc! { "_id": 1 })];
    let unacknowledged = || {
        recorded
            .client
            .bulk_write(model())
            .write_concern(WriteConcern::nodes(0))
    };
    for (error, text) in [
        (unacknowledged().await.unwrap_err(), "ordered writes"),
        (
            unacknowledged().ordered(true).await.unwrap_err(),
            "ordered writes",
        ),
        (
            unacknowledged()
                .ordered(false)
                .verbose_results(true)
                .await
                .unwrap_err(),
            "verbose results",
        ),
    ] {
        assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error:?}");
        assert!(error.to_string().contains(text), "{error}");
    }
    assert!(recorded.commands.is_empty());
    let done = unacknowledged().ordered(false).await.unwrap();
    assert_eq!(done, marula_driver::ClientBulkWriteResult::default());
    let command = recorded.commands.only_command();
    assert!(!command.contains_key("lsid") && !command.contains_key("txnNumber"));
    // On the same connection, so after the write.
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), 1);
}

#[tokio::test]
async fn the_write_concern_of_the_client_has_no_effect_in_a_transaction() {
    let recorded = recorded(replica_set().await, "w=0");
    let things = recorded.things();
    let mut session = recorded.client.start_session().await.unwrap();
    let start = session.start_transaction();
    start.write_concern(WriteConcern::majority()).await.unwrap();
    let models = || [things.insert_one_model(&doc! { "_id": 1 })];
    let action = recorded.client.bulk_write(models()).verbose_results(true);
    let done = action.session(&mut session).await.unwrap();
    assert!(done.acknowledged);
    assert_eq!(done.verbose_results.unwrap().insert_results.len(), 1);
    assert!(!recorded.commands.only_command().contains_key("writeConcern"));
    let action = recorded.client.bulk_write(models()).session(&mut session);
    let error = action.write_concern(WriteConcern::nodes(1)).await.unwrap_err();
    assert!(error.to_string().contains("write concern"), "{error}");
    assert!(recorded.commands.is_empty());
}

#[tokio::test]
async fn older_servers_are_not_supported() {
    let server = TestServer::builder()
        .standalone()
        .version("7.0")
        .start()
        .await
        .unwrap();
    let deployment = Deployment::of(server, "").await;
    let things = deployment.collection::<Document>();
    let models = [things.insert_one_model(&doc! {})];
    let error = deployment.client.bulk_write(models).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error:?}");
    assert!(error.to_string().contains("8.0"), "{error}");
    assert_eq!(deployment.server.commands_seen("bulkWrite"), 0);
}

#[tokio::test]
async fn errors_of_the_server_before_any_write_are_returned_as_they_are() {
    let Some(target) = with_bulk_write().await else {
        return;
    };
    let insert = || WriteModel::insert_one(&doc! { "_id": 1 });
    let things = target.collection::<Document>();
    let invalid = ClientWriteModel::new(Namespace::new("", "things"), insert());
    let models = [things.insert_one_model(&doc! { "_id": 1 }), invalid];
    let error = target.client.bulk_write(models).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Command(_)), "{error:?}");
    assert_eq!(error.code(), Some(73));
    assert!(error.server_response().is_some());
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), 0);
    // The server enforces the size of documents.
    let large = doc! { "_id": 2, "a": "x".repeat(16 << 20) };
    let models = [
        things.insert_one_model(&doc! { "_id": 1 }),
        things.insert_one_model(&large),
    ];
    let error = target.client.bulk_write(models).await.unwrap_err();
    assert!(error.code().is_some() && !error.is_network(), "{error:?}");
}

#[tokio::test]
async fn commands_without_multi_writes_are_retried() {
    let deployment = replica_set().await;
    let things = deployment.collection::<Document>();
    let admin = deployment.client.database("admin");
    let fail = async |times: i32, data: Document| {
        let mut data = data;
        data.insert("failCommands", ["bulkWrite"]);
        let fail = doc! { "configureFailPoint": "failCommand", "mode": { "times": times }, "data": data };
        admin.run_command(fail).await.unwrap();
    };
    let insert = |id: i32| things.insert_one_model(&doc! { "_id": id });
    fail(1, doc! { "closeConnection": true }).await;
    let done = deployment
        .client
        .bulk_write([insert(1), insert(2)])
        .await
        .unwrap();
    assert_eq!(done.inserted_count, 2);
    fail(1, doc! { "closeConnection": true }).await;
    let many = things.delete_many_model(doc! {});
    let error = deployment.client.bulk_write([insert(3), many]).await.unwrap_err();
    assert!(error.is_network(), "{error:?}");
    // A retryable write concern error is retried once, then it belongs to the result.
    let concern_error =
        doc! { "code": 64, "errmsg": "not replicated", "errorLabels": [RETRYABLE_WRITE_ERROR] };
    let data = doc! { "writeConcernError": concern_error, "errorLabels": [RETRYABLE_WRITE_ERROR] };
    fail(1, data.clone()).await;
    let done = deployment.client.bulk_write([insert(4)]).await.unwrap();
    assert_eq!(done.inserted_count, 1);
    fail(2, data).await;
    let seen = deployment.server.commands_seen("bulkWrite");
    let action = deployment
        .client
        .bulk_write([insert(5), insert(5)])
        .ordered(false);
    let error = action.verbose_results(true).await.unwrap_err();
    assert_eq!(deployment.server.commands_seen("bulkWrite"), seen + 2);
    assert!(error.contains_label(RETRYABLE_WRITE_ERROR), "{error}");
    let bulk = bulk_error(&error);
    assert_eq!((bulk.write_concern_errors.len(), bulk.write_errors.len()), (1, 1));
    let partial = bulk.partial_result.as_ref().unwrap();
    assert_eq!(partial.inserted_count, 1);
    assert_eq!(partial.verbose_results.as_ref().unwrap().insert_results.len(), 1);
}

#[tokio::test]
async fn all_commands_use_the_session_of_the_call() {
    let recorded = recorded(standalone().await, "");
    let things = recorded.things();
    let mut session = recorded.client.start_session().await.unwrap();
    // The results do not fit into one batch.
    let models = ["a", "b"].map(|letter| {
        let filter = doc! { "_id": letter.repeat(8 << 20) };
        things
            .update_one_model(filter, doc! { "$set": { "x": 1 } })
            .upsert(true)
    });
    let action = recorded.client.bulk_write(models).verbose_results(true);
    let done = action.session(&mut session).await.unwrap();
    assert_eq!(done.verbose_results.unwrap().update_results.len(), 2);
    let commands = recorded.commands.commands();
    assert_eq!(commands.len(), 2);
    assert_eq!(commands[0].get("lsid"), commands[1].get("lsid"));
    let other = standalone().await;
    let error = other
        .client
        .bulk_write([things.insert_one_model(&doc! {})])
        .session(&mut session);
    assert!(matches!(
        error.await.unwrap_err().kind(),
        ErrorKind::InvalidArgument(_)
    ));
}
