//! Flattened maps: their keys are not the names of other fields.

use std::collections::{BTreeMap, HashMap};

use crate::common::Env;
use marula::bson::{self, Bson, DateTime, Document as BsonDocument, doc};
use marula::prelude::*;
use marula::{Collection, Document, Embedded, Error};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Settings {
    theme: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    #[serde(flatten)]
    others: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "accounts", soft_delete = deleted_at, schema_version(1))]
struct Account {
    _id: i64,
    q: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deleted_at: Option<DateTime>,
    #[document(created_at)]
    created_at: DateTime,
    settings: Settings,
    #[serde(flatten)]
    rest: HashMap<String, Bson>,
}

fn settings() -> Settings {
    Settings {
        theme: "dark".to_owned(),
        language: None,
        others: BTreeMap::new(),
    }
}

fn account(rest: impl IntoIterator<Item = (&'static str, Bson)>) -> Account {
    let rest = rest.into_iter().map(|(key, value)| (key.to_owned(), value));
    Account {
        _id: 1,
        q: 1,
        role: None,
        deleted_at: None,
        created_at: DateTime::from_millis(0),
        settings: settings(),
        rest: rest.collect(),
    }
}

fn assert_names<T: std::fmt::Debug>(result: Result<T, Error>, key: &str, what: &str) {
    let error = result.expect_err(what);
    assert!(matches!(error, Error::Encode { .. }), "{what}: {error:?}");
    let text = format!("{error:#}");
    let names_key = text.contains(&format!("`{key}`")) || text.contains(&format!(".{key}`"));
    assert!(
        names_key && text.contains("is the name of a field"),
        "{what}: {text}"
    );
}

#[tokio::test]
async fn a_key_of_a_flattened_map_does_not_replace_a_field() {
    let env = Env::start().await;
    let accounts = env.db.collection::<Account>();
    for key in ["q", "_id", "role", "deleted_at", "created_at", "settings"] {
        let account = account([(key, Bson::Int64(5))]);
        let one = [account.clone()];
        assert_names(accounts.insert_one(&account).await, key, "insert_one");
        assert_names(accounts.insert_many(&one).await, key, "insert_many");
        assert_names(accounts.replace(&account).await, key, "replace");
        assert_names(accounts.save(&account).await, key, "save");
        let found = accounts.find_one_and_replace(|a| a._id().eq(1), &account);
        assert_names(found.await, key, "find_one_and_replace");
        let upserted = accounts.upsert_with(|a| a._id().eq(1), |a| a.q().inc(1), &account);
        assert_names(upserted.await, key, "upsert_with");
        let bulk = accounts.bulk().insert(&account).await.unwrap_err();
        assert!(
            matches!(bulk, Error::InvalidBulkWrite { .. })
                && format!("{bulk:#}").contains(&format!("`{key}`")),
            "{bulk:?}"
        );
    }
    let raw: marula::driver::Collection<BsonDocument> = accounts.driver().clone_with_type();
    assert_eq!(raw.count_documents(doc! {}).await.unwrap(), 0);
    env.stop().await;
}

#[tokio::test]
async fn a_flattened_map_in_an_embedded_document_does_not_replace_its_fields() {
    let env = Env::start().await;
    let accounts: Collection<Account> = env.db.collection();
    accounts.insert_one(&account([])).await.unwrap();
    for key in ["theme", "language"] {
        let mut settings = settings();
        settings.others.insert(key.to_owned(), "x".to_owned());
        let whole = Account {
            settings: settings.clone(),
            ..account([])
        };
        assert_names(accounts.save(&whole).await, key, "save");
        let set = accounts.update_by_id(1, |a| a.settings().set(&settings));
        assert_names(set.await, key, "set");
        let equal = accounts.find_one(|a| a.settings().eq(&settings));
        assert_names(equal.await, key, "eq");
    }
    let stored = accounts.find_by_id(1).required().await.unwrap();
    assert_eq!(stored.settings, settings());
    env.stop().await;
}

/// The map has the version of the schema after a read.
#[tokio::test]
async fn other_keys_are_stored_and_saved_again() {
    let env = Env::start().await;
    let accounts = env.db.collection::<Account>();
    let mut stored = account([("nick", Bson::from("a")), ("level", Bson::Int32(3))]);
    stored.settings.others.insert("font".to_owned(), "x".to_owned());
    accounts.insert_one(&stored).await.unwrap();
    let found = accounts.find_by_id(1).required().await.unwrap();
    assert_eq!(found.rest.get("nick"), Some(&Bson::from("a")));
    assert_eq!(found.settings, stored.settings);
    accounts.save(&found).await.unwrap();
    assert_eq!(accounts.find_by_id(1).required().await.unwrap(), found);
    env.stop().await;
}

/// The driver's encoder compares the names of structs that the derive does not know.
#[test]
fn structs_without_the_derive_have_no_field_twice() {
    #[derive(Serialize)]
    struct Open {
        q: i32,
        #[serde(flatten)]
        rest: BTreeMap<String, i32>,
    }
    let open = |key: &str| Open {
        q: 1,
        rest: BTreeMap::from([(key.to_owned(), 2)]),
    };
    assert_eq!(bson::to_document(&open("p")).unwrap(), doc! { "q": 1, "p": 2 });
    let error = bson::to_document(&open("q")).unwrap_err();
    assert_eq!(error.path(), "q");
}

/// A key that a client of the application chooses does not become the path of another field.
#[test]
fn an_entry_of_a_flattened_map_is_not_the_path_of_a_field() {
    for key in [
        "q",
        "_id",
        "role",
        "deleted_at",
        "created_at",
        "settings",
        "schema_version",
    ] {
        let fields = Account::fields();
        let changed = fields.rest().entry(key).set(Bson::Int64(5)).compile();
        assert!(
            matches!(changed, Err(Error::InvalidUpdate { .. })),
            "{key}: {changed:?}"
        );
        let found = fields.rest().entry(key).eq(Bson::Int64(5)).into_document();
        let text = format!("{:#}", found.unwrap_err());
        assert!(
            text.contains("the name of a field beside the map"),
            "{key}: {text}"
        );
    }
    for key in ["theme", "language"] {
        let others = Account::fields().settings().others();
        assert!(others.entry(key).set("x").compile().is_err(), "{key}");
    }
    // The names of another level are keys.
    let fields = Account::fields();
    let theme = fields.rest().entry("theme").set(Bson::Null);
    let q = fields.settings().others().entry("q").set("x");
    assert!(theme.and(q).compile().is_ok());
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Inner {
    inner: i32,
    #[serde(flatten)]
    rest: BTreeMap<String, i32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "outer")]
struct Outer {
    _id: i64,
    outer: i32,
    #[serde(flatten)]
    content: Inner,
}

#[test]
fn an_entry_of_a_map_in_a_flattened_struct_is_not_the_path_of_a_field() {
    let rest = || Outer::fields().content().rest();
    for key in ["_id", "outer", "inner"] {
        assert!(rest().entry(key).eq(1).into_document().is_err(), "{key}");
    }
    assert_eq!(
        rest().entry("other").eq(1).to_string(),
        r#"{"other": {"$eq": 1}}"#
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Profile {
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "rank")]
    role: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Content {
    Map(BTreeMap<String, String>),
    Text {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        #[serde(flatten)]
        rest: BTreeMap<String, String>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Document)]
#[document(collection = "members")]
struct Member {
    _id: i64,
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "full_name")]
    name: Option<String>,
    #[serde(flatten)]
    profile: Profile,
    content: Content,
    #[serde(flatten)]
    rest: BTreeMap<String, String>,
}

