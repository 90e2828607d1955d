//! The command table: fields, access and availability of each command. Commands of data, sessions
//! and replica sets.

use super::{
    Call, admin, aggregate, coll_mod, convert_to_capped, count, create, cursors, delete, find,
    find_and_modify, hello, indexes, insert, list, rename, repl_set, sasl, update,
};
use crate::deployment::Deployment;
use crate::error::Result;
use bson::Document;

/// The replica set members on which a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Any member.
    Always,
    /// The primary, or a secondary if the read preference allows it.
    Read,
    /// The primary only.
    Write,
}

/// The processes that have a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Process {
    Any,
    Mongod,
    Mongos,
}

/// An entry of the command table.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    /// The fields besides the generic ones; `None` accepts any field.
    pub(crate) fields: Option<&'static [&'static str]>,
    pub(crate) access: Access,
    /// Whether the command is in version 1 of the Stable API.
    pub(crate) api_v1: bool,
    pub(crate) admin_only: bool,
    pub(crate) retryable_write: bool,
    /// Whether the command is allowed in a transaction.
    pub(crate) in_transaction: bool,
    pub(crate) on: Process,
    /// The first server version that has the command.
    pub(crate) since: (u32, u32),
    pub(crate) run: fn(&Call<'_>) -> Result<Document>,
}

/// The defaults of an entry.
pub(super) const COMMAND: Command = Command {
    name: "",
    aliases: &[],
    fields: Some(&[]),
    access: Access::Always,
    api_v1: false,
    admin_only: false,
    retryable_write: false,
    in_transaction: false,
    on: Process::Any,
    since: (4, 2),
    run: admin::ping,
};

const HELLO_FIELDS: Option<&[&str]> = Some(&[
    "client",
    "helloOk",
    "topologyVersion",
    "maxAwaitTimeMS",
    "compression",
    "saslSupportedMechs",
    "speculativeAuthenticate",
    "loadBalanced",
    "hostInfo",
    "internalClient",
    "forShell",
    "backpressure",
]);

