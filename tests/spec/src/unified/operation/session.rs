//! Operations on sessions.

use std::{
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use marula_driver::{
    ClientSession, Error, ErrorKind,
    bson::{Bson, Document},
    internals,
    options::TransactionOptions,
};

use super::{Done, Output, args::Args, run_in_callback};
use crate::unified::{
    entity::SessionEntity,
    run::TestRun,
    stop::{Step, Stop, failed},
};

/// Runs an operation of a session; `None` if there is no operation with this name.
pub(super) async fn run(
    run: &Arc<TestRun>,
    entity: &SessionEntity,
    name: &str,
    mut args: Args,
) -> Step<Option<Done>> {
    let done = match name {
        "endSession" => {
            args.finish()?;
            entity.session.lock().await.end().await;
            Ok(())
        }
        "getSnapshotTime" => {
            args.finish()?;
            return match entity.session.lock().await.snapshot_time() {
                Some(time) => Ok(Some(Ok(Output::Value(Bson::Timestamp(time))))),
                None => failed("the session has no snapshot time"),
            };
        }
        "startTransaction" => {
            let options = transaction_options(&mut args)?;
            args.finish()?;
            let mut session = entity.session.lock().await;
            session.start_transaction().with_options(options).await
        }
        "commitTransaction" => {
            args.finish()?;
            entity.session.lock().await.commit_transaction().await
        }
        "abortTransaction" => {
            args.finish()?;
            entity.session.lock().await.abort_transaction().await
        }
        "withTransaction" => {
            let options = transaction_options(&mut args)?;
            let callback = args.required("callback", Args::documents)?;
            args.finish()?;
            with_transaction(run, entity, options, &callback).await?
        }
        _ => return Ok(None),
    };
    Ok(Some(done.map(|()| Output::Nothing)))
}

fn transaction_options(args: &mut Args) -> Step<TransactionOptions> {
    let mut options = TransactionOptions::default();
    options.read_concern = args.read_concern("readConcern")?;
    options.read_preference = args.read_preference("readPreference")?;
    options.write_concern = args.write_concern("writeConcern")?;
    options.max_commit_time = args.milliseconds("maxCommitTimeMS")?;
    Ok(options)
}

/// The operations of the callback use the session entity, which contains another session while the
/// convenient API has the session.
async fn with_transaction(
    run: &Arc<TestRun>,
    entity: &SessionEntity,
    options: TransactionOptions,
    callback: &[Document],
) -> Step<Result<(), Error>> {
    let mut session = {
        let mut place = entity.session.lock().await;
        let other = place
            .client()
            .start_session()
            .await
            .map_err(|error| format!("cannot start a session: {error}"))?;
        mem::replace(&mut *place, other)
    };
    let stopped = Mutex::new(None);
    let done = session
        .with_transaction()
        .with_options(options)
        .run(async |session: &mut ClientSession| {
            mem::swap(session, &mut *entity.session.lock().await);
            let done = run_callback(run, callback).await;
            mem::swap(session, &mut *entity.session.lock().await);
            done.map_err(|stop| {
                *stopped.lock().unwrap_or_else(PoisonError::into_inner) = Some(stop);
                internals::error(ErrorKind::InvalidArgument("the callback has stopped".to_owned()))
            })?
        })
        .await;
    *entity.session.lock().await = session;
    match stopped.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(stop) => Err(Stop::within(stop, "callback")),
        None => Ok(done),
    }
}

/// Runs the operations until one fails.
async fn run_callback(run: &Arc<TestRun>, callback: &[Document]) -> Step<Result<(), Error>> {
    for operation in callback {
        if let Some(error) = run_in_callback(Arc::clone(run), operation.clone()).await? {
            return Ok(Err(error));
        }
    }
    Ok(Ok(()))
}
