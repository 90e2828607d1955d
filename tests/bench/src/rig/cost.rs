//! `cost`: dependencies, build time and binary size of a program that connects, inserts and finds
//! one document, with this driver, with the ODM, and with the official driver. Linux only.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde::Serialize;

use super::{
    Failure, Paths,
    clients::{cargo, succeed},
    processes::children_seconds,
};

/// Limit of each cost of the driver, relative to that of the official driver.
const MAX_SHARE: f64 = 0.6;

/// Timeout of a build, in seconds.
const MAX_BUILD: u32 = 1200;

/// All optional features of the driver for applications.
const ALL_FEATURES: &str =
    r#""dns", "hickory", "key-password", "rustls", "snappy", "tracing", "zlib", "zstd""#;

/// The costs of a program, or their ratios to the costs of another one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Cost {
    /// Crates in the dependency tree for this platform, including the driver.
    crates: f64,
    /// User and system time of a clean release build, in seconds. Downloads are not included.
    build_seconds: f64,
    /// Size of the stripped executable, in MiB.
    size_mib: f64,
}

/// A program to build.
struct Sample<'a> {
    /// The name in tables.
    title: &'static str,
    /// The package that the program depends on.
    package: &'static str,
    /// The value of the dependency in `Cargo.toml`.
    dependency: String,
    /// The `Cargo.lock` that determines the versions of all dependencies.
    lock: PathBuf,
    /// The text of `main.rs`.
    source: &'a str,
}

const TOKIO: &str = r#"tokio = { version = "1", features = ["macros", "rt-multi-thread"] }"#;
const SERDE: &str = r#"serde = { version = "1", features = ["derive"] }"#;

/// The program with this driver. Those with the ODM and with the official driver differ in names
/// only, which [`run`] replaces.
const DRIVER: &str = r#"use marula_driver::{Client, bson::doc};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
struct Person {
    name: String,
    age: i32,
}

#[tokio::main]
async fn main() -> marula_driver::Result<()> {
    let client = Client::connect("mongodb://localhost").await?;
    let people = client.database("town").collection::<Person>("people");
    people.insert_one(&Person { name: "Ada".into(), age: 36 }).await?;
    println!("{:?}", people.find_one(doc! { "name": "Ada" }).await?);
    Ok(())
}
"#;

/// The costs of one sample, and their ratios to the costs with the official driver.
#[derive(Debug, Serialize)]
struct Row {
    title: &'static str,
    cost: Cost,
    shares: Cost,
}

/// Builds all samples, and prints and writes their costs. Returns `false` if a cost of the driver
/// exceeds its limit.
pub(super) fn run() -> Result<bool, Failure> {
    let paths = Paths::find()?;
    let official_source = DRIVER
        .replace("marula_driver::Result", "mongodb::error::Result")
        .replace("marula_driver", "mongodb")
        .replace("Client::connect", "Client::with_uri_str");
    let odm_source = DRIVER.replace("marula_driver::", "marula::driver::");
    let path = |folder: &str, more: &str| format!("{{ path = {:?}{more} }}", paths.root.join(folder));
    let lock = paths.root.join("Cargo.lock");
    let samples = [
        Sample {
            title: "mongodb 3.9.1",
            package: "mongodb",
            dependency: "\"=3.9.1\"".into(),
            lock: paths.package().join("official/Cargo.lock"),
            source: &official_source,
        },
        Sample {
            title: "marula-driver",
            package: "marula-driver",
            dependency: path("driver", ""),
            lock: lock.clone(),
            source: DRIVER,
        },
        Sample {
            title: "marula",
            package: "marula",
            dependency: path("odm", ""),
            lock: lock.clone(),
            source: &odm_source,
        },
        Sample {
            title: "marula-driver, all features",
            package: "marula-driver",
            dependency: path("driver", &format!(", features = [{ALL_FEATURES}]")),
            lock,
            source: DRIVER,
        },
    ];
    let mut costs = Vec::new();
    for sample in &samples {
        eprint!("{} … ", sample.title);
        let cost = sample.measure(&paths.out.join("cost"))?;
        eprintln!(
            "{} crates, {:.1} s, {:.2} MiB",
            cost.crates, cost.build_seconds, cost.size_mib
        );
        costs.push(cost);
    }
    // The first sample is that of the official driver.
    let official = *costs
        .first()
        .ok_or("the cost of the official driver is missing")?;
    let rows: Vec<Row> = samples
        .iter()
        .zip(costs)
        .map(|(sample, cost)| Row {
            title: sample.title,
            cost,
            shares: cost.share_of(&official),
        })
        .collect();
    let within_limits = rows
        .iter()
        .filter(|row| row.title == "marula-driver")
        .all(|row| row.shares.is_at_most(MAX_SHARE));
    let summary = format!(
        "limit for marula-driver: {:.0} % of each cost of mongodb: {}\n",
        MAX_SHARE * 100.0,
        if within_limits { "ok" } else { "EXCEEDED" }
    );
    let text = format!("{}\n{summary}", table(&rows)?);
    fs::write(paths.out.join("cost.md"), &text)?;
    fs::write(paths.out.join("cost.json"), serde_json::to_string_pretty(&rows)?)?;
    println!(
        "{text}\nwritten to {}",
        paths.out.join("cost.{md,json}").display()
    );
    Ok(within_limits)
}

