//! Commands with payloads made of fixed tokens, run against a catalog.

use super::command::rewrite;
use super::stored;
use super::token::{Token, derive};
use super::write::without_removed_tags;
use crate::error::Result;
use crate::query::{Env, Filter};
use crate::storage::{Catalog, Namespace};
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document, doc};

fn binary(subtype: BinarySubtype, bytes: &[u8]) -> Bson {
    Bson::Binary(Binary {
        subtype,
        bytes: bytes.to_vec(),
    })
}

fn generic(bytes: &[u8]) -> Bson {
    binary(BinarySubtype::Generic, bytes)
}

fn payload(kind: u8, document: &Document) -> Bson {
    let mut bytes = vec![kind];
    document.to_writer(&mut bytes).expect("a document");
    binary(BinarySubtype::Encrypted, &bytes)
}

/// The tokens of a value for queries: different for each `value`.
fn of_query(value: u8) -> Document {
    doc! { "d": generic(&[value; 32]), "s": generic(&[value + 1; 32]), "l": generic(&[value + 2; 32]) }
}

/// The tokens of a value to store, with a contention.
fn of_insert(value: u8, contention: u64) -> Document {
    doc! {
        "d": generic(&derive(&[value; 32], contention)),
        "s": generic(&derive(&[value + 1; 32], contention)),
        "l": generic(&[value + 2; 32]),
        "p": generic(&[value; 48]),
    }
}

fn to_store(tokens: Document, contention: i64) -> Document {
    let mut document = tokens;
    document.extend(doc! {
        "u": binary(BinarySubtype::Uuid, &[7; 16]), "t": 2, "v": generic(&[9; 40]), "e": generic(&[8; 32]), "k": contention,
    });
    document
}

fn stored_value(value: u8, contention: i64) -> Bson {
    let tokens = of_insert(value, u64::try_from(contention).expect("positive"));
    payload(11, &to_store(tokens, contention))
}

fn queried(value: u8, contention: i64) -> Bson {
    let mut document = of_query(value);
    document.insert("cm", contention);
    payload(12, &document)
}

fn information() -> Document {
    doc! { "type": 1, "schema": { "db.people": {
        "escCollection": "enxcol_.people.esc", "ecocCollection": "enxcol_.people.ecoc",
        "fields": [{ "path": "ssn" }, { "path": "name.last" }],
    } } }
}

fn run(catalog: &mut Catalog, command: Document) -> Result<Document> {
    let name = command.keys().next().expect("a name").clone();
    let mut command = command;
    command.insert("encryptionInformation", information());
    rewrite(catalog, "db", &name, &command)
}

/// Inserts a document and returns its stored form.
fn insert(catalog: &mut Catalog, document: Document) -> Document {
    let command = run(catalog, doc! { "insert": "people", "documents": [document] }).expect("inserted");
    command.get_array("documents").expect("documents")[0]
        .as_document()
        .expect("a document")
        .clone()
}

fn filter(catalog: &mut Catalog, filter: Document) -> Document {
    let command = run(catalog, doc! { "find": "people", "filter": filter }).expect("rewritten");
    command.get_document("filter").expect("filter").clone()
}

fn finds(catalog: &mut Catalog, condition: Document, document: &Document) -> bool {
    let condition = filter(catalog, condition);
    let env = Env::default();
    Filter::parse(&condition, &env)
        .and_then(|filter| filter.matches(document, &env))
        .expect("a valid filter")
}

fn tags(document: &Document) -> Vec<Bson> {
    document.get_array("__safeContent__").cloned().unwrap_or_default()
}

fn count(catalog: &Catalog, collection: &str) -> usize {
    let namespace = Namespace::new("db", collection).expect("a name");
    catalog.get(&namespace).map_or(0, crate::storage::Collection::len)
}

