//! The changes of one update: their array filters are numbered, and they do not conflict.

use std::borrow::Cow;
use std::collections::HashSet;

use super::change::{ArrayFilter, Change};
use super::operator::{Operator, When};
use crate::{
    ast::{
        filter::{Keys, Node},
        path::is_within,
        sink::{Documents, Sink, to_bytes},
    },
    base::{
        bson::{Bson, Document, EncodeError, RawDocumentBuf},
        error::{Error, Result},
    },
};

/// Changes of different fields.
#[derive(Clone, Debug)]
pub(crate) struct Operators {
    changes: Vec<Change>,
    filters: Vec<NumberedFilter>,
    /// Whether a path has a positional segment.
    is_positional: bool,
}

/// An array filter: the path of its array, its condition, its identifier.
#[derive(Clone, Debug)]
struct NumberedFilter {
    array: String,
    condition: Node,
    id: String,
}

impl Operators {
    /// Numbers the array filters of the changes.
    ///
    /// # Errors
    /// Two changes conflict; a path or an array filter is invalid.
    pub(crate) fn new(mut changes: Vec<Change>) -> Result<Self> {
        let mut filters = Vec::new();
        let mut is_positional = false;
        for change in &mut changes {
            if !change.array_filters.is_empty() {
                let own = std::mem::take(&mut change.array_filters);
                change.path = Cow::Owned(numbered_path(&change.path, &own, &mut filters)?);
            }
            for target in change.targets() {
                is_positional |= check_path(target)?;
            }
        }
        check_conflicts(&changes)?;
        Ok(Operators {
            changes,
            filters,
            is_positional,
        })
    }

    /// An update that changes no stored document, and does not insert. Before MongoDB 5.0 servers
    /// reject an operator without fields.
    pub(crate) fn unchanged() -> Self {
        Operators {
            changes: vec![Change::new(Operator::SetOnInsert, "_id", Bson::Null)],
            filters: Vec::new(),
            is_positional: false,
        }
    }

    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The paths that change.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &str> {
        self.changes.iter().flat_map(Change::targets)
    }

    /// The paths with the positional `$`, and the number of segments before it.
    pub(crate) fn positional(&self) -> impl Iterator<Item = (&str, usize)> {
        let targets = self.is_positional.then(|| self.targets());
        targets.into_iter().flatten().filter_map(|target| {
            let at = target.split('.').position(|segment| segment == "$")?;
            Some((target, at))
        })
    }

    /// Whether every change is one of inserted documents.
    pub(crate) fn only_insert(&self) -> bool {
        self.changes
            .iter()
            .all(|change| change.operator.row().when == When::OnInsert)
    }

    /// Adds a change of a field, unless the field changes already.
    pub(crate) fn add(&mut self, operator: Operator, field: &'static str, operand: Bson) {
        if !self.targets().any(|target| target == field) {
            self.changes.push(Change::new(operator, field, operand));
        }
    }

    /// Writes the operators into a document that was begun, in the order of their first use.
    pub(crate) fn encode<S: Sink>(&self, to: &mut S) {
        for (at, first) in self.changes.iter().enumerate() {
            let of_operator = |change: &&Change| change.operator == first.operator;
            if self.changes[..at].iter().any(|change| of_operator(&change)) {
                continue;
            }
            let fields = to.begin_document(first.operator.sent());
            for change in self.changes[at..].iter().filter(of_operator) {
                to.value(&change.path, &change.operand);
            }
            to.end(fields);
        }
    }

    pub(crate) fn to_document(&self) -> Document {
        Documents::of(|to| self.encode(to))
    }

    pub(crate) fn to_bytes(&self) -> Result<RawDocumentBuf, EncodeError> {
        to_bytes(|to| self.encode(to))
    }

    /// One filter for each identifier, in the order of `f0`, `f1` ….
    pub(crate) fn array_filters(&self) -> Vec<Document> {
        self.filters
            .iter()
            .map(|filter| filter.condition.to_document_of(Keys::Under(&filter.id)))
            .collect()
    }
}

/// The number in `$[f0]`, `$[f1]` ….
pub(crate) fn own_filter(segment: &str) -> Option<usize> {
    segment.strip_prefix("$[f")?.strip_suffix(']')?.parse().ok()
}

