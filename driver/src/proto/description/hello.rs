//! The reply to `hello` ([Server Discovery and Monitoring], [`hello` command]).
//!
//! [Server Discovery and Monitoring]:
//! https://github.com/mongodb/specifications/blob/master/source/server-discovery-and-monitoring/server-discovery-and-monitoring.md
//!
//! [`hello` command]: https://www.mongodb.com/docs/manual/reference/command/hello/

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::{Deserialize, Deserializer, de::DeserializeOwned};

use crate::{
    bson::{Bson, DateTime, ObjectId, exact, from_bson},
    proto::wire::DEFAULT_MAX_MESSAGE_SIZE,
};

/// A reply to `hello` or `isMaster`. Fields that are absent are `None`, false, 0 or empty, and so are those of an unexpected
/// type if the server can be used without them: `tags`, `primary`, `passive`, `lastWrite`, `topologyVersion` and
/// `connectionId`. The error of another field names it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HelloReply {
    /// `isWritablePrimary`: a writable primary, a mongos or a standalone.
    pub is_writable_primary: bool,
    /// `ismaster`: the legacy name of `isWritablePrimary`.
    pub ismaster: bool,
    /// `helloOk`: the server supports the command `hello`.
    pub hello_ok: bool,
    /// `"isdbgrid"` on a mongos.
    pub msg: Option<String>,
    /// A member of a replica set that is not initiated (server type `RSGhost`).
    pub isreplicaset: bool,
    /// `setName`
    pub set_name: Option<String>,
    /// `setVersion`: the version of the replica set configuration.
    pub set_version: Option<i64>,
    /// `electionId`: from a primary only.
    pub election_id: Option<ObjectId>,
    /// The members that can become primary.
    pub hosts: Vec<String>,
    /// The members with priority 0.
    pub passives: Vec<String>,
    /// The arbiters.
    pub arbiters: Vec<String>,
    /// The primary, if the member knows one.
    #[serde(deserialize_with = "detail")]
    pub primary: Option<String>,
    /// The address of the member in the replica set configuration.
    pub me: Option<String>,
    /// A secondary.
    pub secondary: bool,
    /// `arbiterOnly`: an arbiter.
    pub arbiter_only: bool,
    /// A member with priority 0.
    #[serde(deserialize_with = "detail")]
    pub passive: bool,
    /// A hidden member (server type `RSOther`).
    pub hidden: bool,
    /// The tags of the member, for server selection.
    #[serde(deserialize_with = "tags")]
    pub tags: BTreeMap<String, String>,
    /// `lastWrite`: for `maxStalenessSeconds`.
    #[serde(deserialize_with = "detail")]
    pub last_write: Option<LastWrite>,
    /// `minWireVersion`
    pub min_wire_version: i32,
    /// `maxWireVersion`: 8 for server 4.2, 9 for 4.4, 13 for 5.0, 17 for 6.0, 21 for 7.0, 25 for
    /// 8.0.
    pub max_wire_version: i32,
    /// `maxBsonObjectSize`, in bytes.
    pub max_bson_object_size: Option<i64>,
    /// `maxMessageSizeBytes`
    pub max_message_size_bytes: Option<i64>,
    /// The most bytes of the statements of one command, unless it has a single statement. Not a field of the reply: automatic
    /// encryption sets it.
    #[serde(skip)]
    pub max_statement_bytes: Option<usize>,
    /// `maxWriteBatchSize`: statements in one write command.
    pub max_write_batch_size: Option<i64>,
    /// `logicalSessionTimeoutMinutes`. `None`: the server does not support sessions.
    pub logical_session_timeout_minutes: Option<i64>,
    /// `topologyVersion`: servers from 4.4 on.
    #[serde(deserialize_with = "detail")]
    pub topology_version: Option<TopologyVersion>,
    /// `connectionId`: the server's id of this connection. Some servers return a double.
    #[serde(deserialize_with = "detail")]
    pub connection_id: Option<i64>,
    /// `serviceId`: behind a load balancer only.
    pub service_id: Option<ObjectId>,
    /// A mongocryptd, which stores no data.
    pub iscryptd: bool,
}

/// `lastWrite` of a member.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LastWrite {
    /// `lastWriteDate`: the time of the last write that the member applied.
    pub last_write_date: Option<DateTime>,
}

/// `topologyVersion` of a server (MongoDB 4.4+). It orders the replies of one server process (SDAM,
/// "Topology Version").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TopologyVersion {
    /// `processId`: a new ID for each start of the server. Versions with different IDs cannot be
    /// compared.
    pub process_id: ObjectId,
    /// `counter`: increases with each change of the server's state.
    pub counter: i64,
}

/// The largest figure of a message in bytes, whose length is an `int32`, and of statements in it.
const MAX_SIZE: i64 = i32::MAX as i64;

