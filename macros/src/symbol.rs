//! The names that attributes may use.

/// Keys of `#[document(…)]` on a `Document` struct.
pub(crate) const ROOT: [&str; 21] = [
    "collection",
    "index",
    "crate",
    "capped",
    "timeseries",
    "clustered",
    "collation",
    "pre_and_post_images",
    "json_schema",
    "read_concern",
    "write_concern",
    "read_preference",
    "soft_delete",
    "validate",
    "hooks",
    "schema_version",
    "kind",
    "search_index",
    "vector_search_index",
    "shard_key",
    "skip_none",
];
/// Keys of `#[document(…)]` on an `Embedded` type.
pub(crate) const EMBEDDED: [&str; 3] = ["crate", "opaque", "skip_none"];
/// Keys of `#[document(…)]` on a field.
pub(crate) const FIELD: [&str; 11] = [
    "id",
    "index",
    "unique",
    "version",
    "created_at",
    "updated_at",
    "opaque",
    "as",
    "skip_none",
    "flatten",
    "encrypted",
];
/// Items of `encrypted(…)`.
pub(crate) const ENCRYPTED: [&str; 9] = [
    "equality",
    "range",
    "prefix",
    "suffix",
    "substring",
    "contention",
    "case_sensitive",
    "diacritic_sensitive",
    "preview",
];
/// Options of `range(…)`.
pub(crate) const RANGE: [&str; 5] = ["min", "max", "sparsity", "trim_factor", "precision"];
/// Options of `prefix(…)`, `suffix(…)` and `substring(…)`.
pub(crate) const STRING_QUERY: [&str; 3] = ["min", "max", "max_length"];
/// Options of `index(…)` that take a value or a list.
pub(crate) const INDEX_VALUES: [&str; 7] = [
    "name",
    "renamed_from",
    "ttl",
    "language",
    "language_override",
    "collation",
    "partial",
];
/// Items of `index(…)` without a value.
pub(crate) const INDEX_FLAGS: [&str; 4] = ["unique", "sparse", "hidden", "wildcard"];
/// Keys of `index(…)` with the syntax of a call.
pub(crate) const INDEX_KEYS: [&str; 4] = ["text", "geo", "hashed", "wildcard"];
/// Sources of ids.
pub(crate) const ID_SOURCES: [&str; 4] = ["uuid_v7", "uuid_v4", "object_id", "manual"];
/// Types of ids that are not an `Option`, by their last path segment.
pub(crate) const PRESENT_IDS: [&str; 6] = ["i32", "i64", "u32", "String", "ObjectId", "Uuid"];
/// Options of `collation(…)` with their names in commands.
pub(crate) const COLLATION: [(&str, &str); 9] = [
    ("locale", "locale"),
    ("strength", "strength"),
    ("case_level", "caseLevel"),
    ("case_first", "caseFirst"),
    ("numeric_ordering", "numericOrdering"),
    ("alternate", "alternate"),
    ("max_variable", "maxVariable"),
    ("normalization", "normalization"),
    ("backwards", "backwards"),
];
/// Array types, by their last path segment.
pub(crate) const ARRAYS: [&str; 6] = [
    "Vec",
    "VecDeque",
    "LinkedList",
    "HashSet",
    "BTreeSet",
    "BinaryHeap",
];
/// Fields of `search_index(…)`: the methods of `SearchMapping`, and two of `SearchIndex`.
pub(crate) const SEARCH_FIELDS: [&str; 11] = [
    "string",
    "autocomplete",
    "token",
    "number",
    "date",
    "boolean",
    "object_id",
    "uuid",
    "geo",
    "document",
    "embedded_documents",
];
/// Fields of `vector_search_index(…)`.
pub(crate) const VECTOR_FIELDS: [&str; 2] = ["vector", "filter"];
/// The texts of `similarity` and `quantization`, with the variants of the enums.
pub(crate) const SIMILARITIES: [(&str, &str); 3] = [
    ("cosine", "Cosine"),
    ("euclidean", "Euclidean"),
    ("dot_product", "DotProduct"),
];
pub(crate) const QUANTIZATIONS: [(&str, &str); 3] =
    [("none", "None"), ("scalar", "Scalar"), ("binary", "Binary")];

/// Options of a field of a search index with their names in definitions.
pub(crate) fn search_options(kind: &str) -> &'static [(&'static str, &'static str)] {
    match kind {
        "string" => &[("analyzer", "analyzer"), ("search_analyzer", "searchAnalyzer")],
        "autocomplete" => &[
            ("analyzer", "analyzer"),
            ("tokenization", "tokenization"),
            ("min_grams", "minGrams"),
            ("max_grams", "maxGrams"),
            ("fold_diacritics", "foldDiacritics"),
        ],
        "token" => &[("normalizer", "normalizer")],
        "document" | "embedded_documents" => &[("dynamic", "dynamic")],
        "vector" => &[
            ("dimensions", "numDimensions"),
            ("similarity", "similarity"),
            ("quantization", "quantization"),
        ],
        _ => &[],
    }
}
