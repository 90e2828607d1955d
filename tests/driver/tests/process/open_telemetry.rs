//! Prose tests of the OpenTelemetry specification. The driver reads environment variables, so each
//! client is created in a process of its own: this binary, which runs one test again.

use std::process::Command;

use marula_driver::{
    Client,
    bson::{Document, doc},
};
use marula_driver_tests::SpanRecorder;
use marula_test_server::TestServer;
use opentelemetry::global;

const ENABLED: &str = "OTEL_RUST_INSTRUMENTATION_MONGODB_ENABLED";
const QUERY_TEXT_MAX_LENGTH: &str = "OTEL_RUST_INSTRUMENTATION_MONGODB_QUERY_TEXT_MAX_LENGTH";
/// Set in the processes that these tests start.
const IS_CHILD: &str = "MARULA_TESTS_FIND_WITH_TRACES";

/// The spans of a `find`: the outline, and `db.query.text` of the command span.
fn spans_of_find(variables: &[(&str, &str)]) -> (String, Option<String>) {
    let output = Command::new(std::env::current_exe().expect("the path of this binary"))
        .args(["--exact", "open_telemetry::find_of_the_child", "--nocapture"])
        .env(IS_CHILD, "1")
        .env_remove(ENABLED)
        .env_remove(QUERY_TEXT_MAX_LENGTH)
        .envs(variables.iter().copied())
        .output()
        .expect("the process runs");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{stdout}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let line = |key: &str| {
        let found = stdout.lines().find_map(|line| line.strip_prefix(key));
        found.map(|rest| rest.trim().to_owned())
    };
    (line("spans:").expect("the outline"), line("text:"))
}

/// Runs in the processes that the other tests start. Does nothing otherwise.
#[test]
fn find_of_the_child() {
    if std::env::var_os(IS_CHILD).is_none() {
        return;
    }
    let recorder = SpanRecorder::default();
    global::set_tracer_provider(recorder.provider().clone());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let server = TestServer::builder()
            .standalone()
            .start()
            .await
            .expect("a server");
        // No tracing option is set.
        let client = Client::connect(server.uri()).await.expect("a client");
        let things = client.database("d").collection::<Document>("things");
        things.find(doc! { "x": 1 }).await.expect("a cursor");
    });
    println!("\nspans: {}", recorder.outline().join(", "));
    let roots = recorder.roots();
    let commands = roots.iter().flat_map(|root| recorder.children(root.id));
    for text in commands.filter_map(|command| command.text("db.query.text")) {
        println!("text: {text}");
    }
}

#[test]
fn open_telemetry_prose_1_tracing_on_and_off() {
    let _alone = crate::lock_process();
    let (spans, _) = spans_of_find(&[(ENABLED, "false")]);
    assert_eq!(spans, "");
    let (spans, _) = spans_of_find(&[]);
    assert_eq!(spans, "", "off by default");
    let (spans, _) = spans_of_find(&[(ENABLED, "true")]);
    assert_eq!(spans, "find d.things (find)");
}

#[test]
fn open_telemetry_prose_2_query_text() {
    let _alone = crate::lock_process();
    let (_, text) = spans_of_find(&[(ENABLED, "true"), (QUERY_TEXT_MAX_LENGTH, "1024")]);
    assert_eq!(text.as_deref(), Some(r#"{"find": "things", "filter": {"x": 1}}"#));
    let (spans, text) = spans_of_find(&[(ENABLED, "true")]);
    assert_eq!((spans.as_str(), text), ("find d.things (find)", None));
}
