//! Operations on sessions.

use marula_driver::bson::Bson;

use super::{Done, Output, args::Args};
use crate::unified::{
    entity::SessionEntity,
    missing,
    stop::{Step, Stop, failed},
};

/// Runs an operation of a session; `None` if there is no operation with this name.
pub(super) async fn run(entity: &SessionEntity, name: &str, mut args: Args) -> Step<Option<Done>> {
    match name {
        "endSession" => {
            args.finish()?;
            entity.session.lock().await.end();
            Ok(Some(Ok(Output::Nothing)))
        }
        "getSnapshotTime" => {
            args.finish()?;
            match entity.session.lock().await.snapshot_time() {
                Some(time) => Ok(Some(Ok(Output::Value(Bson::Timestamp(time))))),
                None => failed("the session has no snapshot time"),
            }
        }
        "startTransaction" => {
            check_transaction_options(&mut args)?;
            args.finish()?;
            Err(Stop::Pending(missing::TRANSACTIONS.to_owned()))
        }
        "commitTransaction" | "abortTransaction" | "withTransaction" => {
            Err(Stop::Pending(missing::TRANSACTIONS.to_owned()))
        }
        _ => Ok(None),
    }
}

/// Checks the options of a transaction, which the driver does not support yet.
fn check_transaction_options(args: &mut Args) -> Step {
    args.read_concern("readConcern")?;
    args.read_preference("readPreference")?;
    args.write_concern("writeConcern")?;
    args.milliseconds("maxCommitTimeMS")?;
    Ok(())
}
