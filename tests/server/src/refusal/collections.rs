//! The requests that MongoDB refuses: `create`, `collMod` and other commands on collections.

use super::{Deployments, Versions, rows};

const ALL: Deployments = Deployments::ALL;

rows! {
    CREATE_OPTION_4_2: "create-option-4-2", 72, Versions::before(4, 4), ALL,
        "`create` with `timeseries`, `expireAfterSeconds`, `clusteredIndex`, `changeStreamPreAndPostImages` or `encryptedFields`",
        "The field '{}' is not a valid collection option. Options: {}",
        "collection_options.cpp, parse";
    CREATE_TIMESERIES_VERSION: "create-timeseries-version", 40_415, Versions::between((4, 4), (5, 0)), ALL,
        "`create` with `timeseries` or `expireAfterSeconds`",
        "BSON field 'create.{}' is an unknown field.",
        "create.idl";
    CREATE_CLUSTERED_VERSION: "create-clustered-version", 40_415, Versions::between((4, 4), (5, 0)), ALL,
        "`create` with `clusteredIndex`",
        "BSON field 'create.{}' is an unknown field.",
        "create.idl";
    CREATE_CLUSTERED_TYPE: "create-clustered-type", 14, Versions::between((5, 0), (5, 3)), ALL,
        "`create` with `clusteredIndex` as a document",
        "BSON field 'create.clusteredIndex' is the wrong type 'object', expected type 'bool'",
        "create.idl";
    CREATE_IMAGES_VERSION: "create-images-version", 40_415, Versions::between((4, 4), (6, 0)), ALL,
        "`create` with `changeStreamPreAndPostImages`",
        "BSON field 'create.{}' is an unknown field.",
        "create.idl";
    CREATE_ENCRYPTED_VERSION: "create-encrypted-version", 40_415, Versions::between((4, 4), (6, 0)), ALL,
        "`create` with `encryptedFields`",
        "BSON field 'create.{}' is an unknown field.",
        "create.idl";
    CAPPED_SIZE_MISSING: "capped-size-missing", 72, Versions::ALL, ALL,
        "`create` with `capped` and without `size`",
        "the 'size' field is required when 'capped' is true",
        "create_command.cpp, CmdCreate";
    CAPPED_MISSING: "capped-missing", 72, Versions::ALL, ALL,
        "`create` with `size` or `max` and without `capped`",
        "the 'capped' field needs to be true when either the 'size' or 'max' fields are present",
        "create_command.cpp, CmdCreate";
    CAPPED_SIZE_4_2: "capped-size-4-2", 2, Versions::before(4, 4), ALL,
        "a `size` of a capped collection below 0",
        "size has to be >= 0",
        "collection_options.cpp, checkAndAdjustCappedSize";
    CAPPED_SIZE_BEFORE_8: "capped-size-before-8", 51_024, Versions::between((4, 4), (7, 2)), ALL,
        "a `size` of a capped collection below 1",
        "BSON field 'size' value must be >= 1, actual value '{}'",
        "create.idl";
    CAPPED_SIZE: "capped-size", 2, Versions::since(7, 2), ALL,
        "a `size` of a capped collection below 1",
        "BSON field 'size' value must be >= 1, actual value '{}'",
        "create.idl";
    CAPPED_SIZE_MAXIMUM_BEFORE_8: "capped-size-maximum-before-8", 51_024, Versions::between((4, 4), (7, 2)), ALL,
        "a `size` of a capped collection above 2^50",
        "BSON field 'size' value must be <= 1125899906842624, actual value '{}'",
        "create.idl";
    CAPPED_SIZE_MAXIMUM: "capped-size-maximum", 2, Versions::since(7, 2), ALL,
        "a `size` of a capped collection above 2^50",
        "BSON field 'size' value must be <= 1125899906842624, actual value '{}'",
        "create.idl";
    CAPPED_MAX_4_2: "capped-max-4-2", 2, Versions::before(4, 4), ALL,
        "a `max` of a capped collection of 2^31 or more",
        "max in a capped collection has to be < 2^31 or not set",
        "collection_options.cpp, checkAndAdjustCappedMaxDocs";
    CAPPED_MAX_BEFORE_8: "capped-max-before-8", 51_024, Versions::between((4, 4), (7, 2)), ALL,
        "a `max` of a capped collection of 2^31 or more",
        "BSON field 'max' value must be < 2147483648, actual value '{}'",
        "create.idl";
    CAPPED_MAX: "capped-max", 2, Versions::since(7, 2), ALL,
        "a `max` of a capped collection of 2^31 or more",
        "BSON field 'max' value must be < 2147483648, actual value '{}'",
        "create.idl";
    EXISTS_4_2: "create-exists-4-2", 48, Versions::before(4, 4), ALL,
        "`create` of an existing collection",
        "a collection '{}' already exists",
        "create_collection.cpp, createCollection";
    EXISTS_BEFORE_7: "create-exists-before-7", 48, Versions::between((4, 4), (7, 0)), ALL,
        "`create` of an existing collection",
        "ollection already exists. NS: {}",
        "create_collection.cpp, createCollection";
    VIEW_EXISTS_BEFORE_7: "create-view-exists-before-7", 48, Versions::between((4, 4), (7, 0)), ALL,
        "`create` of an existing view",
        "A view already exists. NS: {}",
        "create_collection.cpp, createCollection";
    EXISTS: "create-exists", 48, Versions::since(7, 0), ALL,
        "`create` of an existing collection with other options",
        "namespace {} already exists, but with different options: {}",
        "create_collection.cpp, checkCollectionOptions";
    COLLATION_EMPTY: "create-collation-empty", 2, Versions::ALL, ALL,
        "`create` with an empty `collation`",
        "'collation' cannot be an empty document.",
        "create.idl";
    VIEW_ON_EMPTY: "create-view-on-empty", 2, Versions::ALL, ALL,
        "`create` with an empty `viewOn`",
        "'viewOn' cannot be empty.",
        "create.idl";
    IMAGES_DATABASE: "images-database", 72, Versions::since(6, 0), ALL,
        "`changeStreamPreAndPostImages` of a collection in `admin`, `local` or `config`",
        "changeStreamPreAndPostImages collection option is not supported on the {} database",
        "change_stream_pre_and_post_images_options validation";
    VALIDATOR_DATABASE: "validator-database", 72, Versions::ALL, ALL,
        "a validator of a collection in `admin`, `local` or `config`",
        "Document validators are not allowed on collection {} with UUID {} in the {} internal database",
        "collection_impl.cpp, checkValidatorCanBeUsedOnNs";
    VALIDATOR_CONTEXT: "validator-context", 2, Versions::ALL, ALL,
        "a validator with `$text` or `$where`",
        "{} is not allowed in this context",
        "collection_impl.cpp, parseValidator";
    VALIDATOR_NEAR: "validator-near", 2, Versions::ALL, ALL,
        "a validator with `$near` or `$nearSphere`",
        "$geoNear, $near, and $nearSphere are not allowed in this context",
        "collection_impl.cpp, parseValidator";
    TEMP: "create-temp", 72, Versions::ALL, ALL,
        "`create` with `temp`",
        "the 'temp' field is an invalid option",
        "create_command.cpp, CmdCreate";
    PIPELINE_4_2: "create-pipeline-4-2", 2, Versions::before(4, 4), ALL,
        "`create` with `pipeline` and without `viewOn`",
        "'pipeline' cannot be specified without 'viewOn'",
        "collection_options.cpp, parse";
    PIPELINE: "create-pipeline", 72, Versions::since(4, 4), ALL,
        "`create` with `pipeline` and without `viewOn`",
        "'pipeline' requires 'viewOn' to also be specified",
        "create_command.cpp, CmdCreate";
    VALIDATION_ACTION_4: "create-validation-action-4", 2, Versions::before(5, 0), ALL,
        "the `validationAction` `errorAndLog`",
        "invalid validation action: {}",
        "collection_impl.cpp, parseValidationAction";
    VALIDATION_ACTION: "create-validation-action", 2, Versions::between((5, 0), (8, 1)), ALL,
        "the `validationAction` `errorAndLog`",
        "Enumeration value '{}' for field '{}.validationAction' is not a valid value.",
        "collection_types.idl, ValidationAction";
    CLUSTERED_LEGACY_5: "clustered-legacy-5", 72, Versions::between((5, 0), (5, 3)), ALL,
        "`create` with `clusteredIndex: true`",
        "The 'clusteredIndex' option is not supported for namespace {}",
        "create_collection.cpp, validateCollectionOptions";
    CLUSTERED_LEGACY: "clustered-legacy", 5_979_703, Versions::since(5, 3), ALL,
        "`create` with `clusteredIndex: true`",
        "The 'clusteredIndex' legacy format {clusteredIndex: <bool>} is only supported for specific internal collections and vice versa",
        "create_collection.cpp, validateCollectionOptions";
    CLUSTERED_UNIQUE: "clustered-unique", 5_979_700, Versions::since(5, 3), ALL,
        "a clustered index with `unique: false`",
        "The clusteredIndex option requires unique: true to be specified",
        "create_collection.cpp, validateClusteredIndexSpec";
    CLUSTERED_KEY: "clustered-key", 197, Versions::since(5, 3), ALL,
        "a clustered index with another key than `{ _id: 1 }`",
        "The clusteredIndex option is only supported for key: {_id: 1}",
        "create_collection.cpp, validateClusteredIndexSpec";
    CLUSTERED_CAPPED: "clustered-capped", 6_127_800, Versions::since(5, 3), ALL,
        "`create` with `clusteredIndex` and `capped`",
        "Clustered capped collection only available with 'enableTestCommands' server parameter",
        "clustered_collection_util.cpp, checkCreationOptions";
    CLUSTERED_SIZE: "clustered-size", 6_049_200, Versions::since(5, 3), ALL,
        "`create` with `clusteredIndex` and `size`",
        "'size' field for capped collections is not allowed on clustered collections. Did you mean 'capped: true' with 'expireAfterSeconds'?",
        "clustered_collection_util.cpp, checkCreationOptions";
    CLUSTERED_MAX: "clustered-max", 6_049_204, Versions::since(5, 3), ALL,
        "`create` with `clusteredIndex` and `max`",
        "'max' field for capped collections is not allowed on clustered collections. Did you mean 'capped: true' with 'expireAfterSeconds'?",
        "clustered_collection_util.cpp, checkCreationOptions";
    CLUSTERED_VIEW: "clustered-view", 6_026_500, Versions::since(5, 3), ALL,
        "`create` with `clusteredIndex` and `viewOn`",
        "clusteredIndex",
        "create_collection.cpp, validateCollectionOptions";
    EXPIRE_5: "expire-after-5", 72, Versions::between((5, 0), (5, 3)), ALL,
        "`create` with `expireAfterSeconds` of an ordinary collection",
        "'expireAfterSeconds' is only supported on time-series collections",
        "create_command.cpp, CmdCreate";
    EXPIRE: "expire-after", 72, Versions::since(5, 3), ALL,
        "`create` with `expireAfterSeconds` of an ordinary collection",
        "'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified",
        "create_command.cpp, CmdCreate";
    EXPIRE_NEGATIVE: "expire-after-negative", 72, Versions::since(5, 0), ALL,
        "a negative `expireAfterSeconds` of a collection",
        "TTL index 'expireAfterSeconds' option cannot be less than 0",
        "index_key_validate.cpp, validateExpireAfterSeconds";
    EXPIRE_RANGE_BEFORE_8: "expire-after-range-before-8", 72, Versions::between((5, 0), (8, 0)), ALL,
        "an `expireAfterSeconds` of a time series or clustered collection above the number of seconds since 1970",
        "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a lower number",
        "index_key_validate.cpp, validateExpireAfterSeconds";
    EXPIRE_RANGE: "expire-after-range", 72, Versions::since(8, 0), ALL,
        "an `expireAfterSeconds` of a time series or clustered collection above the number of seconds since 1970",
        "TTL index 'expireAfterSeconds' option cannot exceed time since last epoch ({}",
        "index_key_validate.cpp, validateExpireAfterSeconds";
    VIEW_IMAGES: "view-images", 72, Versions::since(6, 0), ALL,
        "`create` with `viewOn` and `changeStreamPreAndPostImages`",
        "option not supported on a view: changeStreamPreAndPostImages",
        "create_collection.cpp, _createView";
    ENCRYPTED_CAPPED: "encrypted-capped", 6_367_301, Versions::since(6, 0), ALL,
        "`create` with `encryptedFields` and `capped`",
        "Encrypted fields cannot be used with capped collections",
        "create_command.cpp, CmdCreate";
    ENCRYPTED_VIEW: "encrypted-view", 6_346_401, Versions::since(6, 0), ALL,
        "`create` with `encryptedFields` and `viewOn` or `timeseries`",
        "Encrypted fields cannot be used with views or timeseries collections",
        "create_command.cpp, CmdCreate";
    ENCRYPTED_STANDALONE: "encrypted-standalone", 6_346_402, Versions::since(6, 0), Deployments::STANDALONE,
        "`create` with `encryptedFields`",
        "Encrypted collections are not supported on standalone",
        "create_command.cpp, CmdCreate";
    ENCRYPTED_LEVEL: "encrypted-validation-level", 2, Versions::since(6, 0), Deployments::REPLICATED,
        "a `validationLevel` other than `strict` of an encrypted collection",
        "Validation levels other than 'strict' are not allowed on encrypted collections",
        "collection_impl.cpp, validateValidationLevel";
    ENCRYPTED_ACTION: "encrypted-validation-action", 2, Versions::since(6, 0), Deployments::REPLICATED,
        "the `validationAction` `warn` of an encrypted collection",
        "Validation action of 'warn' is not allowed on encrypted collections",
        "collection_impl.cpp, validateValidationAction";
    MOD_UNKNOWN_4: "mod-unknown-4", 72, Versions::before(5, 0), ALL,
        "`collMod` with `cappedSize`, `cappedMax`, `changeStreamPreAndPostImages`, `timeseries`, `expireAfterSeconds` or `dryRun`, or with an API version",
        "unknown option to collMod: {}",
        "coll_mod.cpp, parseCollModRequest";
    MOD_UNKNOWN_5: "mod-unknown-5", 40_415, Versions::between((5, 0), (6, 0)), ALL,
        "`collMod` with `cappedSize`, `cappedMax`, `changeStreamPreAndPostImages` or `dryRun`",
        "BSON field 'collMod.{}' is an unknown field.",
        "coll_mod.idl";
    MOD_INDEX_NOTHING_4_2: "mod-index-nothing-4-2", 72, Versions::before(4, 4), ALL,
        "`collMod` of an index without `expireAfterSeconds`, also with `hidden`, `unique` or `prepareUnique`",
        "no expireAfterSeconds field",
        "coll_mod.cpp, parseCollModRequest";
    MOD_INDEX_UNKNOWN_4_4: "mod-index-unknown-4-4", 72, Versions::between((4, 4), (5, 0)), ALL,
        "`collMod` of an index with `unique`, `prepareUnique` or an unknown option",
        "Unrecognized field '{}' in 'index' option",
        "coll_mod.cpp, parseCollModRequest";
    MOD_INDEX_UNKNOWN_5: "mod-index-unknown-5", 40_415, Versions::between((5, 0), (6, 0)), ALL,
        "`collMod` of an index with `unique`, `prepareUnique` or an unknown option",
        "BSON field 'collMod.index.{}' is an unknown field.",
        "coll_mod.idl";
    MOD_INDEX_NOTHING: "mod-index-nothing", 72, Versions::since(4, 4), ALL,
        "`collMod` of an index without a change",
        "no expireAfterSeconds",
        "coll_mod.cpp, parseCollModRequest";
    MOD_TTL_CONVERSION: "mod-ttl-conversion", 72, Versions::before(5, 1), ALL,
        "`collMod` with `expireAfterSeconds` of an index that is not a TTL index",
        "no expireAfterSeconds field to update",
        "coll_mod.cpp, parseCollModRequest";
    MOD_TTL_ID: "mod-ttl-id", 72, Versions::since(5, 1), ALL,
        "`collMod` with `expireAfterSeconds` of the index on `_id`",
        "the _id field does not support TTL indexes",
        "coll_mod.cpp, parseCollModRequest";
    MOD_TTL_COMPOUND: "mod-ttl-compound", 72, Versions::since(5, 1), ALL,
        "`collMod` with `expireAfterSeconds` of a compound index",
        "TTL indexes are single-field indexes, compound indexes do not support TTL",
        "coll_mod.cpp, parseCollModRequest";
    MOD_TTL_NEGATIVE: "mod-ttl-negative", 72, Versions::since(5, 1), ALL,
        "`collMod` with a negative `expireAfterSeconds` of an index",
        "TTL index 'expireAfterSeconds' option cannot be less than 0",
        "index_key_validate.cpp, validateExpireAfterSeconds";
    MOD_TTL_CAPPED: "mod-ttl-capped", 72, Versions::between((5, 1), (7, 1)), ALL,
        "`collMod` with `expireAfterSeconds` of an index of a capped collection",
        "TTL indexes are not supported for capped collections.",
        "coll_mod.cpp, parseCollModRequest";
    MOD_HIDDEN_ID: "mod-hidden-id", 2, Versions::since(4, 4), ALL,
        "`collMod` with `hidden` of the index on `_id`",
        "can't hide _id index",
        "coll_mod.cpp, parseCollModRequest";
    MOD_HIDDEN_CLUSTERED: "mod-hidden-clustered", 6_011_800, Versions::since(5, 3), ALL,
        "`collMod` with `hidden` of a clustered index",
        "The 'hidden' option is not supported for a clusteredIndex",
        "coll_mod.cpp, parseCollModRequest";
    MOD_FORCE_FALSE: "mod-force-non-unique-false", 2, Versions::since(6, 0), ALL,
        "`collMod` with `forceNonUnique: false`",
        "'forceNonUnique: false' is not supported",
        "coll_mod.cpp, parseCollModRequest";
    MOD_UNIQUE_FALSE: "mod-unique-false", 2, Versions::since(6, 0), ALL,
        "`collMod` with `unique: false`",
        "Cannot make index non-unique",
        "coll_mod.cpp, parseCollModRequest";
    MOD_UNIQUE_UNPREPARED: "mod-unique-unprepared", 72, Versions::since(6, 0), ALL,
        "`collMod` with `unique` of an index without `prepareUnique`",
        "Cannot make index unique with 'prepareUnique=false'. Run collMod to set it first.",
        "coll_mod.cpp, parseCollModRequest";
    MOD_PREPARE_COMBINED: "mod-prepare-combined", 72, Versions::since(6, 0), ALL,
        "`collMod` with `prepareUnique` and another change",
        "prepareUnique cannot be combined with any other modification.",
        "coll_mod.cpp, parseCollModRequest";
    MOD_DUPLICATES: "mod-duplicates", 359, Versions::since(6, 0), ALL,
        "`collMod` with `unique` of an index with duplicates",
        "Cannot convert the index to unique. Please resolve conflicting documents before running collMod again.",
        "coll_mod_index.cpp, buildConvertUniqueErrorStatus";
    MOD_DRY_RUN_INDEX: "mod-dry-run-index", 72, Versions::since(6, 0), ALL,
        "`collMod` with `dryRun` and without `index`",
        "dry run mode requires an valid index modification.",
        "coll_mod.cpp, _processCollModDryRunMode";
    MOD_DRY_RUN_UNIQUE: "mod-dry-run-unique", 72, Versions::since(6, 0), ALL,
        "`collMod` with `dryRun` and without `unique: true`",
        "dry run mode requires an index modification with unique: true.",
        "coll_mod.cpp, _processCollModDryRunMode";
    MOD_DRY_RUN_COMBINED: "mod-dry-run-combined", 72, Versions::since(6, 0), ALL,
        "`collMod` with `dryRun`, `unique` and another change",
        "unique: true cannot be combined with any other modification in dry run mode.",
        "coll_mod.cpp, _processCollModDryRunMode";
    MOD_NOT_CAPPED: "mod-not-capped", 72, Versions::since(6, 0), ALL,
        "`collMod` with `cappedSize` or `cappedMax` of another collection",
        "Collection must be capped.",
        "coll_mod.cpp, parseCollModRequest";
    MOD_CAPPED_SIZE: "mod-capped-size", 2, Versions::since(6, 0), ALL,
        "`collMod` with a `cappedSize` below 0",
        "size has to be >= 0",
        "collection_options.cpp, checkAndAdjustCappedSize";
    MOD_CAPPED_SIZE_MAXIMUM: "mod-capped-size-maximum", 2, Versions::since(6, 0), ALL,
        "`collMod` with a `cappedSize` above 2^50",
        "size cannot exceed 1 PB",
        "collection_options.cpp, checkAndAdjustCappedSize";
    MOD_CAPPED_MAX: "mod-capped-max", 2, Versions::since(6, 0), ALL,
        "`collMod` with a `cappedMax` of 2^31 or more",
        "max in a capped collection has to be < 2^31 or not set",
        "collection_options.cpp, checkAndAdjustCappedMaxDocs";
    MOD_NOT_CLUSTERED: "mod-not-clustered", 72, Versions::since(5, 0), ALL,
        "`collMod` with `expireAfterSeconds` of a collection that is not clustered",
        "'expireAfterSeconds' option is only supported on collections clustered by _id",
        "coll_mod.cpp, parseCollModRequest";
    MOD_EXPIRE_TEXT: "mod-expire-text", 72, Versions::since(5, 0), ALL,
        "`collMod` with an `expireAfterSeconds` that is another string than `off`",
        "Invalid string value for the 'clusteredIndex::expireAfterSeconds' option. Got: '{}'. Accepted value is 'off'",
        "coll_mod.cpp, parseCollModRequest";
    MOD_VIEW_OPTION_4: "mod-view-option-4", 72, Versions::before(5, 0), ALL,
        "`viewOn` or `pipeline` in `collMod` of a collection",
        "'{}' option only supported on a view",
        "coll_mod.cpp, parseCollModRequest";
    MOD_VIEW_OPTION: "mod-view-option", 72, Versions::since(5, 0), ALL,
        "`viewOn` or `pipeline` in `collMod` of a collection",
        "option only supported on a view: {}",
        "coll_mod.cpp, parseCollModRequest";
    MOD_OF_VIEW: "mod-of-view", 72, Versions::ALL, ALL,
        "`index`, `validator`, `validationLevel` or `validationAction` in `collMod` of a view",
        "option not supported on a view: {}",
        "coll_mod.cpp, parseCollModRequest";
    CONVERT_SIZE: "convert-to-capped-size", 72, Versions::since(5, 0), ALL,
        "`convertToCapped` without a positive `size`",
        "Capped collection size must be greater than zero",
        "collection_to_capped.cpp, CmdConvertToCapped";
    CONVERT_VIEW: "convert-to-capped-view", 166, Versions::ALL, ALL,
        "`convertToCapped` of a view or a time series collection",
        "cloneCollectionAsCapped not supported for views: {}",
        "capped_utils.cpp, cloneCollectionAsCapped";
    CONVERT_MISSING: "convert-to-capped-missing", 26, Versions::ALL, ALL,
        "`convertToCapped` of a collection that does not exist",
        "source collection {} does not exist",
        "capped_utils.cpp, cloneCollectionAsCapped";
    CONVERT_ENCRYPTED: "convert-to-capped-encrypted", 6_367_302, Versions::since(6, 0), Deployments::REPLICATED,
        "`convertToCapped` of an encrypted collection",
        "Cannot convert an encrypted collection to a capped collection",
        "capped_utils.cpp, cloneCollectionAsCapped";
    RENAME_VIEW: "rename-view", 166, Versions::ALL, ALL,
        "`renameCollection` of a view",
        "cannot rename view: {}",
        "rename_collection.cpp, checkSourceAndTargetNamespaces";
    RENAME_TIMESERIES: "rename-timeseries", 166, Versions::since(5, 0), Deployments::NOT_SHARDED,
        "`renameCollection` of a time series collection",
        "cannot rename view: {}",
        "rename_collection.cpp, checkSourceAndTargetNamespaces";
    RENAME_TO_VIEW: "rename-to-view", 48, Versions::ALL, ALL,
        "`renameCollection` to the name of a view",
        "a view already exists with that name: {}",
        "rename_collection.cpp, checkSourceAndTargetNamespaces";
    RENAME_ENCRYPTED: "rename-encrypted", 20, Versions::since(7, 0), Deployments::REPLICATED,
        "`renameCollection` of an encrypted collection",
        "Cannot rename an encrypted collection",
        "rename_collection.cpp, checkSourceAndTargetNamespaces";
    DROP_MISSING: "drop-missing", 26, Versions::before(7, 0), ALL,
        "`drop` of a collection that does not exist",
        "ns not found",
        "drop_collection.cpp, dropCollection";
    MOD_MISSING: "mod-missing", 26, Versions::ALL, ALL,
        "`collMod` of a collection that does not exist",
        "ns does not exist",
        "coll_mod.cpp, _collModInternal";
    MOD_INDEX_MISSING: "mod-index-missing", 27, Versions::ALL, ALL,
        "`collMod` of an index that does not exist",
        "cannot find index {} for ns {}",
        "coll_mod.cpp, parseCollModRequest";
    MOD_INDEX_AMBIGUOUS: "mod-index-ambiguous", 181, Versions::ALL, ALL,
        "`collMod` with a key that several indexes have",
        "index keyPattern {} matches {} indexes, must use index name. Conflicting indexes:{}, {}",
        "coll_mod.cpp, parseCollModRequest";
}