/// The most members that a server may list. A replica set has at most 50.
pub const MAX_MEMBERS: usize = 200;

/// The longest name of a replica set or of a host with its port, in bytes. A DNS name has at most 255.
const MAX_NAME: usize = 1_000;

/// The most statements in one write command that the driver sends.
const MAX_BATCH: usize = 100_000;

/// A figure of a hello reply that is out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImplausibleFigure {
    /// A size is too large.
    Size {
        /// The field.
        name: &'static str,
        /// The value.
        size: i64,
    },
    /// The number of members.
    Members(usize),
    /// A name is too long.
    Name {
        /// The field.
        field: &'static str,
        /// The length of the name in bytes.
        length: usize,
    },
}

impl fmt::Display for ImplausibleFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { name, size } => write!(f, "{name} is {size}, and may be at most {MAX_SIZE}"),
            Self::Members(count) => write!(
                f,
                "hosts, passives and arbiters list {count} members, and may list at most {MAX_MEMBERS}"
            ),
            Self::Name { field, length } => {
                write!(
                    f,
                    "{field} has a name of {length} bytes, and may have at most {MAX_NAME}"
                )
            }
        }
    }
}

impl HelloReply {
    /// Checks the figures against their ranges. A server states them before any authentication, and so can a process that
    /// answers in its place.
    ///
    /// | figure | range | what the driver uses |
    /// |---|---|---|
    /// | `maxMessageSizeBytes` | to 2³¹ - 1 | at most 48,000,000 |
    /// | `maxBsonObjectSize` | to 2³¹ - 1 | at most 48,000,000 |
    /// | `maxWriteBatchSize` | to 2³¹ - 1 | at most 100,000 |
    /// | `hosts`, `passives` and `arbiters` together | 200 names | each a TCP address |
    /// | a name of a member, `setName`, `msg` | 1,000 bytes | |
    /// | `logicalSessionTimeoutMinutes` | any | saturates |
    /// | `minWireVersion`, `maxWireVersion`, `setVersion`, `topologyVersion`, `connectionId` | any | compared and shown only |
    ///
    /// Sizes that are not positive count as absent. The whole reply to the first hello has at most 1 MiB.
    ///
    /// # Errors
    /// The figure that is out of its range.
    pub fn check(&self) -> Result<(), ImplausibleFigure> {
        let sizes = [
            ("maxMessageSizeBytes", self.max_message_size_bytes),
            ("maxBsonObjectSize", self.max_bson_object_size),
            ("maxWriteBatchSize", self.max_write_batch_size),
        ];
        for (name, size) in sizes {
            if let Some(size) = size.filter(|size| *size > MAX_SIZE) {
                return Err(ImplausibleFigure::Size { name, size });
            }
        }
        let members = self.hosts.len() + self.passives.len() + self.arbiters.len();
        if members > MAX_MEMBERS {
            return Err(ImplausibleFigure::Members(members));
        }
        let lists = [&self.hosts, &self.passives, &self.arbiters];
        let names = [
            ("setName", self.set_name.as_ref()),
            ("me", self.me.as_ref()),
            ("primary", self.primary.as_ref()),
            ("msg", self.msg.as_ref()),
        ];
        let members = lists.into_iter().flatten().map(|name| ("hosts", Some(name)));
        for (field, name) in names.into_iter().chain(members) {
            if let Some(name) = name.filter(|name| name.len() > MAX_NAME) {
                return Err(ImplausibleFigure::Name {
                    field,
                    length: name.len(),
                });
            }
        }
        Ok(())
    }

    /// The largest message that the driver sends, in bytes. `None` if the reply does not contain
    /// a positive number.
    pub fn max_message_size(&self) -> Option<usize> {
        positive(self.max_message_size_bytes).map(|size| size.min(DEFAULT_MAX_MESSAGE_SIZE))
    }

    /// The largest document that the server stores, in bytes. Default: 16 MiB.
    pub fn max_document_size(&self) -> usize {
        positive(self.max_bson_object_size).map_or(16 << 20, |size| size.min(DEFAULT_MAX_MESSAGE_SIZE))
    }

    /// The most statements in one write command. Default: 100,000.
    pub fn max_batch_size(&self) -> usize {
        positive(self.max_write_batch_size).map_or(MAX_BATCH, |size| size.min(MAX_BATCH))
    }

    /// How long the server keeps an unused session. `None`: it does not support sessions.
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

