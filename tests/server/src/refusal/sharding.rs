//! The requests that MongoDB refuses: sharded collections.

use super::{Deployments, Versions, rows};

const SHARDED: Deployments = Deployments::SHARDED;
const BEFORE_7_0: Versions = Versions::before(7, 0);

rows! {
    INSERT_MISSING: "shard-insert-missing", 61, Versions::before(4, 4), SHARDED,
        "an insert without all fields of the shard key",
        "document {} does not contain shard key for pattern {}",
        "`chunk_manager_targeter.cpp`: `targetInsert` of 4.2";
    INSERT_ARRAY: "shard-insert-array", 61, Versions::since(4, 4), SHARDED,
        "an insert with an array in the shard key",
        "Shard key cannot contain array values or array descendants.",
        "`chunk_manager_targeter.cpp`: `targetInsert`";
    REPLACEMENT_MISSING: "shard-replacement-missing", 61, Versions::before(4, 4), SHARDED,
        "a replacement without all fields of the shard key",
        "Expected replacement document to include all shard key fields, but the following were omitted: { missingShardKeyFields: [{}] }",
        "`chunk_manager_targeter.cpp`: `targetUpdate` of 4.2";
    UPSERT: "shard-upsert", 61, BEFORE_7_0, SHARDED,
        "an upsert of `update` whose filter does not have equality on the whole shard key",
        "Failed to target upsert by query :: could not extract exact shard key",
        "`chunk_manager_targeter.cpp`: `targetUpdate`";
    UPDATE_ONE: "shard-update-one", 72, Versions::between((4, 4), (7, 0)), SHARDED,
        "an update of one document whose filter has neither equality on `_id` nor on the whole shard key",
        "A {multi:false} update on a sharded collection must contain an exact match on _id (and have the collection default collation) or target a single shard (and have the simple collation), but this update targeted {} shards. Update request: {}, shard key pattern: {}",
        "`chunk_manager_targeter.cpp`: `targetUpdate`";
    UPDATE_ONE_OLD: "shard-update-one-old", 72, Versions::before(4, 4), SHARDED,
        "an update of one document whose filter has neither equality on `_id` nor on the whole shard key",
        "A {multi:false} update on a sharded collection must either contain an exact match on _id or must target a single shard but this update targeted _id (and have the collection default collation) or must target a single shard (and have the simple collation), but this update targeted {} shards. Update request: {}, shard key pattern: {}",
        "`chunk_manager_targeter.cpp`: `targetUpdate` of 4.2";
    DELETE_ONE: "shard-delete-one", 61, BEFORE_7_0, SHARDED,
        "a deletion of one document whose filter has neither equality on `_id` nor on the whole shard key",
        "A single delete on a sharded collection must contain an exact match on _id (and have the collection default collation) or contain the shard key (and have the simple collation). Delete request: {}, shard key pattern: {}",
        "`chunk_manager_targeter.cpp`: `targetDelete`";
    FIND_AND_MODIFY: "shard-find-and-modify", 61, BEFORE_7_0, SHARDED,
        "`findAndModify` whose filter does not have equality on the whole shard key, even with equality on `_id`",
        "Query for sharded findAndModify must contain the shard key",
        "`cluster_find_and_modify_cmd.cpp`: `getShardKey`";
    CHANGE_MULTI: "shard-change-multi", 72, Versions::ALL, SHARDED,
        "an update of several documents that changes the shard key of one",
        "Multi-update operations are not allowed when updating the shard key field.",
        "`update_stage.cpp`: `checkRestrictionsOnUpdatingShardKeyAreNotViolated`";
    CHANGE_FILTER: "shard-change-filter", 31025, Versions::before(7, 1), SHARDED,
        "an update that changes the shard key of a document, without equality on the whole shard key in the filter",
        "Shard key update is not allowed without specifying the full shard key in the query",
        "`update_stage.cpp`: `checkRestrictionsOnUpdatingShardKeyAreNotViolated`";
    CHANGE_OUTSIDE: "shard-change-outside", 20, Versions::ALL, SHARDED,
        "an update that changes the shard key of a document, and is neither a retryable write nor part of a transaction",
        "Must run update to shard key field in a multi-statement transaction or with retryWrites: true.",
        "`update_stage.cpp`: `checkRestrictionsOnUpdatingShardKeyAreNotViolated`";
    MERGE_CHANGE: "shard-merge-change", 66, Versions::ALL, SHARDED,
        "`$merge` that changes the shard key of a document",
        "$merge failed to update the matching document, did you attempt to modify the _id or the shard key?",
        "`document_source_merge.cpp`: `flush`";
    UNIQUE_INDEX: "shard-unique-index", 67, Versions::ALL, SHARDED,
        "a unique index without the shard key as prefix, except on `_id`",
        "cannot create unique index over {} with shard key pattern {}",
        "`collection_sharding_state.cpp`, `index_catalog_impl.cpp`: `checkShardKeyIndex`";
    LAST_INDEX: "shard-last-index", 373, Versions::since(6, 0), SHARDED,
        "dropping the last index that has the shard key as prefix",
        "Cannot drop the only compatible index for this collection's shard key",
        "`drop_indexes.cpp`: `assertNoShardKeyIndex`";
    LOOKUP: "shard-lookup", 28769, Versions::before(5, 1), SHARDED,
        "`$lookup` or `$graphLookup` from a sharded collection",
        "{} cannot be sharded",
        "`cluster_aggregate.cpp`: `runAggregate` of 5.0";
    LOOKUP_TRANSACTION: "shard-lookup-transaction", 28769, Versions::between((5, 1), (8, 0)), SHARDED,
        "`$lookup` or `$graphLookup` from a sharded collection in a transaction",
        "Sharded {} is not allowed within a multi-document transaction",
        "`document_source_lookup.h`: `checkShardedForeignCollAllowed`";
    OUT: "shard-out", 28769, Versions::before(8, 0), SHARDED,
        "`$out` to a sharded collection",
        "{} cannot be sharded",
        "`cluster_aggregate.cpp`: `runAggregate`";
    OUT_NEW: "shard-out-new", 28769, Versions::since(8, 0), SHARDED,
        "`$out` to a sharded collection",
        "$out to a sharded collection is not allowed",
        "`document_source_out.h`: `checkShardedForeignCollAllowed`";
    DISTINCT_TRANSACTION: "shard-distinct-transaction", 263, Versions::ALL, SHARDED,
        "`distinct` on a sharded collection in a transaction",
        "Cannot run 'distinct' on a sharded collection in a multi-document transaction. Please see http://dochub.mongodb.org/core/transaction-distinct for a recommended alternative.",
        "`cluster_distinct_cmd.cpp`: `canUseDistinctOnShardedCollection`";
    DISTINCT_SNAPSHOT: "shard-distinct-snapshot", 72, Versions::since(5, 0), SHARDED,
        "`distinct` on a sharded collection with read concern `snapshot`",
        "Cannot run 'distinct' on a sharded collection with readConcern level 'snapshot'",
        "`cluster_distinct_cmd.cpp`: `run`";
    NOT_ENABLED: "shard-not-enabled", 20, Versions::before(6, 0), SHARDED,
        "`shardCollection` of a collection of a database without `enableSharding`",
        "sharding not enabled for db {}",
        "`cluster_shard_collection_cmd.cpp`, `configsvr_shard_collection_command.cpp` of 5.0";
    VIEW: "shard-view", 166, Versions::ALL, SHARDED,
        "`shardCollection` of a view",
        "Views cannot be sharded.",
        "`shardsvr_shard_collection.cpp`, `create_collection_coordinator.cpp`";
    CAPPED: "shard-capped", 72, Versions::ALL, SHARDED,
        "`shardCollection` of a capped collection",
        "can't shard a capped collection",
        "`shard_collection_legacy.cpp`: `validateAndDeduceFullRequestOptions`";
    COLLATION: "shard-collation", 2, Versions::ALL, SHARDED,
        "`shardCollection` of a collection with a default collation, without `collation: {locale: \"simple\"}`",
        "Collection has default collation: {}. Must specify collation {locale: 'simple'}",
        "`sharding_util.cpp`: `validateAndDeduceFullRequestOptions`";
    OTHER_COLLATION: "shard-other-collation", 2, Versions::ALL, SHARDED,
        "`shardCollection` with a collation that is not simple",
        "The collation for shardCollection must be {locale: 'simple'}, but found: {}",
        "`sharding_util.cpp`: `validateAndDeduceFullRequestOptions`";
    EXISTING_UNIQUE: "shard-existing-unique", 72, Versions::ALL, SHARDED,
        "`shardCollection` of a collection with a unique index that does not have the shard key as prefix",
        "can't shard collection '{}' with unique index on {} and proposed shard key {}. Uniqueness can't be maintained unless shard key is a prefix",
        "`shard_key_util.cpp`: `validateShardKeyIndexExistsOrCreateIfPossible`";
    NO_INDEX: "shard-no-index", 72, Versions::ALL, SHARDED,
        "`shardCollection` of a collection with documents and without an index that has the shard key as prefix and is neither sparse nor partial",
        "Please create an index that starts with the proposed shard key before sharding the collection",
        "`shard_key_util.cpp`: `validateShardKeyIndexExistsOrCreateIfPossible`";
    NOT_UNIQUE: "shard-not-unique", 72, Versions::ALL, SHARDED,
        "`shardCollection` with `unique`, if the index on the shard key is not unique",
        "can't shard collection {}, {} index not unique, and unique index explicitly specified",
        "`shard_key_util.cpp`: `validateShardKeyIndexExistsOrCreateIfPossible`";
    UNIQUE_HASHED: "shard-unique-hashed", 72, Versions::ALL, SHARDED,
        "`shardCollection` with `unique` and a hashed shard key",
        "Hashed shard keys cannot be declared unique. It's possible to ensure uniqueness on the hashed field by declaring an additional (non-hashed) unique index on the field.",
        "`cluster_shard_collection_cmd.cpp`, `configsvr_shard_collection_command.cpp`";
    PATTERN: "shard-pattern", 2, Versions::since(4, 4), SHARDED,
        "a shard key that is not one hashed field and fields with the value 1",
        "Shard key {} can contain at most one 'hashed' field, and/or multiple numerical fields set to a value of 1. Failed to parse field {}",
        "`shard_key_pattern.cpp`: `parseShardKeyPattern`";
    PATTERN_OLD: "shard-pattern-old", 2, Versions::before(4, 4), SHARDED,
        "a shard key that is not one hashed field or fields with the value 1",
        "Unsupported shard key pattern {}. Pattern must either be a single hashed field, or a list of ascending fields",
        "`shard_key_pattern.cpp`: `parseShardKeyPattern` of 4.2";
    REFINE_NOT_SHARDED: "shard-refine-not-sharded", 118, Versions::since(4, 4), SHARDED,
        "`refineCollectionShardKey` of a collection that is not sharded",
        "refineCollectionShardKey: namespace {} is not sharded",
        "`configsvr_refine_collection_shard_key_command.cpp`, `refine_collection_shard_key_coordinator.cpp`";
    REFINE_NO_EXTENSION: "shard-refine-no-extension", 72, Versions::since(4, 4), SHARDED,
        "`refineCollectionShardKey` with a key that does not begin with the present shard key",
        "refineCollectionShardKey shard key {} is not an extension of the existing key {}",
        "`configsvr_refine_collection_shard_key_command.cpp`, `refine_collection_shard_key_coordinator.cpp`";
    REFINE_NO_INDEX: "shard-refine-no-index", 72, Versions::since(4, 4), SHARDED,
        "`refineCollectionShardKey` without an index that has the new shard key as prefix",
        "Please create an index that starts with the proposed shard key before refining the shard key of {}",
        "`shard_key_util.cpp`: `validateShardKeyIndexExistsOrCreateIfPossible`";
    ALREADY: "shard-already", 23, Versions::ALL, SHARDED,
        "`shardCollection` of a sharded collection with another key",
        "sharding already enabled for collection {}",
        "`sharding_catalog_manager_collection_operations.cpp`, `create_collection_coordinator.cpp`";
}
