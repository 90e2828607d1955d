//! Updates of the fields of enum variants: the conditions that limit them to values of the variant.

use crate::ast::filter::{Node, Op};
use crate::error::{Error, Result};
use crate::path::{ArrayFilter, Implied, RawPath};
use crate::update::Operation;

/// The variant that a stored value must have for an update of its fields to apply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variant {
    /// The path of the tag, or of the content of an externally tagged variant.
    pub(crate) path: String,
    /// The tag; `None` for an externally tagged variant.
    pub(crate) tag: Option<&'static str>,
}

impl Variant {
    fn of(implied: &Implied) -> Self {
        Variant {
            path: implied.key.clone(),
            tag: implied.tag,
        }
    }
}

/// The target of an operation, and the conditions that its path implies.
pub(super) struct Target {
    pub(super) path: String,
    pub(super) array_filters: Vec<ArrayFilter>,
    pub(super) variants: Vec<Variant>,
}

/// The path as it is sent, and a condition for each variant that it goes through: inside array
/// elements it is part of the array filter, otherwise it is added to the filter of the update.
pub(super) fn target(path: &RawPath) -> Result<Target> {
    let mut target = Target {
        path: path.dotted().to_owned(),
        array_filters: path.array_filters().to_vec(),
        variants: Vec::new(),
    };
    if path.is_untagged() {
        return Err(Error::update(
            target.path,
            "the enum is untagged, so a stored value does not show which variant it is; set the whole value, or use \
             `Update::raw(..)`",
        ));
    }
    if path.implied().is_empty() {
        return Ok(target);
    }
    let mut segments: Vec<String> = target.path.split('.').map(str::to_owned).collect();
    for implied in path.implied() {
        let key: Vec<&str> = implied.key.split('.').collect();
        let Some(element) = key.iter().rposition(|segment| segment.starts_with('$')) else {
            target.variants.push(Variant::of(implied));
            continue;
        };
        if key[element] == "$" {
            return Err(Error::update(
                target.path,
                "`$` selects the element that the filter matched, which can be of another variant; use \
                 `.filtered_positional(..)` with the condition of the filter",
            ));
        }
        let condition = Node::leaf(key[element + 1..].join("."), implied.condition());
        match own_filter(&segments[element]) {
            Some(index) => {
                if let Some(Ok(filter)) = target.array_filters.get_mut(index) {
                    *filter = std::mem::replace(filter, Node::Default).and(condition);
                }
            }
            None => {
                segments[element] = format!("$[f{}]", target.array_filters.len());
                target.array_filters.push(Ok(condition));
            }
        }
    }
    target.path = segments.join(".");
    Ok(target)
}

/// The number in `$[f0]`, `$[f1]` ….
pub(super) fn own_filter(segment: &str) -> Option<usize> {
    segment.strip_prefix("$[f")?.strip_suffix(']')?.parse().ok()
}

/// The variants of all operations, each once.
pub(super) fn all(operations: &mut [Operation]) -> Result<Vec<Variant>> {
    let mut variants: Vec<Variant> = Vec::new();
    for operation in operations {
        for variant in std::mem::take(&mut operation.variants) {
            let at_this_path = variants.iter().find(|v| v.path == variant.path);
            match at_this_path {
                None => variants.push(variant),
                Some(known) if *known == variant => {}
                Some(_) => {
                    return Err(Error::update(
                        variant.path,
                        "the update changes fields of two variants of one enum; a value has only one variant",
                    ));
                }
            }
        }
    }
    Ok(variants)
}

/// The condition that all values have these variants.
pub(crate) fn conditions(variants: Vec<Variant>) -> Node {
    let condition = |variant: Variant| {
        let op = match variant.tag {
            Some(tag) => Op::Eq(tag.into()),
            None => Op::Exists(true),
        };
        Node::leaf(variant.path, op)
    };
    Node::document(variants.into_iter().map(condition).collect())
}
