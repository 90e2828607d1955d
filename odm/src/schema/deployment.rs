//! The properties of the deployment: its server version, its kind, and the Stable API that the
//! client declares.

use crate::{
    base::{bson::doc, error::Requirement},
    driver::{
        self,
        event::{ServerDescription, ServerType, TopologyType},
        options::ServerVersion,
    },
};

/// The properties of the deployment that decide how a plan is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deployment {
    /// The lowest version of the data-bearing servers that are known, or of the routers of a
    /// sharded cluster.
    version: ServerVersion,
    is_standalone: bool,
    /// Whether the servers are routers of a sharded cluster.
    is_sharded: bool,
    /// Whether the server rejects what is not part of the Stable API.
    is_strict: bool,
}

/// A feature that a declaration or a change needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Feature {
    since: ServerVersion,
    /// Whether it is part of version 1 of the Stable API.
    is_stable: bool,
}

impl Feature {
    const fn since(wire_version: i32) -> Self {
        Feature {
            since: ServerVersion::of_wire_version(wire_version),
            is_stable: true,
        }
    }

    const fn unstable(self) -> Self {
        Feature {
            is_stable: false,
            ..self
        }
    }

    /// The option `hidden` of indexes, and `collMod` for it.
    pub(super) const HIDDEN: Feature = Feature::since(9);
    /// A hashed key beside other keys.
    pub(super) const COMPOUND_HASHED: Feature = Feature::since(9);
    /// A wildcard key beside other keys, or descending.
    pub(super) const COMPOUND_WILDCARD: Feature = Feature::since(21);
    /// A text index.
    pub(super) const TEXT: Feature = Feature::since(0).unstable();
    /// `collMod` with `expireAfterSeconds` for an index that has none.
    pub(super) const ADDED_EXPIRATION: Feature = Feature::since(14);
    /// `collMod` with `prepareUnique` and `unique`.
    pub(super) const CHANGE_TO_UNIQUE: Feature = Feature::since(17).unstable();
    /// The index option `prepareUnique`.
    pub(super) const PREPARE_UNIQUE: Feature = Feature::since(17).unstable();
    /// A capped collection.
    pub(super) const CAPPED: Feature = Feature::since(0).unstable();
    /// `collMod` with `cappedSize` and `cappedMax`.
    pub(super) const CHANGE_OF_CAPPED: Feature = Feature::since(17);
    pub(super) const TIME_SERIES: Feature = Feature::since(13);
    pub(super) const CLUSTERED: Feature = Feature::since(16);
    /// The option `changeStreamPreAndPostImages`, and `collMod` for it.
    pub(super) const IMAGES: Feature = Feature::since(17).unstable();
    /// The command `shardCollection`.
    pub(super) const SHARDING: Feature = Feature::since(0).unstable();
    /// The command `shardCollection` without `enableSharding` before.
    pub(super) const SHARDING_OF_ALL_DATABASES: Feature = Feature::since(17).unstable();
    /// The command `refineCollectionShardKey`.
    pub(super) const REFINED_SHARD_KEY: Feature = Feature::since(9).unstable();
    /// Several indexes with equal keys and the same collation.
    pub(super) const SAME_KEYS: Feature = Feature::since(13);
    /// A partial filter that is not one conjunction of comparisons.
    pub(super) const PARTIAL_OPERATORS: Feature = Feature::since(17);
    /// An index with an expiration in a capped collection.
    const EXPIRATION_IN_CAPPED: Feature = Feature::since(22);
    /// `validationAction: "errorAndLog"`.
    pub(super) const ERROR_AND_LOG: Feature = Feature::since(26);
    /// `listIndexes` with `includeBuildUUIDs`.
    const LISTED_BUILDS: Feature = Feature::since(9).unstable();
    /// `expireAfterSeconds` of an index above the number of seconds since 1970.
    pub(super) const LATE_EXPIRATION: Feature = Feature::since(17);
    /// Indexes of a time series on measurements, partial and sparse ones.
    pub(super) const SERIES_INDEXES: Feature = Feature::since(17);
    /// Indexes of a time series with an expiration.
    pub(super) const SERIES_EXPIRATION: Feature = Feature::since(20);
    /// Queryable Encryption, with equality queries.
    pub(super) const ENCRYPTION: Feature = Feature::since(21);
    /// Queries of ranges of encrypted fields.
    pub(super) const ENCRYPTED_RANGES: Feature = Feature::since(25);
    /// Queries of prefixes, suffixes and substrings of encrypted fields.
    pub(super) const ENCRYPTED_TEXT: Feature = Feature::since(27);
}

