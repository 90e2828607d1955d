//! The upgrades before updates by operators: the options of the call, its time limit, and the errors of the upgrade.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{Env, Observed};
use crate::versioned_updates::{Card, Interfering, card, fill, old, used, using};
use marula::bson::{Bson, Document as BsonDocument, doc};
use marula::driver::ErrorKind;
use marula::driver::event::{CommandEvent, EventListener};
use marula::driver::options::{ClientOptions, ReplaceOneOptions, UpdateOneOptions};
use marula::managed::BoxedError;
use marula::prelude::*;
use marula::schema::SyncMode;
use marula::{Client, Document, Error, Filter};
use marula_test_server::TestServer;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

#[tokio::test]
async fn the_options_of_an_update_hold_for_the_upgrade() {
    let env = Env::start().await;
    if env.is_before(4, 4).await {
        return;
    }
    let observed = Observed::of(&env);
    let cards = observed.db.collection::<Card>();
    for kind in 0..5 {
        if kind == 4 && env.is_before(8, 0).await {
            break;
        }
        fill(&env.db.collection::<Card>(), [old(1)]).await;
        let limit = Duration::from_secs(600);
        let one = |c: marula::Fields<Card>| c._id().lte(1);
        macro_rules! run {
            ($update:expr) => {
                drop(
                    $update
                        .comment("c")
                        .bypass_document_validation(true)
                        .timeout(limit)
                        .await
                        .unwrap(),
                )
            };
        }
        match kind {
            0 => run!(cards.update_one(one, using)),
            1 => run!(cards.update_many(one, using)),
            2 => run!(cards.find_one_and_update(one, using)),
            3 => run!(cards.bulk().update_one(one, using)),
            _ => run!(
                observed
                    .db
                    .client()
                    .bulk()
                    .on(&cards, |b| b.update_one(one, using))
            ),
        }
        assert_eq!(
            env.db.collection::<Card>().find_by_id(1).await.unwrap(),
            Some(used(1))
        );
        let sent = observed.take_all();
        let last = sent.last().expect("the update");
        let names = ["update", "findAndModify", "bulkWrite"];
        assert!(names.iter().any(|name| last.contains_key(name)), "{last}");
        assert!(sent.iter().filter(|sent| sent.contains_key("update")).count() >= 1);
        let mut left = 600_000;
        for sent in &sent {
            let max_time = sent.get("maxTimeMS").and_then(Bson::as_i64).or_else(|| {
                let max_time = sent.get("maxTimeMS").and_then(Bson::as_i32);
                max_time.map(i64::from)
            });
            let max_time = max_time.unwrap_or_else(|| panic!("{kind}: {sent}"));
            assert!(max_time <= left, "{kind}: {sent}");
            left = max_time;
            if !sent.contains_key("listCollections") {
                assert_eq!(sent.get("comment"), Some(&Bson::from("c")), "{kind}: {sent}");
            }
            if sent.contains_key("update") {
                let bypass = sent.get("bypassDocumentValidation");
                assert_eq!(bypass, Some(&Bson::Boolean(true)), "{kind}: {sent}");
            }
        }
    }
    env.stop().await;
}

#[tokio::test]
async fn the_variables_of_a_bulk_write_hold_for_its_upgrades() {
    let env = Env::start().await;
    if env.is_before(5, 0).await {
        return;
    }
    let cards = env.db.collection::<Card>();
    fill(&cards, [old(1), old(2), old(3)]).await;
    let observed = Observed::of(&env);
    let of_kind = || Filter::<Card>::raw(doc! { "$expr": { "$eq": ["$kind", "$$kind"] } });
    let seen = observed.db.collection::<Card>();
    let bulk = seen.bulk().update_one(|_| of_kind(), using);
    let bulk = bulk.update_by_id(2, using).update_many(|_| of_kind(), using);
    let variables = || doc! { "kind": "k" };
    let done = bulk.update_by_id(3, using).let_vars(variables());
    assert_eq!(done.await.unwrap().matched_count, 6);
    let names = observed.names();
    assert_eq!(
        names.iter().filter(|name| *name == "listCollections").count(),
        1,
        "{names:?}"
    );
    assert_eq!(cards.migrate().await.unwrap().examined, 0);
    if !env.is_before(8, 0).await {
        fill(&cards, [old(1), old(2), old(3)]).await;
        let bulk = env.client().bulk().on(&cards, |b| {
            b.update_one(|_| of_kind(), using)
                .update_many(|_| of_kind(), using)
        });
        assert_eq!(bulk.let_vars(variables()).await.unwrap().matched_count, 4);
    }
    env.stop().await;
}

