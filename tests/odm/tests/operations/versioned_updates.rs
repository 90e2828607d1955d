//! Updates by operators upgrade the documents of older versions that they match, so that a later upgrade does not undo them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::{Env, Observed};
use crate::schema_versions::raw;
use marula::bson::{Bson, DateTime, Document as BsonDocument, doc};
use marula::driver::event::{CommandEvent, EventListener};
use marula::driver::options::{ClientOptions, Collation, WriteConcern};
use marula::managed::BoxedError;
use marula::prelude::*;
use marula::{Client, Collection, Document, Error, Filter, Update};
use serde::{Deserialize, Serialize};

/// Version 1 has `name` in place of `label`, and neither `tags` nor `uses`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "cards", schema_version(2, upgrade = upgrade))]
pub(crate) struct Card {
    pub(crate) _id: i64,
    pub(crate) kind: String,
    pub(crate) label: String,
    pub(crate) tags: Vec<String>,
    pub(crate) uses: i64,
}

fn upgrade(_: u32, document: &mut BsonDocument) -> Result<(), BoxedError> {
    let name = document.remove("name").ok_or("no name")?;
    document.insert("label", name);
    document.insert("tags", Vec::<Bson>::new());
    document.insert("uses", 0_i64);
    Ok(())
}

pub(crate) fn card(id: i64) -> Card {
    Card {
        _id: id,
        kind: "k".to_owned(),
        label: "a".to_owned(),
        tags: Vec::new(),
        uses: 0,
    }
}

pub(crate) fn used(id: i64) -> Card {
    Card {
        tags: vec!["x".to_owned()],
        uses: 1,
        ..card(id)
    }
}

pub(crate) fn old(id: i64) -> BsonDocument {
    doc! { "_id": id, "kind": "k", "name": "a" }
}

/// The update of the tests.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the signature of the argument of updates"
)]
pub(crate) fn using(c: marula::Fields<Card>) -> (Update<Card>, Update<Card>) {
    (c.uses().inc(1), c.tags().push("x"))
}

pub(crate) async fn fill(cards: &Collection<Card>, documents: impl IntoIterator<Item = BsonDocument>) {
    let documents: Vec<BsonDocument> = documents.into_iter().collect();
    raw(cards).delete_many(doc! {}).await.expect("deleted");
    raw(cards).insert_many(&documents).await.expect("inserted");
}

async fn stored(cards: &Collection<Card>, id: i64) -> BsonDocument {
    let found = raw(cards).find_one(doc! { "_id": id }).await;
    found.expect("a reply").expect("a document")
}

/// Each kind of update, of the document 1 and no other.
macro_rules! each_update {
    ($env:ident, $cards:ident, |$name:ident, $result:ident| $check:expr) => {{
        macro_rules! check {
            ($what:literal: $call:expr) => {{
                let $name = $what;
                fill(&$cards, [old(1), old(2)]).await;
                let $result = $call.await.map(drop);
                $check;
            }};
        }
        let one = |c: marula::Fields<Card>| c._id().lte(1);
        let pipeline = || {
            let uses = doc! { "$add": ["$uses", 1] };
            let tags = doc! { "$concatArrays": ["$tags", ["x"]] };
            Update::<Card>::pipeline([doc! { "$set": { "uses": uses, "tags": tags } }])
        };
        let client = || $env.client().bulk();
        check!("update_one": $cards.update_one(one, using));
        check!("update_by_id": $cards.update_by_id(1, using));
        check!("update_many": $cards.update_many(one, using));
        check!("pipeline": $cards.update_one(one, |_| pipeline()));
        check!("pipeline of many": $cards.update_many(one, |_| pipeline()));
        check!("upsert": $cards.update_by_id(1, using).upsert(true));
        check!("upsert_with": $cards.upsert_with(|c| c._id().eq(1), using, &card(1)));
        check!("find_one_and_update": $cards.find_one_and_update(one, using));
        check!("find_one_and_update as upsert": $cards.find_one_and_update(|c| c._id().eq(1), using).upsert(true));
        check!("bulk, update_one": $cards.bulk().update_one(one, using));
        check!("bulk, update_by_id": $cards.bulk().update_by_id(1, using));
        check!("bulk, update_many": $cards.bulk().update_many(one, using));
        check!("bulk, upsert_one": $cards.bulk().upsert_one(|c| c._id().eq(1), using));
        if !$env.is_before(8, 0).await {
            check!("client, update_one": client().on(&$cards, |b| b.update_one(one, using)));
            check!("client, update_by_id": client().on(&$cards, |b| b.update_by_id(1, using)));
            check!("client, update_many": client().on(&$cards, |b| b.update_many(one, using)));
            check!("client, upsert_one": client().on(&$cards, |b| b.upsert_one(|c| c._id().eq(1), using)));
        }
    }};
}

