//! What MongoDB refuses of filters, projections, sorts and expressions.

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
    ARRAY_FILTERS_PIPELINE: "array-filters-pipeline", 9, Versions::ALL, Deployments::ALL,
        "`arrayFilters` with an update pipeline",
        "arrayFilters may not be specified for pipeline-syle updates",
        "`parsed_update_array_filters.cpp`: `parsedUpdateArrayFilters`";
}
