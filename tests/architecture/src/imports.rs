//! Finds the paths of its own crate that a file uses, in `use` items and in expressions, except in
//! `mod tests`.

use std::collections::BTreeMap;

use syn::{UseTree, visit::Visit};

use crate::Source;

/// A path that a file uses, relative to the crate root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Import {
    /// The segments: `["types", "address", "ServerAddress"]`.
    pub path: Vec<String>,
    /// Line number, from 1.
    pub line: usize,
}

/// The paths of its own crate that a file uses.
#[must_use]
pub fn imports_of(source: &Source) -> Vec<Import> {
    let mut visitor = Visitor {
        module: &source.module,
        found: Vec::new(),
    };
    visitor.visit_file(&source.tree);
    visitor.found
}

/// The names that the crate root re-exports, each with the top-level module it comes from.
#[must_use]
pub fn root_exports(root: &Source) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for item in &root.tree.items {
        if let syn::Item::Use(item) = item {
            let mut paths = Vec::new();
            flatten(&item.tree, &mut Vec::new(), &mut paths);
            for path in paths {
                if let (Some(first), Some(last)) = (path.first(), path.last()) {
                    exports.insert(last.clone(), first.clone());
                }
            }
        }
    }
    exports
}

struct Visitor<'a> {
    module: &'a [String],
    found: Vec<Import>,
}

impl Visitor<'_> {
    fn note(&mut self, segments: &[String], line: usize) {
        let Some(first) = segments.first() else { return };
        let path = match first.as_str() {
            "crate" => segments[1..].to_vec(),
            "self" => [self.module, &segments[1..]].concat(),
            "super" => {
                let up = segments.iter().take_while(|segment| *segment == "super").count();
                let kept = self.module.len().saturating_sub(up);
                [&self.module[..kept], &segments[up..]].concat()
            }
            _ => return,
        };
        self.found.push(Import { path, line });
    }
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut paths = Vec::new();
        flatten(&item.tree, &mut Vec::new(), &mut paths);
        let line = item.use_token.span.start().line;
        for path in paths {
            self.note(&path, line);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        if let Some(first) = path.segments.first() {
            self.note(&segments, first.ident.span().start().line);
        }
        syn::visit::visit_path(self, path);
    }
}

fn flatten(tree: &UseTree, prefix: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, paths);
            prefix.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, prefix, paths);
            }
        }
        UseTree::Name(name) if name.ident == "self" => paths.push(prefix.clone()),
        UseTree::Name(name) => paths.push([prefix.as_slice(), &[name.ident.to_string()]].concat()),
        UseTree::Rename(rename) => paths.push([prefix.as_slice(), &[rename.ident.to_string()]].concat()),
        UseTree::Glob(_) => paths.push([prefix.as_slice(), &["*".to_owned()]].concat()),
    }
}

/// Whether the attributes contain `#[cfg(test)]`.
pub(crate) fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|word| word == "test")
    })
}
