//! Events of all shapes.

use super::*;
use crate::bson::{doc, from_document, rawdoc, to_document};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    quantity: i32,
}

#[test]
fn an_event_has_the_fields_that_the_server_sent() {
    let insert = doc! {
        "_id": { "_data": "82" }, "operationType": "insert", "clusterTime": Timestamp { time: 5, increment: 2 },
        "wallTime": DateTime::from_millis(7), "fullDocument": { "quantity": 3 }, "documentKey": { "_id": 1 },
        "ns": { "db": "shop", "coll": "orders", "viewOn": "x" }, "laterField": 1,
    };
    let event: ChangeStreamEvent<Order> = from_document(&insert).expect("an event");
    assert_eq!(event.id, ResumeToken::from(rawdoc! { "_data": "82" }));
    assert_eq!(event.operation, ChangeOperation::Insert);
    assert_eq!(event.full_document, Some(Order { quantity: 3 }));
    assert_eq!(event.wall_time, Some(DateTime::from_millis(7)));
    let ns = event.ns.expect("a namespace");
    assert_eq!((ns.db.as_str(), ns.coll.as_deref()), ("shop", Some("orders")));
}

#[test]
fn null_and_missing_documents_are_none() {
    let update = doc! {
        "_id": { "_data": "82" }, "operationType": "update", "fullDocument": null, "fullDocumentBeforeChange": null,
        "updateDescription": {
            "updatedFields": { "a.b": 1 }, "removedFields": ["c"],
            "truncatedArrays": [{ "field": "d", "newSize": 2 }], "disambiguatedPaths": { "a.b": ["a", "b"] },
        },
    };
    let event: ChangeStreamEvent<Order> = from_document(&update).expect("an event");
    assert!(event.full_document.is_none() && event.full_document_before_change.is_none());
    let description = event.update_description.expect("a description");
    assert_eq!(description.updated_fields, doc! { "a.b": 1 });
    assert_eq!(description.removed_fields, ["c"]);
    assert_eq!(description.truncated_arrays[0].new_size, 2);
    assert_eq!(description.disambiguated_paths, Some(doc! { "a.b": ["a", "b"] }));
}

#[test]
fn unknown_operations_keep_their_names() {
    for name in ["insert", "reshardCollection", "somethingNew"] {
        let event = doc! { "_id": {}, "operationType": name };
        let event: ChangeStreamEvent<Document> = from_document(&event).expect("an event");
        assert_eq!(event.operation.as_str(), name);
        assert_eq!(
            event.operation == ChangeOperation::Other(name.to_owned()),
            name == "somethingNew"
        );
        let written = to_document(&event).expect("a document");
        assert_eq!(written.get_str("operationType").ok(), Some(name));
    }
}

#[test]
fn fragments_have_the_fields_that_they_contain() {
    let fragment = doc! {
        "_id": { "_data": "82" }, "splitEvent": { "fragment": 2, "of": 3 }, "fullDocumentBeforeChange": { "quantity": 1 },
    };
    let event: ChangeStreamEvent<Order> = from_document(&fragment).expect("a fragment");
    assert_eq!(event.split_event, Some(SplitEvent { fragment: 2, of: 3 }));
    assert_eq!(event.operation, ChangeOperation::default());
    assert_eq!(event.full_document_before_change, Some(Order { quantity: 1 }));
}

/// The error of an insert event with these fields: its path, the type found, and the text.
fn error_of(fields: Document) -> (String, Option<&'static str>, String) {
    let mut event = doc! { "_id": { "_data": "82" }, "operationType": "insert" };
    event.extend(fields);
    let error = from_document::<ChangeStreamEvent<Order>>(&event).expect_err("an error");
    (error.path().to_owned(), error.type_found(), error.to_string())
}

#[test]
fn errors_name_the_path_the_type_and_the_offset() {
    let (path, found, text) = error_of(doc! { "ns": { "db": "shop", "coll": 5 } });
    assert_eq!((path.as_str(), found), ("ns.coll", Some("Int32")));
    assert_eq!(text, "ns.coll: expected a string, found Int32 at byte 81");
    let (path, found, text) = error_of(doc! { "fullDocument": { "quantity": "three" } });
    assert_eq!((path.as_str(), found), ("fullDocument.quantity", Some("String")));
    assert!(text.ends_with("at byte 82"), "{text}");
    let (path, _, text) = error_of(doc! { "fullDocumentBeforeChange": {} });
    assert_eq!(path, "fullDocumentBeforeChange");
    assert!(text.contains("missing field `quantity`"), "{text}");
    let (path, ..) =
        error_of(doc! { "updateDescription": { "truncatedArrays": [{ "field": "a", "newSize": "" }] } });
    assert_eq!(path, "updateDescription.truncatedArrays[0].newSize");
    let (path, found, _) = error_of(doc! { "documentKey": 1 });
    assert_eq!((path.as_str(), found), ("documentKey", Some("Int32")));
    let (path, _, text) = error_of(doc! { "ns": {} });
    assert_eq!(path, "ns");
    assert!(text.contains("missing field `db`"), "{text}");
    let error = from_document::<ChangeStreamEvent<Order>>(&doc! {}).expect_err("an error");
    assert_eq!(error.message(), "missing field `_id`");
}

#[test]
fn errors_of_an_event_in_another_type_have_their_place_in_it() {
    #[derive(Debug, Deserialize)]
    struct Received {
        #[expect(dead_code, reason = "the field is only read from BSON")]
        events: Vec<ChangeStreamEvent<Order>>,
    }
    let received = doc! { "events": [{ "_id": {}, "fullDocument": { "quantity": "three" } }] };
    let error = from_document::<Received>(&received).expect_err("an error");
    assert_eq!(error.path(), "events[0].fullDocument.quantity");
    assert_eq!((error.type_found(), error.offset()), (Some("String"), Some(61)));
}

#[test]
fn a_field_that_occurs_twice_is_an_error() {
    let mut event = rawdoc! { "_id": {}, "ns": { "db": "a" } };
    event.append(crate::bson::cstr!("ns"), rawdoc! { "db": "b" });
    let error = crate::bson::from_raw::<ChangeStreamEvent<Order>>(&event).expect_err("an error");
    assert_eq!((error.path(), error.message()), ("ns", "duplicate field"));
}

#[test]
fn an_event_is_read_from_buffers_and_in_other_modes() {
    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    enum Received {
        Event(ChangeStreamEvent<Order>),
    }
    let event = doc! {
        "_id": { "_data": "82" }, "clusterTime": Timestamp { time: 5, increment: 2 }, "wallTime": DateTime::from_millis(7),
        "ns": { "db": "shop" }, "fullDocument": { "quantity": 3 },
    };
    let Received::Event(buffered) = from_document(&event).expect("an event");
    let direct: ChangeStreamEvent<Order> = from_document(&event).expect("an event");
    assert_eq!(buffered, direct);
    let readable: crate::bson::serde_helpers::HumanReadable<ChangeStreamEvent<Order>> =
        from_document(&event).expect("an event");
    assert_eq!(readable.0, direct);
}
