//! Log messages: the prose tests of the Command Logging and Monitoring specification, levels and
//! limits.

use marula_driver::{
    Client,
    bson::{Document, doc},
    internals::{Environment, Variables},
    options::ClientOptions,
};
use marula_driver_tests::Messages;
use marula_test_server::TestServer;
use tracing::Level;

/// The length of the suffix of a truncated document.
const ELLIPSIS: usize = "...".len();

async fn server() -> TestServer {
    let started = TestServer::builder().standalone().start().await;
    started.expect("the server starts")
}

/// A client with this limit for the length of logged documents, and with these environment
/// variables only.
fn client<const N: usize>(server: &TestServer, limit: Option<usize>, variables: [(&str, &str); N]) -> Client {
    let mut options = ClientOptions::parse(&server.uri()).expect("options");
    options.max_log_document_length = limit;
    let environment = Environment {
        variables: Variables::fixed(variables),
        ..Environment::default()
    };
    environment.client(options).expect("a client")
}

fn text<'a>(fields: &'a Document, key: &str) -> &'a str {
    fields.get_str(key).expect("a text")
}

#[tokio::test]
async fn command_logging_and_monitoring_prose_1() {
    let server = server().await;
    let client = client(&server, None, []);
    let things = client.database("logs").collection::<Document>("things");
    let documents = vec![doc! { "x": "y" }; 100];
    let (messages, _listening) = Messages::listen(Level::DEBUG);
    things.insert_many(&documents).await.expect("stored");
    let all = messages.take();
    let of = |wanted: &str| {
        let mut found = all.iter().filter(|message| {
            message.target == "marula_driver::command" && text(&message.fields, "message") == wanted
        });
        let first = found.next().expect("the message");
        assert!(found.next().is_none(), "one {wanted}");
        assert_eq!(first.level, Level::DEBUG);
        &first.fields
    };
    assert_eq!(text(of("Command started"), "command").len(), 1000 + ELLIPSIS);
    assert!(text(of("Command succeeded"), "reply").len() <= 1000 + ELLIPSIS);
    let _first = things.find_one(doc! {}).await.expect("a reply");
    let mut cursor = things.find(doc! {}).await.expect("a reply");
    assert!(cursor.advance().await.expect("a document"));
    let replies: Vec<usize> = messages
        .take()
        .iter()
        .filter(|message| message.fields.get_str("message").ok() == Some("Command succeeded"))
        .map(|message| text(&message.fields, "reply").len())
        .collect();
    assert_eq!(replies.len(), 2);
    assert_eq!(replies[1], 1000 + ELLIPSIS);
}

#[tokio::test]
async fn command_logging_and_monitoring_prose_2() {
    let server = server().await;
    let client = client(&server, Some(5), []);
    let database = client.database("logs");
    let (messages, _listening) = Messages::listen(Level::DEBUG);
    database
        .run_command(doc! { "hello": true })
        .await
        .expect("a reply");
    let all = messages.take();
    let field = |message: &str, key: &str| {
        let found = all.iter().find(|kept| {
            kept.fields.get_str("message").ok() == Some(message)
                && kept.fields.get_str("commandName").ok() == Some("hello")
        });
        text(&found.expect("the message").fields, key).len()
    };
    assert_eq!(field("Command started", "command"), 5 + ELLIPSIS);
    assert_eq!(field("Command succeeded", "reply"), 5 + ELLIPSIS);
    let refused = database.run_command(doc! { "notARealCommand": true }).await;
    refused.expect_err("no such command");
    let failed = messages.only("Command failed", "notARealCommand");
    assert_eq!(text(&failed, "serverResponse").len(), 5 + ELLIPSIS);
    assert!(text(&failed, "failure").contains("CommandNotFound"), "{failed}");
}

/// The command is `{"ping": "…", …}`: its text begins at byte 10.
#[tokio::test]
async fn command_logging_and_monitoring_prose_3() {
    let server = server().await;
    let wide = "é€😀";
    // Before the first multi-byte character, within each, and after each.
    for (limit, kept) in [
        (10, 0),
        (11, 0),
        (12, 2),
        (13, 2),
        (14, 2),
        (15, 5),
        (16, 5),
        (17, 5),
        (18, 5),
        (19, 9),
    ] {
        let client = client(&server, Some(limit), []);
        let (messages, _listening) = Messages::listen(Level::DEBUG);
        let reply = client.database("logs").run_command(doc! { "ping": wide }).await;
        reply.expect("a reply");
        let started = messages.only("Command started", "ping");
        let expected = format!("{{\"ping\": \"{}...", &wide[..kept]);
        assert_eq!(text(&started, "command"), expected, "{limit}");
    }
    // The reply of a successful and of a failed command.
    let writer = client(&server, None, []);
    let things = writer.database("logs").collection::<Document>("wide");
    things
        .insert_one(&doc! { "_id": wide.repeat(40) })
        .await
        .expect("stored");
    for limit in 60..130 {
        let client = client(&server, Some(limit), []);
        let things = client.database("logs").collection::<Document>("wide");
        let (messages, _listening) = Messages::listen(Level::DEBUG);
        things
            .find_one(doc! {})
            .await
            .expect("a reply")
            .expect("a document");
        let reply = messages.only("Command succeeded", "find");
        let shown = text(&reply, "reply").strip_suffix("...").expect("an ellipsis");
        assert!((limit - 3..=limit).contains(&shown.len()), "{limit}: {shown}");
        let unknown = doc! { wide.repeat(5): 1 };
        let refused = client.database("logs").run_command(unknown).await;
        refused.expect_err("no such command");
        let failed = messages.only("Command failed", &wide.repeat(5));
        let shown = text(&failed, "serverResponse").strip_suffix("...");
        let shown = shown.expect("an ellipsis");
        assert!((limit - 3..=limit).contains(&shown.len()), "{limit}: {shown}");
    }
}

