//! Every public async operation can be dropped at every await point: the client stays usable, no
//! resource leaks, and no later operation receives the reply of a dropped one.
//!
//! A proxy holds the replies back and releases them in pieces, so that an operation is pending with
//! no part, a part and almost all of its reply read. Each operation runs repeatedly, each time with
//! one more poll before it is dropped, until it completes. The pool has one connection, so the next
//! operation would hang if it leaked.

mod change_streams;
mod check_out;
mod cursors;
mod establish;
mod gridfs;
mod handles;
mod harness;
mod sessions;
mod transactions;
mod unsent;

use futures_util::FutureExt;
use harness::{Case, Harness};
use marula_driver::{
    Client, ErrorKind, IndexModel, WriteModel,
    bson::{Document, doc},
};
use marula_driver_tests::{
    polling::{Held, poll_times, run_for_pieces},
    proxy::Action,
};

#[tokio::test]
async fn commands_and_inserts_can_be_dropped_at_every_poll() {
    let harness = Harness::start().await;
    let run = async |case: Case| harness.drop_at_every_poll(case).await;
    run(Case::new("ping", |r| async move {
        r.database.run_command(doc! { "ping": 1 }).await.map(drop)
    }))
    .await;
    run(Case::new("insert", |r| async move {
        let stored = r.things.insert_one(&doc! { "_id": 100 }).await?;
        assert_eq!(stored.inserted_id.as_i32(), Some(100));
        Ok(())
    }))
    .await;
    run(Case::new("insert", |r| async move {
        let all: Vec<Document> = (200..210).map(|id| doc! { "_id": id }).collect();
        assert_eq!(r.things.insert_many(&all).await?.inserted_ids.len(), 10);
        Ok(())
    }))
    .await;
}

#[tokio::test]
async fn updates_and_deletes_can_be_dropped_at_every_poll() {
    let harness = Harness::start().await;
    let run = async |case: Case| harness.drop_at_every_poll(case).await;
    run(Case::new("update", |r| async move {
        let set = r
            .things
            .update_one(doc! { "_id": 1 }, doc! { "$set": { "x": 1 } })
            .await?;
        assert_eq!(set.modified_count, 1);
        Ok(())
    }))
    .await;
    run(Case::new("update", |r| async move {
        let set = r.things.update_many(doc! {}, doc! { "$set": { "x": 1 } }).await?;
        assert_eq!(set.modified_count, 5);
        Ok(())
    }))
    .await;
    run(Case::new("update", |r| async move {
        let replaced = r.things.replace_one(doc! { "_id": 1 }, &doc! { "y": 1 }).await?;
        assert_eq!(replaced.matched_count, 1);
        Ok(())
    }))
    .await;
    run(Case::new("delete", |r| async move {
        assert_eq!(r.things.delete_one(doc! { "_id": 1 }).await?.deleted_count, 1);
        Ok(())
    }))
    .await;
    run(Case::new("delete", |r| async move {
        assert_eq!(r.things.delete_many(doc! {}).await?.deleted_count, 5);
        Ok(())
    }))
    .await;
    run(Case::new("findAndModify", |r| async move {
        let before = r
            .things
            .find_one_and_update(doc! { "_id": 1 }, doc! { "$set": { "x": 1 } })
            .await?;
        assert!(before.is_some());
        Ok(())
    }))
    .await;
    run(Case::new("findAndModify", |r| async move {
        let before = r
            .things
            .find_one_and_replace(doc! { "_id": 1 }, &doc! { "x": 1 })
            .await?;
        assert!(before.is_some());
        Ok(())
    }))
    .await;
    run(Case::new("findAndModify", |r| async move {
        assert!(r.things.find_one_and_delete(doc! { "_id": 1 }).await?.is_some());
        Ok(())
    }))
    .await;
}

