//! Causally consistent sessions: `afterClusterTime` and the operation time.

use marula_driver::{
    bson::{Bson, Document, Timestamp, doc},
    event::CommandEvent,
};
use marula_driver_tests::{recorded, standalone, with_logical_clock};

/// `readConcern.afterClusterTime` of a command.
fn after(command: &Document) -> Option<Timestamp> {
    command
        .get_document("readConcern")
        .ok()?
        .get_timestamp("afterClusterTime")
        .ok()
}

#[tokio::test]
async fn causal_consistency_prose_1() {
    let deployment = standalone().await;
    let session = deployment.client.start_session().await.unwrap();
    assert_eq!(session.operation_time(), None);
}

#[tokio::test]
async fn causal_consistency_prose_2_to_5() {
    let Some(target) = with_logical_clock().await else {
        return;
    };
    let server = recorded(target, "");
    let mut session = server.client.start_session().await.unwrap();
    let things = server.things();
    things.find_one(doc! {}).session(&mut session).await.unwrap();
    let events = server.commands.take();
    let [CommandEvent::Started(first), CommandEvent::Succeeded(done)] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(after(&Document::try_from(&*first.command).unwrap()), None);
    let reply = Document::try_from(&*done.reply).unwrap();
    assert_eq!(
        session.operation_time(),
        reply.get_timestamp("operationTime").ok()
    );
    assert!(session.operation_time().is_some());
    let before = session.operation_time();
    things.distinct("a", doc! {}).session(&mut session).await.unwrap();
    assert_eq!(after(&server.commands.only_command()), before);
    // A failed write also updates operationTime.
    for document in [doc! { "_id": 1 }, doc! { "_id": 1 }] {
        let _ = things.insert_one(&document).session(&mut session).await;
        let _ = server.commands.take();
        let written = session.operation_time();
        things.find_one(doc! {}).session(&mut session).await.unwrap();
        assert_eq!(after(&server.commands.only_command()), written);
    }
    let seen = session.operation_time();
    things.insert_one(&doc! {}).session(&mut session).await.unwrap();
    let command = server.commands.only_command();
    assert_eq!(after(&command), seen, "writes also send afterClusterTime");
    assert_eq!(command.get_document("readConcern").unwrap().len(), 1);
}

/// Index Management, "Where are read concern and write concern?".
#[tokio::test]
async fn search_indexes_are_listed_without_a_read_concern() {
    let Some(target) = with_logical_clock().await else {
        return;
    };
    let server = recorded(target, "");
    let mut session = server.client.start_session().await.unwrap();
    let things = server.things();
    things.find_one(doc! {}).session(&mut session).await.unwrap();
    assert!(session.operation_time().is_some());
    let _ = server.commands.take();
    // Fails on deployments without a search service.
    let _ = things.list_search_indexes(None).session(&mut session).await;
    assert!(!server.commands.only_command().contains_key("readConcern"));
}

#[tokio::test]
async fn causal_consistency_prose_6_and_7() {
    let Some(target) = with_logical_clock().await else {
        return;
    };
    let set = recorded(target, "");
    let alone = recorded(standalone().await, "");
    for (server, causal) in [(&set, false), (&alone, true)] {
        let mut session = server
            .client
            .start_session()
            .causal_consistency(causal)
            .await
            .unwrap();
        for _ in 0..2 {
            server
                .things()
                .find_one(doc! {})
                .session(&mut session)
                .await
                .unwrap();
            assert_eq!(after(&server.commands.only_command()), None);
        }
    }
}

#[tokio::test]
async fn causal_consistency_prose_8_and_9() {
    for (options, level) in [("", None), ("readConcernLevel=majority", Some("majority"))] {
        let Some(target) = with_logical_clock().await else {
            return;
        };
        let server = recorded(target, options);
        let mut session = server.client.start_session().await.unwrap();
        server
            .things()
            .find_one(doc! {})
            .session(&mut session)
            .await
            .unwrap();
        let seen = session.operation_time();
        let _ = server.commands.take();
        server
            .things()
            .find_one(doc! {})
            .session(&mut session)
            .await
            .unwrap();
        let command = server.commands.only_command();
        assert_eq!(after(&command), seen);
        assert_eq!(
            command.get_document("readConcern").unwrap().get_str("level").ok(),
            level
        );
    }
}

#[tokio::test]
async fn causal_consistency_prose_11_and_12() {
    let alone = recorded(standalone().await, "");
    alone.things().find_one(doc! {}).await.unwrap();
    assert!(!alone.commands.only_command().contains_key("$clusterTime"));
    let Some(target) = with_logical_clock().await else {
        return;
    };
    let set = recorded(target, "");
    set.things().find_one(doc! {}).await.unwrap();
    let _ = set.commands.take();
    set.things().find_one(doc! {}).await.unwrap();
    assert!(set.commands.only_command().contains_key("$clusterTime"));
}

#[tokio::test]
async fn a_session_can_be_advanced_to_the_times_of_another() {
    let Some(target) = with_logical_clock().await else {
        return;
    };
    let server = recorded(target, "");
    let mut first = server.client.start_session().await.unwrap();
    server
        .things()
        .insert_one(&doc! {})
        .session(&mut first)
        .await
        .unwrap();
    let mut second = server.client.start_session().await.unwrap();
    second
        .advance_cluster_time(first.cluster_time().unwrap())
        .unwrap();
    second.advance_operation_time(first.operation_time().unwrap());
    let error = second
        .advance_cluster_time(doc! { "nonsense": Bson::Null })
        .unwrap_err();
    assert!(error.to_string().contains("clusterTime"), "{error}");
    let _ = server.commands.take();
    server
        .things()
        .find_one(doc! {})
        .session(&mut second)
        .await
        .unwrap();
    assert_eq!(after(&server.commands.only_command()), first.operation_time());
    let _ = server.deployment.client.list_database_names().into_future().await;
}
