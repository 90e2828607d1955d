//! Explicit sessions: the fields they add to commands, and the uses that are rejected.

use futures_util::future::join_all;
use marula_driver::{
    Client, ClientSession, ErrorKind, Result,
    bson::{Document, Timestamp, doc},
    event::CommandEvent,
    internals::fix_jitter,
    options::{ClientOptions, ReadConcern, ReadConcernLevel},
};
use marula_driver_tests::{
    CommandRecorder, Deployment, any_deployment, any_single_router, recorded, replica_set, standalone,
    with_logical_clock,
};
use marula_test_server::TestServer;

fn lsid(command: &Document) -> Option<Document> {
    command.get_document("lsid").ok().cloned()
}

/// Calls every method that takes a session once. Returns the result of each.
async fn every_method(client: &Client, session: &mut ClientSession) -> Vec<(&'static str, Result<()>)> {
    let database = client.database("sessions");
    let things = database.collection::<Document>("things");
    let set = doc! { "$set": { "a": 1 } };
    let index = marula_driver::IndexModel::new(doc! { "a": 1 });
    macro_rules! calls {
        ($($name:literal: $action:expr;)*) => {
            vec![$(($name, $action.session(session).await.map(drop)),)*]
        };
    }
    calls! {
        "insert_one": things.insert_one(&doc! {});
        "insert_many": things.insert_many(&[doc! {}]);
        "find": things.find(doc! {});
        "find_one": things.find_one(doc! {});
        "aggregate": things.aggregate([doc! { "$match": {} }]);
        "aggregate a database": database.aggregate([doc! { "$documents": [{}] }]);
        "distinct": things.distinct("a", doc! {});
        "count_documents": things.count_documents(doc! {});
        "estimated_document_count": things.estimated_document_count();
        "update_one": things.update_one(doc! {}, &set);
        "update_many": things.update_many(doc! {}, &set);
        "replace_one": things.replace_one(doc! {}, &doc! {});
        "find_one_and_update": things.find_one_and_update(doc! {}, &set);
        "find_one_and_replace": things.find_one_and_replace(doc! {}, &doc! {});
        "find_one_and_delete": things.find_one_and_delete(doc! {});
        "delete_one": things.delete_one(doc! {});
        "delete_many": things.delete_many(doc! {});
        "create_index": things.create_index(index.clone());
        "create_indexes": things.create_indexes([index]);
        "list_indexes": things.list_indexes();
        "list_index_names": things.list_index_names();
        "drop_index": things.drop_index("a_1");
        "drop_indexes": things.drop_indexes();
        "run_command": database.run_command(doc! { "ping": 1 });
        "list_collections": database.list_collections();
        "list_collection_names": database.list_collection_names();
        "list_databases": client.list_databases();
        "list_database_names": client.list_database_names();
        "create_collection": database.create_collection("more");
        "drop": things.drop();
        "drop a database": database.drop();
    }
}

fn assert_rejected(outcomes: Vec<(&'static str, Result<()>)>, why: &str) {
    for (name, outcome) in outcomes {
        let error = outcome.expect_err(name);
        assert!(
            matches!(error.kind(), ErrorKind::InvalidArgument(_)),
            "{name}: {error}"
        );
        assert!(error.to_string().contains(why), "{name}: {error}");
    }
}

#[tokio::test]
async fn sessions_prose_1() {
    let deployment = any_deployment().await;
    let start = deployment
        .client
        .start_session()
        .snapshot(true)
        .causal_consistency(true);
    let error = start.await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error}");
}

#[tokio::test]
async fn sessions_prose_2() {
    let deployment = any_deployment().await;
    let client = &deployment.client;
    client
        .database("admin")
        .run_command(doc! { "ping": 1 })
        .await
        .unwrap();
    let mut a = client.start_session().await.unwrap();
    let mut b = client.start_session().await.unwrap();
    let (id_a, id_b) = (a.id(), b.id());
    assert!(id_a.is_some() && id_a != id_b);
    a.end().await;
    b.end().await;
    assert_eq!(a.id(), None);
    let first = client.start_session().await.unwrap();
    let second = client.start_session().await.unwrap();
    assert_eq!(first.id(), id_b);
    assert_eq!(second.id(), id_a);
}

