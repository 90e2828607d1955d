//! The untyped part of a path: what is sent, and the conditions that travel along with it.

use std::borrow::Cow;

use crate::bson::{Document, doc};

/// The untyped part of a path: what is sent, and what travels along with it.
#[derive(Clone, Debug, Default)]
pub struct RawPath {
    dotted: Cow<'static, str>,
    /// Lengths of those prefixes of `dotted` that are arrays of which no element is named.
    arrays: Vec<usize>,
    /// Whether this is the path of an outer document, and stands for some of its fields only.
    flat: bool,
    extras: Option<Box<Extras>>,
}

#[derive(Clone, Debug, Default)]
struct Extras {
    /// Conditions that hold for the path to exist: the enum variants that it goes through.
    implied: Vec<Implied>,
    /// Conditions of the filtered positional segments `$[f0]`, `$[f1]` …, relative to their element.
    array_filters: Vec<Document>,
    /// Whether the path goes through a variant that is stored without a tag.
    untagged: bool,
}

/// The variant of an enum that a path goes through.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Implied {
    /// The path of the tag, or of the content of a variant that is stored under its own name.
    pub(crate) key: String,
    /// The tag; none for a variant that is stored under its own name.
    pub(crate) tag: Option<&'static str>,
    /// The length of the innermost array around the enum, if there is one.
    pub(crate) array: Option<usize>,
}

impl Implied {
    /// The operators that a value of the variant fulfils at the key.
    pub(crate) fn condition(&self) -> Document {
        match self.tag {
            Some(tag) => doc! { "$eq": tag },
            None => doc! { "$exists": true },
        }
    }
}

impl RawPath {
    /// The path as it is sent, such as `lines.0.sku`; empty for the root.
    #[must_use]
    pub fn dotted(&self) -> &str {
        &self.dotted
    }

    /// The path as a key, without a copy where it is one name.
    pub(crate) fn name(&self) -> Cow<'static, str> {
        self.dotted.clone()
    }

    /// The prefixes that are arrays and that no index or positional segment follows, outermost first.
    pub fn array_prefixes(&self) -> impl Iterator<Item = &str> {
        self.arrays.iter().map(|len| &self.dotted[..*len])
    }

    /// The length of the innermost of [`array_prefixes`](RawPath::array_prefixes).
    pub(crate) fn innermost_array(&self) -> Option<usize> {
        self.arrays.last().copied()
    }

    pub(crate) fn implied(&self) -> &[Implied] {
        self.extras.as_deref().map_or(&[], |e| &e.implied)
    }

    pub(crate) fn array_filters(&self) -> &[Document] {
        self.extras.as_deref().map_or(&[], |e| &e.array_filters)
    }

    /// Whether the path goes through a variant that is stored without a tag.
    pub(crate) fn is_untagged(&self) -> bool {
        self.extras.as_deref().is_some_and(|e| e.untagged)
    }

    fn with_dotted(&self, dotted: Cow<'static, str>) -> Self {
        RawPath {
            dotted,
            arrays: self.arrays.clone(),
            flat: false,
            extras: self.extras.clone(),
        }
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
        let mut next = self.step_owned(segment);
        if next.arrays.last() == Some(&self.dotted.len()) {
            next.arrays.pop();
        }
        next
    }

    pub(crate) fn filtered(&self, condition: Document) -> Self {
        let id = self.array_filters().len();
        let mut next = self.element(&format!("$[f{id}]"));
        next.extras.get_or_insert_default().array_filters.push(condition);
        next
    }

    pub(crate) fn mark_array(mut self) -> Self {
        if self.arrays.last() != Some(&self.dotted.len()) {
            self.arrays.push(self.dotted.len());
        }
        self
    }

    pub(super) fn implying(&self, name: &'static str, tag: Option<&'static str>) -> Self {
        let key = self.step(name).dotted.into_owned();
        let array = self.innermost_array();
        let mut next = self.clone();
        next.extras
            .get_or_insert_default()
            .implied
            .push(Implied { key, tag, array });
        next
    }

    pub(super) fn untagged(&self) -> Self {
        let mut next = self.clone();
        next.extras.get_or_insert_default().untagged = true;
        next
    }

    pub(super) fn flattened(&self) -> Self {
        let mut next = self.clone();
        next.flat = true;
        next
    }
}

/// The reason why a path cannot be sent, if there is one.
pub(crate) fn check_path(path: &RawPath) -> Result<(), String> {
    if path.dotted.contains('\0') {
        return Err(
            "a map key that is empty, holds a dot or a NUL, or starts with `$` has no path".to_owned(),
        );
    }
    if path.flat {
        return Err(
            "the fields of a flattened value stand among others: it has no value of its own".to_owned(),
        );
    }
    Ok(())
}