    /// Server 8.0 or newer.
    pub fn is_8_0(&self) -> bool {
        self.max_wire_version >= 25
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

/// The default if the value is of another type.
pub(crate) fn detail<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value: Bson = exact::deserialize(deserializer)?;
    Ok(from_bson(&value).unwrap_or_default())
}

/// The tags whose values are strings.
fn tags<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let Bson::Document(tags) = exact::deserialize(deserializer)? else {
        return Ok(BTreeMap::new());
    };
    let texts = tags.into_iter().filter_map(|(name, value)| match value {
        Bson::String(text) => Some((name, text)),
        _ => None,
    });
    Ok(texts.collect())
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

    #[test]
    fn details_of_an_unexpected_type_are_absent() {
        let read = |hello| from_slice::<HelloReply>(&to_vec(&hello).unwrap());
        let odd = doc! {
            "isWritablePrimary": true, "setName": "rs", "hosts": ["a:1"], "maxWireVersion": 25.0,
            "maxBsonObjectSize": 1024.0, "logicalSessionTimeoutMinutes": 30_i64, "setVersion": 3.0,
            "tags": { "a": "b", "n": 7, "d": { "e": "f" } }, "lastWrite": { "lastWriteDate": "yesterday" },
            "primary": 7, "passive": "no", "topologyVersion": { "processId": 1 }, "connectionId": "seven",
        };
        let hello = read(odd).unwrap();
        let expected = HelloReply {
            is_writable_primary: true,
            set_name: Some("rs".to_owned()),
            hosts: vec!["a:1".to_owned()],
            max_wire_version: 25,
            max_bson_object_size: Some(1024),
            logical_session_timeout_minutes: Some(30),
            set_version: Some(3),
            tags: [("a".to_owned(), "b".to_owned())].into(),
            ..HelloReply::default()
        };
        assert_eq!(hello, expected);
        // A document with the keys of Extended JSON is one of other fields.
        let hello = read(doc! { "tags": { "$date": "x" }, "connectionId": { "$oid": "x" } }).unwrap();
        assert_eq!(hello.tags, [("$date".to_owned(), "x".to_owned())].into());
        for odd in [Bson::Int32(5), Bson::Array(Vec::new())] {
            let hello = read(doc! { "tags": odd.clone(), "lastWrite": odd }).unwrap();
            assert_eq!(hello, HelloReply::default());
        }
    }

    #[test]
    fn fields_of_an_unexpected_type_that_matter_are_named() {
        for (field, value) in [
            ("isWritablePrimary", Bson::from("yes")),
            ("setName", Bson::Int32(7)),
            ("hosts", Bson::from(vec![7])),
            ("me", Bson::Boolean(true)),
            ("electionId", Bson::from("x")),
            ("maxWireVersion", Bson::from("25")),
            ("maxWireVersion", Bson::Int64(i64::MAX)),
            ("maxBsonObjectSize", Bson::Double(0.5)),
            ("setVersion", Bson::from("1")),
            ("logicalSessionTimeoutMinutes", Bson::from("30")),
            ("serviceId", Bson::Int32(7)),
        ] {
            let hello = to_vec(&doc! { field: value.clone() }).unwrap();
            let error = from_slice::<HelloReply>(&hello).unwrap_err().to_string();
            assert!(error.contains(field), "{field}: {value}: {error}");
        }
    }

    #[test]
    fn figures_out_of_their_range_are_named() {
        let sized = |size| HelloReply {
            max_message_size_bytes: Some(size),
            max_bson_object_size: Some(size),
            max_write_batch_size: Some(size),
            ..HelloReply::default()
        };
        for size in [i64::MIN, -1, 0, 1, MAX_SIZE] {
            let hello = sized(size);
            assert_eq!(hello.check(), Ok(()));
            assert!(
                hello
                    .max_message_size()
                    .is_none_or(|size| size <= DEFAULT_MAX_MESSAGE_SIZE)
            );
            assert!(hello.max_document_size() <= DEFAULT_MAX_MESSAGE_SIZE);
            assert!((1..=MAX_BATCH).contains(&hello.max_batch_size()));
        }
        let error = sized(i64::MAX).check().unwrap_err().to_string();
        assert!(
            error.starts_with("maxMessageSizeBytes is 9223372036854775807"),
            "{error}"
        );
        let listed = |count: usize| HelloReply {
            hosts: (0..count).map(|host| format!("h{host}")).collect(),
            arbiters: vec!["a".to_owned()],
            ..HelloReply::default()
        };
        assert_eq!(listed(MAX_MEMBERS - 1).check(), Ok(()));
        assert!(listed(MAX_MEMBERS).check() == Err(ImplausibleFigure::Members(201)));
        let named = HelloReply {
            set_name: Some("x".repeat(MAX_NAME + 1)),
            ..HelloReply::default()
        };
        assert_eq!(
            named.check(),
            Err(ImplausibleFigure::Name {
                field: "setName",
                length: MAX_NAME + 1
            })
        );
    }
}
