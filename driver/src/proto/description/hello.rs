//! The reply to `hello`, as far as drivers use it.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;

use crate::bson::{DateTime, ObjectId};

/// A reply to `hello` or to its legacy form. Fields that a server leaves out are `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct HelloReply {
    pub(crate) is_writable_primary: bool,
    /// The legacy spelling of `isWritablePrimary`.
    pub(crate) ismaster: bool,
    pub(crate) hello_ok: bool,
    /// `isdbgrid` on a mongos.
    pub(crate) msg: Option<String>,
    pub(crate) isreplicaset: bool,
    pub(crate) set_name: Option<String>,
    pub(crate) set_version: Option<i64>,
    pub(crate) election_id: Option<ObjectId>,
    pub(crate) hosts: Vec<String>,
    pub(crate) passives: Vec<String>,
    pub(crate) arbiters: Vec<String>,
    pub(crate) primary: Option<String>,
    pub(crate) me: Option<String>,
    pub(crate) secondary: bool,
    pub(crate) arbiter_only: bool,
    pub(crate) passive: bool,
    pub(crate) hidden: bool,
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) last_write: Option<LastWrite>,
    pub(crate) min_wire_version: i32,
    pub(crate) max_wire_version: i32,
    pub(crate) max_bson_object_size: Option<i64>,
    pub(crate) max_message_size_bytes: Option<i64>,
    pub(crate) max_write_batch_size: Option<i64>,
    pub(crate) logical_session_timeout_minutes: Option<i64>,
    pub(crate) topology_version: Option<TopologyVersion>,
    /// The server's number for this connection.
    pub(crate) connection_id: Option<f64>,
    pub(crate) service_id: Option<ObjectId>,
}

/// When a member last applied a write.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct LastWrite {
    pub(crate) last_write_date: Option<DateTime>,
}

/// Orders the states of one server process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TopologyVersion {
    pub(crate) process_id: ObjectId,
    pub(crate) counter: i64,
}

impl HelloReply {
    /// The largest message the server takes; `None` when it did not say.
    pub(crate) fn max_message_size(&self) -> Option<usize> {
        positive(self.max_message_size_bytes)
    }

    /// The largest document the server stores: 16 MiB unless it says otherwise.
    pub(crate) fn max_document_size(&self) -> usize {
        positive(self.max_bson_object_size).unwrap_or(16 << 20)
    }

    /// The most statements in one write command: 100,000 unless the server says otherwise.
    pub(crate) fn max_batch_size(&self) -> usize {
        positive(self.max_write_batch_size).unwrap_or(100_000)
    }

    /// How long the server keeps an unused session; `None` when it has no sessions.
    pub(crate) fn session_timeout(&self) -> Option<Duration> {
        let minutes = u64::try_from(self.logical_session_timeout_minutes?).ok()?;
        Some(Duration::from_secs(minutes.saturating_mul(60)))
    }

    /// Server 4.4 or newer.
    pub(crate) fn is_4_4(&self) -> bool {
        self.max_wire_version >= 9
    }

    /// A mongos.
    pub(crate) fn is_mongos(&self) -> bool {
        self.msg.as_deref() == Some("isdbgrid")
    }

    /// A member of a replica set.
    pub(crate) fn is_replica_set_member(&self) -> bool {
        self.set_name.is_some()
    }
}

fn positive(value: Option<i64>) -> Option<usize> {
    value.and_then(|v| usize::try_from(v).ok()).filter(|v| *v > 0)
}
