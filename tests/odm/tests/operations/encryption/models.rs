//! Models with encrypted fields, without a client that encrypts.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Address, Insurance, Patient, Plain, Ward, described};
use marula::bson::{Document as BsonDocument, doc};
use marula::{Document, Embedded, Model, SchemaError};
use marula_test_server::TestServer;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Wrapped(Vec<Address>);

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "people")]
struct Hidden {
    _id: i64,
    addresses: Wrapped,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Node {
    #[document(encrypted)]
    secret: String,
    next: Option<Box<Node>>,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "chains")]
struct Chain {
    _id: i64,
    first: Node,
}

#[derive(Serialize, Deserialize, Embedded)]
enum Place {
    At(Address),
    Unknown,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "places")]
struct Located {
    _id: i64,
    place: Place,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Key {
    #[document(encrypted)]
    part: String,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "keyed")]
struct Keyed {
    _id: Key,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "ranges")]
struct EmptyRange {
    _id: i64,
    #[document(encrypted(range(min = 5, max = 5)))]
    age: i32,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "capped", capped(size = 1_048_576))]
struct Capped {
    _id: i64,
    home: Home,
}

/// A type whose own fields are not encrypted, so that only the plan finds those of the address.
#[derive(Clone, Serialize, Deserialize, Embedded)]
struct Home {
    address: Address,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "opaque")]
struct Covered {
    _id: i64,
    #[document(opaque)]
    home: Home,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "insured")]
struct Insured {
    _id: i64,
    #[serde(flatten)]
    insurance: Option<Insurance>,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Audited<T: marula::Field> {
    value: T,
    by: String,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Record {
    contact: Audited<Address>,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "audited")]
struct AuditedPatient {
    _id: i64,
    record: Audited<Record>,
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(untagged)]
enum AddressOrAnything {
    At(Address),
    Other(marula::bson::Bson),
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "anywhere")]
struct Anywhere {
    _id: i64,
    place: AddressOrAnything,
}

#[derive(Serialize, Deserialize, Embedded)]
enum Moved {
    Between(Address, i32),
    Nowhere,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "moves")]
struct Move {
    _id: i64,
    moved: Moved,
}

described! {
    Address => BsonDocument;
    Home => BsonDocument;
}

#[derive(Serialize, Deserialize, Embedded)]
struct Sealed(#[document(opaque)] Address);

#[derive(Serialize, Deserialize, Embedded)]
struct SealedAs(#[document(as = BsonDocument)] Address);

#[derive(Serialize, Deserialize, Embedded)]
enum Letter {
    To(#[document(opaque)] Address),
    Unaddressed,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "sealed")]
struct SealedPlace {
    _id: i64,
    place: Sealed,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "letters")]
struct Sent {
    _id: i64,
    letter: Letter,
}

mod shared {
    use std::sync::Arc;

    use super::Home;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(home: &Arc<Home>, serializer: S) -> Result<S::Ok, S::Error> {
        home.as_ref().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Home>, D::Error> {
        Home::deserialize(deserializer).map(Arc::new)
    }
}

type SharedHome = Arc<Home>;

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "shared")]
struct SharedPlace {
    _id: i64,
    #[serde(with = "shared")]
    #[document(opaque)]
    home: Arc<Home>,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "shared")]
struct AliasedPlace {
    _id: i64,
    #[serde(with = "shared")]
    #[document(opaque)]
    home: SharedHome,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "shared")]
struct StatedPlace {
    _id: i64,
    #[serde(with = "shared")]
    #[document(as = Home)]
    home: Arc<Home>,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "numbered")]
struct Numbered {
    _id: i64,
    #[document(opaque)]
    homes: HashMap<u32, Home>,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "stated")]
struct StatedAnyhow {
    _id: i64,
    #[document(as = BsonDocument)]
    home: Home,
}

#[derive(Clone, Serialize, Deserialize, Embedded)]
#[serde(from = "Home", into = "Home")]
struct Written(String);

impl From<Home> for Written {
    fn from(home: Home) -> Self {
        Written(home.address.street)
    }
}

impl From<Written> for Home {
    fn from(written: Written) -> Self {
        let address = Address {
            city: String::new(),
            street: written.0,
        };
        Home { address }
    }
}

#[derive(Serialize, Deserialize, Embedded)]
#[serde(from = "Home")]
struct Unread {
    home: Home,
}

impl From<Home> for Unread {
    fn from(home: Home) -> Self {
        Unread { home }
    }
}

#[derive(Serialize, Deserialize, Embedded)]
enum Stay {
    At(#[document(as = BsonDocument)] Home),
    Before(#[document(as = BsonDocument)] Home, i32),
    None,
}

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "of")]
struct Of<T: marula::Field> {
    _id: i64,
    value: T,
}

