//! Handles that are bound to a transaction: every call takes part in it, or fails.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{Env, Observed};
use marula::bson::{self, DateTime, bson, doc};
use marula::driver::{Bind, BoundTransaction, ErrorKind, TRANSIENT_TRANSACTION_ERROR};
use marula::{Client, Collection, Database, Document, Error, Ref, Result, outside_transaction, prelude::*};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "notes", soft_delete = deleted_at, schema_version(2, upgrade = upgrade))]
struct Note {
    _id: i64,
    tenant: i64,
    text: String,
    author: Ref<Author>,
    deleted_at: Option<DateTime>,
    #[document(version)]
    version: i64,
}

fn upgrade(_: u32, document: &mut bson::Document) -> std::result::Result<(), &'static str> {
    document.insert("text", "upgraded");
    Ok(())
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "authors")]
struct Author {
    _id: i64,
    notes: i64,
}

fn note(id: i64) -> Note {
    Note {
        _id: id,
        tenant: 1,
        text: "new".to_owned(),
        author: Ref::new(1),
        deleted_at: None,
        version: 0,
    }
}

/// The collections of a test, through the client whose commands are recorded.
struct Notes {
    env: Env,
    observed: Observed,
    client: Client,
    notes: Collection<Note>,
    authors: Collection<Author>,
}

impl Notes {
    /// Three notes, of which the second has an older version and the third is deleted. `None` if the deployment has no
    /// transactions, or is older than MongoDB 8.0.
    async fn start() -> Option<Notes> {
        let env = Env::start_replica_set().await?;
        if env.is_before(8, 0).await {
            env.stop().await;
            return None;
        }
        let observed = Observed::of(&env);
        let notes = observed.db.collection::<Note>();
        let authors = observed.db.collection::<Author>();
        authors
            .insert_one(&Author { _id: 1, notes: 3 })
            .await
            .expect("a reply");
        let deleted = Note {
            deleted_at: Some(DateTime::now()),
            ..note(3)
        };
        notes
            .insert_many([note(1), note(2), deleted])
            .await
            .expect("a reply");
        let older = doc! { "$unset": { "schema_version": "" } };
        let raw = notes.driver().clone_with_type::<bson::Document>();
        raw.update_one(doc! { "_id": 2 }, older).await.expect("a reply");
        observed.take_all();
        let client = observed.db.client();
        Some(Notes {
            env,
            observed,
            client,
            notes,
            authors,
        })
    }

    /// The ids of all notes, also of the deleted ones, outside of transactions.
    async fn ids(&self) -> Vec<i64> {
        let all = self.env.db.collection::<Note>().with_deleted();
        let mut all: Vec<i64> = all
            .find_all()
            .await
            .expect("a reply")
            .iter()
            .map(|note| note._id)
            .collect();
        all.sort_unstable();
        all
    }

    async fn stop(self) {
        drop((self.notes, self.authors));
        self.client.shutdown().await;
        self.env.stop().await;
    }
}

type Calling<'a> = std::pin::Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// A call on the handles of a transaction.
struct Call {
    name: &'static str,
    run: for<'a> fn(&'a Handles) -> Calling<'a>,
}

struct Handles {
    client: Client,
    db: Database,
    notes: Collection<Note>,
    authors: Collection<Author>,
}

/// An application binds its repository like this.
impl Bind for &Notes {
    type Bound = Handles;

    fn bind_to(self, transaction: &BoundTransaction) -> Handles {
        Handles {
            client: self.client.clone(),
            db: self.observed.db.bind_to(transaction),
            notes: self.notes.bind_to(transaction),
            authors: self.authors.bind_to(transaction),
        }
    }
}

macro_rules! calls {
    ($($name:ident: |$on:ident| $call:expr;)*) => {
        [$(Call {
            name: stringify!($name),
            run: |$on| Box::pin(async move { let _ = $call; Ok(()) }),
        }),*]
    };
}

