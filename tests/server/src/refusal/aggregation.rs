//! The requests that MongoDB refuses: pipelines.

use super::{Deployments, Versions, rows};
use crate::error::code;

rows! {
    MERGE_MODES: "merge-modes", 51181, Versions::ALL, Deployments::ALL,
        "`$merge` with `whenMatched: keepExisting` or `fail` and another `whenNotMatched` than `insert`",
        "Combination of $merge modes 'whenMatched: {}' and 'whenNotMatched: {}' is not supported",
        "`merge_processor.cpp`: `getMergeStrategyDescriptors`";
    MERGE_SAME_COLLECTION: "merge-same-collection", 51188, Versions::before(4, 4), Deployments::ALL,
        "`$merge` into the collection of the `aggregate`",
        "$merge is not supported when the output collection is the same as the aggregation collection",
        "`document_source_merge.cpp`: `create` of 4.2";
    MERGE_ON_INDEX: "merge-on-index", 51183, Versions::ALL, Deployments::NOT_SHARDED,
        "`on` of `$merge` without a unique index on exactly these fields that is not partial and has the collation of the `aggregate`",
        "Cannot find index to verify that join fields will be unique",
        "`common_mongod_process_interface.cpp`: `ensureFieldsUniqueOrResolveDocumentKey`";
    MERGE_ON_INDEX_ROUTER: "merge-on-index-mongos", 51190, Versions::ALL, Deployments::SHARDED,
        "`on` of `$merge` without a unique index on exactly these fields that is not partial and has the collation of the `aggregate`",
        "Cannot find index to verify that join fields will be unique",
        "`mongos_process_interface.cpp`: `ensureFieldsUniqueOrResolveDocumentKey`";
    MERGE_LET: "merge-let", 51199, Versions::ALL, Deployments::ALL,
        "`let` of `$merge` without a pipeline as `whenMatched`",
        "Cannot use 'let' variables with 'whenMatched: {}' mode",
        "`document_source_merge.cpp`: `create`";
    MERGE_LET_NEW: "merge-let-new", 51273, Versions::ALL, Deployments::ALL,
        "`let` of `$merge` that defines `new` as another value than `$$ROOT`",
        "'let' may not define a value for the reserved 'new' variable other than '$$ROOT'",
        "`document_source_merge.cpp`: `create`";
    MERGE_SPECIAL: "merge-special-collection", 31319, Versions::since(4, 4), Deployments::ALL,
        "`$merge` into a collection `system.*`",
        "Cannot $merge to special collection: {}",
        "`document_source_merge.cpp`: `create`";
    MERGE_INTERNAL: "merge-internal-database", 31320, Versions::since(4, 4), Deployments::ALL,
        "`$merge` into the database `admin`, `config` or `local`",
        "Cannot $merge to internal database: {}",
        "`document_source_merge.cpp`: `create`";
    MERGE_DUPLICATE_ON: "merge-duplicate-on", 31465, Versions::since(4, 4), Deployments::ALL,
        "a field twice in `on` of `$merge`",
        "Found a duplicate field '{}'",
        "`document_source_merge.cpp`: `parseMergeOnFieldsFromSpec`";
    MERGE_DUPLICATE: "merge-duplicate", code::DUPLICATE_KEY, Versions::ALL, Deployments::ALL,
        "`$merge` of a document that exists, with `whenMatched: fail`, or whose key another document has",
        "$merge failed due to a DuplicateKey error :: caused by :: E11000 duplicate key error collection: {} ",
        "`document_source_merge.cpp`: `flush`";
    MERGE_ON_ARRAY: "merge-on-array", 51185, Versions::ALL, Deployments::ALL,
        "a document with an array in a field of `on` of `$merge`",
        "$merge write error: 'on' field cannot be an array",
        "`merge_processor.cpp`: `extractMergeOnFieldsFromDoc`";
    MERGE_ON_MISSING: "merge-on-missing", 51132, Versions::before(8, 1), Deployments::ALL,
        "a document without a field of `on` of `$merge`, or with null",
        "$merge write error: 'on' field cannot be missing, null, undefined or an array",
        "`merge_processor.cpp`: `extractMergeOnFieldsFromDoc` of 8.0";
    MERGE_ON_SPARSE: "merge-on-sparse", 51132, Versions::since(8, 1), Deployments::ALL,
        "a document without a field of `on` of `$merge`, or with null, if the index is sparse",
        "$merge write error: 'on' field cannot be missing, null or undefined if supporting index is sparse",
        "`merge_processor.cpp`: `extractMergeOnFieldsFromDoc`";
    OUT_OBJECT: "out-object", 14, Versions::before(4, 4), Deployments::ALL,
        "`$out` to another database",
        "$out stage requires a string argument, but found {}",
        "`document_source_out.cpp`: `LiteParsed::parse` of 4.2";
    OUT_TIME_SERIES: "out-timeseries", 40415, Versions::between((4, 4), (7, 1)), Deployments::ALL,
        "`timeseries` of `$out`",
        "BSON field '$out.timeseries' is an unknown field.",
        "`document_source_out.idl`";
    OUT_SPECIAL: "out-special-collection", 17385, Versions::ALL, Deployments::ALL,
        "`$out` to a collection `system.*`",
        "Can't $out to special collection: {}",
        "`document_source_out.cpp`: `create`";
    OUT_INTERNAL: "out-internal-database", 31321, Versions::since(4, 4), Deployments::ALL,
        "`$out` to the database `admin`, `config` or `local`",
        "Can't $out to internal database: {}",
        "`document_source_out.cpp`: `create`";
    OUT_CAPPED: "out-capped", 17152, Versions::ALL, Deployments::ALL,
        "`$out` to a capped collection",
        "namespace '{}' is capped so it can't be used for $out",
        "`document_source_out.cpp`: `initialize`";
    OUT_INTO_TIME_SERIES: "out-into-timeseries", 166, Versions::between((5, 0), (7, 1)), Deployments::NOT_SHARDED,
        "`$out` to a time series collection",
        "Taking {} lock for timeseries is not allowed",
        "`catalog_raii.cpp`: `AutoGetCollection`; manual of 5.0: Time Series Collection Limitations";
    MERGE_INTO_TIME_SERIES_BEFORE_7: "merge-into-timeseries-before-7", 166, Versions::between((5, 0), (7, 0)), Deployments::NOT_SHARDED,
        "`$merge` of a document into a time series collection",
        "Taking {} lock for timeseries is not allowed",
        "`catalog_raii.cpp`: `AutoGetCollection`; manual of 5.0: Time Series Collection Limitations";
    MERGE_INTO_TIME_SERIES: "merge-into-timeseries", 166, Versions::since(7, 0), Deployments::NOT_SHARDED,
        "`$merge` of a document into a time series collection",
        "Namespace {} is a view, not a collection",
        "`shard_role.cpp`: `acquireCollection`; manual of 8.0: Time Series Collection Limitations";
    OUTPUT_NOT_LAST: "output-not-last", 40601, Versions::ALL, Deployments::ALL,
        "`$out` or `$merge` that is not the last stage",
        "{} can only be the final stage in the pipeline",
        "`pipeline.cpp`: `validateTopLevelPipeline`";
    OUTPUT_LINEARIZABLE: "output-linearizable", 72, Versions::ALL, Deployments::REPLICATED,
        "`$out` or `$merge` with read concern `linearizable`",
        "{} cannot be used with a 'linearizable' read concern level",
        "`document_source_out.cpp`, `document_source_merge.cpp`: `create`";
    OUTPUT_IN_VIEW: "output-in-view", code::OPTION_NOT_SUPPORTED_ON_VIEW, Versions::ALL, Deployments::ALL,
        "`$out` or `$merge` in the pipeline of a view",
        "The aggregation stage {} in location {} of the pipeline cannot be used in the view definition of {} because it writes to disk",
        "`view_catalog_helpers.cpp`: `validatePipeline`";
    STREAM_IN_VIEW: "change-stream-in-view", code::OPTION_NOT_SUPPORTED_ON_VIEW, Versions::ALL, Deployments::ALL,
        "`$changeStream` in the pipeline of a view",
        "$changeStream cannot be used in a view definition",
        "`view_catalog_helpers.cpp`: `validatePipeline`";
    COLLECTIONLESS_IN_VIEW: "collectionless-in-view", 73, Versions::ALL, Deployments::ALL,
        "a stage of the whole server or database in the pipeline of a view",
        "'{}' cannot be used in a view definition",
        "`view_catalog_helpers.cpp`: `validatePipeline`";
    STAGE_IN_LOOKUP: "stage-in-lookup", 51047, Versions::ALL, Deployments::ALL,
        "`$out`, `$merge` or `$changeStream` in the pipeline of a `$lookup`",
        "{} is not allowed within a $lookup's sub-pipeline",
        "`document_source_lookup.cpp`: `LiteParsed`";
    STAGE_IN_UNION: "stage-in-union", 31441, Versions::since(4, 4), Deployments::ALL,
        "`$out`, `$merge` or `$changeStream` in the pipeline of a `$unionWith`",
        "{} is not allowed within a $unionWith's sub-pipeline",
        "`document_source_union_with.cpp`: `validateUnionWithPipeline`";
    STAGE_IN_FACET: "stage-in-facet", 40600, Versions::ALL, Deployments::ALL,
        "a stage in `$facet` that writes, that must be the first one of a pipeline, or that is `$facet`",
        "{} is not allowed to be used within a $facet stage",
        "`pipeline.cpp`: `validateFacetPipeline`";
    EMPTY_FACET: "empty-facet", 2, Versions::before(5, 0), Deployments::ALL,
        "an empty pipeline in `$facet`",
        "sub-pipeline in $facet stage cannot be empty",
        "`document_source_facet.cpp`: `createFromBson` of 4.4";
    LOOKUP_FIELDS_AND_PIPELINE: "lookup-fields-and-pipeline", 9, Versions::before(5, 0), Deployments::ALL,
        "`$lookup` with `pipeline` and `localField` or `foreignField`",
        "$lookup with 'pipeline' may not specify 'localField' or 'foreignField'",
        "`document_source_lookup.cpp`: `createFromBson` of 4.4";
    LOOKUP_WITHOUT_FROM: "lookup-without-from", 9, Versions::before(5, 1), Deployments::ALL,
        "`$lookup` without `from`",
        "missing 'from' option to $lookup stage specification: {}",
        "`document_source_lookup.cpp`: `LiteParsed::parse` of 5.0";
    LOOKUP_WITHOUT_DOCUMENTS: "lookup-without-documents", 9, Versions::since(5, 1), Deployments::ALL,
        "`$lookup` without `from` and without a pipeline",
        "must specify 'pipeline' when 'from' is empty",
        "`document_source_lookup.cpp`: `LiteParsed::parse`";
    LOOKUP_LET: "lookup-let", 9, Versions::ALL, Deployments::ALL,
        "`let` of `$lookup` without `pipeline`",
        "$lookup with a 'let' argument must also specify 'pipeline'",
        "`document_source_lookup.cpp`: `createFromBson`";
    STAGE_READ_CONCERN: "stage-read-concern", 72, Versions::ALL, Deployments::REPLICATED,
        "`$collStats`, `$currentOp`, `$indexStats`, `$listLocalSessions`, `$listSessions` or `$planCacheStats` with another read concern than `local`",
        "Aggregation stage {} cannot run with a readConcern other than 'local'{} Current readConcern: {}",
        "`lite_parsed_document_source.h`: `onlyReadConcernLocalSupported`";
    VECTOR_FILTER: "vector-filter", 7_828_300, Versions::between((7, 1), (8, 0)), Deployments::ALL,
        "another operator than `$and`, `$or`, `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`, `$in` and `$nin`, such as `$not`, in the filter of `$vectorSearch` (7.1 to 7.3.1, and 6.0 before 6.0.16 and 7.0 before 7.0.10; later, mongot checks the filter, and also allows `$not`, `$nor` and `$exists`)",
        "Match expression is not supported for $vectorSearch: {}",
        "`vector_search/filter_validator.cpp`: `validateVectorSearchFilter`; mongot: `MqlFilterOperator.java`";
    VECTOR_FILTER_NULL: "vector-filter-null", 7_828_302, Versions::between((7, 1), (8, 0)), Deployments::ALL,
        "null in `$in` or `$nin` in the filter of `$vectorSearch` (the same versions)",
        "Matching null is not supported.",
        "`vector_search/filter_validator.cpp`: `validateVectorSearchFilter`";
    VECTOR_FILTER_REGEX: "vector-filter-regex", 7_828_303, Versions::between((7, 1), (8, 0)), Deployments::ALL,
        "a regular expression in `$in` or `$nin` in the filter of `$vectorSearch` (the same versions)",
        "Matching regex is not supported.",
        "`vector_search/filter_validator.cpp`: `validateVectorSearchFilter`";
}
