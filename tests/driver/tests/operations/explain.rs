//! `explain` of each action: what is sent, and that nothing is written.

use std::time::Duration;

use marula_driver::{
    Client, ErrorKind,
    action::Explain,
    bson::{Document, doc},
    options::{CursorType, ExplainOptions, ExplainVerbosity, ReadConcern, TimeoutMode, WriteConcern},
};
use marula_driver_tests::{any_deployment, recorded, replica_set, standalone};

/// The command in `explain`, without the fields of the whole command.
fn explained(command: &Document) -> &Document {
    let inner = command.get_document("explain").expect("an explained command");
    for field in ["maxTimeMS", "readConcern", "writeConcern", "lsid", "$db"] {
        assert!(!inner.contains_key(field), "{inner}");
    }
    inner
}

#[tokio::test]
async fn every_read_can_be_explained() {
    let tested = recorded(any_deployment().await, "");
    let things = tested.things();
    let database = things.database();
    things.insert_one(&doc! { "a": 1 }).await.expect("stored");
    let _ = tested.commands.take();
    let name = things.name();
    let pipeline = [doc! { "$match": { "a": 1 } }];
    let cases: Vec<(Explain<'_>, Document)> = vec![
        (
            things.find(doc! { "a": 1 }).skip(1).batch_size(5).explain(),
            doc! { "find": name, "filter": { "a": 1 }, "skip": 1_i64, "batchSize": 5_i64 },
        ),
        (
            things.find_one(doc! { "a": 1 }).explain(),
            doc! { "find": name, "filter": { "a": 1 }, "limit": 1_i64, "singleBatch": true },
        ),
        (
            things.aggregate(pipeline.clone()).explain(),
            doc! { "aggregate": name, "pipeline": pipeline.to_vec(), "cursor": {} },
        ),
        (
            things.distinct("a", doc! { "a": { "$gt": 0 } }).explain(),
            doc! { "distinct": name, "key": "a", "query": { "a": { "$gt": 0 } } },
        ),
        (
            things.estimated_document_count().explain(),
            doc! { "count": name },
        ),
        (
            things.count_documents(doc! { "a": 1 }).limit(3).explain(),
            doc! {
                "aggregate": name,
                "pipeline": [
                    { "$match": { "a": 1 } },
                    { "$limit": 3_i64 },
                    { "$group": { "_id": 1, "n": { "$sum": 1 } } },
                ],
                "cursor": {},
            },
        ),
    ];
    for (explain, expected) in cases {
        let reply = explain.await.expect("a plan");
        assert!(
            ["queryPlanner", "stages", "shards"]
                .iter()
                .any(|part| reply.contains_key(part)),
            "{reply}"
        );
        assert!(!reply.contains_key("executionStats"), "{reply}");
        let command = tested.commands.only_command();
        assert_eq!(explained(&command), &expected);
        assert_eq!(command.get_str("verbosity").ok(), Some("queryPlanner"));
        assert_eq!(command.get_str("$db").ok(), Some(database.name()));
    }
}

#[tokio::test]
async fn every_write_can_be_explained_and_changes_nothing() {
    let tested = recorded(any_deployment().await, "");
    let things = tested.things();
    things
        .insert_one(&doc! { "_id": 1, "a": 1 })
        .await
        .expect("stored");
    let _ = tested.commands.take();
    // An explanation is answered, also if the write would not be.
    let things = things.with_write_concern(WriteConcern::nodes(0));
    let name = things.name();
    let (filter, update, whole) = (doc! { "a": 1 }, doc! { "$set": { "a": 2 } }, doc! { "a": 2 });
    let statement = |u: &Document| doc! { "q": filter.clone(), "u": u.clone() };
    let mut of_all = statement(&update);
    of_all.insert("multi", true);
    let find_and_modify = |change: Document| {
        let mut command = doc! { "findAndModify": name, "query": filter.clone() };
        command.extend(change);
        command
    };
    let cases: Vec<(Explain<'_>, Document)> = vec![
        (
            things.update_one(filter.clone(), update.clone()).explain(),
            doc! { "update": name, "updates": [statement(&update)], "ordered": true },
        ),
        (
            things.update_many(filter.clone(), update.clone()).explain(),
            doc! { "update": name, "updates": [of_all], "ordered": true },
        ),
        (
            things.replace_one(filter.clone(), &whole).explain(),
            doc! { "update": name, "updates": [statement(&whole)], "ordered": true },
        ),
        (
            things.delete_one(filter.clone()).explain(),
            doc! { "delete": name, "deletes": [{ "q": filter.clone(), "limit": 1 }], "ordered": true },
        ),
        (
            things.delete_many(filter.clone()).explain(),
            doc! { "delete": name, "deletes": [{ "q": filter.clone(), "limit": 0 }], "ordered": true },
        ),
        (
            things
                .find_one_and_update(filter.clone(), update.clone())
                .explain(),
            find_and_modify(doc! { "update": update.clone() }),
        ),
        (
            things.find_one_and_replace(filter.clone(), &whole).explain(),
            find_and_modify(doc! { "update": whole.clone() }),
        ),
        (
            things.find_one_and_delete(filter.clone()).explain(),
            find_and_modify(doc! { "remove": true }),
        ),
    ];
    for (explain, expected) in cases {
        let explain = explain.verbosity(ExplainVerbosity::ExecutionStats);
        let reply = explain.await.expect("a plan");
        assert!(reply.contains_key("executionStats"), "{reply}");
        let command = tested.commands.only_command();
        assert_eq!(explained(&command), &expected);
        assert!(!command.contains_key("writeConcern"), "{command}");
    }
    let stored = things.find_one(doc! {}).await.expect("a reply");
    assert_eq!(stored, Some(doc! { "_id": 1, "a": 1 }), "nothing is written");
}