/// Every call that can be part of a transaction.
fn calls() -> impl IntoIterator<Item = Call> {
    calls! {
        find: |on| on.notes.find(|n| n.tenant().eq(1)).await?;
        find_all_first: |on| on.notes.find_all().first().await?;
        find_one_of: |on| on.notes.find(|n| n._id().eq(1)).one().await?;
        stream: |on| {
            let mut stream = on.notes.find_all().batch_size(1).stream().await?;
            while stream.try_next().await?.is_some() {}
        };
        page: |on| on.notes.find_all().sort(|n| n._id().asc()).page(1, 1).await?;
        keyset: |on| {
            let page = on.notes.find_all().keyset(|n| n._id().asc(), None, 1).await?;
            assert!(page.next.is_some());
            let next = page.next.as_deref();
            on.notes.find_all().keyset(|n| n._id().asc(), next, 1).await?
        };
        find_one: |on| on.notes.find_one(|n| n._id().eq(1)).await?;
        find_by_id: |on| on.notes.find_by_id(1).required().await?;
        raw: |on| on.notes.find_by_id(1).raw().await?;
        exists: |on| on.notes.exists(|n| n._id().eq(1)).await?;
        count: |on| on.notes.count(|n| n._id().gt(0)).await?;
        distinct: |on| on.notes.distinct(|n| n.tenant(), |n| n._id().gt(0)).await?;
        filtered: |on| on.notes.filter(Note::fields()._id().eq(1)).find_one().await?;
        load: |on| on.authors.load([1_i64]).await?;
        load_by: |on| on.notes.load_by(|n| n.author(), [1_i64]).await?;
        aggregate: |on| on.notes.aggregate().match_(|n| n._id().gt(0)).all().await?;
        aggregate_stream: |on| {
            let mut stream = on.notes.aggregate().sort(|n| n._id().asc()).batch_size(1).stream().await?;
            while stream.try_next().await?.is_some() {}
        };
        insert_one: |on| on.notes.insert_one(&note(11)).await?;
        insert_many: |on| on.notes.insert_many([note(12), note(13)]).await?;
        save: |on| on.notes.save(&mut note(14)).await?;
        save_again: |on| {
            let mut stored = on.notes.find_by_id(14).required().await?;
            stored.text.push('!');
            on.notes.save(&mut stored).await?
        };
        replace: |on| {
            let stored = on.notes.find_by_id(14).required().await?;
            on.notes.replace(&stored).required().await?
        };
        replace_one: |on| {
            let stored = on.notes.find_by_id(13).required().await?;
            on.notes.replace_one(|n| n._id().eq(13), &stored).required().await?
        };
        update_one: |on| on.notes.update_one(|n| n._id().eq(1), |n| n.text().set("x")).required().await?;
        update_older: |on| on.notes.update_by_id(2, |n| n.text().set("x")).required().await?;
        update_many: |on| on.notes.update_many(|n| n._id().gt(0), |n| n.text().set("y")).required().await?;
        update_all: |on| on.authors.update_all(|a| a.notes().inc(1)).await?;
        upsert: |on| on.authors.update_one(|a| a._id().eq(5), |a| a.notes().set(1)).upsert(true).await?;
        find_one_and_update: |on| on.authors.find_one_and_update(|a| a._id().eq(1), |a| a.notes().inc(1)).required().await?;
        find_one_and_replace: |on| {
            let author = Author { _id: 1, notes: 9 };
            on.authors.find_one_and_replace(|a| a._id().eq(1), &author).required().await?
        };
        find_one_and_delete: |on| on.authors.find_one_and_delete(|a| a._id().eq(5)).required().await?;
        delete_one: |on| on.notes.delete_one(|n| n._id().eq(11)).required().await?;
        delete_by_id: |on| on.notes.delete_by_id(12).required().await?;
        delete_many: |on| on.notes.delete_many(|n| n._id().eq(13)).required().await?;
        restore: |on| on.notes.restore(|n| n._id().eq(12)).required().await?;
        delete_permanently: |on| on.notes.delete_permanently(|n| n._id().eq(12)).required().await?;
        delete_all: |on| on.authors.delete_all().await?;
        bulk: |on| {
            let added = note(15);
            on.notes.bulk().insert(&added).update_by_id(2, |n| n.text().set("z")).await?
        };
        client_bulk: |on| {
            let (added, author) = (note(16), Author { _id: 6, notes: 0 });
            on.client
                .bulk()
                .on(&on.notes, |b| b.insert(&added).save(&note(17)))
                .on(&on.authors, |b| b.insert(&author))
                .await?
        };
        of_database: |on| on.db.collection::<Author>().find_all().await?;
        named: |on| on.authors.named("other_authors").find_all().await?;
        other_database: |on| on.authors.in_db("other").find_all().await?;
        with_deleted: |on| on.notes.with_deleted().find_all().await?;
        scoped: |on| on.notes.scoped(|n| n.tenant().eq(1)).update_all(|n| n.text().set("s")).await?;
        driver: |on| on.notes.driver().find_one(doc! {}).await?;
        create: |on| on.db.driver().create_collection("created").await?;
    }
}