/// `total` is in hundredths in version 1.
#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "bills", schema_version(2, upgrade = to_units), index(total, unique))]
struct Bill {
    _id: i64,
    total: i64,
}

fn to_units(_: u32, document: &mut BsonDocument) -> Result<(), BoxedError> {
    let total = document.get_i64("total")? / 100;
    document.insert("total", total);
    Ok(())
}

fn bill(id: i64, total: i64) -> BsonDocument {
    doc! { "_id": id, "total": total }
}

#[tokio::test]
async fn documents_that_only_match_in_their_older_form_do_not_hide_others() {
    let env = Env::start().await;
    let bills = env.db.collection::<Bill>();
    let stored = env.db.driver().collection::<BsonDocument>("bills");
    let mut all: Vec<BsonDocument> = (0..40).map(|id| bill(id, 20_000 + 100 * id)).collect();
    all.push(bill(40, 100_000));
    let large = |b: marula::Fields<Bill>| b.total().gte(1_000);
    for find in [false, true] {
        stored.delete_many(doc! {}).await.unwrap();
        stored.insert_many(&all).await.unwrap();
        if find {
            let found = bills.find_one_and_update(large, |b| b.total().inc(1));
            assert_eq!(found.required().await.unwrap().id(), &40);
        } else {
            bills
                .update_one(large, |b| b.total().inc(1))
                .required()
                .await
                .unwrap();
        }
        assert_eq!(bills.find_by_id(40).required().await.unwrap().total, 1_001);
    }
    env.stop().await;
}

#[tokio::test]
async fn an_upgrade_that_the_server_rejects_is_not_an_error_of_the_update() {
    let env = Env::start().await;
    let bills = env.db.collection::<Bill>();
    env.db
        .schema()
        .register::<Bill>()
        .sync(SyncMode::Full)
        .await
        .unwrap();
    let stored = env.db.driver().collection::<BsonDocument>("bills");
    stored
        .insert_many(&[
            bill(1, 500),
            doc! { "_id": 2_i64, "total": 5_i64, "schema_version": 2 },
        ])
        .await
        .unwrap();
    let rejected = |error: Error| {
        let of_document = matches!(&error, Error::Upgrade { id: Some(id), .. } if **id == Bson::Int64(1));
        assert!(of_document, "{error:?}");
        let source = std::error::Error::source(&error).expect("a source").to_string();
        assert!(source.contains("11000"), "{source}");
    };
    let upsert = bills.update_by_id(1, |b| b.total().set(7)).upsert(true);
    rejected(upsert.await.unwrap_err());
    let bulk = bills.bulk().update_by_id(1, |b| b.total().set(7));
    rejected(bulk.await.unwrap_err());
    env.stop().await;
}

#[tokio::test]
async fn an_update_that_meets_an_older_document_at_each_attempt_is_an_error() {
    let env = Env::start().await;
    let cards = env.db.collection::<Card>();
    fill(&cards, [old(1)]).await;
    let other = Interfering::after(&env, "update", 0);
    other.start(usize::MAX);
    let one = other.cards.update_by_id(1, using).await.map(drop);
    let found = other.cards.find_one_and_update(|c| c._id().eq(1), using).await;
    other.start(0);
    for error in [one.unwrap_err(), found.map(drop).unwrap_err()] {
        assert!(
            matches!(
                &error,
                Error::Upgrade {
                    id: None,
                    from: 1,
                    ..
                }
            ),
            "{error:?}"
        );
        let source = std::error::Error::source(&error).expect("a source").to_string();
        assert_eq!(source, "changed by other clients at each attempt");
    }
    env.stop().await;
}

