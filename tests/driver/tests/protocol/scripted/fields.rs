//! The encoding of single fields, and error messages.

use std::time::Duration;

use marula_driver::{
    Client, WriteModel,
    bson::{Bson, Document, doc},
    options::{ReadPreference, ReadPreferenceMode},
};
use marula_driver_tests::{Answer, ScriptedServer};

use super::replies::{first_batch, written};

#[tokio::test]
async fn max_time_is_sent_in_whole_milliseconds() {
    let server = ScriptedServer::start(doc! {}, |request| match request.name() {
        "find" => first_batch(0, Vec::new()),
        _ => Answer::Success,
    })
    .await;
    let client = Client::connect(server.uri("")).await.expect("a client");
    let things = client.database("d").collection::<Document>("c");
    for (time, sent) in [
        (Duration::ZERO, 0),
        (Duration::from_micros(1), 1),
        (Duration::from_millis(7), 7),
        (Duration::MAX, i64::from(i32::MAX)),
    ] {
        things.find(doc! {}).max_time(time).await.expect("a cursor");
        let find = server.requests().pop().expect("a command");
        assert_eq!(
            find.command.get("maxTimeMS"),
            Some(&Bson::Int64(sent)),
            "{time:?}"
        );
    }
}

#[tokio::test]
async fn max_staleness_seconds_is_an_int32_if_it_fits() {
    let server = ScriptedServer::start(doc! {}, |request| match request.name() {
        "find" => first_batch(0, Vec::new()),
        _ => Answer::Success,
    })
    .await;
    let client = Client::connect(server.uri("")).await.expect("a client");
    let things = client.database("d").collection::<Document>("c");
    for (bound, sent) in [
        (120, Bson::Int32(120)),
        (
            u64::try_from(i32::MAX).unwrap() + 1,
            Bson::Int64(i64::from(i32::MAX) + 1),
        ),
    ] {
        let mut preference = ReadPreference::new(ReadPreferenceMode::Nearest);
        preference.max_staleness = Some(Duration::from_secs(bound));
        let things = things.with_read_preference(preference);
        things.find(doc! {}).await.expect("a cursor");
        let find = server.requests().pop().expect("a command").command;
        let preference = find.get_document("$readPreference").expect("a preference");
        assert_eq!(preference.get("maxStalenessSeconds"), Some(&sent));
    }
}

#[tokio::test]
async fn hedge_is_sent_if_it_is_set() {
    let server = ScriptedServer::start(doc! {}, |request| match request.name() {
        "find" => first_batch(0, Vec::new()),
        _ => Answer::Success,
    })
    .await;
    let client = Client::connect(server.uri("")).await.expect("a client");
    let things = client.database("d").collection::<Document>("c");
    let nearest = || ReadPreference::new(ReadPreferenceMode::Nearest);
    for (preference, sent) in [
        (nearest(), None),
        (nearest().with_hedge(true), Some(doc! { "enabled": true })),
        (nearest().with_hedge(false), Some(doc! { "enabled": false })),
    ] {
        let find = things.find(doc! {}).read_preference(preference);
        find.await.expect("a cursor");
        let find = server.requests().pop().expect("a command").command;
        let preference = find.get_document("$readPreference").expect("a preference");
        assert_eq!(preference.get_document("hedge").ok(), sent.as_ref());
    }
    let primary = ReadPreference::primary().with_hedge(true);
    let error = things.find(doc! {}).read_preference(primary).await;
    let error = error.expect_err("not allowed");
    assert!(error.to_string().contains("primary cannot have hedge"), "{error}");
}

#[tokio::test]
async fn an_interrupted_bulk_write_names_the_server_once() {
    let server = ScriptedServer::start(doc! {}, |request| match request.name() {
        "insert" => written(request),
        "update" => {
            Answer::Reply(doc! { "ok": 0, "code": 115, "codeName": "CommandNotSupported", "errmsg": "no" })
        }
        _ => Answer::Success,
    })
    .await;
    let client = Client::connect(server.uri("")).await.expect("a client");
    let things = client.database("d").collection::<Document>("c");
    let error = things
        .bulk_write([
            WriteModel::insert_one(&doc! {}),
            WriteModel::update_one(doc! {}, doc! { "$set": { "a": 1 } }),
        ])
        .await
        .expect_err("refused");
    let text = format!("{error:#}");
    assert!(text.contains("interrupted by another error: error 115"), "{text}");
    assert_eq!(text.matches("(update on d.c; server ").count(), 1, "{text}");
    assert_eq!(text.matches(" on d.c").count(), 1, "{text}");
    let named = (error.operation(), error.namespace());
    assert_eq!(named, (Some("update"), Some(things.namespace().clone())));
}