/// `maxTimeMS`, the read concern and the read preference are fields of `explain`, and not of the
/// explained command.
#[tokio::test]
async fn options_of_the_explained_action_apply_to_the_explanation() {
    let tested = recorded(standalone().await, "");
    let things = tested.things().with_read_concern(ReadConcern::local());
    let second = Duration::from_secs(1);
    things
        .find(doc! {})
        .max_time(second)
        .explain()
        .await
        .expect("a plan");
    let command = tested.commands.only_command();
    explained(&command);
    assert_eq!(command.get_i64("maxTimeMS").ok(), Some(1_000));
    assert_eq!(
        command.get_document("readConcern").ok(),
        Some(&doc! { "level": "local" })
    );

    let options = ExplainOptions::default()
        .max_time(2 * second)
        .comment("why")
        .verbosity(ExplainVerbosity::AllPlansExecution);
    let explain = things.find(doc! {}).comment("what").max_time(second).explain();
    explain.with_options(options).await.expect("a plan");
    let command = tested.commands.only_command();
    assert_eq!(explained(&command).get_str("comment").ok(), Some("what"));
    assert_eq!(command.get_i64("maxTimeMS").ok(), Some(2_000));
    assert_eq!(command.get_str("comment").ok(), Some("why"));
    assert_eq!(command.get_str("verbosity").ok(), Some("allPlansExecution"));
}

/// With `timeoutMS`, `maxTimeMS` is what is left of it (Client Side Operations Timeout, "Explain").
#[tokio::test]
async fn the_time_limit_of_an_explanation_is_sent() {
    let tested = recorded(standalone().await, "");
    let things = tested.things();
    let minute = Duration::from_secs(60);
    for explain in [
        things.find(doc! {}).explain().timeout(minute),
        things.find(doc! {}).timeout(minute).explain(),
        things
            .find(doc! {})
            .max_time(minute * 2)
            .timeout(minute)
            .explain(),
        things.delete_one(doc! {}).timeout(minute).explain(),
        things.with_timeout(minute).count_documents(doc! {}).explain(),
    ] {
        explain.await.expect("a plan");
        let command = tested.commands.only_command();
        explained(&command);
        let limit = command.get_i64("maxTimeMS").expect("a time limit");
        assert!((1..=60_000).contains(&limit), "{limit}");
    }
}

#[tokio::test]
async fn an_explanation_reports_the_errors_of_its_action() {
    let tested = recorded(standalone().await, "");
    let things = tested.things();
    for explain in [
        things.find(doc! { "a\0b": 1 }).explain(),
        things.count_documents(doc! { "a\0b": 1 }).explain(),
    ] {
        let error = explain.await.expect_err("an invalid argument");
        assert!(
            matches!(error.kind(), ErrorKind::InvalidArgument(_) | ErrorKind::Encode(_)),
            "{error:?}"
        );
    }
    assert!(tested.commands.is_empty(), "nothing is sent");
    let error = things
        .find(doc! { "$unknown": 1 })
        .explain()
        .await
        .expect_err("refused");
    assert!(matches!(error.kind(), ErrorKind::Command(_)), "{error:?}");
}

