//! Handles with a scope: every call finds and changes only the documents of its scope.

use std::collections::BTreeSet;
use std::path::Path;
use std::pin::Pin;

use crate::common::Env;
use marula::bson::{DateTime, doc};
use marula::driver::WriteModel;
use marula::{Collection, Document, Error, Filter, Pipeline, Result, Shape, Update, prelude::*};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "notes", soft_delete = deleted_at, schema_version(2, upgrade = upgrade))]
struct Note {
    _id: i64,
    tenant: i64,
    text: String,
    deleted_at: Option<DateTime>,
}

fn upgrade(_: u32, document: &mut marula::bson::Document) -> std::result::Result<(), &'static str> {
    document.insert("text", "upgraded");
    Ok(())
}

fn note(id: i64, tenant: i64) -> Note {
    Note {
        _id: id,
        tenant,
        text: "x".to_owned(),
        deleted_at: None,
    }
}

/// Live and deleted documents of the own tenant (1, 3) and of another one (2, 4).
fn stored() -> [Note; 4] {
    let deleted = |note: Note| Note {
        deleted_at: Some(DateTime::from_millis(1)),
        ..note
    };
    [note(1, 1), note(2, 2), deleted(note(3, 1)), deleted(note(4, 2))]
}

/// The ids that a call returns.
type Calling<'a> = Pin<Box<dyn Future<Output = Result<Vec<i64>>> + 'a>>;

struct Call {
    name: &'static str,
    run: for<'a> fn(&'a Collection<Note>) -> Calling<'a>,
}

macro_rules! calls {
    ($($name:ident: |$own:ident| $call:expr;)*) => {
        [$(Call {
            name: stringify!($name),
            run: |$own| Box::pin(async move { $call }),
        }),*]
    };
}

fn ids(notes: Vec<Note>) -> Vec<i64> {
    notes.into_iter().map(|note| note._id).collect()
}

