//! The commands: build the contestants, start the server, run, compare.

mod callgrind;
mod chart;
mod check;
mod compare;
mod contestants;
mod cost;
mod counting;
mod dhat;
mod futures;
mod goals;
mod numbers;
mod plan;
mod profile;
mod report;
mod server;
mod statistics;
mod table;
mod timing;

use std::{error::Error, path::PathBuf, time::Duration};

use crate::canned;

/// Why a command cannot go on.
pub type Failure = Box<dyn Error>;

const USAGE: &str = "usage: marula-bench COMMAND
  compare [--quick] [--rounds N] [--only TEXT] [--no-times] [--no-counts] [--cost] [--readme]
      all contestants side by side, and the goals beside what is reached; writes target/bench/comparison.{md,json,svg}
  check [--write]
      instructions and allocations of our client against ceilings.toml; --write writes the file
  profile [--client NAME] [--top N] [--only TEXT]
      which functions of a client (marula, odm, official, libmongoc, floor, blocking) the instructions of an operation are in
  cost
      crates, build time and program size, ours beside the official driver's; writes target/bench/cost.{md,json}
  canned [--delay-us N]
      only the server, until standard input ends";

/// Runs the command. False when it has found that something is not as it must be.
///
/// # Errors
/// When the command is wrong, or what it needs can't be built or run.
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
        other => Err(format!("there is no command {other}\n{USAGE}").into()),
    }
}

/// What is behind the command and not read yet.
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
                .map_err(|_| format!("{name} needs a number, not {text}").into())
        };
        self.value(name)?.map(read).transpose()
    }

    fn end(self) -> Result<(), Failure> {
        match self.0.first() {
            None => Ok(()),
            Some(left) => Err(format!("{left} is not understood\n{USAGE}").into()),
        }
    }
}

/// Where things are.
#[derive(Clone, Debug)]
struct Places {
    /// The workspace.
    root: PathBuf,
    /// The target folder that this program was built into.
    target: PathBuf,
    /// For what the rig writes.
    out: PathBuf,
}

impl Places {
    fn find() -> Result<Self, Failure> {
        let package = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let root = package
            .ancestors()
            .nth(2)
            .ok_or("the package is not in its workspace")?
            .to_owned();
        let program = std::env::current_exe()?;
        let target = program
            .ancestors()
            .nth(2)
            .ok_or("the program is not in a target folder")?
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
    fn wrong_arguments_are_refused() {
        assert!(refused("").starts_with("usage:"));
        assert!(refused("race").starts_with("there is no command race"));
        assert!(refused("check --wrong").starts_with("--wrong is not understood"));
        assert_eq!(refused("profile --top many"), "--top needs a number, not many");
        assert_eq!(refused("compare --only"), "--only has no value");
    }
}
