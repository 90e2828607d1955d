//! The library `crypt_shared`, which analyzes commands in the process of the client. A stand-in is loaded: an example of
//! `marula-mongocrypt` around the analysis of the tests.

use std::{future::IntoFuture, net::Ipv4Addr};

use marula_driver::{
    Client, EncryptionError, Error, ErrorKind, WriteModel,
    bson::{Bson, Document, doc},
};
use marula_driver_tests::{ClosedPort, crypt_shared, tls::Files};
use tokio::net::{TcpListener, TcpStream};

use super::{
    automatic::{Automatic, patients, take},
    required,
};

/// The first part of the names of the tests that run in a process of their own.
pub(crate) const PREFIX: &str = "crypt_shared::";

/// Options with the library, and others.
fn with_library(others: Document) -> Document {
    let mut options = crypt_shared::extra_options();
    options.extend(others);
    options
}

/// The message of an error of the analysis by the library.
fn message_of(error: &Error) -> &str {
    let ErrorKind::Encryption(EncryptionError::QueryAnalysis { message, cause: None }) = error.kind() else {
        panic!("{error:?}");
    };
    message
}

/// Case 1, "Via loading shared library".
pub(crate) async fn client_side_encryption_prose_8_mongocryptd_is_not_started_if_crypt_shared_is_loaded() {
    let automatic = Automatic::new().await;
    let files = Files::new();
    let started = files.write("started", "");
    let closed = ClosedPort::new();
    let port = closed.address().port();
    let uri = format!("mongodb://localhost:{port}/?serverSelectionTimeoutMS=1000");
    let script = format!("echo started > {started}");
    let encryption = automatic.encryption().extra_options(with_library(doc! {
        "mongocryptdURI": &uri,
        "mongocryptdSpawnPath": "/bin/sh",
        "mongocryptdSpawnArgs": [
            "-c", script, "--pidfilepath=bypass-spawning-mongocryptd.pid", format!("--port={port}"),
        ],
    }));
    let (client, _sent) = automatic.client_with("", encryption);
    patients(&client)
        .insert_one(&doc! { "unencrypted": "test" })
        .await
        .expect("an insert");
    let mongocryptd = Client::connect(uri).await.expect("a client");
    let error = mongocryptd
        .database("db")
        .run_command(doc! { "hello": 1 })
        .await
        .expect_err("no mongocryptd");
    assert!(matches!(error.kind(), ErrorKind::ServerSelection(_)), "{error:?}");
    assert_eq!(std::fs::read_to_string(started).expect("a text"), "");
}

pub(crate) async fn client_side_encryption_prose_20_mongocryptd_is_not_connected_if_crypt_shared_is_loaded() {
    let automatic = Automatic::new().await;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let encryption = automatic.encryption().extra_options(with_library(doc! {
        "mongocryptdURI": format!("mongodb://localhost:{}/?serverSelectionTimeoutMS=1000", address.port()),
    }));
    let (client, _sent) = automatic.client_with("", encryption);
    patients(&client)
        .insert_one(&doc! { "unencrypted": "test" })
        .await
        .expect("an insert");
    client.shutdown().await;
    // The connection of the test is the first one.
    let own = TcpStream::connect(address).await.expect("a connection");
    let (_, first) = listener.accept().await.expect("a connection");
    assert_eq!(first, own.local_addr().expect("an address"));
}

