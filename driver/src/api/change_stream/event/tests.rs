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