#[tokio::test]
async fn sessions_prose_3() {
    let Some(target) = with_logical_clock().await else {
        return;
    };
    let server = recorded(target, "");
    let database = server.client.database("sessions");
    for name in ["ping", "aggregate", "find", "insert"] {
        let mut times = Vec::new();
        for _ in 0..2 {
            match name {
                "ping" => drop(database.run_command(doc! { "ping": 1 }).await.unwrap()),
                "aggregate" => drop(server.things().aggregate([doc! { "$match": {} }]).await.unwrap()),
                "find" => drop(server.things().find(doc! {}).await.unwrap()),
                _ => drop(server.things().insert_one(&doc! {}).await.unwrap()),
            }
            let events = server.commands.take();
            let [
                marula_driver::event::CommandEvent::Started(started),
                marula_driver::event::CommandEvent::Succeeded(done),
            ] = &events[..]
            else {
                panic!("{events:?}");
            };
            let sent = Document::try_from(&*started.command).unwrap();
            let answered = Document::try_from(&*done.reply).unwrap();
            times.push((
                sent.get("$clusterTime").cloned(),
                answered.get("$clusterTime").cloned(),
            ));
        }
        assert!(times[0].1.is_some(), "{name}");
        assert_eq!(times[1].0, times[0].1, "{name}");
    }
}

#[tokio::test]
async fn sessions_prose_4() {
    let Some(target) = with_logical_clock().await else {
        return;
    };
    if target.is_before(6, 0).await {
        return;
    }
    let server = recorded(target, "");
    let mut session = server.client.start_session().await.unwrap();
    let id = session.id();
    for (name, outcome) in every_method(&server.client, &mut session).await {
        outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    for command in server.commands.commands() {
        assert_eq!(lsid(&command), id, "{command}");
    }
    drop(session);
    server.things().find(doc! {}).await.unwrap();
    assert!(lsid(&server.commands.only_command()).is_some());
}

#[tokio::test]
async fn sessions_prose_5() {
    let (one, other) = (standalone().await, standalone().await);
    let mut session = other.client.start_session().await.unwrap();
    assert_rejected(every_method(&one.client, &mut session).await, "another client");
}

#[tokio::test]
async fn sessions_prose_6() {
    let deployment = any_deployment().await;
    let mut session = deployment.client.start_session().await.unwrap();
    session.end().await;
    assert_rejected(every_method(&deployment.client, &mut session).await, "has ended");
}

#[tokio::test]
async fn sessions_prose_8_and_9() {
    let server = recorded(any_deployment().await, "");
    let documents: Vec<Document> = (0..5).map(|n| doc! { "n": n }).collect();
    server.things().insert_many(&documents).await.unwrap();
    let inserted = lsid(&server.commands.only_command());
    // The first batch is complete, so the session is returned to the pool before the documents are
    // read.
    let first_batch = server.things().find(doc! {}).await.unwrap();
    let mut batches = server.things().find(doc! {}).batch_size(3).await.unwrap();
    let ids: Vec<_> = server.commands.commands().iter().map(lsid).collect();
    assert_eq!(ids, [inserted.clone(), inserted.clone()]);
    for _ in 0..4 {
        assert!(batches.advance().await.unwrap());
    }
    // The reply to getMore has the cursor id 0.
    server.things().find_one(doc! {}).await.unwrap();
    let ids: Vec<_> = server.commands.commands().iter().map(lsid).collect();
    assert_eq!(ids, [inserted.clone(), inserted]);
    drop(first_batch);
}

#[tokio::test]
async fn sessions_prose_11() {
    for deployment in [standalone().await, replica_set().await] {
        let server = recorded(deployment, "");
        server
            .things()
            .insert_many(&[doc! {}, doc! {}, doc! {}])
            .await
            .unwrap();
        let mut session = server.client.start_session().await.unwrap();
        for explicit in [false, true] {
            let _ = server.commands.take();
            let things = server.things();
            let find = things.find(doc! {}).batch_size(2);
            let find = if explicit {
                find.session(&mut session)
            } else {
                find
            };
            assert_eq!(find.await.unwrap().try_collect().await.unwrap().len(), 3);
            let commands = server.commands.commands();
            assert_eq!(commands.len(), 2);
            assert!(lsid(&commands[0]).is_some());
            assert_eq!(lsid(&commands[0]), lsid(&commands[1]));
        }
    }
}

#[tokio::test]
async fn sessions_prose_14() {
    let server = recorded(any_single_router().await, "maxPoolSize=1&retryWrites=true");
    let mut least = usize::MAX;
    for _ in 0..5 {
        let things = server.things();
        let set = doc! { "$set": { "a": 1 } };
        let empty = doc! {};
        let all: Vec<std::pin::Pin<Box<dyn Future<Output = Result<()>>>>> = vec![
            Box::pin(async { things.insert_one(&empty).await.map(drop) }),
            Box::pin(async { things.delete_one(doc! {}).await.map(drop) }),
            Box::pin(async { things.update_one(doc! {}, &set).await.map(drop) }),
            Box::pin(async { things.find_one_and_delete(doc! {}).await.map(drop) }),
            Box::pin(async { things.find_one_and_update(doc! {}, &set).await.map(drop) }),
            Box::pin(async { things.find_one_and_replace(doc! {}, &empty).await.map(drop) }),
            Box::pin(async { things.find(doc! {}).await?.try_collect().await.map(drop) }),
        ];
        let count = all.len();
        for outcome in join_all(all).await {
            outcome.unwrap();
        }
        let mut ids: Vec<_> = server
            .commands
            .commands()
            .iter()
            .map(|c| lsid(c).unwrap().to_string())
            .collect();
        ids.sort();
        ids.dedup();
        assert!(ids.len() < count, "{ids:?}");
        least = least.min(ids.len());
    }
    assert_eq!(least, 1);
}

#[tokio::test]
async fn sessions_prose_21() {
    let deployment = any_deployment().await;
    let time = Timestamp {
        time: 1,
        increment: 0,
    };
    for start in [
        deployment
            .client
            .start_session()
            .snapshot(false)
            .snapshot_time(time),
        deployment.client.start_session().snapshot_time(time),
    ] {
        let error = start.await.unwrap_err();
        assert!(error.to_string().contains("snapshot"), "{error}");
    }
}

#[tokio::test]
async fn sessions_prose_22_and_23() {
    let Some(target) = with_logical_clock().await else {
        return;
    };
    let server = recorded(target, "");
    let mut session = server.client.start_session().snapshot(false).await.unwrap();
    assert_eq!(session.snapshot_time(), None);
    server.things().find(doc! {}).session(&mut session).await.unwrap();
    session.advance_operation_time(Timestamp {
        time: 5,
        increment: 0,
    });
    assert_eq!(session.snapshot_time(), None);
}

#[tokio::test]
async fn an_unacknowledged_write_in_a_session_is_rejected() {
    let deployment = any_deployment().await;
    let mut options = ClientOptions::parse(&deployment.uri_with("")).unwrap();
    options.write_concern = marula_driver::options::WriteConcern::nodes(0);
    let client = Client::with_options(options).unwrap();
    let mut session = client.start_session().await.unwrap();
    let things = client.database("sessions").collection::<Document>("things");
    let error = things
        .insert_one(&doc! {})
        .session(&mut session)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("unacknowledged"), "{error}");
}

