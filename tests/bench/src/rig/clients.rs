//! Builds and runs the client programs.

use std::{
    ffi::OsString,
    path::PathBuf,
    process::{Command, Output},
};

use marula_bench_shared::contract::{Arguments, Figures};
use serde::{Deserialize, Serialize};

use super::{Failure, Paths};

/// The kind of a client program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    /// Lower bound: precomputed requests on blocking sockets.
    Blocking,
    /// Lower bound: precomputed requests on tokio's sockets.
    Floor,
    /// The driver of this project.
    Marula,
    /// The ODM of this project.
    Odm,
    /// The official Rust driver.
    Official,
    /// The official C driver.
    Libmongoc,
}

impl Role {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Blocking => "blocking",
            Self::Floor => "floor",
            Self::Marula => "marula",
            Self::Odm => "odm",
            Self::Official => "official",
            Self::Libmongoc => "libmongoc",
        }
    }
}

/// A client program.
#[derive(Clone, Debug)]
pub(super) struct BenchClient {
    pub(super) role: Role,
    /// The version; empty for programs of this project.
    pub(super) version: String,
    pub(super) program: PathBuf,
}

/// Runs a command with inherited output.
pub(super) fn succeed(command: &mut Command) -> Result<(), Failure> {
    let status = command
        .status()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?}: {status}").into())
    }
}

/// The standard output of a command.
pub(super) fn succeeded(command: &mut Command) -> Result<String, Failure> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?}: {}: {}", output.status, stderr.trim()).into())
}

/// The cargo that runs this program, or the one in `PATH`. Variables that cargo sets for the
/// running program are removed: build scripts depend on them, so everything would be rebuilt.
pub(super) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_MANIFEST_") || text.starts_with("CARGO_PKG_") {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// The client programs of this workspace.
#[derive(Clone, Debug)]
pub(super) struct Ours {
    pub(super) blocking: BenchClient,
    pub(super) floor: BenchClient,
    pub(super) driver: BenchClient,
    pub(super) odm: BenchClient,
}

/// Builds the lower bounds, the driver and the ODM with the release profile.
pub(super) fn build_ours(paths: &Paths) -> Result<Ours, Failure> {
    let mut build = cargo();
    build
        .current_dir(&paths.root)
        .args(["build", "--release", "--quiet", "--locked"])
        .args(["--package", "marula-bench"]);
    let mut client = |role, program: &str| {
        build.args(["--bin", program]);
        BenchClient {
            role,
            version: String::new(),
            program: paths.target.join("release").join(program),
        }
    };
    let ours = Ours {
        blocking: client(Role::Blocking, "client-blocking"),
        floor: client(Role::Floor, "client-floor"),
        driver: client(Role::Marula, "client-marula"),
        odm: client(Role::Odm, "client-odm"),
    };
    succeed(build.arg("--target-dir").arg(&paths.target))?;
    Ok(ours)
}

/// Builds the client of the official Rust driver.
pub(super) fn build_official(paths: &Paths) -> Result<BenchClient, Failure> {
    let target = paths.out.join("official");
    let manifest = paths.package().join("official/Cargo.toml");
    let mut build = cargo();
    build
        .args([
            "build",
            "--release",
            "--quiet",
            "--locked",
            "--bin",
            "client-official",
            "--manifest-path",
        ])
        .arg(&manifest);
    succeed(build.arg("--target-dir").arg(&target))?;
    let lock = std::fs::read_to_string(manifest.with_file_name("Cargo.lock"))?;
    Ok(BenchClient {
        role: Role::Official,
        version: locked_version(&lock, "mongodb").ok_or("the lock file has no crate mongodb")?,
        program: target.join("release/client-official"),
    })
}

fn locked_version(lock: &str, name: &str) -> Option<String> {
    let mut lines = lock
        .lines()
        .skip_while(|line| *line != format!("name = \"{name}\""));
    let version = lines.nth(1)?.strip_prefix("version = \"")?;
    Some(version.trim_end_matches('"').to_owned())
}

