//! The reply to `hello`, as far as drivers use it.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;

use crate::bson::{DateTime, ObjectId};

/// A reply to `hello` or to its legacy form. Fields that a server leaves out are `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HelloReply {
    pub is_writable_primary: bool,
    /// The legacy spelling of `isWritablePrimary`.
    pub ismaster: bool,
    pub hello_ok: bool,
    /// `isdbgrid` on a mongos.
    pub msg: Option<String>,
    pub isreplicaset: bool,
    pub set_name: Option<String>,
    pub set_version: Option<i64>,
    pub election_id: Option<ObjectId>,
    pub hosts: Vec<String>,
    pub passives: Vec<String>,
    pub arbiters: Vec<String>,
    pub primary: Option<String>,
    pub me: Option<String>,
    pub secondary: bool,
    pub arbiter_only: bool,
    pub passive: bool,
    pub hidden: bool,
    pub tags: BTreeMap<String, String>,
    pub last_write: Option<LastWrite>,
    pub min_wire_version: i32,
    pub max_wire_version: i32,
    pub max_bson_object_size: Option<i64>,
    pub max_message_size_bytes: Option<i64>,
    pub max_write_batch_size: Option<i64>,
    pub logical_session_timeout_minutes: Option<i64>,
    pub topology_version: Option<TopologyVersion>,
    /// The server's number for this connection.
    #[serde(deserialize_with = "integer")]
    pub connection_id: Option<i64>,
    pub service_id: Option<ObjectId>,
    /// Whether it is a mongocryptd, which stores nothing.
    pub iscryptd: bool,
}

/// When a member last applied a write.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LastWrite {
    pub last_write_date: Option<DateTime>,
}

/// Orders the states of one server process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TopologyVersion {
    /// The process; states of different processes cannot be compared.
    pub process_id: ObjectId,
    /// Grows with every change.
    pub counter: i64,
}

impl HelloReply {
    /// The largest message the server takes; `None` when it did not say.
    pub fn max_message_size(&self) -> Option<usize> {
        positive(self.max_message_size_bytes)
    }

    /// The largest document the server stores: 16 MiB unless it says otherwise.
    pub fn max_document_size(&self) -> usize {
        positive(self.max_bson_object_size).unwrap_or(16 << 20)
    }

    /// The most statements in one write command: 100,000 unless the server says otherwise.
    pub fn max_batch_size(&self) -> usize {
        positive(self.max_write_batch_size).unwrap_or(100_000)
    }

    /// How long the server keeps an unused session; `None` when it has no sessions.
    pub fn session_timeout(&self) -> Option<Duration> {
        let minutes = u64::try_from(self.logical_session_timeout_minutes?).ok()?;
        Some(Duration::from_secs(minutes.saturating_mul(60)))
    }

    /// Server 4.4 or newer.
    pub fn is_4_4(&self) -> bool {
        self.max_wire_version >= 9
    }

    /// Server 5.0 or newer.
    pub fn is_5_0(&self) -> bool {
        self.max_wire_version >= 13
    }

    /// Server 8.2 or newer.
    pub fn is_8_2(&self) -> bool {
        self.max_wire_version >= 27
    }

    /// A mongos.
    pub fn is_mongos(&self) -> bool {
        self.msg.as_deref() == Some("isdbgrid")
    }

    /// A member of a replica set.
    pub fn is_replica_set_member(&self) -> bool {
        self.set_name.is_some()
    }
}

/// An integer of any BSON number type. Servers count in integers, whatever type they send them as.
fn integer<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Number {
        Integer(i64),
        Double(f64),
    }
    Ok(
        Option::<Number>::deserialize(deserializer)?.map(|number| match number {
            Number::Integer(number) => number,
            Number::Double(number) => number as i64,
        }),
    )
}

fn positive(value: Option<i64>) -> Option<usize> {
    value.and_then(|v| usize::try_from(v).ok()).filter(|v| *v > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bson::{doc, from_slice, to_vec};

    #[test]
    fn the_number_of_a_connection_is_exact() {
        let number = |hello| {
            from_slice::<HelloReply>(&to_vec(&hello).unwrap())
                .unwrap()
                .connection_id
        };
        assert_eq!(number(doc! { "connectionId": 7 }), Some(7));
        assert_eq!(number(doc! { "connectionId": 7.0 }), Some(7));
        assert_eq!(number(doc! { "connectionId": i64::MAX }), Some(i64::MAX));
        assert_eq!(
            number(doc! { "connectionId": (1_i64 << 53) + 1 }),
            Some((1 << 53) + 1)
        );
        assert_eq!(number(doc! {}), None);
    }
}
