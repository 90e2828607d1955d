//! Sessions and transactions.

use std::time::Duration;

use marula_driver::{Client, Result, TimeoutSource, bson::doc, event::CommandEvent};
use marula_driver_tests::{CommandRecorder, Deployment, replica_set};

use super::{BLOCKED_MS, block, timeout_of, times_out};

const LIMIT: Duration = Duration::from_secs(1);
/// As long as a blocked command.
const BLOCKED: Duration = Duration::from_secs(10);

/// A replica set, and a client whose commands are recorded.
async fn recorded(options: &str) -> (Deployment, CommandRecorder, Client) {
    let deployment = replica_set().await;
    let commands = CommandRecorder::default();
    let uri = deployment.server.uri();
    let joint = if uri.contains('?') { '&' } else { '?' };
    let client = commands.client_of(&format!("{uri}{joint}{options}"));
    (deployment, commands, client)
}

/// The commands, each with `+` if it succeeded and `-` if it failed.
fn outcomes(commands: &CommandRecorder) -> String {
    let mut outcomes = Vec::new();
    for event in commands.take() {
        match event {
            CommandEvent::Succeeded(event) => outcomes.push(format!("{}+", event.command_name)),
            CommandEvent::Failed(event) => outcomes.push(format!("{}-", event.command_name)),
            _ => {}
        }
    }
    outcomes.join(" ")
}

/// Where the time limit of the end of a session is set.
#[derive(Clone, Copy, Debug)]
enum Level {
    Client,
    Session,
    Operation,
}

async fn the_end_of_a_session_times_out(level: Level) {
    let options = match level {
        Level::Client => "timeoutMS=1000",
        Level::Session | Level::Operation => "",
    };
    let (deployment, commands, client) = recorded(options).await;
    block(&deployment.client, &["abortTransaction"], 1, BLOCKED_MS, "").await;
    let start = client.start_session();
    let start = match level {
        Level::Session => start.default_timeout(LIMIT),
        Level::Client | Level::Operation => start,
    };
    let mut session = start.await.expect("it succeeds");
    session.start_transaction().await.expect("it succeeds");
    let things = client.database("db").collection("things");
    things
        .insert_one(&doc! { "x": 1 })
        .session(&mut session)
        .await
        .expect("it succeeds");
    match level {
        Level::Operation => session.end_within(LIMIT).await,
        Level::Client | Level::Session => session.end().await,
    }
    // The error of the abort is not reported. Without the time limit it would succeed after the delay.
    assert_eq!(outcomes(&commands), "insert+ abortTransaction-", "{level:?}");
}

#[tokio::test]
async fn client_side_operations_timeout_prose_9() {
    tokio::join!(
        the_end_of_a_session_times_out(Level::Client),
        the_end_of_a_session_times_out(Level::Session),
        the_end_of_a_session_times_out(Level::Operation),
    );
}

#[tokio::test]
async fn client_side_operations_timeout_prose_10() {
    let (deployment, commands, client) = recorded("timeoutMS=2000").await;
    let things = client.database("db").collection("things");
    // Connects.
    let find = things.find_one(doc! {}).timeout(Duration::ZERO);
    find.await.expect("a reply");
    let _ = commands.take();
    block(
        &deployment.client,
        &["insert", "abortTransaction"],
        2,
        BLOCKED_MS,
        "",
    )
    .await;
    let run = client.transaction().run(async |tx| -> Result<()> {
        things.insert_one(&doc! { "_id": 1 }).session(tx).await?;
        Ok(())
    });
    let error = times_out(run).await;
    let timeout = timeout_of(&error);
    assert!(
        timeout.is_of_transaction() && error.operation() == Some("insert"),
        "{error}"
    );
    assert_eq!(outcomes(&commands), "insert- abortTransaction-");
}

/// A commit has the time limit of its option, of the session, or of the client.
#[tokio::test]
async fn the_error_of_a_commit_names_the_setting_of_the_time_limit() {
    let short = Duration::from_millis(200);
    for (options, own, of_session, expected) in [
        ("", Some(short), None, TimeoutSource::Operation),
        ("", None, Some(short), TimeoutSource::Session),
        ("timeoutMS=200", None, None, TimeoutSource::Client),
    ] {
        let (deployment, _commands, client) = recorded(options).await;
        let start = client.start_session();
        let start = match of_session {
            Some(limit) => start.default_timeout(limit),
            None => start,
        };
        let mut session = start.await.expect("a session");
        session.start_transaction().await.expect("a transaction");
        let things = client.database("db").collection("things");
        let one = doc! { "x": 1 };
        let insert = things.insert_one(&one).session(&mut session);
        insert.timeout(BLOCKED).await.expect("stored");
        block(&deployment.client, &["commitTransaction"], 0, BLOCKED_MS, "").await;
        let commit = session.commit_transaction();
        let commit = match own {
            Some(limit) => commit.timeout(limit),
            None => commit,
        };
        let error = times_out(commit.into_future()).await;
        assert_eq!(timeout_of(&error).set_by(), Some(expected), "{error}");
    }
}

/// All operations of a run share its time limit, which its option, the session or the client sets.
#[tokio::test]
async fn the_error_of_a_run_names_the_setting_of_the_time_limit() {
    let short = Duration::from_millis(200);
    for (options, own, expected) in [
        ("", Some(short), TimeoutSource::Transaction),
        ("timeoutMS=200", None, TimeoutSource::Client),
    ] {
        let (deployment, _commands, client) = recorded(options).await;
        block(&deployment.client, &["insert"], 1, BLOCKED_MS, "").await;
        let things = client.database("db").collection("things");
        let run = client.transaction();
        let run = match own {
            Some(limit) => run.timeout(limit),
            None => run,
        };
        let run = run.run(async |tx| things.insert_one(&doc! { "_id": 1 }).session(tx).await);
        let error = times_out(run).await;
        let timeout = timeout_of(&error);
        assert!(timeout.is_of_transaction(), "{error}");
        assert_eq!(timeout.set_by(), Some(expected), "{error}");
    }
}