/// The fields of a command that concern its transaction.
fn is_part(command: &bson::Document) -> bool {
    command.contains_key("lsid")
        && command.contains_key("txnNumber")
        && command.get("autocommit") == Some(&bson!(false))
}

#[tokio::test]
async fn every_command_of_every_call_is_part_of_the_transaction() {
    let Some(test) = Notes::start().await else { return };
    let tx = test.client.start_transaction().await.unwrap();
    let on = tx.bind(&test);
    let mut all = Vec::new();
    for call in calls() {
        (call.run)(&on)
            .await
            .unwrap_or_else(|error| panic!("{}: {error}", call.name));
        let mut sent = test.observed.take_all();
        // An upgrade reads whether the collection has a collation, which a transaction cannot do.
        sent.retain(|command| !command.contains_key("listCollections"));
        assert!(!sent.is_empty(), "{}", call.name);
        for command in &sent {
            assert!(is_part(command), "{}: {command}", call.name);
        }
        all.extend(sent);
    }
    let starts = |command: &&bson::Document| command.contains_key("startTransaction");
    assert_eq!(all.iter().filter(starts).count(), 1);
    assert_eq!(all[0].get("startTransaction"), Some(&bson!(true)));
    let of_session =
        |command: &bson::Document| (command.get("lsid").cloned(), command.get("txnNumber").cloned());
    assert!(
        all.iter()
            .all(|command| of_session(command) == of_session(&all[0]))
    );
    let names: BTreeSet<&str> = all
        .iter()
        .filter_map(|sent| sent.keys().next())
        .map(String::as_str)
        .collect();
    for name in ["getMore", "bulkWrite", "findAndModify", "distinct", "create"] {
        assert!(names.contains(name), "{names:?}");
    }

    tx.abort().await.unwrap();
    assert_eq!(test.ids().await, [1, 2, 3], "nothing remains");
    test.observed.take_all();
    for call in calls() {
        let refused = (call.run)(&on).await.expect_err(call.name).to_string();
        assert!(refused.contains("has ended"), "{}: {refused}", call.name);
        assert!(test.observed.take_all().is_empty(), "{}", call.name);
    }
    drop(on);
    test.stop().await;
}

#[tokio::test]
async fn what_cannot_be_part_of_a_transaction_is_an_error_before_it_is_sent() {
    let Some(test) = Notes::start().await else { return };
    let mut tx = test.client.start_transaction().await.unwrap();
    let on = tx.bind(&test);
    let refused = calls! {
        estimated_count: |on| on.notes.estimated_count().await?;
        explain: |on| on.notes.find_all().explain()?.await?;
        watch: |on| drop(on.notes.watch().await?);
        out: |on| on.authors.aggregate().out().execute().await?;
        migrate: |on| on.notes.migrate().await?;
        list_collections: |on| on.db.driver().list_collection_names().await?;
        list_indexes: |on| on.notes.driver().list_index_names().await?;
        drop: |on| on.notes.driver().drop().await?;
        drop_database: |on| on.db.driver().drop().await?;
        drop_index: |on| on.notes.driver().drop_index("x").await?;
        search_indexes: |on| on.notes.driver().list_search_indexes(None).await?.try_next().await?;
        rename: |on| on.notes.driver().rename("other").await?;
        coll_mod: |on| on.db.driver().modify_collection("notes").await?;
        grid_fs: |on| on.db.driver().gridfs_bucket().delete(bson!(1)).await?;
    };
    on.authors.insert_one(&Author { _id: 7, notes: 0 }).await.unwrap();
    test.observed.take_all();
    for call in refused {
        let error = (call.run)(&on).await.expect_err(call.name);
        assert!(
            error.to_string().contains("transaction"),
            "{}: {error}",
            call.name
        );
        assert!(test.observed.take_all().is_empty(), "{}", call.name);
    }
    let plan = on.db.schema().register::<Author>().plan().await;
    let error = plan
        .expect_err("a schema is not part of a transaction")
        .to_string();
    assert!(error.contains("cannot be part of one"), "{error}");
    tx.commit().await.unwrap();
    assert!(test.authors.find_by_id(7).await.unwrap().is_some());
    drop(on);
    test.stop().await;
}

