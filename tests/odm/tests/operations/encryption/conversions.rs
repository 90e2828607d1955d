//! Values with encrypted fields that are converted: by functions of `serde(with = "…")`, and by `as`.

use std::collections::HashMap;
use std::marker::PhantomData;

use super::{Address, described};
use marula::bson::{Bson, Decimal128, Document as BsonDocument};
use marula::{Document, Embedded, Model, SchemaError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, Debug, Default, Serialize, Deserialize, Embedded)]
struct Item {
    #[document(encrypted)]
    name: String,
}

/// A basket is stored as the sum of its prices.
#[derive(Debug, Default)]
struct Basket<T>(PhantomData<T>);

/// Functions that convert every value.
mod converted {
    use super::{Deserializer, Serializer};

    pub(super) fn serialize<T, S: Serializer>(_: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_none()
    }

    pub(super) fn deserialize<'de, T: Default, D: Deserializer<'de>>(_: D) -> Result<T, D::Error> {
        Ok(T::default())
    }
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Sums {
    _id: i64,
    #[serde(with = "converted")]
    #[document(as = Decimal128)]
    sum: Item,
    #[serde(with = "converted")]
    #[document(as = Vec<Decimal128>)]
    sums: Basket<Item>,
    #[serde(with = "converted")]
    #[document(as = HashMap<String, Decimal128>)]
    by_name: Item,
    #[serde(with = "converted")]
    #[document(as = Option<f64>)]
    number: Basket<Item>,
}

/// The id of an item, which has no encrypted fields.
#[derive(Serialize, Deserialize, Embedded)]
struct Reference {
    id: i64,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct References {
    _id: i64,
    #[serde(with = "converted")]
    #[document(as = Reference)]
    item: Item,
    #[serde(with = "converted")]
    #[document(as = Vec<Reference>)]
    items: Basket<Item>,
    #[serde(with = "converted")]
    #[document(as = HashMap<String, Option<Reference>>)]
    by_name: Basket<Item>,
}

/// The reference of a newtype's content, and of the value of a variant.
#[derive(Debug, Default, Serialize, Deserialize, Embedded)]
struct Kept(
    #[serde(with = "converted")]
    #[document(as = Reference)]
    Item,
);

#[derive(Debug, Default, Serialize, Deserialize, Embedded)]
enum Choice {
    #[default]
    None,
    One(
        #[serde(with = "converted")]
        #[document(as = Reference)]
        Item,
    ),
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Chosen {
    _id: i64,
    kept: Kept,
    choice: Choice,
}

/// Rows without a type argument.
#[derive(Clone, Debug, Default)]
struct Rows;

#[derive(Serialize, Deserialize, Embedded)]
struct Page<T: Serialize> {
    #[serde(with = "converted")]
    #[document(as = Vec<T>)]
    rows: Rows,
    #[serde(skip)]
    of: PhantomData<T>,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "pages")]
struct Paged {
    _id: i64,
    page: Page<i64>,
}

described! {
    Forwarded<Address> => Address;
    Forwarded<Sent> => Parcel;
}

/// The only encrypted field is that of a field with a stated type.
#[derive(Serialize, Deserialize, Embedded)]
struct Parcel {
    #[document(as = Address)]
    to: Forwarded<Address>,
}

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Forwarded<T>(T);

#[derive(Serialize, Deserialize, Embedded)]
struct Sent {
    to: Address,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "parcels")]
struct Shipment {
    _id: i64,
    #[document(as = Parcel)]
    parcel: Forwarded<Sent>,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Partly {
    #[document(encrypted)]
    name: String,
    note: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, Embedded)]
struct Both {
    #[document(encrypted)]
    name: String,
    #[document(encrypted)]
    note: String,
}

/// Some of the encrypted fields, and a document with other fields than those that are known.
#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Incomplete {
    _id: i64,
    #[serde(with = "converted")]
    #[document(as = Partly)]
    item: Both,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Content {
    item: Item,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "orders")]
struct Anything {
    _id: i64,
    #[serde(with = "converted")]
    #[document(as = HashMap<String, BsonDocument>)]
    item: Option<Content>,
}

fn paths(fields: Result<BsonDocument, SchemaError>) -> Vec<String> {
    let fields = fields.expect("encrypted fields");
    let fields = fields.get_array("fields").expect("an array").iter();
    let path = |field: &Bson| Some(field.as_document()?.get_str("path").ok()?.to_owned());
    fields.filter_map(path).collect()
}

#[test]
fn functions_store_scalars_and_documents_without_encrypted_fields() {
    assert!(paths(Sums::encrypted_fields()).is_empty());
    assert!(paths(References::encrypted_fields()).is_empty());
    assert!(paths(Chosen::encrypted_fields()).is_empty());
    assert!(paths(Paged::encrypted_fields()).is_empty());
}

#[test]
fn a_stated_type_can_have_the_encrypted_fields_of_another_stated_type() {
    assert_eq!(paths(Shipment::encrypted_fields()), ["parcel.to.st"]);
}

#[test]
fn functions_that_can_store_encrypted_fields_are_errors() {
    assert!(Incomplete::encrypted_fields().is_err());
    assert!(Anything::encrypted_fields().is_err());
}