fn calls() -> Vec<Call> {
    let mut every = Vec::new();
    every.extend(calls![
        find: |own| Ok(ids(own.find(|_| Filter::everything()).all().await?));
        find_all: |own| Ok(ids(own.find_all().await?));
        filter: |own| Ok(ids(own.filter(Filter::everything()).find().await?));
        find_one: |own| Ok(ids(own.find_one(|n| n._id().eq(2)).await?.into_iter().collect()));
        find_by_id: |own| Ok(ids(own.find_by_id(2).await?.into_iter().collect()));
        count: |own| Ok(vec![i64::try_from(own.count(|_| Filter::everything()).await?).expect("a count")]);
        exists: |own| Ok(own.exists(|n| n._id().eq(2)).await?.then_some(2).into_iter().collect());
        distinct: |own| own.distinct(|n| n._id(), |_| Filter::everything()).await;
        estimated_count: |own| own.estimated_count().await.map(|_| vec![2]);
        index_stats: |own| own.index_stats().all().await.map(|_| vec![2]);
        collection_stats: |own| own.collection_stats().all().await.map(|_| vec![2]);
        aggregate: |own| Ok(ids(own.aggregate().sort(|n| n._id().asc()).all().await?));
        load: |own| {
            Ok(own.load([1_i64, 2]).await?.into_values().map(|note| note._id).collect())
        };
        load_by: |own| {
            let found = own.load_by(|n| n.tenant(), [1_i64, 2]).await?;
            Ok(found.into_values().flatten().map(|note| note._id).collect())
        };
    ]);
    every.extend(calls![
        update_one: |own| own.update_one(|n| n._id().eq(2), |n| n.text().set("y")).await.map(|_| Vec::new());
        update_by_id: |own| own.update_by_id(2, |n| n.text().set("y")).await.map(|_| Vec::new());
        update_many: |own| own.update_many(|_| Filter::everything(), |n| n.text().set("y")).await.map(|_| Vec::new());
        update_all: |own| own.update_all(|n| n.text().set("y")).await.map(|_| Vec::new());
        upsert_with: |own| {
            let own_note = note(2, 1);
            own.upsert_with(|n| n._id().eq(2), |n| n.text().set("y"), &own_note).await.map(|_| Vec::new())
        };
        replace_one: |own| own.replace_one(|n| n._id().eq(2), &note(2, 1)).await.map(|_| Vec::new());
        replace: |own| own.replace(&note(2, 1)).await.map(|_| Vec::new());
        save: |own| own.save(&note(2, 1)).await.map(|_| Vec::new());
        delete_one: |own| own.delete_one(|n| n._id().eq(2)).await.map(|_| Vec::new());
        delete_by_id: |own| own.delete_by_id(2).await.map(|_| Vec::new());
        delete_many: |own| own.delete_many(|_| Filter::everything()).await.map(|_| Vec::new());
        delete_all: |own| own.delete_all().await.map(|_| Vec::new());
        delete_permanently: |own| own.delete_permanently(|_| Filter::everything()).await.map(|_| Vec::new());
        delete_permanently_by_id: |own| own.delete_permanently_by_id(2).await.map(|_| Vec::new());
        restore: |own| own.restore(|_| Filter::everything()).await.map(|_| Vec::new());
        restore_by_id: |own| own.restore_by_id(4).await.map(|_| Vec::new());
        save_changes: |own| {
            let changed = Note { text: "y".to_owned(), ..note(2, 1) };
            own.save_changes(&note(2, 1), &changed).await.map(|_| Vec::new())
        };
        insert: |own| own.insert(note(5, 2)).await.map(|note| vec![note._id]);
        insert_one: |own| own.insert_one(&note(5, 2)).await.map(|_| Vec::new());
        insert_many: |own| own.insert_many([note(5, 1), note(6, 2)]).await.map(|_| Vec::new());
        find_one_and_update: |own| {
            let found = own.find_one_and_update(|n| n._id().eq(2), |n| n.text().set("y")).await?;
            Ok(ids(found.into_iter().collect()))
        };
        find_one_and_replace: |own| {
            let found = own.find_one_and_replace(|n| n._id().eq(2), &note(2, 1)).await?;
            Ok(ids(found.into_iter().collect()))
        };
        find_one_and_delete: |own| Ok(ids(own.find_one_and_delete(|n| n._id().eq(2)).await?.into_iter().collect()));
        bulk: |own| {
            let bulk = own.bulk().update_many(|_| Filter::everything(), |n| n.text().set("y")).delete_by_id(2);
            bulk.replace(&note(2, 1)).update_by_id(2, |n| n.text().set("y")).await.map(|_| Vec::new())
        };
        migrate: |own| own.migrate().await.map(|_| Vec::new());
    ]);
    every
}

/// The stored documents of the other tenant.
async fn foreign(all: &Collection<Note>) -> Vec<marula::bson::Document> {
    let raw = all.driver().clone_with_type::<marula::bson::Document>();
    let found = raw.find(doc! { "tenant": 2 }).sort(doc! { "_id": 1 }).await;
    found.expect("a find").try_collect().await.expect("documents")
}

#[tokio::test]
async fn no_call_finds_or_changes_documents_of_another_scope() {
    let env = Env::start().await;
    let all = env.db.collection::<Note>();
    let raw = all.driver().clone_with_type::<marula::bson::Document>();
    for call in calls() {
        raw.delete_many(doc! {}).await.unwrap();
        for note in stored() {
            // Of the older version, so that `migrate` and updates upgrade it.
            let document = doc! { "_id": note._id, "tenant": note.tenant, "text": note.text, "deleted_at": note.deleted_at };
            raw.insert_one(&document).await.unwrap();
        }
        let before = foreign(&all).await;
        let own = all.scoped(|n| n.tenant().eq(1));
        // An error is a call that does nothing, such as an insert of a document of the other tenant.
        if let Ok(found) = (call.run)(&own).await {
            assert!(found.iter().all(|id| *id == 1), "{}: {found:?}", call.name);
        }
        assert_eq!(foreign(&all).await, before, "{}", call.name);
    }
    env.stop().await;
}

