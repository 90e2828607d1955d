//! Replies with fields of unusual types: counts and indexes that cannot be read are errors, details of
//! errors that cannot be read do not hide the error, and stored options of other types are listed.

use marula_driver::{
    Client, Collection, Error, ErrorKind, IndexModel, SearchIndexModel, WriteModel,
    bson::{Bson, DateTime, Decimal128, Document, doc},
    options::Collation,
};
use marula_driver_tests::{Answer, Request, ScriptedServer};

use super::replies::first_batch;

/// A server that answers each command but hello with this reply.
async fn server(reply: Document) -> (ScriptedServer, Collection<Document>) {
    let is_scripted = |request: &Request| {
        let name = request.name();
        !matches!(name, "hello" | "isMaster" | "ismaster" | "endSessions")
    };
    let server = ScriptedServer::start(doc! { "maxWireVersion": 25 }, move |request| {
        if is_scripted(request) {
            Answer::Reply(reply.clone())
        } else {
            Answer::Success
        }
    })
    .await;
    let client = Client::connect(server.uri("retryWrites=false"))
        .await
        .expect("a client");
    let things = client.database("d").collection("c");
    (server, things)
}

fn assert_invalid(error: &Error, context: &Document) {
    assert!(
        matches!(error.kind(), ErrorKind::InvalidReply(_)),
        "{context}: {error:?}"
    );
}

#[tokio::test]
async fn a_count_that_cannot_be_read_is_an_error() {
    for reply in [
        doc! { "ok": 1 },
        doc! { "ok": 1, "n": 1.5 },
        doc! { "ok": 1, "n": "1" },
        doc! { "ok": 1, "n": -1 },
        doc! { "ok": 1, "n": null },
    ] {
        let (_server, things) = server(reply.clone()).await;
        let counted = things.estimated_document_count().await;
        assert_invalid(&counted.expect_err("no count"), &reply);
        let inserted = things.insert_many(&[doc! {}]).await;
        assert_invalid(&inserted.expect_err("no count"), &reply);
        let deleted = things.delete_one(doc! {}).await;
        assert_invalid(&deleted.expect_err("no count"), &reply);
    }
    for odd in [Bson::from(-1), Bson::from(0.5), Bson::from("1")] {
        let reply = doc! { "ok": 1, "n": 1, "nModified": odd };
        let (_server, things) = server(reply.clone()).await;
        let updated = things.update_one(doc! {}, doc! { "$set": { "a": 1 } }).await;
        assert_invalid(&updated.expect_err("no count"), &reply);
    }
    let (_server, things) = server(doc! { "ok": 1, "n": 1 }).await;
    let updated = things.update_one(doc! {}, doc! { "$set": { "a": 1 } }).await;
    assert_eq!(updated.expect("a result").modified_count, 0);
    let (_server, things) = server(doc! { "ok": 1, "n": 3.0 }).await;
    assert_eq!(things.estimated_document_count().await.expect("a count"), 3);
}

#[tokio::test]
async fn a_counted_number_that_cannot_be_read_is_an_error() {
    for n in [Bson::from(-1), Bson::from(0.5), Bson::from("7"), Bson::Null] {
        let counted = doc! { "_id": 1, "n": n };
        let reply = doc! { "ok": 1, "cursor": { "id": 0_i64, "ns": "d.c", "firstBatch": [counted] } };
        let (_server, things) = server(reply.clone()).await;
        let counted = things.count_documents(doc! {}).await;
        assert_invalid(&counted.expect_err("no count"), &reply);
    }
}