pub(crate) const COMMANDS: &[Command] = &[
    Command {
        name: "hello",
        api_v1: true,
        fields: HELLO_FIELDS,
        run: hello::unreachable,
        ..COMMAND
    },
    Command {
        name: "isMaster",
        aliases: &["ismaster"],
        fields: HELLO_FIELDS,
        run: hello::unreachable,
        ..COMMAND
    },
    Command {
        name: "ping",
        api_v1: true,
        ..COMMAND
    },
    Command {
        name: "buildInfo",
        aliases: &["buildinfo"],
        run: admin::build_info,
        ..COMMAND
    },
    Command {
        name: "getParameter",
        fields: None,
        admin_only: true,
        run: admin::get_parameter,
        ..COMMAND
    },
    Command {
        name: "setParameter",
        fields: None,
        admin_only: true,
        run: admin::set_parameter,
        ..COMMAND
    },
    Command {
        name: "endSessions",
        api_v1: true,
        run: admin::end_sessions,
        ..COMMAND
    },
    Command {
        name: "refreshSessions",
        api_v1: true,
        run: admin::sessions_ok,
        ..COMMAND
    },
    Command {
        name: "killSessions",
        run: admin::end_sessions,
        ..COMMAND
    },
    Command {
        name: "killAllSessions",
        run: admin::kill_all_sessions,
        ..COMMAND
    },
    Command {
        name: "startSession",
        run: admin::start_session,
        ..COMMAND
    },
    Command {
        name: "hostInfo",
        run: admin::host_info,
        ..COMMAND
    },
    Command {
        name: "serverStatus",
        fields: None,
        run: admin::server_status,
        ..COMMAND
    },
    Command {
        name: "whatsmyuri",
        run: admin::whats_my_uri,
        ..COMMAND
    },
    Command {
        name: "connectionStatus",
        fields: Some(&["showPrivileges"]),
        run: sasl::connection_status,
        ..COMMAND
    },
    Command {
        name: "getCmdLineOpts",
        admin_only: true,
        run: admin::command_line,
        ..COMMAND
    },
    Command {
        name: "getLog",
        admin_only: true,
        run: admin::get_log,
        ..COMMAND
    },
    Command {
        name: "configureFailPoint",
        fields: Some(&["mode", "data"]),
        admin_only: true,
        run: admin::configure_fail_point,
        ..COMMAND
    },
    Command {
        name: "replSetGetStatus",
        on: Process::Mongod,
        fields: Some(&["initialSync"]),
        admin_only: true,
        run: repl_set::status,
        ..COMMAND
    },
    Command {
        name: "replSetGetConfig",
        on: Process::Mongod,
        fields: Some(&["commitmentStatus"]),
        admin_only: true,
        run: repl_set::config,
        ..COMMAND
    },
    Command {
        name: "replSetStepDown",
        on: Process::Mongod,
        fields: Some(&["secondaryCatchUpPeriodSecs", "force"]),
        admin_only: true,
        run: repl_set::step_down,
        ..COMMAND
    },
    Command {
        name: "replSetFreeze",
        on: Process::Mongod,
        admin_only: true,
        run: repl_set::freeze,
        ..COMMAND
    },
    Command {
        name: "insert",
        in_transaction: true,
        fields: Some(&["documents", "ordered", "bypassDocumentValidation"]),
        access: Access::Write,
        api_v1: true,
        retryable_write: true,
        run: insert::run,
        ..COMMAND
    },
    Command {
        name: "find",
        in_transaction: true,
        fields: Some(&[
            "filter",
            "sort",
            "projection",
            "hint",
            "skip",
            "limit",
            "batchSize",
            "singleBatch",
            "max",
            "min",
            "returnKey",
            "showRecordId",
            "tailable",
            "oplogReplay",
            "noCursorTimeout",
            "awaitData",
            "allowPartialResults",
            "collation",
            "allowDiskUse",
            "let",
        ]),
        access: Access::Read,
        api_v1: true,
        run: find::run,
        ..COMMAND
    },
    Command {
        name: "getMore",
        in_transaction: true,
        fields: Some(&["collection", "batchSize", "term", "lastKnownCommittedOpTime"]),
        api_v1: true,
        run: cursors::get_more,
        ..COMMAND
    },
    Command {
        name: "killCursors",
        in_transaction: true,
        fields: Some(&["cursors"]),
        api_v1: true,
        run: cursors::kill_cursors,
        ..COMMAND
    },
    Command {
        name: "create",
        in_transaction: true,
        fields: Some(&[
            "capped",
            "autoIndexId",
            "idIndex",
            "size",
            "max",
            "storageEngine",
            "validator",
            "validationLevel",
            "validationAction",
            "indexOptionDefaults",
            "viewOn",
            "pipeline",
            "collation",
            "changeStreamPreAndPostImages",
            "timeseries",
            "clusteredIndex",
            "expireAfterSeconds",
            "encryptedFields",
            "temp",
            "flags",
        ]),
        access: Access::Write,
        api_v1: true,
        run: create::create,
        ..COMMAND
    },
    Command {
        name: "drop",
        access: Access::Write,
        api_v1: true,
        run: create::drop,
        ..COMMAND
    },
    Command {
        name: "dropDatabase",
        access: Access::Write,
        api_v1: true,
        run: create::drop_database,
        ..COMMAND
    },
    Command {
        name: "update",
        in_transaction: true,
        fields: Some(&["updates", "ordered", "bypassDocumentValidation", "let"]),
        access: Access::Write,
        api_v1: true,
        retryable_write: true,
        run: update::run,
        ..COMMAND
    },
    Command {
        name: "delete",
        in_transaction: true,
        fields: Some(&["deletes", "ordered", "let"]),
        access: Access::Write,
        api_v1: true,
        retryable_write: true,
        run: delete::run,
        ..COMMAND
    },
    Command {
        name: "findAndModify",
        in_transaction: true,
        aliases: &["findandmodify"],
        fields: Some(&[
            "query",
            "sort",
            "remove",
            "update",
            "new",
            "fields",
            "upsert",
            "bypassDocumentValidation",
            "collation",
            "arrayFilters",
            "hint",
            "let",
        ]),
        access: Access::Write,
        api_v1: true,
        retryable_write: true,
        run: find_and_modify::run,
        ..COMMAND
    },
    Command {
        name: "count",
        fields: Some(&["query", "limit", "skip", "hint", "collation", "fields"]),
        access: Access::Read,
        api_v1: true,
        run: count::count,
        ..COMMAND
    },
    Command {
        name: "distinct",
        in_transaction: true,
        fields: Some(&["key", "query", "collation", "hint"]),
        access: Access::Read,
        run: count::distinct,
        ..COMMAND
    },
    Command {
        name: "aggregate",
        in_transaction: true,
        fields: Some(&[
            "pipeline",
            "explain",
            "allowDiskUse",
            "cursor",
            "bypassDocumentValidation",
            "collation",
            "hint",
            "let",
        ]),
        access: Access::Read,
        api_v1: true,
        run: aggregate::run,
        ..COMMAND
    },
    Command {
        name: "listCollections",
        fields: Some(&["filter", "nameOnly", "authorizedCollections", "cursor"]),
        access: Access::Read,
        api_v1: true,
        run: list::list_collections,
        ..COMMAND
    },
    Command {
        name: "listDatabases",
        fields: Some(&["filter", "nameOnly", "authorizedDatabases"]),
        access: Access::Read,
        api_v1: true,
        admin_only: true,
        run: list::list_databases,
        ..COMMAND
    },
    Command {
        name: "listIndexes",
        fields: Some(&["cursor", "includeBuildUUIDs", "includeIndexBuildInfo"]),
        access: Access::Read,
        api_v1: true,
        run: list::list_indexes,
        ..COMMAND
    },
    Command {
        name: "createIndexes",
        in_transaction: true,
        fields: Some(&["indexes", "commitQuorum", "ignoreUnknownIndexOptions"]),
        access: Access::Write,
        api_v1: true,
        run: indexes::create_indexes,
        ..COMMAND
    },
    Command {
        name: "convertToCapped",
        fields: Some(&["size"]),
        access: Access::Write,
        run: convert_to_capped::run,
        ..COMMAND
    },
    Command {
        name: "reIndex",
        access: Access::Write,
        on: Process::Mongod,
        run: indexes::reindex,
        ..COMMAND
    },
    Command {
        name: "dropIndexes",
        aliases: &["deleteIndexes"],
        fields: Some(&["index"]),
        access: Access::Write,
        api_v1: true,
        run: indexes::drop_indexes,
        ..COMMAND
    },
    Command {
        name: "collMod",
        fields: Some(&[
            "index",
            "validator",
            "validationLevel",
            "validationAction",
            "changeStreamPreAndPostImages",
            "expireAfterSeconds",
            "dryRun",
            "viewOn",
            "pipeline",
            "cappedSize",
            "cappedMax",
            "timeseries",
        ]),
        access: Access::Write,
        api_v1: true,
        run: coll_mod::run,
        ..COMMAND
    },
    Command {
        name: "renameCollection",
        api_v1: true,
        fields: Some(&["to", "dropTarget"]),
        access: Access::Write,
        admin_only: true,
        run: rename::run,
        ..COMMAND
    },
];

/// All commands of this deployment and version.
pub(super) fn all(deployment: &Deployment) -> impl Iterator<Item = &'static Command> {
    COMMANDS
        .iter()
        .chain(super::table_admin::COMMANDS)
        .filter(|command| find(command.name, deployment).is_some())
}

/// The command of this deployment and version with this name or alias.
pub(crate) fn find(name: &str, deployment: &Deployment) -> Option<&'static Command> {
    let process = if deployment.is_mongos() {
        Process::Mongos
    } else {
        Process::Mongod
    };
    COMMANDS
        .iter()
        .chain(super::table_admin::COMMANDS)
        .find(|command| command.name == name || command.aliases.contains(&name))
        .filter(|command| command.on == Process::Any || command.on == process)
        .filter(|command| deployment.version.at_least(command.since.0, command.since.1))
}
