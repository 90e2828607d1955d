//! The conversion of small files, and what it rejects.

use marula_driver::bson::{Binary, BinarySubtype, Bson, Document, bson, doc};

use super::{Converted, convert};
use crate::unified::file::TestFile;

/// A file with one test, which has these keys besides its description.
fn file(test: Document) -> Document {
    let mut whole = doc! {
        "description": "d",
        "clientOptions": { "autoEncryptOpts": { "kmsProviders": { "aws": {} } } },
        "operations": [],
    };
    whole.extend(test);
    doc! { "database_name": "db", "collection_name": "things", "data": [], "tests": [whole] }
}

/// The only test of a file.
fn converted(file: Document) -> Converted {
    let mut tests = convert(file).expect("a valid file");
    assert_eq!(tests.len(), 1);
    tests.remove(0)
}

/// The document of the only test of a file, which the schema of the unified test format accepts.
fn document(file: Document) -> Document {
    let document = converted(file).document.expect("a valid test");
    TestFile::from_legacy(document.clone()).expect("a valid document");
    document
}

/// The test in a document.
fn test_of(document: &Document) -> &Document {
    let tests = document.get_array("tests").expect("tests");
    tests[0].as_document().expect("a test")
}

/// The entities with this type in a document.
fn entities<'a>(document: &'a Document, kind: &str) -> Vec<&'a Document> {
    let entities = document.get_array("createEntities").expect("entities");
    let entities = entities.iter().filter_map(Bson::as_document);
    entities
        .filter_map(|entity| entity.get_document(kind).ok())
        .collect()
}

/// The operation that a test with only this operation becomes.
fn operation(operation: Document) -> Document {
    let document = document(file(doc! { "operations": [operation] }));
    let operations = test_of(&document).get_array("operations").expect("operations");
    assert_eq!(operations.len(), 1);
    operations[0].as_document().expect("an operation").clone()
}

/// Why the test with these keys fails: the conversion, or the schema of the unified test format.
fn error_of(test: Document) -> String {
    let document = converted(file(test)).document;
    document
        .and_then(TestFile::from_legacy)
        .expect_err("an invalid test")
}

fn find(result: Bson) -> Document {
    doc! { "name": "find", "arguments": { "filter": {} }, "result": result }
}

#[test]
fn the_data_before_a_test() {
    let mut given = file(doc! {});
    given.extend(doc! {
        "runOn": [{ "minServerVersion": "4.1.10", "topology": ["replicaset"] }],
        "data": [{ "_id": 1 }],
        "json_schema": { "bsonType": "object" },
        "encrypted_fields": { "fields": [] },
        "key_vault_data": [{ "_id": 2 }],
    });
    let document = document(given);
    assert_eq!(
        document.get("runOnRequirements"),
        Some(&bson!([{ "csfle": true, "minServerVersion": "4.1.10", "topologies": ["replicaset"] }]))
    );
    assert_eq!(
        document.get("initialData"),
        Some(&bson!([
            {
                "databaseName": "db", "collectionName": "things", "documents": [{ "_id": 1 }],
                "createOptions": {
                    "validator": { "$jsonSchema": { "bsonType": "object" } },
                    "encryptedFields": { "fields": [] },
                },
            },
            { "databaseName": "keyvault", "collectionName": "datakeys", "documents": [{ "_id": 2 }] },
        ]))
    );
}

#[test]
fn defaults() {
    let mut given = file(doc! {});
    for key in ["database_name", "collection_name", "data"] {
        given.remove(key);
    }
    let document = document(given);
    assert_eq!(
        document.get("runOnRequirements"),
        Some(&bson!([{ "csfle": true }]))
    );
    assert_eq!(
        document.get("initialData"),
        Some(&bson!([{ "databaseName": "default", "collectionName": "default", "documents": [] }]))
    );
    let test = test_of(&document);
    assert!(!test.contains_key("expectEvents") && !test.contains_key("outcome"));
}