/// They would not be sent by the explained action.
#[tokio::test]
async fn invalid_arguments_are_reported_without_a_server() {
    // Nothing listens on the reserved port.
    let uri = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=600000";
    let client = Client::connect(uri).await.expect("a client");
    let things = client.database("d").collection::<Document>("things");
    let minute = Duration::from_secs(60);
    let out = || [doc! { "$match": {} }, doc! { "$out": "copies" }];
    let (per_iteration, whole) = (TimeoutMode::Iteration, TimeoutMode::CursorLifetime);
    let mut snapshot = client.start_session().snapshot(true).await.expect("a session");
    let local = things.aggregate(out()).read_concern(ReadConcern::local());
    for (explain, why) in [
        (things.update_one(doc! {}, doc! { "a": 1 }).explain(), "operator"),
        (things.update_many(doc! {}, doc! {}).explain(), "operator"),
        (
            things.replace_one(doc! {}, &doc! { "$set": {} }).explain(),
            "operator",
        ),
        (things.find_one_and_update(doc! {}, doc! {}).explain(), "operator"),
        (
            things
                .find_one_and_replace(doc! {}, &doc! { "$set": {} })
                .explain(),
            "operator",
        ),
        (
            things.find(doc! {}).timeout_mode(whole).explain(),
            "requires a timeout",
        ),
        (
            things.aggregate([doc! {}]).timeout_mode(whole).explain(),
            "requires a timeout",
        ),
        (
            things
                .find(doc! {})
                .cursor_type(CursorType::Tailable)
                .timeout_mode(whole)
                .timeout(minute)
                .explain(),
            "must be Iteration",
        ),
        (
            things
                .aggregate(out())
                .timeout_mode(per_iteration)
                .timeout(minute)
                .explain(),
            "cannot be Iteration",
        ),
        (
            things
                .aggregate([doc! {}])
                .max_await_time(minute)
                .timeout(minute)
                .explain(),
            "must be shorter",
        ),
        (local.session(&mut snapshot).explain(), "snapshot"),
    ] {
        let explained = tokio::time::timeout(minute, explain.into_future()).await;
        let error = explained.expect("no wait for a server").expect_err("refused");
        assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error:?}");
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[tokio::test]
async fn an_explained_pipeline_that_writes_has_its_read_concern() {
    let tested = recorded(replica_set().await, "");
    let things = tested.things();
    let out = things.aggregate([doc! { "$out": "copies" }]);
    let explain = out.read_concern(ReadConcern::local()).explain();
    explain.await.expect("a plan");
    let command = tested.commands.only_command();
    explained(&command);
    assert_eq!(
        command.get_document("readConcern").ok(),
        Some(&doc! { "level": "local" })
    );
}

/// The limits are not options of the explanation.
#[tokio::test]
async fn options_do_not_replace_the_time_limits_of_the_explained_action() {
    let tested = recorded(any_deployment().await, "");
    let things = tested.things();
    let minute = Duration::from_secs(60);
    let options = || ExplainOptions::default().verbosity(ExplainVerbosity::QueryPlanner);
    let limit_of = async |explain: Explain<'_>| {
        explain.await.expect("a plan");
        let command = tested.commands.only_command();
        command.get_i64("maxTimeMS").ok()
    };
    let find = || things.find(doc! {});
    let explain = find().max_time(minute).explain().with_options(options());
    assert_eq!(limit_of(explain).await, Some(60_000));
    let own = options().max_time(minute * 2);
    let explain = find().max_time(minute).explain().with_options(own);
    assert_eq!(limit_of(explain).await, Some(120_000));
    let explain = find().timeout(minute).explain().with_options(options());
    assert!(limit_of(explain).await.is_some_and(|limit| limit <= 60_000));
}

/// The error of the server would abort the transaction.
#[tokio::test]
async fn an_explanation_within_a_transaction_is_refused_before_it_is_sent() {
    let tested = recorded(replica_set().await, "");
    let things = tested.things();
    let mut session = tested.client.start_session().await.expect("a session");
    session.start_transaction().await.expect("a transaction");
    things
        .insert_one(&doc! { "_id": 1 })
        .session(&mut session)
        .await
        .expect("stored");
    let _ = tested.commands.take();
    let explain = things.find(doc! {}).session(&mut session).explain();
    let error = explain.await.expect_err("refused");
    assert!(
        error.to_string().contains("cannot be part of a transaction"),
        "{error}"
    );
    assert!(tested.commands.is_empty(), "nothing is sent");
    session
        .commit_transaction()
        .await
        .expect("the transaction is still open");
    let explain = things.find(doc! {}).session(&mut session).explain();
    explain.await.expect("a plan, in the session");
    let sent = tested.commands.commands();
    let lsid = session.id().expect("the id of the session");
    assert_eq!(
        sent.last().expect("explain").get_document("lsid").ok(),
        Some(&lsid)
    );
}

/// The option of an explanation limits the explanation. That of the action is checked with the action.
#[tokio::test]
async fn the_time_limit_of_an_explanation_is_not_compared_with_the_await_time_of_the_action() {
    let tested = recorded(standalone().await, "");
    let things = tested.things();
    let explain = |limit: Duration| {
        let find = things.find(doc! {}).cursor_type(CursorType::TailableAwait);
        find.max_await_time(Duration::from_secs(1))
            .timeout(limit)
            .explain()
    };
    let shorter = Duration::from_millis(900);
    let explained = explain(Duration::from_secs(60)).timeout(shorter);
    explained.await.expect("a plan");
    let limit = tested
        .commands
        .only_command()
        .get_i64("maxTimeMS")
        .expect("a time limit");
    assert!((1..=900).contains(&limit), "{limit}");
    let error = explain(shorter).timeout(Duration::from_secs(60)).await;
    let error = error.expect_err("the action has an invalid option");
    assert!(error.to_string().contains("max_await_time"), "{error}");
    assert!(tested.commands.is_empty(), "nothing is sent");
}
