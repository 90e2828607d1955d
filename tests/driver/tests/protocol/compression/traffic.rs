//! Which commands are compressed: all except handshakes, authentication and other sensitive
//! commands.

use marula_driver::{
    Client, ErrorKind, WriteModel,
    bson::{Document, doc},
    event::CommandEvent,
    options::{Acknowledgment, ClientOptions, Compressor, WriteConcern},
};
use marula_driver_tests::{CommandRecorder, tap::WireTap};
use marula_test_server::TestServer;

use crate::compression::{ALL, Tap, server, tapped};

/// Runs operations of several kinds on a new collection. Returns the documents that are left.
async fn work(client: &Client) -> Vec<Document> {
    let things = client.database("shop").collection::<Document>("things");
    things
        .insert_one(&doc! { "_id": 1, "text": "a".repeat(500) })
        .await
        .expect("a reply");
    let many: Vec<Document> = (2..=300).map(|n| doc! { "_id": n, "n": n % 7 }).collect();
    things.insert_many(&many).await.expect("a reply");
    things
        .update_many(doc! { "n": 3 }, doc! { "$inc": { "n": 10 } })
        .await
        .expect("a reply");
    things
        .replace_one(doc! { "_id": 2 }, &doc! { "replaced": true })
        .await
        .expect("a reply");
    things.delete_many(doc! { "n": 5 }).await.expect("a reply");
    things
        .bulk_write([
            WriteModel::insert_one(&doc! { "_id": 1_000 }),
            WriteModel::delete_one(doc! { "_id": 9 }),
        ])
        .await
        .expect("a reply");
    assert_eq!(
        things.count_documents(doc! { "n": 13 }).await.expect("a reply"),
        43
    );
    let refused = things
        .insert_one(&doc! { "_id": 1 })
        .await
        .expect_err("a duplicate");
    assert_eq!(refused.code(), Some(11000));
    things
        .find(doc! {})
        .sort(doc! { "_id": 1 })
        .batch_size(50)
        .await
        .expect("a reply")
        .try_collect()
        .await
        .expect("a reply")
}

#[tokio::test]
async fn all_operations_work_with_every_compressor() {
    let plain = tapped(server(), "").await;
    let expected = work(&plain.client).await;
    for (name, id) in ALL {
        let Tap { tap, client, _server } = tapped(server(), &format!("compressors={name}")).await;
        assert_eq!(work(&client).await, expected, "{name}");
        let commands = tap.take_commands();
        assert!(
            commands
                .iter()
                .filter(|command| command.command() == "getMore")
                .count()
                >= 4
        );
        for command in &commands {
            assert_eq!(command.compressor, Some(id), "{name}: {}", command.command());
        }
        let replies = tap.take_replies();
        let packed = replies
            .iter()
            .filter(|reply| reply.compressor == Some(id))
            .count();
        assert_eq!(packed, commands.len(), "{name}");
    }
}

#[tokio::test]
async fn compression_works_with_every_topology() {
    for builder in [
        TestServer::builder().replica_set(),
        TestServer::builder().sharded(),
        TestServer::builder().load_balanced(),
        TestServer::builder().version("4.2.0"),
    ] {
        let server = builder.start().await.expect("the server starts");
        let uri = server.uri();
        let joint = if uri.contains('?') { '&' } else { '?' };
        let client = Client::connect(format!("{uri}{joint}compressors=zstd,snappy"))
            .await
            .unwrap();
        assert!(work(&client).await.len() > 200);
    }
}

#[tokio::test]
async fn requests_through_a_load_balancer_are_compressed() {
    let server = TestServer::builder()
        .load_balanced()
        .start()
        .await
        .expect("the server starts");
    let uri = server.uri();
    let host = uri.trim_start_matches("mongodb://").split('/').next();
    let tap = WireTap::start(host.and_then(|host| host.parse().ok()).expect("an address")).await;
    let client = Client::connect(format!(
        "mongodb://{}/?loadBalanced=true&compressors=zlib",
        tap.address()
    ))
    .await
    .unwrap();
    work(&client).await;
    let commands = tap.take_commands();
    assert!(commands.len() > 10 && commands.iter().all(|command| command.compressor == Some(2)));
}

#[tokio::test]
async fn unacknowledged_writes_are_compressed() {
    let Tap { tap, client, _server } = tapped(server(), "compressors=snappy&maxPoolSize=1").await;
    let things = client.database("d").collection::<Document>("c");
    let mut concern = WriteConcern::default();
    concern.w = Some(Acknowledgment::Nodes(0));
    things
        .with_write_concern(concern)
        .insert_one(&doc! { "_id": 1 })
        .await
        .unwrap();
    // The same connection: the server has read the write before it replies.
    assert_eq!(things.count_documents(doc! {}).await.unwrap(), 1);
    let commands = tap.take_commands();
    assert_eq!(
        (commands[0].command(), commands[0].compressor),
        ("insert", Some(1))
    );
}

