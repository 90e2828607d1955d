//! The `cursor` field of a reply ([Find, getMore and killCursors Commands]).
//!
//! [Find, getMore and killCursors Commands]:
//! https://github.com/mongodb/specifications/blob/master/source/find_getmore_killcursors_commands/find_getmore_killcursors_commands.md

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::{
    Error, Result, ServerAddress,
    bson::{RawDocument, RawElement, RawElements, find_element},
    operation::ReplyContext,
    pool::PooledConnection,
    proto::{
        command::{CommandBuilder, Reply, array_bytes, document_bytes},
        session::ServerSession,
        wire::ReplyBuffer,
    },
    telemetry::OperationScope,
    types::{
        in_flight::{Held, OfCursor},
        resume_token::ResumeToken,
    },
};

/// The reply to a command that opens or continues a cursor.
#[derive(Debug)]
pub(crate) struct CursorReply {
    /// The ID of the cursor; 0 if the server has closed it.
    pub(crate) id: i64,
    /// The namespace for getMore.
    pub(crate) namespace: crate::Namespace,
    pub(crate) batch: Batch,
    /// `postBatchResumeToken`, which change streams return. Boxed, because other cursors have none.
    pub(crate) post_batch_resume_token: Option<Box<ResumeToken>>,
    /// The server that has the cursor.
    pub(crate) address: ServerAddress,
    /// The implicit session for getMore.
    pub(crate) session: Option<ServerSession>,
    /// What the cursor's commands share.
    pub(crate) scope: OperationScope,
    /// The connection for getMore in load-balanced mode, where another connection may lead to
    /// another server (Load Balancer Support, "Connection Pinning").
    pub(crate) pin: Option<Box<PooledConnection>>,
    /// Set while the cursor is open, unless it has no end.
    pub(crate) held: Option<Held<OfCursor>>,
}

impl CursorReply {
    /// Returns itself if the server has not closed the cursor.
    pub(crate) fn if_open(&mut self) -> Option<&mut Self> {
        (self.id != 0).then_some(self)
    }
}

/// A batch of documents: the bytes of the reply and a position. Documents are decoded when they are
/// requested.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    reply: ReplyBuffer,
    /// The documents that have not been visited, as a range of the reply's body.
    rest: Range<usize>,
    current: Range<usize>,
}

impl Batch {
    /// Moves to the next document. Returns `false` at the end of the batch.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        let rest = self.reply.body().get(self.rest.clone()).unwrap_or_default();
        let elements = RawElements::unframed(rest);
        let mut after = elements;
        let Some(item) = after.take_item() else {
            end_of_batch(elements)?;
            self.current = 0..0;
            return Ok(false);
        };
        let Some(document) = document_bytes(item) else {
            return Err(not_a_document());
        };
        // The value is the last part of an element, so the document ends where the element ends.
        self.rest.start += after.offset();
        self.current = self.rest.start - document.len()..self.rest.start;
        Ok(true)
    }

    /// Whether [`advance`](Self::advance) moved to a document.
    pub(crate) fn has_current(&self) -> bool {
        !self.current.is_empty()
    }

    /// The bytes of the document that [`advance`](Self::advance) moved to; empty if there is none.
    pub(crate) fn current(&self) -> &[u8] {
        self.reply.body().get(self.current.clone()).unwrap_or_default()
    }

    /// As [`current`](Self::current). The length and the terminator of the document are checked.
    pub(crate) fn current_document(&self) -> Result<&RawDocument> {
        RawDocument::from_bytes(self.current()).map_err(invalid_document)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The documents that have not been visited. Ends after an error.
    pub(crate) fn documents(&self) -> impl Iterator<Item = Result<&RawDocument>> {
        let rest = self.reply.body().get(self.rest.clone()).unwrap_or_default();
        let mut elements = Some(RawElements::unframed(rest));
        std::iter::from_fn(move || {
            let before = elements.take()?;
            let mut after = before;
            let Some(item) = after.take_item() else {
                return end_of_batch(before).err().map(Err);
            };
            let Some(bytes) = document_bytes(item) else {
                return Some(Err(not_a_document()));
            };
            elements = Some(after);
            Some(RawDocument::from_bytes(bytes).map_err(invalid_document))
        })
    }

    /// Stores the bytes of the reply, unless the batch is empty.
    pub(crate) fn attach(&mut self, take: impl FnOnce() -> ReplyBuffer) {
        if !self.is_empty() {
            self.reply = take();
        }
    }
}

/// Returns an error if bytes follow the last element of the batch.
#[cold]
fn end_of_batch(mut elements: RawElements<'_>) -> Result<()> {
    elements.next_item()?;
    Ok(())
}

#[cold]
fn invalid_document(error: impl std::fmt::Display) -> Error {
    Error::invalid_reply(format!(
        "a document in the batch of a cursor is not valid BSON: {error}"
    ))
}

#[cold]
fn not_a_document() -> Error {
    Error::invalid_reply("the batch of a cursor contains an element that is not a document")
}

/// The field `cursor` of a command that opens a cursor.
pub(crate) fn write_cursor(command: &mut CommandBuilder<'_>, batch_size: Option<u32>) {
    let cursor = command.begin_document("cursor");
    if let Some(size) = batch_size {
        command.i64("batchSize", i64::from(size));
    }
    command.end(cursor);
}

/// Parses the `cursor` field. [`Batch::attach`] adds the bytes to the batch.
pub(crate) fn parse(reply: &Reply<'_>, context: &ReplyContext<'_>) -> Result<CursorReply> {
    let mut id = None;
    let mut namespace = None;
    let mut batch = None;
    let mut post_batch_resume_token = None;
    let (cursor, offset) = reply.cursor()?;
    let mut elements = RawElements::new(cursor)?;
    while let Some(RawElement { key, value }) = elements.next_element()? {
        match key {
            "id" => id = value.int().ok(),
            "ns" => namespace = value.str().ok().and_then(crate::Namespace::parse),
            "firstBatch" | "nextBatch" => {
                // The range leaves out the length and the terminator of the array.
                let end = offset + elements.offset();
                let array = array_bytes(value);
                // Checked here, because the batch does not contain the length and the terminator.
                array.map(RawElements::new).transpose()?;
                batch = array.map(|array| end - array.len() + 4..end - 1);
            }
            "postBatchResumeToken" => {
                let token = value.document().ok().map(ResumeToken::from);
                post_batch_resume_token = token.map(Box::new);
            }
            _ => {}
        }
    }
    let missing = |field| Error::invalid_reply(format!("a cursor reply has no valid field \"{field}\""));
    let rest = batch.ok_or_else(|| missing("firstBatch"))?;
    Ok(CursorReply {
        id: id.ok_or_else(|| missing("id"))?,
        namespace: namespace.ok_or_else(|| missing("ns"))?,
        batch: Batch {
            rest,
            ..Batch::default()
        },
        post_batch_resume_token,
        address: context.address.clone(),
        session: None,
        scope: OperationScope::default(),
        pin: None,
        held: None,
    })
}

/// The first document of a reply's first batch, for operations that return one document.
pub(crate) fn first_document<'a>(reply: &Reply<'a>) -> Result<Option<&'a [u8]>> {
    let array = find_element(reply.cursor()?.0, "firstBatch")?
        .and_then(|element| array_bytes(element.value))
        .ok_or_else(|| Error::invalid_reply("a cursor reply has no field \"firstBatch\""))?;
    match RawElements::new(array)?.next_item()? {
        None => Ok(None),
        Some(first) => document_bytes(first).map(Some).ok_or_else(not_a_document),
    }
}
