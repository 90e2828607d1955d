//! Updates of the fields of enum variants: the conditions that limit them to values of the variant.

use std::borrow::Cow;

use crate::{
    ast::{
        filter::Node,
        update::{Change, Operator, Variant, own_filter},
    },
    base::{
        bson::Bson,
        error::{Error, Result},
    },
    path::RawPath,
};

/// The change of the path as it is sent, with a condition for each variant that the path goes through: inside array
/// elements it is part of the array filter, otherwise it is added to the filter of the update.
pub(super) fn change(operator: Operator, path: &RawPath, operand: Bson) -> Result<Change> {
    let mut change = Change::new(operator, path.name(), operand);
    change.array_filters = path.array_filters().to_vec();
    if path.is_untagged() {
        return Err(Error::update(
            change.path,
            "the enum is untagged, so a stored value does not show which variant it is; set the whole value, or use \
             `Update::raw(..)`",
        ));
    }
    if path.implied().is_empty() {
        return Ok(change);
    }
    let mut segments: Vec<String> = change.path.split('.').map(str::to_owned).collect();
    for implied in path.implied() {
        let key: Vec<&str> = implied.key.split('.').collect();
        let Some(element) = key.iter().rposition(|segment| segment.starts_with('$')) else {
            change.variants.push(Variant {
                path: implied.key.clone(),
                tag: implied.tag,
            });
            continue;
        };
        if key[element] == "$" {
            return Err(Error::update(
                change.path,
                "`$` selects the element that the filter matched, which can be of another variant; use \
                 `.filtered_positional(..)` with the condition of the filter",
            ));
        }
        let condition = Node::leaf(key[element + 1..].join("."), implied.condition());
        match own_filter(&segments[element]) {
            Some(index) => {
                if let Some(Ok(filter)) = change.array_filters.get_mut(index) {
                    *filter = std::mem::replace(filter, Node::Default).and(condition);
                }
            }
            None => {
                segments[element] = format!("$[f{}]", change.array_filters.len());
                change.array_filters.push(Ok(condition));
            }
        }
    }
    change.path = Cow::Owned(segments.join("."));
    Ok(change)
}

/// The variants of all changes, each once.
pub(super) fn all(changes: &mut [Change]) -> Result<Vec<Variant>> {
    let mut variants: Vec<Variant> = Vec::new();
    for change in changes.iter_mut().filter(|change| !change.variants.is_empty()) {
        for variant in std::mem::take(&mut change.variants) {
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
