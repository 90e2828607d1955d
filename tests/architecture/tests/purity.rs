//! Checks that the state machines in `proto` use no I/O, no clock and no source of randomness, and that
//! each mutex has a rank.

use marula_architecture_tests::{Source, sources_of};
use syn::visit::Visit;

type Paths = &'static [&'static [&'static str]];

/// Paths that a state machine must not use.
const FORBIDDEN: Paths = &[
    &["tokio"],
    &["std", "net"],
    &["std", "thread"],
    &["Instant", "now"],
    &["SystemTime"],
    &["rand"],
    &["RandomState"],
    &["std", "fs"],
];

/// Mutexes without a rank (`driver/src/types/lock.rs`).
const UNRANKED: Paths = &[&["Mutex"], &["RwLock"]];

/// Files that may use one, and why.
const UNRANKED_BY_DESIGN: [(&str, &str); 3] = [
    ("driver/src/types/lock.rs", "defines the ranks"),
    (
        "driver/src/connection/oidc/mod.rs",
        "held while the callback of the application runs: one runs at a time",
    ),
    (
        "odm/src/term/encryption/checks.rs",
        "names the types in implementations of traits",
    ),
];

struct ForbiddenPaths {
    forbidden: Paths,
    found: Vec<(usize, String)>,
}

impl ForbiddenPaths {
    fn check(&mut self, segments: &[String], line: usize) {
        for forbidden in self.forbidden {
            let here = segments
                .windows(forbidden.len())
                .any(|window| window.iter().zip(*forbidden).all(|(a, b)| a == b));
            if here {
                self.found.push((line, forbidden.join("::")));
            }
        }
    }
}

impl<'ast> Visit<'ast> for ForbiddenPaths {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.ident != "tests" {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        if let Some(first) = path.segments.first() {
            self.check(&segments, first.ident.span().start().line);
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_use_path(&mut self, path: &'ast syn::UsePath) {
        self.walk(path, &mut Vec::new());
    }
}

impl ForbiddenPaths {
    fn walk(&mut self, path: &syn::UsePath, prefix: &mut Vec<String>) {
        prefix.push(path.ident.to_string());
        let line = path.ident.span().start().line;
        self.leaves(&path.tree, prefix, line);
        prefix.pop();
    }

    fn leaves(&mut self, tree: &syn::UseTree, prefix: &mut Vec<String>, line: usize) {
        match tree {
            syn::UseTree::Path(path) => self.walk(path, prefix),
            syn::UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|tree| self.leaves(tree, prefix, line)),
            syn::UseTree::Name(name) => {
                self.check(&[prefix.as_slice(), &[name.ident.to_string()]].concat(), line);
            }
            syn::UseTree::Rename(name) => {
                self.check(&[prefix.as_slice(), &[name.ident.to_string()]].concat(), line);
            }
            syn::UseTree::Glob(_) => self.check(prefix, line),
        }
    }
}

fn forbidden_paths(source: &Source, forbidden: Paths) -> Vec<String> {
    let mut paths = ForbiddenPaths {
        forbidden,
        found: Vec::new(),
    };
    paths.visit_file(&source.tree);
    paths
        .found
        .into_iter()
        .map(|(line, what)| format!("{}:{line}: {what}", source.path))
        .collect()
}

#[test]
fn machines_use_no_io_clock_or_randomness() {
    let wrong: Vec<String> = sources_of("driver/src/proto")
        .iter()
        .filter(|source| !source.is_test())
        .flat_map(|source| forbidden_paths(source, FORBIDDEN))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn each_mutex_has_a_rank() {
    let mut sources = sources_of("driver/src");
    sources.extend(sources_of("odm/src"));
    let (exempt, ranked): (Vec<&Source>, Vec<&Source>) = sources
        .iter()
        .filter(|source| !source.is_test())
        .partition(|source| {
            UNRANKED_BY_DESIGN
                .iter()
                .any(|(path, _)| source.path.ends_with(path))
        });
    let wrong: Vec<String> = ranked
        .into_iter()
        .flat_map(|source| forbidden_paths(source, UNRANKED))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(exempt.len(), UNRANKED_BY_DESIGN.len(), "each exemption is needed");
    assert!(
        exempt
            .iter()
            .all(|source| !forbidden_paths(source, UNRANKED).is_empty())
    );
}

#[test]
fn forbidden_paths_are_found() {
    let text = "//! x\nuse std::{net::TcpStream, time::Instant};\nfn f() { let _ = Instant::now(); }\nuse tokio::sync::Notify;";
    let source = Source {
        path: "x".into(),
        module: vec![],
        text: text.into(),
        tree: syn::parse_file(text).expect("Rust"),
    };
    assert_eq!(
        forbidden_paths(&source, FORBIDDEN),
        ["x:2: std::net", "x:3: Instant::now", "x:4: tokio"]
    );
}
