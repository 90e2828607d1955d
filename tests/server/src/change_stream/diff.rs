//! The `updateDescription` of update events: the difference between two documents.

use crate::value::identical;
use bson::{Bson, Document, doc};

#[derive(Default)]
struct Diff {
    updated: Document,
    removed: Vec<String>,
    truncated: Vec<Bson>,
    ambiguous: Document,
}

/// A component of a path.
#[derive(Clone)]
enum Component {
    Field(String),
    Index(usize),
}

/// Returns the `updateDescription` of the change from `old` to `new`.
pub(super) fn describe(old: &Document, new: &Document, truncations: bool, disambiguate: bool) -> Document {
    let mut diff = Diff::default();
    diff.documents(&mut Vec::new(), old, new);
    let mut description = doc! { "updatedFields": diff.updated, "removedFields": diff.removed };
    if truncations {
        description.insert("truncatedArrays", diff.truncated);
    }
    if disambiguate {
        description.insert("disambiguatedPaths", diff.ambiguous);
    }
    description
}

impl Diff {
    fn documents(&mut self, path: &mut Vec<Component>, old: &Document, new: &Document) {
        for name in old.keys().filter(|name| !new.contains_key(name.as_str())) {
            path.push(Component::Field(name.clone()));
            let text = self.path_text(path);
            self.removed.push(text);
            path.pop();
        }
        for (name, value) in new {
            path.push(Component::Field(name.clone()));
            match old.get(name) {
                None => self.set(path, value),
                Some(before) => self.values(path, before, value),
            }
            path.pop();
        }
    }

    fn values(&mut self, path: &mut Vec<Component>, old: &Bson, new: &Bson) {
        if identical(old, new) {
            return;
        }
        match (old, new) {
            (Bson::Document(old), Bson::Document(new)) => self.documents(path, old, new),
            (Bson::Array(old), Bson::Array(new)) => self.arrays(path, old, new),
            _ => self.set(path, new),
        }
    }

    fn arrays(&mut self, path: &mut Vec<Component>, old: &[Bson], new: &[Bson]) {
        if new.len() < old.len() {
            let field = self.path_text(path);
            self.truncated.push(Bson::Document(
                doc! { "field": field, "newSize": new.len() as i32 },
            ));
        }
        for (index, value) in new.iter().enumerate() {
            path.push(Component::Index(index));
            match old.get(index) {
                None => self.set(path, value),
                Some(before) => self.values(path, before, value),
            }
            path.pop();
        }
    }

    fn set(&mut self, path: &[Component], value: &Bson) {
        let text = self.path_text(path);
        self.updated.insert(text, value.clone());
    }

    /// Returns the dotted path; adds its components to `disambiguatedPaths` if the text is
    /// ambiguous.
    fn path_text(&mut self, path: &[Component]) -> String {
        let texts: Vec<String> = path
            .iter()
            .map(|component| match component {
                Component::Field(name) => name.clone(),
                Component::Index(index) => index.to_string(),
            })
            .collect();
        let text = texts.join(".");
        let numeric = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        let ambiguous = path
            .iter()
            .any(|component| matches!(component, Component::Field(name) if name.contains('.') || (numeric(name) && path.len() > 1)));
        if ambiguous {
            let components: Vec<Bson> = path
                .iter()
                .map(|component| match component {
                    Component::Field(name) => Bson::String(name.clone()),
                    Component::Index(index) => Bson::Int32(*index as i32),
                })
                .collect();
            self.ambiguous.insert(text.clone(), components);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_nested_changes() {
        let old = doc! {"_id": 1, "a": {"b": 1, "c": 2}, "list": [1, 2, 3], "gone": 1};
        let new = doc! {"_id": 1, "a": {"b": 5, "c": 2}, "list": [1, 9], "new": true};
        let description = describe(&old, &new, true, false);
        assert_eq!(
            description,
            doc! {
                "updatedFields": {"a.b": 5, "list.1": 9, "new": true},
                "removedFields": ["gone"],
                "truncatedArrays": [{"field": "list", "newSize": 2}],
            }
        );
    }

    #[test]
    fn ambiguous_paths_are_disambiguated() {
        let description = describe(
            &doc! {"a": {"1": 1}, "l": [{"1": 1}]},
            &doc! {"a": {"1": 2}, "l": [{"1": 2}]},
            true,
            true,
        );
        assert_eq!(
            description.get_document("disambiguatedPaths").unwrap(),
            &doc! {"a.1": ["a", "1"], "l.0.1": ["l", 0, "1"]}
        );
    }
}
