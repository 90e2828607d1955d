//! Checks rules of style that neither rustc nor clippy checks.

use std::collections::BTreeSet;

use marula_architecture_tests::{sources_of, tracked_files};
use syn::visit::Visit;

/// Lints that find unused or undocumented items. `#[expect(…, reason = "…")]` on an item is
/// allowed.
const NEVER_ALLOWED: [&str; 7] = [
    "dead_code",
    "missing_docs",
    "unreachable_pub",
    "unused",
    "unused_imports",
    "warnings",
    "clippy::all",
];

/// The lints in the `allow(…)` attributes of a text, each with its line.
fn allowed_lints(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices("allow(") {
        let before = text[..start].chars().next_back();
        if !matches!(before, Some('[' | ' ' | ',' | '(')) {
            continue;
        }
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        if text[line_start..start].contains("//") {
            continue;
        }
        let line = text[..start].matches('\n').count() + 1;
        let list = text[start + "allow(".len()..]
            .split([')', '"'])
            .next()
            .unwrap_or_default();
        let lints = list
            .split(',')
            .map(str::trim)
            .filter(|lint| !lint.is_empty() && !lint.contains('='));
        found.extend(lints.map(|lint| (line, lint.to_owned())));
    }
    found
}

/// Attributes that cannot be `expect`: (path, lint or all of them, reason).
const PERMITTED: [(&str, &str, &str); 3] = [
    (
        "driver/src/lib.rs",
        "unreachable_pub",
        "checked in the build with `internals`, where the items are public",
    ),
    ("macros/src/code.rs", "", "part of the generated code"),
    (
        "tests/odm/tests/operations/ids.rs",
        "dead_code",
        "in a macro, and only some of its expansions use the function",
    ),
];

fn is_permitted(path: &str, lint: &str) -> bool {
    PERMITTED
        .iter()
        .any(|(file, name, _)| *file == path && (name.is_empty() || *name == lint))
}

#[test]
fn lints_for_unused_items_are_not_allowed() {
    let mut wrong = Vec::new();
    // This file contains the attributes that it looks for.
    let files = tracked_files(&[".rs"]);
    for file in files
        .iter()
        .filter(|file| !file.path.ends_with("architecture/tests/style.rs"))
    {
        for (line, lint) in allowed_lints(&file.text) {
            if NEVER_ALLOWED.contains(&lint.as_str()) && !is_permitted(&file.path, &lint) {
                wrong.push(format!(
                    "{}:{line}: allow({lint}): delete the item, or use #[expect({lint}, reason = \"…\")] on it",
                    file.path
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn allow_attributes_are_found() {
    let text = "#![allow(dead_code)]\n// #[allow(unused)]\n#[cfg_attr(test, allow(a::b, c, reason = \"x\"))]\nfn allow(x: u8) {}";
    let found: Vec<(usize, String)> = allowed_lints(text)
        .into_iter()
        .filter(|(line, _)| *line < 4)
        .collect();
    let expected = [(1, "dead_code"), (3, "a::b"), (3, "c")];
    assert_eq!(found, expected.map(|(line, lint)| (line, lint.to_owned())));
}

#[test]
fn a_module_has_one_file() {
    let files: BTreeSet<String> = tracked_files(&[".rs"])
        .into_iter()
        .map(|file| file.path)
        .collect();
    let twice: Vec<&String> = files
        .iter()
        .filter(|path| files.contains(&format!("{}/mod.rs", path.trim_end_matches(".rs"))))
        .collect();
    assert_eq!(twice, Vec::<&String>::new());
}

/// Lines with `Result<_, String>`.
struct TextErrors {
    lines: Vec<usize>,
}

fn is_string(argument: &syn::GenericArgument) -> bool {
    matches!(argument, syn::GenericArgument::Type(syn::Type::Path(ty)) if ty.path.is_ident("String"))
}

impl<'ast> Visit<'ast> for TextErrors {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.ident != "tests" {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        if let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments
            && segment.ident == "Result"
            && arguments.args.get(1).is_some_and(is_string)
        {
            self.lines.push(segment.ident.span().start().line);
        }
        syn::visit::visit_path_segment(self, segment);
    }
}

#[test]
fn errors_of_the_driver_are_types() {
    let mut wrong = Vec::new();
    for source in sources_of("driver/src").iter().filter(|source| !source.is_test()) {
        let mut errors = TextErrors { lines: Vec::new() };
        errors.visit_file(&source.tree);
        wrong.extend(
            errors
                .lines
                .iter()
                .map(|line| format!("{}:{line}: Result<_, String>: use an enum", source.path)),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_codec_does_not_compare_type_names() {
    let wrong: Vec<String> = tracked_files(&[".rs"])
        .iter()
        .filter(|file| file.path.starts_with("driver/src/bson/") && file.text.contains("type_name::<"))
        .map(|file| file.path.clone())
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

/// The lines of private imports from the crate after the first one of a module. Imports with attributes do not count.
fn repeated_imports(items: &[syn::Item], found: &mut Vec<usize>) {
    let mut is_first = true;
    for item in items {
        match item {
            syn::Item::Use(item)
                if item.attrs.is_empty()
                    && matches!(item.vis, syn::Visibility::Inherited)
                    && matches!(&item.tree, syn::UseTree::Path(path) if path.ident == "crate") =>
            {
                found.extend((!is_first).then(|| item.use_token.span.start().line));
                is_first = false;
            }
            syn::Item::Mod(module) => {
                if let Some((_, items)) = &module.content {
                    repeated_imports(items, found);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn a_module_imports_from_its_crate_by_one_item() {
    let mut wrong = Vec::new();
    for folder in ["driver/src", "macros/src", "odm/src"] {
        for source in sources_of(folder)
            .iter()
            .filter(|source| !source.module.is_empty())
        {
            let mut lines = Vec::new();
            repeated_imports(&source.tree.items, &mut lines);
            wrong.extend(
                lines
                    .iter()
                    .map(|line| format!("{}:{line}: use one nested `use crate::{{..}}`", source.path)),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn repeated_imports_are_found() {
    let file = syn::parse_file(
        "use crate::a;\nuse std::fmt;\n#[cfg(unix)]\nuse crate::b;\npub use crate::c;\nuse crate::d;\nmod tests {\n    use crate::e;\n    use crate::f;\n}",
    )
    .expect("the text parses");
    let mut lines = Vec::new();
    repeated_imports(&file.items, &mut lines);
    assert_eq!(lines, [6, 9]);
}
