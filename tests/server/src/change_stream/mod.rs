//! Change streams: cursors over the oplog that return change events.

mod diff;
mod event;
mod options;
mod split;
mod token;

use crate::aggregate::{Pipeline, Source};
use crate::deployment::Deployment;
use crate::error::{Error, Result, code};
use crate::query::Env;
use crate::storage::{Catalog, Namespace};
use crate::version::Version;
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
    /// The token of the last batch, before which there is no event that was not returned.
    returned: Token,
    /// Events not returned yet.
    pending: VecDeque<(Token, Document)>,
    /// Whether the stream was invalidated; no event follows.
    ended: bool,
    /// Whether large events are split.
    splits: bool,
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
        let (rest, splits) = without_split(rest, deployment.version)?;
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
        if !splits && options.start.is_some_and(|token| token.fragment > 0) {
            return Err(fatal(format!(
                "To resume from a split event, the $changeStream pipeline must include a {} stage",
                split::STAGE
            )));
        }
        let position = options
            .start
            .unwrap_or_else(|| high_water_mark(deployment.operation_time()));
        let stream = ChangeStream {
            options,
            pipeline,
            env,
            position,
            returned: position,
            pending: VecDeque::new(),
            ended: false,
            splits,
        };
        // Fails if the start of the stream is no longer in the oplog.
        drop(stream.scan(deployment)?);
        Ok(stream)
    }

    /// Returns the next batch: up to `limit` events that fit into a reply. If it is 0, the oplog is not read.
    pub(crate) fn next(&mut self, deployment: &Deployment, catalog: &Catalog, limit: usize) -> Result<Batch> {
        if self.pending.is_empty() && !self.ended && limit > 0 {
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
        self.returned = match last {
            // Resuming after a later token would skip the pending events.
            Some(token) if !self.pending.is_empty() || self.ended => token,
            None if !self.pending.is_empty() => self.returned,
            _ => self.position,
        };
        Ok(Batch {
            events,
            token: self.returned.to_document(),
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
                // A stream can continue within a split event.
                let continues = token == self.position.of_fragment(0) && self.position.fragment > 0;
                if token <= self.position && !continues {
                    continue;
                }
                if token.position == Position::Invalidate {
                    self.ended = true;
                }
                if let Some(event) = self.transform(event, catalog)? {
                    self.append(token, event, continues)?;
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

    /// Appends an event or its fragments to `pending`. `continues`: without the fragments up to the
    /// position.
    fn append(&mut self, token: Token, event: Document, continues: bool) -> Result<()> {
        if !self.splits {
            split::check_size(&event)?;
            self.pending.push_back((token, event));
            return Ok(());
        }
        let fragments = split::split(token, event)?;
        if continues && fragments.len() == 1 {
            return Err(fatal(
                "Attempted to resume from a split event, but the resumed event was not split. Ensure that the pipeline is the same."
                    .to_owned(),
            ));
        }
        let after = self.position;
        let rest = fragments
            .into_iter()
            .filter(|(token, _)| !continues || *token > after);
        self.pending.extend(rest);
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
            profile: self.env.profile,
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

fn fatal(message: String) -> Error {
    Error::new(code::CHANGE_STREAM_FATAL_ERROR, message).labeled("NonResumableChangeStreamError")
}

/// The stages without a final `$changeStreamSplitLargeEvent`, and whether there is one.
fn without_split(stages: &[Bson], version: Version) -> Result<(&[Bson], bool)> {
    for (index, stage) in stages.iter().enumerate() {
        if let Some(argument) = stage.as_document().and_then(|stage| stage.get(split::STAGE)) {
            if !split::is_supported(version) {
                return Err(Error::new(
                    40324,
                    format!("Unrecognized pipeline stage name: '{}'", split::STAGE),
                ));
            }
            split::check(argument, index + 1 == stages.len())?;
            return Ok((&stages[..index], true));
        }
    }
    Ok((stages, false))
}