#[tokio::test]
async fn the_sort_of_an_update_is_not_replaced_by_options() {
    let env = Env::start().await;
    if env.is_before(8, 0).await {
        return;
    }
    let cards = env.db.collection::<Card>();
    cards.insert_many([&card(1), &card(2)]).await.unwrap();
    let last = cards.update_one(|_| Filter::everything(), using);
    let last = last
        .sort(|c| c._id().desc())
        .with_options(UpdateOneOptions::default());
    last.required().await.unwrap();
    assert_eq!(cards.find_by_id(2).await.unwrap(), Some(used(2)));
    let replacement = Card {
        label: "r".to_owned(),
        ..card(2)
    };
    let last = cards.replace_one(|_| Filter::everything(), &replacement);
    let last = last
        .sort(|c| c._id().desc())
        .with_options(ReplaceOneOptions::default());
    last.required().await.unwrap();
    assert_eq!(cards.find_by_id(2).await.unwrap(), Some(replacement));
    env.stop().await;
}

#[tokio::test]
async fn equal_updates_of_a_bulk_write_upgrade_different_documents() {
    let env = Env::start().await;
    let cards = env.db.collection::<Card>();
    fill(&cards, [old(1), old(2), old(3), old(4)]).await;
    let unused = |c: marula::Fields<Card>| c.kind().eq("k");
    let change = |c: marula::Fields<Card>| (c.kind().set("l"), c.uses().inc(1));
    let bulk = cards.bulk().update_one(unused, change).update_one(unused, change);
    assert_eq!(bulk.update_one(unused, change).await.unwrap().matched_count, 3);
    let all = cards.find_all().await.unwrap();
    assert_eq!(all.iter().map(|card| card.uses).sum::<i64>(), 3);
    // All documents that match are upgraded before the first write.
    assert_eq!(cards.migrate().await.unwrap().examined, 0);
    env.stop().await;
}

/// Another model of the collection of [`Card`], with another function.
#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "cards", schema_version(2, upgrade = to_badge))]
struct Badge {
    _id: i64,
    kind: String,
    badge: String,
}

fn to_badge(_: u32, document: &mut BsonDocument) -> Result<(), BoxedError> {
    document.insert("badge", "b");
    Ok(())
}

#[tokio::test]
async fn two_models_of_a_collection_are_upgraded_by_their_own_functions() {
    let env = Env::start().await;
    if env.is_before(8, 0).await {
        return;
    }
    let cards = env.db.collection::<Card>();
    let badges = env.db.collection::<Badge>();
    fill(&cards, [old(1), old(2)]).await;
    let bulk = env.client().bulk().on(&cards, |b| b.update_by_id(1, using));
    let bulk = bulk.on(&badges, |b| b.update_by_id(2, |b| b.kind().set("x")));
    bulk.await.unwrap();
    assert_eq!(cards.find_by_id(1).required().await.unwrap(), used(1));
    let badge = badges.find_by_id(2).required().await.unwrap();
    assert_eq!((badge.kind.as_str(), badge.badge.as_str()), ("x", "b"));
    env.stop().await;
}

#[tokio::test]
async fn any_number_of_documents_can_match_in_their_older_form_only() {
    let env = Env::start().await;
    let bills = env.db.collection::<Bill>();
    let stored = env.db.driver().collection::<BsonDocument>("bills");
    // More than 20 batches.
    let all: Vec<BsonDocument> = (0..20_100).map(|id| bill(id, 20_000)).collect();
    stored.insert_many(&all).await.unwrap();
    let large = bills.update_one(|b| b.total().gte(1_000), |b| b.total().inc(1));
    assert_eq!(large.await.unwrap().matched_count, 0);
    env.stop().await;
}

#[tokio::test]
async fn an_update_of_many_upgrades_while_it_reads() {
    let env = Env::start().await;
    fill(&env.db.collection::<Card>(), (1..=1_100).map(old)).await;
    let observed = Observed::of(&env);
    let cards = observed.db.collection::<Card>();
    let updated = cards.update_all(using).await.unwrap();
    assert_eq!(updated.matched_count, 1_100);
    let names = observed.names();
    let first_write = names
        .iter()
        .position(|name| name == "update")
        .expect("an upgrade");
    let (last_read, _) = names
        .iter()
        .enumerate()
        .rfind(|(_, name)| *name == "find")
        .expect("a query");
    assert!(first_write < last_read, "{names:?}");
    let listings = names.iter().filter(|name| *name == "listCollections").count();
    assert_eq!(listings, 1, "{names:?}");
    env.stop().await;
}