#[test]
fn each_test_has_its_own_document() {
    let test = |name: &str| doc! { "description": name, "operations": [], "skipReason": "why" };
    let tests =
        convert(doc! { "tests": [test("a"), test("b"), { "operations": [] }] }).expect("a valid file");
    let names: Vec<&str> = tests.iter().map(|test| test.description.as_str()).collect();
    assert_eq!(names, ["a", "b", "test 2"]);
    let document = tests[1].document.as_ref().expect("a valid test");
    assert_eq!(
        TestFile::from_legacy(document.clone())
            .expect("a valid document")
            .tests[0]
            .skip_reason
            .as_deref(),
        Some("why")
    );
    assert!(tests[2].document.is_err());
}

#[test]
fn options_of_the_client() {
    let key = Binary {
        subtype: BinarySubtype::Generic,
        bytes: vec![1, 2, 3],
    };
    let document = document(file(doc! {
        "useMultipleMongoses": true,
        "clientOptions": {
            "timeoutMS": 50,
            "autoEncryptOpts": {
                "kmsProviders": { "azure": {}, "gcp": {}, "kmip": {}, "local:name2": { "key": key } },
                "bypassAutoEncryption": true,
                "schemaMap": { "db.things": {} },
            },
        },
    }));
    let clients = entities(&document, "client");
    let placeholder = doc! { "$$placeholder": 1 };
    assert_eq!(
        clients,
        [&doc! {
            "id": "client",
            "observeEvents": ["commandStartedEvent"],
            "autoEncryptOpts": {
                "keyVaultNamespace": "keyvault.datakeys",
                "kmsProviders": {
                    "azure": {
                        "tenantId": &placeholder, "clientId": &placeholder, "clientSecret": &placeholder,
                    },
                    "gcp": { "email": &placeholder, "privateKey": &placeholder },
                    "kmip": { "endpoint": &placeholder },
                    "local:name2": { "key": "AQID" },
                },
                "bypassAutoEncryption": true,
                "schemaMap": { "db.things": {} },
            },
            "uriOptions": { "timeoutMS": 50 },
            "useMultipleMongoses": true,
        }]
    );
}

#[test]
fn temporary_credentials_of_aws() {
    let aws = |name: &str| {
        let options = doc! { "autoEncryptOpts": { "kmsProviders": { name: {} } } };
        let document = document(file(doc! { "clientOptions": options }));
        let options = entities(&document, "client")[0].get_document("autoEncryptOpts");
        let providers = options.and_then(|options| options.get_document("kmsProviders"));
        let aws = providers.and_then(|providers| providers.get_document("aws"));
        aws.expect("the provider aws").clone()
    };
    assert_eq!(aws("aws").get_str("accessKeyId").ok(), None);
    assert!(aws("awsTemporary").contains_key("sessionToken"));
    assert_eq!(
        aws("awsTemporaryNoSessionToken"),
        doc! { "secretAccessKey": { "$$placeholder": 1 }, "accessKeyId": "ASIAEXAMPLE" }
    );
}

#[test]
fn objects_of_operations() {
    let object = |given: Document| operation(given).get_str("object").expect("an object").to_owned();
    let drop = doc! { "name": "dropCollection", "object": "database", "arguments": { "collection": "a" } };
    assert_eq!(object(find(bson!([]))), "collection");
    assert_eq!(object(drop), "database");
    assert_eq!(
        object(doc! { "name": "listDatabaseNames", "object": "client" }),
        "client"
    );
}

#[test]
fn options_of_objects_create_entities() {
    let mut given = find(bson!([]));
    given.extend(doc! {
        "databaseOptions": { "timeoutMS": 5 },
        "collectionOptions": { "readConcern": { "level": "majority" } },
    });
    let document = document(file(doc! { "operations": [given] }));
    let collections = entities(&document, "collection");
    let databases = entities(&document, "database");
    assert_eq!((collections.len(), databases.len()), (2, 2));
    assert_eq!(collections[1].get("database"), databases[1].get("id"));
    assert_eq!(
        collections[1].get("collectionOptions"),
        Some(&bson!({ "readConcern": { "level": "majority" } }))
    );
    let operations = test_of(&document).get_array("operations").expect("operations");
    let operation = operations[0].as_document().expect("an operation");
    assert_eq!(operation.get("object"), collections[1].get("id"));
}

