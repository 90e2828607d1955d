//! Change streams: cursors over the oplog that return change events.

mod diff;
mod event;
mod options;
mod token;

use crate::aggregate::{Pipeline, Source};
use crate::deployment::Deployment;
use crate::error::{Error, Result, code};
use crate::query::Env;
use crate::storage::{Catalog, Namespace};
use bson::{Bson, Document};
use options::{Options, high_water_mark};
use std::collections::VecDeque;
use token::{Position, Token};

/// An open change stream.
#[derive(Debug)]
pub(crate) struct ChangeStream {
    options: Options,
    pipeline: Pipeline,
    env: Env,
    /// The oplog is processed up to this token.
    position: Token,
    /// Events not returned yet.
    pending: VecDeque<(Token, Document)>,
    /// Whether the stream was invalidated; no event follows.
    ended: bool,
}

/// One batch of events.
pub(crate) struct Batch {
    pub(crate) events: Vec<Document>,
    /// The `postBatchResumeToken`.
    pub(crate) token: Document,
    /// Whether the stream ends with this batch.
    pub(crate) ended: bool,
}

impl ChangeStream {
    /// Opens a stream with the pipeline of an `aggregate` whose first stage is `$changeStream`.
    pub(crate) fn open(
        deployment: &Deployment,
        db: &str,
        collection: Option<&Namespace>,
        stages: &[Bson],
        env: Env,
    ) -> Result<ChangeStream> {
        let (first, rest) = stages.split_first().ok_or_else(|| {
            Error::new(
                code::INTERNAL_ERROR,
                "the pipeline of a change stream has no first stage",
            )
        })?;
        let Some(Bson::Document(spec)) = first.as_document().and_then(|stage| stage.get("$changeStream"))
        else {
            return Err(Error::new(
                50808,
                "$changeStream stage expects a document as argument",
            ));
        };
        let options = Options::parse(spec, db, collection)?;
        let pipeline = Pipeline::parse(rest, &env)?;
        for stage in rest {
            let name = stage.as_document().and_then(|stage| stage.keys().next());
            let allowed = [
                "$addFields",
                "$match",
                "$project",
                "$replaceRoot",
                "$replaceWith",
                "$redact",
                "$set",
                "$unset",
            ];
            if let Some(name) = name
                && !allowed.contains(&name.as_str())
            {
                return Err(Error::new(
                    code::ILLEGAL_OPERATION,
                    format!("{name} is not permitted in a $changeStream pipeline"),
                ));
            }
        }
        let position = options
            .start
            .unwrap_or_else(|| high_water_mark(deployment.operation_time()));
        let stream = ChangeStream {
            options,
            pipeline,
            env,
            position,
            pending: VecDeque::new(),
            ended: false,
        };
        // Fails if the start of the stream is no longer in the oplog.
        drop(stream.scan(deployment)?);
        Ok(stream)
    }

    /// Returns the next batch: up to `limit` events that fit into a reply.
    pub(crate) fn next(&mut self, deployment: &Deployment, catalog: &Catalog, limit: usize) -> Result<Batch> {
        if self.pending.is_empty() && !self.ended {
            self.read_oplog(deployment, catalog)?;
        }
        let mut events = Vec::new();
        let mut last = None;
        let mut bytes = 0;
        while events.len() < limit
            && let Some((token, event)) = self.pending.front()
        {
            bytes += crate::value::document_size(event);
            if bytes > crate::storage::collection::MAX_DOCUMENT_SIZE && !events.is_empty() {
                break;
            }
            last = Some(*token);
            events.extend(self.pending.pop_front().map(|(_, event)| event));
        }
        let token = match last {
            // Resuming after a later token would skip the pending events.
            Some(token) if !self.pending.is_empty() || self.ended => token,
            _ => self.position,
        };
        Ok(Batch {
            events,
            token: token.to_document(),
            ended: self.ended && self.pending.is_empty(),
        })
    }

    /// The oplog entries from the position on.
    fn scan(&self, deployment: &Deployment) -> Result<Vec<crate::storage::change::Entry>> {
        deployment
            .oplog()
            .starting_at(self.position.time)
            .map(|entries| entries.cloned().collect())
            .ok_or_else(|| {
                Error::new(
                    code::CHANGE_STREAM_HISTORY_LOST,
                    "Resume of change stream was not possible, as the resume point may no longer be in the oplog.",
                )
                .labeled("NonResumableChangeStreamError")
            })
    }

    /// Appends the events of new oplog entries to `pending`.
    fn read_oplog(&mut self, deployment: &Deployment, catalog: &Catalog) -> Result<()> {
        // The catalog is locked, so the oplog does not change in the meantime.
        let until = high_water_mark(deployment.operation_time());
        for entry in self.scan(deployment)? {
            for (token, event) in event::events(&entry, &self.options, deployment.version, catalog)? {
                if token <= self.position {
                    continue;
                }
                if token.position == Position::Invalidate {
                    self.ended = true;
                }
                if let Some(event) = self.transform(event, catalog)? {
                    self.pending.push_back((token, event));
                }
                if self.ended {
                    self.position = token;
                    return Ok(());
                }
            }
        }
        self.position = self.position.max(until);
        Ok(())
    }

    /// Runs the stages after `$changeStream` on an event.
    fn transform(&self, event: Document, catalog: &Catalog) -> Result<Option<Document>> {
        let id = event.get("_id").cloned();
        let source = Source {
            catalog,
            database: "",
            collection: None,
            host: "",
            lsid: None,
        };
        let out = self
            .pipeline
            .run(vec![event], source, &self.env)?
            .into_iter()
            .next();
        match out {
            Some(event) if event.get("_id") != id.as_ref() => Err(Error::new(
                code::CHANGE_STREAM_FATAL_ERROR,
                "Encountered an event whose _id field, which contains the resume token, was modified by the pipeline. Modifying the \
                 _id field of an event makes it impossible to resume the stream from that point. Only transformations that retain \
                 the unmodified _id field are allowed.",
            )
            .labeled("NonResumableChangeStreamError")),
            out => Ok(out),
        }
    }
}
