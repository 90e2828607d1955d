//! The names of MongoDB features that this server does not implement. A request for one of them
//! fails with 238 NotImplemented, any other unknown name with MongoDB's error for it. The tables
//! list what MongoDB 8.2 documents or accepts, and are consulted only after the implemented names.

pub(crate) mod since;

use crate::error::Error;
use crate::version::Version;

/// Commands of both mongod and mongos.
const COMMANDS: &[&str] = &[
    "analyze",
    "analyzeShardKey",
    "appendOplogNote",
    "clearLog",
    "configureQueryAnalyzer",
    "connPoolStats",
    "connPoolSync",
    "createRole",
    "dataSize",
    "datasize",
    "dropAllRolesFromDatabase",
    "dropConnections",
    "dropRole",
    "features",
    "filemd5",
    "fsync",
    "fsyncUnlock",
    "getAuditConfig",
    "getChangeStreamState",
    "getClusterParameter",
    "getDiagnosticData",
    "getQueryableEncryptionCountInfo",
    "getShardMap",
    "getShardVersion",
    "grantPrivilegesToRole",
    "grantRolesToRole",
    "invalidateUserCache",
    "killAllSessionsByPattern",
    "logApplicationMessage",
    "logRotate",
    "netstat",
    "oidcListKeys",
    "oidcRefreshKeys",
    "planCacheClear",
    "planCacheClearFilters",
    "planCacheListFilters",
    "planCacheSetFilter",
    "reapLogicalSessionCacheNow",
    "refreshLogicalSessionCacheNow",
    "releaseMemory",
    "removeQuerySettings",
    "revokePrivilegesFromRole",
    "revokeRolesFromRole",
    "rotateCertificates",
    "rotateFTDC",
    "setAuditConfig",
    "setChangeStreamState",
    "setClusterParameter",
    "setDefaultRWConcern",
    "setFeatureCompatibilityVersion",
    "setIndexCommitQuorum",
    "setProfilingFilterGlobally",
    "setQuerySettings",
    "setUserWriteBlockMode",
    "shutdown",
    "startRecordingTraffic",
    "startTrafficRecording",
    "stopRecordingTraffic",
    "stopTrafficRecording",
    "getTrafficRecordingStatus",
    "updateRole",
    "validateDBMetadata",
    "waitForFailPoint",
    "whatsmysni",
];

/// Commands of mongod only.
const MONGOD_COMMANDS: &[&str] = &[
    "applyOps",
    "autoCompact",
    "autoSplitVector",
    "cleanupOrphaned",
    "cloneCollectionAsCapped",
    "compact",
    "coordinateCommitTransaction",
    "dbHash",
    "dbhash",
    "getDatabaseVersion",
    "listDatabasesForAllTenants",
    "lockInfo",
    "prepareTransaction",
    "replSetAbortPrimaryCatchUp",
    "replSetGetRBID",
    "replSetHeartbeat",
    "replSetInitiate",
    "replSetMaintenance",
    "replSetReconfig",
    "replSetRequestVotes",
    "replSetResizeOplog",
    "replSetStepUp",
    "replSetSyncFrom",
    "replSetUpdatePosition",
    "setShardVersion",
    "shardingState",
    "splitChunk",
    "splitVector",
    "top",
    "voteAbortIndexBuild",
    "voteCommitIndexBuild",
];