/// More than 16 MiB of documents whose values are marked, in several commands.
pub(crate) async fn many_values_are_marked() {
    const COUNT: i32 = 4000;

    let automatic = Automatic::new().await;
    let (client, sent) = automatic.client("");
    let patients = patients(&client);
    let text = "zq".repeat(1000);
    let document = |id: i32| doc! { "_id": id, "ssn": format!("number {id}"), "note": &text };
    let documents: Vec<Document> = (0..COUNT).map(document).collect();
    let inserted = patients.insert_many(&documents).await.expect("inserts");
    assert_eq!(inserted.inserted_ids.len(), documents.len());
    let models = (COUNT..COUNT + 500).map(|id| WriteModel::insert_one(&document(id)));
    let result = patients.bulk_write(models).await.expect("a bulk write");
    assert_eq!(result.inserted_count, 500);
    let numbers: Vec<String> = (0..COUNT).map(|id| format!("number {id}")).collect();
    let filter = doc! { "ssn": { "$in": numbers } };
    let found = patients
        .find(filter)
        .sort(doc! { "_id": 1 })
        .await
        .expect("a cursor");
    assert_eq!(found.try_collect().await.expect("documents"), documents);
    let mut stored = automatic.stored().find(doc! {}).await.expect("a cursor");
    while let Some(document) = stored.try_next().await.expect("a document") {
        for field in ["ssn", "note"] {
            assert!(matches!(document.get(field), Some(Bson::Binary(_))), "{document}");
        }
    }
    assert!(!format!("{:?}", take(&sent)).contains(&text));
}

pub(crate) async fn errors_of_the_analysis_are_typed() {
    let automatic = Automatic::new().await;
    let (client, sent) = automatic.client("maxPoolSize=1");
    let patients = patients(&client);
    let error = patients
        .find_one(doc! { "note": "x" })
        .await
        .expect_err("a random field");
    let message = message_of(&error);
    assert!(
        message.contains("randomized encryption") && message.contains("51092"),
        "{message}"
    );
    let error = patients
        .update_one(doc! {}, doc! { "$inc": { "ssn": 1 } })
        .await
        .expect_err("an operator");
    assert!(message_of(&error).contains("$inc"), "{error}");
    let error = patients
        .insert_one(&doc! { "ssn": 7 })
        .await
        .expect_err("a number");
    assert!(
        message_of(&error).contains("Cannot encrypt element of type: int"),
        "{error}"
    );
    let error = patients.watch().await.map(drop).expect_err("a change stream");
    assert!(message_of(&error).contains("$changeStream"), "{error}");
    assert!(
        !error.is_network() && !error.is_unavailable() && !error.is_timeout(),
        "{error:?}"
    );
    assert!(take(&sent).is_empty(), "nothing was sent");
    patients
        .insert_one(&doc! { "_id": 1, "ssn": "x" })
        .await
        .expect("an insert");
}

pub(crate) async fn a_panic_of_the_analysis_is_an_error() {
    let automatic = Automatic::new().await;
    let (client, sent) = automatic.client("");
    let patients = patients(&client);
    for _ in 0..3 {
        let error = patients
            .find_one(doc! { "ssn": "x" })
            .comment("crypt_shared: panic")
            .await
            .expect_err("a panic");
        assert!(message_of(&error).contains("panicked"), "{error}");
    }
    assert!(take(&sent).is_empty(), "nothing was sent");
    patients
        .insert_one(&doc! { "_id": 1, "ssn": "x" })
        .await
        .expect("an insert");
    let found = patients.find_one(doc! { "ssn": "x" }).await.expect("a find");
    assert!(found.is_some());
}

/// In a runtime of one thread, an analysis lasts until another task ends it: with a schema in the options, and with one that is
/// read from the server.
pub(crate) async fn the_analysis_of_a_large_command_does_not_block_the_runtime() {
    let automatic = Automatic::new().await;
    let files = Files::new();
    for (number, encryption) in [automatic.encryption(), automatic.encryption_by_server()]
        .into_iter()
        .enumerate()
    {
        let path = files.write("unused", "").replace("unused", &format!("{number}"));
        let (client, _sent) = automatic.client_with("", encryption);
        let document = doc! { "ssn": "x".repeat(100_000) };
        let comment = format!("crypt_shared: wait: {path}");
        let patients = patients(&client);
        let insert = patients.insert_one(&document).comment(comment).into_future();
        let end = async {
            // The analysis creates the file, and lasts until it is deleted.
            while std::fs::remove_file(&path).is_err() {
                tokio::task::yield_now().await;
            }
        };
        let (inserted, ()) = tokio::join!(insert, end);
        inserted.expect("an insert");
    }
}

