//! The analysis of commands by mongocryptd, and the options of automatic encryption.

use std::time::Duration;

use marula_driver::{
    Client, EncryptionError, ErrorKind,
    bson::{Binary, BinarySubtype, Uuid, doc},
    encryption::AutoEncryptionOptions,
};
use marula_driver_tests::{QueryAnalysis, read_request, reply_to};
use tokio::{io::AsyncWriteExt, net::TcpStream};

use super::automatic::{Automatic, local, patients, take};

/// Prose test 8: with `mongocryptdBypassSpawn`, an unreachable mongocryptd is an error of server selection.
pub(crate) async fn client_side_encryption_prose_8_mongocryptd_is_not_started_if_bypassed() {
    let automatic = Automatic::new().await;
    let encryption = automatic.encryption().extra_options(doc! {
        "mongocryptdURI": "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=50", "mongocryptdBypassSpawn": true,
        "mongocryptdSpawnPath": "/nonexistent",
    });
    let (client, _sent) = automatic.client_with("", encryption);
    let error = patients(&client)
        .insert_one(&doc! { "ssn": "x" })
        .await
        .expect_err("no mongocryptd");
    let ErrorKind::Encryption(EncryptionError::QueryAnalysis {
        cause: Some(cause), ..
    }) = error.kind()
    else {
        panic!("{error:?}")
    };
    assert!(matches!(cause.kind(), ErrorKind::ServerSelection(_)), "{cause:?}");
    // With a bypass of the analysis or of the encryption it is not needed, and not started.
    let files = marula_driver_tests::tls::Files::new();
    let started = files.write("started", "");
    for bypass_encryption in [false, true] {
        let encryption = automatic
            .encryption()
            .bypass_query_analysis(!bypass_encryption)
            .bypass_auto_encryption(bypass_encryption)
            .extra_options(doc! {
                "mongocryptdURI": "mongodb://127.0.0.1:1", "mongocryptdSpawnPath": "/bin/sh",
                "mongocryptdSpawnArgs": ["-c", format!("echo started > {started}")],
            });
        let (client, _sent) = automatic.client_with("", encryption);
        patients(&client)
            .insert_one(&doc! { "name": "x" })
            .await
            .expect("an insert");
    }
    assert_eq!(std::fs::read_to_string(&started).expect("a text"), "");
    // A program that does not exist. With a time limit, the error of server selection is the cause of a timeout.
    for (options, selection, is_timeout) in [
        ("", "50", false),
        ("timeoutMS=20000", "50", false),
        ("timeoutMS=1000", "10000", true),
    ] {
        let encryption = automatic.encryption().extra_options(doc! {
            "mongocryptdURI": format!("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS={selection}"),
            "mongocryptdSpawnPath": "/nonexistent",
        });
        let (client, _sent) = automatic.client_with(options, encryption);
        // Connects.
        let admin = client.database("admin");
        let ping = admin.run_command(doc! { "ping": 1 });
        ping.timeout(Duration::ZERO).await.expect("a reply");
        let error = patients(&client)
            .insert_one(&doc! { "ssn": "x" })
            .await
            .expect_err("no program");
        assert!(format!("{error:#}").contains("cannot be started"), "{error:#}");
        assert_eq!(error.is_timeout(), is_timeout, "{error:?}");
    }
}

/// A namespace that libmongocrypt would never look up, so that values were sent without encryption.
pub(crate) async fn maps_require_namespaces() {
    let automatic = Automatic::new().await;
    for encryption in [
        automatic.encryption().schema("patients", automatic.schema()),
        automatic
            .encryption()
            .encrypted_fields("patients", doc! { "fields": [] }),
    ] {
        let error =
            Client::with_auto_encryption(automatic.options(""), encryption).expect_err("no namespace");
        assert!(matches!(error.kind(), ErrorKind::InvalidArgument(_)), "{error:?}");
        assert!(error.to_string().contains("\"patients\""), "{error}");
    }
}