#[tokio::test]
async fn an_error_of_the_body_leaves_nothing() {
    let Some(test) = Notes::start().await else { return };
    let failed = test
        .client
        .transaction()
        .run(async |tx| {
            let (notes, authors) = tx.bind((&test.notes, &test.authors));
            notes.insert_one(&note(20)).await?;
            authors.update_by_id(1, |a| a.notes().inc(1)).required().await?;
            authors.find_by_id(99).required().await
        })
        .await;
    assert!(matches!(failed, Err(Error::NotFound { .. })), "{failed:?}");
    assert_eq!(test.ids().await, [1, 2, 3]);
    assert_eq!(test.authors.find_by_id(1).required().await.unwrap().notes, 3);
    test.stop().await;
}

#[tokio::test]
async fn a_transient_error_runs_the_body_again_with_handles_of_the_next_transaction() {
    let Some(test) = Notes::start().await else { return };
    if !test.env.is_own() {
        return test.stop().await;
    }
    let fail = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": 1 },
        "data": { "failCommands": ["insert"], "errorCode": 112, "errorLabels": [TRANSIENT_TRANSACTION_ERROR] },
    };
    let admin = test.env.client().driver().database("admin");
    admin.run_command(fail).await.unwrap();
    let attempts = AtomicUsize::new(0);
    let kept: tokio::sync::Mutex<Option<Collection<Note>>> = tokio::sync::Mutex::default();
    test.client
        .transaction()
        .run(async |tx| {
            attempts.fetch_add(1, Ordering::Relaxed);
            let notes = tx.bind(&test.notes);
            if let Some(kept) = kept.lock().await.replace(notes.clone()) {
                // The handle of the first attempt is not part of the second.
                let refused = kept.insert_one(&note(30)).await.unwrap_err();
                assert!(refused.to_string().contains("has ended"), "{refused}");
            }
            notes
                .update_by_id(1, |n| n.text().set("changed"))
                .required()
                .await?;
            notes.insert_one(&note(31)).await.map(drop)
        })
        .await
        .unwrap();
    assert_eq!(attempts.into_inner(), 2);
    assert_eq!(test.ids().await, [1, 2, 3, 31]);
    test.stop().await;
}

#[tokio::test]
async fn a_handle_that_is_kept_after_the_end_is_refused() {
    let Some(test) = Notes::start().await else { return };
    let kept = test
        .client
        .transaction()
        .run(async |tx| {
            let notes = tx.bind(&test.notes);
            notes.insert_one(&note(40)).await?;
            Ok::<_, Error>(notes)
        })
        .await
        .unwrap();
    assert!(!kept.transaction().unwrap().is_in_progress());
    test.observed.take_all();
    let refused = kept.insert_one(&note(41)).await.unwrap_err();
    let Error::Driver(driver) = &refused else {
        panic!("{refused}")
    };
    assert!(
        matches!(driver.kind(), ErrorKind::InvalidArgument(_)),
        "{driver:?}"
    );
    assert!(refused.to_string().contains("has ended"), "{refused}");
    assert!(test.observed.take_all().is_empty());

    // The same for a handle that was bound before the transaction was started, and within the next one of the session.
    let mut session = test.client.start_session().await.unwrap();
    let early = session.bind(&test.notes);
    session.start_transaction().await.unwrap();
    let late = session.bind(&test.notes);
    assert!(early.find_by_id(1).await.is_err());
    assert!(late.find_by_id(1).await.unwrap().is_some());
    session.abort_transaction().await.unwrap();
    session.start_transaction().await.unwrap();
    assert!(late.find_by_id(1).await.is_err());
    // A session of the call replaces the transaction of the handle.
    assert!(late.find_by_id(1).session(&mut session).await.unwrap().is_some());
    session.abort_transaction().await.unwrap();
    assert_eq!(test.ids().await, [1, 2, 3, 40]);
    drop((session, early, late, kept));
    test.stop().await;
}

