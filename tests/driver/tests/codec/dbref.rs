//! Prose tests of the DBRef specification, with explicit conversion and as a field of a struct.

use marula_driver::bson::{Bson, DbRef, Document, ObjectId, append_document, doc, from_slice, to_vec};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Holder {
    at: DbRef,
}

fn id() -> ObjectId {
    ObjectId::parse_str("60a6fe9a54f4180c86309efa").expect("well-formed")
}

fn encoded(document: &Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    append_document(document, &mut bytes).expect("well-formed");
    bytes
}

/// Decodes a DBRef with both ways of decoding.
fn decoded(document: &Document) -> DbRef {
    let explicit = DbRef::try_from(document.clone()).expect("well-formed");
    let implicit: Holder = from_slice(&encoded(&doc! { "at": document.clone() })).expect("well-formed");
    assert_eq!(implicit.at, explicit);
    for (key, value) in document {
        let part = match key.as_str() {
            "$ref" => Some(&Bson::String(explicit.collection.clone())) == Some(value),
            "$id" => explicit.id == *value,
            "$db" => explicit.database.as_deref() == value.as_str(),
            other => explicit.extra.get(other) == Some(value),
        };
        assert!(part, "{key} of {document}");
    }
    assert_eq!(explicit.database.is_some(), document.contains_key("$db"));
    explicit
}

fn is_none(document: &Document) {
    assert!(DbRef::try_from(document.clone()).is_err(), "{document}");
    let bytes = encoded(&doc! { "at": document.clone() });
    assert!(from_slice::<Holder>(&bytes).is_err(), "{document}");
    // Without the type it is an ordinary document.
    #[derive(Deserialize)]
    struct Plain {
        at: Document,
    }
    assert_eq!(from_slice::<Plain>(&bytes).expect("well-formed").at, *document);
}

/// Encodes with both ways, and expects these fields in this order.
fn encodes_as(reference: &DbRef, expected: &Document) {
    let explicit = Document::from(reference.clone());
    assert_eq!(explicit, *expected);
    assert!(explicit.keys().eq(expected.keys()), "{explicit}");
    let holder = Holder {
        at: reference.clone(),
    };
    assert_eq!(
        to_vec(&holder).expect("well-formed"),
        encoded(&doc! { "at": expected.clone() })
    );
}

fn valid() -> [Document; 4] {
    [
        doc! { "$ref": "coll0", "$id": id() },
        doc! { "$ref": "coll0", "$id": 1 },
        doc! { "$ref": "coll0", "$id": Bson::Null },
        doc! { "$ref": "coll0", "$id": 1, "$db": "db0" },
    ]
}

fn with_extra_fields() -> [Document; 5] {
    [
        doc! { "$ref": "coll0", "$id": 1, "$db": "db0", "foo": "bar" },
        doc! { "$ref": "coll0", "$id": 1, "foo": true, "bar": false },
        doc! { "$ref": "coll0", "$id": 1, "meta": { "foo": 1, "bar": 2 } },
        doc! { "$ref": "coll0", "$id": 1, "$foo": "bar" },
        doc! { "$ref": "coll0", "$id": 1, "foo.bar": 0 },
    ]
}

/// Documents with the fields out of order, each with the document in order.
fn out_of_order() -> [(Document, Document); 5] {
    [
        (
            doc! { "$id": 1, "$ref": "coll0" },
            doc! { "$ref": "coll0", "$id": 1 },
        ),
        (
            doc! { "$db": "db0", "$ref": "coll0", "$id": 1 },
            doc! { "$ref": "coll0", "$id": 1, "$db": "db0" },
        ),
        (
            doc! { "foo": 1, "$id": 1, "$ref": "coll0" },
            doc! { "$ref": "coll0", "$id": 1, "foo": 1 },
        ),
        (
            doc! { "foo": 1, "$ref": "coll0", "$id": 1, "$db": "db0" },
            doc! { "$ref": "coll0", "$id": 1, "$db": "db0", "foo": 1 },
        ),
        (
            doc! { "foo": 1, "$ref": "coll0", "$id": 1, "$db": "db0", "bar": 1 },
            doc! { "$ref": "coll0", "$id": 1, "$db": "db0", "foo": 1, "bar": 1 },
        ),
    ]
}

#[test]
fn dbref_prose_decode_1() {
    valid().iter().for_each(|document| drop(decoded(document)));
}

#[test]
fn dbref_prose_decode_2() {
    for document in with_extra_fields() {
        assert!(!decoded(&document).extra.is_empty());
    }
}

#[test]
fn dbref_prose_decode_3() {
    for (document, _) in out_of_order() {
        decoded(&document);
    }
}

#[test]
fn dbref_prose_decode_4() {
    is_none(&doc! { "$ref": "coll0" });
    is_none(&doc! { "$id": id() });
    is_none(&doc! { "$db": "db0" });
}

#[test]
fn dbref_prose_decode_5() {
    is_none(&doc! { "$ref": true, "$id": 1 });
    is_none(&doc! { "$ref": "coll0", "$id": 1, "$db": 1 });
}

#[test]
fn dbref_prose_encode_1() {
    let [object, number, null, database] = valid();
    encodes_as(&DbRef::new("coll0", id()), &object);
    encodes_as(&DbRef::new("coll0", 1), &number);
    encodes_as(&DbRef::new("coll0", Bson::Null), &null);
    encodes_as(&DbRef::new("coll0", 1).with_database("db0"), &database);
}

#[test]
fn dbref_prose_encode_2() {
    for document in with_extra_fields() {
        encodes_as(&decoded(&document), &document);
        let mut reference = DbRef::new("coll0", 1);
        reference.database = document.get_str("$db").ok().map(str::to_owned);
        reference.extra = document
            .clone()
            .into_iter()
            .filter(|(key, _)| !["$ref", "$id", "$db"].contains(&key.as_str()))
            .collect();
        encodes_as(&reference, &document);
    }
}

#[test]
fn dbref_prose_encode_3() {
    for (document, ordered) in out_of_order() {
        encodes_as(&decoded(&document), &ordered);
    }
}
