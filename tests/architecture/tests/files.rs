//! Rules for every file.

use marula_architecture_tests::{Source, sources_of};
use syn::visit::Visit;

const FOLDERS: [&str; 11] = [
    "driver",
    "macros",
    "odm",
    "examples",
    "tests/server",
    "tests/driver",
    "tests/odm",
    "tests/architecture",
    "tests/bench",
    "tests/fuzz/src",
    "tests/spec",
];

/// Files that may be longer, each with its reason.
const LONG: [(&str, &str); 0] = [];

fn all() -> impl Iterator<Item = Source> {
    FOLDERS.into_iter().flat_map(sources_of)
}

/// Compile-fail cases are as short as they can be, and some are about exactly that.
fn is_case(source: &Source) -> bool {
    source.path.contains("/fail/")
}

#[test]
fn no_file_is_longer_than_500_lines() {
    let long: Vec<String> = all()
        .filter(|source| {
            source.text.lines().count() > 500 && LONG.iter().all(|(path, _)| *path != source.path)
        })
        .map(|source| format!("{}: {} lines", source.path, source.text.lines().count()))
        .collect();
    assert_eq!(long, Vec::<String>::new());
}

/// Their manifests say `test = false`: a unit test in them would not run.
#[test]
fn libraries_of_test_packages_have_no_unit_tests() {
    let untested = [
        "tests/architecture/src",
        "tests/bench/src/bin",
        "tests/driver/src",
        "tests/fuzz/src",
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
fn every_file_says_what_it_is_for() {
    let silent: Vec<String> = all()
        .filter(|source| !is_case(source) && !source.text.starts_with("//! "))
        .map(|source| source.path)
        .collect();
    assert_eq!(silent, Vec::<String>::new());
}

struct Habits {
    found: Vec<(usize, &'static str)>,
    in_function: usize,
}

impl Habits {
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
                    .push((line, "cfg(test) on something else than `mod tests`"));
            }
            if text.contains("feature") && self.in_function > 0 {
                self.found.push((line, "a feature cfg inside a function"));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Habits {
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
fn tests_and_features_change_no_code() {
    let mut wrong = Vec::new();
    for folder in ["driver/src", "macros/src", "odm/src", "tests/server/src"] {
        for source in sources_of(folder) {
            let mut habits = Habits {
                found: Vec::new(),
                in_function: 0,
            };
            habits.visit_file(&source.tree);
            wrong.extend(
                habits
                    .found
                    .into_iter()
                    .map(|(line, what)| format!("{}:{line}: {what}", source.path)),
            );
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
