//! `createChangeStream`.

use marula_driver::{ChangeStreamEvent, action::Watch, bson::Document};

use super::{
    Done, Output,
    args::{Args, finish, set, set_read},
};
use crate::unified::stop::Step;

/// Opens the change stream with the arguments as its options.
pub(super) async fn create(watch: Watch<'_, ChangeStreamEvent<Document>>, mut args: Args) -> Step<Done> {
    let mut session = args.session();
    let pipeline = args.required("pipeline", Args::documents)?;
    let mut action = watch.pipeline(pipeline).with_type::<Document>();
    set!(action, args;
        full_document <- string("fullDocument"),
        full_document_before_change <- string("fullDocumentBeforeChange"),
        resume_after <- resume_token("resumeAfter"), start_after <- resume_token("startAfter"),
        start_at_operation_time <- timestamp("startAtOperationTime"),
        max_await_time <- milliseconds("maxAwaitTimeMS"), batch_size <- u32("batchSize"),
        show_expanded_events <- boolean("showExpandedEvents"), collation <- collation("collation"),
        comment <- bson("comment"));
    set_read!(action, args);
    finish!(action, args, session);
    Ok(action.await.map(|stream| Output::ChangeStream(Box::new(stream))))
}
