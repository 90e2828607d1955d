//! The schema of version 1.28 as tables, one for each definition ([Unified Test Format]).
//!
//! [Unified Test Format]:
//! https://github.com/mongodb/specifications/blob/master/source/unified-test-format/unified-test-format.md

use super::{Object, Schema};
use Schema::{Any, Array, Bool, BoolOr, Document, DocumentWithout, Int, Map, OneOf, Str, True, Version};

const UNLIMITED: usize = usize::MAX;

/// Defines the schema of a document. `size`: the number of keys. `conflicts`: pairs of mutually
/// exclusive keys.
macro_rules! object {
    ($id:ident = $name:literal [$($key:literal: $schema:expr),* $(,)?] $(required [$($required:literal),*])?
        $(size $min:literal..=$max:tt)? $(conflicts [$($a:literal / $b:literal),*])?) => {
        pub(super) static $id: Object = Object {
            name: $name,
            keys: &[$(($key, $schema)),*],
            required: &[$($($required),*)?],
            min: 0 $(+ $min)?,
            max: object!(@max $($max)?),
            conflicts: &[$($(($a, $b)),*)?],
        };
    };
    (@max) => { UNLIMITED };
    (@max $max:tt) => { $max };
}

object!(FILE = "file" [
    "description": Str,
    "schemaVersion": Version,
    "runOnRequirements": Array(1, &Schema::Object(&RUN_ON_REQUIREMENT)),
    "createEntities": Array(1, &Schema::Object(&ENTITY)),
    "initialData": Array(1, &Schema::Object(&COLLECTION_DATA)),
    "tests": Array(1, &Schema::Object(&TEST)),
    "_yamlAnchors": Document(0),
] required ["description", "schemaVersion", "tests"]);

object!(RUN_ON_REQUIREMENT = "runOnRequirement" [
    "maxServerVersion": Version,
    "minServerVersion": Version,
    "topologies": Array(1, &OneOf(&["single", "replicaset", "sharded", "sharded-replicaset", "load-balanced"])),
    "serverless": OneOf(&["require", "forbid", "allow"]),
    "serverParameters": Document(1),
    "auth": Bool,
    "authMechanism": Str,
    "csfle": BoolOr(&CSFLE),
] size 1..=UNLIMITED);

object!(CSFLE = "csfle" ["minLibmongocryptVersion": Version] size 1..=UNLIMITED);

object!(ENTITY = "entity" [
    "client": Schema::Object(&CLIENT),
    "clientEncryption": Schema::Object(&CLIENT_ENCRYPTION),
    "database": Schema::Object(&DATABASE),
    "collection": Schema::Object(&COLLECTION),
    "session": Schema::Object(&SESSION),
    "bucket": Schema::Object(&BUCKET),
    "thread": Schema::Object(&THREAD),
] size 1..=1);

// The published schema lacks the heartbeat events here; the specification has them and tests use
// them.
object!(CLIENT = "client" [
    "id": Str,
    "uriOptions": Document(0),
    "useMultipleMongoses": Bool,
    "observeEvents": Array(1, &OneOf(&[
        "commandStartedEvent", "commandSucceededEvent", "commandFailedEvent",
        "poolCreatedEvent", "poolReadyEvent", "poolClearedEvent", "poolClosedEvent",
        "connectionCreatedEvent", "connectionReadyEvent", "connectionClosedEvent",
        "connectionCheckOutStartedEvent", "connectionCheckOutFailedEvent", "connectionCheckedOutEvent",
        "connectionCheckedInEvent", "serverDescriptionChangedEvent", "topologyDescriptionChangedEvent",
        "topologyOpeningEvent", "topologyClosedEvent", "serverHeartbeatStartedEvent",
        "serverHeartbeatSucceededEvent", "serverHeartbeatFailedEvent",
    ])),
    "ignoreCommandMonitoringEvents": Array(1, &Str),
    "storeEventsAsEntities": Array(1, &Schema::Object(&STORE_EVENTS)),
    "observeLogMessages": Schema::Object(&OBSERVE_LOG_MESSAGES),
    "observeTracingMessages": Schema::Object(&OBSERVE_TRACING_MESSAGES),
    "serverApi": Schema::Object(&SERVER_API),
    "observeSensitiveCommands": Bool,
    "autoEncryptOpts": Schema::Object(&AUTO_ENCRYPT_OPTS),
    "awaitMinPoolSizeMS": Int,
] required ["id"]);

