//! Inserts write ids and maintained fields to the documents of the caller.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Waker};

use crate::common::Env;
use marula::bson::{DateTime, Document as Doc, ObjectId, doc};
use marula::prelude::*;
use marula::{Document, Error, Hooks, managed::BoxedError};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "notes", hooks)]
struct Note {
    #[serde(rename = "_id")]
    id: Option<ObjectId>,
    text: String,
}

impl Hooks for Note {
    fn before_insert(&mut self) -> Result<(), BoxedError> {
        self.id = Some(ObjectId::from_bytes([7; 12]));
        self.text.push_str(" changed");
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "names", index(name, unique))]
struct Named {
    #[serde(rename = "_id")]
    id: Option<ObjectId>,
    name: String,
    #[document(created_at)]
    created_at: DateTime,
}

fn named(name: &str) -> Named {
    Named {
        id: None,
        name: name.to_owned(),
        created_at: DateTime::from_millis(1),
    }
}

fn without_id(named: &Named) -> Named {
    Named {
        id: None,
        ..named.clone()
    }
}

/// The id that is stored under the name of the document.
async fn stored_id(env: &Env, name: &str) -> Option<ObjectId> {
    let names = env.db.collection::<Named>();
    names.find_one(|n| n.name().eq(name)).await.expect("a reply")?.id
}

#[tokio::test]
async fn an_id_that_a_hook_sets_is_written_back() {
    let env = Env::start().await;
    let notes = env.db.collection::<Note>();
    let new = || Note {
        id: None,
        text: "x".to_owned(),
    };
    let mut note = new();
    notes.insert_one(&mut note).await.unwrap();
    assert_eq!(note.id, Some(ObjectId::from_bytes([7; 12])));
    assert_eq!(note.text, "x");
    notes.save(&mut note).await.unwrap();
    assert_eq!(notes.count(|_| marula::Filter::everything()).await.unwrap(), 1);
    notes.delete_all().await.unwrap();
    let mut many = [new()];
    notes.insert_many(many.iter_mut()).await.unwrap();
    assert_eq!(many[0].id, note.id);
    env.stop().await;
}

#[tokio::test]
async fn documents_that_were_inserted_before_an_error_are_written_back() {
    let env = Env::start().await;
    let names = env.db.collection::<Named>();
    let mut apply = env.db.schema();
    apply = apply.register::<Named>();
    apply.sync(marula::schema::SyncMode::Additive).await.unwrap();
    names.insert_one(&named("a")).await.unwrap();

    let mut many = ["b", "a", "c"].map(named);
    let inserting = names.insert_many(many.iter_mut()).ordered(false);
    assert!(matches!(inserting.await, Err(Error::Duplicate { .. })));
    for new in [&many[0], &many[2]] {
        assert_eq!(new.id, stored_id(&env, &new.name).await);
        assert!(
            new.id.is_some() && new.created_at > DateTime::from_millis(1),
            "{new:?}"
        );
    }
    // The id is written before the document is sent.
    assert!(many[1].id.is_some());
    assert_eq!(without_id(&many[1]), named("a"));

    let mut many = ["d", "a", "e"].map(named);
    let inserting = names.insert_many(many.iter_mut());
    assert!(matches!(inserting.await, Err(Error::Duplicate { .. })));
    assert!(many[0].id.is_some());
    assert_eq!([&many[1], &many[2]].map(without_id), ["a", "e"].map(named));

    let mut one = named("a");
    assert!(matches!(
        names.insert_one(&mut one).await,
        Err(Error::Duplicate { .. })
    ));
    assert_eq!((one.id.is_some(), without_id(&one)), (true, named("a")));
    env.stop().await;
}

#[tokio::test]
async fn a_write_concern_error_does_not_prevent_the_write_back() {
    let Some(env) = Env::start_replica_set().await else {
        return;
    };
    if env.server().is_none() {
        return env.stop().await;
    }
    let names = env.db.collection::<Named>();
    let fail = doc! {
        "configureFailPoint": "failCommand", "mode": { "times": 2 },
        "data": { "failCommands": ["insert"], "writeConcernError": { "code": 64, "errmsg": "waiting" } },
    };
    let admin = env.client().driver().database("admin");
    admin.run_command(fail).await.unwrap();
    let mut one = named("a");
    let error = names.insert_one(&mut one).await.unwrap_err();
    assert!(error.driver().unwrap().write_concern_error().is_some(), "{error}");
    assert_eq!((one.id.is_some(), one.id), (true, stored_id(&env, "a").await));
    let mut many = ["b", "c"].map(named);
    names.insert_many(many.iter_mut()).await.unwrap_err();
    for new in &many {
        assert_eq!(
            (new.id.is_some(), new.id),
            (true, stored_id(&env, &new.name).await)
        );
    }
    env.stop().await;
}

/// The server may have stored the documents: another insert of them must not store them twice.
#[tokio::test]
async fn ids_are_written_back_if_the_outcome_is_unknown() {
    let env = Env::start().await;
    if env.server().is_none() {
        return env.stop().await;
    }
    let names = env.db.collection::<Named>();
    let admin = env.client().driver().database("admin");
    let lose_reply = async |command: &str| {
        let fail = doc! {
            "configureFailPoint": "failCommand", "mode": { "times": 2 },
            "data": { "failCommands": [command], "closeConnection": true },
        };
        admin.run_command(fail).await.unwrap();
    };
    lose_reply("insert").await;
    let mut one = named("a");
    names.insert_one(&mut one).await.unwrap_err();
    assert!(
        one.id.is_some() && one.created_at == named("a").created_at,
        "{one:?}"
    );
    lose_reply("insert").await;
    let mut many = ["b", "c"].map(named);
    names.insert_many(many.iter_mut()).await.unwrap_err();
    assert!(many.iter().all(|new| new.id.is_some()), "{many:?}");
    // A save; the next one has the same id.
    lose_reply("update").await;
    let mut saved = named("d");
    names.save(&mut saved).await.unwrap_err();
    assert!(saved.id.is_some());
    let off = doc! { "configureFailPoint": "failCommand", "mode": "off" };
    admin.run_command(off).await.unwrap();
    let id = saved.id;
    names.save(&mut saved).await.unwrap();
    assert_eq!((saved.id, stored_id(&env, "d").await), (id, id));
    // A dropped insert.
    let mut dropped = named("e");
    {
        let mut inserting = std::pin::pin!(names.insert_one(&mut dropped).into_future());
        let mut context = Context::from_waker(Waker::noop());
        assert!(inserting.as_mut().poll(&mut context).is_pending());
    }
    assert!(dropped.id.is_some());
    env.stop().await;
}

#[tokio::test]
async fn pointers_to_documents_are_inserted_and_saved() {
    let env = Env::start().await;
    let names = env.db.collection::<Named>();
    names.insert_one(&Box::new(named("a"))).await.unwrap();
    names.insert_one(&Arc::new(named("b"))).await.unwrap();
    let mut boxed = Box::new(named("c"));
    names.insert_one(&mut boxed).await.unwrap();
    names.save(&mut boxed).await.unwrap();
    assert_eq!(boxed.id, stored_id(&env, "c").await);
    let raw = names.driver().clone_with_type::<Doc>();
    assert_eq!(raw.count_documents(doc! {}).await.unwrap(), 3);
    env.stop().await;
}