#[cfg(unix)]
pub(crate) async fn mongocryptd_is_started_with_its_arguments() {
    let automatic = Automatic::new().await;
    let files = marula_driver_tests::tls::Files::new();
    let pipe = files.write("unused", "").replace("unused", "pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .expect("mkfifo");
    assert!(made.success());
    // The shell writes its further arguments to the pipe.
    let script = format!("echo \"$0 $1 $2\" > {pipe}");
    let encryption = automatic.encryption().extra_options(doc! {
        "mongocryptdURI": automatic.analysis.uri(), "mongocryptdSpawnPath": "/bin/sh",
        "mongocryptdSpawnArgs": ["-c", script, "--maxConns", 100],
    });
    let (client, _sent) = automatic.client_with("", encryption);
    // Returns when the program has written and closed the pipe.
    let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(pipe)).await;
    let written = read.expect("a reader").expect("a text");
    assert_eq!(written.trim(), "--maxConns 100 --idleShutdownTimeoutSecs=60");
    patients(&client)
        .insert_one(&doc! { "ssn": "x" })
        .await
        .expect("an insert");
}

/// Its program ends at once, so that all operations find no server.
#[cfg(unix)]
pub(crate) async fn operations_at_the_same_time_start_one_mongocryptd() {
    let automatic = Automatic::new().await;
    let files = marula_driver_tests::tls::Files::new();
    let starts = files.write("starts", "");
    let script = format!("echo start >> {starts}");
    let encryption = automatic.encryption().extra_options(doc! {
        "mongocryptdURI": "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=1000", "mongocryptdSpawnPath": "/bin/sh",
        "mongocryptdSpawnArgs": ["-c", script],
    });
    let (client, _sent) = automatic.client_with("", encryption);
    let patients = patients(&client);
    let inserts = (0..20).map(|id| {
        let patients = patients.clone();
        async move { patients.insert_one(&doc! { "_id": id, "ssn": "x" }).await }
    });
    for inserted in futures_util::future::join_all(inserts).await {
        let error = inserted.expect_err("no mongocryptd");
        assert!(
            matches!(
                error.kind(),
                ErrorKind::Encryption(EncryptionError::QueryAnalysis { .. })
            ),
            "{error:?}"
        );
    }
    // With the client, and after the first selection.
    let starts = std::fs::read_to_string(starts).expect("a text");
    assert_eq!(starts.lines().count(), 2, "{starts}");
}

#[cfg(not(unix))]
pub(crate) async fn operations_at_the_same_time_start_one_mongocryptd() {}

#[cfg(not(unix))]
pub(crate) async fn mongocryptd_is_started_with_its_arguments() {
    let automatic = Automatic::new().await;
    let encryption = automatic.encryption().extra_options(doc! {
        "mongocryptdURI": automatic.analysis.uri(), "mongocryptdSpawnPath": "cmd", "mongocryptdSpawnArgs": ["/C", "exit"],
    });
    let (client, _sent) = automatic.client_with("", encryption);
    patients(&client)
        .insert_one(&doc! { "ssn": "x" })
        .await
        .expect("an insert");
}