#[test]
fn equal_values_have_different_tags_that_one_query_finds() {
    let mut catalog = Catalog::default();
    let first = insert(&mut catalog, doc! { "_id": 1, "ssn": stored_value(10, 0) });
    let second = insert(&mut catalog, doc! { "_id": 2, "ssn": stored_value(10, 3) });
    let third = insert(&mut catalog, doc! { "_id": 3, "ssn": stored_value(10, 3) });
    let other = insert(&mut catalog, doc! { "_id": 4, "ssn": stored_value(20, 0) });
    // The tag of the first position, by the formula.
    let expected: Token = derive(&derive(&derive(&[10; 32], 0), 1), 1);
    assert_eq!(tags(&first), [generic(&expected)]);
    assert_ne!(tags(&second), tags(&third));
    assert_eq!(
        (
            count(&catalog, "enxcol_.people.esc"),
            count(&catalog, "enxcol_.people.ecoc")
        ),
        (4, 4)
    );
    for document in [&first, &second, &third] {
        assert!(finds(
            &mut catalog,
            doc! { "ssn": { "$eq": queried(10, 3) } },
            document
        ));
        assert!(!finds(
            &mut catalog,
            doc! { "ssn": { "$ne": queried(10, 3) } },
            document
        ));
        assert!(!finds(&mut catalog, doc! { "ssn": queried(20, 0) }, document));
        let any = doc! { "ssn": { "$in": [queried(20, 0), queried(10, 3)] }, "_id": { "$gt": 0 } };
        assert!(finds(&mut catalog, any, document));
    }
    // Only contentions up to the one of the query are found.
    assert!(!finds(&mut catalog, doc! { "ssn": queried(10, 2) }, &second));
    assert!(finds(
        &mut catalog,
        doc! { "ssn": { "$not": { "$eq": queried(10, 3) } } },
        &other
    ));
    let both = doc! { "$or": [{ "ssn": queried(10, 3) }, { "ssn": queried(20, 0) }] };
    assert!(finds(&mut catalog, both, &other));
    let expression = doc! { "$expr": { "$eq": ["$ssn", queried(20, 0)] } };
    assert!(finds(&mut catalog, expression.clone(), &other));
    assert!(!finds(&mut catalog, expression, &first));
}

#[test]
fn stored_values_have_the_layout_of_their_type() {
    let mut catalog = Catalog::default();
    let length = |document: &Document| match document.get("ssn") {
        Some(Bson::Binary(binary)) => (binary.bytes[0], binary.bytes.len()),
        _ => panic!("not a binary value"),
    };
    let (header, value, block) = (18, 16 + 40, 96);
    let equality = insert(&mut catalog, doc! { "ssn": stored_value(10, 0) });
    assert_eq!(length(&equality), (14, header + value + block));
    let edges = doc! { "g": [of_insert(20, 0), of_insert(30, 0)] };
    let range = insert(&mut catalog, doc! { "ssn": payload(11, &to_store(edges, 0)) });
    assert_eq!(length(&range), (15, header + 1 + value + 2 * block));
    let parts =
        doc! { "b": { "e": of_insert(40, 0), "s": [of_insert(50, 0)], "u": [of_insert(60, 0)], "p": [] } };
    let text = insert(&mut catalog, doc! { "ssn": payload(11, &to_store(parts, 0)) });
    assert_eq!(length(&text), (17, header + 12 + value + 3 * block));
    for (document, count) in [(&equality, 1), (&range, 2), (&text, 3)] {
        let found: Vec<Bson> = stored::tags(document).into_iter().map(generic).collect();
        assert_eq!((&found, found.len()), (&tags(document), count));
    }
}

#[test]
fn ranges_and_parts_of_strings_are_found() {
    let mut catalog = Catalog::default();
    let edges = doc! { "g": [of_insert(20, 0), of_insert(30, 0)] };
    let document = insert(&mut catalog, doc! { "ssn": payload(11, &to_store(edges, 0)) });
    let range = |edge| {
        let operators = doc! { "payloadId": 0, "firstOperator": 1, "secondOperator": 3 };
        let mut whole = doc! { "payload": { "g": [of_query(edge)], "cm": 0_i64 } };
        whole.extend(operators.clone());
        doc! { "ssn": { "$gt": payload(13, &whole), "$lt": payload(13, &operators) } }
    };
    assert!(finds(&mut catalog, range(30), &document));
    assert!(!finds(&mut catalog, range(40), &document));
    let text = |value| {
        let operand = payload(18, &doc! { "ts": { "p": of_query(value) }, "cm": 0_i64 });
        doc! { "$expr": { "$encStrStartsWith": { "input": "$ssn", "prefix": operand } } }
    };
    assert!(finds(&mut catalog, text(20), &document));
    assert!(!finds(&mut catalog, text(40), &document));
}