impl Deployment {
    /// A deployment of servers with this `maxWireVersion`, and of a client with this `apiStrict`.
    pub(super) fn new(wire_version: i32, is_standalone: bool, is_strict: bool) -> Self {
        Deployment {
            version: ServerVersion::of_wire_version(wire_version),
            is_standalone,
            is_sharded: false,
            is_strict,
        }
    }

    /// Whether collections can be sharded.
    pub(super) fn is_sharded(&self) -> bool {
        self.is_sharded
    }

    /// Describes the deployment of a database, which has received a command. Behind a load balancer
    /// a server is asked.
    pub(super) async fn of(database: &driver::Database) -> driver::Result<Self> {
        let client = database.client();
        let topology = client.topology_description();
        let is_data_bearing = |kind: ServerType| {
            matches!(
                kind,
                ServerType::Standalone | ServerType::Mongos | ServerType::RsPrimary | ServerType::RsSecondary
            )
        };
        let servers = || {
            topology
                .servers()
                .filter(|server| is_data_bearing(server.server_type()))
        };
        let mut is_sharded = servers().any(|server| server.server_type() == ServerType::Mongos);
        let wire_version = match servers().filter_map(ServerDescription::max_wire_version).min() {
            Some(known) if topology.topology_type() != TopologyType::LoadBalanced => known,
            _ => {
                let admin = client.database("admin");
                let hello = admin.run_command(doc! { "hello": 1 }).await?;
                is_sharded |= hello.get_str("msg").is_ok_and(|msg| msg == "isdbgrid");
                hello.get_i32("maxWireVersion").unwrap_or_default()
            }
        };
        let is_standalone = servers().any(|server| server.server_type() == ServerType::Standalone);
        let is_strict = client.server_api().is_some_and(|api| api.strict == Some(true));
        Ok(Deployment {
            is_sharded,
            ..Deployment::new(wire_version, is_standalone, is_strict)
        })
    }

    /// The property that the deployment lacks for the feature.
    pub(super) fn lacks(&self, feature: Feature) -> Option<Requirement> {
        if self.version < feature.since {
            return Some(Requirement::Server {
                since: feature.since,
                found: self.version,
            });
        }
        (self.is_strict && !feature.is_stable).then_some(Requirement::NotStrict)
    }

    /// What the deployment lacks for an index with an expiration in a capped collection. MongoDB
    /// 6.0 and 7.0 refuse to build it, and MongoDB 5.1 to 7.0 to change its expiration; the
    /// versions before accept it.
    pub(super) fn lacks_expiration_in_capped(&self, is_change: bool) -> Option<Requirement> {
        let refused_since = ServerVersion::of_wire_version(if is_change { 14 } else { 17 });
        if self.version < refused_since {
            return None;
        }
        self.lacks(Feature::EXPIRATION_IN_CAPPED)
    }

    /// Whether `listIndexes` can distinguish indexes that are being built. A standalone builds them
    /// without a `buildUUID`.
    pub(super) fn lists_builds(&self) -> bool {
        !self.is_standalone && self.has(Feature::LISTED_BUILDS)
    }

    pub(super) fn has(&self, feature: Feature) -> bool {
        self.lacks(feature).is_none()
    }

    /// The property that the deployment lacks for encrypted collections.
    pub(super) fn lacks_encryption(&self) -> Option<Requirement> {
        if self.is_standalone {
            return Some(Requirement::ReplicaSet);
        }
        self.lacks(Feature::ENCRYPTION)
    }
}