#[tokio::test]
async fn bulk_writes_can_be_dropped_at_every_poll() {
    let harness = Harness::start().await;
    let run = async |case: Case| harness.drop_at_every_poll(case).await;
    run(Case::new("update", |r| async move {
        let models = [
            WriteModel::insert_one(&doc! { "_id": 100 }),
            WriteModel::update_one(doc! { "_id": 1 }, doc! { "$set": { "x": 1 } }),
        ];
        assert_eq!(r.things.bulk_write(models).await?.modified_count, 1);
        Ok(())
    }))
    .await;
    run(Case::new("bulkWrite", |r| async move {
        let other = r.things.with_name("other");
        let models = [
            other.insert_one_model(&doc! { "_id": 100 }),
            r.things.delete_many_model(doc! {}),
        ];
        let done = r
            .database
            .client()
            .bulk_write(models)
            .verbose_results(true)
            .await?;
        assert_eq!((done.inserted_count, done.deleted_count), (1, 5));
        Ok(())
    }))
    .await;
}

#[tokio::test]
async fn reads_can_be_dropped_at_every_poll() {
    let harness = Harness::start().await;
    let run = async |case: Case| harness.drop_at_every_poll(case).await;
    run(Case::new("find", |r| async move {
        assert!(r.things.find_one(doc! { "_id": 3 }).await?.is_some());
        Ok(())
    }))
    .await;
    run(Case::new("find", |r| async move {
        assert_eq!(r.things.find(doc! {}).await?.try_collect().await?.len(), 5);
        Ok(())
    }))
    .await;
    run(Case::new("aggregate", |r| async move {
        let found = r
            .things
            .aggregate([doc! { "$match": { "_id": { "$gt": 3 } } }])
            .await?;
        assert_eq!(found.try_collect().await?.len(), 2);
        Ok(())
    }))
    .await;
    run(Case::new("aggregate", |r| async move {
        assert_eq!(r.things.count_documents(doc! {}).await?, 5);
        Ok(())
    }))
    .await;
    run(Case::new("count", |r| async move {
        assert_eq!(r.things.estimated_document_count().await?, 5);
        Ok(())
    }))
    .await;
    run(Case::new("distinct", |r| async move {
        let values = r.things.distinct("_id", doc! {}).await?;
        assert_eq!(values.len(), 5);
        Ok(())
    }))
    .await;
}

#[tokio::test]
async fn administrative_commands_can_be_dropped_at_every_poll() {
    let harness = Harness::start().await;
    let run = async |case: Case| harness.drop_at_every_poll(case).await;
    run(Case::new("create", |r| async move {
        r.database.create_collection("other").await.map(drop)
    }))
    .await;
    run(Case::new("drop", |r| async move { r.things.drop().await })).await;
    run(Case::new(
        "dropDatabase",
        |r| async move { r.database.drop().await },
    ))
    .await;
    run(Case::new("listCollections", |r| async move {
        assert_eq!(r.database.list_collection_names().await?, ["things"]);
        Ok(())
    }))
    .await;
    run(Case::new("listCollections", |r| async move {
        assert_eq!(r.database.list_collections().await?.try_collect().await?.len(), 1);
        Ok(())
    }))
    .await;
    run(Case::new("listDatabases", |r| async move {
        let name = r.database.name().to_owned();
        assert!(r.database.client().list_database_names().await?.contains(&name));
        Ok(())
    }))
    .await;
    run(Case::new("listDatabases", |r| async move {
        assert!(!r.database.client().list_databases().await?.is_empty());
        Ok(())
    }))
    .await;
    run(Case::new("createIndexes", |r| async move {
        assert_eq!(
            r.things.create_index(IndexModel::new(doc! { "x": 1 })).await?,
            "x_1"
        );
        Ok(())
    }))
    .await;
    run(Case::new("createIndexes", |r| async move {
        let models = [IndexModel::new(doc! { "x": 1 }), IndexModel::new(doc! { "y": 1 })];
        assert_eq!(r.things.create_indexes(models).await?.len(), 2);
        Ok(())
    }))
    .await;
    run(Case::new("listIndexes", |r| async move {
        assert_eq!(r.things.list_index_names().await?, ["_id_"]);
        Ok(())
    }))
    .await;
    run(Case::new("listIndexes", |r| async move {
        assert_eq!(r.things.list_indexes().await?.try_collect().await?.len(), 1);
        Ok(())
    }))
    .await;
    run(Case::new("dropIndexes", |r| async move {
        r.things.drop_indexes().await.map(drop)
    }))
    .await;
}