#[tokio::test]
async fn an_update_of_many_reads_the_documents_that_it_upgrades_together_in_one_batch() {
    let env = Env::start().await;
    fill(&env.db.collection::<Card>(), (1..=250).map(old)).await;
    let observed = Observed::of(&env);
    let cards = observed.db.collection::<Card>();
    let updated = cards.update_all(using).await.unwrap();
    assert_eq!(updated.matched_count, 250);
    let names = observed.names();
    // The second query reads the documents.
    assert_eq!(names[..2], ["find", "find"], "{names:?}");
    env.stop().await;
}

#[tokio::test]
async fn after_the_time_limit_nothing_is_sent() {
    let env = Env::start().await;
    let observed = Observed::of(&env);
    let cards = observed.db.collection::<Card>();
    fill(&env.db.collection::<Card>(), [old(1)]).await;
    cards.find_by_id(2).await.unwrap();
    observed.take_all();
    let limit = Duration::from_nanos(1);
    let one = cards.update_by_id(1, using).timeout(limit).await.unwrap_err();
    let bulk = cards.bulk().update_by_id(1, using).timeout(limit);
    for error in [one, bulk.await.unwrap_err()] {
        let kind = error.driver().expect("an error of the driver").kind();
        assert!(matches!(kind, ErrorKind::Timeout(_)), "{error:?}");
    }
    assert_eq!(observed.names(), Vec::<String>::new());
    env.stop().await;
}

#[tokio::test]
async fn an_upgrade_is_not_sent_to_a_server_that_lacks_the_options_of_the_call() {
    for version in ["4.2", "7.0"] {
        let server = TestServer::builder().version(version).start().await.unwrap();
        let client = marula::connect(server.uri()).await.unwrap();
        let cards = client.database("versions").collection::<Card>();
        fill(&cards, [old(1)]).await;
        let error = if version == "4.2" {
            let bulk = cards.bulk().update_by_id(1, using).comment("c");
            bulk.await.unwrap_err().to_string()
        } else {
            let bulk = client.bulk().on(&cards, |b| b.update_by_id(1, using));
            bulk.await.unwrap_err().to_string()
        };
        let expected = match version {
            "4.2" => "the option `comment` requires MongoDB 4.4 or later",
            _ => "the client bulk write requires MongoDB 8.0 or later",
        };
        assert!(error.contains(expected), "{error}");
        assert_eq!(server.commands_seen("find"), 0);
        client.shutdown().await;
        server.stop().await;
    }
}

#[tokio::test]
async fn a_conflict_of_an_upgrade_in_a_transaction_can_be_repeated() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let cards = env.db.collection::<Card>();
    fill(&cards, [old(1), old(2)]).await;
    let mut first = env.client().start_transaction().await.unwrap();
    let mut second = env.client().start_transaction().await.unwrap();
    let read = cards.find_by_id(1).session(&mut second).await.unwrap();
    assert_eq!(read, Some(card(1)));
    let one = cards.update_by_id(1, using).session(&mut first);
    one.required().await.unwrap();
    let error = cards
        .update_by_id(1, using)
        .session(&mut second)
        .await
        .unwrap_err();
    let is_transient = |error: &marula::driver::Error| error.contains_label("TransientTransactionError");
    assert!(error.driver().is_some_and(is_transient), "{error:?}");
    second.abort().await.unwrap();
    first.commit().await.unwrap();
    assert_eq!(cards.find_by_id(1).await.unwrap(), Some(used(1)));
    env.stop().await;
}

#[tokio::test]
async fn a_dropped_update_leaves_an_upgraded_document() {
    let env = Env::start().await;
    let cards = env.db.collection::<Card>();
    fill(&cards, [old(1)]).await;
    let upgraded = Arc::new(Notify::new());
    let notified = Arc::clone(&upgraded);
    let mut options = ClientOptions::parse(&env.uri()).unwrap();
    options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
        if matches!(event, CommandEvent::Succeeded(done) if done.command_name == "update") {
            notified.notify_one();
        }
    }));
    let client = Client::with_options(options).unwrap();
    let other = client.database(env.db.name()).collection::<Card>();
    tokio::select! {
        biased;
        () = upgraded.notified() => {}
        updated = other.update_by_id(1, using) => drop(updated.unwrap()),
    }
    assert_eq!(cards.migrate().await.unwrap().examined, 0);
    cards.update_by_id(1, using).required().await.unwrap();
    let found = cards.find_by_id(1).required().await.unwrap();
    let uses = usize::try_from(found.uses).unwrap();
    assert!(matches!(uses, 1 | 2) && found.tags.len() == uses, "{found:?}");
    env.stop().await;
}

