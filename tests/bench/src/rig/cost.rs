//! `cost`: what a program that inserts and finds one document costs to build, on our driver and on the official one.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use super::{
    Failure, Places,
    contestants::{cargo, succeed},
};

/// Of each of the official driver's costs, ours may be this share.
const SHARE: f64 = 0.6;

/// What a program costs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    /// Crates in the default tree of this machine, the driver's own among them.
    crates: f64,
    /// User and system time of a clean release build.
    build_seconds: f64,
    /// The stripped program, in MiB.
    size_mib: f64,
}

/// A program that is built: its dependency as `Cargo.toml` names it, and its text.
struct Sample<'a> {
    name: &'static str,
    dependency: String,
    lock: PathBuf,
    source: &'a str,
}

const TOKIO: &str = r#"tokio = { version = "1", features = ["macros", "rt-multi-thread"] }"#;
const SERDE: &str = r#"serde = { version = "1", features = ["derive"] }"#;

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

/// Builds both programs and prints their costs. False when one of ours is too high.
pub(super) fn run() -> Result<bool, Failure> {
    let places = Places::find()?;
    let official_source = DRIVER
        .replace("marula_driver::Result", "mongodb::error::Result")
        .replace("marula_driver", "mongodb")
        .replace("Client::connect", "Client::with_uri_str");
    let odm_source = DRIVER.replace("marula_driver::", "marula::driver::");
    let path = |folder: &str| format!("{{ path = {:?} }}", places.root.join(folder));
    let samples = [
        Sample {
            name: "marula-driver",
            dependency: path("driver"),
            lock: places.root.join("Cargo.lock"),
            source: DRIVER,
        },
        Sample {
            name: "marula",
            dependency: path("odm"),
            lock: places.root.join("Cargo.lock"),
            source: &odm_source,
        },
        Sample {
            name: "mongodb",
            dependency: "\"=3.9.1\"".into(),
            lock: places.package().join("official/Cargo.lock"),
            source: &official_source,
        },
    ];
    println!(
        "| default features | crates | clean release build, CPU s | stripped program, MiB |\n|---|---:|---:|---:|"
    );
    let mut costs = Vec::new();
    for sample in &samples {
        let cost = sample.measure(&places.out.join("cost").join(sample.name))?;
        println!(
            "| {} | {} | {:.0} | {:.2} |",
            sample.name, cost.crates, cost.build_seconds, cost.size_mib
        );
        costs.push(cost);
    }
    let [driver, odm, official] = costs.try_into().map_err(|_| "a sample is missing")?;
    driver.share_of(&official, "marula-driver");
    odm.share_of(&official, "marula");
    let holds = driver.at_most(&official, SHARE);
    println!(
        "marula-driver may cost {:.0} % of mongodb in each: {}",
        SHARE * 100.0,
        if holds { "ok" } else { "PASSED" }
    );
    Ok(holds)
}

impl Sample<'_> {
    fn measure(&self, folder: &Path) -> Result<Cost, Failure> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder.join("src"))?;
        let manifest = format!(
            "[workspace]\n\n[package]\nname = \"sample\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
             [profile.release]\nstrip = true\n\n[dependencies]\n{SERDE}\n{TOKIO}\n{} = {}\n",
            self.name, self.dependency
        );
        fs::write(folder.join("Cargo.toml"), manifest)?;
        fs::write(folder.join("src/main.rs"), self.source)?;
        fs::copy(&self.lock, folder.join("Cargo.lock"))?;
        // Everything is there before the clock starts; the lock file loses what the sample does not use.
        succeed(cargo().current_dir(folder).args(["fetch", "--quiet"]))?;
        let crates = self.crates(folder)?;
        let before = children_seconds()?;
        let target = folder.join("target");
        let mut build = cargo();
        build
            .current_dir(folder)
            .env_remove("CARGO_TARGET_DIR")
            .env_remove("RUSTFLAGS");
        succeed(
            build
                .args(["build", "--release", "--quiet", "--target-dir"])
                .arg(&target),
        )?;
        let cost = Cost {
            crates,
            build_seconds: children_seconds()? - before,
            size_mib: fs::metadata(target.join("release/sample"))?.len() as f64 / f64::from(1 << 20),
        };
        fs::remove_dir_all(folder)?;
        Ok(cost)
    }

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
        let output = tree.args(["--package", self.name]).output()?;
        if !output.status.success() {
            return Err(format!("cargo tree: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(distinct(&String::from_utf8_lossy(&output.stdout)) as f64)
    }
}

/// How many crates the lines name; later mentions of one have a remark behind its name and version.
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

/// User and system time of all processes that this one has started and that have ended, and of theirs.
fn children_seconds() -> Result<f64, Failure> {
    // Linux counts them in hundredths of seconds on every architecture that Rust's tools run on.
    const TICKS: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field is the program's name in brackets, and may hold anything.
    let (_, rest) = stat
        .rsplit_once(") ")
        .ok_or("/proc/self/stat is not understood")?;
    let field = |n: usize| {
        rest.split_whitespace()
            .nth(n)
            .and_then(|field| field.parse::<f64>().ok())
    };
    let (user, system) = field(13)
        .zip(field(14))
        .ok_or("/proc/self/stat is not understood")?;
    Ok((user + system) / TICKS)
}

impl Cost {
    fn shares(&self, of: &Self) -> [f64; 3] {
        [
            self.crates / of.crates,
            self.build_seconds / of.build_seconds,
            self.size_mib / of.size_mib,
        ]
    }

    fn share_of(&self, official: &Self, name: &str) {
        let [crates, build, size] = self.shares(official).map(|share| share * 100.0);
        println!(
            "{name}: {crates:.0} % of mongodb's crates, {build:.0} % of its build, {size:.0} % of its size"
        );
    }

    fn at_most(&self, official: &Self, share: f64) -> bool {
        self.shares(official).into_iter().all(|reached| reached <= share)
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
    fn one_cost_too_high_is_enough() {
        let cost = |crates, build_seconds, size_mib| Cost {
            crates,
            build_seconds,
            size_mib,
        };
        let official = cost(100.0, 100.0, 10.0);
        assert!(cost(60.0, 10.0, 1.0).at_most(&official, SHARE));
        assert!(!cost(10.0, 61.0, 1.0).at_most(&official, SHARE));
    }

    #[test]
    fn the_time_of_children_is_read() {
        assert!(children_seconds().unwrap() >= 0.0);
    }
}