#[tokio::test]
async fn calls_that_run_at_once_are_sent_one_after_the_other() {
    let Some(test) = Notes::start().await else { return };
    test.client
        .transaction()
        .run(async |tx| {
            let (notes, authors) = tx.bind((&test.notes, &test.authors));
            let added = [note(50), note(51)];
            let (a, b, c, d) = tokio::join!(
                notes.insert_one(&added[0]),
                authors.update_by_id(1, |a| a.notes().inc(1)).required(),
                notes.insert_one(&added[1]),
                notes.find_all().all(),
            );
            drop((a?, b?, c?, d?));
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
    assert_eq!(test.ids().await, [1, 2, 3, 50, 51]);
    let sent = test.observed.take_all();
    assert_eq!(sent.len(), 5, "{sent:?}");
    let starts: Vec<bool> = sent
        .iter()
        .map(|sent| sent.contains_key("startTransaction"))
        .collect();
    assert_eq!(starts, [true, false, false, false, false]);
    test.stop().await;
}

#[tokio::test]
async fn a_dropped_future_of_a_bound_call_leaves_the_session_usable() {
    let Some(test) = Notes::start().await else { return };
    let mut session = test.client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let notes = session.bind(&test.notes);
    notes.insert_one(&note(60)).await.unwrap();
    let added = note(61);
    tokio::select! {
        biased;
        // Polled once: the command may be sent, and its reply is not awaited.
        _ = notes.insert_one(&added) => {}
        () = std::future::ready(()) => {}
    }
    // It is not known whether the transaction has the document.
    let unknown = notes.insert_one(&note(62)).await.unwrap_err();
    let Error::Driver(unknown) = unknown else {
        panic!("{unknown}")
    };
    assert!(unknown.contains_label(TRANSIENT_TRANSACTION_ERROR), "{unknown:?}");
    session.abort_transaction().await.unwrap();
    session.start_transaction().await.unwrap();
    session.bind(&test.notes).insert_one(&note(63)).await.unwrap();
    session.commit_transaction().await.unwrap();
    assert_eq!(test.ids().await, [1, 2, 3, 63]);
    drop((session, notes));
    test.stop().await;
}

#[tokio::test]
async fn a_bound_handle_keeps_its_scope_and_its_view_of_deleted_documents() {
    let Some(test) = Notes::start().await else { return };
    let other = Note {
        tenant: 2,
        ..note(70)
    };
    test.notes.insert_one(&other).await.unwrap();
    let scoped = test.notes.scoped(|n| n.tenant().eq(2));
    let deleted = test.notes.only_deleted();
    test.client
        .transaction()
        .run(async |tx| {
            let (scoped, deleted) = tx.bind((&scoped, &deleted));
            assert_eq!(
                scoped.find_all().await?,
                [test.notes.find_by_id(70).required().await?]
            );
            assert_eq!(
                scoped.update_all(|n| n.text().set("scoped")).await?.matched_count,
                1
            );
            let found: Vec<i64> = deleted.find_all().await?.iter().map(|note| note._id).collect();
            assert_eq!(found, [3]);
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
    assert_eq!(test.notes.count(|n| n.text().eq("scoped")).await.unwrap(), 1);
    test.stop().await;
}

#[tokio::test]
async fn a_bulk_write_is_part_of_the_transaction_of_its_collections() {
    let Some(test) = Notes::start().await else { return };
    let tx = test.client.start_transaction().await.unwrap();
    let notes = tx.bind(&test.notes);
    let (added, author) = (note(80), Author { _id: 8, notes: 0 });
    for mixed in [
        test.client
            .bulk()
            .on(&notes, |b| b.insert(&added))
            .on(&test.authors, |b| b.insert(&author)),
        test.client
            .bulk()
            .on(&test.authors, |b| b.insert(&author))
            .on(&notes, |b| b.insert(&added)),
    ] {
        let refused = mixed.await.unwrap_err();
        assert!(matches!(refused, Error::InvalidBulkWrite { .. }), "{refused}");
    }
    // The replacement of another version is found by a read in the transaction.
    let changed = Note {
        version: 7,
        ..note(1)
    };
    let conflict = test
        .client
        .bulk()
        .on(&notes, |b| b.replace(&changed))
        .await
        .unwrap_err();
    assert!(conflict.is_version_conflict(), "{conflict}");
    let conflict = notes.bulk().replace(&changed).await.unwrap_err();
    assert!(conflict.is_version_conflict(), "{conflict}");
    let sent = test.observed.take_all();
    assert!(sent.iter().all(is_part), "{sent:?}");
    assert!(sent.iter().any(|sent| sent.contains_key("find")), "{sent:?}");
    tx.abort().await.unwrap();
    drop(notes);
    test.stop().await;
}

/// The operation and the collection of an error.
fn invalid_argument(error: &Error) -> String {
    match error {
        Error::Driver(driver) if matches!(driver.kind(), ErrorKind::InvalidArgument(_)) => driver.to_string(),
        error => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_strict_transaction_refuses_calls_outside_of_it() {
    let Some(test) = Notes::start().await else { return };
    let forgotten: [(&str, Calling<'_>); 5] = [
        (
            "insert",
            Box::pin(async { test.notes.insert_one(&note(90)).await.map(drop) }),
        ),
        (
            "find",
            Box::pin(async { test.notes.find_all().all().await.map(drop) }),
        ),
        (
            "aggregate",
            Box::pin(async { test.notes.count(|n| n._id().gt(0)).await.map(drop) }),
        ),
        (
            "runCommand",
            Box::pin(async {
                let pong = test.observed.db.driver().run_command(doc! { "ping": 1 }).await;
                pong.map(drop).map_err(Error::from)
            }),
        ),
        (
            "bulkWrite",
            Box::pin(async {
                let added = note(91);
                test.client
                    .bulk()
                    .on(&test.notes, |b| b.insert(&added))
                    .await
                    .map(drop)
            }),
        ),
    ];
    for (name, call) in forgotten {
        let call = tokio::sync::Mutex::new(Some(call));
        let refused = test
            .client
            .transaction()
            .strict()
            .run(async |tx| {
                tx.bind(&test.notes).insert_one(&note(92)).await?;
                let call = call.lock().await.take().expect("it runs once");
                // In `join!`, the call is made by the same task.
                tokio::join!(call, std::future::ready(())).0
            })
            .await;
        let text = invalid_argument(&refused.expect_err(name));
        assert!(
            text.contains(name) && text.contains("outside_transaction"),
            "{text}"
        );
        assert!(
            name == "runCommand" || name == "bulkWrite" || text.contains("notes"),
            "{text}"
        );
    }
    assert_eq!(test.ids().await, [1, 2, 3]);
    test.stop().await;
}

#[tokio::test]
async fn a_strict_transaction_permits_what_is_meant_to_be_outside() {
    let Some(test) = Notes::start().await else { return };
    let other = marula::connect(test.env.uri()).await.unwrap();
    let of_other = other.database(test.env.db.name()).collection::<Author>();
    let mut cursor = test.notes.find_all().batch_size(1).stream().await.unwrap();
    cursor.try_next().await.unwrap();
    let cursor = tokio::sync::Mutex::new(cursor);
    test.client
        .transaction()
        .strict()
        .run(async |tx| {
            // By the session, another client, a cursor that was opened before, another task, or on purpose.
            test.authors
                .insert_one(&Author { _id: 20, notes: 0 })
                .session(tx)
                .await?;
            of_other.insert_one(&Author { _id: 21, notes: 0 }).await?;
            cursor.lock().await.try_next().await?;
            let authors = test.authors.clone();
            let spawned =
                tokio::spawn(
                    async move { authors.insert_one(&Author { _id: 22, notes: 0 }).await.map(drop) },
                );
            spawned.await.expect("no panic")?;
            outside_transaction(test.authors.insert_one(&Author { _id: 23, notes: 0 })).await?;
            // A transaction within the body has a session of its own.
            test.client
                .transaction()
                .strict()
                .run(async |inner| {
                    inner
                        .bind(&test.authors)
                        .insert_one(&Author { _id: 24, notes: 0 })
                        .await
                        .map(drop)
                })
                .await?;
            tx.bind(&test.authors).find_by_id(99).required().await
        })
        .await
        .unwrap_err();
    let ids: Vec<i64> = test
        .authors
        .find(|a| a._id().gte(20))
        .await
        .unwrap()
        .iter()
        .map(|a| a._id)
        .collect();
    assert_eq!(ids, [21, 22, 23, 24]);
    // Outside of the body nothing is refused.
    test.authors
        .delete_many(|a| a._id().gte(20))
        .required()
        .await
        .unwrap();
    drop(cursor);
    other.shutdown().await;
    test.stop().await;
}