object!(OBSERVE_LOG_MESSAGES = "observeLogMessages" [
    "command": SEVERITY, "topology": SEVERITY, "serverSelection": SEVERITY, "connection": SEVERITY,
] size 1..=UNLIMITED);

object!(OBSERVE_TRACING_MESSAGES = "observeTracingMessages" ["enableCommandPayload": Bool]);

object!(AUTO_ENCRYPT_OPTS = "autoEncryptOpts" [
    "keyVaultNamespace": Str,
    "bypassAutoEncryption": Bool,
    "kmsProviders": KMS_PROVIDERS,
    "schemaMap": Map(&Document(0)),
    "extraOptions": Document(0),
    "encryptedFieldsMap": Map(&Document(0)),
    "bypassQueryAnalysis": Bool,
    "keyExpirationMS": Int,
] required ["keyVaultNamespace", "kmsProviders"]);

object!(CLIENT_ENCRYPTION = "clientEncryption" [
    "id": Str, "clientEncryptionOpts": Schema::Object(&CLIENT_ENCRYPTION_OPTS),
] required ["id", "clientEncryptionOpts"]);

object!(CLIENT_ENCRYPTION_OPTS = "clientEncryptionOpts" [
    "keyVaultClient": Str, "keyVaultNamespace": Str, "kmsProviders": KMS_PROVIDERS, "keyExpirationMS": Int,
] required ["keyVaultClient", "keyVaultNamespace", "kmsProviders"]);

object!(DATABASE = "database" [
    "id": Str, "client": Str, "databaseName": Str,
    "databaseOptions": Schema::Object(&COLLECTION_OR_DATABASE_OPTIONS),
] required ["id", "client", "databaseName"]);

object!(COLLECTION = "collection" [
    "id": Str, "database": Str, "collectionName": Str,
    "collectionOptions": Schema::Object(&COLLECTION_OR_DATABASE_OPTIONS),
] required ["id", "database", "collectionName"]);

object!(SESSION = "session" ["id": Str, "client": Str, "sessionOptions": Document(0)] required ["id", "client"]);

object!(BUCKET = "bucket" ["id": Str, "database": Str, "bucketOptions": Document(0)] required ["id", "database"]);

object!(THREAD = "thread" ["id": Str] required ["id"]);

object!(STORE_EVENTS = "storeEventsAsEntity" [
    "id": Str,
    "events": Array(1, &OneOf(&[
        "PoolCreatedEvent", "PoolReadyEvent", "PoolClearedEvent", "PoolClosedEvent", "ConnectionCreatedEvent",
        "ConnectionReadyEvent", "ConnectionClosedEvent", "ConnectionCheckOutStartedEvent",
        "ConnectionCheckOutFailedEvent", "ConnectionCheckedOutEvent", "ConnectionCheckedInEvent",
        "CommandStartedEvent", "CommandSucceededEvent", "CommandFailedEvent", "ServerDescriptionChangedEvent",
        "TopologyDescriptionChangedEvent",
    ])),
] required ["id", "events"]);

object!(SERVER_API = "serverApi" [
    "version": Str, "strict": Bool, "deprecationErrors": Bool,
] required ["version"]);

object!(COLLECTION_OR_DATABASE_OPTIONS = "collectionOrDatabaseOptions" [
    "readConcern": Document(0), "readPreference": Document(0), "writeConcern": Document(0), "timeoutMS": Int,
]);

