//! The table agrees with itself and with the README.

use super::*;
use crate::features::{Feature, since};
use std::collections::{BTreeMap, BTreeSet};

const README: &str = include_str!("../../README.md");
const BEGIN: &str = "<!-- The table of src/refusal, written by `MARULA_WRITE=1 cargo test -p marula-test-server refusal`. -->\n";
const END: &str = "<!-- The end of the table. -->\n";

fn table() -> String {
    let mut text = String::new();
    for (subject, rows) in refusals() {
        text.push_str(&format!(
            "\n### {subject}\n\n| refused | code | versions | deployments | source |\n|---|--:|---|---|---|\n"
        ));
        for row in *rows {
            text.push_str(&format!(
                "| {} | {} | {} | {} | {} |\n",
                row.condition, row.code, row.versions, row.deployments, row.source
            ));
        }
    }
    text.push_str(&names());
    text.push('\n');
    text
}

/// The table of names and their first versions.
fn names() -> String {
    let mut text = "\n### Names by version\n\nA server refuses a name that its version does not have as it refuses an unknown name.\n\n".to_owned();
    text.push_str("| kind | code | first versions |\n|---|--:|---|\n");
    let kinds = [
        (Feature::Stage, "aggregation stage", "40324"),
        (Feature::Expression, "expression operator", "168"),
        (Feature::Accumulator, "accumulator", "15952"),
        (Feature::WindowFunction, "window function", "9"),
        (Feature::QueryOperator, "query operator", "2"),
        (Feature::Variable, "system variable", "17276"),
        (Feature::Command, "command", "59"),
    ];
    for (feature, kind, code) in kinds {
        let mut by_version: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (name, first) in since::names(feature) {
            let versions: Vec<String> = first
                .iter()
                .map(|(major, minor, patch)| match patch {
                    0 => format!("{major}.{minor}"),
                    _ => format!("{major}.{minor}.{patch}"),
                })
                .collect();
            by_version.entry(versions.join(", ")).or_default().push(name);
        }
        let listed: Vec<String> = by_version
            .iter()
            .map(|(versions, names)| format!("{versions}: `{}`", names.join("`, `")))
            .collect();
        text.push_str(&format!("| {kind} | {code} | {} |\n", listed.join("; ")));
    }
    text
}

#[test]
fn the_readme_has_the_table() {
    let (before, rest) = README.split_once(BEGIN).unwrap();
    let (found, after) = rest.split_once(END).unwrap();
    let expected = table();
    if std::env::var_os("MARULA_WRITE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
        std::fs::write(path, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(found, expected, "write the table with MARULA_WRITE=1");
}

#[test]
fn ids_are_unique() {
    let rows: Vec<&Refusal> = refusals().iter().flat_map(|(_, rows)| *rows).collect();
    let ids: BTreeSet<&str> = rows.iter().map(|row| row.id).collect();
    assert_eq!(ids.len(), rows.len());
}

#[test]
fn values_are_inserted_in_order_and_not_read_again() {
    let row = Refusal {
        id: "x",
        condition: "",
        code: 2,
        message: "a {} b {} c",
        versions: Versions::between((4, 4), (6, 0)),
        deployments: Deployments::REPLICATED,
        source: "",
    };
    assert_eq!(row.error(&[&"{}", &2]).message, "a {} b 2 c");
    assert!(row.versions.contains(4, 4) && !row.versions.contains(6, 0));
    assert!(row.deployments.contains(Kind::Sharded) && !row.deployments.contains(Kind::Single));
}