pub(crate) async fn errors_of_the_analysis_leave_the_connection_usable() {
    let automatic = Automatic::new().await;
    let (client, sent) = automatic.client("maxPoolSize=1");
    let patients = patients(&client);
    patients
        .insert_one(&doc! { "_id": 1, "ssn": "x" })
        .await
        .expect("an insert");
    take(&sent);
    for _ in 0..3 {
        let error = patients
            .find_one(doc! { "note": "x" })
            .await
            .expect_err("a random field");
        assert!(
            matches!(
                error.kind(),
                ErrorKind::Encryption(EncryptionError::QueryAnalysis { .. })
            ),
            "{error:?}"
        );
        assert!(error.to_string().contains("randomized encryption"), "{error}");
    }
    assert!(take(&sent).is_empty(), "nothing was sent, and nothing retried");
    // A command that is not supported.
    let database = client.database("hospital");
    let error = database
        .run_command(doc! { "logRotate": 1 })
        .await
        .expect_err("not supported");
    assert!(
        error.to_string().contains("not supported for auto encryption"),
        "{error}"
    );
    // A key that does not exist.
    let value = Binary {
        subtype: BinarySubtype::Encrypted,
        bytes: [vec![1], vec![9; 16], vec![2], vec![0; 80]].concat(),
    };
    automatic
        .stored()
        .insert_one(&doc! { "_id": 2, "ssn": value })
        .await
        .expect("an insert");
    let error = patients.find_one(doc! { "_id": 2 }).await.expect_err("no key");
    assert!(matches!(error.kind(), ErrorKind::Encryption(_)), "{error:?}");
    assert!(
        patients
            .find_one(doc! { "_id": 1 })
            .await
            .expect("a find")
            .is_some()
    );
}

pub(crate) async fn invalid_options_are_rejected() {
    let automatic = Automatic::new().await;
    let create = |encryption| Client::with_auto_encryption(automatic.options(""), encryption);
    let error = create(
        automatic
            .encryption()
            .extra_options(doc! { "mongocryptdUri": "x" }),
    )
    .expect_err("unknown");
    assert!(error.to_string().contains("mongocryptdUri"), "{error}");
    let required = doc! { "cryptSharedLibRequired": true, "mongocryptdBypassSpawn": true };
    let error = create(automatic.encryption().extra_options(required)).expect_err("no crypt_shared");
    assert!(error.to_string().contains("crypt_shared"), "{error}");
    let required = || {
        automatic
            .encryption()
            .extra_options(doc! { "cryptSharedLibRequired": true })
    };
    // Nothing is analyzed, so it is not loaded.
    for bypassing in [
        required().bypass_query_analysis(true),
        required().bypass_auto_encryption(true),
    ] {
        let error = create(bypassing).expect_err("no crypt_shared");
        assert!(error.to_string().contains("not analyzed"), "{error}");
    }
    let with_path = || {
        let path = doc! { "cryptSharedLibPath": "/nonexistent/mongo_crypt_v1.so" };
        automatic.encryption().extra_options(path)
    };
    for encryption in [with_path(), with_path().bypass_auto_encryption(true)] {
        let error = create(encryption).map(|_| ()).expect_err("no file");
        assert!(
            error.to_string().contains("/nonexistent/mongo_crypt_v1.so"),
            "{error}"
        );
    }
    let error = create(AutoEncryptionOptions::new("keys", local())).expect_err("no database");
    assert!(error.to_string().contains("database.collection"), "{error}");
    let both = automatic
        .encryption()
        .encrypted_fields("hospital.patients", doc! { "fields": [] });
    let error = create(both).expect_err("two schemas");
    assert!(error.to_string().contains("hospital.patients"), "{error}");
}

/// Drivers that leave `lsid` in the command that is analyzed, such as pymongo, send the analyzed command, with a transaction number.
pub(crate) async fn the_stand_in_keeps_the_session_of_a_command() {
    let analysis = QueryAnalysis::start().await;
    let address = analysis.uri().replace("mongodb://", "");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let id = Uuid::new();
    let command = doc! {
        "insert": "things", "documents": [{ "_id": 1 }], "lsid": { "id": id }, "txnNumber": 1_i64, "jsonSchema": {},
        "isRemoteSchema": true, "$db": "db",
    };
    stream.write_all(&reply_to(0, &command)).await.expect("a request");
    let (_, reply) = read_request(&mut stream).await.expect("a reply");
    let result = reply.get_document("result").expect("a command");
    assert_eq!(result.get("lsid"), Some(&doc! { "id": id }.into()), "{result}");
    assert_eq!(result.get("txnNumber"), Some(&1_i64.into()));
    assert!(!result.contains_key("jsonSchema") && !result.contains_key("$db"));
}