/// Handles, and what has no scope by its documentation.
const OTHERS: [&str; 16] = [
    "driver",
    "name",
    "namespace",
    "named",
    "in_db",
    "with_read_concern",
    "with_write_concern",
    "with_read_preference",
    "with_timeout",
    "with_deleted",
    "only_deleted",
    "scoped",
    "from_driver",
    "watch",
    "database",
    "transaction",
];

/// The methods of `Collection<D>`, by the source.
fn methods(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            methods(&path, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        let mut is_collection = false;
        for line in text.lines() {
            if line.starts_with("impl") {
                is_collection = line == "impl<D: Model> Collection<D> {" || line == "impl<D> Collection<D> {";
            }
            if let Some(method) = line.strip_prefix("    pub fn ")
                && is_collection
            {
                let end = method.find(['<', '(']).expect("parameters");
                found.insert(method[..end].to_owned());
            }
        }
    }
}

#[test]
fn every_method_of_collections_is_called_or_named() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../odm/src");
    let mut found = BTreeSet::new();
    methods(&sources, &mut found);
    assert!(found.len() > 40, "{found:?}");
    let called: BTreeSet<&str> = calls().iter().map(|call| call.name).chain(OTHERS).collect();
    let missing: Vec<&String> = found
        .iter()
        .filter(|name| !called.contains(name.as_str()))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[tokio::test]
async fn documents_of_the_scope_are_written() {
    let env = Env::start().await;
    let all = env.db.collection::<Note>();
    let own = all.scoped(|n| n.tenant().eq(1));
    own.insert_many((1..=3).map(|id| note(id, 1))).await.unwrap();
    own.update_by_id(1, |n| n.text().set("y"))
        .required()
        .await
        .unwrap();
    own.replace(&note(2, 1)).required().await.unwrap();
    own.save(&mut note(4, 1)).await.unwrap();
    own.upsert_with(|n| n._id().eq(5), |n| n.text().set("y"), &note(5, 1))
        .await
        .unwrap();
    let upsert = own.update_one(|n| n._id().eq(6), |n| n.text().set("y"));
    upsert.upsert(true).await.unwrap();
    own.bulk().insert(&note(7, 1)).delete_by_id(7).await.unwrap();
    all.insert_one(&note(8, 2)).await.unwrap();
    assert_eq!(
        ids(own.find_all().sort(|n| n._id().asc()).await.unwrap()),
        [1, 2, 3, 4, 5, 6]
    );
    let page = own.find_all().keyset(|n| n._id().asc(), None, 10).await.unwrap();
    assert_eq!(page.items.len(), 6);
    // Handles of a handle keep the scope, and several scopes must all match.
    let narrower = own.named("notes").scoped(|n| n._id().is_in([1, 8]));
    assert_eq!(ids(narrower.find_all().await.unwrap()), [1]);
    env.stop().await;
}

#[tokio::test]
async fn writes_outside_of_the_scope_are_errors_that_name_the_field() {
    let env = Env::start().await;
    let own = env.db.collection::<Note>().scoped(|n| n.tenant().eq(1));
    for error in [
        own.insert_one(&note(1, 2)).await.unwrap_err(),
        own.replace_one(|n| n._id().eq(1), &note(1, 2)).await.unwrap_err(),
        own.save(&note(1, 2)).await.unwrap_err(),
        own.find_one_and_replace(|n| n._id().eq(1), &note(1, 2))
            .await
            .unwrap_err(),
    ] {
        assert!(
            error.is_out_of_scope() && matches!(&error, Error::OutOfScope { path, .. } if path == "tenant"),
            "{error:?}"
        );
    }
    for error in [
        own.update_by_id(1, |n| n.tenant().set(2)).await.unwrap_err(),
        own.update_by_id(1, |_| Update::raw(doc! { "$rename": { "text": "tenant" } }))
            .await
            .unwrap_err(),
        own.update_by_id(1, |_| Update::pipeline([doc! { "$set": { "tenant": 2 } }]))
            .await
            .unwrap_err(),
        own.update_by_id(1, |_| Update::pipeline([doc! { "$replaceWith": "$x" }]))
            .await
            .unwrap_err(),
    ] {
        assert!(matches!(&error, Error::InvalidUpdate { .. }), "{error:?}");
    }
    let error = own.aggregate().out().execute().await.unwrap_err();
    assert!(matches!(&error, Error::InvalidPipeline { .. }), "{error:?}");
    let raw = WriteModel::delete_many(doc! {});
    let error = own.bulk().raw(raw).await.unwrap_err();
    assert!(matches!(&error, Error::InvalidBulkWrite { .. }), "{error:?}");
    let several = env.db.collection::<Note>().scoped(|n| n.tenant().is_in([1, 2]));
    let upsert = several.update_one(|n| n._id().eq(1), |n| n.text().set("y"));
    let error = upsert.upsert(true).await.unwrap_err();
    assert!(
        matches!(&error, Error::InvalidFilter { path, .. } if path == "tenant"),
        "{error:?}"
    );
    env.stop().await;
}