#[tokio::test]
async fn an_update_of_an_older_document_is_not_undone() {
    let env = Env::start().await;
    let cards = env.db.collection::<Card>();
    each_update!(env, cards, |name, result| {
        let done: Result<(), Error> = result;
        done.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(cards.find_by_id(1).required().await.unwrap(), used(1), "{name}");
        assert_eq!(
            stored(&cards, 1).await.get("schema_version"),
            Some(&Bson::Int32(2)),
            "{name}"
        );
        assert_eq!(stored(&cards, 2).await, old(2), "{name}");
        let migration = cards.migrate().await.unwrap();
        assert_eq!((migration.examined, migration.upgraded), (1, 1), "{name}");
        assert_eq!(cards.find_by_id(1).required().await.unwrap(), used(1), "{name}");
    });
    fill(&cards, (1..=250).map(old)).await;
    let updated = cards.update_all(using).await.unwrap();
    assert_eq!((updated.matched_count, updated.modified_count), (250, 250));
    assert_eq!(cards.migrate().await.unwrap().examined, 0);
    let all = cards.find_all().await.unwrap();
    assert!(all.iter().all(|card| card.uses == 1), "{all:?}");
    env.stop().await;
}

#[tokio::test]
async fn find_one_and_update_returns_the_upgraded_document() {
    let env = Env::start().await;
    let cards = env.db.collection::<Card>();
    fill(&cards, [old(1)]).await;
    let before = cards.find_one_and_update(|c| c._id().eq(1), using);
    assert_eq!(before.await.unwrap(), Some(card(1)));
    fill(&cards, [old(1)]).await;
    let after = cards
        .find_one_and_update(|c| c._id().eq(1), using)
        .returning_new();
    assert_eq!(after.await.unwrap(), Some(used(1)));
    let missing = cards.find_one_and_update(|c| c._id().eq(9), using);
    assert_eq!(missing.await.unwrap(), None);
    env.stop().await;
}

#[tokio::test]
async fn the_first_document_of_a_sort_is_updated_also_if_it_is_older() {
    let env = Env::start().await;
    let cards = env.db.collection::<Card>();
    cards.insert_one(&card(2)).await.unwrap();
    raw(&cards).insert_many(&[old(1), old(3)]).await.unwrap();
    let last = cards.find_one_and_update(|_| Filter::everything(), using);
    let last = last.sort(|c| c._id().desc()).returning_new().await.unwrap();
    assert_eq!(last, Some(used(3)));
    if !env.is_before(8, 0).await {
        let first = cards.update_one(|_| Filter::everything(), using);
        first.sort(|c| c._id().asc()).required().await.unwrap();
        assert_eq!(cards.find_by_id(1).await.unwrap(), Some(used(1)));
    }
    assert_eq!(cards.find_by_id(2).await.unwrap(), Some(card(2)));
    env.stop().await;
}

#[tokio::test]
async fn the_documents_are_found_with_the_collation_of_the_update() {
    let env = Env::start().await;
    let cards = env.db.collection::<Card>();
    fill(&cards, [old(1)]).await;
    let ignoring_case = || Collation::new("en").with_strength(2);
    let one = cards.update_one(|c| c.kind().eq("K"), using);
    one.collation(ignoring_case()).required().await.unwrap();
    assert_eq!(cards.find_by_id(1).await.unwrap(), Some(used(1)));
    fill(&cards, [old(1)]).await;
    let many = cards.update_many(|c| c.kind().eq("K"), using);
    many.collation(ignoring_case()).required().await.unwrap();
    assert_eq!(cards.find_by_id(1).await.unwrap(), Some(used(1)));
    env.stop().await;
}

