//! The requests that MongoDB refuses: filters, projections, sorts, expressions and updates.

use super::{Deployments, Versions, rows};

rows! {
    UPSERT_EXPR: "upsert-expr", 224, Versions::ALL, Deployments::ALL,
        "`$expr` in the filter of an upsert, at any depth",
        "$expr is not allowed in the query predicate for an upsert",
        "`parsed_update_base.cpp`: `parseQueryToCQ`";
    PROJECTED_EXPRESSION: "projected-expression", 2, Versions::before(4, 4), Deployments::ALL,
        "an expression in the projection of `find` or `findAndModify`",
        "Unsupported projection option: {}: {}",
        "`parsed_projection.cpp`: `ParsedProjection::make` of 4.2";
    TEXT_SCORE_SORT: "text-score-sort", 2, Versions::before(4, 4), Deployments::ALL,
        "a sort of `find` by `{$meta: …}` without a projection of it",
        "must have $meta projection for all $meta sort keys",
        "`canonical_query.cpp`: `CanonicalQuery::init` of 4.2";
    TEXT_NATURAL_SORT: "text-natural-sort", 2, Versions::ALL, Deployments::ALL,
        "`$text` with a sort by `$natural`",
        "text expression not allowed with $natural sort order",
        "`canonical_query.cpp`: `isValid`";
    TEXT_INDEX: "text-index-required", 27, Versions::ALL, Deployments::ALL,
        "`$text` in a collection without a text index, or in one that does not exist",
        "text index required for $text query",
        "`text.cpp`: `TextMatchExpression`; `planner_ixselect.cpp`";
    TEXT_HINT: "text-hint", 2, Versions::ALL, Deployments::ALL,
        "`$text` with a hint",
        "text and hint not allowed in same query",
        "`canonical_query.cpp`: `isValid`";
    NEAR_NATURAL_SORT: "near-natural-sort", 2, Versions::ALL, Deployments::ALL,
        "`$near` with a sort by `$natural`",
        "geoNear expression not allowed with $natural sort order",
        "`canonical_query.cpp`: `isValid`";
    NEAR_NATURAL_HINT: "near-natural-hint", 2, Versions::ALL, Deployments::ALL,
        "`$near` with the hint `$natural`",
        "geoNear expression not allowed with $natural hint",
        "`canonical_query.cpp`: `isValid`";
    NATURAL_SORT_HINT: "natural-sort-hint", 2, Versions::since(4, 4), Deployments::ALL,
        "a sort by `$natural` with the hint of an index",
        "index hint not allowed with $natural sort order",
        "`canonical_query.cpp`: `isValid`";
    NATURAL_DIRECTION: "natural-direction", 2, Versions::since(4, 4), Deployments::ALL,
        "a sort by `$natural` with the hint `$natural` in the other direction",
        "$natural hint must be in the same direction as $natural sort order",
        "`canonical_query.cpp`: `isValid`";
    TEXT_TAILABLE: "text-tailable", 2, Versions::ALL, Deployments::ALL,
        "`$text` with a tailable cursor",
        "text and tailable cursor not allowed in same query",
        "`canonical_query.cpp`: `isValid`";
    NEAR_TAILABLE: "near-tailable", 2, Versions::since(4, 4), Deployments::ALL,
        "`$near` with a tailable cursor",
        "Tailable cursors and geo $near cannot be used together",
        "`canonical_query.cpp`: `isValid`";
    NEAR_IN_MATCH: "near-in-match", 5_626_500, Versions::since(7, 0), Deployments::ALL,
        "`$near` in `$match`",
        "$geoNear, $near, and $nearSphere are not allowed in this context, as these operators require sorting geospatial data. If you do not need sort, consider using $geoWithin instead. Check out https://dochub.mongodb.org/core/near-sort-operation and https://dochub.mongodb.org/core/nearSphere-sort-operation for more details.",
        "`expression_parser.cpp`: `parseGeo`";
    NEAR_IN_MATCH_OLD: "near-in-match-old", 2, Versions::before(7, 0), Deployments::ALL,
        "`$near` in `$match`",
        "$geoNear, $near, and $nearSphere are not allowed in this context",
        "`expression_parser.cpp`: `parseGeo` of 6.0";
    SORT_SPECIFICATION: "sort-specification", 2, Versions::before(4, 4), Deployments::ALL,
        "a sort of `find` by other values than 1, -1 and `{$meta: \"textScore\"}`",
        "bad sort specification",
        "`query_request.cpp`: `isValidSortOrder` of 4.2";
    NEGATIVE_COUNT: "negative-count", 2, Versions::before(5, 0), Deployments::ALL,
        "a negative `skip`, `limit` or `batchSize` of `find`",
        "{} value must be non-negative, but received: {}",
        "`query_request.cpp`: `validate` of 4.4";
    NEGATIVE_OPTION_BEFORE_8: "negative-option-before-8", 51_024, Versions::between((5, 0), (7, 2)), Deployments::ALL,
        "a negative `skip`, `limit` or `batchSize` of `find` or `aggregate`",
        "BSON field '{}' value must be >= 0, actual value '{}'",
        "`idl_parser.cpp`: `throwComparisonError` of 7.0";
    NEGATIVE_OPTION: "negative-option", 2, Versions::since(7, 2), Deployments::ALL,
        "a negative `skip`, `limit` or `batchSize` of `find` or `aggregate`",
        "BSON field '{}' value must be >= 0, actual value '{}'",
        "`idl_parser.cpp`: `throwComparisonError`";
    PROJECTION_MIX: "projection-mix", 2, Versions::before(4, 4), Deployments::ALL,
        "a projection of `find` with included and excluded fields",
        "Projection cannot have a mix of inclusion and exclusion.",
        "`parsed_projection.cpp`: `ParsedProjection::make` of 4.2";
    PROJECTION_EXCLUSION: "projection-exclusion", 31254, Versions::since(4, 4), Deployments::ALL,
        "an excluded field in an inclusion projection of `find`",
        "Cannot do exclusion on field {} in inclusion projection",
        "`projection_parser.cpp`: `parseExclusion`";
    PROJECTION_INCLUSION: "projection-inclusion", 31253, Versions::since(4, 4), Deployments::ALL,
        "an included field in an exclusion projection of `find`",
        "Cannot do inclusion on field {} in exclusion projection",
        "`projection_parser.cpp`: `parseInclusion`";
    DOLLAR_FIELD: "update-dollar-field", 52, Versions::before(5, 0), Deployments::ALL,
        "an update that stores a field whose name begins with a dollar sign, such as `$push` of `{$slice: 1}` without `$each`",
        "The dollar ($) prefixed field '{}' in '{}' is not valid for storage.",
        "`storage_validation.cpp`: `storageValid` of 4.4";
    EMPTY_MODIFIER: "empty-modifier", 9, Versions::before(5, 0), Deployments::ALL,
        "an update operator without fields",
        "'{}' is empty. You must specify a field like so: {{}: {<field>: ...}}",
        "`update_driver.cpp`: `parse` of 4.4";
    IF_NULL_ARGUMENTS: "if-null-arguments", 16020, Versions::before(5, 0), Deployments::ALL,
        "`$ifNull` with other than two arguments",
        "Expression $ifNull takes exactly 2 arguments. {} were passed in.",
        "`expression.h`: `ExpressionIfNull` of 4.4";
    FILTER_LIMIT: "filter-limit", 28647, Versions::before(5, 2), Deployments::ALL,
        "`limit` of `$filter`",
        "Unrecognized parameter to $filter: limit",
        "`expression.cpp`: `ExpressionFilter::parse`";
    GET_FIELD_PATH: "get-field-path", 5_654_600, Versions::between((5, 0), (7, 2)), Deployments::ALL,
        "`field` of `$getField` that is a field path",
        "'{}' is a field path reference which is not allowed in this context. Did you mean {$literal: '{}'}?",
        "`expression.cpp`: `ExpressionGetField::parse` of 7.0";
    GET_FIELD_CONSTANT: "get-field-constant", 5_654_601, Versions::between((5, 0), (7, 2)), Deployments::ALL,
        "`field` of `$getField` that is not a constant",
        "$getField requires 'field' to evaluate to a constant, but got a non-constant argument",
        "`expression.cpp`: `ExpressionGetField::parse` of 7.0";
    SET_FIELD_PATH: "set-field-path", 4_161_108, Versions::since(5, 0), Deployments::ALL,
        "`field` of `$setField` or `$unsetField` that is a field path",
        "'{}' is a field path reference which is not allowed in this context. Did you mean {$literal: '{}'}?",
        "`expression.cpp`: `ExpressionSetField::parse`";
    SET_FIELD_CONSTANT: "set-field-constant", 4_161_106, Versions::since(5, 0), Deployments::ALL,
        "`field` of `$setField` or `$unsetField` that is not a constant",
        "{} requires 'field' to evaluate to a constant, but got a non-constant argument",
        "`expression.cpp`: `ExpressionSetField::parse`";
    ARRAY_FILTERS_PIPELINE: "array-filters-pipeline", 9, Versions::ALL, Deployments::ALL,
        "`arrayFilters` with an update pipeline",
        "arrayFilters may not be specified for pipeline-syle updates",
        "`parsed_update_array_filters.cpp`: `parsedUpdateArrayFilters`";
}
