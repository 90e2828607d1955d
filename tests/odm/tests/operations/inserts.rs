//! Documents made of insert structs, and inserts that return the stored document.

use std::collections::BTreeMap;

use crate::common::Env;
use marula::bson::{DateTime, Document as BsonDocument, ObjectId, doc};
use marula::managed::BoxedError;
use marula::{Document, Embedded, Error, Hooks, Insert};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Address {
    city: String,
}

#[derive(Clone, Debug, PartialEq, Embedded)]
struct Contact {
    email: String,
    phone: Option<String>,
}

fn not_empty(person: &Person) -> Result<(), &'static str> {
    if person.name.is_empty() {
        Err("a person needs a name")
    } else {
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Document)]
#[serde(rename_all = "camelCase")]
#[document(collection = "people", kind = "person", soft_delete = deleted_at, schema_version(1), hooks, validate = not_empty)]
struct Person {
    #[serde(rename = "_id")]
    id: Uuid,
    name: String,
    name_lowercase: Option<String>,
    #[serde(default = "guest")]
    role: String,
    #[document(skip_none)]
    note: Option<String>,
    address: Address,
    #[serde(flatten)]
    contact: Contact,
    born: chrono::DateTime<chrono::Utc>,
    #[document(opaque)]
    extra: Vec<u8>,
    #[serde(skip)]
    cached: i32,
    #[document(version)]
    revision: u32,
    #[document(created_at)]
    created_at: DateTime,
    #[document(updated_at)]
    updated_at: Option<DateTime>,
    deleted_at: Option<DateTime>,
}

fn guest() -> String {
    "guest".to_owned()
}

impl Hooks for Person {
    fn before_insert(&mut self) -> Result<(), BoxedError> {
        self.name_lowercase = Some(self.name.to_lowercase());
        Ok(())
    }
}

#[derive(Clone, Debug, Insert)]
#[document(of = Person)]
struct NewPerson {
    name: String,
    note: Option<String>,
    #[document(path = address)]
    home: Address,
    contact: Contact,
    born: chrono::DateTime<chrono::Utc>,
    extra: Vec<u8>,
}

fn new_person(name: &str) -> NewPerson {
    NewPerson {
        name: name.to_owned(),
        note: None,
        home: Address {
            city: "Bern".to_owned(),
        },
        contact: Contact {
            email: "a@example.com".to_owned(),
            phone: None,
        },
        born: chrono::DateTime::from_timestamp_nanos(1_234_567_891),
        extra: vec![1, 2],
    }
}

#[tokio::test]
async fn the_stored_document_is_returned() {
    let env = Env::start().await;
    let people = env.db.collection::<Person>();
    let new = new_person("Ada");
    let ada = people.insert(&new).await.unwrap();
    let found = people.find_by_id(ada.id).required().await.unwrap();
    assert_eq!(ada, found);
    assert_eq!(ada.name_lowercase.as_deref(), Some("ada"));
    assert_eq!(
        (ada.role.as_str(), ada.revision, ada.note.as_ref()),
        ("guest", 0, None)
    );
    assert_eq!(
        (ada.address.city.as_str(), ada.contact.email.as_str()),
        ("Bern", "a@example.com")
    );
    assert_eq!(Some(ada.created_at), ada.updated_at);
    assert!(ada.created_at > DateTime::from_millis(0));
    assert_eq!(
        (ada.id.get_version_num(), ada.extra.as_slice()),
        (7, [1, 2].as_slice())
    );
    assert_eq!(ada.born.timestamp_subsec_nanos() % 1_000_000, 0);

    let raw = env.db.driver().collection::<BsonDocument>("people");
    let raw = raw.find_one(doc! {}).await.unwrap().unwrap();
    assert_eq!(raw.get_str("kind").unwrap(), "person");
    assert!(
        raw.contains_key("schema_version") && !raw.contains_key("note"),
        "{raw}"
    );

    // By value, and later as a document of its own.
    let other = people.insert(new.clone()).await.unwrap();
    assert_ne!(other.id, ada.id);
    let mut third = new.into_model().unwrap();
    people.insert_one(&mut third).await.unwrap();
    assert_eq!(people.count(|_| marula::Filter::everything()).await.unwrap(), 3);
    env.stop().await;
}

