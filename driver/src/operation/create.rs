//! `create`: a collection with options.

use std::time::Duration;

use super::{Operation, ReplyContext, write_result};
use crate::{
    Namespace, Result,
    bson::{Bson, RawDocumentBuf},
    proto::{
        command::{CommandBuilder, Reply},
        description::HelloReply,
        server_selection::Criteria,
    },
    types::{collation::Collation, concern::WriteConcern},
};

/// Options of a new collection, by their specified names.
#[derive(Clone, Debug, Default)]
pub(crate) struct CreateOptions {
    pub(crate) capped: Option<bool>,
    pub(crate) size: Option<u64>,
    pub(crate) max: Option<u64>,
    pub(crate) storage_engine: Option<RawDocumentBuf>,
    pub(crate) validator: Option<RawDocumentBuf>,
    pub(crate) validation_level: Option<String>,
    pub(crate) validation_action: Option<String>,
    pub(crate) view_on: Option<String>,
    pub(crate) pipeline: Option<Vec<RawDocumentBuf>>,
    pub(crate) collation: Option<Collation>,
    pub(crate) expire_after_seconds: Option<Duration>,
    pub(crate) timeseries: Option<RawDocumentBuf>,
    pub(crate) clustered_index: Option<RawDocumentBuf>,
    pub(crate) change_stream_pre_and_post_images: Option<RawDocumentBuf>,
    pub(crate) index_option_defaults: Option<RawDocumentBuf>,
    pub(crate) comment: Option<Bson>,
}

/// Creates a collection.
pub(crate) struct Create<'a> {
    pub(crate) namespace: &'a Namespace,
    pub(crate) options: &'a CreateOptions,
    pub(crate) write_concern: &'a WriteConcern,
}

fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Operation for Create<'_> {
    type Output = ();
    const NAME: &'static str = "create";

    fn database(&self) -> &str {
        &self.namespace.database
    }

    fn target(&self) -> Criteria<'_> {
        Criteria::Writable
    }

    fn write_concern(&self) -> Option<&WriteConcern> {
        Some(self.write_concern)
    }

    fn expects_reply(&self) -> bool {
        true
    }

    fn build(&mut self, command: &mut CommandBuilder<'_>, _server: &HelloReply) -> Result<()> {
        let options = self.options;
        command.str("create", &self.namespace.collection);
        command.optional_bool("capped", options.capped);
        for (key, value) in [("size", options.size), ("max", options.max)] {
            if let Some(value) = value {
                command.i64(key, whole(value));
            }
        }
        for (key, value) in [
            ("storageEngine", &options.storage_engine),
            ("validator", &options.validator),
            ("timeseries", &options.timeseries),
            ("clusteredIndex", &options.clustered_index),
            (
                "changeStreamPreAndPostImages",
                &options.change_stream_pre_and_post_images,
            ),
            ("indexOptionDefaults", &options.index_option_defaults),
        ] {
            command.optional_document(key, value.as_deref());
        }
        for (key, value) in [
            ("validationLevel", &options.validation_level),
            ("validationAction", &options.validation_action),
            ("viewOn", &options.view_on),
        ] {
            if let Some(value) = value {
                command.str(key, value);
            }
        }
        if let Some(pipeline) = &options.pipeline {
            command.documents("pipeline", pipeline.iter().map(|stage| &**stage));
        }
        command.collation(options.collation.as_ref());
        if let Some(expiry) = options.expire_after_seconds {
            command.i64("expireAfterSeconds", whole(expiry.as_secs()));
        }
        command.optional_bson("comment", options.comment.as_ref());
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<()> {
        write_result::check_single(reply)
    }
}
