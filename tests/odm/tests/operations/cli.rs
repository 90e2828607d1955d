//! The commands for the schema of an application.

use clap::Parser;
use marula::cli::SchemaCommand;
use marula::schema::Schema;

use crate::common::{Env, Order};

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

#[test]
fn unknown_options_are_rejected() {
    for line in ["apply --all", "plan --full", "apply --drop-obsolete soon", "drop"] {
        let arguments = ["shop"].into_iter().chain(line.split(' '));
        assert!(Application::try_parse_from(arguments).is_err(), "{line}");
    }
}
