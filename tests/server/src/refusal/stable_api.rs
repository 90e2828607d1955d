//! The requests that MongoDB refuses: commands with an API version, most of them with `apiStrict`.

use super::{Deployments, Versions, rows};
use crate::error::code;

/// The versions that have the Stable API.
const STABLE_API: Versions = Versions::since(5, 0);

rows! {
    COMMAND: "strict-command", code::API_STRICT_ERROR, STABLE_API, Deployments::ALL,
        "a command that is not in the API version, such as `distinct`, `count` before 5.0.9, `renameCollection` before 8.1, and commands on search indexes and users",
        "Provided apiStrict:true, but the command {} is not in API Version {}",
        "`validate_api_parameters.cpp`: `parseAndValidateAPIParameters`; manual: Stable API";
    FIELD: "strict-field", code::API_STRICT_ERROR, STABLE_API, Deployments::ALL,
        "an unstable field: `size`, `max`, `changeStreamPreAndPostImages` and others of `create`, `unique`, `prepareUnique` and images of `collMod`, `min`, `max`, `tailable` and others of `find`, `sort` of an update, `explain` of `aggregate`",
        "BSON field '{}' is not allowed with apiStrict:true.",
        "`idl_parser.cpp`: `throwAPIStrictErrorIfApplicable`; `unstable` in the IDL files of the commands";
    STAGE: "strict-stage", code::API_STRICT_ERROR, Versions::since(6, 0), Deployments::ALL,
        "an unstable stage, also in the pipeline of another stage or of a view: `$currentOp`, `$indexStats`, `$listLocalSessions`, `$listSessions`, `$planCacheStats`, those of search and others",
        "{} is not allowed with 'apiStrict: true' in API Version {}",
        "`lite_parsed_document_source.cpp`: `assertPermittedInAPIVersion`";
    STAGE_OLD: "strict-stage-old", code::API_STRICT_ERROR, Versions::between((5, 0), (6, 0)), Deployments::ALL,
        "an unstable stage, as above, or `$setWindowFields`",
        "stage {} is not allowed with 'apiStrict: true' in API Version {}",
        "`lite_parsed_document_source.cpp`: `assertPermittedInAPIVersion` of 5.0";
    COLL_STATS: "strict-coll-stats", code::API_STRICT_ERROR, STABLE_API, Deployments::ALL,
        "`$collStats` with another option than `count`",
        "only the 'count' option to $collStats is supported in API Version 1",
        "`document_source_coll_stats.cpp`: `assertPermittedInAPIVersion`";
    EXPRESSION: "strict-expression", code::API_STRICT_ERROR, Versions::since(6, 0), Deployments::ALL,
        "an unstable expression operator: `$median` and `$percentile`",
        "{} is not allowed with 'apiStrict: true' in API Version {}",
        "`expression.cpp`: `REGISTER_EXPRESSION…`, `assertLanguageFeatureIsAllowed`";
    EXPRESSION_OLD: "strict-expression-old", code::API_STRICT_ERROR, Versions::between((5, 0), (6, 0)), Deployments::ALL,
        "an expression operator that is new in 5.0, such as `$dateAdd` and `$getField`",
        "{} is not allowed with 'apiStrict: true' in API Version {}",
        "`jstests/core/api/api_version_new_50_language_features.js`";
    META: "strict-meta", code::API_STRICT_ERROR, STABLE_API, Deployments::ALL,
        "`$meta` with `textScore`, `searchScore`, `indexKey` and others of text and search",
        "Provided apiStrict is true with an unstable meta field \"{}\"",
        "`expression.cpp`: `ExpressionMeta::_assertMetaFieldCompatibleWithStrictAPI`";
    TEXT: "strict-text", 291, STABLE_API, Deployments::ALL,
        "`$text`: a text index is not used",
        "Failed to use text index to satisfy $text query",
        "`jstests/core/api/api_version_unstable_indexes.js`, `query_planner.cpp`: `plan`";
    WITHOUT_VERSION: "strict-without-version", 4_886_600, STABLE_API, Deployments::ALL,
        "`apiStrict` or `apiDeprecationErrors` without `apiVersion`",
        "Provided apiStrict and/or apiDeprecationErrors without passing apiVersion",
        "`validate_api_parameters.cpp`: `parseAndValidateAPIParameters`";
    UNKNOWN_FIELD: "api-unknown-field", code::UNKNOWN_FIELD, Versions::before(5, 0), Deployments::ALL,
        "`apiVersion`, `apiStrict` or `apiDeprecationErrors` with `count`, `create` of 4.4, `delete`, `distinct`, `insert`, `renameCollection` or `update`; commands that ignore unknown fields, such as `hello` and `ping`, accept them",
        "BSON field '{}.{}' is an unknown field.",
        "`command_generic_argument.cpp` of 4.4: `specials`; `idl_parser.cpp`: `throwUnknownField`";
    UNKNOWN_FIND: "api-unknown-find", code::FAILED_TO_PARSE, Versions::before(5, 0), Deployments::ALL,
        "`apiVersion`, `apiStrict` or `apiDeprecationErrors` with `find` or `getMore`",
        "Failed to parse: {}. Unrecognized field '{}'.",
        "`query_request.cpp`: `parseFromFindCommand` of 4.4, `getmore_request.cpp`: `parseFromBSON` of 4.4";
    UNKNOWN_AGGREGATE: "api-unknown-aggregate", code::FAILED_TO_PARSE, Versions::before(5, 0), Deployments::ALL,
        "`apiVersion`, `apiStrict` or `apiDeprecationErrors` with `aggregate`",
        "unrecognized field '{}'",
        "`aggregation_request.cpp`: `parseFromBSON` of 4.4";
    UNKNOWN_FIND_AND_MODIFY: "api-unknown-find-and-modify", 51_177, Versions::before(5, 0), Deployments::ALL,
        "`apiVersion`, `apiStrict` or `apiDeprecationErrors` with `findAndModify`",
        "BSON field '{}' is an unknown field.",
        "`find_and_modify_request.cpp`: `parseFromBSON` of 4.4";
}