/// Builds the client of libmongoc. The error is the reason why it cannot be built.
pub(super) fn build_libmongoc(paths: &Paths) -> Result<BenchClient, String> {
    let pkg_config = |library: &str, what: &[&str]| {
        let output = Command::new("pkg-config").args(what).arg(library).output().ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let library = ["mongoc2", "libmongoc-1.0"]
        .into_iter()
        .find(|name| pkg_config(name, &["--exists"]).is_some());
    let library = library.ok_or("pkg-config does not find libmongoc (Debian: libmongoc-dev)")?;
    let flags = pkg_config(library, &["--cflags", "--libs"]).unwrap_or_default();
    let program = paths.out.join("client-libmongoc");
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-std=gnu11", "-Wall", "-o"]).arg(&program);
    compile
        .arg(paths.package().join("libmongoc/client.c"))
        .args(flags.split_whitespace())
        .arg("-pthread");
    succeed(&mut compile).map_err(|error| error.to_string())?;
    Ok(BenchClient {
        role: Role::Libmongoc,
        version: pkg_config(library, &["--modversion"]).unwrap_or_default(),
        program,
    })
}

impl BenchClient {
    /// The name and the version.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.role.name(), self.version)
            .trim_end()
            .to_owned()
    }

    /// Runs the program. `None` if it does not support the task.
    pub(super) fn run(&self, arguments: &Arguments) -> Result<Option<Figures>, Failure> {
        let output = command(&self.program, arguments).output()?;
        let Some(line) = self.accepted(&output)? else {
            return Ok(None);
        };
        Ok(Some(parse(&line)?))
    }

    /// The standard output of the program. `None` if it does not support the task (exit code 3).
    pub(super) fn accepted(&self, output: &Output) -> Result<Option<String>, Failure> {
        match output.status.code() {
            Some(0) => Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned())),
            Some(3) => Ok(None),
            _ => {
                let stderr = String::from_utf8_lossy(&output.stderr);
                Err(format!("{}: {}: {}", self.role.name(), output.status, stderr.trim()).into())
            }
        }
    }
}

/// Parses the JSON line of a program.
fn parse(line: &str) -> Result<Figures, Failure> {
    #[derive(Deserialize)]
    struct Line {
        ops: u64,
        wall_ns: u64,
        cpu_ns: u64,
        peak_kib: u64,
    }
    let line: Line = serde_json::from_str(line)?;
    Ok(Figures {
        ops: line.ops,
        wall_ns: line.wall_ns,
        cpu_ns: line.cpu_ns,
        peak_kib: line.peak_kib,
    })
}

/// A command with the arguments of the contract.
pub(super) fn command(program: impl Into<OsString>, arguments: &Arguments) -> Command {
    let mut command = Command::new(program.into());
    append(&mut command, arguments);
    command
}

/// Adds the arguments of the contract.
pub(super) fn append(command: &mut Command, arguments: &Arguments) {
    command.args(["--uri", &arguments.uri, "--task", arguments.task.name()]);
    command.args([
        "--tasks",
        &arguments.tasks.to_string(),
        "--runtime",
        arguments.runtime.name(),
    ]);
    command.args(["--ops", &arguments.ops.to_string()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_output_is_parsed() {
        let figures = Figures {
            ops: 1,
            wall_ns: 2,
            cpu_ns: 3,
            peak_kib: 4,
        };
        assert_eq!(parse(&figures.to_string()).unwrap(), figures);
        assert!(parse("{}").is_err());
    }

    #[test]
    fn versions_are_read_from_lock_files() {
        let lock = "[[package]]\nname = \"mongo\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"mongodb\"\nversion = \"3.9.1\"\n";
        assert_eq!(locked_version(lock, "mongodb").as_deref(), Some("3.9.1"));
        assert_eq!(locked_version(lock, "other"), None);
    }
}