object!(COLLECTION_DATA = "collectionData" [
    "collectionName": Str, "databaseName": Str,
    // The server validates the options of `create`; only the write concern is validated here.
    "createOptions": DocumentWithout("writeConcern"),
    "documents": Array(0, &Document(0)),
] required ["collectionName", "databaseName", "documents"]);

object!(TEST = "test" [
    "description": Str,
    "runOnRequirements": Array(1, &Schema::Object(&RUN_ON_REQUIREMENT)),
    "skipReason": Str,
    "operations": Array(0, &Schema::Object(&OPERATION)),
    "expectEvents": Array(1, &Schema::Object(&EXPECTED_EVENTS)),
    "expectLogMessages": Array(1, &Schema::Object(&EXPECTED_LOG_MESSAGES)),
    "expectTracingMessages": Array(1, &Schema::Object(&EXPECTED_TRACING_MESSAGES)),
    "outcome": Array(1, &Schema::Object(&COLLECTION_DATA)),
] required ["description", "operations"]);

object!(OPERATION = "operation" [
    "name": Str, "object": Str, "arguments": Document(0), "ignoreResultAndError": Bool,
    "expectError": Schema::Object(&EXPECTED_ERROR), "expectResult": Any, "saveResultAsEntity": Str,
] required ["name", "object"] conflicts [
    "expectError" / "expectResult", "expectError" / "saveResultAsEntity",
    "ignoreResultAndError" / "expectResult", "ignoreResultAndError" / "expectError",
    "ignoreResultAndError" / "saveResultAsEntity"
]);

object!(EXPECTED_ERROR = "expectedError" [
    "isError": True, "isClientError": Bool, "isTimeoutError": Bool, "errorContains": Str, "errorCode": Int,
    "errorCodeName": Str, "errorLabelsContain": Array(1, &Str), "errorLabelsOmit": Array(1, &Str),
    "writeErrors": Document(0), "writeConcernErrors": Array(0, &Document(0)), "errorResponse": Document(0),
    "expectResult": Any,
] size 1..=UNLIMITED);

object!(EXPECTED_EVENTS = "expectedEventsForClient" [
    "client": Str, "eventType": OneOf(&["command", "cmap", "sdam"]), "events": Schema::Events,
    "ignoreExtraEvents": Bool,
] required ["client", "events"]);

object!(COMMAND_EVENT = "expectedCommandEvent" [
    "commandStartedEvent": Schema::Object(&COMMAND_STARTED),
    "commandSucceededEvent": Schema::Object(&COMMAND_SUCCEEDED),
    "commandFailedEvent": Schema::Object(&COMMAND_FAILED),
] size 1..=1);

object!(COMMAND_STARTED = "commandStartedEvent" [
    "command": Document(0), "commandName": Str, "databaseName": Str, "hasServiceId": Bool,
    "hasServerConnectionId": Bool,
]);

object!(COMMAND_SUCCEEDED = "commandSucceededEvent" [
    "reply": Document(0), "commandName": Str, "databaseName": Str, "hasServiceId": Bool,
    "hasServerConnectionId": Bool,
]);

object!(COMMAND_FAILED = "commandFailedEvent" [
    "commandName": Str, "databaseName": Str, "hasServiceId": Bool, "hasServerConnectionId": Bool,
]);

object!(CMAP_EVENT = "expectedCmapEvent" [
    "poolCreatedEvent": EMPTY, "poolReadyEvent": EMPTY, "poolClosedEvent": EMPTY,
    "poolClearedEvent": Schema::Object(&POOL_CLEARED),
    "connectionCreatedEvent": EMPTY, "connectionReadyEvent": EMPTY,
    "connectionClosedEvent": Schema::Object(&WITH_REASON),
    "connectionCheckOutStartedEvent": EMPTY,
    "connectionCheckOutFailedEvent": Schema::Object(&WITH_REASON),
    "connectionCheckedOutEvent": EMPTY, "connectionCheckedInEvent": EMPTY,
] size 1..=1);