#[test]
fn arguments_have_the_names_of_the_unified_format() {
    let arguments = |given: Document| operation(given).get("arguments").cloned();
    assert_eq!(
        arguments(
            doc! { "name": "assertIndexExists", "object": "testRunner", "arguments": {
                "database": "a", "collection": "b", "index": "c",
            } }
        ),
        Some(bson!({ "databaseName": "a", "collectionName": "b", "indexName": "c" }))
    );
    assert_eq!(
        arguments(
            doc! { "name": "runCommand", "object": "database", "arguments": { "command": { "ping": 1 } } }
        ),
        Some(bson!({ "command": { "ping": 1 }, "commandName": "ping" }))
    );
    assert_eq!(
        arguments(doc! {
            "name": "runCommand", "object": "database", "command_name": "b", "arguments": { "command": { "a": 1, "b": 1 } },
        }),
        Some(bson!({ "command": { "a": 1, "b": 1 }, "commandName": "b" }))
    );
    assert_eq!(
        arguments(doc! { "name": "bulkWrite", "arguments": {
            "requests": [{ "name": "insertOne", "arguments": { "document": {} } }],
            "options": { "ordered": true },
        } }),
        Some(bson!({ "requests": [{ "insertOne": { "document": {} } }], "ordered": true }))
    );
}

#[test]
fn results_and_errors() {
    let expected = |given: Document| {
        let operation = operation(given);
        let of = |key: &str| operation.get(key).cloned();
        (of("expectResult"), of("expectError"))
    };
    assert_eq!(
        expected(find(bson!([{ "a": 1 }]))),
        (Some(bson!([{ "a": 1 }])), None)
    );
    assert_eq!(
        expected(find(bson!({ "ok": 1 }))),
        (Some(bson!({ "ok": 1 })), None)
    );
    assert_eq!(expected(find(Bson::Null)), (Some(Bson::Null), None));
    let error = bson!({ "errorContains": "x", "isTimeoutError": true });
    assert_eq!(expected(find(error.clone())), (None, Some(error)));
    assert_eq!(
        expected(doc! { "name": "drop", "error": true }),
        (None, Some(bson!({ "isError": true })))
    );
    assert_eq!(expected(doc! { "name": "drop" }), (None, None));
}

#[test]
fn fail_points_are_set_before_the_operations_by_another_client() {
    let fail_point = doc! { "configureFailPoint": "failCommand", "mode": "off" };
    let document = document(file(doc! {
        "failPoint": &fail_point,
        "operations": [
            find(bson!([])),
            { "name": "configureFailPoint", "object": "testRunner", "arguments": { "failPoint": &fail_point } },
        ],
    }));
    let operations = test_of(&document).get_array("operations").expect("operations");
    let operations: Vec<&Document> = operations.iter().filter_map(Bson::as_document).collect();
    let names: Vec<_> = operations.iter().filter_map(|o| o.get_str("name").ok()).collect();
    assert_eq!(names, ["failPoint", "find", "failPoint"]);
    let clients = entities(&document, "client");
    assert_eq!(clients.len(), 2);
    assert!(!clients[1].contains_key("autoEncryptOpts"));
    assert_eq!(
        operations[0].get_document("arguments").ok(),
        Some(&doc! { "client": clients[1].get_str("id").expect("an id"), "failPoint": fail_point })
    );
}

#[test]
fn expected_events() {
    let document = document(file(doc! { "expectations": [
        { "command_started_event": {
            "command": { "find": "a", "txnNumber": null, "filter": { "a": null } },
            "command_name": "find", "database_name": "db",
        } },
        { "command_started_event": { "command": {
            "update": "a", "updates": [{ "q": {}, "u": {} }, { "q": {}, "u": {}, "multi": true }],
        } } },
    ] }));
    assert_eq!(
        test_of(&document).get("expectEvents"),
        Some(&bson!([{ "client": "client", "events": [
            { "commandStartedEvent": {
                "command": { "find": "a", "txnNumber": { "$$exists": false }, "filter": { "a": null } },
                "commandName": "find", "databaseName": "db",
            } },
            { "commandStartedEvent": { "command": { "update": "a", "updates": [
                { "q": {}, "u": {}, "multi": { "$$unsetOrMatches": false }, "upsert": { "$$unsetOrMatches": false } },
                { "q": {}, "u": {}, "multi": true, "upsert": { "$$unsetOrMatches": false } },
            ] } } },
        ] }]))
    );
    let none: Vec<Bson> = Vec::new();
    let document = self::document(file(doc! { "expectations": none }));
    assert_eq!(
        test_of(&document).get("expectEvents"),
        Some(&bson!([{ "client": "client", "events": [] }]))
    );
}