/// The path with identifiers that are unique in the update. Equal conditions on the same array get
/// the same identifier, so that paths can be compared.
fn numbered_path(path: &str, own: &[ArrayFilter], filters: &mut Vec<NumberedFilter>) -> Result<String> {
    let mut numbered = String::new();
    for segment in path.split('.') {
        let condition = own_filter(segment).and_then(|number| own.get(number));
        let id = condition
            .map(|condition| identifier(&numbered, condition, filters))
            .transpose()?;
        if !numbered.is_empty() {
            numbered.push('.');
        }
        match id {
            None => numbered.push_str(segment),
            Some(id) => numbered.extend(["$[", id, "]"]),
        }
    }
    Ok(numbered)
}

/// The identifier of a condition on the elements of the array.
fn identifier<'f>(
    array: &str,
    condition: &ArrayFilter,
    filters: &'f mut Vec<NumberedFilter>,
) -> Result<&'f str> {
    let condition = condition
        .as_ref()
        .map_err(|e| Error::update(array, e.to_string()))?;
    if condition.is_empty() {
        return Err(Error::update(
            array,
            "the array filter has no condition; to change all elements use `all_positional()`",
        ));
    }
    if let Some(operator) = condition.operator_beside_fields() {
        return Err(Error::update(
            array,
            format!("`{operator}` cannot be used in an array filter"),
        ));
    }
    let known = filters
        .iter()
        .position(|filter| filter.array == array && filter.condition.is_same(condition));
    let at = known.unwrap_or_else(|| {
        filters.push(NumberedFilter {
            array: array.to_owned(),
            condition: condition.clone(),
            id: format!("f{}", filters.len()),
        });
        filters.len() - 1
    });
    Ok(&filters[at].id)
}

/// Checks a path that changes. Returns whether it has a positional segment.
fn check_path(path: &str) -> Result<bool> {
    if path.is_empty() {
        return Err(Error::update(
            "",
            "the whole document cannot be the target of an update operator; update its fields or replace it",
        ));
    }
    let is_positional = path.as_bytes().contains(&b'$');
    if is_positional && path.split('.').filter(|segment| *segment == "$").count() > 1 {
        return Err(Error::update(path, "a path can contain only one positional `$`"));
    }
    Ok(is_positional)
}

/// Up to this number, paths are compared in pairs.
const PAIRS: usize = 8;

/// Rejects two operators on one field, or on a field and a part of it, as the server does with
/// ConflictingUpdateOperators.
fn check_conflicts(changes: &[Change]) -> Result<()> {
    let conflict = if changes.len() <= PAIRS {
        conflict_in_pairs(changes)
    } else {
        conflict_in_set(|| changes.iter().flat_map(Change::targets))
    };
    let Some((shorter, longer)) = conflict else {
        return Ok(());
    };
    let reason = if shorter == longer {
        "two operators change this field".to_owned()
    } else {
        format!("another operator changes `{longer}`, which is a part of this field")
    };
    Err(Error::update(shorter, reason))
}

/// Loops, because nested iterators cost more than the comparisons. A change has at most two targets.
fn conflict_in_pairs(changes: &[Change]) -> Option<(&str, &str)> {
    let (mut targets, mut len) = ([""; 2 * PAIRS], 0);
    for change in changes {
        for path in change.targets() {
            for other in &targets[..len] {
                if is_within(path, other) {
                    return Some((other, path));
                }
                if is_within(other, path) {
                    return Some((path, other));
                }
            }
            targets[len] = path;
            len += 1;
        }
    }
    None
}

fn conflict_in_set<'a, I: Iterator<Item = &'a str>>(targets: impl Fn() -> I) -> Option<(&'a str, &'a str)> {
    let mut all = HashSet::new();
    if let Some(twice) = targets().find(|path| !all.insert(*path)) {
        return Some((twice, twice));
    }
    targets().find_map(|path| {
        let mut ends = path.match_indices('.').map(|(end, _)| end);
        ends.find_map(|end| all.get(&path[..end]))
            .map(|outer| (*outer, path))
    })
}