fn one(key: &str) -> BTreeMap<String, String> {
    [(key.to_owned(), "x".to_owned())].into()
}

/// Names under which a field is only read, the fields of another flattened struct, and the tag.
#[tokio::test]
async fn a_key_does_not_replace_what_another_name_or_struct_reads() {
    let env = Env::start().await;
    let members = env.db.collection::<Member>();
    let member = |rest: BTreeMap<String, String>, content: Content| Member {
        _id: 1,
        name: None,
        profile: Profile { role: None },
        content,
        rest,
    };
    let empty = || Content::Map(BTreeMap::new());
    for key in ["name", "full_name", "role", "content"] {
        let inserted = members.insert_one(&member(one(key), empty())).await;
        assert_names(inserted, key, "insert_one");
        let update = Member::fields().rest().entry(key).set("x").compile();
        assert!(matches!(update, Err(Error::InvalidUpdate { .. })), "{key}");
    }
    let text = |rest| Content::Text { title: None, rest };
    for (key, content) in [
        ("kind", Content::Map(one("kind"))),
        ("kind", text(one("kind"))),
        ("title", text(one("title"))),
    ] {
        let inserted = members.insert_one(&member(BTreeMap::new(), content)).await;
        assert_names(inserted, key, "a variant");
    }
    members
        .insert_one(&member(one("other"), text(one("more"))))
        .await
        .unwrap();
    assert_eq!(members.find_by_id(1).required().await.unwrap().rest, one("other"));
    env.stop().await;
}