#[tokio::test]
async fn snapshot_sessions_require_server_support() {
    let server = TestServer::builder()
        .replica_set()
        .version("4.4")
        .start()
        .await
        .unwrap();
    let deployment = Deployment::of(server, "").await;
    let mut session = deployment.client.start_session().snapshot(true).await.unwrap();
    let things = deployment.collection::<Document>();
    let error = things.find(doc! {}).session(&mut session).await.unwrap_err();
    assert!(error.to_string().contains("5.0"), "{error}");
}

#[tokio::test]
async fn a_snapshot_session_reads_at_one_cluster_time() {
    let Some(target) = with_logical_clock().await else {
        return;
    };
    if target.is_before(5, 0).await {
        return;
    }
    let server = recorded(target, "");
    let things = server.things();
    things.insert_one(&doc! { "_id": 1 }).await.unwrap();
    let mut session = server.client.start_session().snapshot(true).await.unwrap();
    let count = |cursor: marula_driver::Cursor<Document>| async { cursor.try_collect().await.unwrap().len() };
    assert_eq!(
        count(things.find(doc! {}).session(&mut session).await.unwrap()).await,
        1
    );
    let seen = session.snapshot_time();
    if seen.is_none() && !server.deployment.is_in_process() {
        return server.deployment.skip("it ignores read concern snapshot");
    }
    assert!(seen.is_some());
    things.insert_one(&doc! { "_id": 2 }).await.unwrap();
    let _ = server.commands.take();
    assert_eq!(
        count(things.find(doc! {}).session(&mut session).await.unwrap()).await,
        1
    );
    let concern = server
        .commands
        .only_command()
        .get_document("readConcern")
        .unwrap()
        .clone();
    assert_eq!(concern.get_str("level").unwrap(), "snapshot");
    assert_eq!(concern.get_timestamp("atClusterTime").ok(), seen);
    // Another session can read at the same cluster time.
    let again = server
        .client
        .start_session()
        .snapshot(true)
        .snapshot_time(seen.unwrap());
    let mut again = again.await.unwrap();
    assert_eq!(
        count(things.find(doc! {}).session(&mut again).await.unwrap()).await,
        1
    );
}

