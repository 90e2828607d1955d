//! The command table, continued: commands of transactions, clusters, users, search indexes, and
//! test commands.

use super::table::{Access, COMMAND, Command, Process};
use super::{
    admin, bulk_write, current_op, map_reduce, sasl, search_index, sharding, stats, structured_encryption,
    system, users,
};

/// Accepts any field: the command ignores them, or validates them itself.
const ANY_FIELDS: Option<&[&str]> = None;

/// The fields of `createUser` and `updateUser`.
const USER_FIELDS: &[&str] = &[
    "authenticationRestrictions",
    "customData",
    "digestPassword",
    "mechanisms",
    "pwd",
    "roles",
];

/// The entries.
pub(crate) const COMMANDS: &[Command] = &[
    Command {
        name: "commitTransaction",
        fields: Some(&["recoveryToken"]),
        access: Access::Write,
        api_v1: true,
        admin_only: true,
        in_transaction: true,
        run: admin::commit_transaction,
        ..COMMAND
    },
    Command {
        name: "abortTransaction",
        fields: Some(&["recoveryToken"]),
        access: Access::Write,
        api_v1: true,
        admin_only: true,
        in_transaction: true,
        run: admin::abort_transaction,
        ..COMMAND
    },
    Command {
        name: "bulkWrite",
        fields: Some(&[
            "ops",
            "nsInfo",
            "ordered",
            "bypassDocumentValidation",
            "errorsOnly",
            "cursor",
            "let",
        ]),
        access: Access::Write,
        api_v1: true,
        admin_only: true,
        retryable_write: true,
        in_transaction: true,
        since: (8, 0),
        run: bulk_write::run,
        ..COMMAND
    },
    Command {
        name: "mapReduce",
        aliases: &["mapreduce"],
        fields: Some(&[
            "map",
            "reduce",
            "finalize",
            "out",
            "query",
            "sort",
            "limit",
            "scope",
            "verbose",
            "collation",
            "jsMode",
            "bypassDocumentValidation",
        ]),
        access: Access::Read,
        run: map_reduce::run,
        ..COMMAND
    },
    Command {
        name: "createSearchIndexes",
        fields: Some(&["indexes"]),
        access: Access::Write,
        since: (7, 0),
        run: search_index::create,
        ..COMMAND
    },
    Command {
        name: "updateSearchIndex",
        fields: Some(&["name", "id", "definition"]),
        access: Access::Write,
        since: (7, 0),
        run: search_index::update,
        ..COMMAND
    },
    Command {
        name: "dropSearchIndex",
        fields: Some(&["name", "id"]),
        access: Access::Write,
        since: (7, 0),
        run: search_index::drop,
        ..COMMAND
    },
    Command {
        name: "compactStructuredEncryptionData",
        api_v1: true,
        fields: Some(&["compactionTokens", "encryptionInformation", "anchorPaddingFactor"]),
        access: Access::Write,
        since: (7, 0),
        run: structured_encryption::compact,
        ..COMMAND
    },
    Command {
        name: "cleanupStructuredEncryptionData",
        fields: Some(&["cleanupTokens"]),
        access: Access::Write,
        since: (7, 1),
        run: structured_encryption::cleanup,
        ..COMMAND
    },
    Command {
        name: "explain",
        fields: Some(&["verbosity"]),
        access: Access::Read,
        api_v1: true,
        run: crate::explain::run,
        ..COMMAND
    },
    Command {
        name: "listCommands",
        run: system::list_commands,
        ..COMMAND
    },
    Command {
        name: "getDefaultRWConcern",
        fields: Some(&["inMemory"]),
        admin_only: true,
        since: (4, 4),
        run: system::default_concerns,
        ..COMMAND
    },
    Command {
        name: "profile",
        fields: Some(&["slowms", "sampleRate", "filter"]),
        access: Access::Read,
        run: system::profile,
        ..COMMAND
    },
    Command {
        name: "dbStats",
        aliases: &["dbstats"],
        fields: Some(&["scale", "freeStorage"]),
        access: Access::Read,
        run: stats::db_stats,
        ..COMMAND
    },
    Command {
        name: "collStats",
        aliases: &["collstats"],
        fields: Some(&["scale"]),
        access: Access::Read,
        run: stats::coll_stats,
        ..COMMAND
    },
    Command {
        name: "validate",
        fields: ANY_FIELDS,
        access: Access::Read,
        run: stats::validate,
        ..COMMAND
    },
    Command {
        name: "currentOp",
        fields: ANY_FIELDS,
        admin_only: true,
        run: current_op::current_op,
        ..COMMAND
    },
    Command {
        name: "killOp",
        fields: Some(&["op"]),
        admin_only: true,
        run: current_op::kill_op,
        ..COMMAND
    },
    Command {
        name: "authenticate",
        fields: ANY_FIELDS,
        api_v1: true,
        run: sasl::authenticate,
        ..COMMAND
    },
    Command {
        name: "saslStart",
        fields: ANY_FIELDS,
        api_v1: true,
        run: sasl::sasl_start,
        ..COMMAND
    },
    Command {
        name: "saslContinue",
        fields: ANY_FIELDS,
        api_v1: true,
        run: sasl::sasl_continue,
        ..COMMAND
    },
    Command {
        name: "getnonce",
        run: users::get_nonce,
        ..COMMAND
    },
    Command {
        name: "logout",
        run: sasl::logout,
        ..COMMAND
    },
    Command {
        name: "createUser",
        fields: Some(USER_FIELDS),
        access: Access::Write,
        run: users::create_user,
        ..COMMAND
    },
    Command {
        name: "updateUser",
        fields: Some(USER_FIELDS),
        access: Access::Write,
        run: users::update_user,
        ..COMMAND
    },
    Command {
        name: "dropUser",
        access: Access::Write,
        run: users::drop_user,
        ..COMMAND
    },
    Command {
        name: "dropAllUsersFromDatabase",
        access: Access::Write,
        run: users::drop_all_users,
        ..COMMAND
    },
    Command {
        name: "grantRolesToUser",
        fields: Some(&["roles"]),
        access: Access::Write,
        run: users::grant_roles,
        ..COMMAND
    },
    Command {
        name: "revokeRolesFromUser",
        fields: Some(&["roles"]),
        access: Access::Write,
        run: users::revoke_roles,
        ..COMMAND
    },
    Command {
        name: "rolesInfo",
        fields: Some(&[
            "showAuthenticationRestrictions",
            "showBuiltinRoles",
            "showPrivileges",
        ]),
        run: users::roles_info,
        ..COMMAND
    },
    Command {
        name: "usersInfo",
        fields: Some(&[
            "filter",
            "showAuthenticationRestrictions",
            "showCredentials",
            "showCustomData",
            "showPrivileges",
        ]),
        run: users::users_info,
        ..COMMAND
    },
    Command {
        name: "isdbgrid",
        on: Process::Mongos,
        run: sharding::is_dbgrid,
        ..COMMAND
    },
    Command {
        name: "listShards",
        admin_only: true,
        on: Process::Mongos,
        run: sharding::list_shards,
        ..COMMAND
    },
    Command {
        name: "enableSharding",
        fields: Some(&["primaryShard"]),
        admin_only: true,
        on: Process::Mongos,
        run: sharding::enable,
        ..COMMAND
    },
    Command {
        name: "shardCollection",
        fields: Some(&[
            "key",
            "unique",
            "numInitialChunks",
            "collation",
            "presplitHashedZones",
            "timeseries",
        ]),
        admin_only: true,
        on: Process::Mongos,
        run: sharding::shard_collection,
        ..COMMAND
    },
    Command {
        name: "refineCollectionShardKey",
        fields: Some(&["key", "enforceUniquenessCheck"]),
        admin_only: true,
        on: Process::Mongos,
        since: (4, 4),
        run: sharding::refine_key,
        ..COMMAND
    },
    Command {
        name: "checkMetadataConsistency",
        fields: Some(&["checkIndexes", "cursor"]),
        on: Process::Mongos,
        since: (7, 0),
        run: sharding::check_metadata,
        ..COMMAND
    },
    Command {
        name: "flushRouterConfig",
        admin_only: true,
        on: Process::Mongos,
        run: admin::ping,
        ..COMMAND
    },
    Command {
        name: "testDeprecation",
        api_v1: true,
        since: (4, 9),
        run: admin::ping,
        ..COMMAND
    },
    Command {
        name: "testDeprecationInVersion2",
        api_v1: true,
        since: (4, 9),
        run: admin::ping,
        ..COMMAND
    },
    Command {
        name: "testVersion2",
        since: (4, 9),
        run: admin::ping,
        ..COMMAND
    },
    Command {
        name: "testVersions1And2",
        api_v1: true,
        since: (4, 9),
        run: admin::ping,
        ..COMMAND
    },
];
