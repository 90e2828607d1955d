//! The commands for the schema of an application.

use clap::Parser;
use marula::Document;
use marula::bson::doc;
use marula::cli::SchemaCommand;
use marula::schema::Schema;
use serde::{Deserialize, Serialize};

use crate::common::{Env, Order};

#[derive(Serialize, Deserialize, Document)]
#[document(collection = "tags", schema_version(2, upgrade = Tag::upgrade))]
struct Tag {
    _id: String,
    length: i64,
}

impl Tag {
    fn upgrade(_: u32, document: &mut marula::bson::Document) -> Result<(), &'static str> {
        match document.get_str("_id") {
            Ok("") | Err(_) => Err("an empty tag"),
            Ok(name) => {
                let length = i64::try_from(name.len()).unwrap_or_default();
                document.insert("length", length);
                Ok(())
            }
        }
    }
}

#[derive(Parser)]
struct Application {
    #[command(subcommand)]
    command: SchemaCommand,
}

/// Runs a command line. Returns whether it succeeded, and what it printed.
async fn run(schema: Schema, line: &str) -> (bool, String) {
    let arguments = ["shop"].into_iter().chain(line.split(' '));
    let application = Application::try_parse_from(arguments).expect("a valid command line");
    let mut output = Vec::new();
    let written = application.command.write(schema, &mut output).await;
    let is_success = written.expect("a result");
    (is_success, String::from_utf8(output).expect("a text"))
}

#[tokio::test]
async fn indexes_are_planned_compared_and_created() {
    let env = Env::start().await;
    let schema = || env.db.schema().register::<Order>();
    let (planned, plan) = run(schema(), "plan").await;
    assert!(planned && plan.contains("+ create   number_1"), "{plan}");
    let (in_sync, json) = run(schema(), "diff --json").await;
    let parsed: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert!(!in_sync && parsed["inSync"] == false, "{json}");
    let first = &parsed["collections"][0]["steps"][0];
    assert_eq!(first["step"], "create", "{json}");
    assert_eq!(run(schema(), "verify").await, (false, String::new()));
    let (applied, json) = run(schema(), "apply --json").await;
    let parsed: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert!(
        applied && parsed["created"].as_array().is_some_and(|all| all.len() == 4),
        "{json}"
    );
    assert_eq!(run(schema(), "verify").await, (true, String::new()));
    assert_eq!(run(schema(), "diff").await, (true, String::new()));
    assert_eq!(
        run(schema(), "apply --full").await,
        (true, "nothing to do\n".to_owned())
    );
    env.stop().await;
}

#[tokio::test]
async fn documents_are_migrated() {
    let env = Env::start().await;
    let schema = || env.db.schema().register::<Order>().register::<Tag>();
    let tags = env.db.driver().collection::<marula::bson::Document>("tags");
    let old: Vec<_> = ["a", "b", "c"].map(|name| doc! { "_id": name }).into();
    tags.insert_many(&old).await.unwrap();
    tags.insert_one(&doc! { "_id": "", "length": 0 }).await.unwrap();
    let name = format!("{}.tags", env.db.name());
    let (complete, text) = run(schema(), "migrate --batch-size 2").await;
    assert!(!complete);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..2],
        [
            format!("{name}: 2 examined, 1 upgraded, 0 superseded, 1 failed"),
            format!("{name}: 4 examined, 3 upgraded, 0 superseded, 1 failed"),
        ]
    );
    assert!(lines[2].ends_with("an empty tag") && lines.len() == 3, "{text}");
    let (complete, json) = run(schema(), "migrate --dry-run --json").await;
    let parsed: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let tags = &parsed["migrations"][0];
    assert!(
        !complete && tags["examined"] == 1 && tags["failed"] == 1,
        "{json}"
    );
    assert!(
        tags["failures"][0]["error"]
            .as_str()
            .is_some_and(|e| e.contains("an empty tag")),
        "{json}"
    );
    env.stop().await;
}

#[test]
fn unknown_options_are_rejected() {
    for line in [
        "apply --all",
        "migrate --batch-size many",
        "migrate --full",
        "plan --full",
        "apply --drop-obsolete soon",
        "drop",
    ] {
        let arguments = ["shop"].into_iter().chain(line.split(' '));
        assert!(Application::try_parse_from(arguments).is_err(), "{line}");
    }
}