#[tokio::test]
async fn the_index_of_a_statement_that_was_not_sent_is_an_error() {
    for index in [
        Bson::from(-1),
        Bson::from(7),
        Bson::from(0.5),
        Bson::from(i64::MAX),
        Bson::Null,
    ] {
        let write_error = doc! { "index": &index, "code": 11000, "errmsg": "duplicate" };
        let reply = doc! { "ok": 1, "n": 0, "writeErrors": [write_error] };
        let (_server, things) = server(reply.clone()).await;
        let error = things
            .insert_many(&[doc! {}, doc! {}])
            .await
            .expect_err("an error");
        assert_invalid(&error, &reply);
        let sent = error.server_response().expect("the reply");
        assert_eq!(sent.as_bytes(), doc_bytes(&reply), "the error has the reply");
        let reply = doc! { "ok": 1, "n": 1, "nModified": 0, "upserted": [{ "index": index, "_id": 1 }] };
        let (_server, things) = server(reply.clone()).await;
        let update = things
            .update_one(doc! {}, doc! { "$set": { "a": 1 } })
            .upsert(true);
        assert_invalid(&update.await.expect_err("an error"), &reply);
    }
    let reply = doc! { "ok": 1, "n": 0, "writeErrors": [{ "code": 11000 }] };
    let (_server, things) = server(reply.clone()).await;
    let error = things.insert_many(&[doc! {}]).await.expect_err("an error");
    assert_invalid(&error, &reply);
}

fn doc_bytes(document: &Document) -> Vec<u8> {
    document.to_vec().expect("a document")
}

#[tokio::test]
async fn details_that_cannot_be_read_do_not_hide_a_write_error() {
    for odd in [Bson::from("text"), Bson::Null, Bson::from(1), Bson::from(vec![1])] {
        let write_error = doc! {
            "index": 1, "code": 11000.0, "errmsg": &odd, "errInfo": &odd, "keyPattern": &odd, "keyValue": &odd,
        };
        let concern = doc! { "code": 64_i64, "codeName": &odd, "errmsg": &odd, "errInfo": &odd };
        let reply = doc! { "ok": 1, "n": 1, "writeErrors": [write_error], "writeConcernError": concern };
        let (_server, things) = server(reply).await;
        let error = things
            .insert_many(&[doc! { "_id": 1 }, doc! { "_id": 2 }])
            .await
            .expect_err("a write error");
        let ErrorKind::BulkWrite(failures) = error.kind() else {
            panic!("{odd}: {error:?}");
        };
        let [write] = &failures.write_errors[..] else {
            panic!("{odd}: {error:?}");
        };
        assert_eq!((write.index, write.code), (1, 11000));
        assert_eq!((&write.details, &write.key_value), (&None, &None));
        assert_eq!(failures.write_concern_error.as_ref().expect("an error").code, 64);
        assert_eq!(failures.inserted_ids[&0], Bson::from(1));
    }
}

#[tokio::test]
async fn counts_that_cannot_be_read_do_not_hide_a_write_error() {
    let write_error = doc! { "index": 0, "code": 11000, "errmsg": "duplicate" };
    let upserted = doc! { "index": 1, "_id": 7 };
    for odd in [Bson::from("text"), Bson::from(-1), Bson::Null] {
        let reply = doc! {
            "ok": 1, "n": &odd, "nModified": &odd, "writeErrors": [&write_error],
            "upserted": [&odd, { "index": 99, "_id": 1 }, &upserted],
        };
        let (_server, things) = server(reply).await;
        let update = || doc! { "$set": { "a": 1 } };
        let error = things
            .update_one(doc! {}, update())
            .await
            .expect_err("a write error");
        assert!(error.is_duplicate_key(), "{odd}: {error:?}");
        let models = [1, 2].map(|_| WriteModel::update_one(doc! {}, update()));
        let error = things.bulk_write(models).await.expect_err("a write error");
        let ErrorKind::BulkWrite(failures) = error.kind() else {
            panic!("{odd}: {error:?}");
        };
        assert_eq!(failures.write_errors[0].code, 11000);
        // An upsert that can be read is reported.
        assert_eq!(failures.upserted_ids[&1], Bson::from(7), "{odd}: {error:?}");
        assert_eq!(failures.modified_count, 0);
    }
    // The counts are required if the list of errors is empty.
    let reply = doc! { "ok": 1, "writeErrors": [] };
    let (_server, things) = server(reply.clone()).await;
    let inserted = things.insert_many(&[doc! {}]).await;
    assert_invalid(&inserted.expect_err("no count"), &reply);
}

