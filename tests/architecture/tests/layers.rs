//! Checks the imports between modules and the dependencies between packages.

use std::collections::{BTreeMap, BTreeSet};

use marula_architecture_tests::{Source, imports_of, root_exports, sources_of};

/// The modules of the driver, lowest layer first. A module may import the modules before it.
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

/// The modules of the derives, lowest layer first.
const MACROS: [&str; 10] = [
    "case",
    "code",
    "plain",
    "symbol",
    "diagnostics",
    "parse",
    "model",
    "codec",
    "expand",
    "derive",
];

/// The modules of the ODM, lowest layer first.
const ODM: [&str; 11] = [
    "base", "form", "ast", "path", "values", "term", "models", "document", "query", "schema", "client",
];

/// The folders and files of the layer `query`, lowest first.
const ODM_CALLS: [&str; 10] = [
    "observe",
    "handle",
    "read",
    "write",
    "bulk",
    "aggregate",
    "watch",
    "relation",
    "filtered",
    "collection",
];

/// Modules that only re-export: the paths in generated code, and the prelude of applications.
const REEXPORTS: [&str; 2] = ["__private_v1", "prelude"];

/// State machines that must not import one another.
const INDEPENDENT: [&str; 5] = ["cmap", "monitoring", "retry", "sdam", "server_selection"];

fn crate_root(sources: &[Source]) -> &Source {
    sources
        .iter()
        .find(|source| source.module.is_empty())
        .expect("a crate has a root")
}

/// All imports between two top-level modules: (from, to, file and line).
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
            // A module without a layer.
            (None, _) => true,
            (_, None) => false,
        })
        .map(|(from, to, location)| format!("{location}: {from} uses {to}"))
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
fn the_odm_imports_downwards_only() {
    let mut wrong = upward("odm/src", &ODM);
    wrong.retain(|line| {
        !REEXPORTS
            .iter()
            .any(|module| line.contains(&format!(": {module} uses")))
    });
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_calls_of_the_odm_import_downwards_only() {
    let level = |module: &str| ODM_CALLS.iter().position(|layer| *layer == module);
    let mut wrong = Vec::new();
    for source in sources_of("odm/src/query")
        .iter()
        .filter(|source| !source.is_test())
    {
        // `source.module` is relative to `query`; the paths of imports are relative to the crate.
        let Some(from) = source.module.first() else {
            continue;
        };
        let Some(own) = level(from) else {
            wrong.push(format!("{}: has no layer", source.path));
            continue;
        };
        for import in imports_of(source) {
            if let [query, to, ..] = import.path.as_slice()
                && query == "query"
                && level(to).is_none_or(|to| to > own)
            {
                wrong.push(format!("{}:{}: {from} uses {to}", source.path, import.line));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_module_of_the_odm_has_a_layer() {
    let modules: BTreeSet<String> = sources_of("odm/src")
        .into_iter()
        .filter_map(|s| s.module.first().cloned())
        .filter(|module| !REEXPORTS.contains(&module.as_str()) && module != "guide")
        .collect();
    let layers: BTreeSet<String> = ODM.iter().map(|module| (*module).to_owned()).collect();
    assert_eq!(modules, layers);
}

#[test]
fn every_module_of_the_driver_has_a_layer() {
    let modules: BTreeSet<String> = sources_of("driver/src")
        .into_iter()
        .filter_map(|s| s.module.first().cloned())
        .collect();
    let layers: BTreeSet<String> = DRIVER.iter().map(|module| (*module).to_owned()).collect();
    assert_eq!(modules, layers);
}

#[test]
fn machines_do_not_import_one_another() {
    let mut wrong = Vec::new();
    for source in sources_of("driver/src/proto") {
        let Some(machine) = source
            .module
            .first()
            .filter(|module| INDEPENDENT.contains(&module.as_str()))
            .cloned()
        else {
            continue;
        };
        // `source.module` is relative to `proto`; the paths of imports are relative to the crate.
        for import in imports_of(&source) {
            if let [proto, other, ..] = import.path.as_slice()
                && proto == "proto"
                && *other != machine
                && INDEPENDENT.contains(&other.as_str())
            {
                wrong.push(format!("{}:{}: {machine} uses {other}", source.path, import.line));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Checks the modules of `proto`, and those of the packages that applications depend on.
#[test]
fn modules_form_no_import_cycle() {
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

/// The modules of a cycle, if the edges contain one. Repeatedly removes the edges to modules
/// without outgoing edges.
fn cycle(edges: &BTreeSet<(String, String)>) -> Option<BTreeSet<String>> {
    let mut remaining = edges.clone();
    loop {
        let sources: BTreeSet<String> = remaining.iter().map(|(from, _)| from.clone()).collect();
        let before = remaining.len();
        remaining.retain(|(_, to)| sources.contains(to));
        if remaining.is_empty() {
            return None;
        }
        if remaining.len() == before {
            return Some(sources);
        }
    }
}

#[test]
fn only_the_api_uses_client_options() {
    let mut uses = BTreeMap::new();
    for source in sources_of("driver/src") {
        for import in imports_of(&source) {
            if import.path.last().is_some_and(|name| name == "ClientOptions") {
                uses.insert(source.path.clone(), import.line);
            }
        }
    }
    let allowed = ["driver/src/api/", "driver/src/internals", "driver/src/options/"];
    uses.retain(|path, _| !allowed.iter().any(|prefix| path.starts_with(prefix)));
    assert_eq!(uses, BTreeMap::new());
}

/// Only the benchmarks and the interoperability tests depend on the crate `mongodb`, and the test
/// server and the analysis on no driver.
#[test]
fn packages_have_no_forbidden_dependencies() {
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
        "tests/analysis",
        "tests/driver",
        "tests/odm",
    ] {
        assert!(
            !names(&manifest(package)).contains("mongodb"),
            "{package} must not depend on the crate mongodb"
        );
    }
    for package in ["tests/server", "tests/analysis"] {
        assert!(
            !names(&manifest(package)).contains("marula-driver"),
            "{package} must not depend on the driver"
        );
    }
    assert!(
        !names(&manifest("driver")).contains("marula"),
        "the driver must not depend on the ODM"
    );
}
