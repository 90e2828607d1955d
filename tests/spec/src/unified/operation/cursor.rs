//! Operations on cursors.

use super::{Done, Output, args::Args, optional};
use crate::unified::{
    entity::CursorEntity,
    stop::{Step, failed},
};

pub(super) async fn run(entity: &CursorEntity, name: &str, args: Args) -> Step<Option<Done>> {
    match name {
        "iterateUntilDocumentOrError" => {
            args.finish()?;
            loop {
                match entity.iterate_once().await {
                    Ok(None) if entity.is_exhausted().await => {
                        return failed("the cursor ended without a document or an error");
                    }
                    Ok(None) => {}
                    other => return Ok(Some(other.map(optional))),
                }
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
            args.finish()?;
            entity.close().await;
            Ok(Some(Ok(Output::Nothing)))
        }
        _ => Ok(None),
    }
}
