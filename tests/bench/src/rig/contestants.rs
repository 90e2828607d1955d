//! The client programs: how they are built and run.

use std::{
    ffi::OsString,
    path::PathBuf,
    process::{Command, Output},
};

use marula_bench_shared::contract::{Arguments, Figures};
use serde::{Deserialize, Serialize};

use super::{Failure, Places};

/// What a client program stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    /// Bytes on blocking sockets.
    Blocking,
    /// Bytes on tokio's sockets.
    Floor,
    /// Our driver.
    Marula,
    /// Our ODM.
    Odm,
    /// MongoDB's driver for Rust.
    Official,
    /// MongoDB's driver for C.
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
pub(super) struct Contestant {
    pub(super) role: Role,
    /// The version that was built, where it is not this project's.
    pub(super) version: String,
    pub(super) program: PathBuf,
}

/// Runs a command to its end, its messages on this terminal.
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

/// What a command printed, when it has succeeded.
pub(super) fn succeeded(command: &mut Command) -> Result<String, Failure> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?}: {}: {}", output.status, said.trim()).into())
}

/// The cargo that runs this program, or the one on the path. What cargo tells a program that it runs is kept from the cargo that the
/// program runs: build scripts take it for their own, and everything would be built anew, each time by another program's reason.
pub(super) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    for (name, _) in std::env::vars_os() {
        let told = name.to_string_lossy();
        if told.starts_with("CARGO_MANIFEST_") || told.starts_with("CARGO_PKG_") {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// What this project has: programs built in its workspace.
#[derive(Clone, Debug)]
pub(super) struct Ours {
    pub(super) blocking: Contestant,
    pub(super) floor: Contestant,
    pub(super) driver: Contestant,
    pub(super) odm: Contestant,
}

/// The floors, our driver and our ODM, with the settings of `cargo build --release`.
pub(super) fn build_ours(places: &Places) -> Result<Ours, Failure> {
    let mut build = cargo();
    build
        .current_dir(&places.root)
        .args(["build", "--release", "--quiet", "--locked"])
        .args(["--package", "marula-bench"]);
    let mut contestant = |role, program: &str| {
        build.args(["--bin", program]);
        Contestant {
            role,
            version: String::new(),
            program: places.target.join("release").join(program),
        }
    };
    let ours = Ours {
        blocking: contestant(Role::Blocking, "client-blocking"),
        floor: contestant(Role::Floor, "client-floor"),
        driver: contestant(Role::Marula, "client-marula"),
        odm: contestant(Role::Odm, "client-odm"),
    };
    succeed(build.arg("--target-dir").arg(&places.target))?;
    Ok(ours)
}

/// The official crate's client.
pub(super) fn build_official(places: &Places) -> Result<Contestant, Failure> {
    let target = places.out.join("official");
    let manifest = places.package().join("official/Cargo.toml");
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
    Ok(Contestant {
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

/// libmongoc's client, or why there is none.
pub(super) fn build_libmongoc(places: &Places) -> Result<Contestant, String> {
    let ask = |library: &str, what: &[&str]| {
        let output = Command::new("pkg-config").args(what).arg(library).output().ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let library = ["mongoc2", "libmongoc-1.0"]
        .into_iter()
        .find(|name| ask(name, &["--exists"]).is_some());
    let library = library.ok_or("pkg-config knows no libmongoc (Debian: libmongoc-dev)")?;
    let flags = ask(library, &["--cflags", "--libs"]).unwrap_or_default();
    let program = places.out.join("client-libmongoc");
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-std=gnu11", "-Wall", "-o"]).arg(&program);
    compile
        .arg(places.package().join("libmongoc/client.c"))
        .args(flags.split_whitespace())
        .arg("-pthread");
    succeed(&mut compile).map_err(|error| error.to_string())?;
    Ok(Contestant {
        role: Role::Libmongoc,
        version: ask(library, &["--modversion"]).unwrap_or_default(),
        program,
    })
}

impl Contestant {
    /// With the version, where it is not this project's.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.role.name(), self.version)
            .trim_end()
            .to_owned()
    }

    /// Runs the program. `None` when it has no means for the task.
    pub(super) fn run(&self, arguments: &Arguments) -> Result<Option<Figures>, Failure> {
        let output = command(&self.program, arguments).output()?;
        let Some(line) = self.accepted(&output)? else {
            return Ok(None);
        };
        Ok(Some(parse(&line)?))
    }

    /// What the program printed, `None` when it has no means for the task.
    pub(super) fn accepted(&self, output: &Output) -> Result<Option<String>, Failure> {
        match output.status.code() {
            Some(0) => Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned())),
            Some(3) => Ok(None),
            _ => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(format!("{}: {}: {}", self.role.name(), output.status, said.trim()).into())
            }
        }
    }
}

/// The line of JSON of a program.
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

/// The command, with the arguments of the contract behind it.
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
    fn a_printed_line_is_read_back() {
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
    fn versions_are_found_in_lock_files() {
        let lock = "[[package]]\nname = \"mongo\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"mongodb\"\nversion = \"3.9.1\"\n";
        assert_eq!(locked_version(lock, "mongodb").as_deref(), Some("3.9.1"));
        assert_eq!(locked_version(lock, "other"), None);
    }
}
