//! Assertions about sessions, and fail points on the mongos that a session is pinned to.

use marula_driver::{Client, TransactionState, bson::Document};

use super::args::Args;
use crate::unified::{
    run::TestRun,
    stop::{Step, failed},
};

pub(super) async fn run(run: &TestRun, name: &str, mut args: Args) -> Step {
    let entity = run.entities.session(&args.required("session", Args::string)?)?;
    if name == "targetedFailPoint" {
        let command = args.required("failPoint", Args::document)?;
        args.finish()?;
        let address = entity.session.lock().await.pinned_address();
        return match address {
            Some(address) => targeted_fail_point(run, &address.to_string(), command).await,
            None => failed("the session is not pinned to a mongos"),
        };
    }
    let session = entity.session.lock().await;
    let (holds, found) = match name {
        "assertSessionTransactionState" => {
            let expected = args.required("state", Args::string)?;
            let state = session.transaction_state();
            let name = match state {
                TransactionState::None => "none",
                TransactionState::Starting => "starting",
                TransactionState::InProgress => "in_progress",
                TransactionState::Committed => "committed",
                TransactionState::Aborted => "aborted",
            };
            (name == expected, format!("{state:?}"))
        }
        "assertSessionPinned" => (session.is_pinned(), "unpinned".to_owned()),
        "assertSessionUnpinned" => (!session.is_pinned(), "pinned".to_owned()),
        "assertSessionDirty" => (session.is_dirty(), "not dirty".to_owned()),
        _ => (!session.is_dirty(), "dirty".to_owned()),
    };
    args.finish()?;
    if holds {
        Ok(())
    } else {
        failed(format!("the session is {found}"))
    }
}

async fn targeted_fail_point(run: &TestRun, address: &str, command: Document) -> Step {
    let Ok(name) = command.get_str("configureFailPoint") else {
        return failed("a fail point requires \"configureFailPoint\"");
    };
    run.record_fail_point(name);
    let Some(uri) = run.member_uris.iter().find(|uri| has_host(uri, address)) else {
        return failed(format!("no server of the deployment has the address {address}"));
    };
    let client = Client::connect(uri)
        .await
        .map_err(|error| format!("cannot create a client: {error}"))?;
    let done = client.database("admin").run_command(command).await;
    client.shutdown().await;
    match done {
        Ok(_) => Ok(()),
        Err(error) => Err(run.unexpected("configureFailPoint failed", &error)),
    }
}

/// Whether the connection string of one server has this host and port.
fn has_host(uri: &str, address: &str) -> bool {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    host == address
}