#[tokio::test]
async fn a_snapshot_session_rejects_another_read_concern_of_an_operation() {
    let deployment = replica_set().await;
    // The read concern of a handle is replaced.
    let things = deployment
        .collection::<Document>()
        .with_read_concern(ReadConcern::majority());
    let mut session = deployment.client.start_session().snapshot(true).await.unwrap();
    let s = &mut session;
    // The actions are of different types.
    macro_rules! error_of {
        ($action:expr, $concern:expr) => {
            $action.read_concern($concern).session(s).await.err()
        };
    }
    let majority = ReadConcern::majority;
    let errors = [
        error_of!(things.find(doc! {}), majority()),
        error_of!(things.find_one(doc! {}), majority()),
        error_of!(things.aggregate([doc! { "$match": {} }]), majority()),
        error_of!(things.count_documents(doc! {}), majority()),
        error_of!(things.estimated_document_count(), majority()),
        error_of!(things.distinct("a", doc! {}), majority()),
        error_of!(things.find_one(doc! {}), ReadConcern::default()),
    ];
    for error in errors {
        let error = error.unwrap();
        assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error}");
        assert!(error.to_string().contains("snapshot"), "{error}");
    }
    for command in ["find", "aggregate", "count", "distinct"] {
        assert_eq!(deployment.server.commands_seen(command), 0);
    }
    let snapshot = ReadConcern::new(ReadConcernLevel::Snapshot);
    things
        .find_one(doc! {})
        .read_concern(snapshot)
        .session(s)
        .await
        .unwrap();
    things.find_one(doc! {}).session(s).await.unwrap();
}

#[tokio::test]
async fn a_cursor_outlives_the_borrow_of_its_session_but_not_the_session() {
    let server = recorded(any_deployment().await, "");
    let things = server.things();
    things.insert_many(&[doc! {}, doc! {}, doc! {}]).await.unwrap();
    let mut session = server.client.start_session().await.unwrap();
    let mut cursor = things
        .find(doc! {})
        .batch_size(2)
        .session(&mut session)
        .await
        .unwrap();
    assert!(cursor.advance().await.unwrap());
    session.end().await;
    assert!(
        cursor.advance().await.unwrap(),
        "the document is in the first batch"
    );
    let error = cursor.advance().await.unwrap_err();
    assert!(error.to_string().contains("has ended"), "{error}");
}

/// No command is in flight during the pause, so the session is not in use.
#[tokio::test]
async fn a_session_is_used_again_after_an_operation_was_dropped_between_its_attempts() {
    let deployment = replica_set().await;
    let commands = CommandRecorder::default();
    let mut options = ClientOptions::parse(&deployment.server.uri()).expect("options");
    commands.listen(&mut options);
    fix_jitter(&mut options, 0.99);
    let client = Client::with_options(options).expect("a client");
    let labels = vec!["SystemOverloadedError", "RetryableError"];
    let overload = doc! { "failCommands": ["find"], "errorCode": 462, "errorLabels": labels };
    let point = doc! { "configureFailPoint": "failCommand", "mode": "alwaysOn", "data": overload };
    let admin = deployment.client.database("admin");
    admin.run_command(point).await.expect("a fail point");
    let things = client.database("d").collection::<Document>("things");
    let mut sent = Vec::new();
    let failed = async {
        while !matches!(sent.last(), Some(CommandEvent::Failed(_))) {
            tokio::task::yield_now().await;
            sent.extend(commands.take());
        }
    };
    tokio::select! {
        biased;
        found = things.find_one(doc! {}).into_future() => panic!("the server is overloaded: {found:?}"),
        () = failed => {}
    }
    let Some(CommandEvent::Started(started)) = sent.first() else {
        panic!("{sent:?}");
    };
    let command = Document::try_from(&*started.command).expect("a document");
    let next = client.start_session().await.expect("a session");
    assert_eq!(next.id(), lsid(&command));
}