#[test]
fn an_update_adds_and_removes_tags() {
    let mut catalog = Catalog::default();
    let old = insert(
        &mut catalog,
        doc! { "_id": 1, "ssn": stored_value(10, 0), "name": { "last": stored_value(20, 0) } },
    );
    let statement =
        doc! { "q": { "ssn": queried(10, 0) }, "u": { "$set": { "name.last": stored_value(30, 0) } } };
    let command = run(&mut catalog, doc! { "update": "people", "updates": [statement] }).expect("rewritten");
    let statement = command.get_array("updates").expect("updates")[0]
        .as_document()
        .expect("one");
    let update = statement.get_document("u").expect("u");
    let added = update
        .get_document("$push")
        .and_then(|push| push.get_document("__safeContent__")?.get_array("$each"))
        .expect("tags");
    assert_eq!(added.len(), 1);
    // What the update makes of the document.
    let mut new = old.clone();
    let value = update
        .get_document("$set")
        .expect("$set")
        .get("name.last")
        .expect("a value");
    new.insert("name", doc! { "last": value.clone() });
    let mut all = tags(&old);
    all.extend(added.clone());
    new.insert("__safeContent__", all);
    let new = without_removed_tags(&old, new).expect("an array");
    assert_eq!(tags(&new), [tags(&old)[0].clone(), added[0].clone()]);
    let mut unset = old.clone();
    unset.remove("ssn");
    let unset = without_removed_tags(&old, unset).expect("an array");
    assert_eq!(tags(&unset), [tags(&old)[1].clone()]);
}

#[test]
fn a_join_searches_the_state_of_the_other_collection() {
    let mut catalog = Catalog::default();
    insert(&mut catalog, doc! { "ssn": stored_value(10, 0) });
    let lookup =
        doc! { "from": "people", "as": "all", "pipeline": [{ "$match": { "ssn": queried(10, 0) } }] };
    let command = run(
        &mut catalog,
        doc! { "aggregate": "other", "pipeline": [{ "$lookup": lookup }] },
    )
    .expect("rewritten");
    let lookup = command.get_array("pipeline").expect("pipeline")[0]
        .as_document()
        .expect("a stage");
    let inner = lookup
        .get_document("$lookup")
        .and_then(|lookup| lookup.get_array("pipeline"))
        .expect("pipeline");
    assert!(inner[0].to_string().contains("__safeContent__"));
    let unencrypted = doc! { "$match": { "ssn": queried(10, 0) } };
    assert!(
        run(
            &mut catalog,
            doc! { "aggregate": "other", "pipeline": [unencrypted] }
        )
        .is_err()
    );
}

#[test]
fn invalid_commands_are_rejected() {
    let mut catalog = Catalog::default();
    let update = doc! { "q": {}, "u": { "$set": { "a": 1 } } };
    let mut of_several = update.clone();
    of_several.insert("multi", true);
    let mut without_tokens = to_store(of_insert(10, 0), 0);
    without_tokens.remove("s");
    for command in [
        doc! { "update": "people", "updates": [update.clone(), update] },
        doc! { "update": "people", "updates": [of_several] },
        doc! { "delete": "people", "deletes": [{ "q": {}, "limit": 0 }] },
        doc! { "insert": "people", "documents": [{ "other": stored_value(10, 0) }] },
        doc! { "insert": "people", "documents": [{ "ssn": payload(11, &without_tokens) }] },
        doc! { "insert": "people", "documents": [{ "ssn": binary(BinarySubtype::Encrypted, &[11, 1, 2]) }] },
        doc! { "find": "people", "filter": { "ssn": { "$regex": queried(10, 0) } } },
        doc! { "find": "people", "filter": { "ssn": payload(18, &doc! { "ts": {} }) } },
    ] {
        let rejected = run(&mut catalog, command.clone());
        assert!(rejected.is_err(), "{command}");
    }
    assert_eq!(count(&catalog, "enxcol_.people.esc"), 0);
}

#[test]
fn a_bulk_write_has_one_operation_or_only_inserts() {
    let mut catalog = Catalog::default();
    let mut bulk = |operations: Vec<Document>| {
        let info = doc! { "ns": "db.people", "encryptionInformation": information() };
        let command = doc! { "bulkWrite": 1, "ops": operations, "nsInfo": [info] };
        rewrite(&mut catalog, "admin", "bulkWrite", &command)
    };
    let insert = doc! { "insert": 0, "document": { "ssn": stored_value(10, 0) } };
    let update = doc! { "update": 0, "filter": { "ssn": queried(10, 0) }, "updateMods": { "ssn": stored_value(20, 0) } };
    let inserted = bulk(vec![insert.clone(), insert.clone()]).expect("two inserts");
    let operations = inserted.get_array("ops").expect("ops");
    assert_eq!(
        operations
            .iter()
            .filter(|operation| operation.to_string().contains("__safeContent__"))
            .count(),
        2
    );
    let updated = bulk(vec![update.clone()]).expect("one update");
    assert_eq!(updated.to_string().matches("__safeContent__").count(), 2);
    let error = bulk(vec![insert, update]).expect_err("several operations");
    assert!(
        error
            .message
            .contains("Only insert is supported in BulkWrite with multiple operations")
    );
}
