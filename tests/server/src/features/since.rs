//! The first server versions of names that MongoDB 4.2 does not have. A server refuses a name that
//! was added later with the error for an unknown name. Names that are not listed are in all
//! versions, or in none: MongoDB's manual and its registration macros (`REGISTER_STAGE…`,
//! `REGISTER_EXPRESSION…`, `REGISTER_ACCUMULATOR…`) have the versions.

use super::Feature;
use crate::version::Version;

/// The first versions of a name, one of each release series that has it as an addition, in
/// ascending order. Later series have the name from their start.
pub(crate) type FirstVersions = &'static [(u32, u32, u32)];

const V4_4: FirstVersions = &[(4, 4, 0)];
const V5_0: FirstVersions = &[(5, 0, 0)];
const V5_1: FirstVersions = &[(5, 1, 0)];
const V5_2: FirstVersions = &[(5, 2, 0)];
const V5_3: FirstVersions = &[(5, 3, 0)];
const V6_0: FirstVersions = &[(6, 0, 0)];
const V6_3: FirstVersions = &[(6, 3, 0)];
const V7_0: FirstVersions = &[(7, 0, 0)];
const V8_0: FirstVersions = &[(8, 0, 0)];
const V8_1: FirstVersions = &[(8, 1, 0)];
const V8_2: FirstVersions = &[(8, 2, 0)];

/// Aggregation stages.
const STAGES: &[(&str, FirstVersions)] = &[
    ("$unionWith", V4_4),
    ("$searchMeta", &[(4, 4, 11), (5, 0, 4), (5, 1, 0)]),
    ("$setWindowFields", V5_0),
    ("$operationMetrics", V5_0),
    ("$densify", V5_1),
    ("$documents", V5_1),
    ("$fill", V5_3),
    ("$listCatalog", V6_0),
    ("$shardedDataDistribution", &[(6, 0, 3)]),
    ("$changeStreamSplitLargeEvent", &[(6, 0, 9), (7, 0, 0)]),
    ("$listSampledQueries", V7_0),
    ("$listSearchIndexes", &[(6, 0, 7), (7, 0, 0)]),
    ("$vectorSearch", &[(6, 0, 11), (7, 0, 2)]),
    ("$queryStats", &[(6, 0, 12), (7, 0, 3), (7, 1, 0)]),
    ("$querySettings", V8_0),
    ("$rankFusion", V8_0),
    ("$listClusterCatalog", V8_1),
    ("$score", V8_2),
    ("$scoreFusion", V8_2),
];

/// Expression operators.
const EXPRESSIONS: &[(&str, FirstVersions)] = &[
    ("$function", V4_4),
    ("$binarySize", V4_4),
    ("$bsonSize", V4_4),
    ("$first", V4_4),
    ("$last", V4_4),
    ("$isNumber", V4_4),
    ("$replaceOne", V4_4),
    ("$replaceAll", V4_4),
    ("$toHashedIndexKey", V4_4),
    ("$rand", &[(4, 4, 2)]),
    ("$dateAdd", V5_0),
    ("$dateSubtract", V5_0),
    ("$dateDiff", V5_0),
    ("$dateTrunc", V5_0),
    ("$getField", V5_0),
    ("$setField", V5_0),
    ("$unsetField", V5_0),
    ("$tsSecond", V5_1),
    ("$tsIncrement", V5_1),
    ("$sortArray", V5_2),
    ("$firstN", V5_2),
    ("$lastN", V5_2),
    ("$maxN", V5_2),
    ("$minN", V5_2),
    ("$bitAnd", V6_3),
    ("$bitNot", V6_3),
    ("$bitOr", V6_3),
    ("$bitXor", V6_3),
    ("$median", V7_0),
    ("$percentile", V7_0),
    ("$toUUID", V8_0),
    ("$sigmoid", V8_1),
    ("$currentDate", V8_2),
    ("$encStrContains", V8_2),
    ("$encStrEndsWith", V8_2),
    ("$encStrNormalizedEq", V8_2),
    ("$encStrStartsWith", V8_2),
];

/// Accumulators of `$group`, `$bucket` and `$bucketAuto`.
const ACCUMULATORS: &[(&str, FirstVersions)] = &[
    ("$accumulator", V4_4),
    ("$count", V5_0),
    ("$top", V5_2),
    ("$topN", V5_2),
    ("$bottom", V5_2),
    ("$bottomN", V5_2),
    ("$firstN", V5_2),
    ("$lastN", V5_2),
    ("$maxN", V5_2),
    ("$minN", V5_2),
    ("$median", V7_0),
    ("$percentile", V7_0),
    ("$concatArrays", V8_1),
    ("$setUnion", V8_1),
];