#[tokio::test]
async fn a_write_dropped_while_it_is_sent_is_not_executed() {
    let harness = Harness::start().await;
    let round = harness.next_round().await;
    // Larger than the socket buffers of both sides.
    let large: Vec<Document> = (100..120)
        .map(|id| doc! { "_id": id, "filler": "x".repeat(2 << 20) })
        .collect();
    harness.proxy.pause_requests();
    let mut insert = round.things.insert_many(&large).into_future();
    assert!((&mut insert).now_or_never().is_none());
    drop(insert);
    harness.proxy.resume_requests();
    harness.settle().await;
    assert_eq!(round.things.count_documents(doc! {}).await.expect("a count"), 5);
}

#[tokio::test]
async fn a_client_dropped_during_its_first_operation_leaves_no_task_and_no_connection() {
    let harness = Harness::start().await;
    let uri = harness.proxy.uri("maxPoolSize=1");
    harness.client.shutdown().await;
    harness.server.wait_for_open_connections(harness::OF_DIRECT).await;
    harness
        .proxy
        .set_rule(|_| Action::Stepwise(harness::ENDS.to_vec()));
    for polls in 0.. {
        let uri = uri.clone();
        let first = async move {
            let client = Client::connect(uri).await?;
            client.database("admin").run_command(doc! { "ping": 1 }).await
        };
        let outcome = poll_times(Box::pin(first), polls, &harness.proxy, Held::OfOthersToo).await;
        harness.server.wait_for_open_connections(harness::OF_DIRECT).await;
        if let Some(outcome) = outcome {
            outcome.expect("a reply");
            assert!(polls > 3, "selection, check-out and reply each were pending");
            return;
        }
    }
}

#[tokio::test]
async fn a_dropped_shutdown_can_be_repeated() {
    let harness = Harness::start().await;
    for pieces in 0.. {
        let client = Client::connect(harness.proxy.uri("maxPoolSize=1"))
            .await
            .expect("a client");
        let admin = client.database("admin");
        admin.run_command(doc! { "ping": 1 }).await.expect("a reply");
        harness.hold("endSessions");
        // The command runs in a task.
        let shutdown = client.shutdown().into_future();
        let outcome = run_for_pieces(shutdown, pieces, &harness.proxy).await;
        harness.pass_everything();
        if outcome.is_none() {
            admin
                .run_command(doc! { "ping": 1 })
                .await
                .expect("not shut down yet");
            client.shutdown().await;
        }
        let error = admin
            .run_command(doc! { "ping": 1 })
            .await
            .expect_err("shut down");
        assert!(
            matches!(error.kind(), ErrorKind::Shutdown | ErrorKind::Pool(_)),
            "{error}"
        );
        harness
            .server
            .wait_for_open_connections(harness::OF_DIRECT + harness::OF_CLIENT)
            .await;
        if outcome.is_some() {
            assert!(pieces > harness::PIECES, "{pieces}");
            return;
        }
    }
}

#[tokio::test]
async fn shutdown_does_not_wait_for_operations() {
    let harness = Harness::start().await;
    let round = harness.next_round().await;
    let admin = harness.client.database("admin");
    // The open cursor and the ping use two sessions, so one is idle while the first of the two
    // operations below uses the other.
    let mut cursor = round.things.find(doc! {}).batch_size(2).await.expect("a cursor");
    admin.run_command(doc! { "ping": 1 }).await.expect("a reply");
    while cursor.advance().await.expect("documents") {}
    harness.proxy.set_rule(|exchange| {
        if exchange.is_hello() {
            Action::Pass
        } else {
            Action::Hang
        }
    });
    let mut first = admin.run_command(doc! { "ping": 1 }).into_future();
    let mut second = admin.run_command(doc! { "ping": 1 }).into_future();
    assert!((&mut first).now_or_never().is_none());
    assert!((&mut second).now_or_never().is_none());
    tokio::time::timeout(harness::TIME_LIMIT, harness.client.shutdown())
        .await
        .expect("the operation is pending");
    second.await.expect_err("the client was shut down");
    drop(first);
}