/// MongoDB's library repeats values of the command in some messages.
pub(crate) async fn messages_of_the_analysis_have_no_values() {
    let automatic = Automatic::new().await;
    let (client, _sent) = automatic.client("");
    for (message, shown) in [
        (
            "unknown operator: { ssn: \"457-55\" }",
            "unknown operator: (not shown)",
        ),
        ("expected \"457-55\" in ssn", "expected (not shown) in ssn"),
        (
            "the value 45755.5 is too large",
            "the value (not shown) is too large",
        ),
        ("[Error 45755] failed: \"457-55\"", "(not shown)"),
    ] {
        let error = patients(&client)
            .find_one(doc! { "ssn": "457-55" })
            .comment(format!("crypt_shared: fail: {message}"))
            .await
            .expect_err("an error");
        let shown = format!("failed: {shown} [Error 2, code 2]");
        assert!(message_of(&error).contains(&shown), "{error}");
        for text in [format!("{error:#}"), format!("{error:?}")] {
            assert!(!text.contains("457"), "{text}");
        }
    }
}

pub(crate) async fn malformed_commands_are_errors() {
    let automatic = Automatic::new().await;
    let schema = doc! { "properties": { "a": { "encrypt": 7 } } };
    let encryption = automatic.encryption().schema("hospital.broken", schema);
    let (client, sent) = automatic.client_with("", encryption);
    let database = client.database("hospital");
    for command in [
        doc! { "find": 7 },
        doc! { "find": "broken", "filter": {} },
        doc! { "aggregate": "patients", "pipeline": [{ "$lookup": 7 }, { "$match": { "note": { "$gt": 7 } } }], "cursor": {} },
        doc! { "insert": "patients", "documents": [{ "ssn": { "$ref": 7 } }] },
        doc! { "bulkWrite": 1, "ops": [{ "insert": 0 }], "nsInfo": [] },
        doc! { "explain": { "find": "patients", "filter": { "note": "x" } } },
    ] {
        let error = database
            .run_command(command.clone())
            .await
            .expect_err("malformed");
        assert!(
            matches!(error.kind(), ErrorKind::Encryption(_)),
            "{command}: {error:?}"
        );
    }
    assert!(take(&sent).iter().all(|(name, _)| name == "listCollections"));
    let found = patients(&client).find_one(doc! { "ssn": "x" }).await;
    assert_eq!(found.expect("a find"), None);
}

/// libmongocrypt accepts one library for all clients of a process at the same time.
pub(crate) async fn clients_of_a_process_share_the_library() {
    let automatic = Automatic::new().await;
    let create = |extra: Document| {
        let encryption = automatic.encryption_by_server().extra_options(extra);
        Client::with_auto_encryption(automatic.options(""), encryption)
    };
    let files = Files::new();
    let copy = files.write("copy", "");
    std::fs::copy(crypt_shared::path(), &copy).expect("a copy");
    let of_copy = || doc! { "cryptSharedLibPath": &copy };
    let first = create(crypt_shared::extra_options()).expect("a client");
    let second = create(crypt_shared::extra_options()).expect("a client");
    for (extra, expected) in [
        (
            doc! { "mongocryptdURI": automatic.analysis.uri() },
            "existing crypt_shared",
        ),
        (of_copy(), "second crypt_shared"),
    ] {
        let error = create(extra).expect_err("another library");
        assert!(matches!(error.kind(), ErrorKind::Encryption(_)), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(expected), "{text}");
    }
    for client in [first, second] {
        patients(&client)
            .insert_one(&doc! { "name": "x" })
            .await
            .expect("an insert");
        client.shutdown().await;
    }
}

