//! The folders of a run, and the builds of the programs.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::suites::{Failure, client::BenchClient};

/// The folders of a run.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The workspace root.
    pub root: PathBuf,
    /// The target folder of this executable.
    target: PathBuf,
    /// The output folder.
    pub out: PathBuf,
}

impl Paths {
    /// Determines the folders from the path of this executable.
    ///
    /// # Errors
    /// If the executable is not in a target folder, or a folder cannot be created.
    pub fn find() -> Result<Self, Failure> {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = package
            .ancestors()
            .nth(2)
            .ok_or("CARGO_MANIFEST_DIR is not in the workspace")?;
        let program = std::env::current_exe()?;
        let target = program
            .ancestors()
            .nth(2)
            .ok_or("the executable is not in a target folder")?;
        let out = target.join("bench");
        fs::create_dir_all(&out)?;
        Ok(Self {
            root: root.to_owned(),
            target: target.to_owned(),
            out,
        })
    }

    /// Builds marula's client and the test server; returns the client and the path of the server.
    ///
    /// # Errors
    /// If cargo fails.
    pub fn build_ours(&self) -> Result<(BenchClient, PathBuf), Failure> {
        self.build(
            &self.root.join("Cargo.toml"),
            &self.target,
            "marula-bench",
            "suite-marula",
        )?;
        let server = "marula-test-server";
        let server = self.build(&self.root.join("Cargo.toml"), &self.target, server, server)?;
        let client = BenchClient {
            name: "marula".to_owned(),
            program: self.target.join("release/suite-marula"),
        };
        Ok((client, server))
    }

    /// Builds the client of the official driver.
    ///
    /// # Errors
    /// If cargo fails.
    pub fn build_official(&self) -> Result<BenchClient, Failure> {
        let manifest = self.root.join("tests/bench/official/Cargo.toml");
        let target = self.out.join("official");
        let program = self.build(&manifest, &target, "marula-bench-official", "suite-official")?;
        let lock = fs::read_to_string(manifest.with_file_name("Cargo.lock"))?;
        let version = locked_version(&lock, "mongodb").ok_or("the lock file has no crate mongodb")?;
        Ok(BenchClient {
            name: format!("official {version}"),
            program,
        })
    }

    fn build(
        &self,
        manifest: &Path,
        target: &Path,
        package: &str,
        program: &str,
    ) -> Result<PathBuf, Failure> {
        let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
        // Variables that cargo sets for the running program are removed: build scripts depend on
        // them and would run again.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_MANIFEST_") || text.starts_with("CARGO_PKG_") {
                build.env_remove(name);
            }
        }
        build.args(["build", "--release", "--quiet", "--locked", "--manifest-path"]);
        build.arg(manifest).args(["--package", package, "--bin", program]);
        let status = build.arg("--target-dir").arg(target).status()?;
        if status.success() {
            Ok(target.join("release").join(program))
        } else {
            Err(format!("{build:?}: {status}").into())
        }
    }
}

fn locked_version(lock: &str, name: &str) -> Option<String> {
    let name = format!("name = \"{name}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    let version = lines.nth(1)?.strip_prefix("version = \"")?;
    Some(version.trim_end_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_stands_below_the_name() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0\"\n\n[[package]]\nname = \"mongodb\"\nversion = \"3.9.1\"\n";
        assert_eq!(locked_version(lock, "mongodb").as_deref(), Some("3.9.1"));
        assert_eq!(locked_version(lock, "b"), None);
    }
}
