//! The requests that MongoDB refuses: `createIndexes` and `dropIndexes`.

use super::{Deployments, Versions, rows};

const ALL: Deployments = Deployments::ALL;

rows! {
    TWO_TYPES: "index-two-types", 67, Versions::ALL, ALL,
        "an index with fields of two types, such as `2d` and `text`",
        "Can't use more than one index plugin for a single index.",
        "index_key_validate.cpp, validateKeyPattern";
    HAYSTACK: "index-haystack", 67, Versions::since(5, 0), ALL,
        "a geoHaystack index",
        "GeoHaystack indexes cannot be created in version 5.0 and above",
        "index_key_validate.cpp, validateKeyPattern";
    WILDCARD_COMPOUND: "index-wildcard-compound", 67, Versions::before(7, 0), ALL,
        "a compound wildcard index",
        "wildcard indexes do not allow compounding",
        "index_key_validate.cpp, validateKeyPattern";
    WILDCARD_DESCENDING: "index-wildcard-descending", 67, Versions::before(7, 0), ALL,
        "a descending wildcard index",
        "A numeric value in a $** index key pattern must be positive.",
        "index_key_validate.cpp, validateKeyPattern";
    WILDCARD_NO_PROJECTION: "index-wildcard-no-projection", 67, Versions::since(7, 0), ALL,
        "a compound wildcard index on all fields without `wildcardProjection`",
        "Compound wildcard indexes on all fields must also specify 'wildcardProjection' option",
        "index_key_validate.cpp, validateIndexSpec";
    WILDCARD_TWICE: "index-wildcard-twice", 7_246_201, Versions::since(7, 0), ALL,
        "an index with two wildcard fields",
        "Index Key can contain only one wildcard index field",
        "index_key_validate.cpp, validateWildcardIndex";
    WILDCARD_OVERLAP: "index-wildcard-overlap", 7_246_204, Versions::since(7, 0), ALL,
        "a compound wildcard index with a field below the path of the wildcard",
        "A wildcard index field should not overlap with and index key fields if wildcard projection is empty, however '{}' is overlapping with the wildcard index field.",
        "index_key_validate.cpp, validateWildcardIndex";
    WILDCARD_SPARSE: "index-wildcard-sparse", 67, Versions::ALL, ALL,
        "a wildcard index with `sparse`",
        "Index type 'wildcard' does not support the 'sparse' option",
        "index_catalog_impl.cpp, validateWildcardSpec";
    WILDCARD_UNIQUE: "index-wildcard-unique", 67, Versions::ALL, ALL,
        "a wildcard index with `unique`",
        "Index type 'wildcard' does not support the 'unique' option",
        "index_catalog_impl.cpp, validateWildcardSpec";
    WILDCARD_TTL: "index-wildcard-ttl", 67, Versions::ALL, ALL,
        "a wildcard index with `expireAfterSeconds`",
        "cannot make a TTL index :: caused by :: Index type 'wildcard' does not support the 'expireAfterSeconds' option",
        "index_catalog_impl.cpp, validateWildcardSpec";
    WILDCARD_PROJECTION_TYPE: "index-wildcard-projection-type", 2, Versions::ALL, ALL,
        "`wildcardProjection` of an index that is not a wildcard index",
        "The field 'wildcardProjection' is only allowed in",
        "index_key_validate.cpp, validateIndexSpec";
    WILDCARD_PROJECTION_PATH: "index-wildcard-projection-path", 9, Versions::ALL, ALL,
        "`wildcardProjection` of a wildcard index below a path",
        "The field 'wildcardProjection' is only allowed when 'key' is {\"$**\": ±1}",
        "index_key_validate.cpp, validateIndexSpec";
    OPTION_UNKNOWN: "index-option-unknown", 197, Versions::ALL, ALL,
        "an unknown option of an index",
        "The field '{}' is not valid for an index specification. Specification: {}",
        "index_key_validate.cpp, validateIndexSpecFieldNames";
    HIDDEN_VERSION: "index-hidden-version", 197, Versions::before(4, 4), ALL,
        "an index with `hidden`",
        "The field '{}' is not valid for an index specification. Specification: {}",
        "index_key_validate.cpp, validateIndexSpecFieldNames";
    HIDDEN_TYPE: "index-hidden-type", 14, Versions::since(4, 4), ALL,
        "`hidden` of an index that is not a boolean",
        "The field 'hidden' must be a bool, but got {}",
        "index_key_validate.cpp, validateIndexSpec";
    PREPARE_UNIQUE_VERSION: "index-prepare-unique-version", 197, Versions::before(6, 0), ALL,
        "an index with `prepareUnique`",
        "The field '{}' is not valid for an index specification. Specification: {}",
        "index_key_validate.cpp, validateIndexSpecFieldNames";
    UNIQUE_AND_PREPARED: "index-unique-and-prepared", 67, Versions::since(6, 0), ALL,
        "an index with `unique` and `prepareUnique`",
        "Invalid index specification {}; cannot create an index with the 'unique' option and the 'prepareUnique' option",
        "index_key_validate.cpp, validateIndexSpec";
    WEIGHTS_TYPE: "index-weights-type", 67, Versions::ALL, ALL,
        "`weights` of an index that is not a text index",
        "Invalid index specification {}; the field 'weights' can only be specified with text indexes",
        "index_key_validate.cpp, validateIndexSpec";
    CLUSTERED_VERSION: "index-clustered-version", 197, Versions::before(5, 3), ALL,
        "an index with `clustered`",
        "The field '{}' is not valid for an index specification. Specification: {}",
        "index_key_validate.cpp, validateIndexSpecFieldNames";
    CLUSTERED_OPTION: "index-clustered-option", 197, Versions::since(5, 3), ALL,
        "an index with `clustered` and another option than `unique`",
        "The field '{}' is not valid for a clustered index specification. Specification: {}",
        "index_key_validate.cpp, validateClusteredSpecFieldNames";
    CLUSTERED_FALSE: "index-clustered-false", 6_492_800, Versions::since(5, 3), ALL,
        "an index with `clustered: false`",
        "Value 'false' for field 'clustered' is invalid",
        "index_key_validate.cpp, validateIndexSpec";
    CLUSTERED_UNIQUE: "index-clustered-unique", 67, Versions::since(5, 3), ALL,
        "an index with `clustered` and without `unique`",
        "The 'unique' field is required when 'clustered' is specified",
        "index_key_validate.cpp, validateIndexSpec";
    CLUSTERED_COLLECTION: "index-clustered-collection", 6_479_600, Versions::since(5, 3), ALL,
        "an index with `clustered` on a collection that is not clustered",
        "Cannot create an index with 'clustered' in the spec on a collection that is not clustered",
        "index_catalog_impl.cpp, isSpecOKClusteredIndexCheck";
    CLUSTERED_KEY: "index-clustered-key", 6_243_700, Versions::since(5, 3), ALL,
        "an index with `clustered` and another key than the clustered index",
        "Cannot create index with option 'clustered' that does not match an existing clustered index",
        "index_catalog_impl.cpp, isSpecOKClusteredIndexCheck";
    CLUSTERED_NAME: "index-clustered-name", 6_100_906, Versions::since(5, 3), ALL,
        "an index with the name of the clustered index and another key",
        "Cannot create an index where the name matches the clusteredIndex but the key does not - indexSpec: {}, clusteredIndex: {}",
        "index_catalog_impl.cpp, isSpecOKClusteredIndexCheck";
    ID_OPTION: "index-id-option", 197, Versions::ALL, ALL,
        "an index on `_id` with an option such as `unique`, `sparse`, `hidden` or `expireAfterSeconds`",
        "The field '{}' is not valid for an _id index specification. Specification: {}",
        "index_key_validate.cpp, validateIdIndexSpec";
    ID_KEY: "index-id-descending", 2, Versions::ALL, ALL,
        "a descending index on `_id`",
        "The field 'key' for an _id index must be {_id: 1}, but got {}",
        "index_key_validate.cpp, validateIdIndexSpec";
    ID_NAME: "index-id-name", 2, Versions::ALL, ALL,
        "an index with the name `_id_` and another key",
        "The index name '_id_' is reserved for the _id index, which must have key pattern {_id: 1}, found {}",
        "create_indexes.cpp, parseAndValidateIndexSpecs";
    ID_COLLATION: "index-id-collation", 2, Versions::ALL, ALL,
        "an index on `_id` with another collation than the collection",
        "The _id index must have the same collation as the collection. Index collation: {}, collection collation: {}",
        "create_indexes.cpp, resolveDefaultsAndRemoveExistingIndexes";
    NAME_STAR: "index-name-star", 2, Versions::ALL, ALL,
        "an index with the name `*`",
        "The index name '*' is not valid.",
        "create_indexes.cpp, parseAndValidateIndexSpecs";
    TTL_COMPOUND: "index-ttl-compound", 67, Versions::ALL, ALL,
        "a compound index with `expireAfterSeconds`",
        "TTL indexes are single-field indexes, compound indexes do not support TTL. Index spec: {}",
        "index_key_validate.cpp, validateIndexSpecTTL";
    TTL_TYPE: "index-ttl-type", 67, Versions::ALL, ALL,
        "`expireAfterSeconds` of an index that is not a number",
        "TTL index 'expireAfterSeconds' option must be numeric, but received a type of '{}'",
        "index_key_validate.cpp, validateIndexSpecTTL";
    TTL_NEGATIVE: "index-ttl-negative", 67, Versions::ALL, ALL,
        "a negative `expireAfterSeconds` of an index",
        "TTL index 'expireAfterSeconds' option cannot be less than 0",
        "index_key_validate.cpp, validateExpireAfterSeconds";
    TTL_RANGE_BEFORE_6: "index-ttl-range-before-6", 67, Versions::before(6, 0), ALL,
        "an `expireAfterSeconds` of an index above the number of seconds since 1970",
        "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a lower number",
        "index_key_validate.cpp, validateExpireAfterSeconds";
    TTL_RANGE: "index-ttl-range", 67, Versions::since(6, 0), ALL,
        "an `expireAfterSeconds` of an index above 2^31-1",
        "TTL index 'expireAfterSeconds' must be within the range of a 32-bit integer",
        "index_key_validate.cpp, validateExpireAfterSeconds";
    TTL_CAPPED: "index-ttl-capped", 67, Versions::between((6, 0), (7, 1)), ALL,
        "an index with `expireAfterSeconds` on a capped collection",
        "Cannot create TTL index on a capped collection",
        "index_catalog_impl.cpp, prepareSpecForCreate";
    COLLATION: "index-type-collation", 67, Versions::ALL, ALL,
        "a text or 2d index with a collation that is not simple, also one of the collection",
        "Index type '{}' does not support collation: {}",
        "index_catalog_impl.cpp, _isSpecOk";
    PARTIAL_SPARSE: "index-partial-sparse", 67, Versions::ALL, ALL,
        "an index with `partialFilterExpression` and `sparse`",
        "cannot mix \"partialFilterExpression\" and \"sparse\" options",
        "index_catalog_impl.cpp, _isSpecOk";
    PARTIAL_OPERATOR_BEFORE_6: "index-partial-operator-before-6", 67, Versions::before(6, 0), ALL,
        "a `partialFilterExpression` with an operator other than `$and`, `$eq`, `$lt`, `$lte`, `$gt`, `$gte`, `$type` and `$exists: true`, also `$or` and `$in`",
        "unsupported expression in partial index: {}",
        "index_catalog_impl.cpp, checkValidFilterExpressions";
    PARTIAL_OPERATOR: "index-partial-operator", 67, Versions::since(6, 0), ALL,
        "a `partialFilterExpression` with an operator such as `$ne`, `$not`, `$nin`, `$nor`, `$regex`, `$elemMatch` or `$exists: false`",
        "Expression not supported in partial index: {}",
        "index_catalog_impl.cpp, checkValidFilterExpressions";
    PARTIAL_AND: "index-partial-and", 67, Versions::before(6, 0), ALL,
        "a `partialFilterExpression` with `$and` below the top level",
        "$and only supported in partialFilterExpression at top level",
        "index_catalog_impl.cpp, checkValidFilterExpressions";
    PARTIAL_DEPTH: "index-partial-depth", 67, Versions::since(6, 0), ALL,
        "a `partialFilterExpression` with more than four levels",
        "partialFilterExpression depth may not exceed 4",
        "index_catalog_impl.cpp, checkValidFilterExpressions";
    PARTIAL_CONTEXT: "index-partial-context", 224, Versions::ALL, ALL,
        "a `partialFilterExpression` with `$expr` or `$jsonSchema`",
        "{} is not allowed in this context",
        "expression_parser.cpp, parseExpr";
    PARTIAL_TEXT: "index-partial-text", 2, Versions::ALL, ALL,
        "a `partialFilterExpression` with `$text` or `$where`",
        "{} is not allowed in this context",
        "expression_parser.cpp, parseText";
    HASHED_COMPOUND: "index-hashed-compound", 16_763, Versions::before(4, 4), ALL,
        "a compound hashed index",
        "Currently only single field hashed index supported.",
        "hash_access_method.cpp, HashAccessMethod";
    HASHED_TWICE: "index-hashed-twice", 31_303, Versions::since(4, 4), ALL,
        "an index with two hashed fields",
        "A maximum of one index field is allowed to be hashed but found {} for 'key' {}",
        "index_key_validate.cpp, validateKeyPattern";
    HASHED_UNIQUE: "index-hashed-unique", 16_764, Versions::ALL, ALL,
        "a hashed index with `unique`",
        "Currently hashed indexes cannot guarantee uniqueness. Use a regular index.",
        "hash_access_method.cpp, HashAccessMethod";
    TWO_PLANES: "index-2d-twice", 16_800, Versions::ALL, ALL,
        "a 2d index with two 2d fields",
        "can't have 2 geo fields",
        "expression_params.cpp, parseTwoDParams";
    PLANE_FIRST: "index-2d-first", 16_801, Versions::ALL, ALL,
        "a 2d index whose first field is another one",
        "2d has to be first in index",
        "expression_params.cpp, parseTwoDParams";
    PLANE_BITS: "index-2d-bits", 16_803, Versions::ALL, ALL,
        "`bits` of a 2d index that are not 1 to 32",
        "bits in geo index must be between 1 and 32",
        "expression_params.cpp, parseTwoDParams";
    TEXT_ADJACENT: "index-text-adjacent", 67, Versions::ALL, ALL,
        "a text index whose text fields are not adjacent",
        "'text' fields in index must all be adjacent",
        "fts_spec.cpp, fixSpec";
    TEXT_VALUE: "index-text-value", 67, Versions::ALL, ALL,
        "an ordinary field of a text index with another value than 1 and -1",
        "expected value 1 or -1 for non-text key in compound index",
        "fts_spec.cpp, fixSpec";
    TEXT_LANGUAGE: "index-text-language", 67, Versions::ALL, ALL,
        "an unknown `default_language` of a text index",
        "default_language is not valid",
        "fts_spec.cpp, fixSpec";
    TEXT_WEIGHT: "index-text-weight", 67, Versions::ALL, ALL,
        "a weight of a text index that is not 1 to 99,999",
        "text index weight must be in the exclusive interval (0,100000) but found: {}",
        "fts_spec.cpp, fixSpec";
    TOO_MANY: "index-too-many", 67, Versions::ALL, ALL,
        "more than 64 indexes on a collection",
        "add index fails, too many indexes for {} key:{}",
        "index_catalog_impl.cpp, _doesSpecConflictWithExisting";
    SECOND_TEXT: "index-second-text", 67, Versions::ALL, ALL,
        "a second text index with other ordinary fields, or since 5.0 another `partialFilterExpression`",
        "only one text index per collection allowed, found existing text index \"{}\"",
        "index_catalog_impl.cpp, _doesSpecConflictWithExisting";
    NAME_COLLATION: "index-name-collation", 85, Versions::before(5, 0), ALL,
        "the name and the key of an index with another collation",
        "An index with the same key pattern, but a different collation already exists with the same name.  Try again with a unique name. Existing index: {} Requested index: {}",
        "index_catalog_impl.cpp, _doesSpecConflictWithExisting";
    NAME_TAKEN_BEFORE_5: "index-name-taken-before-5", 86, Versions::before(5, 0), ALL,
        "the name of an index with another key",
        "Index must have unique name.The existing index: {} has the same name as the requested index: {}",
        "index_catalog_impl.cpp, _doesSpecConflictWithExisting";
    NAME_TAKEN: "index-name-taken", 86, Versions::since(5, 0), ALL,
        "the name of an index with another key, collation, `unique`, `sparse`, `partialFilterExpression` or `wildcardProjection`",
        "An existing index has the same name as the requested index. When index names are not specified, they are auto generated and can cause conflicts. Please refer to our documentation. Requested index: {}, existing index: {}",
        "index_catalog_impl.cpp, _doesSpecConflictWithExisting";
    SAME_NAME_BEFORE_5: "index-same-name-before-5", 85, Versions::before(5, 0), ALL,
        "the name and the key of an index with other options, also `unique`, `sparse` and `partialFilterExpression`",
        "Index with name: {} already exists with different options",
        "index_catalog_impl.cpp, _doesSpecConflictWithExisting";
    SAME_NAME: "index-same-name", 85, Versions::since(5, 0), ALL,
        "the name and the key of an index with other options, such as `expireAfterSeconds`",
        "An equivalent index already exists with the same name but different options. Requested index: {}, existing index: {}",
        "index_catalog_impl.cpp, _doesSpecConflictWithExisting";
    OTHER_NAME_BEFORE_5: "index-other-name-before-5", 85, Versions::before(5, 0), ALL,
        "another name and the key of an index with other options, also `unique`, `sparse` and `partialFilterExpression`",
        "Index: {} already exists with different options: {}",
        "index_catalog_impl.cpp, _doesSpecConflictWithExisting";
    OTHER_NAME: "index-other-name", 85, Versions::since(5, 0), ALL,
        "another name and the key of an index with other options, also of a text index on other fields",
        "An equivalent index already exists with a different name and options. Requested index: {}, existing index: {}",
        "index_catalog_impl.cpp, _doesSpecConflictWithExisting";
    RENAMED_BEFORE_5: "index-renamed-before-5", 85, Versions::before(5, 0), ALL,
        "another name and the definition of an existing index",
        "Index with name: {} already exists with a different name",
        "index_catalog_impl.cpp, _doesSpecConflictWithExisting";
    RENAMED: "index-renamed", 85, Versions::since(5, 0), ALL,
        "another name and the definition of an existing index",
        "Index already exists with a different name: {}",
        "index_catalog_impl.cpp, _doesSpecConflictWithExisting";
    ON_VIEW: "index-on-view", 166, Versions::ALL, ALL,
        "`createIndexes` on a view",
        "Cannot create indexes on a view",
        "create_indexes.cpp, runCreateIndexes";
    DROP_ON_VIEW: "index-drop-on-view", 166, Versions::ALL, ALL,
        "`dropIndexes` on a view",
        "Cannot drop indexes on view {}",
        "drop_indexes.cpp, dropIndexes";
    DROP_MISSING: "index-drop-missing", 27, Versions::ALL, ALL,
        "`dropIndexes` with a name that no index has",
        "index not found with name [{}]",
        "drop_indexes.cpp, dropIndexByName";
    DROP_MISSING_KEY: "index-drop-missing-key", 27, Versions::ALL, ALL,
        "`dropIndexes` with a key that no index has",
        "can't find index with key: {}",
        "drop_indexes.cpp, getDescriptorByKeyPattern";
    DROP_AMBIGUOUS: "index-drop-ambiguous", 181, Versions::ALL, ALL,
        "`dropIndexes` with a key that several indexes have",
        "{} indexes found for key: {}, identify by name instead. Conflicting indexes: {}, {}",
        "drop_indexes.cpp, getDescriptorByKeyPattern";
    DROP_CLUSTERED: "index-drop-clustered", 5_979_800, Versions::since(5, 3), ALL,
        "`dropIndexes` with the clustered index",
        "It is illegal to drop the clusteredIndex",
        "drop_indexes.cpp, dropIndexes";
    FIELD_UNKNOWN: "index-field-unknown", 2, Versions::before(5, 0), ALL,
        "`createIndexes` with an unknown field, which an API version is too",
        "Invalid field specified for createIndexes command: {}",
        "create_indexes.cpp of 4.4, parseAndValidateIndexSpecs";
    INDEXES_MISSING: "index-indexes-missing", 9, Versions::before(5, 0), ALL,
        "`createIndexes` without `indexes`",
        "The 'indexes' field is a required argument of the createIndexes command",
        "create_indexes.cpp of 4.4, parseAndValidateIndexSpecs";
    INDEXES_TYPE: "index-indexes-type", 14, Versions::before(5, 0), ALL,
        "`createIndexes` with `indexes` that is not an array",
        "The field 'indexes' must be an array, but got {}",
        "create_indexes.cpp of 4.4, parseAndValidateIndexSpecs";
    INDEXES_ELEMENT: "index-indexes-element", 14, Versions::before(5, 0), ALL,
        "`createIndexes` with an element of `indexes` that is not a document",
        "The elements of the 'indexes' array must be objects, but got {}",
        "create_indexes.cpp of 4.4, parseAndValidateIndexSpecs";
    IGNORE_TYPE: "index-ignore-type", 14, Versions::before(5, 0), ALL,
        "`createIndexes` with `ignoreUnknownIndexOptions` that is not a boolean",
        "The field 'ignoreUnknownIndexOptions' must be a boolean, but got {}",
        "create_indexes.cpp of 4.4, parseAndValidateIndexSpecs";
    COMMIT_QUORUM_4_2: "index-commit-quorum-4-2", 2, Versions::before(4, 4), ALL,
        "`createIndexes` with `commitQuorum`",
        "Invalid field specified for createIndexes command: commitQuorum",
        "create_indexes.cpp, parseAndValidateIndexSpecs";
    COMMIT_QUORUM: "index-commit-quorum", 2, Versions::since(4, 4), Deployments::STANDALONE,
        "`createIndexes` with `commitQuorum`",
        "Standalones can't specify commitQuorum",
        "create_indexes.cpp, runCreateIndexes";
    REINDEX: "reindex-replicated", 20, Versions::since(5, 0), Deployments::REPLICA_SET,
        "`reIndex`",
        "reIndex is only allowed on a standalone mongod instance. Cannot reIndex '{}' while replication is active",
        "drop_indexes.cpp, CmdReIndex";
    REINDEX_VIEW: "reindex-view", 166, Versions::ALL, Deployments::STANDALONE,
        "`reIndex` of a view",
        "can't re-index a view",
        "drop_indexes.cpp, CmdReIndex";
    REINDEX_MISSING: "reindex-missing", 26, Versions::ALL, Deployments::STANDALONE,
        "`reIndex` of a collection that does not exist",
        "collection does not exist",
        "drop_indexes.cpp, CmdReIndex";
    DROP_ID: "index-drop-id", 72, Versions::ALL, ALL,
        "`dropIndexes` with the index on `_id`",
        "cannot drop _id index",
        "drop_indexes.cpp, getDescriptorByKeyPattern";
}