#[tokio::test]
async fn each_of_many_equal_updates_of_a_bulk_write_matches() {
    let env = Env::start().await;
    let cards = env.db.collection::<Card>();
    fill(&cards, (1..=150).map(old)).await;
    let mut bulk = cards.bulk();
    for _ in 0..150 {
        bulk = bulk.update_one(|c| c.kind().eq("k"), |c| c.kind().set("taken"));
    }
    assert_eq!(bulk.await.unwrap().matched_count, 150);
    env.stop().await;
}

/// No cursor is open while documents are upgraded: with a load balancer it would keep the only connection.
#[tokio::test]
async fn many_documents_are_upgraded_on_one_connection() {
    let env = Env::start().await;
    let one_connection = Observed::with_options(&env, |options| {
        options.hosts.truncate(1);
        options.max_pool_size = 1;
    });
    let cards = one_connection.db.collection::<Card>();
    let unused = |c: marula::Fields<Card>| c.kind().eq("k");
    let change = |c: marula::Fields<Card>| (c._id().set_on_insert(0), c.uses().inc(1));
    for kind in 0..3 {
        cards.delete_many(|c| c._id().gte(0)).await.unwrap();
        fill(&cards, (1..=1_100).map(old)).await;
        one_connection.take_all();
        match kind {
            0 => drop(cards.update_many(unused, change).await.unwrap()),
            1 => drop(cards.update_one(unused, change).upsert(true).await.unwrap()),
            _ => {
                let bulk = cards.bulk().update_one(unused, change).update_one(unused, change);
                assert_eq!(bulk.await.unwrap().matched_count, 2);
            }
        }
        // Two of the filter, one for each 1,000 documents, and those that read what is upgraded.
        let finds = one_connection.take_all();
        let is_of_filter = |command: &&BsonDocument| {
            let filter = command.get_document("filter");
            filter.is_ok_and(|filter| filter.to_string().contains("kind"))
        };
        assert_eq!(finds.iter().filter(is_of_filter).count(), 2, "{kind}");
        assert_eq!(cards.migrate().await.unwrap().examined, 0, "{kind}");
    }
    env.stop().await;
}

#[tokio::test]
async fn an_upsert_does_not_change_a_document_in_its_older_form() {
    let env = Env::start().await;
    let bills = env.db.collection::<Bill>();
    let stored = env.db.driver().collection::<BsonDocument>("bills");
    let large = |b: marula::Fields<Bill>| b.total().gte(1_000);
    let change = |b: marula::Fields<Bill>| (b._id().set_on_insert(9), b.total().inc(1));
    for kind in 0..3 {
        stored.delete_many(doc! {}).await.unwrap();
        stored
            .insert_many(&[bill(1, 20_000), bill(2, 20_100)])
            .await
            .unwrap();
        match kind {
            0 => drop(bills.update_one(large, change).upsert(true).await.unwrap()),
            1 => drop(
                bills
                    .find_one_and_update(large, change)
                    .upsert(true)
                    .await
                    .unwrap(),
            ),
            _ => drop(bills.bulk().upsert_one(large, change).await.unwrap()),
        }
        for (id, total) in [(1, 200), (2, 201), (9, 1)] {
            assert_eq!(
                bills.find_by_id(id).required().await.unwrap().total,
                total,
                "{kind}"
            );
        }
    }
    env.stop().await;
}

#[tokio::test]
async fn an_update_of_a_bulk_write_matches_what_earlier_writes_leave() {
    let env = Env::start().await;
    let cards = env.db.collection::<Card>();
    fill(&cards, (1..=5).map(old)).await;
    let bulk = cards.bulk().delete_many(|c| c._id().lte(4));
    let bulk = bulk.update_one(|c| c.kind().eq("k"), using);
    assert_eq!(bulk.await.unwrap().matched_count, 1);
    assert_eq!(cards.find_by_id(5).required().await.unwrap(), used(5));
    env.stop().await;
}