/// Functions of `$setWindowFields`, which is a stage since 5.0.
const WINDOW_FUNCTIONS: &[(&str, FirstVersions)] = &[
    ("$locf", V5_2),
    ("$top", V5_2),
    ("$topN", V5_2),
    ("$bottom", V5_2),
    ("$bottomN", V5_2),
    ("$firstN", V5_2),
    ("$lastN", V5_2),
    ("$maxN", V5_2),
    ("$minN", V5_2),
    ("$linearFill", V5_3),
    ("$median", V7_0),
    ("$percentile", V7_0),
    ("$concatArrays", V8_1),
    ("$setUnion", V8_1),
    ("$minMaxScaler", V8_2),
];

/// Query operators, on a field or at the top level.
const QUERY_OPERATORS: &[(&str, FirstVersions)] = &[
    ("$sampleRate", &[(4, 4, 2)]),
    ("$encStrContains", V8_2),
    ("$encStrEndsWith", V8_2),
    ("$encStrNormalizedEq", V8_2),
    ("$encStrStartsWith", V8_2),
];

/// System variables.
const VARIABLES: &[(&str, FirstVersions)] = &[
    ("IS_MR", V4_4),
    ("JS_SCOPE", V4_4),
    ("SEARCH_META", &[(4, 4, 11), (5, 0, 4), (5, 1, 0)]),
    ("USER_ROLES", V7_0),
];

/// Commands that this server does not implement. The command table has the versions of the others.
const COMMANDS: &[(&str, FirstVersions)] = &[
    ("setDefaultRWConcern", V4_4),
    ("setIndexCommitQuorum", V4_4),
    ("balancerCollectionStatus", V4_4),
    ("validateDBMetadata", V5_0),
    ("rotateCertificates", V5_0),
    ("reshardCollection", V5_0),
    ("abortReshardCollection", V5_0),
    ("cleanupReshardCollection", V5_0),
    ("commitReshardCollection", V5_0),
    ("configureCollectionBalancing", V5_3),
    ("getClusterParameter", V6_0),
    ("setClusterParameter", V6_0),
    ("getChangeStreamState", V6_0),
    ("setChangeStreamState", V6_0),
    ("setUserWriteBlockMode", V6_0),
    ("moveRange", V6_0),
    ("analyzeShardKey", V7_0),
    ("configureQueryAnalyzer", V7_0),
    ("mergeAllChunksOnShard", V7_0),
    ("oidcListKeys", V7_0),
    ("oidcRefreshKeys", V7_0),
    ("transitionFromDedicatedConfigServer", V8_0),
    ("transitionToDedicatedConfigServer", V8_0),
    ("autoCompact", V8_0),
    ("removeQuerySettings", V8_0),
    ("setQuerySettings", V8_0),
    ("moveCollection", V8_0),
    ("abortMoveCollection", V8_0),
    ("unshardCollection", V8_0),
    ("abortUnshardCollection", V8_0),
];

/// The names of a kind that some supported version does not have, with their first versions.
pub(crate) fn names(feature: Feature) -> &'static [(&'static str, FirstVersions)] {
    match feature {
        Feature::Stage => STAGES,
        Feature::Expression => EXPRESSIONS,
        Feature::Accumulator => ACCUMULATORS,
        Feature::WindowFunction => WINDOW_FUNCTIONS,
        Feature::QueryOperator => QUERY_OPERATORS,
        Feature::Variable => VARIABLES,
        Feature::Command => COMMANDS,
    }
}

/// Whether the version is one of the first versions of its release series, or of a later series.
fn is_reached(first: FirstVersions, version: Version) -> bool {
    let series = (version.major, version.minor);
    match first.iter().find(|(major, minor, _)| (*major, *minor) == series) {
        Some((_, _, patch)) => version.patch >= *patch,
        None => first
            .last()
            .is_none_or(|(major, minor, _)| series > (*major, *minor)),
    }
}

/// Whether the version has a feature of this name, if any version has it.
pub(super) fn exists(feature: Feature, name: &str, version: Version) -> bool {
    names(feature)
        .iter()
        .find(|(known, _)| *known == name)
        .is_none_or(|(_, first)| is_reached(first, version))
}