#[tokio::test]
async fn the_error_of_a_single_write_needs_no_index() {
    for index in [Bson::Null, Bson::from(-1), Bson::from(99)] {
        let write_error = doc! { "index": index, "code": 11000, "errmsg": "duplicate" };
        let (_server, things) = server(doc! { "ok": 1, "writeErrors": [write_error] }).await;
        let error = things
            .find_one_and_delete(doc! {})
            .await
            .expect_err("a write error");
        assert!(error.is_duplicate_key(), "{error:?}");
    }
}

#[tokio::test]
async fn counts_that_cannot_be_read_do_not_hide_the_error_of_a_client_bulk_write() {
    for odd in [Bson::from("text"), Bson::from(-1), Bson::Null] {
        let row = doc! {
            "ok": 0, "idx": 0, "code": 11000, "errmsg": "duplicate", "n": &odd, "nModified": &odd,
        };
        let reply = bulk_reply(doc! { "nErrors": 1, "nInserted": 0 }, row);
        let (_server, things) = server(reply).await;
        let client = things.database().client();
        let written = client.bulk_write([things.insert_one_model(&doc! {})]).await;
        let error = written.expect_err("a write error");
        let ErrorKind::ClientBulkWrite(bulk) = error.kind() else {
            panic!("{odd}: {error:?}");
        };
        assert_eq!(bulk.write_errors[0].code, 11000, "{error:?}");
        assert!(bulk.error.is_none(), "{error:?}");
    }
}

#[tokio::test]
async fn a_write_concern_error_of_another_command_is_reported_without_its_details() {
    let concern = doc! { "code": 64, "codeName": "WriteConcernFailed", "errmsg": "late", "errInfo": 1 };
    let (_server, things) = server(doc! { "ok": 1, "writeConcernError": concern }).await;
    let error = things.drop().await.expect_err("a write concern error");
    assert_eq!(error.code(), Some(64), "{error:?}");
}

/// The reply to bulkWrite with these counts and results.
fn bulk_reply(counts: Document, row: Document) -> Document {
    let mut reply = doc! {
        "ok": 1, "cursor": { "id": 0_i64, "ns": "admin.$cmd.bulkWrite", "firstBatch": [row] },
        "nErrors": 0, "nInserted": 1, "nMatched": 0, "nModified": 0, "nUpserted": 0, "nDeleted": 0,
    };
    for (name, value) in counts {
        match value {
            Bson::Undefined => drop(reply.remove(name)),
            value => drop(reply.insert(name, value)),
        }
    }
    reply
}

#[tokio::test]
async fn counts_of_a_client_bulk_write_that_cannot_be_read_are_errors() {
    let done = doc! { "ok": 1, "idx": 0, "n": 1 };
    for odd in [
        Bson::Undefined,
        Bson::Null,
        Bson::from(-1),
        Bson::from(0.5),
        Bson::from("1"),
    ] {
        for name in ["nInserted", "nMatched", "nModified", "nUpserted", "nDeleted"] {
            let reply = bulk_reply(doc! { name: &odd }, done.clone());
            let (_server, things) = server(reply.clone()).await;
            let client = things.database().client();
            let written = client.bulk_write([things.insert_one_model(&doc! {})]).await;
            let error = written.expect_err("a count cannot be read");
            assert_invalid(&error, &reply);
        }
        let mut row = doc! { "ok": 1, "idx": 0, "n": &odd };
        if odd == Bson::Undefined {
            row.remove("n");
        }
        let reply = bulk_reply(doc! {}, row);
        let (_server, things) = server(reply.clone()).await;
        let client = things.database().client();
        let written = client
            .bulk_write([things.insert_one_model(&doc! {})])
            .verbose_results(true)
            .await;
        let error = written.expect_err("a count cannot be read");
        let ErrorKind::ClientBulkWrite(bulk) = error.kind() else {
            panic!("{error:?}");
        };
        assert_invalid(bulk.error.as_ref().expect("the cause"), &reply);
    }
    let reply = bulk_reply(doc! { "nErrors": Bson::Undefined }, done);
    let (_server, things) = server(reply).await;
    let client = things.database().client();
    let written = client.bulk_write([things.insert_one_model(&doc! {})]).await;
    assert_eq!(written.expect("a result").inserted_count, 1);
}

