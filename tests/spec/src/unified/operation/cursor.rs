//! Operations on cursors.

use super::{Done, Output, args::Args, optional};
use crate::unified::{
    entity::CursorEntity,
    stop::{Step, failed},
};

pub(super) async fn run(entity: &CursorEntity, name: &str, mut args: Args) -> Step<Option<Done>> {
    match name {
        "iterateUntilDocumentOrError" => {
            args.finish()?;
            match entity.next().await {
                Ok(None) => failed("the cursor ended without a document or an error"),
                other => Ok(Some(other.map(optional))),
            }
        }
        "iterateOnce" => {
            args.finish()?;
            Ok(Some(entity.iterate_once().await.map(|document| match document {
                Some(document) => optional(Some(document)),
                None => Output::Nothing,
            })))
        }
        "close" => {
            let timeout = args.milliseconds("timeoutMS")?;
            args.finish()?;
            entity.close(timeout).await;
            Ok(Some(Ok(Output::Nothing)))
        }
        _ => Ok(None),
    }
}