/// The stored form of a value is not known, or that of another type.
#[test]
fn encrypted_fields_are_found_where_another_form_is_stored() {
    let reason = |result: Result<BsonDocument, SchemaError>| {
        let text = result.expect_err("invalid").to_string();
        assert!(
            text.contains("of serde conversions cannot have encrypted fields"),
            "{text}"
        );
    };
    reason(SharedPlace::encrypted_fields());
    reason(AliasedPlace::encrypted_fields());
    reason(Numbered::encrypted_fields());
    reason(StatedAnyhow::encrypted_fields());
    reason(Of::<Written>::encrypted_fields());
    reason(Of::<Unread>::encrypted_fields());
    assert!(Of::<Stay>::encrypted_fields().is_err());
    assert_eq!(
        StatedPlace::encrypted_fields().unwrap().to_string(),
        Of::<Home>::encrypted_fields()
            .unwrap()
            .to_string()
            .replace("value.", "home.")
    );
}

/// The schema of the type does not constrain these values, or is made twice.
#[test]
fn encrypted_fields_are_found_where_the_schema_has_no_constraint() {
    let paths = |fields: Result<BsonDocument, SchemaError>| {
        let fields = fields.unwrap();
        let fields = fields.get_array("fields").unwrap().iter();
        let path =
            |field: &marula::bson::Bson| field.as_document().unwrap().get_str("path").unwrap().to_owned();
        fields.map(path).collect::<Vec<_>>()
    };
    assert_eq!(paths(Insured::encrypted_fields()), ["policy"]);
    assert!(
        !Insured::json_schema()
            .to_string()
            .contains(r#""required": ["policy"#)
    );
    assert_eq!(
        paths(AuditedPatient::encrypted_fields()),
        ["record.value.contact.value.st"]
    );
    assert!(Anywhere::encrypted_fields().is_err());
    assert!(Move::encrypted_fields().is_err());
    assert!(SealedPlace::encrypted_fields().is_err());
    assert!(Sent::encrypted_fields().is_err());
    assert!(Of::<SealedAs>::encrypted_fields().is_err());
}

#[test]
fn fields_that_cannot_be_encrypted_are_reported() {
    let error = |result: Result<BsonDocument, SchemaError>| result.expect_err("invalid").to_string();
    assert_eq!(
        error(Hidden::encrypted_fields()),
        "the encrypted field `addresses` of model `Hidden`: the elements of an array cannot have encrypted fields"
    );
    let chain = error(Chain::encrypted_fields());
    assert!(chain.contains("Node` contains itself"), "{chain}");
    assert!(error(Located::encrypted_fields()).contains("the variants of an enum"));
    assert!(error(Keyed::encrypted_fields()).contains("the id of a document"));
    assert!(error(EmptyRange::encrypted_fields()).contains("found 5 and 5"));
    assert!(error(Covered::encrypted_fields()).contains("opaque fields"));
    assert_eq!(Plain::encrypted_fields().unwrap(), doc! { "fields": [] });
}

#[tokio::test]
async fn a_capped_collection_is_not_encrypted() {
    let server = TestServer::builder()
        .replica_set()
        .start()
        .await
        .expect("the server starts");
    let client = marula::connect(server.uri()).await.expect("a connection string");
    let error = client
        .database("d")
        .schema()
        .register::<Capped>()
        .plan()
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "schema: the encrypted fields of model `Capped`: a collection with the option `capped` cannot be encrypted"
    );
}

#[test]
fn encrypted_fields_and_the_json_schema_of_a_model() {
    let fields = Patient::encrypted_fields().unwrap();
    let equality = |contention: i64| doc! { "queryType": "equality", "contention": contention };
    let range = doc! { "queryType": "range", "min": 0, "max": 200, "sparsity": 1_i64, "trimFactor": 6 };
    assert_eq!(
        fields,
        doc! { "fields": [
            { "path": "ssn", "bsonType": "string", "keyId": null, "queries": equality(4) },
            { "path": "age", "bsonType": "int", "keyId": null, "queries": range },
            { "path": "ward", "bsonType": "string", "keyId": null, "queries": { "queryType": "equality" } },
            { "path": "remarks", "bsonType": "string", "keyId": null },
            { "path": "allergies", "bsonType": "array", "keyId": null },
            { "path": "address.st", "bsonType": "string", "keyId": null },
            { "path": "policy", "bsonType": "long", "keyId": null, "queries": equality(0) },
        ] }
    );
    let schema = Patient::json_schema();
    let binary = doc! { "bsonType": "binData" };
    let properties = schema.get_document("properties").unwrap();
    for name in ["ssn", "age", "ward", "remarks", "allergies"] {
        assert_eq!(properties.get_document(name).unwrap(), &binary, "{name}");
    }
    assert!(!format!("{schema:?}").contains("queryType"));
    let required = schema.get_array("required").unwrap();
    assert!(required.contains(&"ssn".into()) && !required.contains(&"remarks".into()));
}

#[test]
fn operators_of_encrypted_fields_are_sent_as_they_are() {
    let p = Patient::fields();
    assert_eq!(
        p.address().street().is_missing().to_string(),
        r#"{"address.st": {"$exists": false}}"#
    );
    assert_eq!(
        p.address().street().set("x").to_string(),
        r#"{"$set": {"address.st": "x"}}"#
    );
    assert_eq!(
        (!p.ward().not_in([Ward::South])).to_string(),
        r#"{"$nor": [{"ward": {"$nin": ["south"]}}]}"#
    );
}
