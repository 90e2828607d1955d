//! The untyped part of a path: its dotted name, and the conditions that it implies.

use std::borrow::Cow;

use crate::ast::{
    filter::{Mark, Op},
    update::{ArrayFilter, Variant},
};

/// The untyped part of a path: its dotted name, and the conditions that it implies.
#[derive(Clone, Debug, Default)]
pub struct RawPath {
    dotted: Cow<'static, str>,
    /// Lengths of the prefixes of `dotted` that are arrays without a selected element: one entry
    /// for each array level, so an array of arrays has two entries of the same length.
    arrays: Vec<usize>,
    /// Whether the value is flattened: this is the path of the surrounding document, and the value
    /// is some of its fields.
    flat: bool,
    /// Whether the value is left out where it is null.
    skips_null: bool,
    /// Whether conditions on the path are on an encrypted field.
    mark: Mark,
    extras: Option<Box<Extras>>,
}

#[derive(Clone, Debug, Default)]
struct Extras {
    /// Conditions for the path to exist: the enum variants that it goes through.
    implied: Vec<Implied>,
    /// Conditions of the filtered positional segments `$[f0]`, `$[f1]` …, relative to their
    /// element.
    array_filters: Vec<ArrayFilter>,
    /// Whether the path goes through a variant of an untagged enum.
    untagged: bool,
    /// The names of the fields beside a flattened value, one entry for each level of flattening.
    beside: Vec<&'static [&'static [&'static str]]>,
}

/// The variant of an enum that a path goes through.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Implied {
    /// The path of the tag, or of the content of an externally tagged variant.
    pub(crate) key: String,
    /// The tag; `None` for an externally tagged variant.
    pub(crate) tag: Option<&'static str>,
    /// Number of array levels around the enum.
    pub(crate) arrays: usize,
}

impl Implied {
    /// The operator that matches a value of the variant at `key`.
    pub(crate) fn condition(&self) -> Op {
        Variant::op(self.tag)
    }
}

impl RawPath {
    /// The path of a variable of an expression, which is sent as `$$name`.
    pub(crate) fn variable(name: &str) -> Self {
        RawPath {
            dotted: Cow::Owned(format!("${name}")),
            ..RawPath::default()
        }
    }

    /// The path as it is sent, such as `lines.0.sku`; empty for the root.
    ///
    /// ```
    /// # use marula_guide::*;
    /// assert_eq!(Order::fields().lines().nth(0).sku().raw().dotted(), "lines.0.sku");
    /// ```
    #[must_use]
    pub fn dotted(&self) -> &str {
        &self.dotted
    }