#[tokio::test]
async fn documents_are_validated_and_ids_are_unique() {
    let env = Env::start().await;
    let people = env.db.collection::<Person>();
    let refused = people.insert(new_person("")).await.unwrap_err();
    assert!(
        matches!(refused, Error::Validation { model: "Person", .. }),
        "{refused}"
    );
    assert_eq!(people.count(|_| marula::Filter::everything()).await.unwrap(), 0);
    let ada = people.insert(new_person("Ada")).await.unwrap();
    let twice = people.insert(ada).await.unwrap_err();
    assert!(matches!(twice, Error::Duplicate { .. }), "{twice}");
    env.stop().await;
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "notes")]
struct Note {
    _id: Option<ObjectId>,
    at: chrono::DateTime<chrono::Utc>,
    #[document(created_at)]
    created_at: DateTime,
}

#[tokio::test]
async fn a_plain_document_is_returned_as_it_is_stored() {
    let env = Env::start().await;
    let notes = env.db.collection::<Note>();
    let note = Note {
        _id: None,
        at: chrono::DateTime::from_timestamp_nanos(1_234_567_891),
        created_at: DateTime::from_millis(5),
    };
    let stored = notes.insert(note.clone()).await.unwrap();
    let found = notes.find_by_id(stored._id.unwrap()).required().await.unwrap();
    assert_eq!(stored, found);
    assert_ne!(stored.at, note.at, "milliseconds");
    assert_ne!(stored.created_at, note.created_at);
    env.stop().await;
}

#[derive(Debug, PartialEq, Document)]
#[document(collection = "items")]
struct Item {
    _id: i64,
    #[serde(with = "even")]
    #[document(as = i64)]
    count: i64,
}

mod even {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(count: &i64, serializer: S) -> Result<S::Ok, S::Error> {
        count.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
        match i64::deserialize(deserializer)? {
            count if count % 2 == 0 => Ok(count),
            _ => Err(D::Error::custom("not even")),
        }
    }
}

#[derive(Insert)]
#[document(of = Item)]
struct NewItem {
    _id: i64,
    count: i64,
}

#[tokio::test]
async fn a_document_that_cannot_be_read_is_not_stored() {
    let env = Env::start().await;
    let items = env.db.collection::<Item>();
    let stored = items.insert(NewItem { _id: 7, count: 2 }).await.unwrap();
    assert_eq!(stored, Item { _id: 7, count: 2 });
    let refused = items.insert(NewItem { _id: 8, count: 3 }).await.unwrap_err();
    assert!(refused.to_string().contains("not even"), "{refused}");
    let refused = items.insert(Item { _id: 9, count: 3 }).await.unwrap_err();
    assert!(matches!(refused, Error::Decode { .. }), "{refused}");
    assert_eq!(items.count(|_| marula::Filter::everything()).await.unwrap(), 1);
    env.stop().await;
}

#[derive(Clone, Debug, PartialEq, Document)]
#[document(collection = "profiles")]
struct Profile {
    #[serde(rename = "_id")]
    id: ObjectId,
    name: String,
    #[serde(default)]
    role: String,
    #[serde(flatten)]
    rest: BTreeMap<String, i64>,
}

#[derive(Debug, Deserialize, Insert)]
#[document(of = Profile)]
struct NewProfile {
    #[serde(flatten)]
    rest: BTreeMap<String, i64>,
    name: String,
}

#[test]
fn keys_of_a_flattened_map_are_not_other_fields() {
    let profile = |body: &str| {
        let new: NewProfile = serde_json::from_str(body).unwrap();
        marula::Insert::<Profile>::into_model(new)
    };
    assert_eq!(profile(r#"{"name": "a", "age": 5}"#).unwrap().rest["age"], 5);
    for body in [r#"{"name": "a", "role": 1}"#, r#"{"name": "a", "_id": 1}"#] {
        let error = profile(body).unwrap_err();
        assert!(matches!(error, Error::Encode { .. }), "{error}");
        assert!(error.to_string().contains("beside"), "{error}");
    }
}