/// Commands of mongos only.
const MONGOS_COMMANDS: &[&str] = &[
    "abortMoveCollection",
    "abortReshardCollection",
    "abortRewriteCollection",
    "abortUnshardCollection",
    "addShard",
    "addShardToZone",
    "balancerCollectionStatus",
    "balancerStart",
    "balancerStatus",
    "balancerStop",
    "changePrimary",
    "cleanupReshardCollection",
    "clearJumboFlag",
    "commitReshardCollection",
    "commitShardRemoval",
    "commitTransitionToDedicatedConfigServer",
    "configureCollectionBalancing",
    "getTransitionToDedicatedConfigServerStatus",
    "mergeAllChunksOnShard",
    "mergeChunks",
    "moveChunk",
    "moveCollection",
    "movePrimary",
    "moveRange",
    "multicast",
    "removeShard",
    "removeShardFromZone",
    "repairShardedCollectionChunksHistory",
    "resetPlacementHistory",
    "reshardCollection",
    "rewriteCollection",
    "setAllowMigrations",
    "shardDrainingStatus",
    "split",
    "startShardDraining",
    "startTransitionToDedicatedConfigServer",
    "stopShardDraining",
    "stopTransitionToDedicatedConfigServer",
    "transitionFromDedicatedConfigServer",
    "transitionToDedicatedConfigServer",
    "unshardCollection",
    "untrackUnshardedCollection",
    "updateZoneKeyRange",
];

/// Expression operators.
const EXPRESSIONS: &[&str] = &[
    "$currentDate",
    "$encStrContains",
    "$encStrEndsWith",
    "$encStrNormalizedEq",
    "$encStrStartsWith",
    "$function",
    "$similarityCosine",
    "$similarityDotProduct",
    "$similarityEuclidean",
    "$toHashedIndexKey",
    "$toUUID",
];

/// Accumulators of `$group` and `$bucket`.
const ACCUMULATORS: &[&str] = &["$accumulator", "$concatArrays", "$setUnion"];

/// Query operators, on a field or at the top level.
const QUERY_OPERATORS: &[&str] = &[
    "$encStrContains",
    "$encStrEndsWith",
    "$encStrNormalizedEq",
    "$encStrStartsWith",
    "$where",
];

/// System variables.
const VARIABLES: &[&str] = &["IS_MR", "JS_SCOPE", "USER_ROLES"];

/// Aggregation stages.
const STAGES: &[&str] = &[
    "$backupCursor",
    "$backupCursorExtend",
    "$changeStream",
    "$changeStreamSplitLargeEvent",
    "$listCatalog",
    "$listClusterCatalog",
    "$listExtensions",
    "$listMqlEntities",
    "$listSampledQueries",
    "$listSessions",
    "$mergeCursors",
    "$operationMetrics",
    "$planCacheStats",
    "$querySettings",
    "$queryStats",
    "$score",
    "$searchBeta",
    "$shardedDataDistribution",
];

/// Options by command. Those of `*` are options of every command.
const OPTIONS: &[(&str, &[&str])] = &[
    (
        "*",
        &[
            "$tenant",
            "$traceCtx",
            "expectPrefix",
            "mayBypassWriteBlocking",
            "requestGossipRoutingCache",
            "serialization_context",
            "versionContext",
        ],
    ),
    (
        "aggregate",
        &[
            "$_generateV2ResumeTokens",
            "$_requestReshardingResumeToken",
            "$_requestResumeToken",
            "$_resumeAfter",
            "$_startAt",
            "collectionUUID",
            "exchange",
            "fromMongos",
            "fromRouter",
            "includeQueryStatsMetrics",
            "isMapReduceCommand",
            "legacyRuntimeConstants",
            "needsMerge",
            "passthroughToShard",
            "querySettings",
            "runtimeConstants",
            "unwrappedReadPref",
        ],
    ),
    (
        "find",
        &[
            "$_passthroughToShard",
            "$_requestResumeToken",
            "$_resumeAfter",
            "$_startAt",
            "includeQueryStatsMetrics",
            "legacyRuntimeConstants",
            "mirrored",
            "querySettings",
            "readOnce",
            "runtimeConstants",
            "term",
            "unwrappedReadPref",
        ],
    ),
    ("getMore", &["includeQueryStatsMetrics"]),
    (
        "count",
        &["collectionUUID", "includeQueryStatsMetrics", "queryOptions"],
    ),
    (
        "distinct",
        &["collectionUUID", "includeQueryStatsMetrics", "querySettings"],
    ),
    ("insert", &["collectionUUID", "isTimeseriesNamespace"]),
    (
        "update",
        &[
            "collectionUUID",
            "isTimeseriesNamespace",
            "legacyRuntimeConstants",
            "originalCollation",
            "originalQuery",
            "runtimeConstants",
        ],
    ),
    (
        "delete",
        &[
            "collectionUUID",
            "isTimeseriesNamespace",
            "legacyRuntimeConstants",
            "originalCollation",
            "originalQuery",
            "runtimeConstants",
        ],
    ),
    (
        "findAndModify",
        &[
            "isTimeseriesNamespace",
            "legacyRuntimeConstants",
            "originalCollation",
            "originalQuery",
            "runtimeConstants",
            "sampleId",
        ],
    ),
    ("create", &["recordIdsReplicated", "recordPreImages"]),
    ("createIndexes", &["collectionUUID", "isTimeseriesNamespace"]),
    ("dropIndexes", &["collectionUUID", "isTimeseriesNamespace"]),
    ("listIndexes", &["collectionUUID", "isTimeseriesNamespace"]),
    (
        "collMod",
        &["collectionUUID", "isTimeseriesNamespace", "recordPreImages"],
    ),
    ("drop", &["collectionUUID"]),
    ("renameCollection", &["collectionUUID", "stayTemp"]),
    ("listCollections", &["includePendingDrops"]),
    ("shardCollection", &["collectionUUID", "implicitlyCreateIndex"]),
    ("currentOp", &["$truncateOps"]),
];