    /// The path as a key, without a copy if it is a single name.
    pub(crate) fn name(&self) -> Cow<'static, str> {
        self.dotted.clone()
    }

    /// The prefixes that are arrays and are not followed by an index or a positional segment,
    /// outermost first.
    ///
    /// ```
    /// # use marula_guide::*;
    /// let sku = Order::fields().lines().sku();
    /// assert_eq!(sku.raw().array_prefixes().collect::<Vec<_>>(), ["lines"]);
    /// ```
    pub fn array_prefixes(&self) -> impl Iterator<Item = &str> {
        let repeated = |i: usize| i > 0 && self.arrays.get(i - 1) == self.arrays.get(i);
        let lengths = self.arrays.iter().enumerate();
        lengths
            .filter(move |(i, _)| !repeated(*i))
            .map(|(_, len)| &self.dotted[..*len])
    }

    /// The lengths of the prefixes that are arrays, outermost first, one entry for each array
    /// level.
    pub(crate) fn arrays(&self) -> &[usize] {
        &self.arrays
    }

    /// Whether `{path: operators}` does not match all elements of the path: the server traverses
    /// one array level for each name, and interprets a number after an array as an index of this
    /// array.
    pub(crate) fn is_nested(&self) -> bool {
        let repeated = self.arrays.windows(2).any(|pair| pair[0] == pair[1]);
        repeated || self.arrays.iter().any(|len| self.is_explicit(*len))
    }

    /// Whether the elements of the array whose path has this length need an `$elemMatch`: the array
    /// is itself the element of a condition, or an index into its elements follows.
    pub(crate) fn is_explicit(&self, len: usize) -> bool {
        let next = self.dotted[len..].strip_prefix('.').unwrap_or_default();
        let next = next.split('.').next().unwrap_or_default();
        len == 0 || (!next.is_empty() && next.bytes().all(|b| b.is_ascii_digit()))
    }

    /// This path without the innermost `count` array levels.
    pub(super) fn without_arrays(mut self, count: usize) -> Self {
        self.arrays.truncate(self.arrays.len().saturating_sub(count));
        self
    }

    /// Whether a condition on the path needs no further conditions: no enum variant, no array of
    /// arrays.
    pub(crate) fn is_plain(&self) -> bool {
        self.extras
            .as_deref()
            .is_none_or(|e| e.implied.is_empty() && !e.untagged)
            && (self.arrays.is_empty() || !self.is_nested())
    }

    pub(crate) fn implied(&self) -> &[Implied] {
        self.extras.as_deref().map_or(&[], |e| &e.implied)
    }

    pub(crate) fn array_filters(&self) -> &[ArrayFilter] {
        self.extras.as_deref().map_or(&[], |e| &e.array_filters)
    }

    /// Whether the path goes through a variant of an untagged enum.
    pub(crate) fn is_untagged(&self) -> bool {
        self.extras.as_deref().is_some_and(|e| e.untagged)
    }

    fn with_dotted(&self, dotted: Cow<'static, str>) -> Self {
        let mut extras = self.extras.clone();
        if let Some(extras) = &mut extras {
            extras.beside.clear();
        }
        RawPath {
            dotted,
            arrays: self.arrays.clone(),
            flat: false,
            skips_null: false,
            mark: Mark::Plain,
            extras,
        }
    }

    /// The path of a field that is left out where it is null.
    pub(super) fn step_without_null(&self, name: &'static str) -> Self {
        RawPath {
            skips_null: true,
            ..self.step(name)
        }
    }

    /// The path of an encrypted field.
    pub(super) fn encrypted(self) -> Self {
        RawPath {
            mark: Mark::Encrypted,
            ..self
        }
    }

    pub(crate) fn mark(&self) -> Mark {
        self.mark
    }

    /// Whether the value is left out where it is null.
    pub(crate) fn skips_null(&self) -> bool {
        self.skips_null
    }

    pub(super) fn step(&self, name: &'static str) -> Self {
        if self.dotted.is_empty() {
            self.with_dotted(Cow::Borrowed(name))
        } else {
            self.step_owned(name)
        }
    }

    pub(super) fn step_owned(&self, name: &str) -> Self {
        let mut dotted = String::with_capacity(self.dotted.len() + 1 + name.len());
        dotted.push_str(&self.dotted);
        if !dotted.is_empty() {
            dotted.push('.');
        }
        dotted.push_str(name);
        self.with_dotted(Cow::Owned(dotted))
    }

    /// An element of the array at this path: its index, or a positional segment.
    pub(super) fn element(&self, segment: &str) -> Self {
        self.step_owned(segment)
    }

    pub(crate) fn filtered(&self, condition: ArrayFilter) -> Self {
        let id = self.array_filters().len();
        let mut next = self.element(&format!("$[f{id}]"));
        next.extras.get_or_insert_default().array_filters.push(condition);
        next
    }

    pub(crate) fn mark_array(mut self) -> Self {
        self.arrays.push(self.dotted.len());
        self
    }

    pub(super) fn implying(&self, name: &'static str, tag: Option<&'static str>) -> Self {
        let key = self.step(name).dotted.into_owned();
        let arrays = self.arrays.len();
        let mut next = self.clone();
        next.extras
            .get_or_insert_default()
            .implied
            .push(Implied { key, tag, arrays });
        next
    }

    pub(super) fn untagged(&self) -> Self {
        let mut next = self.clone();
        next.extras.get_or_insert_default().untagged = true;
        next
    }

    /// The path of a value whose fields are beside those with these names.
    pub(super) fn flattened(&self, names: &'static [&'static [&'static str]]) -> Self {
        let mut next = self.clone();
        next.flat = true;
        next.extras.get_or_insert_default().beside.push(names);
        next
    }

    /// The names of the fields beside a flattened value.
    pub(crate) fn names_beside(&self) -> impl Iterator<Item = &'static str> {
        let beside = self.extras.as_deref().map_or(&[][..], |e| &e.beside);
        beside.iter().copied().flatten().copied().flatten().copied()
    }

    /// The value under a key of the map at this path. [`check_path`] refuses a key that cannot be
    /// part of a path, and one that is the name of a field beside a flattened map.
    pub(super) fn entry(&self, key: &str) -> Self {
        let beside = self.extras.as_deref().map_or(&[][..], |e| &e.beside);
        if beside.iter().copied().flatten().any(|names| names.contains(&key)) {
            self.step_owned(&format!("{OF_FIELD}{key}"))
        } else if key.is_empty() || key.contains('.') || key.starts_with('$') {
            self.step_owned(&format!("{OF_NO_PATH}{key}"))
        } else {
            self.step_owned(key)
        }
    }
}

/// Begins a key that cannot be part of a path. A stored name cannot contain NUL.
const OF_NO_PATH: &str = "\0";
/// Begins a key of a flattened map that is the name of a field.
const OF_FIELD: &str = "\0\0";

/// Rejects paths that have no dotted name. The error is the reason.
pub(crate) fn check_path(path: &RawPath) -> Result<(), String> {
    // A search for a byte costs less than one for a text.
    if path.dotted.as_bytes().contains(&0) {
        let reason = if path.dotted.contains(OF_FIELD) {
            "a key of a flattened map is the name of a field beside the map: use the path of that field"
        } else {
            "a map key that is empty, contains a dot or a NUL, or starts with `$` cannot be part of a path"
        };
        return Err(reason.to_owned());
    }
    if path.flat {
        return Err("a flattened value has no path; use the paths of its fields".to_owned());
    }
    Ok(())
}
