//! The names that attributes may use.

/// Keys of `#[document(…)]` on a `Document` struct.
pub(crate) const ROOT: [&str; 13] = [
    "collection",
    "index",
    "crate",
    "capped",
    "timeseries",
    "clustered",
    "collation",
    "pre_and_post_images",
    "json_schema",
    "soft_delete",
    "validate",
    "hooks",
    "schema_version",
];
/// Keys of `#[document(…)]` on an `Embedded` type.
pub(crate) const EMBEDDED: [&str; 1] = ["crate"];
/// Keys of `#[document(…)]` on a field.
pub(crate) const FIELD: [&str; 9] = [
    "id",
    "index",
    "unique",
    "version",
    "created_at",
    "updated_at",
    "opaque",
    "as",
    "flatten",
];
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