#[tokio::test]
async fn sensitive_commands_are_never_compressed() {
    let guarded = server()
        .auth("root", "hunter2")
        .parameter("scramIterationCount", 4096)
        .parameter("scramSHA256IterationCount", 4096)
        .start()
        .await
        .expect("the server starts");
    let tap = WireTap::start(guarded.addresses()[0]).await;
    for mechanism in ["SCRAM-SHA-1", "SCRAM-SHA-256"] {
        let uri = tap.uri(&format!("compressors=zlib&authMechanism={mechanism}"));
        let uri = uri.replacen("mongodb://", "mongodb://root:hunter2@", 1);
        let client = Client::connect(uri).await.unwrap();
        let admin = client.database("admin");
        let user = mechanism.to_ascii_lowercase();
        admin
            .run_command(doc! { "createUser": &user, "pwd": "secret", "roles": [] })
            .await
            .unwrap();
        admin
            .run_command(doc! { "updateUser": &user, "pwd": "other" })
            .await
            .unwrap();
        // The result of the commands is not relevant.
        for name in [
            "hello",
            "ismaster",
            "isMaster",
            "saslStart",
            "saslContinue",
            "getnonce",
            "authenticate",
            "copydb",
            "copydbgetnonce",
            "copydbsaslstart",
            "copydbSaslStart",
            "SASLSTART",
        ] {
            let mut command = Document::new();
            command.insert(name, 1);
            let _ = admin.run_command(command).await;
        }
        admin.run_command(doc! { "ping": 1 }).await.unwrap();
        let (packed, plain): (Vec<_>, Vec<_>) = tap
            .take_requests()
            .into_iter()
            // A dropped client may send it at any time.
            .filter(|request| request.command() != "endSessions")
            .partition(|request| request.compressor.is_some());
        assert!(
            packed.iter().all(|request| request.command() == "ping"),
            "{packed:?}"
        );
        assert_eq!(packed.len(), 1);
        for name in [
            "saslContinue",
            "createUser",
            "updateUser",
            "copydbSaslStart",
            "getnonce",
        ] {
            assert!(plain.iter().any(|request| request.command() == name), "{name}");
        }
    }
}

#[tokio::test]
async fn events_do_not_depend_on_compression() {
    let mut seen = Vec::new();
    for options in ["", "compressors=snappy", "compressors=zlib", "compressors=zstd"] {
        let server = server().start().await.expect("the server starts");
        let recorder = CommandRecorder::default();
        let uri = format!("{}?{options}", server.uri());
        let client = recorder.client_of(&uri);
        work(&client).await;
        let mut events = Vec::new();
        for event in recorder.take() {
            let (what, raw) = match &event {
                CommandEvent::Started(started) => ("started", started.command.clone()),
                CommandEvent::Succeeded(succeeded) => ("succeeded", succeeded.reply.clone()),
                _ => panic!("{event:?}"),
            };
            let mut shown = Document::try_from(&*raw).unwrap();
            // Fields that differ between clients.
            shown.remove("lsid");
            if let Ok(cursor) = shown.get_document_mut("cursor") {
                cursor.remove("id");
            }
            if shown.contains_key("getMore") {
                shown.insert("getMore", 0);
            }
            events.push((what, shown));
        }
        seen.push(events);
    }
    assert!(seen[0].len() > 20);
    for other in &seen[1..] {
        assert_eq!(*other, seen[0]);
    }
}

#[tokio::test]
async fn zlib_compression_level_is_applied() {
    let mut sizes = Vec::new();
    for level in ["0", "1", "9", "-1"] {
        let options = format!("compressors=zlib&zlibCompressionLevel={level}");
        let Tap { tap, client, _server } = tapped(server(), &options).await;
        let text: String = (0..20_000_u32).map(|n| (n * n % 977).to_string()).collect();
        let things = client.database("d").collection::<Document>("c");
        things
            .insert_one(&doc! { "_id": 1, "text": &text })
            .await
            .unwrap();
        let found = things.find_one(doc! {}).await.unwrap().unwrap();
        assert_eq!(found.get_str("text").unwrap(), text);
        let commands = tap.take_commands();
        sizes.push(commands[0].length);
        assert!(sizes.len() > 1 || commands[0].length > text.len(), "0 stores");
    }
    assert!(
        sizes[0] > sizes[1] && sizes[1] > sizes[2] && sizes[3] < sizes[1],
        "{sizes:?}"
    );
}

#[tokio::test]
async fn options_set_in_code_are_validated() {
    let server = server().start().await.expect("the server starts");
    let tap = WireTap::start(server.addresses()[0]).await;
    let mut options = ClientOptions::parse(&tap.uri("")).unwrap();
    options.compressors = vec![Compressor::Zstd, Compressor::Snappy, Compressor::Zstd];
    let client = Client::with_options(options.clone()).unwrap();
    client
        .database("admin")
        .run_command(doc! { "ping": 1 })
        .await
        .unwrap();
    let requests = tap.take_requests();
    let ping = requests
        .iter()
        .find(|request| request.command() == "ping")
        .unwrap();
    assert_eq!(ping.compressor, Some(3));
    assert_eq!(
        crate::compression::offered(&requests, ping.connection),
        ["zstd", "snappy"]
    );
    options.zlib_compression_level = Some(-2);
    let refused = Client::with_options(options).unwrap_err();
    assert!(
        matches!(refused.kind(), ErrorKind::InvalidArgument(why) if why.contains("zlibCompressionLevel"))
    );
}
