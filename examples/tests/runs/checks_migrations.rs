//! Checks the example `migrations`.

use std::process::ExitCode;

use clap::Parser;

use crate::migrations::{Arguments, Command, install_old_version, main, migrate, run, schema};

/// Runs `schema …` on a database. Returns whether it succeeded, and its output.
async fn command(db: &marula::Database, line: &str) -> (bool, String) {
    let arguments = Arguments::try_parse_from(["app", "schema"].into_iter().chain(line.split(' ')));
    let Some(Command::Schema(command)) = arguments.expect("a valid command line").command else {
        panic!("no command")
    };
    let mut output = Vec::new();
    let is_success = command.write(schema(db), &mut output).await.expect("a result");
    (is_success, String::from_utf8(output).expect("text"))
}

#[tokio::test]
async fn an_older_version_is_migrated() {
    let (deployment, db) = crate::start().await;
    install_old_version(&db).await.unwrap();
    let (_, plan) = command(&db, "plan").await;
    for line in [
        "~ modify   at_1 {\"at\": 1} expireAfterSeconds: 7776000 → 2592000",
        "page_and_time",
        "- obsolete browser_1",
    ] {
        assert!(plan.contains(line), "{line} is not in\n{plan}");
    }
    assert!(!command(&db, "verify").await.0);
    migrate(&db).await.unwrap();
    assert!(command(&db, "verify").await.0);
    assert_eq!(
        command(&db, "apply --full").await,
        (true, "nothing to do\n".to_owned())
    );
    crate::stop(deployment, db).await;
}

#[tokio::test]
async fn the_commands_run() {
    let arguments = Arguments::try_parse_from(["app", "schema", "plan"]).unwrap();
    let code = run(arguments).await.unwrap();
    assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
    let without = Arguments::try_parse_from(["app"]).unwrap();
    run(without).await.unwrap();
    // Not called: it parses the arguments of the test.
    let _ = main;
}