fn table(rows: &[Row]) -> Result<String, Failure> {
    let mut text = String::from(
        "| connect, insert, find | crates | clean release build, CPU s | stripped program, MiB |\n|---|---:|---:|---:|\n",
    );
    for Row { title, cost, shares } in rows {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        writeln!(
            text,
            "| {title} | {} ({}) | {:.1} ({}) | {:.2} ({}) |",
            cost.crates,
            percent(shares.crates),
            cost.build_seconds,
            percent(shares.build_seconds),
            cost.size_mib,
            percent(shares.size_mib)
        )?;
    }
    Ok(text)
}

impl Sample<'_> {
    /// Builds the program in the folder, which is emptied before and removed afterwards.
    fn measure(&self, folder: &Path) -> Result<Cost, Failure> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder.join("src"))?;
        let manifest = format!(
            "[workspace]\n\n[package]\nname = \"sample\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [profile.release]\nstrip = true\n\n[dependencies]\n{SERDE}\n{TOKIO}\n{} = {}\n",
            self.package, self.dependency
        );
        fs::write(folder.join("Cargo.toml"), manifest)?;
        fs::write(folder.join("src/main.rs"), self.source)?;
        fs::copy(&self.lock, folder.join("Cargo.lock"))?;
        // Downloads all dependencies before the measurement, and removes unused ones from the lock
        // file.
        succeed(cargo().current_dir(folder).args(["fetch", "--quiet"]))?;
        let crates = self.crates(folder)?;
        let before = children_seconds()?;
        let target = folder.join("target");
        let cargo: OsString = cargo().get_program().to_owned();
        // GNU `timeout` also stops the compilers that cargo started.
        let mut build = Command::new("timeout");
        build
            .arg(format!("{MAX_BUILD}s"))
            .arg(cargo)
            .args(["build", "--release", "--quiet", "--target-dir"])
            .arg(&target)
            .current_dir(folder);
        // Variables that the environment sets for other builds.
        for variable in ["CARGO_TARGET_DIR", "CARGO_INCREMENTAL", "RUSTFLAGS"] {
            build.env_remove(variable);
        }
        succeed(&mut build)?;
        let cost = Cost {
            crates,
            build_seconds: children_seconds()? - before,
            size_mib: fs::metadata(target.join("release/sample"))?.len() as f64 / f64::from(1 << 20),
        };
        fs::remove_dir_all(folder)?;
        Ok(cost)
    }

    /// Number of crates that the package depends on, including the package.
    fn crates(&self, folder: &Path) -> Result<f64, Failure> {
        let mut tree = cargo();
        tree.current_dir(folder).args([
            "tree",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ]);
        let output = tree.args(["--package", self.package]).output()?;
        if !output.status.success() {
            return Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(distinct(&String::from_utf8_lossy(&output.stdout)) as f64)
    }
}

/// Number of distinct crates in the output of `cargo tree`. Repeated lines have `(*)` after name
/// and version.
fn distinct(tree: &str) -> usize {
    let name_and_version = |line: &str| {
        line.split_whitespace()
            .take(2)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    tree.lines()
        .map(name_and_version)
        .filter(|line| !line.is_empty())
        .collect::<BTreeSet<_>>()
        .len()
}

impl Cost {
    /// The ratio of each cost to that of another program.
    fn share_of(&self, of: &Self) -> Self {
        Self {
            crates: self.crates / of.crates,
            build_seconds: self.build_seconds / of.build_seconds,
            size_mib: self.size_mib / of.size_mib,
        }
    }

    fn is_at_most(&self, share: f64) -> bool {
        [self.crates, self.build_seconds, self.size_mib]
            .into_iter()
            .all(|reached| reached <= share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_counted_once() {
        let tree = "driver v0.1.0 (/x)\nserde v1.0.0\nserde v1.0.0 (*)\nserde_derive v1.0.0 (proc-macro)\n\nserde v2.0.0\n";
        assert_eq!(distinct(tree), 4);
    }

    #[test]
    fn one_exceeded_limit_is_reported() {
        let cost = |crates, build_seconds, size_mib| Cost {
            crates,
            build_seconds,
            size_mib,
        };
        let official = cost(100.0, 100.0, 10.0);
        let within_limits = |driver: Cost| driver.share_of(&official).is_at_most(MAX_SHARE);
        assert!(within_limits(cost(60.0, 10.0, 1.0)));
        assert!(!within_limits(cost(10.0, 61.0, 1.0)) && !within_limits(cost(10.0, 1.0, 6.1)));
    }

    #[test]
    fn a_row_has_costs_and_ratios() {
        let cost = Cost {
            crates: 90.0,
            build_seconds: 33.3,
            size_mib: 4.5,
        };
        let official = Cost {
            crates: 180.0,
            build_seconds: 66.6,
            size_mib: 9.0,
        };
        let rows = [Row {
            title: "x",
            cost,
            shares: cost.share_of(&official),
        }];
        let text = table(&rows).unwrap();
        assert!(
            text.ends_with("| x | 90 (50 %) | 33.3 (50 %) | 4.50 (50 %) |\n"),
            "{text}"
        );
    }
}
