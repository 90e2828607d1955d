//! The operations of the test runner.

use std::{sync::Arc, time::Duration};

use marula_driver::bson::{Bson, Document};

use super::{args::Args, assertion, session_assertion as session};
use crate::unified::{
    description,
    entity::{Entity, create},
    event::{EventLog, Expected},
    matcher::show,
    run::TestRun,
    stop::{Step, Stop, failed},
};

/// The time limit for an event or a new primary.
const LIMIT: Duration = Duration::from_secs(10);

pub(super) async fn run(run: &Arc<TestRun>, name: &str, mut args: Args) -> Step {
    match name {
        "failPoint" => fail_point(run, args).await,
        "createEntities" => {
            let entities = args.required("entities", Args::documents)?;
            args.finish()?;
            for entity in entities {
                create(run, &Bson::Document(entity)).await?;
            }
            Ok(())
        }
        "wait" => {
            let time = args.required("ms", Args::milliseconds)?;
            args.finish()?;
            tokio::time::sleep(time).await;
            Ok(())
        }
        "runOnThread" => {
            let thread = run.entities.thread(&args.required("thread", Args::string)?)?;
            let operation = args.required("operation", Args::document)?;
            args.finish()?;
            thread.run(operation)
        }
        "waitForThread" => {
            let thread = run.entities.thread(&args.required("thread", Args::string)?)?;
            args.finish()?;
            thread.wait().await
        }
        "waitForEvent" => {
            let (log, event, count) = event_arguments(run, &mut args)?;
            args.finish()?;
            wait_for_event(run, &log, &event, count).await
        }
        "assertEventCount" => {
            let (log, event, count) = event_arguments(run, &mut args)?;
            args.finish()?;
            let found = count_events(run, &log, &event)?;
            if found == count {
                Ok(())
            } else {
                failed(format!(
                    "expected {count} event(s) {}, found {found}",
                    show(&event)
                ))
            }
        }
        "recordTopologyDescription" => {
            let client = run.entities.client(&args.required("client", Args::string)?)?;
            let id = args.required("id", Args::string)?;
            args.finish()?;
            run.entities.add(&id, Entity::Topology(client.log.topology()))
        }
        "assertTopologyType" => {
            let topology = run
                .entities
                .topology(&args.required("topologyDescription", Args::string)?)?;
            let expected = args.required("topologyType", Args::string)?;
            args.finish()?;
            let found = topology.map_or_else(|| "Unknown".to_owned(), |t| description::topology_type(&t));
            if found == expected {
                Ok(())
            } else {
                failed(format!("expected topology type {expected}, found {found}"))
            }
        }
        "waitForPrimaryChange" => wait_for_primary_change(run, args).await,
        "loop" => Err(Stop::Skipped(
            "the operation loop was removed in version 1.24 of the test format".to_owned(),
        )),
        "targetedFailPoint"
        | "assertSessionTransactionState"
        | "assertSessionPinned"
        | "assertSessionUnpinned"
        | "assertSessionDirty"
        | "assertSessionNotDirty" => session::run(run, name, args).await,
        _ => assertion::run(run, name, args).await,
    }
}

async fn fail_point(run: &TestRun, mut args: Args) -> Step {
    let client = run.entities.client(&args.required("client", Args::string)?)?;
    let command: Document = args.required("failPoint", Args::document)?;
    // Two files pass a session, which has no effect.
    args.take("session");
    args.finish()?;
    let Ok(name) = command.get_str("configureFailPoint") else {
        return failed("a fail point requires \"configureFailPoint\"");
    };
    run.record_fail_point(name);
    match client.client.database("admin").run_command(command).await {
        Ok(_) => Ok(()),
        Err(error) => Err(run.unexpected("configureFailPoint failed", &error)),
    }
}

fn event_arguments(run: &TestRun, args: &mut Args) -> Step<(Arc<EventLog>, Bson, usize)> {
    let client = run.entities.client(&args.required("client", Args::string)?)?;
    let event = args.required("event", Args::bson)?;
    let count = args.required("count", Args::u32)?;
    Ok((
        Arc::clone(&client.log),
        event,
        usize::try_from(count).unwrap_or(usize::MAX),
    ))
}

fn count_events(run: &TestRun, log: &EventLog, event: &Bson) -> Result<usize, String> {
    let expected = Expected::new(event)?;
    let events = log.events();
    Ok(events
        .iter()
        .filter(|event| expected.matches(event, &run.entities).is_ok())
        .count())
}

async fn wait_for_event(run: &TestRun, log: &EventLog, event: &Bson, count: usize) -> Step {
    Expected::new(event)?;
    let enough = |log: &EventLog| (count_events(run, log, event).unwrap_or_default() >= count).then_some(());
    match log.wait_for(LIMIT, enough).await {
        Some(()) => Ok(()),
        None => failed(format!(
            "expected {count} event(s) {} within {LIMIT:?}, found {}",
            show(event),
            count_events(run, log, event)?
        )),
    }
}

async fn wait_for_primary_change(run: &TestRun, mut args: Args) -> Step {
    let client = run.entities.client(&args.required("client", Args::string)?)?;
    let prior = run
        .entities
        .topology(&args.required("priorTopologyDescription", Args::string)?)?;
    let limit = args.milliseconds("timeoutMS")?.unwrap_or(LIMIT);
    args.finish()?;
    let before = prior.as_deref().and_then(description::primary);
    let changed = |log: &EventLog| {
        let primary = log.topology().as_deref().and_then(description::primary)?;
        (Some(&primary) != before.as_ref()).then_some(())
    };
    match client.log.wait_for(limit, changed).await {
        Some(()) => Ok(()),
        None => failed(format!("no primary other than {before:?} within {limit:?}")),
    }
}
