//! A reply that arrives after the operation has ended: the cursor that it opened must be closed
//! ([Find, getMore and killCursors Commands]), and what it says about its server and its session counts
//! as if the operation had received it ([Server Discovery And Monitoring], "Application errors";
//! [Transactions], "recoveryToken field").
//!
//! [Server Discovery And Monitoring]:
//! https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-discovery-and-monitoring.md
//! [Transactions]:
//! https://github.com/mongodb/specifications/blob/master/source/transactions/transactions.md
//! [Find, getMore and killCursors Commands]:
//! https://github.com/mongodb/specifications/blob/master/source/find_getmore_killcursors_commands/find_getmore_killcursors_commands.md

use super::{CommandBuilder, Reply};
use crate::{
    Error, Namespace,
    bson::{BinarySubtype, RawDocument, RawDocumentBuf, find_element},
    types::{late_replies::LateReply, server_api::ServerApi},
};

/// An open cursor on the server that the driver does not use.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCursor {
    id: i64,
    namespace: Namespace,
    /// `$clusterTime` of the reply.
    cluster_time: Option<RawDocumentBuf>,
}

impl OpenCursor {
    /// The cursor that a command opened, by the body of its reply. `None` if there is none, and for
    /// the reply to a `getMore`, whose cursor the application may still have.
    pub fn opened_by(reply: &[u8]) -> Option<Self> {
        Self::in_batch(reply, "firstBatch")
    }

    /// The cursor that a `getMore` continued, by the body of its reply.
    pub fn continued_by(reply: &[u8]) -> Option<Self> {
        Self::in_batch(reply, "nextBatch")
    }

    fn in_batch(reply: &[u8], batch: &str) -> Option<Self> {
        let cursor = Reply::scan(reply).ok()?.cursor().ok()?.0;
        let field = |name| find_element(cursor, name).ok().flatten();
        field(batch)?;
        let id = field("id")?.value.int().ok().filter(|id| *id != 0)?;
        let namespace = Namespace::parse(field("ns")?.value.str().ok()?)?;
        Some(Self {
            id,
            namespace,
            cluster_time: cluster_time_in(reply),
        })
    }

    /// The database on which [`kill`](Self::kill) runs.
    pub fn database(&self) -> &str {
        &self.namespace.database
    }

    /// `$clusterTime` of the reply.
    pub fn cluster_time(&self) -> Option<&RawDocument> {
        self.cluster_time.as_deref()
    }

    /// The command that closes the cursor.
    pub(crate) fn kill(&self) -> KillCursors<'_> {
        KillCursors {
            id: self.id,
            collection: &self.namespace.collection,
        }
    }
}

/// `killCursors` for one cursor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KillCursors<'a> {
    pub(crate) id: i64,
    pub(crate) collection: &'a str,
}

impl KillCursors<'_> {
    /// Writes the fields of the command itself.
    pub(crate) fn write(&self, command: &mut CommandBuilder<'_>) {
        command.str("killCursors", self.collection);
        command.serialize("cursors", &[self.id]);
    }
}

/// The fields of every command, for a command that a connection sends without an operation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Envelope<'a> {
    pub(crate) lsid: Option<[u8; 16]>,
    pub(crate) cluster_time: Option<&'a RawDocument>,
    pub(crate) server_api: Option<ServerApi>,
}

impl Envelope<'_> {
    pub(crate) fn write(&self, command: &mut CommandBuilder<'_>) {
        if let Some(id) = &self.lsid {
            let start = command.begin_document("lsid");
            command.binary("id", BinarySubtype::Uuid, id);
            command.end(start);
        }
        command.optional_document("$clusterTime", self.cluster_time);
        if let Some(api) = self.server_api {
            command.server_api(api);
        }
    }
}

/// The id of the session in the body of a command that the driver has written.
pub(crate) fn lsid_in(command: &[u8]) -> Option<[u8; 16]> {
    let lsid = find_element(command, "lsid").ok()??.value.document().ok()?;
    let id = find_element(lsid.as_bytes(), "id").ok()??;
    id.value.binary().ok()?.bytes.try_into().ok()
}

/// `$clusterTime` in the body of a reply.
pub(crate) fn cluster_time_in(reply: &[u8]) -> Option<RawDocumentBuf> {
    let time = Reply::scan(reply).ok()?.cluster_time()?;
    Some(RawDocument::from_bytes(time).ok()?.to_owned())
}

/// The "not writable primary" or "node is recovering" error in the body of a reply: that of the
/// command, or its write concern error.
pub fn state_change_in(reply: &[u8]) -> Option<Error> {
    let reply = Reply::scan(reply).ok()?;
    let refusal = reply.command_error().filter(Error::is_state_change);
    refusal.or_else(|| reply.state_change())
}

