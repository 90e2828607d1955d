//! Checks the size and the header of every Rust file, and the uses of `cfg`.

use marula_architecture_tests::{sources_of, tracked_files};
use syn::visit::Visit;

const MAX_LINES: usize = 700;

/// Whether the file is a case of trybuild. Cases are minimal and have no header.
fn is_ui_case(path: &str) -> bool {
    path.contains("/fail/") || path.contains("/pass/")
}

#[test]
fn no_file_is_longer_than_700_lines() {
    let long: Vec<String> = tracked_files(&[".rs"])
        .into_iter()
        .map(|file| (file.text.lines().count(), file.path))
        .filter(|(lines, _)| *lines > MAX_LINES)
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    assert_eq!(long, Vec::<String>::new());
}

/// Their manifests say `test = false`: a unit test in them would not run.
#[test]
fn libraries_of_test_packages_have_no_unit_tests() {
    let untested = [
        "tests/analysis/src",
        "tests/architecture/src",
        "tests/bench/src/bin",
        "tests/driver/src",
        "tests/fuzz/src",
        "tests/guide/src",
    ];
    let found: Vec<String> = untested
        .into_iter()
        .flat_map(sources_of)
        .filter(|source| source.text.contains("#[test]") || source.text.contains("#[tokio::test"))
        .map(|source| source.path)
        .collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn every_file_has_a_header() {
    let missing: Vec<String> = tracked_files(&[".rs"])
        .into_iter()
        .filter(|file| !is_ui_case(&file.path) && !file.text.starts_with("//! "))
        .map(|file| file.path)
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}

/// The `cfg` attributes that are not allowed, each with its line.
struct CfgUses {
    found: Vec<(usize, &'static str)>,
    in_function: usize,
}

impl CfgUses {
    fn check(&mut self, attributes: &[syn::Attribute], is_tests_module: bool) {
        for attribute in attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("cfg"))
        {
            let line = attribute.pound_token.span.start().line;
            let text = attribute
                .meta
                .require_list()
                .map(|list| list.tokens.to_string())
                .unwrap_or_default();
            if text == "test" && !is_tests_module {
                self.found
                    .push((line, "cfg(test) on an item other than `mod tests`"));
            }
            if text.contains("feature") && self.in_function > 0 {
                self.found.push((line, "cfg(feature) inside a function"));
            }
        }
    }
}

impl<'ast> Visit<'ast> for CfgUses {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Mod(module) => self.check(&module.attrs, module.ident == "tests"),
            syn::Item::Fn(function) => self.check(&function.attrs, false),
            syn::Item::Use(item) => self.check(&item.attrs, false),
            syn::Item::Impl(item) => self.check(&item.attrs, false),
            syn::Item::Struct(item) => self.check(&item.attrs, false),
            _ => {}
        }
        syn::visit::visit_item(self, item);
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        self.in_function += 1;
        syn::visit::visit_block(self, block);
        self.in_function -= 1;
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        self.check(&local.attrs, false);
        syn::visit::visit_local(self, local);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.check(&function.attrs, false);
        syn::visit::visit_impl_item_fn(self, function);
    }
}

#[test]
fn cfg_is_not_used_inside_functions_or_for_tests() {
    let mut wrong = Vec::new();
    for folder in ["driver/src", "macros/src", "odm/src", "tests/server/src"] {
        for source in sources_of(folder) {
            let mut uses = CfgUses {
                found: Vec::new(),
                in_function: 0,
            };
            uses.visit_file(&source.tree);
            wrong.extend(
                uses.found
                    .into_iter()
                    .map(|(line, what)| format!("{}:{line}: {what}", source.path)),
            );
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