/// Functions of `$setWindowFields`.
const WINDOW_FUNCTIONS: &[&str] = &["$concatArrays", "$minMaxScaler", "$setUnion"];

/// The kind of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feature {
    Stage,
    Expression,
    Accumulator,
    WindowFunction,
    QueryOperator,
    Variable,
    Command,
}

impl Feature {
    fn names(self) -> &'static [&'static str] {
        match self {
            Feature::Stage => STAGES,
            Feature::Expression => EXPRESSIONS,
            Feature::Accumulator => ACCUMULATORS,
            Feature::WindowFunction => WINDOW_FUNCTIONS,
            Feature::QueryOperator => QUERY_OPERATORS,
            Feature::Variable => VARIABLES,
            Feature::Command => COMMANDS,
        }
    }

    /// Whether the version has the name, unless no version has it.
    pub(crate) fn is_in(self, name: &str, version: Version) -> bool {
        since::exists(self, name, version)
    }

    /// Whether the name is one of a feature of MongoDB that this server does not implement.
    pub(crate) fn is_missing(self, name: &str, version: Version) -> bool {
        self.names().contains(&name) && self.is_in(name, version)
    }

    /// The error for a name that this server does not implement: 238 if the version of MongoDB has
    /// the feature, else `unknown`.
    pub(crate) fn refuse(self, name: &str, version: Version, unknown: impl FnOnce() -> Error) -> Error {
        if !self.is_missing(name, version) {
            return unknown();
        }
        Error::not_served(match self {
            Feature::Stage => format!("the aggregation stage {name}"),
            Feature::Expression => format!("the expression operator {name}"),
            Feature::Accumulator => format!("the accumulator {name}"),
            Feature::WindowFunction => format!("the window function {name}"),
            Feature::QueryOperator => format!("{name} in a filter"),
            Feature::Variable => format!("the variable $${name}"),
            Feature::Command => format!("the command {name}"),
        })
    }
}

/// Whether the command is one of mongos or mongod of this version that this server does not
/// implement.
pub(crate) fn is_command(name: &str, mongos: bool, version: Version) -> bool {
    let own = if mongos { MONGOS_COMMANDS } else { MONGOD_COMMANDS };
    (COMMANDS.contains(&name) || own.contains(&name)) && Feature::Command.is_in(name, version)
}

/// Whether the option is one of MongoDB's command that this server does not implement.
pub(crate) fn is_option(command: &str, option: &str) -> bool {
    OPTIONS
        .iter()
        .filter(|(name, _)| *name == command || *name == "*")
        .any(|(_, options)| options.contains(&option))
}

#[cfg(test)]
mod tests;
