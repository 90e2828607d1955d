//! Validation and hooks.

use std::error::Error as _;

use crate::common::Env;
use marula::bson::doc;
use marula::managed::BoxedError;
use marula::prelude::*;
use marula::{Document, Error, Hooks};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "people", validate = Person::check, validate = adult, hooks)]
struct Person {
    _id: i64,
    name: String,
    age: i32,
    #[serde(default)]
    history: Vec<String>,
}

impl Person {
    fn check(&self) -> Result<(), String> {
        if self.name.is_empty() {
            return Err("the name is empty".to_owned());
        }
        Ok(())
    }
}

fn adult(person: &Person) -> Result<(), std::fmt::Error> {
    if person.age < 18 {
        Err(std::fmt::Error)
    } else {
        Ok(())
    }
}

impl Hooks for Person {
    fn before_insert(&mut self) -> Result<(), BoxedError> {
        self.history.push("insert".to_owned());
        Ok(())
    }

    fn before_replace(&mut self) -> Result<(), BoxedError> {
        if self.name == "locked" {
            return Err("the person is locked".into());
        }
        self.history.push("replace".to_owned());
        Ok(())
    }

    fn after_load(&mut self) -> Result<(), BoxedError> {
        if self.name == "broken" {
            return Err("the person is broken".into());
        }
        self.history.push("load".to_owned());
        Ok(())
    }
}

fn person(id: i64, name: &str) -> Person {
    Person {
        _id: id,
        name: name.to_owned(),
        age: 30,
        history: Vec::new(),
    }
}

#[tokio::test]
async fn hooks_run_for_whole_documents() {
    let env = Env::start().await;
    let people = env.db.collection::<Person>();
    let ada = person(1, "ada");
    people.insert_one(&ada).await.unwrap();
    assert!(ada.history.is_empty());
    people.insert_many([person(2, "bob")]).await.unwrap();
    people.bulk().insert(&person(3, "eve")).await.unwrap();
    for found in people.find_all().await.unwrap() {
        assert_eq!(found.history, ["insert", "load"]);
    }
    people.replace(&person(1, "ada")).await.unwrap();
    people.save(&mut person(2, "bob")).await.unwrap();
    people.bulk().replace(&person(3, "eve")).await.unwrap();
    people.update_all(|p| p.age().inc(1)).await.unwrap();
    for id in 1..=3 {
        let found = people.find_by_id(id).required().await.unwrap();
        assert_eq!(found.history, ["replace", "load"]);
    }
    let changed = people.find_one_and_replace(|p| p._id().eq(1), &person(1, "ada"));
    assert_eq!(
        changed.returning_new().required().await.unwrap().history,
        ["replace", "load"]
    );
    env.stop().await;
}

#[tokio::test]
async fn errors_of_hooks_name_the_hook() {
    let env = Env::start().await;
    let people = env.db.collection::<Person>();
    people.insert_one(&person(1, "ada")).await.unwrap();
    let locked = people.save(&person(1, "locked")).await.unwrap_err();
    assert_eq!(locked.to_string(), "the hook before_replace of Person failed");
    assert_eq!(locked.source().unwrap().to_string(), "the person is locked");
    let raw = env.db.driver().collection::<marula::bson::Document>("people");
    raw.update_one(doc! {}, doc! { "$set": { "name": "broken" } })
        .await
        .unwrap();
    for broken in [
        people.find_by_id(1).await.unwrap_err(),
        people.find_all().await.unwrap_err(),
    ] {
        assert!(
            matches!(
                &broken,
                Error::Hook {
                    hook: "after_load",
                    ..
                }
            ),
            "{broken}"
        );
    }
    env.stop().await;
}

#[tokio::test]
async fn invalid_documents_are_not_sent() {
    let env = Env::start().await;
    let people = env.db.collection::<Person>();
    people.insert_one(&person(1, "ada")).await.unwrap();
    let unnamed = person(1, "");
    let child = Person {
        age: 3,
        ..person(2, "bob")
    };
    let errors = [
        people.insert_one(&child).await.unwrap_err(),
        people.insert_many([&person(3, "eve"), &child]).await.unwrap_err(),
        people.replace(&unnamed).await.unwrap_err(),
        people.save(&unnamed).await.unwrap_err(),
        people
            .find_one_and_replace(|p| p._id().eq(1), &unnamed)
            .await
            .unwrap_err(),
    ];
    for error in &errors {
        assert!(
            matches!(error, Error::Validation { model: "Person", .. }),
            "{error}"
        );
        assert_eq!(error.to_string(), "the document of Person is invalid");
    }
    assert_eq!(errors[2].source().unwrap().to_string(), "the name is empty");
    let bulk = people
        .bulk()
        .insert(&person(3, "eve"))
        .insert(&child)
        .await
        .unwrap_err();
    assert_eq!(
        bulk.to_string(),
        "the bulk write is invalid at its insert of Person at index 1"
    );
    assert_eq!(people.find_all().await.unwrap().len(), 1);
    env.stop().await;
}

#[derive(Clone, Debug, Serialize, Deserialize, Document)]
#[document(collection = "plain", validate = positive)]
struct Plain {
    _id: i64,
}

fn positive(plain: &Plain) -> Result<(), &'static str> {
    if plain._id > 0 {
        Ok(())
    } else {
        Err("not positive")
    }
}

#[tokio::test]
async fn models_without_maintained_fields_are_validated() {
    let env = Env::start().await;
    let plain = env.db.collection::<Plain>();
    let invalid = Plain { _id: 0 };
    for error in [
        plain.insert_one(&invalid).await.unwrap_err(),
        plain.insert_many([&invalid]).await.unwrap_err(),
        plain.replace(&invalid).await.unwrap_err(),
        plain.save(&invalid).await.unwrap_err(),
    ] {
        assert!(matches!(error, Error::Validation { .. }), "{error}");
    }
    plain.insert_one(&Plain { _id: 1 }).await.unwrap();
    env.stop().await;
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "notes", validate = Note::check, hooks)]
struct Note {
    #[serde(rename = "_id")]
    #[document(id = manual)]
    id: Option<i64>,
    text: String,
    length: Option<i64>,
}

impl Note {
    fn check(&self) -> Result<(), &'static str> {
        if self.text.is_empty() {
            Err("the text is empty")
        } else {
            Ok(())
        }
    }
}

impl Hooks for Note {
    fn before_insert(&mut self) -> Result<(), BoxedError> {
        self.length = i64::try_from(self.text.len()).ok();
        Ok(())
    }
}

/// Also if the filter of the upsert gives the id.
#[tokio::test]
async fn the_initial_document_of_an_upsert_is_validated_and_changed_by_its_hook() {
    let env = Env::start().await;
    let notes = env.db.collection::<Note>();
    let note = |text: &str| Note {
        id: None,
        text: text.to_owned(),
        length: None,
    };
    let upsert = async |initial: Note| {
        let update = marula::Update::<Note>::empty();
        notes
            .upsert_with(|n| n.id().eq(1_i64), |_| update, &initial)
            .await
    };
    let error = upsert(note("")).await.unwrap_err();
    assert!(matches!(error, Error::Validation { .. }), "{error}");
    upsert(note("abc")).await.unwrap();
    let stored = notes.find_by_id(1_i64).required().await.unwrap();
    assert_eq!((stored.text.as_str(), stored.length), ("abc", Some(3)));
    env.stop().await;
}