#[tokio::test]
async fn an_update_of_a_document_that_cannot_be_upgraded_is_not_sent() {
    let env = Env::start().await;
    let cards = env.db.collection::<Card>();
    let broken = doc! { "_id": 1_i64, "kind": "k" };
    // `fill` stores a document that can be upgraded.
    let cannot = async |name: &str, updating: Result<(), Error>| {
        let error = updating.expect_err(name);
        let is_of_one = matches!(
            &error,
            Error::Upgrade { model: "Card", from: 1, id: Some(id), .. } if **id == Bson::Int64(1)
        );
        assert!(is_of_one, "{name}: {error:?}");
        let found = raw(&cards).find_one(doc! { "_id": 1_i64 }).await.unwrap();
        assert_eq!(found.as_ref(), Some(&broken), "{name}");
    };
    fill(&cards, [broken.clone(), old(2)]).await;
    let one = |c: marula::Fields<Card>| c._id().lte(1);
    cannot("one", cards.update_one(one, using).await.map(drop)).await;
    cannot("many", cards.update_many(one, using).await.map(drop)).await;
    cannot(
        "upsert",
        cards.update_by_id(1, using).upsert(true).await.map(drop),
    )
    .await;
    cannot("find", cards.find_one_and_update(one, using).await.map(drop)).await;
    let bulk = cards.bulk().insert(&card(3)).update_by_id(1, using);
    cannot("bulk", bulk.await.map(drop)).await;
    assert_eq!(cards.find_by_id(3).await.unwrap(), None);
    env.stop().await;
}

#[tokio::test]
async fn updates_in_a_transaction_upgrade_in_it() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let cards = env.db.collection::<Card>();
    fill(&cards, [old(1), old(2), old(3), old(4)]).await;
    for is_committed in [false, true] {
        let mut tx = env.client().start_transaction().await.unwrap();
        let one = cards.update_by_id(1, using).session(&mut tx);
        one.required().await.unwrap();
        let many = cards.update_many(|c| c._id().eq(2), using).session(&mut tx);
        many.required().await.unwrap();
        let found = cards
            .find_one_and_update(|c| c._id().eq(3), using)
            .session(&mut tx);
        assert_eq!(found.await.unwrap(), Some(card(3)));
        let bulk = cards.bulk().update_by_id(4, using).session(&mut tx);
        assert_eq!(bulk.await.unwrap().matched_count, 1);
        for id in 1..=4 {
            assert_eq!(stored(&cards, id).await, old(id));
        }
        if is_committed {
            tx.commit().await.unwrap();
            break;
        }
        tx.abort().await.unwrap();
        for id in 1..=4 {
            assert_eq!(stored(&cards, id).await, old(id));
        }
    }
    let all = cards.find_all().sort(|c| c._id().asc()).await.unwrap();
    assert_eq!(all, [used(1), used(2), used(3), used(4)]);
    assert_eq!(cards.migrate().await.unwrap().examined, 0);
    env.stop().await;
}

/// Another client, which stores a document each time a command has succeeded.
pub(crate) struct Interfering {
    pub(crate) cards: Collection<Card>,
    left: Arc<AtomicUsize>,
}