#[tokio::test]
async fn environment_variables_set_levels_and_document_length() {
    let server = server().await;
    let (messages, _listening) = Messages::listen(Level::TRACE);
    let variables = [
        ("MONGODB_LOG_ALL", "off"),
        ("MONGODB_LOG_COMMAND", "Debug"),
        ("MONGODB_LOG_SERVER_SELECTION", "info"),
        ("MONGODB_LOG_MAX_DOCUMENT_LENGTH", "3"),
    ];
    let client = client(&server, None, variables);
    let ping = client.database("logs").run_command(doc! { "ping": 1 }).await;
    ping.expect("a reply");
    let command = |message: &&marula_driver_tests::Message| {
        message
            .fields
            .get_str("command")
            .is_ok_and(|command| command == "{\"p...")
    };
    let all = messages.take();
    assert_eq!(all.iter().filter(command).count(), 1);
    for message in &all {
        match message.target {
            "marula_driver::command" => {}
            // At first the server has not been discovered.
            "marula_driver::server_selection" => assert_eq!(message.level, Level::INFO, "{message:?}"),
            _ => panic!("{message:?}"),
        }
    }
}

#[tokio::test]
async fn log_messages_need_a_subscriber_at_the_time_of_the_event() {
    let server = server().await;
    let client = client(&server, None, []);
    let ping = async || {
        let reply = client.database("logs").run_command(doc! { "ping": 1 }).await;
        reply.expect("a reply");
    };
    ping().await;
    let (first, listening) = Messages::listen(Level::DEBUG);
    ping().await;
    let texts: Vec<String> = first
        .take()
        .iter()
        // The monitor logs independently.
        .filter(|message| message.target != "marula_driver::topology")
        .map(|message| text(&message.fields, "message").to_owned())
        .collect();
    assert_eq!(
        texts,
        [
            "Server selection started",
            "Server selection succeeded",
            "Connection checkout started",
            "Connection checked out",
            "Command started",
            "Command succeeded",
            "Connection checked in",
        ]
    );
    drop(listening);
    ping().await;
    assert!(first.take().is_empty(), "no subscriber is set");
    let (second, _listening) = Messages::listen(Level::INFO);
    ping().await;
    assert!(
        second.take().is_empty(),
        "no message at level info for a known server"
    );
}

#[tokio::test]
async fn control_characters_in_the_name_of_the_application_are_logged() {
    let (messages, _listening) = Messages::listen(Level::WARN);
    for (name, expected) in [("check\nout", 1), ("check\u{1b}[2Jout", 1), ("check out é", 0)] {
        let mut options = ClientOptions::parse("mongodb://localhost").expect("options");
        options.app_name = Some(name.to_owned());
        let client = Client::with_options(options).expect("a client");
        let warnings: Vec<String> = messages
            .take()
            .iter()
            .map(|message| text(&message.fields, "warning").to_owned())
            .collect();
        assert_eq!(warnings.len(), expected, "{name:?}");
        for warning in &warnings {
            assert!(
                warning.starts_with("appName contains a control character"),
                "{warning}"
            );
        }
        assert_eq!(client.warnings(), warnings);
        client.shutdown().await;
    }
}

#[tokio::test]
async fn ignored_options_of_a_connection_string_are_logged() {
    let (messages, _listening) = Messages::listen(Level::WARN);
    let client = Client::connect("mongodb://localhost/?maxPoolSise=5")
        .await
        .expect("a client");
    let all = messages.take();
    let [message] = &all[..] else {
        panic!("{} messages", all.len())
    };
    assert_eq!(
        (message.level, message.target),
        (Level::WARN, "marula_driver::connection_string")
    );
    assert_eq!(
        text(&message.fields, "warning"),
        "unknown option maxPoolSise is ignored"
    );
    assert_eq!(client.warnings(), ["unknown option maxPoolSise is ignored"]);
    client.shutdown().await;
}
