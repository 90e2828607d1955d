//! The commands of `marula-bench`: build the clients, start the server, measure, compare.

mod callgrind;
mod chart;
mod check;
mod clients;
mod compare;
mod compile;
mod cost;
mod counting;
mod dhat;
mod futures;
mod goals;
mod numbers;
mod plan;
mod processes;
mod profile;
mod report;
mod server;
mod statistics;
mod table;
mod timing;

use std::{error::Error, path::PathBuf, time::Duration};

use crate::canned;

/// The error of a command.
pub type Failure = Box<dyn Error>;

const USAGE: &str = "usage: marula-bench COMMAND
  compare [--quick] [--rounds N] [--only TEXT] [--no-times] [--no-counts] [--cost] [--readme]
      measures all clients, and compares the results with the goals; writes target/bench/comparison.{md,json,svg}
  check [--write]
      compares instructions and allocations of marula with ceilings.toml; --write updates the file
  profile [--client NAME] [--top N] [--only TEXT]
      instructions of an operation by function, for a client (marula, odm, official, libmongoc, floor, blocking)
  cost
      dependencies, build time and binary size, compared with the official driver; writes target/bench/cost.{md,json}
  compile
      time of cargo check for 200 models and 1,000 queries, compared with serde and documents; writes target/bench/compile.md
  canned [--delay-us N]
      runs the server with precomputed replies until standard input is closed";

/// Runs a command. Returns `false` if a limit is exceeded.
///
/// # Errors
/// If the command is invalid, or a program cannot be built or run.
pub fn run(arguments: &[String]) -> Result<bool, Failure> {
    let (command, rest) = arguments.split_first().ok_or(USAGE)?;
    let mut options = Options(rest.to_vec());
    match command.as_str() {
        "canned" => {
            let delay = options.number("--delay-us")?.map(Duration::from_micros);
            options.end()?;
            canned::run(delay)?;
            Ok(true)
        }
        "compare" => {
            let settings = compare::Settings {
                quick: options.flag("--quick"),
                rounds: options.number("--rounds")?,
                only: options.value("--only")?,
                times: !options.flag("--no-times"),
                counts: !options.flag("--no-counts"),
                cost: options.flag("--cost"),
                readme: options.flag("--readme"),
            };
            options.end()?;
            compare::run(&settings)?;
            Ok(true)
        }
        "check" => {
            let write = options.flag("--write");
            options.end()?;
            check::run(write)
        }
        "profile" => {
            let top = options.number("--top")?.unwrap_or(25);
            let client = options.value("--client")?;
            let only = options.value("--only")?;
            options.end()?;
            profile::run(usize::try_from(top)?, client.as_deref(), only.as_deref())?;
            Ok(true)
        }
        "cost" => {
            options.end()?;
            cost::run()
        }
        "compile" => {
            options.end()?;
            compile::run()
        }
        other => Err(format!("unknown command {other}\n{USAGE}").into()),
    }
}

/// The arguments after the command that have not been read.
struct Options(Vec<String>);

impl Options {
    fn flag(&mut self, name: &str) -> bool {
        let at = self.0.iter().position(|given| given == name);
        at.map(|at| self.0.remove(at)).is_some()
    }

    fn value(&mut self, name: &str) -> Result<Option<String>, Failure> {
        let Some(at) = self.0.iter().position(|given| given == name) else {
            return Ok(None);
        };
        if at + 1 == self.0.len() {
            return Err(format!("{name} has no value").into());
        }
        self.0.remove(at);
        Ok(Some(self.0.remove(at)))
    }

    fn number(&mut self, name: &str) -> Result<Option<u64>, Failure> {
        let read = |text: String| {
            text.parse()
                .map_err(|_| format!("{name} requires a number, found {text}").into())
        };
        self.value(name)?.map(read).transpose()
    }

    fn end(self) -> Result<(), Failure> {
        match self.0.first() {
            None => Ok(()),
            Some(unknown) => Err(format!("unknown argument {unknown}\n{USAGE}").into()),
        }
    }
}

/// The folders that the commands use.
#[derive(Clone, Debug)]
struct Paths {
    /// The workspace root.
    root: PathBuf,
    /// The target folder of this executable.
    target: PathBuf,
    /// The output folder.
    out: PathBuf,
}

impl Paths {
    fn find() -> Result<Self, Failure> {
        let package = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let root = package
            .ancestors()
            .nth(2)
            .ok_or("CARGO_MANIFEST_DIR is not in the workspace")?
            .to_owned();
        let program = std::env::current_exe()?;
        let target = program
            .ancestors()
            .nth(2)
            .ok_or("the executable is not in a target folder")?
            .to_owned();
        let out = target.join("bench");
        std::fs::create_dir_all(&out)?;
        Ok(Self { root, target, out })
    }

    fn package(&self) -> PathBuf {
        self.root.join("tests/bench")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> String {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        run(&arguments).unwrap_err().to_string()
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        assert!(refused("").starts_with("usage:"));
        assert!(refused("race").starts_with("unknown command race"));
        assert!(refused("check --wrong").starts_with("unknown argument --wrong"));
        assert_eq!(
            refused("profile --top many"),
            "--top requires a number, found many"
        );
        assert_eq!(refused("compare --only"), "--only has no value");
    }
}