#[tokio::test]
async fn an_invalid_scope_is_an_error_of_every_call() {
    let env = Env::start().await;
    let all = env.db.collection::<Note>();
    for handle in [
        all.scoped(|_| Filter::default()),
        all.scoped(|n| n.tenant().gt(1)),
        all.scoped(|n| n.tenant().eq(1) | n._id().eq(1)),
        all.scoped(|n| n.tenant().eq(1)).scoped(|_| Filter::everything()),
        all.scoped(|n| n.deleted_at().is_null()),
    ] {
        for error in [
            handle.find_all().await.unwrap_err(),
            handle.delete_all().await.unwrap_err(),
            handle.aggregate().all().await.unwrap_err(),
            handle.insert_one(&note(1, 1)).await.unwrap_err(),
        ] {
            assert!(matches!(&error, Error::InvalidFilter { .. }), "{error:?}");
        }
    }
    env.stop().await;
}

#[tokio::test]
async fn change_events_of_other_scopes_are_left_out() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let all = env.db.collection::<Note>();
    let mut events = all.scoped(|n| n.tenant().eq(1)).watch().await.unwrap();
    all.insert_many([note(1, 2), note(2, 1)]).await.unwrap();
    let event = events.try_next().await.unwrap().expect("an event");
    assert_eq!(event.full_document, Some(note(2, 1)));
    env.stop().await;
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "tenants")]
struct Tenant {
    _id: i64,
    parent: Option<i64>,
}

#[derive(Debug, Shape)]
struct WithNotes {
    #[document(flatten)]
    tenant: Tenant,
    notes: Vec<Note>,
}

#[derive(Debug, Shape)]
struct WithParents {
    #[document(flatten)]
    tenant: Tenant,
    parents: Vec<Tenant>,
}

fn joined_ids(found: &[WithNotes]) -> Vec<Vec<i64>> {
    let of = |with_notes: &WithNotes| with_notes.notes.iter().map(|note| note._id).collect();
    found.iter().map(of).collect()
}