object!(NOTHING = "event" []);
object!(POOL_CLEARED = "poolClearedEvent" ["hasServiceId": Bool, "interruptInUseConnections": Bool]);
object!(WITH_REASON = "event" ["reason": Str]);

object!(SDAM_EVENT = "expectedSdamEvent" [
    "serverDescriptionChangedEvent": Schema::Object(&SERVER_CHANGED),
    "topologyDescriptionChangedEvent": Schema::Object(&TOPOLOGY_CHANGED),
    "serverHeartbeatStartedEvent": Schema::Object(&HEARTBEAT),
    "serverHeartbeatSucceededEvent": Schema::Object(&HEARTBEAT),
    "serverHeartbeatFailedEvent": Schema::Object(&HEARTBEAT),
    "topologyOpeningEvent": EMPTY, "topologyClosedEvent": EMPTY,
] size 1..=1);

object!(HEARTBEAT = "event" ["awaited": Bool]);

object!(SERVER_CHANGED = "serverDescriptionChangedEvent" [
    "previousDescription": Schema::Object(&SERVER_DESCRIPTION), "newDescription": Schema::Object(&SERVER_DESCRIPTION),
]);

object!(TOPOLOGY_CHANGED = "topologyDescriptionChangedEvent" [
    "previousDescription": Schema::Object(&TOPOLOGY_DESCRIPTION),
    "newDescription": Schema::Object(&TOPOLOGY_DESCRIPTION),
]);

object!(SERVER_DESCRIPTION = "serverDescription" ["type": OneOf(&[
    "Standalone", "Mongos", "PossiblePrimary", "RSPrimary", "RSSecondary", "RSOther", "RSArbiter", "RSGhost",
    "LoadBalancer", "Unknown",
])]);

object!(TOPOLOGY_DESCRIPTION = "topologyDescription" ["type": OneOf(&[
    "Single", "Unknown", "ReplicaSetNoPrimary", "ReplicaSetWithPrimary", "Sharded", "LoadBalanced",
])]);

object!(EXPECTED_LOG_MESSAGES = "expectedLogMessagesForClient" [
    "client": Str, "messages": Array(0, &Schema::Object(&EXPECTED_LOG_MESSAGE)), "ignoreExtraMessages": Bool,
    "ignoreMessages": Array(0, &Schema::Object(&EXPECTED_LOG_MESSAGE)),
] required ["client", "messages"]);

object!(EXPECTED_LOG_MESSAGE = "expectedLogMessage" [
    "level": SEVERITY, "component": OneOf(&["command", "topology", "serverSelection", "connection"]),
    "data": Document(0), "failureIsRedacted": Bool,
] required ["level", "component", "data"]);

object!(EXPECTED_TRACING_MESSAGES = "expectTracingMessagesForClient" [
    "client": Str, "ignoreExtraSpans": Bool, "spans": Array(1, &Schema::Object(&SPAN)),
] required ["client", "spans"]);

object!(SPAN = "spanComponent" [
    "name": Str, "attributes": Document(0), "nested": Array(1, &Schema::Object(&SPAN)),
] required ["name", "attributes"]);

const EMPTY: Schema = Schema::Object(&NOTHING);

const SEVERITY: Schema = OneOf(&[
    "emergency",
    "alert",
    "critical",
    "error",
    "warning",
    "notice",
    "info",
    "debug",
    "trace",
]);

/// For each provider: its name, its keys, and whether an access token may replace them.
const KMS_PROVIDERS: Schema = Schema::KmsProviders(&[
    ("aws", &["accessKeyId", "secretAccessKey", "sessionToken"], false),
    (
        "azure",
        &["tenantId", "clientId", "clientSecret", "identityPlatformEndpoint"],
        true,
    ),
    ("gcp", &["email", "privateKey", "endpoint"], true),
    ("kmip", &["endpoint"], false),
    ("local", &["key"], false),
]);
