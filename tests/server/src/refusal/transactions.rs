//! The requests that MongoDB refuses: commands in transactions.

use super::{Deployments, Versions, rows};

rows! {
    COUNT: "transaction-count", 263, Versions::ALL, Deployments::REPLICATED,
        "`count`",
        "Cannot run 'count' in a multi-document transaction. Please see http://dochub.mongodb.org/core/transaction-count for a recommended alternative.",
        "`transaction_validation.cpp`: `validateSessionOptions`";
    COMMAND: "transaction-command", 263, Versions::ALL, Deployments::REPLICATED,
        "a command other than those of data, `create` and `createIndexes`",
        "Cannot run '{}' in a multi-document transaction.",
        "`transaction_validation.cpp`: `validateSessionOptions`";
    CREATE: "transaction-create", 263, Versions::before(4, 4), Deployments::REPLICATED,
        "`create` or `createIndexes`",
        "Cannot run '{}' in a multi-document transaction.",
        "`transaction_validation.cpp`: `validateSessionOptions` of 4.2";
    IMPLICIT_CREATE: "transaction-implicit-create", 263, Versions::before(4, 4), Deployments::REPLICATED,
        "a write that creates its collection",
        "Cannot create namespace {} in multi-document transaction.",
        "`catalog_raii.cpp`, `write_ops_exec.cpp`: `makeCollection` of 4.2";
    DATABASE: "transaction-local", 263, Versions::ALL, Deployments::REPLICATED,
        "a command on the database `local`",
        "Cannot run command against the '{}' database in a transaction.",
        "`transaction_validation.cpp`: `validateSessionOptions`";
    CONFIG: "transaction-config", 263, Versions::ALL, Deployments::REPLICATED,
        "a command on the database `config`",
        "Cannot run command against the config database in a transaction.",
        "`transaction_validation.cpp`: `validateSessionOptions`";
    ADMIN: "transaction-admin", 263, Versions::before(5, 0), Deployments::REPLICATED,
        "a command of data on the database `admin`",
        "Cannot run command against the '{}' database in a transaction.",
        "`transaction_validation.cpp`: `validateSessionOptions` of 4.4";
    PROFILE: "transaction-profile", 263, Versions::since(5, 0), Deployments::REPLICATED,
        "a command on the collection `system.profile`",
        "Cannot run command against the '{}' collection in a transaction.",
        "`transaction_validation.cpp`: `validateSessionOptions`";
    SYSTEM_VIEWS: "transaction-system-views", 263, Versions::since(8, 0), Deployments::REPLICATED,
        "a command on the collection `system.views`",
        "Cannot run command against the '{}' collection in a transaction.",
        "`transaction_validation.cpp`: `validateSessionOptions`";
    FIND_AND_MODIFY_SYSTEM: "transaction-find-and-modify-system", 50_781, Versions::before(5, 0), Deployments::REPLICATED,
        "`findAndModify` of a system collection",
        "Cannot write to system collection {} within a transaction.",
        "`find_and_modify.cpp`: `run` of 4.2";
    WRITE_SYSTEM: "transaction-write-system", 50_791, Versions::ALL, Deployments::REPLICATED,
        "a write to a system collection, except those of users and roles",
        "Cannot write to system collection {} within a transaction.",
        "`transaction_validation.cpp`: `doTransactionValidationForWrites`; `write_commands.cpp`: `_transactionChecks` of 4.2";
    KILL_CURSORS: "transaction-kill-cursors", 263, Versions::ALL, Deployments::REPLICATED,
        "`killCursors` as the first command",
        "Cannot run killCursors as the first operation in a multi-document transaction.",
        "`transaction_validation.cpp`: `validateSessionOptions`";
    TAILABLE: "transaction-tailable", 263, Versions::ALL, Deployments::REPLICATED,
        "`find` with a tailable cursor",
        "Tailable cursors are not allowed in transactions.",
        "`find_cmd.cpp`: `run`";
    STAGE: "transaction-stage", 263, Versions::since(5, 0), Deployments::REPLICATED,
        "a stage that writes, that reads statistics, or that is `$changeStream`",
        "Operation not permitted in transaction :: caused by :: Aggregation stage {} cannot run within a multi-document transaction.",
        "`lite_parsed_document_source.h`: `transactionNotSupported`";
    STAGE_OLD: "transaction-stage-old", 263, Versions::before(5, 0), Deployments::REPLICATED,
        "a stage that writes, that reads statistics, or that is `$changeStream`",
        "Operation not permitted in transaction :: caused by :: Aggregation stage {} cannot run with a readConcern other than 'local', or in a multi-document transaction. Current readConcern: {}",
        "`lite_parsed_document_source.h`: `onlyReadConcernLocalSupported` of 4.4";
    WINDOW_FIELDS: "transaction-window-fields", 263, Versions::between((5, 0), (5, 3)), Deployments::REPLICATED,
        "`$setWindowFields`",
        "Operation not permitted in transaction :: caused by :: Aggregation stage {} cannot run within a multi-document transaction.",
        "the manual's page \"Compatibility Changes in MongoDB 5.2\"";
    EXPLAIN: "transaction-explain", 263, Versions::ALL, Deployments::REPLICATED,
        "`aggregate` with `explain`",
        "Operation not permitted in transaction :: caused by :: Explain for the aggregate command cannot run with",
        "`lite_parsed_pipeline.cpp`: `assertSupportsMultiDocumentTransaction`";
    CREATE_VIEW: "transaction-create-view", 263, Versions::since(4, 4), Deployments::REPLICATED,
        "`create` of a view",
        "Cannot create a view in a multi-document transaction.",
        "`create_collection.cpp`: `createCollection`";
    CREATE_TIME_SERIES: "transaction-create-timeseries", 263, Versions::since(5, 0), Deployments::REPLICATED,
        "`create` of a time series collection",
        "Cannot create a time-series collection in a multi-document transaction.",
        "`create_collection.cpp`: `createCollection`";
    INDEX_ON_EXISTING: "transaction-index-existing", 263, Versions::since(4, 4), Deployments::REPLICATED,
        "`createIndexes` on a collection that existed before the transaction",
        "Cannot create new indexes on existing collection {} in a multi-document transaction.",
        "`create_indexes.cpp`: `runCreateIndexesInMultiDocumentTxn`";
    WRITE_CONCERN: "transaction-write-concern", 72, Versions::ALL, Deployments::REPLICATED,
        "`writeConcern` with another command than `commitTransaction` and `abortTransaction`",
        "writeConcern is not allowed within a multi-statement transaction",
        "`service_entry_point_common.cpp`: `validateWriteConcern`";
    READ_CONCERN_LEVEL: "transaction-read-concern-level", 72, Versions::ALL, Deployments::REPLICATED,
        "a read concern other than `local`, `majority` and `snapshot`",
        "The readConcern level must be either 'local' (default), 'majority' or 'snapshot' in order to run in a transaction",
        "`service_entry_point_common.cpp`: `_extractReadConcern`";
    READ_CONCERN_LATER: "transaction-read-concern-later", 72, Versions::ALL, Deployments::REPLICATED,
        "`readConcern` with another command than the first one",
        "Only the first command in a transaction may specify a readConcern",
        "`service_entry_point_common.cpp`: `_extractReadConcern`";
    STANDALONE: "transaction-standalone", 20, Versions::ALL, Deployments::STANDALONE,
        "any command, on a standalone",
        "Transaction numbers are only allowed on a replica set member or mongos",
        "`initialize_operation_session_info.cpp`: `initializeOperationSessionInfo`";
}