#[tokio::test]
async fn sums_of_counts_do_not_overflow() {
    let server = ScriptedServer::start(doc! { "maxWriteBatchSize": 1 }, |request| match request.name() {
        "delete" => Answer::Reply(doc! { "ok": 1, "n": i64::MAX }),
        _ => Answer::Success,
    })
    .await;
    let client = Client::connect(server.uri("retryWrites=false"))
        .await
        .expect("a client");
    let things = client.database("d").collection::<Document>("c");
    let deletes = (0..3).map(|_| WriteModel::delete_many(doc! {}));
    let written = things.bulk_write(deletes.collect::<Vec<_>>()).await;
    assert_eq!(written.expect("a result").deleted_count, u64::MAX);
}

/// An index as old servers and shells have stored it.
fn old_index() -> Document {
    let decimal = |text: &str| text.parse::<Decimal128>().expect("a number");
    doc! {
        "v": 2.0, "key": { "a": 1.0 }, "name": "a_1", "sparse": 1, "unique": decimal("1"), "hidden": null,
        "prepareUnique": true, "ns": "d.c", "background": true,
        "textIndexVersion": 3_i64, "expireAfterSeconds": f64::NAN, "bits": "26",
        "partialFilterExpression": { "a": { "$gt": { "$date": 5 } } },
        "collation": { "locale": "en", "strength": decimal("2"), "caseLevel": 0, "version": "57.1" },
    }
}

#[tokio::test]
async fn indexes_with_options_of_other_types_are_listed() {
    let server = ScriptedServer::start(doc! {}, |request| match request.name() {
        "listIndexes" => first_batch(
            0,
            vec![
                old_index().into(),
                doc! { "v": 2, "key": { "_id": 1 }, "name": "_id_" }.into(),
            ],
        ),
        _ => Answer::Success,
    })
    .await;
    let client = Client::connect(server.uri("")).await.expect("a client");
    let things = client.database("d").collection::<Document>("c");
    let listed = things.list_indexes().await.expect("a cursor");
    let listed: Vec<IndexModel> = listed.try_collect().await.expect("two indexes");
    let [old, id] = &listed[..] else {
        panic!("{listed:?}");
    };
    let options = &old.options;
    assert_eq!(old.keys, doc! { "a": 1.0 });
    assert_eq!(
        (options.sparse, options.unique, options.hidden),
        (Some(true), Some(true), None)
    );
    assert_eq!((options.version, options.text_index_version), (Some(2), Some(3)));
    let mut collation = Collation::new("en").with_strength(2);
    collation.case_level = Some(false);
    assert_eq!(options.collation, Some(collation));
    assert_eq!(
        options.partial_filter_expression,
        Some(doc! { "a": { "$gt": { "$date": 5 } } })
    );
    // Options that cannot be used are kept.
    assert_eq!((options.bits, options.expire_after), (None, None));
    assert_eq!(options.other.get_str("bits").ok(), Some("26"));
    assert!(
        options
            .other
            .get_f64("expireAfterSeconds")
            .expect("a number")
            .is_nan()
    );
    assert_eq!(options.other.get_bool("prepareUnique").ok(), Some(true));
    assert_eq!(options.other.len(), 3, "{:?}", options.other);
    assert_eq!(
        (&id.options.name, id.options.other.len()),
        (&Some("_id_".into()), 0)
    );
    assert_eq!(things.list_index_names().await.expect("names"), ["a_1", "_id_"],);
    // The options are sent as they are stored.
    things.create_index(old.clone()).await.expect("an index");
    let sent = server.requests().pop().expect("a command");
    let sent = sent.command.get_array("indexes").expect("indexes")[0].clone();
    let sent = sent.as_document().expect("a document");
    assert_eq!(
        (sent.get_bool("sparse").ok(), sent.get_str("bits").ok()),
        (Some(true), Some("26"))
    );
    assert_eq!(
        sent.get_document("partialFilterExpression").expect("a filter"),
        &doc! { "a": { "$gt": { "$date": 5 } } }
    );
}