impl Interfering {
    /// Stores documents of version 1 after commands of this name, without the first `skipped`.
    pub(crate) fn after(env: &Env, command: &'static str, skipped: usize) -> Interfering {
        let left = Arc::new(AtomicUsize::new(0));
        let (remaining, seen) = (Arc::clone(&left), Mutex::new(0));
        let (uri, database) = (env.uri(), env.db.name().to_owned());
        let mut options = ClientOptions::parse(&uri).expect("a valid connection string");
        options.command_listener = Some(EventListener::new(move |event: &CommandEvent| {
            let CommandEvent::Succeeded(done) = event else {
                return;
            };
            if done.command_name != command || remaining.load(Ordering::SeqCst) == 0 {
                return;
            }
            let mut seen = seen.lock().expect("not poisoned");
            *seen += 1;
            if *seen <= skipped {
                return;
            }
            remaining.fetch_sub(1, Ordering::SeqCst);
            let document = doc! { "_id": 1_i64, "kind": "k", "name": format!("b{seen}") };
            let (uri, database) = (uri.clone(), database.clone());
            let storing = std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime").block_on(async {
                    let client = marula::connect(&uri).await.expect("connected");
                    let cards = raw(&client.database(&database).collection::<Card>());
                    let replaced = cards.replace_one(doc! { "_id": 1_i64 }, &document).await;
                    replaced.expect("replaced");
                    client.shutdown().await;
                });
            });
            storing.join().expect("the document is stored");
        }));
        let client = Client::with_options(options).expect("valid options");
        Interfering {
            cards: client.database(env.db.name()).collection(),
            left,
        }
    }

    pub(crate) fn start(&self, times: usize) {
        self.left.store(times, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn an_older_document_that_appears_after_the_upgrade_is_upgraded_again() {
    let env = Env::start().await;
    let cards = env.db.collection::<Card>();
    let again = Card {
        label: "b1".to_owned(),
        ..used(1)
    };
    for kind in 0..3 {
        fill(&cards, [old(1)]).await;
        let other = Interfering::after(&env, "update", 0);
        other.start(1);
        match kind {
            0 => drop(other.cards.update_by_id(1, using).required().await.unwrap()),
            1 => {
                let found = other.cards.find_one_and_update(|c| c._id().eq(1), using);
                assert_eq!(found.required().await.unwrap().label, "b1");
            }
            // The update is not sent again: it was performed before the document appeared.
            _ => {
                let bulk = other.cards.bulk().update_by_id(1, using).await.unwrap();
                assert_eq!(bulk.matched_count, 0);
                assert_eq!(stored(&cards, 1).await.get("name"), Some(&Bson::from("b1")));
                continue;
            }
        }
        assert_eq!(cards.find_by_id(1).await.unwrap(), Some(again.clone()));
        assert_eq!(cards.migrate().await.unwrap().examined, 0);
    }
    env.stop().await;
}

#[tokio::test]
async fn a_document_that_changes_during_its_upgrade_is_read_again() {
    let env = Env::start().await;
    let cards = env.db.collection::<Card>();
    fill(&cards, [old(1)]).await;
    // The first query reads the id.
    let other = Interfering::after(&env, "find", 1);
    other.start(1);
    other.cards.update_by_id(1, using).required().await.unwrap();
    let found = cards.find_by_id(1).required().await.unwrap();
    assert_eq!((found.label.as_str(), found.uses), ("b2", 1));

    fill(&cards, [old(1)]).await;
    let other = Interfering::after(&env, "find", 1);
    other.start(usize::MAX);
    let error = other.cards.update_by_id(1, using).await.unwrap_err();
    assert!(matches!(&error, Error::Upgrade { from: 1, .. }), "{error:?}");
    let source = std::error::Error::source(&error).expect("a source").to_string();
    assert_eq!(source, "changed by other clients at each attempt");
    other.start(0);
    assert!(stored(&cards, 1).await.get_str("name").is_ok());
    env.stop().await;
}

#[tokio::test]
async fn an_unacknowledged_update_is_sent_once() {
    let env = Env::start().await;
    // One connection of one mongos performs the commands in their order.
    let one_connection = Observed::with_options(&env, |options| {
        options.hosts.truncate(1);
        options.max_pool_size = 1;
    });
    let cards = one_connection.db.collection::<Card>();
    fill(&cards, [old(1), old(2)]).await;
    let unacknowledged = cards.with_write_concern(WriteConcern::nodes(0));
    let unused = |c: marula::Fields<Card>| c.kind().eq("k");
    let change = |c: marula::Fields<Card>| (c.kind().set("l"), c.uses().inc(1));
    unacknowledged.update_one(unused, change).await.unwrap();
    let of_action = cards.update_one(unused, change);
    of_action.write_concern(WriteConcern::nodes(0)).await.unwrap();
    let all = cards.find_all().await.unwrap();
    assert!(
        all.iter().all(|card| card.uses == 1 && card.kind == "l"),
        "{all:?}"
    );
    fill(&cards, [old(1), old(2)]).await;
    unacknowledged.update_one(unused, change).await.unwrap();
    let all = cards.find_all().await.unwrap();
    assert_eq!(all.iter().map(|card| card.uses).sum::<i64>(), 1);
    env.stop().await;
}

/// A model of the first version.
#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "first", schema_version(1))]
struct First {
    _id: i64,
    uses: i64,
}

#[tokio::test]
async fn only_models_with_older_versions_are_read_before_an_update() {
    let env = Env::start().await;
    let observed = Observed::of(&env);
    let first = observed.db.collection::<First>();
    first.insert_one(&First { _id: 1, uses: 0 }).await.unwrap();
    observed.take("insert");
    first
        .update_by_id(1, |f| f.uses().inc(1))
        .required()
        .await
        .unwrap();
    let found = first.find_one_and_update(|f| f._id().eq(1), |f| f.uses().inc(1));
    found.required().await.unwrap();
    first.bulk().update_by_id(1, |f| f.uses().inc(1)).await.unwrap();
    assert_eq!(observed.names(), ["update", "findAndModify", "update"]);
    for command in ["update", "findAndModify"] {
        observed.take(command);
    }

    let cards = observed.db.collection::<Card>();
    cards.insert_many([card(1), card(2)]).await.unwrap();
    observed.take("insert");
    cards.update_by_id(1, using).required().await.unwrap();
    assert_eq!(observed.names(), ["find", "update"]);
    let sent = observed.take("update");
    let filter = doc! { "_id": 1_i64, "schema_version": { "$gte": 2 } };
    let statement = sent[0].get_array("updates").unwrap()[0].as_document().unwrap();
    assert_eq!(statement.get("q"), Some(&Bson::from(filter)));
    observed.take("find");
    // One query finds the documents of all ids.
    let bulk = cards.bulk().update_by_id(1, using).update_by_id(2, using);
    assert_eq!(bulk.await.unwrap().matched_count, 2);
    assert_eq!(observed.names(), ["find", "update"]);
    env.stop().await;
}

/// A document that cannot be upgraded can be deleted and restored.
#[derive(Debug, Serialize, Deserialize, Document)]
#[document(collection = "notes", soft_delete = deleted_at, schema_version(2, upgrade = upgrade))]
struct Note {
    _id: i64,
    label: String,
    deleted_at: Option<DateTime>,
}

#[tokio::test]
async fn soft_deletion_and_restoration_upgrade_nothing() {
    let env = Env::start().await;
    let notes = env.db.collection::<Note>();
    let broken = doc! { "_id": 1_i64, "label": 5, "deleted_at": Bson::Null };
    raw(&notes).insert_one(&broken).await.unwrap();
    for _ in 0..2 {
        assert_eq!(notes.delete_by_id(1).await.unwrap(), 1);
        notes.restore_by_id(1).required().await.unwrap();
        assert_eq!(notes.bulk().delete_by_id(1).await.unwrap().matched_count, 1);
        notes.restore(|n| n._id().eq(1)).required().await.unwrap();
    }
    assert_eq!(raw(&notes).find_one(doc! {}).await.unwrap(), Some(broken.clone()));
    // Updates within the scope of the handle upgrade no deleted document.
    notes.delete_by_id(1).await.unwrap();
    let update = notes.update_by_id(1, |n| n.label().set("a")).await.unwrap();
    assert_eq!(update.matched_count, 0);
    let bulk = notes.bulk().update_by_id(1, |n| n.label().set("a"));
    assert_eq!(bulk.await.unwrap().matched_count, 0);
    env.stop().await;
}
