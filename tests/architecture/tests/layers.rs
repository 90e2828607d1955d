//! Which modules may import which.

use std::collections::{BTreeMap, BTreeSet};

use marula_architecture_tests::{Source, imports_of, root_exports, sources_of};

/// The top-level modules of the driver, lowest layer first: a module may import those before it.
const DRIVER: [&str; 13] = [
    "bson",
    "types",
    "error",
    "proto",
    "options",
    "telemetry",
    "connection",
    "pool",
    "topology",
    "operation",
    "execution",
    "api",
    "internals",
];

/// The derives: expand → model → parse → diagnostics.
const MACROS: [&str; 6] = ["case", "symbol", "diagnostics", "parse", "model", "expand"];

/// Modules of re-exports: what macros emit paths into, and what applications import.
const REEXPORTS: [&str; 2] = ["__private_v1", "prelude"];

/// Machines that must not import each other.
const APART: [&str; 5] = ["cmap", "monitoring", "retry", "sdam", "server_selection"];

fn crate_root(sources: &[Source]) -> &Source {
    sources
        .iter()
        .find(|source| source.module.is_empty())
        .expect("a crate has a root")
}

/// Every import between two top-level modules: (from, to, where).
fn crossings(sources: &[Source]) -> Vec<(String, String, String)> {
    let exports = root_exports(crate_root(sources));
    let mut found = Vec::new();
    for source in sources
        .iter()
        .filter(|source| !source.module.is_empty() && !source.is_test())
    {
        for import in imports_of(source) {
            let Some(first) = import.path.first() else {
                continue;
            };
            let to = exports.get(first).unwrap_or(first);
            let from = &source.module[0];
            if to != from {
                found.push((
                    from.clone(),
                    to.clone(),
                    format!("{}:{}", source.path, import.line),
                ));
            }
        }
    }
    found
}

fn upward(folder: &str, layers: &[&str]) -> Vec<String> {
    let level = |module: &str| layers.iter().position(|layer| *layer == module);
    crossings(&sources_of(folder))
        .into_iter()
        .filter(|(from, to, _)| match (level(from), level(to)) {
            (Some(from), Some(to)) => to > from,
            // A module without a layer is an error.
            (None, _) => true,
            (_, None) => false,
        })
        .map(|(from, to, place)| format!("{place}: {from} uses {to}"))
        .collect()
}

#[test]
fn the_driver_imports_downwards_only() {
    assert_eq!(upward("driver/src", &DRIVER), Vec::<String>::new());
}

#[test]
fn the_macros_import_downwards_only() {
    assert_eq!(upward("macros/src", &MACROS), Vec::<String>::new());
}

#[test]
fn every_module_of_the_driver_has_a_layer() {
    let modules: BTreeSet<String> = sources_of("driver/src")
        .into_iter()
        .filter_map(|s| s.module.first().cloned())
        .collect();
    let placed: BTreeSet<String> = DRIVER.iter().map(|module| (*module).to_owned()).collect();
    assert_eq!(modules, placed);
}

#[test]
fn machines_do_not_import_each_other() {
    let mut wrong = Vec::new();
    for source in sources_of("driver/src/proto") {
        let Some(module) = source
            .module
            .first()
            .filter(|module| APART.contains(&module.as_str()))
            .cloned()
        else {
            continue;
        };
        // Here modules count from proto, so paths of the crate begin with "proto".
        for import in imports_of(&source) {
            if let [proto, other, ..] = import.path.as_slice()
                && proto == "proto"
                && *other != module
                && APART.contains(&other.as_str())
            {
                wrong.push(format!("{}:{}: {module} uses {other}", source.path, import.line));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// The modules of `proto` form no cycle, nor do those of the packages that applications depend on.
#[test]
fn no_package_has_a_cycle_of_modules() {
    for folder in ["driver/src", "macros/src", "odm/src"] {
        let edges: BTreeSet<(String, String)> = crossings(&sources_of(folder))
            .into_iter()
            .map(|(from, to, _)| (from, to))
            .filter(|(from, _)| !REEXPORTS.contains(&from.as_str()))
            .collect();
        assert_eq!(cycle(&edges), None, "{folder} has a cycle");
    }
    let proto: BTreeSet<(String, String)> = sources_of("driver/src/proto")
        .iter()
        .filter_map(|source| Some((source.module.first()?.clone(), imports_of(source))))
        .flat_map(|(from, imports)| {
            imports
                .into_iter()
                .filter_map(move |import| match import.path.as_slice() {
                    [proto, to, ..] if proto == "proto" && *to != from => Some((from.clone(), to.clone())),
                    _ => None,
                })
        })
        .collect();
    assert_eq!(cycle(&proto), None, "driver/src/proto has a cycle");
}

/// A cycle among the edges, found by taking away whatever leads nowhere.
fn cycle(edges: &BTreeSet<(String, String)>) -> Option<BTreeSet<String>> {
    let mut left = edges.clone();
    loop {
        let sources: BTreeSet<String> = left.iter().map(|(from, _)| from.clone()).collect();
        let before = left.len();
        left.retain(|(_, to)| sources.contains(to));
        if left.is_empty() {
            return None;
        }
        if left.len() == before {
            return Some(sources);
        }
    }
}

#[test]
fn only_the_api_imports_client_options() {
    let mut seen = BTreeMap::new();
    for source in sources_of("driver/src") {
        for import in imports_of(&source) {
            if import.path.last().is_some_and(|name| name == "ClientOptions") {
                seen.insert(source.path.clone(), import.line);
            }
        }
    }
    let allowed = ["driver/src/api/", "driver/src/internals", "driver/src/options/"];
    seen.retain(|path, _| !allowed.iter().any(|prefix| path.starts_with(prefix)));
    assert_eq!(seen, BTreeMap::new());
}

/// The published packages do not depend on the crate `mongodb`, and the test server depends on no driver.
#[test]
fn packages_depend_on_what_they_may() {
    let manifest = |package: &str| {
        let path = marula_architecture_tests::workspace_root()
            .join(package)
            .join("Cargo.toml");
        std::fs::read_to_string(path).expect("a manifest")
    };
    let names = |text: &str| -> BTreeSet<String> {
        text.lines()
            .filter_map(|line| line.split(['.', ' ', '=']).next())
            .map(str::to_owned)
            .collect()
    };
    for package in [
        "driver",
        "macros",
        "odm",
        "examples",
        "tests/server",
        "tests/driver",
        "tests/odm",
    ] {
        assert!(
            !names(&manifest(package)).contains("mongodb"),
            "{package} depends on the crate mongodb"
        );
    }
    assert!(
        !names(&manifest("tests/server")).contains("marula-driver"),
        "the test server must not depend on the driver"
    );
    assert!(
        !names(&manifest("driver")).contains("marula"),
        "the driver must not depend on the ODM"
    );
}
