//! The requests that MongoDB refuses: time series collections: their options, indexes and writes.

use super::{Deployments, Versions, rows};

const ALL: Deployments = Deployments::ALL;

rows! {
    OPTION: "timeseries-option", 72, Versions::since(5, 0), ALL,
        "`create` with `timeseries` and `validator`, `capped`, `viewOn`, `clusteredIndex` or `changeStreamPreAndPostImages`",
        "{}: 'timeseries' is not allowed with '{}'",
        "create_command.cpp, CmdCreate";
    TIME_DOTTED: "timeseries-time-dotted", 72, Versions::since(5, 0), ALL,
        "a `timeField` with a dot",
        "{}: 'timeField' must be a top-level field and not contain a '.'",
        "create_command.cpp, CmdCreate";
    META_ID: "timeseries-meta-id", 72, Versions::since(5, 0), ALL,
        "the `metaField` `_id`",
        "'metaField' cannot be \"_id\"",
        "create_command.cpp, CmdCreate";
    META_TIME: "timeseries-meta-time", 72, Versions::since(5, 0), ALL,
        "a `metaField` that is the `timeField`",
        "'metaField' cannot be the same as 'timeField'",
        "create_command.cpp, CmdCreate";
    META_DOTTED: "timeseries-meta-dotted", 72, Versions::since(5, 0), ALL,
        "a `metaField` with a dot",
        "{}: 'metaField' must be a top-level field and not contain a '.'",
        "create_command.cpp, CmdCreate";
    GRANULARITY: "timeseries-granularity", 2, Versions::since(5, 0), ALL,
        "a `granularity` other than `seconds`, `minutes` and `hours`",
        "Enumeration value '{}' for field 'create.timeseries.granularity' is not a valid value.",
        "timeseries.idl, BucketGranularity";
    TRANSITION: "timeseries-transition", 72, Versions::since(5, 0), ALL,
        "a `granularity` in `collMod` that is finer",
        "Invalid transition for timeseries.granularity. Can only transition from 'seconds' to 'minutes' or 'minutes' to 'hours'.",
        "timeseries_options.cpp, applyTimeseriesOptionsModifications";
    MOD_OPTION: "timeseries-mod-option", 72, Versions::since(5, 0), ALL,
        "`collMod` of a time series collection with `validator`, `validationLevel`, `validationAction` or `changeStreamPreAndPostImages`",
        "option not supported on a time-series collection: {}",
        "coll_mod.cpp, parseCollModRequest";
    MOD_ONLY: "timeseries-mod-only", 72, Versions::since(5, 0), ALL,
        "`timeseries` in `collMod` of another collection",
        "option only supported on a time-series collection: timeseries",
        "coll_mod.cpp, parseCollModRequest";
    MOD_COMBINED: "timeseries-mod-combined", 72, Versions::since(8, 2), ALL,
        "`timeseries` in `collMod` with another option",
        "Cannot combine timeseries option with other modification options in a single collMod command. Send separate collMod commands for timeseries and other options.",
        "coll_mod.cpp, staticValidateCollMod";
    MOD_TTL_INDEX: "timeseries-mod-ttl-index", 72, Versions::since(5, 0), ALL,
        "`index.expireAfterSeconds` in `collMod` of a time series collection",
        "TTL indexes are not supported for time-series collections. Please refer to the documentation and use the top-level 'expireAfterSeconds' option instead",
        "coll_mod.cpp, parseCollModRequest";
    MOD_PREPARE_UNIQUE: "timeseries-mod-prepare-unique", 72, Versions::since(6, 0), ALL,
        "`index.prepareUnique` in `collMod` of a time series collection",
        "cannot set 'prepareUnique' for indexes of a time-series collection.",
        "coll_mod.cpp, parseCollModRequest";
    INDEX_UNIQUE: "timeseries-index-unique", 72, Versions::since(5, 0), ALL,
        "a unique index on a time series collection",
        "Unique indexes are not supported on time-series collections",
        "timeseries_commands_conversion_helper.cpp, makeTimeseriesCreateIndexesCommand";
    INDEX_TEXT: "timeseries-index-text", 72, Versions::since(5, 0), ALL,
        "a text index on a time series collection",
        "Text indexes are not supported on time-series collections",
        "timeseries_commands_conversion_helper.cpp, makeTimeseriesCreateIndexesCommand";
    INDEX_SPARSE_BEFORE_6: "timeseries-index-sparse-before-6", 72, Versions::between((5, 0), (6, 0)), ALL,
        "an index with `sparse` on a time series collection",
        "Sparse indexes are not supported on time-series collections",
        "timeseries_commands_conversion_helper.cpp, makeTimeseriesCreateIndexesCommand";
    INDEX_SPARSE: "timeseries-index-sparse", 72, Versions::since(6, 0), ALL,
        "an index with `sparse` on a measurement of a time series collection",
        "Sparse indexes are not supported on time-series measurements",
        "timeseries_commands_conversion_helper.cpp, makeTimeseriesCreateIndexesCommand";
    INDEX_PARTIAL: "timeseries-index-partial", 72, Versions::between((5, 0), (6, 0)), ALL,
        "an index with `partialFilterExpression` on a time series collection",
        "Partial indexes are not supported on time-series collections",
        "timeseries_commands_conversion_helper.cpp, makeTimeseriesCreateIndexesCommand";
    INDEX_PARTIAL_COLLATION: "timeseries-index-partial-collation", 85, Versions::since(6, 0), ALL,
        "an index with `partialFilterExpression` and `collation` on a time series collection",
        "On a time-series collection, partialFilterExpression and collation arguments are incompatible",
        "timeseries_commands_conversion_helper.cpp, makeTimeseriesCreateIndexesCommand";
    INDEX_TTL_BEFORE_7: "timeseries-index-ttl-before-7", 72, Versions::between((5, 0), (6, 3)), ALL,
        "an index with `expireAfterSeconds` on a time series collection",
        "TTL indexes are not supported on time-series collections",
        "timeseries_commands_conversion_helper.cpp, makeTimeseriesCreateIndexesCommand";
    INDEX_TTL: "timeseries-index-ttl", 72, Versions::since(6, 3), ALL,
        "an index with `expireAfterSeconds` on a time series collection without a `partialFilterExpression` on the `metaField`",
        "TTL indexes on time-series collections require a partialFilterExpression on the metaField",
        "timeseries_commands_conversion_helper.cpp, makeTimeseriesCreateIndexesCommand";
    INDEX_TTL_FIELD: "timeseries-index-ttl-field", 72, Versions::since(6, 3), ALL,
        "an index with `expireAfterSeconds` on another field than the `timeField`",
        "TTL indexes on non-time fields are not supported on time-series collections",
        "timeseries_commands_conversion_helper.cpp, convertToTTLTimeField";
    INDEX_MEASUREMENT: "timeseries-index-measurement", 67, Versions::between((5, 0), (6, 0)), ALL,
        "an index on a measurement of a time series collection",
        "Indexes are only supported on the {} Attempted to create an index on the field '{}'.",
        "timeseries_index_schema_conversion_functions.cpp";
    INDEX_WILDCARD: "timeseries-index-wildcard", 7_246_201, Versions::since(7, 0), ALL,
        "a wildcard index on the measurements of a time series collection",
        "Index Key can contain only one wildcard index field",
        "index_key_validate.cpp, validateWildcardIndex";
    INDEX_WILDCARD_BEFORE_7: "timeseries-index-wildcard-before-7", 67, Versions::between((6, 0), (7, 0)), ALL,
        "a wildcard index on the measurements of a time series collection",
        "wildcard indexes do not allow compounding",
        "index_key_validate.cpp, validateKeyPattern";
    INDEX_TIME_TYPE: "timeseries-index-time-type", 67, Versions::since(5, 0), ALL,
        "an index on the `timeField` that is neither ascending nor descending",
        "Indexes on the time field must be ascending or descending (numbers only): {}",
        "timeseries_index_schema_conversion_functions.cpp";
    INDEX_MEASUREMENT_TYPE: "timeseries-index-measurement-type", 67, Versions::since(6, 0), ALL,
        "a hashed or 2d index on a measurement",
        "Indexes on measurement fields must be ascending or descending (numbers only), or '2dsphere': {}",
        "timeseries_index_schema_conversion_functions.cpp";
    MAX_SPAN: "timeseries-max-span", 5_510_500, Versions::between((5, 0), (6, 3)), ALL,
        "a `bucketMaxSpanSeconds` other than the default of the granularity",
        "Timeseries 'bucketMaxSpanSeconds' is not configurable to a value other than the default of {} for the provided granularity",
        "timeseries_options.cpp, validateAndSetBucketingParameters";
    ROUNDING_VERSION: "timeseries-rounding-version", 40_415, Versions::between((5, 0), (6, 3)), ALL,
        "`bucketRoundingSeconds`",
        "BSON field '{}.timeseries.bucketRoundingSeconds' is an unknown field.",
        "timeseries.idl, TimeseriesOptions";
    SPAN_AND_GRANULARITY: "timeseries-span-and-granularity", 72, Versions::since(6, 3), ALL,
        "`granularity` with a `bucketMaxSpanSeconds` other than its default",
        " to a value other than the default of {} for the provided granularity",
        "timeseries_options.cpp, validateAndSetBucketingParameters";
    ROUNDING_AND_GRANULARITY: "timeseries-rounding-and-granularity", 72, Versions::since(8, 0), ALL,
        "`granularity` with `bucketRoundingSeconds`",
        "'bucketRoundingSeconds' cannot be set alongside the granularity parameter",
        "timeseries_options.cpp, validateAndSetBucketingParameters";
    SPAN_AND_ROUNDING: "timeseries-span-and-rounding", 72, Versions::since(6, 3), ALL,
        "`bucketMaxSpanSeconds` and `bucketRoundingSeconds` that differ",
        "Time-series 'bucketRoundingSeconds' must be equal to 'bucketMaxSpanSeconds'",
        "timeseries_options.cpp, validateAndSetBucketingParameters";
    TIME_MISSING: "timeseries-time-missing", 2, Versions::since(5, 0), ALL,
        "a measurement without a date in the `timeField`",
        "'{}' must be present and contain a valid BSON UTC datetime value",
        "bucket_catalog.cpp, extractTime";
    UPDATE_ONE: "timeseries-update-one", 72, Versions::since(5, 0), ALL,
        "an update of a time series collection without `multi: true`",
        "Cannot perform a non-multi update on a time-series collection",
        "timeseries_write_util.cpp, updateRequestCheckFunction";
    UPSERT: "timeseries-upsert", 72, Versions::since(5, 0), ALL,
        "an upsert in a time series collection",
        "Cannot perform an upsert on a time-series collection",
        "timeseries_write_util.cpp, updateRequestCheckFunction";
    UPDATE_NO_META: "timeseries-update-no-meta", 72, Versions::since(5, 0), ALL,
        "an update of a time series collection without `metaField`",
        "Cannot perform an update on a time-series collection that does not have a metaField",
        "timeseries_write_util.cpp, updateRequestCheckFunction";
    UPDATE_QUERY: "timeseries-update-query", 72, Versions::since(5, 0), ALL,
        "an update of a time series collection whose filter has another field than the `metaField`",
        "Cannot perform an update or delete on a time-series collection when querying on a field that is not the metaField '{}'",
        "timeseries_update_delete_util.cpp, translateQuery";
    UPDATE_PIPELINE: "timeseries-update-pipeline", 72, Versions::since(5, 0), ALL,
        "an update of a time series collection with a pipeline",
        "Cannot perform an update on a time-series collection using a pipeline update",
        "timeseries_update_delete_util.cpp, translateUpdate";
    UPDATE_FIELD: "timeseries-update-field", 72, Versions::since(5, 0), ALL,
        "an update of a field of a time series collection that is not in the `metaField`",
        "Cannot perform an update on a time-series collection which updates a field that is not the metaField '{}'",
        "timeseries_update_delete_util.cpp, translateUpdate";
    DELETE_ONE: "timeseries-delete-one", 20, Versions::between((5, 0), (7, 0)), ALL,
        "a delete in a time series collection with `limit: 1`",
        "Cannot perform a non-multi delete on a time-series collection",
        "timeseries_write_util.cpp, deleteRequestCheckFunction";
    DELETE_NO_META: "timeseries-delete-no-meta", 72, Versions::between((5, 0), (7, 0)), ALL,
        "a delete with a filter in a time series collection without `metaField`",
        "Cannot perform a delete with a non-empty query on a time-series collection that does not have a metaField ",
        "timeseries_write_util.cpp, deleteRequestCheckFunction";
    DELETE_QUERY: "timeseries-delete-query", 72, Versions::between((5, 0), (7, 0)), ALL,
        "a delete in a time series collection whose filter has another field than the `metaField`",
        "Cannot perform an update or delete on a time-series collection when querying on a field that is not the metaField '{}'",
        "timeseries_update_delete_util.cpp, translateQuery";
    TRANSACTION: "timeseries-transaction", 263, Versions::since(5, 0), Deployments::REPLICATED,
        "an insert into a time series collection in a transaction",
        "Cannot insert into a time-series collection in a multi-document transaction: {}",
        "write_ops_exec.cpp, performInserts";
    TRANSACTION_UPDATE: "timeseries-transaction-update", 263, Versions::since(7, 0), Deployments::REPLICATED,
        "an update of a time series collection in a transaction",
        "Cannot perform a multi update inside of a multi-document transaction on a time-series collection: {}",
        "write_ops_exec.cpp, performUpdates";
    TRANSACTION_DELETE: "timeseries-transaction-delete", 263, Versions::since(7, 0), Deployments::REPLICATED,
        "a delete with `limit: 0` in a time series collection in a transaction",
        "Cannot perform a multi delete inside of a multi-document transaction on a time-series collection: {}",
        "write_ops_exec.cpp, performDeletes";
    FIND_AND_MODIFY_SORT: "timeseries-find-and-modify-sort", 72, Versions::since(7, 0), ALL,
        "`findAndModify` with `sort` in a time series collection",
        "Cannot perform a findAndModify with a query and sort on a time-series collection.",
        "find_and_modify.cpp, run";
    FIND_AND_MODIFY_UPDATE: "timeseries-find-and-modify-update", 72, Versions::since(7, 0), ALL,
        "`findAndModify` with `update` in a time series collection",
        "Cannot perform a non-multi update on a time-series collection",
        "timeseries_write_util.cpp, updateRequestCheckFunction";
    FIND_AND_MODIFY: "timeseries-find-and-modify", 166, Versions::between((5, 0), (7, 0)), ALL,
        "`findAndModify` in a time series collection",
        "Taking {} lock for timeseries is not allowed",
        "db_raii.cpp, AutoGetCollection";
}
