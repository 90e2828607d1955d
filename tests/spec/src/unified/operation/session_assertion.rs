//! Assertions about sessions, and fail points on the mongos that a session is pinned to.

use marula_driver::{Client, TransactionState, bson::Document, internals::sessions};

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
        let address = sessions::pinned_address(&*entity.session.lock().await);
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
        "assertSessionPinned" => (sessions::pin(&session).is_some(), "unpinned".to_owned()),
        "assertSessionUnpinned" => (sessions::pin(&session).is_none(), "pinned".to_owned()),
        "assertSessionDirty" => (sessions::is_dirty(&session), "not dirty".to_owned()),
        _ => (!sessions::is_dirty(&session), "dirty".to_owned()),
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
