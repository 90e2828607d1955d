//! `collMod` and `renameCollection`: changes to a collection that exists.

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
    types::concern::WriteConcern,
};

/// Options of `collMod`, by their specified names.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModifyOptions {
    pub(crate) index: Option<RawDocumentBuf>,
    pub(crate) validator: Option<RawDocumentBuf>,
    pub(crate) validation_level: Option<String>,
    pub(crate) validation_action: Option<String>,
    pub(crate) view_on: Option<String>,
    pub(crate) pipeline: Option<Vec<RawDocumentBuf>>,
    pub(crate) expire_after_seconds: Option<Duration>,
    pub(crate) timeseries: Option<RawDocumentBuf>,
    pub(crate) change_stream_pre_and_post_images: Option<RawDocumentBuf>,
    pub(crate) comment: Option<Bson>,
}

/// Changes the options of a collection or of one of its indexes.
pub(crate) struct Modify<'a> {
    pub(crate) namespace: &'a Namespace,
    pub(crate) options: &'a ModifyOptions,
    pub(crate) write_concern: &'a WriteConcern,
}

impl Operation for Modify<'_> {
    type Output = ();
    const NAME: &'static str = "collMod";

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
        command.str("collMod", &self.namespace.collection);
        for (key, value) in [
            ("index", &options.index),
            ("validator", &options.validator),
            ("timeseries", &options.timeseries),
            (
                "changeStreamPreAndPostImages",
                &options.change_stream_pre_and_post_images,
            ),
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
        if let Some(expiry) = options.expire_after_seconds {
            command.i64(
                "expireAfterSeconds",
                i64::try_from(expiry.as_secs()).unwrap_or(i64::MAX),
            );
        }
        command.optional_bson("comment", options.comment.as_ref());
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<()> {
        write_result::check_single(reply)
    }
}

/// Options of `renameCollection`.
#[derive(Clone, Debug, Default)]
pub(crate) struct RenameOptions {
    pub(crate) drop_target: Option<bool>,
    pub(crate) comment: Option<Bson>,
}

/// Gives a collection another name.
pub(crate) struct Rename<'a> {
    pub(crate) from: &'a Namespace,
    pub(crate) to: &'a Namespace,
    pub(crate) options: &'a RenameOptions,
    pub(crate) write_concern: &'a WriteConcern,
}

impl Operation for Rename<'_> {
    type Output = ();
    const NAME: &'static str = "renameCollection";

    fn database(&self) -> &'static str {
        "admin"
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
        command.str("renameCollection", &self.from.to_string());
        command.str("to", &self.to.to_string());
        command.optional_bool("dropTarget", self.options.drop_target);
        command.optional_bson("comment", self.options.comment.as_ref());
        command.write_concern(self.write_concern);
        Ok(())
    }

    fn parse(&mut self, reply: &Reply<'_>, _context: &ReplyContext<'_>) -> Result<()> {
        write_result::check_single(reply)
    }
}
