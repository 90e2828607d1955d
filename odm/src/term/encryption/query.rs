//! The kinds of queries that an encrypted field is indexed for, as types.

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $kind(());
    )* };
}

kinds! {
    /// No queries: `#[document(encrypted)]`.
    Unindexed;
    /// Queries for equal values: `encrypted(equality)`.
    Equality;
    /// Queries for ranges and equal values: `encrypted(range(…))`.
    Range;
    /// Queries for the start of strings: `encrypted(prefix(…))`.
    Prefix;
    /// Queries for the end of strings: `encrypted(suffix(…))`.
    Suffix;
    /// Queries for the start and the end of strings: `encrypted(prefix(…), suffix(…))`.
    PrefixAndSuffix;
    /// Queries for a part of strings: `encrypted(substring(…))`.
    Substring;
}

/// Kinds of queries that compare for equality.
#[diagnostic::on_unimplemented(
    message = "the encrypted field has no queries for equality",
    label = "the field is declared with queries of the kind `{Self}`",
    note = "declare it with `#[document(encrypted(equality))]`; the server needs a new collection for another declaration"
)]
pub trait EqualityQueries {}
impl EqualityQueries for Equality {}
impl EqualityQueries for Range {}

/// Kinds of queries that compare by order.
#[diagnostic::on_unimplemented(
    message = "the encrypted field has no queries for ranges",
    label = "the field is declared with queries of the kind `{Self}`",
    note = "declare it with `#[document(encrypted(range(min = .., max = ..)))]`; the server needs a new collection for another \
            declaration"
)]
pub trait RangeQueries {}
impl RangeQueries for Range {}

/// Kinds of queries that search the start of strings.
#[diagnostic::on_unimplemented(
    message = "the encrypted field has no queries for the start of strings",
    label = "the field is declared with queries of the kind `{Self}`",
    note = "declare it with `#[document(encrypted(prefix(min = .., max = ..)))]`; the server needs a new collection for another \
            declaration"
)]
pub trait PrefixQueries {}
impl PrefixQueries for Prefix {}
impl PrefixQueries for PrefixAndSuffix {}

/// Kinds of queries that search the end of strings.
#[diagnostic::on_unimplemented(
    message = "the encrypted field has no queries for the end of strings",
    label = "the field is declared with queries of the kind `{Self}`",
    note = "declare it with `#[document(encrypted(suffix(min = .., max = ..)))]`; the server needs a new collection for another \
            declaration"
)]
pub trait SuffixQueries {}
impl SuffixQueries for Suffix {}
impl SuffixQueries for PrefixAndSuffix {}

/// Kinds of queries that search a part of strings.
#[diagnostic::on_unimplemented(
    message = "the encrypted field has no queries for a part of strings",
    label = "the field is declared with queries of the kind `{Self}`",
    note = "declare it with `#[document(encrypted(substring(max_length = .., min = .., max = ..)))]`; the server needs a new \
            collection for another declaration"
)]
pub trait SubstringQueries {}
impl SubstringQueries for Substring {}