#[tokio::test]
async fn an_index_without_a_key_is_named() {
    let reply = doc! {
        "ok": 1, "cursor": { "id": 0_i64, "ns": "d.c", "firstBatch": [{ "v": 2, "name": "broken" }, { "key": { "a": 1 } }] },
    };
    let (_server, things) = server(reply.clone()).await;
    let listed = things.list_indexes().await.expect("a cursor");
    let error = listed.try_collect().await.expect_err("an index has no key");
    assert!(error.to_string().contains("\"broken\""), "{error}");
    let names = things.list_index_names().await;
    let error = names.expect_err("an index has no name");
    assert_invalid(&error, &reply);
}

#[tokio::test]
async fn collections_and_databases_with_fields_of_other_types_are_listed() {
    let validator = doc! { "validator": { "at": { "$gt": { "$date": "2020" } } } };
    let collections = vec![
        doc! { "name": "a", "type": "collection", "options": &validator, "info": { "uuid": 1 } }.into(),
        doc! { "name": "b", "type": 1, "options": null, "info": [], "idIndex": "_id_" }.into(),
    ];
    let databases = doc! {
        "ok": 1, "databases": [
            { "name": "a", "sizeOnDisk": 1500.5, "empty": 0 },
            { "name": "b", "sizeOnDisk": "large", "empty": null },
        ],
    };
    let server = ScriptedServer::start(doc! {}, move |request| match request.name() {
        "listCollections" => first_batch(0, collections.clone()),
        "listDatabases" => Answer::Reply(databases.clone()),
        _ => Answer::Success,
    })
    .await;
    let client = Client::connect(server.uri("")).await.expect("a client");
    let database = client.database("d");
    let listed = database.list_collections().await.expect("a cursor");
    let listed: Vec<_> = listed.try_collect().await.expect("two collections");
    assert_eq!(listed[0].options, validator);
    assert_eq!(
        (
            listed[1].name.as_str(),
            listed[1].kind.as_str(),
            &listed[1].id_index
        ),
        ("b", "", &None)
    );
    assert_eq!(database.list_collection_names().await.expect("names"), ["a", "b"]);
    let listed = client.list_databases().await.expect("two databases");
    assert_eq!((listed[0].size_on_disk, listed[0].empty), (1500, false));
    assert_eq!((listed[1].size_on_disk, listed[1].empty), (0, false));
    assert_eq!(client.list_database_names().await.expect("names"), ["a", "b"]);
}

#[tokio::test]
async fn the_id_of_an_upsert_is_the_stored_one() {
    let id = doc! { "$uuid": 1 };
    let reply = doc! { "ok": 1, "n": 1, "nModified": 0, "upserted": [{ "index": 0, "_id": &id }] };
    let (_server, things) = server(reply).await;
    let update = things.update_one(doc! {}, doc! { "$set": { "a": 1 } });
    let updated = update.upsert(true).await.expect("a result");
    assert_eq!(updated.upserted_id, Some(Bson::from(id)));
}

#[tokio::test]
async fn distinct_returns_the_stored_values() {
    let values = vec![
        Bson::from(doc! { "$date": 5 }),
        Bson::from(DateTime::from_millis(5)),
        Bson::from(vec![doc! { "$oid": "x" }]),
    ];
    let (_server, things) = server(doc! { "ok": 1, "values": &values }).await;
    assert_eq!(things.distinct("a", doc! {}).await.expect("values"), values);
    let reply = doc! { "ok": 1, "values": { "a": 1 } };
    let (_server, things) = server(reply.clone()).await;
    let error = things.distinct("a", doc! {}).await.expect_err("no array");
    assert_invalid(&error, &reply);
}

/// The indexes are created in any case.
#[tokio::test]
async fn search_indexes_without_a_name_in_the_reply_have_the_requested_one() {
    for (created, expected) in [
        (
            Bson::from(vec![doc! { "name": "x" }, doc! { "name": 7 }]),
            ["x", "b", "default"],
        ),
        (Bson::from(vec![7]), ["a", "b", "default"]),
        (Bson::from("x"), ["a", "b", "default"]),
    ] {
        let (_server, things) = server(doc! { "ok": 1, "indexesCreated": created }).await;
        let model = SearchIndexModel::new(doc! {});
        let models = [model.clone().name("a"), model.clone().name("b"), model];
        let names = things.create_search_indexes(models).await;
        assert_eq!(names.expect("created"), expected);
    }
}