/// What the body of a reply says about its session: nothing if it is malformed.
pub(crate) fn late_reply(body: &[u8]) -> LateReply {
    let Ok(reply) = Reply::scan(body) else {
        return LateReply::default();
    };
    let owned = |bytes| Some(RawDocument::from_bytes(bytes).ok()?.to_owned());
    LateReply {
        recovery_token: reply.recovery_token().and_then(owned),
        cluster_time: reply.cluster_time().and_then(owned),
        operation_time: reply.operation_time(),
        ..LateReply::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::{RawDocumentBuf, Timestamp, rawdoc};

    fn open(id: i64) -> OpenCursor {
        OpenCursor {
            id,
            namespace: Namespace::new("shop", "orders.old"),
            cluster_time: None,
        }
    }

    fn first(id: i64) -> RawDocumentBuf {
        rawdoc! { "ok": 1.0, "cursor": { "firstBatch": [{ "_id": 1 }], "id": id, "ns": "shop.orders.old" } }
    }

    #[test]
    fn the_first_batch_of_an_open_cursor_names_it() {
        assert_eq!(OpenCursor::opened_by(first(7).as_bytes()), Some(open(7)));
        assert_eq!(OpenCursor::opened_by(first(0).as_bytes()), None);
        assert_eq!(OpenCursor::continued_by(first(7).as_bytes()), None);
    }

    #[test]
    fn a_further_batch_is_distinguished() {
        let next = rawdoc! { "ok": 1.0, "cursor": { "nextBatch": [], "id": 7_i64, "ns": "shop.orders.old" } };
        assert_eq!(OpenCursor::opened_by(next.as_bytes()), None);
        assert_eq!(OpenCursor::continued_by(next.as_bytes()), Some(open(7)));
    }

    #[test]
    fn other_replies_have_no_cursor() {
        let whole = first(7);
        for reply in [
            rawdoc! { "ok": 1.0, "n": 1 },
            rawdoc! { "ok": 1.0, "cursor": 7 },
            rawdoc! { "ok": 1.0, "cursor": { "firstBatch": [], "id": "7", "ns": "shop.orders" } },
            rawdoc! { "ok": 1.0, "cursor": { "firstBatch": [], "id": 7, "ns": "shop" } },
            rawdoc! { "ok": 1.0, "cursor": { "firstBatch": [], "id": 7 } },
        ] {
            assert_eq!(OpenCursor::opened_by(reply.as_bytes()), None);
        }
        for end in 0..whole.as_bytes().len() {
            assert_eq!(OpenCursor::opened_by(&whole.as_bytes()[..end]), None);
        }
    }

    #[test]
    fn a_state_change_is_found_in_either_error() {
        for (reply, code) in [
            (rawdoc! { "ok": 0.0, "code": 10107, "errmsg": "x" }, Some(10107)),
            (
                rawdoc! { "ok": 1.0, "writeConcernError": { "code": 91, "errmsg": "x" } },
                Some(91),
            ),
            (rawdoc! { "ok": 0.0, "code": 50, "errmsg": "x" }, None),
            (
                rawdoc! { "ok": 1.0, "writeConcernError": { "code": 64, "errmsg": "x" } },
                None,
            ),
            (rawdoc! { "ok": 1.0 }, None),
        ] {
            let error = state_change_in(reply.as_bytes());
            assert_eq!(error.as_ref().and_then(sent_code), code, "{reply:?}");
            assert!(
                error.is_none_or(|error| error.server_response().is_some()),
                "for topologyVersion"
            );
        }
        assert!(state_change_in(&[1, 2, 3]).is_none());
    }

    #[test]
    fn a_reply_has_the_times_and_the_recovery_token_of_its_session() {
        let time = Timestamp {
            time: 7,
            increment: 1,
        };
        let cluster_time = rawdoc! { "clusterTime": time };
        let body = rawdoc! {
            "ok": 1.0, "recoveryToken": { "a": 1 }, "$clusterTime": cluster_time.clone(), "operationTime": time,
        };
        let expected = LateReply {
            transaction: None,
            recovery_token: Some(rawdoc! { "a": 1 }),
            cluster_time: Some(cluster_time),
            operation_time: Some(time),
        };
        assert_eq!(late_reply(body.as_bytes()), expected);
        // Only a reply with `ok: 1` has a token.
        let refusal = rawdoc! { "ok": 0.0, "recoveryToken": { "a": 1 }, "operationTime": time };
        let refused = late_reply(refusal.as_bytes());
        assert_eq!(
            (refused.recovery_token, refused.operation_time),
            (None, Some(time))
        );
        assert_eq!(late_reply(&[1, 2, 3]), LateReply::default());
    }

    fn sent_code(error: &Error) -> Option<i32> {
        error
            .code()
            .or_else(|| error.write_concern_error().map(|concern| concern.code))
    }

    #[test]
    fn the_command_names_collection_and_cursor() {
        let mut buffer = Vec::new();
        let mut command = CommandBuilder::new(&mut buffer);
        open(7).kill().write(&mut command);
        command.finish(open(7).database()).expect("short");
        let expected = rawdoc! { "killCursors": "orders.old", "cursors": [7_i64], "$db": "shop" };
        assert_eq!(buffer, expected.as_bytes());
    }
}