/// Live documents of the tenants 1 (1, 5) and 2 (2), deleted ones of both (3, 4).
#[tokio::test]
async fn joins_within_a_handle_read_its_documents() {
    let env = Env::start().await;
    if env.is_before(5, 0).await {
        return env.stop().await;
    }
    let notes = env.db.collection::<Note>().named("their_notes");
    notes.insert_many(stored()).await.unwrap();
    notes.insert_one(&note(5, 1)).await.unwrap();
    let tenants = env.db.collection::<Tenant>();
    for (id, parent) in [(1, Some(2)), (2, Some(3)), (3, None)] {
        tenants.insert_one(&Tenant { _id: id, parent }).await.unwrap();
    }
    let own = notes.scoped(|n| n.tenant().eq(1));
    let lookup = || tenants.aggregate().sort(|t| t._id().asc()).lookup::<WithNotes>();
    let found = lookup()
        .within(&own)
        .on(|t| t._id(), |n| n.tenant())
        .all()
        .await
        .unwrap();
    assert_eq!(joined_ids(&found), [vec![1, 5], vec![], vec![]]);
    assert_eq!(found[0].tenant._id, 1);
    let deleted = own.only_deleted();
    let found = lookup()
        .within(&deleted)
        .on(|t| t._id(), |n| n.tenant())
        .all()
        .await
        .unwrap();
    assert_eq!(joined_ids(&found), [vec![3], vec![], vec![]]);
    // The handle given to the lookup, and that of the inner pipeline.
    let found = lookup()
        .within(&own)
        .pipeline::<Note>(|_, notes| notes.sort(|n| n._id().desc()));
    assert_eq!(joined_ids(&found.all().await.unwrap()), vec![vec![5, 1]; 3]);
    let found = lookup()
        .from("their_notes")
        .pipeline::<Note>(|_, notes| notes.within(&own).sort(|n| n._id().desc()).limit(1));
    assert_eq!(joined_ids(&found.all().await.unwrap()), vec![vec![5]; 3]);
    let none = notes.named("no_notes");
    let found = lookup()
        .within(&own)
        .pipeline::<Note>(|_, _| Pipeline::<Note>::new().sort(|n| n._id().desc()));
    assert_eq!(joined_ids(&found.all().await.unwrap()), vec![vec![5, 1]; 3]);
    let united = none
        .aggregate()
        .union_with::<Note>(|notes| notes.within(&own))
        .sort(|n| n._id().asc());
    assert_eq!(ids(united.all().await.unwrap()), [1, 5]);
    let odd = tenants.scoped(|t| t._id().is_in([1, 2]));
    let chains = tenants
        .aggregate()
        .sort(|t| t._id().asc())
        .graph_lookup::<WithParents>()
        .within(&odd)
        .on(|t| t.parent(), |t| t.parent(), |t| t._id());
    let chains = chains.all().await.unwrap();
    let parents: Vec<usize> = chains.iter().map(|chain| chain.parents.len()).collect();
    assert_eq!((parents, chains[0].tenant._id), (vec![1, 0, 0], 1));
    env.stop().await;
}

#[tokio::test]
async fn joins_within_a_handle_that_cannot_be_joined_are_errors() {
    let env = Env::start().await;
    let (notes, tenants) = (env.db.collection::<Note>(), env.db.collection::<Tenant>());
    let lookup = || tenants.aggregate().lookup::<WithNotes>();
    let elsewhere = notes.in_db("elsewhere");
    let invalid = notes.scoped(|n| n.tenant().gt(1));
    let other = tenants.scoped(|t| t._id().eq(1));
    for (pipeline, text) in [
        (
            lookup().within(&elsewhere).on(|t| t._id(), |n| n.tenant()),
            "the database `elsewhere`",
        ),
        (
            lookup().pipeline::<Note>(|_, notes| notes.within(&elsewhere)),
            "the database `elsewhere`",
        ),
        (
            lookup()
                .from("others")
                .pipeline::<Note>(|_, of| of.within(&notes)),
            "the stage reads `others`",
        ),
        (lookup().within(&invalid).on(|t| t._id(), |n| n.tenant()), "scope"),
        (
            lookup().within(&other).on(|t| t._id(), |n| n.tenant()),
            "one of the model `Tenant`",
        ),
        (
            lookup().within(&other).pipeline::<Note>(|_, notes| notes),
            "one of the model `Tenant`",
        ),
    ] {
        let error = pipeline.all().await.unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
    }
    env.stop().await;
}

/// An update has a full document, so that it is seen without a setting.
#[tokio::test]
async fn updates_of_the_scope_are_watched() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    let all = env.db.collection::<Note>();
    all.insert_many([note(1, 1), note(2, 2)]).await.unwrap();
    let mut events = all.scoped(|n| n.tenant().eq(1)).watch().await.unwrap();
    all.update_all(|n| n.text().set("z")).await.unwrap();
    all.insert_one(&note(6, 1)).await.unwrap();
    for (id, text) in [(1, "z"), (6, "x")] {
        let event = events.try_next().await.unwrap().expect("an event");
        let found = event.full_document.expect("a document");
        assert_eq!((found._id, found.text.as_str()), (id, text));
    }
    env.stop().await;
}