pub(crate) async fn the_library_is_not_loaded_if_nothing_is_analyzed() {
    let automatic = Automatic::new().await;
    let encryption = || {
        automatic
            .encryption()
            .extra_options(crypt_shared::extra_options())
    };
    let bypassing = encryption().bypass_query_analysis(true);
    let error = Client::with_auto_encryption(automatic.options(""), bypassing).expect_err("not loaded");
    assert!(error.to_string().contains("not analyzed"), "{error}");
    // With the path, it is loaded though only replies are decrypted.
    let (client, _sent) = automatic.client_with("", encryption().bypass_auto_encryption(true));
    patients(&client)
        .insert_one(&doc! { "name": "x" })
        .await
        .expect("an insert");
}

pub(crate) async fn files_that_are_no_crypt_shared_are_errors() {
    let automatic = Automatic::new().await;
    let files = Files::new();
    let text = files.write("mongo_crypt_v1.so", "not a library");
    let program = std::env::current_exe().expect("a path");
    let missing = "/nonexistent/mongo_crypt_v1.so";
    let mut paths = vec![missing, &text, program.to_str().expect("a path in UTF-8")];
    let mongocrypt = std::env::var("MONGOCRYPT_LIB_PATH").ok();
    paths.extend(mongocrypt.as_deref());
    for path in paths {
        for is_required in [false, true] {
            let extra = doc! { "cryptSharedLibPath": path, "cryptSharedLibRequired": is_required };
            let encryption = automatic.encryption().extra_options(extra);
            let error = Client::with_auto_encryption(automatic.options(""), encryption).expect_err(path);
            assert!(matches!(error.kind(), ErrorKind::Encryption(_)), "{error:?}");
            assert!(error.to_string().contains(path), "{error}");
        }
    }
}

/// What the client reads of a collection is kept also if the command for which it is read fails.
pub(crate) async fn a_rejected_command_does_not_lose_what_was_read_of_the_collection() {
    let automatic = required::automatic().await;
    let plain = automatic.setup.client().database("db");
    plain
        .create_collection("accounts")
        .encrypted_fields(required::encrypted_fields(automatic.key))
        .await
        .expect("a collection");
    let (client, _sent) = automatic.client_with("", automatic.encryption_by_server());
    let accounts = client.database("db").collection::<Document>("accounts");
    client.require_encrypted_fields(accounts.namespace(), &["name".to_owned()], "the test");
    let rejected = accounts.find_one(doc! { "name": { "$regex": "x" } }).await;
    assert!(message_of(&rejected.expect_err("an operator")).contains("$regex"));
    let found = accounts
        .find_one(doc! {})
        .await
        .expect("a collection with encrypted fields");
    assert_eq!(found, None);
}

/// The time limit of an operation ends the wait for an analysis.
pub(crate) async fn the_analysis_of_a_large_command_has_a_time_limit() {
    let automatic = Automatic::new().await;
    let files = Files::new();
    let (client, sent) = automatic.client("");
    let path = files.write("unused", "").replace("unused", "waits");
    // Connects.
    let admin = client.database("admin");
    admin.run_command(doc! { "ping": 1 }).await.expect("a reply");
    take(&sent);
    let document = doc! { "ssn": "x".repeat(100_000) };
    let comment = format!("crypt_shared: wait: {path}");
    let patients = patients(&client);
    let inserted = patients
        .insert_one(&document)
        .comment(comment)
        .timeout(std::time::Duration::from_millis(1_500));
    let error = inserted.await.expect_err("the analysis does not end");
    assert!(error.is_timeout(), "{error:?}");
    assert!(
        format!("{error:#}").contains("while the command was analyzed"),
        "{error:#}"
    );
    assert!(take(&sent).is_empty());
    // The analysis created the file, and ends when it is deleted.
    std::fs::remove_file(path).expect("a file");
}
