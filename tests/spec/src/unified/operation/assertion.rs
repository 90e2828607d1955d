//! The assertions among the test runner operations.

use marula_driver::{
    bson::{Document, doc},
    event::CommandEvent,
};

use super::args::Args;
use crate::unified::{
    event::Event,
    run::TestRun,
    stop::{Step, failed},
};

pub(super) async fn run(run: &TestRun, name: &str, args: Args) -> Step {
    match name {
        "assertCollectionExists" => collection_exists(run, args, true).await,
        "assertCollectionNotExists" => collection_exists(run, args, false).await,
        "assertIndexExists" => index_exists(run, args, true).await,
        "assertIndexNotExists" => index_exists(run, args, false).await,
        "assertNumberConnectionsCheckedOut" => checked_out(run, args),
        "assertSameLsidOnLastTwoCommands" => last_two_sessions(run, args, true),
        "assertDifferentLsidOnLastTwoCommands" => last_two_sessions(run, args, false),
        _ => failed(format!("unknown test runner operation \"{name}\"")),
    }
}

async fn collection_exists(run: &TestRun, mut args: Args, wanted: bool) -> Step {
    let database = args.required("databaseName", Args::string)?;
    let collection = args.required("collectionName", Args::string)?;
    args.finish()?;
    let names = run
        .internal
        .database(&database)
        .list_collection_names()
        .filter(doc! { "name": &collection })
        .await
        .map_err(|error| format!("cannot list collections: {error}"))?;
    if names.contains(&collection) == wanted {
        Ok(())
    } else {
        let how = if wanted {
            "should exist"
        } else {
            "should not exist"
        };
        failed(format!("the collection {database}.{collection} {how}"))
    }
}

async fn index_exists(run: &TestRun, mut args: Args, wanted: bool) -> Step {
    let database = args.required("databaseName", Args::string)?;
    let collection = args.required("collectionName", Args::string)?;
    let index = args.required("indexName", Args::string)?;
    args.finish()?;
    let names = run
        .internal
        .database(&database)
        .collection::<Document>(&collection)
        .list_index_names()
        .await
        .map_err(|error| format!("cannot list indexes: {error}"))?;
    if names.contains(&index) == wanted {
        Ok(())
    } else {
        let how = if wanted {
            "should exist"
        } else {
            "should not exist"
        };
        failed(format!("the index {index} of {database}.{collection} {how}"))
    }
}

fn checked_out(run: &TestRun, mut args: Args) -> Step {
    let client = run.entities.client(&args.required("client", Args::string)?)?;
    let expected = args.required("connections", Args::integer)?;
    args.finish()?;
    let found = client.log.checked_out();
    if found == expected {
        Ok(())
    } else {
        failed(format!("expected {expected} connection(s) in use, found {found}"))
    }
}

fn last_two_sessions(run: &TestRun, mut args: Args, same: bool) -> Step {
    let client = run.entities.client(&args.required("client", Args::string)?)?;
    args.finish()?;
    let started: Vec<_> = client
        .log
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::Command(CommandEvent::Started(event)) => Some(event),
            _ => None,
        })
        .collect();
    let [.., first, second] = started.as_slice() else {
        return failed(format!("expected two commands, found {}", started.len()));
    };
    let lsid = |event: &marula_driver::event::CommandStartedEvent| match event.command.get_document("lsid") {
        Ok(lsid) => Ok(lsid.as_bytes().to_vec()),
        Err(_) => failed(format!("the command {} has no lsid", event.command_name)),
    };
    if (lsid(first)? == lsid(second)?) == same {
        Ok(())
    } else if same {
        failed("the last two commands have different sessions")
    } else {
        failed("the last two commands have the same session")
    }
}
