//! Change streams: a cursor over the oplog that shows what happened as events.

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
use options::{Options, now};
use std::collections::VecDeque;
use token::{Place, Token};

/// An open change stream.
#[derive(Debug)]
pub(crate) struct ChangeStream {
    options: Options,
    pipeline: Pipeline,
    env: Env,
    /// Everything up to here was looked at.
    position: Token,
    /// Events that no batch had room for.
    pending: VecDeque<(Token, Document)>,
    /// An invalidation was seen: nothing comes after it.
    ended: bool,
}

/// One batch of events.
pub(crate) struct Batch {
    pub(crate) events: Vec<Document>,
    /// From where to resume after this batch.
    pub(crate) token: Document,
    /// The stream has ended with this batch.
    pub(crate) ended: bool,
}

impl ChangeStream {
    /// Opens a stream with the stages of an aggregate that begins with `$changeStream`.
    pub(crate) fn open(
        deployment: &Deployment,
        db: &str,
        collection: Option<&Namespace>,
        stages: &[Bson],
        env: Env,
    ) -> Result<ChangeStream> {
        let (first, rest) = stages
            .split_first()
            .ok_or_else(|| Error::new(code::INTERNAL_ERROR, "a change stream has a first stage"))?;
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
        let position = options.start.unwrap_or_else(|| now(deployment.operation_time()));
        let stream = ChangeStream {
            options,
            pipeline,
            env,
            position,
            pending: VecDeque::new(),
            ended: false,
        };
        // What the stream is to begin with must still be there.
        drop(stream.scan(deployment)?);
        Ok(stream)
    }

    /// The next events, as many as a batch takes.
    pub(crate) fn next(&mut self, deployment: &Deployment, catalog: &Catalog, limit: usize) -> Result<Batch> {
        if self.pending.is_empty() && !self.ended {
            self.look(deployment, catalog)?;
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
            // More is known to come: a later token would skip it.
            Some(token) if !self.pending.is_empty() || self.ended => token,
            _ => self.position,
        };
        Ok(Batch {
            events,
            token: token.to_document(),
            ended: self.ended && self.pending.is_empty(),
        })
    }

    /// Oplog entries that may hold something new.
    fn scan(&self, deployment: &Deployment) -> Result<Vec<crate::storage::change::Entry>> {
        deployment
            .oplog()
            .from(self.position.time)
            .map(|entries| entries.cloned().collect())
            .ok_or_else(|| {
                Error::new(
                    code::CHANGE_STREAM_HISTORY_LOST,
                    "Resume of change stream was not possible, as the resume point may no longer be in the oplog.",
                )
                .labeled("NonResumableChangeStreamError")
            })
    }

    fn look(&mut self, deployment: &Deployment, catalog: &Catalog) -> Result<()> {
        // The catalog is locked, so nothing is added to the oplog meanwhile.
        let until = now(deployment.operation_time());
        for entry in self.scan(deployment)? {
            for (token, event) in event::events(&entry, &self.options, deployment.version, catalog)? {
                if token <= self.position {
                    continue;
                }
                if token.place == Place::Invalidate {
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

    /// Sends an event through the stages after `$changeStream`.
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