#[test]
fn the_data_after_a_test() {
    let document = document(file(
        doc! { "outcome": { "collection": { "data": [{ "a": { "$$type": "int" } }] } } },
    ));
    let test = &TestFile::from_legacy(document).expect("a valid document");
    assert!(test.is_legacy);
    assert_eq!(
        test.tests[0].outcome,
        [doc! {
            "databaseName": "db", "collectionName": "things", "documents": [{ "a": { "$$type": "int" } }],
        }]
    );
}

#[test]
fn unknown_keys_of_a_file_are_errors() {
    let mut given = file(doc! {});
    given.insert("json_schemas", doc! {});
    let error = convert(given).err().expect("an unknown key");
    assert_eq!(error, "the file: unknown key \"json_schemas\"");
    let error = convert(doc! {}).err().expect("no tests");
    assert_eq!(error, "the file: the key \"tests\" is missing");
    let mut given = file(doc! {});
    given.insert("runOn", bson!([{ "topologies": ["single"] }]));
    let error = convert(given).err().expect("an unknown key");
    assert_eq!(error, "runOn[0]: unknown key \"topologies\"");
}

#[test]
fn unknown_keys_of_a_test_are_errors() {
    let bulk = |request: Bson| doc! { "operations": [{ "name": "bulkWrite", "arguments": { "requests": [request] } }] };
    let encryption = |options: Document| {
        let mut whole = doc! { "kmsProviders": {} };
        whole.extend(options);
        doc! { "clientOptions": { "autoEncryptOpts": whole } }
    };
    let started = |event: Document| doc! { "expectations": [{ "command_started_event": event }] };
    for (test, part) in [
        (doc! { "expectation": [] }, "unknown key \"expectation\""),
        (doc! { "sessionOptions": {} }, "unknown key \"sessionOptions\""),
        (doc! { "skipReason": 1 }, "\"skipReason\" must be a string"),
        (
            doc! { "operations": [{ "name": "find", "results": [] }] },
            "operations[0]: unknown key \"results\"",
        ),
        (
            doc! { "operations": [{ "name": "find", "object": "session0" }] },
            "unknown object \"session0\"",
        ),
        (
            doc! { "operations": [{ "name": "a", "object": "database", "collectionOptions": {} }] },
            "unknown key \"collectionOptions\"",
        ),
        (
            doc! { "operations": [{ "name": "find", "command_name": "find" }] },
            "unknown key \"command_name\"",
        ),
        (
            doc! { "operations": [{ "name": "runCommand", "object": "database" }] },
            "runCommand requires a command",
        ),
        (
            doc! { "operations": [{ "name": "find", "error": false }] },
            "\"error\" must be true",
        ),
        (
            doc! { "operations": [{ "name": "find", "result": { "errorContains": "a", "foo": 1 } }] },
            "unknown key \"foo\"",
        ),
        (
            doc! { "operations": [{ "name": "a", "arguments": { "b": 1, "options": { "b": 2 } } }] },
            "\"b\" is also in options",
        ),
        (
            bulk(bson!({ "name": "insertOne", "arguments": {}, "x": 1 })),
            "unknown key \"x\"",
        ),
        (encryption(doc! { "foo": 1 }), "unknown key \"foo\""),
        (
            encryption(doc! { "kmsProviders": { "foo": {} } }),
            "\"foo\" is not a KMS provider",
        ),
        (
            encryption(doc! { "kmsProviders": { "aws": {}, "awsTemporary": {} } }),
            "several providers are named \"aws\"",
        ),
        (
            doc! { "expectations": [{ "command_failed_event": {} }] },
            "\"command_started_event\" is missing",
        ),
        (
            started(doc! { "command": {}, "reply": {} }),
            "unknown key \"reply\"",
        ),
        (
            doc! { "outcome": { "collection": { "data": [] }, "x": 1 } },
            "unknown key \"x\"",
        ),
        (
            doc! { "outcome": { "collection": { "documents": [] } } },
            "\"data\" is missing",
        ),
    ] {
        let error = error_of(test);
        assert!(error.contains(part), "{part} is not in\n{error}");
    }
}
