//! Encrypted fields of values that are stored in another form than that of their type.

use std::marker::PhantomData;
use std::sync::Arc;

use super::Address;
use marula::bson::oid::ObjectId;
use marula::{Document, Embedded, Model};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct VecMap<T>(Vec<T>);

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "mapped")]
struct Mapped {
    _id: i64,
    map: Tagged,
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Tagged {
    Empty,
    Of {
        #[document(opaque)]
        count: i32,
    },
    All(#[document(opaque)] VecMap<Address>),
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(tag = "kind")]
enum Contact {
    None,
    Home(#[document(opaque)] Shared<Address>),
}

#[derive(Serialize, Deserialize)]
struct Shared<T>(Vec<T>);

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "reachable")]
struct Reachable {
    _id: i64,
    contact: Contact,
}

/// An id of a document, which contains none.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Id<T> {
    id: ObjectId,
    #[serde(skip)]
    of: PhantomData<fn() -> Arc<T>>,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "visits")]
struct Visit {
    _id: i64,
    #[document(as = ObjectId)]
    address: Id<Address>,
    #[document(as = Vec<ObjectId>)]
    others: Vec<Id<Address>>,
    #[document(as = Option<ObjectId>)]
    last: Option<Id<super::Patient>>,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Card {
    #[document(encrypted)]
    number: String,
    #[document(encrypted)]
    owner: String,
}

#[derive(Serialize, Deserialize, Embedded)]
struct NumberOfCard {
    #[document(encrypted)]
    number: String,
    owner: String,
}

#[derive(Serialize, Deserialize, Embedded)]
struct NamedCard {
    #[document(encrypted)]
    no: String,
    #[document(encrypted)]
    name: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "cards")]
struct Paid {
    _id: i64,
    #[document(as = NumberOfCard)]
    card: Card,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "cards")]
struct Renamed {
    _id: i64,
    #[document(as = NamedCard)]
    card: Card,
}

/// Written by its own fields, and contains itself.
#[derive(Serialize, Deserialize, Embedded)]
#[serde(try_from = "RawTree")]
struct Tree {
    children: Vec<Tree>,
}

#[derive(Deserialize)]
struct RawTree {
    children: Vec<Tree>,
}

impl TryFrom<RawTree> for Tree {
    type Error = String;

    fn try_from(raw: RawTree) -> Result<Self, String> {
        Ok(Self {
            children: raw.children,
        })
    }
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "trees")]
struct Planted {
    _id: i64,
    tree: Tree,
}

#[test]
fn a_type_with_a_conversion_can_contain_itself() {
    assert_eq!(Planted::json_schema().get_str("bsonType").unwrap(), "object");
    assert!(
        Planted::encrypted_fields()
            .unwrap()
            .get_array("fields")
            .unwrap()
            .is_empty()
    );
}

#[test]
fn the_values_of_opaque_variants_and_of_maps_with_one_argument_are_found() {
    assert!(Mapped::encrypted_fields().is_err());
    assert!(Reachable::encrypted_fields().is_err());
}

#[test]
fn a_scalar_has_no_fields_of_its_type_arguments() {
    assert!(
        Visit::encrypted_fields()
            .unwrap()
            .get_array("fields")
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_stated_type_has_all_encrypted_fields() {
    assert!(Paid::encrypted_fields().is_err());
    assert_eq!(
        Renamed::encrypted_fields()
            .unwrap()
            .get_array("fields")
            .unwrap()
            .len(),
        2
    );
}
